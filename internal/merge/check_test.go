package merge

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCheck: a merged package is compared with what it was made of, whatever
// made it.
func TestCheck(t *testing.T) {
	a := func(data ...string) string { return "-- a.yaml --\n" + configMap("a", data...) }
	b := func(data ...string) string { return "-- b.yaml --\n" + configMap("b", data...) }
	in := func(file, text string) string { return "-- " + file + " --\n" + text }
	kf := func(more string) string { return in("Kptfile", kptfileHead+more) }
	cases := map[string]struct {
		reason                        string
		base, upstream, local, merged string
		options                       Options
		want                          []string
	}{
		"as upstream has it":     {base: a("x: 1"), upstream: a("x: 2"), local: a("x: 1"), merged: a("x: 2")},
		"left behind":            {base: a("x: 1"), upstream: a("x: 2"), local: a("x: 1"), merged: a("x: 1"), want: []string{"a.yaml"}},
		"half of it":             {base: a("x: 1"), upstream: a("x: 2", "y: 2"), local: a("x: 1"), merged: a("x: 2"), want: []string{"a.yaml"}},
		"gone":                   {base: a("x: 1"), upstream: a("x: 2"), local: a("x: 1"), merged: "", want: []string{"a.yaml"}},
		"not removed":            {base: a("x: 1") + b("x: 1"), upstream: b("x: 1"), local: a("x: 1") + b("x: 1"), merged: a("x: 1") + b("x: 1"), want: []string{"a.yaml"}},
		"not added":              {base: b("x: 1"), upstream: b("x: 1") + a("x: 1"), local: b("x: 1"), merged: b("x: 1"), want: []string{"a.yaml"}},
		"edited, so not its job": {base: a("x: 1"), upstream: a("x: 2"), local: a("x: 3"), merged: a("x: 4")},
		"several, in order": {
			base: a("x: 1") + b("x: 1"), upstream: a("x: 2") + b("x: 2"), local: a("x: 1") + b("x: 1"), merged: a("x: 1") + b("x: 1"),
			want: []string{"a.yaml", "b.yaml"},
		},
		"a comment alone": {
			base: a("x: 1"), upstream: a("x: 1 # why"), local: a("x: 1"), merged: a("x: 1"), want: []string{"a.yaml"},
			reason: "bytes count where no edit excuses the file",
		},
		"a comment of a resource beside an edited one": {
			base: a("x: 1") + "---\n" + configMap("b", "x: 1"), upstream: a("x: 1 # why") + "---\n" + configMap("b", "x: 1"),
			local: a("x: 1") + "---\n" + configMap("b", "x: 2"), merged: a("x: 1") + "---\n" + configMap("b", "x: 2"), want: []string{"a.yaml"},
			reason: "an edit excuses its own resource",
		},
		"a file that is no YAML": {base: in("f", "1\n"), upstream: in("f", "2\n"), local: in("f", "1\n"), merged: in("f", "1\n"), want: []string{"f"}},
		"moved upstream to a new file, edited locally": {
			base: a("x: 1"), upstream: in("n.yaml", configMap("a", "x: 2")), local: a("x: 1", "y: 1"), merged: in("n.yaml", configMap("a", "x: 2", "y: 1")),
		},
		"moved upstream to a new file, another one lost there": {
			base: a("x: 1"), upstream: in("n.yaml", configMap("a", "x: 2")+"---\n"+configMap("n", "x: 1")), local: a("x: 1", "y: 1"),
			merged: in("n.yaml", configMap("a", "x: 2", "y: 1")), want: []string{"n.yaml"},
		},
		"moved upstream to a new file, another one there that upstream has not": {
			base: a("x: 1"), upstream: in("n.yaml", configMap("a", "x: 2")), local: a("x: 1", "y: 1"),
			merged: in("n.yaml", configMap("a", "x: 2", "y: 1")+"---\n"+configMap("n", "x: 1")), want: []string{"n.yaml"},
		},
		"deleted locally, moved upstream to a new file": {
			base: a("x: 1") + b("x: 1"), upstream: in("n.yaml", configMap("a", "x: 2")+"---\n"+configMap("n", "x: 1")) + b("x: 1"), local: b("x: 1"),
			merged: in("n.yaml", configMap("n", "x: 1")) + b("x: 1"),
		},
		"a file of the variant's own": {base: a("x: 1") + b("x: 1"), upstream: b("x: 1"), local: a("x: 1") + b("x: 1"), merged: a("x: 1") + b("x: 1"), options: Options{Own: []string{"a.yaml"}}},
		"a file of the variant's own that upstream changed": {
			base: a("x: 1"), upstream: a("x: 2"), local: a("x: 1"), merged: a("x: 1"), options: Options{Own: []string{"a.yaml"}}, want: []string{"a.yaml"},
		},
		"the root's upstream is local's": {
			base: kf(""), upstream: kf("upstream:\n  type: git\n"), local: kf(""), merged: kf(""),
		},
		"the root's pipeline is not": {
			base: kf(""), upstream: kf("pipeline:\n  mutators:\n  - image: a:v1\n"), local: kf(""), merged: kf(""), want: []string{"Kptfile"},
		},
		"the root's Kptfile stays": {base: kf("") + a("x: 1"), upstream: a("x: 1"), local: kf("") + a("x: 1"), merged: kf("") + a("x: 1")},
		"a subpackage's upstream": {
			base: subpackage("sub", "v1"), upstream: subpackage("sub", "v2"), local: subpackage("sub", "v1"), merged: subpackage("sub", "v1"), want: []string{"sub/Kptfile"},
		},
		"a subpackage that was left alone for nothing": {
			base: subpackage("sub", "v1") + in("sub/a.yaml", configMap("a", "x: 1")), upstream: subpackage("sub", "v1") + in("sub/a.yaml", configMap("a", "x: 2")),
			local: subpackage("sub", "v1") + in("sub/a.yaml", configMap("a", "x: 1")), merged: subpackage("sub", "v1") + in("sub/a.yaml", configMap("a", "x: 1")),
			want: []string{"sub/a.yaml"},
		},
		"a subpackage that follows another upstream": {
			base: subpackage("sub", "v1") + in("sub/a.yaml", configMap("a", "x: 1")), upstream: subpackage("sub", "v2") + in("sub/a.yaml", configMap("a", "x: 2")),
			local: subpackage("sub", "v9") + in("sub/a.yaml", configMap("a", "x: 1")), merged: subpackage("sub", "v9") + in("sub/a.yaml", configMap("a", "x: 1")),
		},
		"a subpackage that follows another upstream, copied over": {
			base: subpackage("sub", "v1") + in("sub/f", "1\n"), upstream: subpackage("sub", "v2") + in("sub/f", "2\n"),
			local: subpackage("sub", "v9") + in("sub/f", "1\n"), merged: subpackage("sub", "v9") + in("sub/f", "1\n"),
			options: Options{Strategy: "copy-merge"}, want: []string{"sub/f"},
		},
		"a subpackage deleted upstream, kept for an edit": {
			base: subpackage("sub", "") + in("sub/f", "1\n") + in("sub/g", "1\n"), upstream: "",
			local: subpackage("sub", "") + in("sub/f", "1\n") + in("sub/g", "2\n"), merged: subpackage("sub", "") + in("sub/f", "1\n") + in("sub/g", "2\n"),
		},
		"a subpackage deleted upstream, kept for nothing": {
			base: subpackage("sub", "") + in("sub/f", "1\n"), upstream: "",
			local: subpackage("sub", "") + in("sub/f", "1\n"), merged: subpackage("sub", "") + in("sub/f", "1\n"),
			want: []string{"sub/Kptfile", "sub/f"},
		},
		"the whole is a subpackage that follows another upstream": {
			base: kf("upstream:\n  git:\n    ref: v1\n") + a("x: 1"), upstream: kf("upstream:\n  git:\n    ref: v2\n") + a("x: 2"),
			local: kf("upstream:\n  git:\n    ref: v9\n") + a("x: 1"), merged: kf("upstream:\n  git:\n    ref: v9\n") + a("x: 1"),
			options: Options{Subpackage: true},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			m := newMerger(pkg(t, tc.base), pkg(t, tc.upstream), pkg(t, tc.local), tc.options)
			m.out = pkg(t, tc.merged)
			err := m.check()
			var behind *NotFollowedError
			if errors.As(err, &behind) != errors.Is(err, ErrNotFollowed) || (err == nil) != (tc.want == nil) {
				t.Fatalf("%s\ncheck(): %v, want %v", tc.reason, err, tc.want)
			}
			if err == nil {
				return
			}
			if diff := cmp.Diff(tc.want, behind.Paths); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", tc.reason, diff)
			}
			for _, p := range append(tc.want, "force-delete-replace") {
				if !strings.Contains(err.Error(), p) {
					t.Errorf("the error does not name %s: %v", p, err)
				}
			}
		})
	}
}
