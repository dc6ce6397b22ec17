package yamltree

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

func TestAssign(t *testing.T) {
	have := node(t, "keep: same # why\nchange: 1\ngo: away\nmap:\n  # deep\n  in: 1\n  out: 2\n")
	Assign(have, node(t, "new: {a: b}\nmap: {in: 1}\nchange: 2\nkeep: same\n"), []string{"new", "keep"})
	want := "new: {a: b}\nkeep: same # why\nchange: 2\nmap:\n  # deep\n  in: 1\n"
	if diff := cmp.Diff(want, text(t, have)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestAssignLarge holds that a mapping, or a list, of many thousands is assigned in its length:
// in the square of it this takes minutes.
func TestAssignLarge(t *testing.T) {
	const n = 60_000
	mapping := func(first, value int) (*yaml.Node, []string) {
		m, keys := Map(), make([]string, n)
		for i := range n {
			keys[i] = fmt.Sprintf("key-%d", first+i)
			m.Content = append(m.Content, String(keys[i]), String(fmt.Sprintf("value-%d", value+i)))
		}
		return m, keys
	}
	under := func(key string, value *yaml.Node) *yaml.Node {
		m := Map()
		m.Content = []*yaml.Node{String(key), value}
		return m
	}
	list := func(value int, named bool) *yaml.Node {
		s := Seq()
		for i := range n {
			text := String(fmt.Sprintf("item-%d", i))
			if named {
				m := Map()
				m.Content = []*yaml.Node{String("name"), text, String("value"), String(fmt.Sprint(value + i))}
				text = m
			} else if value != 0 {
				text = String(fmt.Sprintf("item-%d", n-i))
			}
			s.Content = append(s.Content, text)
		}
		return under("list", s)
	}
	words := func(n int) *yaml.Node {
		s := Seq()
		for range n {
			s.Content = append(s.Content, String("word"))
		}
		return under("list", s)
	}
	anonymous := func(value int) *yaml.Node {
		s := Seq()
		for i := range n {
			m := Map()
			m.Content = []*yaml.Node{String("port"), String(fmt.Sprint(i)), String("value"), String(fmt.Sprint(value))}
			s.Content = append(s.Content, m)
		}
		return under("list", s)
	}
	one, _ := mapping(0, 0)
	again, _ := mapping(0, 0)
	some := Map() // every second one
	for i := 0; i < len(one.Content); i += 4 {
		some.Content = append(some.Content, Copy(one.Content[i]), Copy(one.Content[i+1]))
	}
	same, sorted := mapping(0, 0)
	changed, _ := mapping(0, 1)
	other, _ := mapping(n, 0)
	half, _ := mapping(n/2, 0)
	for name, c := range map[string]struct {
		have, want *yaml.Node
		order      []string
	}{
		"the same":             {Copy(one), same, nil},
		"other values":         {Copy(one), changed, nil},
		"other keys":           {Copy(one), other, nil},
		"half of the keys":     {Copy(one), half, nil},
		"in an order":          {Map(), same, sorted},
		"a list":               {list(0, false), list(0, false), nil},
		"new ones between":     {under("in", some), under("in", again), []string{"in"}},
		"a list without names": {anonymous(0), anonymous(1), nil},
		"a list of one word":   {words(n), words(n + 1), nil},
		"a list that turned":   {list(0, false), list(1, false), nil},
		"a list of named ones": {list(0, true), list(1, true), nil},
	} {
		t.Run(name, func(t *testing.T) {
			done := make(chan struct{})
			go func() {
				defer close(done)
				if Assign(c.have, c.want, c.order); !SameValue(c.have, c.want) {
					t.Error("it does not mean what it should")
				}
			}()
			select {
			case <-done:
			case <-time.After(30 * time.Second):
				t.Error("it takes longer than its length lets expect")
			}
		})
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

// What is wanted as an alias is what that stands for: an item keeps its node and comments, and
// no change of it is lost.
func TestAssignAlias(t *testing.T) {
	have := node(t, "x: {name: a, size: 2}\nlist:\n- name: a # first\n  size: 1\nmap: # in its place\n  size: 1\nwords: # in theirs\n- a\n")
	want := node(t, "x: &x {name: a, size: 2}\nlist: [*x]\nmap: *x\nwords: [a, b]\n")
	if Assign(have, want, nil); !SameValue(have, want) {
		t.Error("it does not mean what it should")
	}
	const after = "x: {name: a, size: 2}\nlist:\n- name: a # first\n  size: 2\nmap: # in its place\n  size: 2\n  name: a\nwords: # in theirs\n- a\n- b\n"
	if diff := cmp.Diff(after, text(t, have)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
