package revision

import (
	"slices"
	"strings"
	"testing"

	"github.com/Masterminds/semver/v3"
	"github.com/google/go-cmp/cmp"
)

func TestRange(t *testing.T) {
	all := []string{"0.9.0", "1.0.0-rc.1", "1.0.0", "1.0.0+k8s2", "1.0.0+k8s10", "1.0.1+k8s1", "1.1.0", "2.0.0+k8s1"}
	for text, want := range map[string]string{
		"*":                                  "0.9.0 1.0.0 1.0.0+k8s2 1.0.0+k8s10 1.0.1+k8s1 1.1.0 2.0.0+k8s1",
		"1.0.0":                              "1.0.0 1.0.0+k8s2 1.0.0+k8s10",
		"=1.0.0":                             "1.0.0 1.0.0+k8s2 1.0.0+k8s10",
		"1.0.0+k8s2":                         "1.0.0+k8s2",
		"v1.0.0+k8s2":                        "1.0.0+k8s2",
		"= 1.0.0+k8s2":                       "1.0.0+k8s2",
		"=1.0.0+k8s3":                        "",
		"!=1.0.0+k8s2, ^1":                   "1.0.0 1.0.0+k8s10 1.0.1+k8s1 1.1.0",
		">=1.0.0+k8s2 <1.1":                  "1.0.0+k8s2 1.0.0+k8s10 1.0.1+k8s1",
		">1.0.0+k8s2":                        "1.0.0+k8s10 1.0.1+k8s1 1.1.0 2.0.0+k8s1",
		"<1.0.0+k8s10":                       "0.9.0 1.0.0 1.0.0+k8s2",
		"<=1.0.0+k8s2":                       "0.9.0 1.0.0 1.0.0+k8s2",
		"^1.0.0+k8s10":                       "1.0.0+k8s10 1.0.1+k8s1 1.1.0",
		"~1.0.0+k8s10":                       "1.0.0+k8s10 1.0.1+k8s1",
		"1.0.0+k8s10 - 1.0.1+k8s1":           "1.0.0+k8s10 1.0.1+k8s1",
		"1.0.0+k8s2 || =2.0.0+k8s1 || 0.9.0": "0.9.0 1.0.0+k8s2 2.0.0+k8s1",
		">=1.0.0-0, <=1.0.0+k8s2":            "1.0.0 1.0.0+k8s2",
	} {
		r, err := ParseRange(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		in := slices.DeleteFunc(slices.Clone(all), func(v string) bool { return !r.Check(semver.MustParse(v)) })
		if got := strings.Join(in, " "); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	for _, text := range []string{"a", "1.0.0+", "1.0.0+k8s2 ||", ">=1.0.0+k8s2 b", "1.0+k8s2 - b"} {
		if r, err := ParseRange(text); err == nil {
			t.Errorf("%q is read as %v", text, r)
		}
	}
	r, _ := ParseRange(">=1.0.0-0 <2.0.0+a")
	if !r.CheckPrerelease(semver.MustParse("1.0.0-rc.1")) {
		t.Error("a prerelease that is admitted is not in the range")
	}
}

// A range without a build is what the library says.
func TestRangeIsTheLibrarys(t *testing.T) {
	for _, text := range []string{"", "*", "1", "^1.2", "~1.2.3", ">=1.2 <2 || 3.x", "1.2 - 2", "!=1.0.0", ">=1.0.0-0", "1.x", "=1.0.0-rc.1"} {
		r, err := ParseRange(text)
		c, cerr := semver.NewConstraint(text)
		if (err == nil) != (cerr == nil) {
			t.Errorf("%q: %v, and the library: %v", text, err, cerr)
			continue
		}
		for _, v := range []string{"0.1.0", "1.0.0", "1.0.0-rc.1", "1.0.0+b", "1.2.3", "1.9.0", "2.0.0-0", "2.0.0", "3.1.4+x"} {
			if v := semver.MustParse(v); cerr == nil && r.Check(v) != c.Check(v) {
				t.Errorf("%q admits %s: %t", text, v, r.Check(v))
			}
		}
	}
}

func TestCompare(t *testing.T) {
	want := []string{"1.0.0-a", "1.0.0", "1.0.0+2", "1.0.0+10", "1.0.0+a", "1.0.0+k8s2", "1.0.0+k8s2.1", "1.0.0+k8s10", "1.0.1"}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, func(a, b string) int { return Compare(semver.MustParse(a), semver.MustParse(b)) })
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}
