package merge

import "testing"

// TestOwned: what is owned elsewhere comes from the branch where nobody set it on the Draft, and
// nothing else does.
func TestOwned(t *testing.T) {
	const mark = ` # {"$imagepolicy": "flux-system:app"}`
	cm := func(data ...string) string { return "-- a.yaml --\n" + configMap("a", data...) }
	named := func(data string) string {
		return "-- a.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  annotations:\n    variform.dev/owned-elsewhere: data.x\ndata:\n  " + data + "\n"
	}
	pod := func(images ...string) string {
		text := "-- p.yaml --\napiVersion: v1\nkind: Pod\nmetadata:\n  name: p\nspec:\n  containers:\n"
		for i, image := range images {
			text += "  - name: c" + string(rune('0'+i)) + "\n    image: " + image + mark + "\n"
		}
		return text
	}
	for name, tc := range map[string]struct{ made, draft, published, branch, want string }{
		"nobody set it":            {cm("x: 1"+mark, "y: 1"), cm("x: 1"+mark, "y: 1"), cm("x: 0"+mark, "y: 0"), cm("x: 2"+mark, "y: 2"), cm("x: 2"+mark, "y: 1")},
		"nor on the branch":        {cm("x: 1" + mark), cm("x: 1" + mark), cm("x: 0" + mark), cm("x: 0" + mark), cm("x: 1" + mark)},
		"set on the Draft":         {cm("x: 1" + mark), cm("x: 3" + mark), cm("x: 1" + mark), cm("x: 2" + mark), cm("x: 3" + mark)},
		"by annotation":            {named("x: 1"), named("x: 1"), named("x: 1"), named("x: 2"), named("x: 2")},
		"not owned":                {cm("x: 1"), cm("x: 1"), cm("x: 1"), cm("x: 2"), cm("x: 1")},
		"in a list":                {pod("a:1", "b:1"), pod("a:1", "b:3"), pod("a:1", "b:1"), pod("a:2", "b:2", "c:2"), pod("a:2", "b:3")},
		"in a list, not set":       {pod("a:1", "b:1"), pod("a:1", "b:1"), pod("a:0", "b:0"), pod("a:0", "b:2"), pod("a:1", "b:2")},
		"the machine never had it": {pod("a:1"), pod("a:1"), "", pod("a:2"), pod("a:2")},
		"gone from the branch":     {cm("x: 1" + mark), cm("x: 1" + mark), cm("x: 1" + mark), cm("y: 1"), cm("x: 1" + mark)},
		"no such resource":         {cm("x: 1" + mark), cm("x: 1" + mark), cm("x: 1" + mark), "", cm("x: 1" + mark)},
		"new on the Draft":         {"", cm("x: 1" + mark), "", cm("x: 2" + mark), cm("x: 1" + mark)},
		"nothing is removed":       {cm("x: 1"+mark, "y: 1"), cm("x: 1"+mark, "y: 1"), cm("x: 1"+mark, "y: 1"), cm("x: 2" + mark), cm("x: 2"+mark, "y: 1")},
	} {
		t.Run(name, func(t *testing.T) {
			draft := pkg(t, tc.draft)
			if got, want := textOf(t, Owned(pkg(t, tc.made), draft, pkg(t, tc.published), pkg(t, tc.branch))), textOf(t, pkg(t, tc.want)); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
			if textOf(t, draft) != textOf(t, pkg(t, tc.draft)) {
				t.Error("the Draft was changed")
			}
			if has, err := HasOwned(draft); err != nil || has != (name != "not owned") {
				t.Errorf("HasOwned: %v, %v", has, err)
			}
		})
	}
}
