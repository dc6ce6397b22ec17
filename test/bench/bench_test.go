package bench

import (
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
			readHeads(t, w, s.http)

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
