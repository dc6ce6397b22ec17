package resolver

import (
	"slices"
	"strings"
	"testing"
)

// TestPlatformVersions: a platform's version is a fact, whatever its vendor appends.
func TestPlatformVersions(t *testing.T) {
	for _, c := range []struct {
		version, in string
		want        bool
	}{
		{"v1.30.4-gke.1348000", ">=1.22", true},
		{"v1.29.3-eks-adc7111", ">=1.22", true},
		{"v1.30.4+k3s1", ">=1.22", true},
		{"v1.30.4-gke.1348000", "", true},
		{"v1.30.4-gke.1348000", ">=1.22 <1.30", false},
		{"v1.30.4-gke.1348000", ">=1.30.4", true}, // its release
		{"v1.30.4-gke.1348000", "<1.30.4", false},
		{"v1.30.4-gke.1348000", ">=1.30.5", false},
		{"v1.30.4-gke.1348000", "<1.30.5", true},
		{"v1.30.4-gke.1348000", "1.30.x", true},
		{"v1.30.4-gke.1348000", "1.28.x || 1.30.x", true},
		{"v1.30.4-gke.1348000", "1.28 - 1.29", false},
		// Ranges that name prereleases mean what they say.
		{"v1.30.4-gke.1348000", ">=1.22.0-0", true},
		{"v1.30.4-gke.1348000", ">=1.22.0-0 <1.31", true},
		{"v1.30.4-gke.1348000", ">=1.30.4-gke.1000", true},
		{"v1.30.4-gke.1348000", ">=1.30.4-gke.2000000", false},
		{"v1.30.4-gke.1348000", ">=1.30.5-0", false},
		{"v1.30.4-gke.1348000", ">=1.30.4 || ~1.28.0-0", true},
		{"v1.31.0", ">=1.31.0-rc.1", true},
	} {
		v, err := parseVersion(c.version)
		if err != nil {
			t.Fatal(err)
		}
		if got := new(ranges).holds(c.in, v); got != c.want {
			t.Errorf("%s in %q: %t", c.version, c.in, got)
		}
	}
}

// TestBuilds: builds that differ in metadata alone are ordered by the numbers in it.
func TestBuilds(t *testing.T) {
	want := []string{"1.0.0", "1.0.0+7", "1.0.0+k8s", "1.0.0+k8s2", "1.0.0+k8s2.1", "1.0.0+k8s02.3", "1.0.0+k8s10", "1.0.0+vmware.1", "1.0.0+vmware.1-tkg.9", "1.0.0+vmware.1-tkg.10", "1.0.1"}
	got := slices.Clone(want)
	slices.Sort(got)
	slices.SortFunc(got, func(a, b string) int {
		va, _ := parseVersion(a)
		vb, _ := parseVersion(b)
		return compareVersions(&version{Package: &Package{Version: a}, sem: va}, &version{Package: &Package{Version: b}, sem: vb})
	})
	if !slices.Equal(want, got) {
		t.Errorf("got %s\nwant %s", strings.Join(got, " "), strings.Join(want, " "))
	}
}
