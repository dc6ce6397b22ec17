package decide

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/internal/lifecycle"
)

// everyDecision has one of each kind, and of kinds with several shapes each of them.
func everyDecision() map[string]Decision {
	draft, proposed := draftOf(1, 10), proposedOf(1, 11)
	doomed := doomedTag(1, 1)
	return map[string]Decision{
		"a first Draft":           Draft{As: ActionCreate, Ref: draft.Ref.Name},
		"a Draft after v1":        Draft{As: ActionRedraft, Ref: draft.Ref.Name},
		"a commit on a Draft":     Draft{As: ActionUpdate, Ref: draft.Ref.Name, From: draft},
		"a Proposed comes back":   Draft{As: ActionUpdate, Ref: draft.Ref.Name, From: proposed},
		"merged elsewhere":        Tag{Ref: lifecycle.PublishedRef(webPath, 2), Commit: draft.Ref.Commit, Draft: draft},
		"published":               Publish{draft},
		"discarded":               Discard{Revision: draft},
		"retired":                 Retire{Path: webPath, Tags: tags(tag(1, 1), tag(2, 2))},
		"restored":                Restore{tags(doomed)},
		"released":                Release{draft},
		"forgotten":               Forget{},
		"trimmed":                 Trim{tags(tag(1, 1), tag(2, 2))},
		"up to date":              Nothing{},
		"kept":                    Keep{},
		"waiting":                 Wait{},
		"failed":                  Fail{},
		"nothing to retire":       Retire{Path: webPath},
		"nothing to take back":    Restore{},
		"nothing beyond a limit ": Trim{},
	}
}

func TestDecisions(t *testing.T) {
	made := Hash{99}
	draft, proposed := Hash{10}, Hash{11}
	const at = "refs/heads/drafts/apps/web/packagevariant-1"
	cases := map[string]struct {
		reason  string
		action  Action
		pending bool
		goes    bool
		moves   []Move
	}{
		"a first Draft":         {"its branch must not be there", ActionCreate, true, false, []Move{{Name: at, New: made}}},
		"a Draft after v1":      {"its branch must not be there", ActionRedraft, true, false, []Move{{Name: at, New: made}}},
		"a commit on a Draft":   {"from what was read", ActionUpdate, true, false, []Move{{Name: at, Old: draft, New: made}}},
		"a Proposed comes back": {"its proposal goes in the same push", ActionUpdate, true, false, []Move{{Name: at, New: made}, {Name: "refs/heads/proposed/apps/web/packagevariant-1", Old: proposed}}},
		"merged elsewhere":      {"the tag names the Draft's commit", ActionTag, true, false, []Move{{Name: "refs/tags/apps/web/v2", New: draft}, {Name: at, Old: draft}}},
		"published":             {"an approval moves it", ActionPublish, true, false, nil},
		"discarded":             {"what was never Published goes", ActionDiscard, true, true, []Move{{Name: at, Old: draft}}},
		"retired": {"each revision is proposed for deletion", ActionRetire, true, true, []Move{
			{Name: "refs/heads/deletionProposed/apps/web/v1", New: Hash{1}}, {Name: "refs/heads/deletionProposed/apps/web/v2", New: Hash{2}},
		}},
		"restored":  {"the proposal goes, the tag stays", ActionRestore, true, false, []Move{{Name: "refs/heads/deletionProposed/apps/web/v1", Old: Hash{1}}}},
		"forgotten": {"the record alone knows it", ActionForget, true, true, nil},
		"released":  {"a commit on its own branch", ActionRelease, true, true, []Move{{Name: at, Old: draft, New: made}}},
		"trimmed": {"by the tag objects", ActionTrim, true, false, []Move{
			{Name: "refs/tags/apps/web/v1", Old: Hash{1, 1}}, {Name: "refs/tags/apps/web/v2", Old: Hash{2, 1}},
		}},
		"up to date":              {"", ActionNone, false, false, nil},
		"kept":                    {"", ActionKeep, false, false, nil},
		"waiting":                 {"", ActionWait, false, false, nil},
		"failed":                  {"", ActionFail, false, false, nil},
		"nothing to retire":       {"", ActionRetire, true, true, nil},
		"nothing to take back":    {"", ActionRestore, true, false, nil},
		"nothing beyond a limit ": {"", ActionTrim, true, false, nil},
	}
	for name, d := range everyDecision() {
		t.Run(name, func(t *testing.T) {
			c, ok := cases[name]
			if !ok {
				t.Fatal("nothing says what it moves")
			}
			if d.Action() != c.action || d.Action().Pending() != c.pending || ruled(d).Goes() != c.goes {
				t.Errorf("action %s, pending %t, goes %t", d.Action(), d.Action().Pending(), ruled(d).Goes())
			}
			if diff := cmp.Diff(c.moves, d.Moves(made)); diff != "" {
				t.Errorf("%s: -want +got:\n%s", c.reason, diff)
			}
			d.decision()
		})
	}
}

// A Published revision's tag never moves, and only history beyond its limit
// takes one away: the approval of a proposed deletion is no decision of a run.
func TestTagsStay(t *testing.T) {
	for name, d := range everyDecision() {
		for _, m := range d.Moves(Hash{99}) {
			if !strings.HasPrefix(m.Name, "refs/tags/") {
				continue
			}
			if !m.Old.IsZero() && !m.New.IsZero() {
				t.Errorf("%s moves %s", name, m.Name)
			}
			if _, trims := d.(Trim); m.New.IsZero() && !trims {
				t.Errorf("%s deletes %s", name, m.Name)
			}
		}
	}
}

func TestNewDraft(t *testing.T) {
	for name, c := range map[string]struct {
		draft Draft
		want  bool
	}{
		"created": {Draft{As: ActionCreate}, true},
		"updated": {Draft{As: ActionUpdate, From: draftOf(1, 1)}, false},
	} {
		if got := c.draft.New(); got != c.want {
			t.Errorf("%s: New is %t", name, got)
		}
	}
}
