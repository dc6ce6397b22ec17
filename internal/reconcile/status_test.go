package reconcile

import (
	"errors"
	"testing"
	"time"

	"github.com/variform/variform/internal/decide"
)

// Conditions say since when they are so where something tells that: a failure that is
// remembered, or the commit that is there.
func TestSince(t *testing.T) {
	early, late := time.Unix(1700000000, 0), time.Unix(1700000500, 0)
	there := func(at time.Time) *Item { return &Item{Action: decide.ActionNone, When: at} }
	failing := func(at time.Time) *Item {
		return &Item{Action: decide.ActionFail, Err: errors.New("no"), When: late, Since: at}
	}
	for name, c := range map[string]struct {
		items []*Item
		want  time.Time
	}{
		"nothing":          {nil, time.Time{}},
		"there":            {[]*Item{there(early)}, early},
		"two, the newest":  {[]*Item{there(late), there(early)}, late},
		"failing":          {[]*Item{failing(early)}, early},
		"failing, unknown": {[]*Item{failing(time.Time{})}, time.Time{}},
		"one fails":        {[]*Item{there(late), failing(early)}, early},
		"out of date":      {[]*Item{there(early), {Action: decide.ActionUpdate, When: late}}, time.Time{}},
		"waiting":          {[]*Item{{Action: decide.ActionWait, When: late}}, time.Time{}},
	} {
		if got := since(c.items); !got.Time.Equal(c.want) {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
