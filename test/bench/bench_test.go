package bench

import (
	"fmt"
	"strings"
	"testing"
)

// TestComparisonsHold runs each comparison small, so that a benchmark that
// measures nothing, or two different things, fails here first.
func TestComparisonsHold(t *testing.T) {
	for _, s := range []scenario{{variants: 2}, {variants: 2, http: true}, {variants: 2, render: true}} {
		t.Run(s.String(), func(t *testing.T) {
			w := newWorld(t, s)
			c := &comparison{scenario: s}
			c.write(t, w, s.variants) // fails where git's commits are not ours
			first := w.fleet.Refs(t)

			c.child(t, w)
			c.same(t, first, w)
			if child := c.children[0]; child.Peak <= 0 || child.cpu <= 0 {
				t.Errorf("the child process used nothing: %+v", child)
			}
			readHeads(t, w)

			w.publish(t, s)
			c.write(t, w, s.variants)
			for ref, hash := range w.drafts(t) {
				if first[ref] == hash {
					t.Errorf("%s did not move to v2", ref)
				}
				pkg := strings.TrimPrefix(ref[:strings.LastIndex(ref, "/")], "refs/heads/drafts/")
				for file, want := range map[string]string{
					"part-04.yaml": "part-04:v2.0.0", "region.yaml": ".example.com", "package-context.yaml": "cluster: cluster-0000",
				} {
					if got := w.fleet.Show(t, hash, pkg+"/"+file); !strings.Contains(got, want) {
						t.Errorf("%s of %s lacks %q:\n%s", file, ref, want, got)
					}
				}
				if labelled := strings.Contains(w.fleet.Show(t, hash, pkg+"/part-04.yaml"), "fleet: bench"); labelled != s.render {
					t.Errorf("%s: the pipeline ran: %t, want %t", ref, labelled, s.render)
				}
			}
		})
	}
}

// TestScenario lives a small fleet through its life, and looks at what it is made of.
func TestScenario(t *testing.T) {
	s := scenario{variants: 4, repositories: 2, http: true, edited: 0.5, files: 9, fileBytes: 3000}
	w := newWorld(t, s)
	w.live(t, s, func(st step) { w.run(t, st.command...) })
	for i := range s.variants {
		pkg, r := variantName(i), w.fleets[i%2]
		if names := strings.Fields(r.Git(t, "ls-tree", "main")); len(names) != 4*(1+2) {
			t.Errorf("%s has %v, want a file and two packages", r.Dir, names)
		}
		if files := strings.Fields(r.Git(t, "ls-tree", "--name-only", "main", pkg+"/")); len(files) != s.files {
			t.Errorf("%s has the files %v, want %d", pkg, files, s.files)
		}
		for file, want := range map[string]string{"part-04.yaml": "part-04:v2.0.0", "region.yaml": ".example.com"} {
			if text := r.Show(t, "main", pkg+"/"+file); !strings.Contains(text, want) || file == "part-04.yaml" && len(text) < s.fileBytes {
				t.Errorf("%s of %s has %d bytes and lacks %q:\n%s", file, pkg, len(text), want, text)
			}
		}
		if edited := strings.Contains(r.Show(t, "main", pkg+"/part-05.yaml"), fmt.Sprintf("helpers-%d", i)); edited != (i%2 == 1) {
			t.Errorf("%s is edited by hand: %t", pkg, edited)
		}
	}
}
