package merge

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

func TestKptfiles(t *testing.T) {
	kf := func(s string) string { return "-- Kptfile --\n" + kptfileHead + s }
	fns := func(s ...string) string { return kf("pipeline:\n  mutators:\n  - " + strings.Join(s, "\n  - ") + "\n") }
	runCases(t, map[string]mergeCase{
		"what a package owns": {
			reason: "name, upstream and lock, ownership and the outcome of a render are local's",
			base:   strings.Replace(kf(""), "name: app", "name: blueprint", 1),
			upstream: strings.Replace(kf("upstream:\n  type: git\n  git:\n    ref: other\nstatus:\n  conditions:\n  - type: Rendered\n    status: \"True\"\n  renderStatus:\n    errorSummary: no\n"),
				"name: app", "name: new\n  annotations:\n    variform.dev/variant: theirs\n    other: inherited", 1),
			local: kf("upstream:\n  type: git\n  git:\n    ref: v1\nupstreamLock:\n  type: git\n"),
			want: strings.Replace(kf("upstream:\n  type: git\n  git:\n    ref: v1\nupstreamLock:\n  type: git\n"),
				"name: app", "name: app\n  annotations:\n    other: inherited", 1),
		},
		"ownership stays": {
			base:     kf(""),
			upstream: strings.Replace(kf(""), "name: app", "name: app\n  annotations:\n    variform.dev/variant: theirs", 1),
			local:    strings.Replace(kf(""), "name: app", "name: app\n  annotations:\n    variform.dev/variant: mine", 1),
			want:     strings.Replace(kf(""), "name: app", "name: app\n  annotations:\n    variform.dev/variant: mine", 1),
		},
		"functions by image": {
			base:     fns("image: reg/set-labels:v1\n    configMap:\n      a: b", "image: reg:5000/other:v1"),
			upstream: fns("image: reg/set-labels:v2\n    configMap:\n      a: b", "image: reg:5000/other:v1"),
			local:    fns("image: reg/set-labels:v1\n    configMap:\n      a: mine", "image: mine:v1", "image: reg:5000/other:v1"),
			want:     fns("image: reg/set-labels:v2\n    configMap:\n      a: mine", "image: mine:v1", "image: reg:5000/other:v1"),
		},
		"a function that gets a name": {
			base:     fns("image: set-labels:v1\n    configMap:\n      a: b"),
			upstream: fns("image: set-labels:v1\n    name: labels\n    configMap:\n      a: b"),
			local:    fns("image: set-labels:v1\n    configMap:\n      a: mine"),
			want:     fns("image: set-labels:v1\n    name: labels\n    configMap:\n      a: mine"),
		},
		"variant functions first": {
			reason:   "functions that a PackageVariant prepended stay ahead of upstream's",
			base:     fns("image: a:v1"),
			upstream: fns("image: zero:v1", "image: a:v2"),
			local:    fns("image: mine:v1\n    name: PackageVariant.v.mine.0", "image: a:v1"),
			want:     fns("image: mine:v1\n    name: PackageVariant.v.mine.0", "image: zero:v1", "image: a:v2"),
		},
		"gates and conditions": {
			base:     kf("info:\n  readinessGates:\n  - conditionType: a\nstatus:\n  conditions:\n  - type: a\n    status: \"False\"\n"),
			upstream: kf("info:\n  description: new\n  readinessGates:\n  - conditionType: a\n  - conditionType: u\nstatus:\n  conditions:\n  - type: a\n    status: \"False\"\n"),
			local:    kf("info:\n  readinessGates:\n  - conditionType: a\n  - conditionType: l\nstatus:\n  conditions:\n  - type: a\n    status: \"True\"\n  - type: l\n    status: \"False\"\n"),
			want:     kf("info:\n  description: new\n  readinessGates:\n  - conditionType: a\n  - conditionType: l\n  - conditionType: u\nstatus:\n  conditions:\n  - type: a\n    status: \"True\"\n  - type: l\n    status: \"False\"\n"),
		},
		"no Kptfile upstream": {
			reason:   "local is a package of its own even where its upstream is none",
			base:     "-- a.txt --\n1\n",
			upstream: "-- a.txt --\n2\n",
			local:    kf("info:\n  description: mine\n") + "-- a.txt --\n1\n",
			want:     kf("info:\n  description: mine\n") + "-- a.txt --\n2\n",
		},
		"Kptfile deleted upstream": {
			base:     fns("image: a:v1"),
			upstream: "-- a.txt --\n2\n",
			local:    fns("image: a:v1", "image: mine:v1"),
			want:     fns("image: mine:v1") + "-- a.txt --\n2\n",
		},
		"subpackage follows": {
			base:     kf("upstream:\n  git:\n    ref: v1\n"),
			upstream: kf("upstream:\n  git:\n    ref: v2\nupstreamLock:\n  git:\n    commit: abc\n"),
			local:    kf("upstream:\n  git:\n    ref: v1\ninfo:\n  description: mine\n"),
			want:     kf("upstream:\n  git:\n    ref: v2\nupstreamLock:\n  git:\n    commit: abc\ninfo:\n  description: mine\n"),
			options:  Options{Subpackage: true},
		},
		"subpackage that follows another": {
			base:     kf("upstream:\n  git:\n    ref: v1\n") + "-- a.txt --\n1\n",
			upstream: kf("upstream:\n  git:\n    ref: v2\n") + "-- a.txt --\n2\n",
			local:    kf("upstream:\n  git:\n    ref: mine\n") + "-- a.txt --\n1\n",
			want:     kf("upstream:\n  git:\n    ref: mine\n") + "-- a.txt --\n1\n",
			options:  Options{Subpackage: true},
		},
	})
}

func TestKptfileAlone(t *testing.T) {
	parse := func(s string) *yaml.RNode { return yaml.MustParse(kptfileHead + s) }
	got, conflicts, err := Kptfile(parse("info:\n  site: a\n"), parse("info:\n  site: b\n"), parse("info:\n  site: c\n"), false)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(kptfileHead+"info:\n  site: b\n", got.MustString()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(conflicts) != 1 || conflicts[0].Field != "info.site" || conflicts[0].Line != 6 {
		t.Errorf("conflicts: %+v", conflicts)
	}
	local := parse("")
	got, _, err = Kptfile(nil, nil, local, true)
	if err != nil || got != local {
		t.Errorf("got %v, %v, want local itself", got, err)
	}
}

func TestProgram(t *testing.T) {
	cases := map[string]string{
		"image: a":                       "image=a",
		"image: a:v1":                    "image=a",
		"image: reg:5000/a":              "image=reg:5000/a",
		"image: reg:5000/a:v1":           "image=reg:5000/a",
		"image: reg/a:v1@sha256:0123abc": "image=reg/a",
		"exec: ./fn":                     "exec=./fn",
		"name: x":                        "",
	}
	for in, want := range cases {
		if got := program(yaml.MustParse(in).YNode()); got != want {
			t.Errorf("program(%s) = %q, want %q", in, got, want)
		}
	}
}
