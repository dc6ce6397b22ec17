package merge

import "testing"

// TestOwned: what is owned elsewhere comes from upstream where nobody set it, and
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
	for name, tc := range map[string]struct{ base, upstream, local, want string }{
		"nobody set it":      {cm("x: 1"+mark, "y: 1"), cm("x: 2"+mark, "y: 2"), cm("x: 1"+mark, "y: 1"), cm("x: 2"+mark, "y: 1")},
		"set":                {cm("x: 1" + mark), cm("x: 2" + mark), cm("x: 3" + mark), cm("x: 3" + mark)},
		"by annotation":      {named("x: 1"), named("x: 2"), named("x: 1"), named("x: 2")},
		"not owned":          {cm("x: 1"), cm("x: 2"), cm("x: 1"), cm("x: 1")},
		"in a list":          {pod("a:1", "b:1"), pod("a:2", "b:2", "c:2"), pod("a:1", "b:3"), pod("a:2", "b:3")},
		"gone upstream":      {cm("x: 1" + mark), cm("y: 1"), cm("x: 1" + mark), cm("x: 1" + mark)},
		"no such resource":   {cm("x: 1" + mark), "", cm("x: 1" + mark), cm("x: 1" + mark)},
		"new in local":       {"", cm("x: 2" + mark), cm("x: 1" + mark), cm("x: 1" + mark)},
		"nothing is removed": {cm("x: 1"+mark, "y: 1"), cm("x: 2" + mark), cm("x: 1"+mark, "y: 1"), cm("x: 2"+mark, "y: 1")},
	} {
		t.Run(name, func(t *testing.T) {
			local := pkg(t, tc.local)
			if got, want := textOf(t, Owned(pkg(t, tc.base), pkg(t, tc.upstream), local)), textOf(t, pkg(t, tc.want)); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
			if textOf(t, local) != textOf(t, pkg(t, tc.local)) {
				t.Error("local was changed")
			}
			if has, err := HasOwned(local); err != nil || has != (name != "not owned") {
				t.Errorf("HasOwned: %v, %v", has, err)
			}
		})
	}
}
