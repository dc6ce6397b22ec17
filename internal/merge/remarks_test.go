package merge

import (
	"strings"
	"testing"
)

// TestRemarks: a comment that a person added is an edit of what upstream removes.
// One that somebody else writes is none.
func TestRemarks(t *testing.T) {
	cm := configMap("a", "x: 1", "y: 1")
	other := configMap("b", "x: 1")
	in := func(text string) string { return "-- a.yaml --\n" + text }
	for name, tc := range map[string]struct {
		base, local string
		kept        bool
	}{
		"nothing":                        {cm, cm, false},
		"above a key":                    {cm, strings.Replace(cm, "\ndata:", "\n# mine\ndata:", 1), true},
		"behind a value":                 {cm, strings.Replace(cm, "x: 1", "x: 1 # mine", 1), true},
		"above the resource":             {cm, "# mine\n" + cm, true},
		"above the resource, apart":      {cm, "# mine\n\n" + cm, true},
		"below it":                       {cm, cm + "# mine\n", true},
		"below it, apart":                {cm, cm + "\n\n# mine\n", true},
		"another text":                   {"# theirs\n" + cm, "# mine\n" + cm, true},
		"beside others":                  {cm + "---\n" + other, strings.Replace(cm, "x: 1", "x: 1 # mine", 1) + "---\n" + other, true},
		"one that a person removed":      {"# theirs\n" + cm, cm, false},
		"one that the base has":          {"# theirs\n" + cm, "# theirs\n" + strings.Replace(cm, "x: 1", "x: 0x1", 1), false},
		"one in another place":           {"# theirs\n" + cm, cm + "# theirs\n", false},
		"a merge comment":                {cm, strings.Replace(cm, "metadata:", "metadata: # kpt-merge: /a", 1), false},
		"a marker of owned fields":       {cm, strings.Replace(cm, "x: 1", `x: 1 # {"$imagepolicy": "a:b"}`, 1), false},
		"other spelling and no comment":  {cm, strings.Replace(cm, "x: 1", "x:   1", 1), false},
		"lines of Windows, no comment":   {"# theirs\n" + cm, strings.ReplaceAll("# theirs\n"+cm, "\n", "\r\n"), false},
		"a line of a text is no comment": {strings.Replace(cm, "x: 1", "x: |\n    # a", 1), strings.Replace(cm, "x: 1", "x: |2-\n      # a", 1), true},
	} {
		t.Run(name, func(t *testing.T) {
			res, err := Packages(pkg(t, in(tc.base)), pkg(t, ""), pkg(t, in(tc.local)), Options{})
			if err != nil {
				t.Fatal(err)
			}
			kept := strings.Contains(textOf(t, res.Package), "name: a")
			if kept != tc.kept {
				t.Errorf("kept: %t", kept)
			}
			listed := len(res.Conflicts) > 0 && res.Conflicts[0].Fate == KeptThoughRemoved
			if listed != tc.kept {
				t.Errorf("listed: %t, %v", listed, res.Conflicts)
			}
		})
	}
}

// TestRemovedResourceThatGetsAName: what a person removed stays removed, though
// upstream calls it something else.
func TestRemovedResourceThatGetsAName(t *testing.T) {
	nameless := "-- k.yaml --\napiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [a.yaml]\n"
	named := strings.Replace(nameless, "resources:", "metadata:\n  name: k\nresources:", 1)
	for name, tc := range map[string]mergeCase{
		"it gets one": {
			base: nameless, upstream: named, local: "-- f --\n", want: "-- f --\n",
			conflicts: []string{"k.yaml: Kustomization.kustomize.config.k8s.io/k: local wins with (deleted); upstream was {apiVersion: kustomize.config.k8s.io/v1beta1, kind: Kustomization, metadata: {name: k}, resources: [a.yaml]}"},
		},
		"an edited one gets it": {
			base: nameless, upstream: named, local: strings.Replace(nameless, "[a.yaml]", "[a.yaml, b.yaml]", 1), want: strings.Replace(named, "[a.yaml]", "[a.yaml, b.yaml]", 1),
		},
	} {
		t.Run(name, tc.run)
	}
}
