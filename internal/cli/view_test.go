package cli

import (
	"testing"

	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/reconcile"
)

// The next command can be pasted into a shell, and holds no password.
func TestNextCommand(t *testing.T) {
	for location, want := range map[string]string{
		".":             "variform plan",
		"fleet":         "variform plan -f fleet",
		"my fleet":      "variform plan -f 'my fleet'",
		"it's; rm -r .": `variform plan -f 'it'\''s; rm -r .'`,
		"https://token:secret@git.example.com/fleet.git//prod@main": "variform plan -f https://git.example.com/fleet.git//prod@main",
	} {
		f := fleetFlags{location: location}
		if got := f.command("plan"); got != want {
			t.Errorf("%q: got %s, want %s", location, got, want)
		}
	}
}

// A variant counts once, however many of its revisions are decided about.
func TestSummary(t *testing.T) {
	item := func(pkg string, a decide.Action) *reconcile.Item {
		return &reconcile.Item{Identity: decide.Identity{Namespace: "default", Repository: "c1", Package: pkg}, Action: a}
	}
	tests := map[string]struct {
		items []*reconcile.Item
		done  bool
		want  string
	}{
		"nothing":               {nil, false, "no variants"},
		"one":                   {[]*reconcile.Item{item("a", decide.ActionCreate)}, false, "1 variant: 1 to create"},
		"one that was":          {[]*reconcile.Item{item("a", decide.ActionCreate)}, true, "1 variant: 1 created"},
		"two revisions of one":  {[]*reconcile.Item{item("a", decide.ActionRestore), item("a", decide.ActionNone)}, false, "1 variant: 1 to take back from deletion"},
		"both to be moved":      {[]*reconcile.Item{item("a", decide.ActionDiscard), item("a", decide.ActionRetire)}, false, "1 variant: 1 to discard, 1 to propose for deletion"},
		"two that rest":         {[]*reconcile.Item{item("a", decide.ActionNone), item("a", decide.ActionNone), item("b", decide.ActionNone)}, false, "2 variants: 2 up to date"},
		"others beside":         {[]*reconcile.Item{item("a", decide.ActionUpdate), item("b", decide.ActionNone), item("c", decide.ActionFail)}, true, "3 variants: 1 updated, 1 failed, 1 up to date"},
		"another's, same names": {[]*reconcile.Item{item("a", decide.ActionNone), {Identity: decide.Identity{Namespace: "other", Repository: "c1", Package: "a"}, Action: decide.ActionNone}}, false, "2 variants: 2 up to date"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := summary(&reconcile.Plan{Items: tt.items}, tt.done); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
