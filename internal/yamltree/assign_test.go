package yamltree

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAssign(t *testing.T) {
	have := node(t, "keep: same # why\nchange: 1\ngo: away\nmap:\n  # deep\n  in: 1\n  out: 2\n")
	Assign(have, node(t, "new: {a: b}\nmap: {in: 1}\nchange: 2\nkeep: same\n"), []string{"new", "keep"})
	want := "new: {a: b}\nkeep: same # why\nchange: 2\nmap:\n  # deep\n  in: 1\n"
	if diff := cmp.Diff(want, text(t, have)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestAssignItems holds that items of lists keep their nodes, and comments with them, when others come, go or move.
func TestAssignItems(t *testing.T) {
	const before = `# all
list:
# of a
- name: a # first
  size: 1
# of b
- name: b
  # the size of b
  size: 2
- name: c # third
words: [x, y] # flow
waves:
- - a # in a wave
- - b
`
	for name, c := range map[string]struct{ want, after string }{
		"one comes first": {
			"list: [{name: 0}, {name: a, size: 1}, {name: b, size: 2}, {name: c}]\nwords: [x, y]\nwaves: [[a], [b]]",
			strings.Replace(before, "list:\n", "list:\n- {name: 0}\n", 1),
		},
		"one goes, one changes": {
			"list: [{name: b, color: red, size: 3}, {name: c}]\nwords: [x, y]\nwaves: [[a], [b]]",
			strings.NewReplacer("# of a\n- name: a # first\n  size: 1\n", "", "- name: b\n  # the size of b\n  size: 2", "- name: b\n  color: red\n  # the size of b\n  size: 3").Replace(before),
		},
		"they move": {
			"list: [{name: c}, {name: b, size: 2}, {name: a, size: 1}]\nwords: [y, z]\nwaves: [[a, c], [b]]",
			"# all\nlist:\n- name: c # third\n# of b\n- name: b\n  # the size of b\n  size: 2\n# of a\n- name: a # first\n  size: 1\nwords: [y, z] # flow\nwaves:\n- - a # in a wave\n  - c\n- - b\n",
		},
		"a word where a map was": {
			"list: [{name: a, size: 1}, b, {size: 1}]\nwords: {}\nwaves: []",
			"# all\nlist:\n# of a\n- name: a # first\n  size: 1\n- b\n- {size: 1}\nwords: {}\nwaves: []\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			have, want := node(t, before), node(t, c.want)
			Assign(have, want, []string{"list", "words", "waves"})
			if !SameValue(have, want) {
				t.Error("it does not mean what it should")
			}
			if diff := cmp.Diff(c.after, text(t, have)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
