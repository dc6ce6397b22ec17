package e2e

import "testing"

// Where rendering fails a new Draft is made all the same, where that is asked for:
// for people to fill in what it lacks. It is not approved until it renders.
func TestDraftOnFailure(t *testing.T) {
	t.Parallel()
	for name, later := range map[string]bool{"a first Draft": false, "a later one": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newHTTPWorld(t, "c1")
			w.release("v11", refusing("good"))
			w.release("v12", refusing("bad"))
			action, branch := "create", "drafts/web/packagevariant-1"
			if later {
				action, branch = "redraft", "drafts/web/packagevariant-2"
				w.write("v.yaml", variantOf("web", "v11", "c1", "web", ""))
				w.mustApply()
				w.mustRun(0, "approve", "--all")
			}
			w.write("v.yaml", variantOf("web", "v12", "c1", "web", ""))
			w.wantActions(w.apply(), all("fail", "c1/web"))
			w.wantActions(w.plan("--draft-on-failure"), all(action, "c1/web"))
			p := w.apply("--draft-on-failure")
			w.wantActions(p, all(action, "c1/web"))
			w.contains(p.out, "bad value", "it cannot be approved")
			if p.status != 1 {
				t.Errorf("status %d", p.status)
			}
			w.contains(w.show("c1", "refs/heads/"+branch, "web/cm.yaml"), "a: bad")
			w.contains(w.repos["c1"].Git(t, "log", "-1", "--format=%B", branch), "not rendered: rendering web")
			w.contains(w.record("c1"), "bad value")

			before := w.refs()
			for _, args := range [][]string{{"--draft-on-failure"}, nil, {"--cache-dir", t.TempDir()}} {
				w.wantActions(w.apply(args...), all("fail", "c1/web"))
			}
			w.contains(w.mustRun(1, "status", "-o", "json").out, "bad value")
			w.contains(w.mustRun(0, "review").out, "! it fails: rendering web", "it cannot be approved: c1/web")
			w.contains(w.mustRun(1, "approve", "c1/web").out, "its variant fails: rendering web")
			w.contains(w.mustRun(1, "approve", "c1/web", "--no-render").out, "its variant fails: rendering web")
			w.unchanged(before)

			w.edit("c1", branch, "web/cm.yaml", "a: bad", "a: fine")
			w.wantActions(w.mustApply(), map[string]string{}) // the record says that it renders
			w.lacks(w.mustRun(0, "review").out, "it fails")
			before = w.refs()
			w.wantActions(w.mustApply(), map[string]string{})
			w.unchanged(before)
			w.approveSeen("c1/web")
			w.contains(w.show("c1", "main", "web/cm.yaml"), "a: fine")
		})
	}
}
