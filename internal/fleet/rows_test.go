package fleet

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/lifecycle"
	"github.com/variform/variform/internal/reconcile"
)

func TestRows(t *testing.T) {
	item := func(set, repo, pkg string, action decide.Action, reasons ...string) *reconcile.Item {
		return &reconcile.Item{Identity: decide.Identity{Namespace: "default", Repository: repo, Package: pkg}, Set: set, Action: action, Reasons: reasons}
	}
	failing := func(set, repo, pkg, err string) *reconcile.Item {
		i := item(set, repo, pkg, decide.ActionFail, "not shown beside an error")
		i.Err = errors.New(err)
		return i
	}
	unproved := item("web", "c2", "web", decide.ActionNone)
	unproved.Proof = &decide.Proof{Why: "nobody built it", Unmet: []decide.Gate{{Type: "ready"}}}
	invalid := item("web", "c2", "web", decide.ActionUpdate, "moved")
	invalid.Invalid, invalid.Phase = []string{"Pod: unknown field a"}, lifecycle.Draft
	for name, tc := range map[string]struct {
		items   []*reconcile.Item
		rows    []Row
		reasons []Reason
	}{
		"nothing": {},
		"one reason of a whole set needs no names": {
			items:   []*reconcile.Item{item("web", "c1", "web", decide.ActionCreate, "new"), item("web", "c2", "web", decide.ActionCreate, "new")},
			rows:    []Row{{"web", decide.ActionCreate, []string{"c1/web", "c2/web"}}},
			reasons: []Reason{{"web", "new", nil}},
		},
		"actions and reasons of one set": {
			items: []*reconcile.Item{
				item("web", "c1", "web", decide.ActionUpdate, "moved", "edited"), item("web", "c2", "web", decide.ActionUpdate, "moved"),
				item("web", "c3", "web", decide.ActionCreate, "new"),
			},
			rows:    []Row{{"web", decide.ActionUpdate, []string{"c1/web", "c2/web"}}, {"web", decide.ActionCreate, []string{"c3/web"}}},
			reasons: []Reason{{"web", "moved", []string{"c1/web", "c2/web"}}, {"web", "edited", []string{"c1/web"}}, {"web", "new", []string{"c3/web"}}},
		},
		"what does not validate has a row of its own": {
			items:   []*reconcile.Item{item("web", "c1", "web", decide.ActionUpdate, "moved"), invalid},
			rows:    []Row{{"web", decide.ActionUpdate, []string{"c1/web"}}, {"web", "does not validate", []string{"c2/web"}}},
			reasons: []Reason{{"web", "moved", nil}, {"web", "does not validate: Pod: unknown field a", []string{"c2/web"}}},
		},
		"a message with the variant's own names is one reason": {
			items:   []*reconcile.Item{item("web", "c1", "web", decide.ActionWait, "deleted: recreate c1/web"), item("web", "c2", "web", decide.ActionWait, "deleted: recreate c2/web")},
			rows:    []Row{{"web", decide.ActionWait, []string{"c1/web", "c2/web"}}},
			reasons: []Reason{{"web", "deleted: recreate c1/web", nil}},
		},
		"an error is no reason": {
			items:   []*reconcile.Item{failing("web", "c1", "web", "no Params named c1"), failing("web", "c2", "web", "no Params named c2")},
			rows:    []Row{{"web", decide.ActionFail, []string{"c1/web", "c2/web"}}},
			reasons: nil,
		},
		"sets in order, packages without a set by their name": {
			items: []*reconcile.Item{
				item("web", "c1", "apps/web", decide.ActionCreate, "new"), item("", "c1", "apps/db", decide.ActionCreate, "new"),
				item("", "c1", "variform-lock", decide.ActionCreate),
			},
			rows: []Row{
				{"db", decide.ActionCreate, []string{"c1/apps/db"}},
				{"variform-lock", decide.ActionCreate, []string{"c1/variform-lock"}},
				{"web", decide.ActionCreate, []string{"c1/apps/web"}},
			},
			reasons: []Reason{{"db", "new", nil}, {"web", "new", nil}},
		},
		"two revisions of one variant count once": {
			items:   []*reconcile.Item{item("web", "c1", "web", decide.ActionTag, "merged"), item("web", "c1", "web", decide.ActionTag, "merged")},
			rows:    []Row{{"web", decide.ActionTag, []string{"c1/web"}}},
			reasons: []Reason{{"web", "merged", nil}},
		},
		"what keeps a Draft from being proved": {
			items:   []*reconcile.Item{item("web", "c1", "web", decide.ActionNone), unproved},
			rows:    []Row{{"web", decide.ActionNone, []string{"c1/web", "c2/web"}}},
			reasons: []Reason{{"web", "nobody built it", []string{"c2/web"}}, {"web", "gates not met: ready", []string{"c2/web"}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			rows, reasons := Rows(tc.items)
			if d := cmp.Diff(tc.rows, rows); d != "" {
				t.Errorf("rows (-want +got):\n%s", d)
			}
			if d := cmp.Diff(tc.reasons, reasons); d != "" {
				t.Errorf("reasons (-want +got):\n%s", d)
			}
		})
	}
}
