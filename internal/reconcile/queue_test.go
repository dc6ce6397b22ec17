package reconcile

import (
	"slices"
	"testing"
)

func TestQueue(t *testing.T) {
	q := queue{ready: map[int]func(){}}
	var done []int
	for _, i := range []int{2, 1, 4, 0, 3} {
		q.put(i, func() { done = append(done, i) })
		if i == 1 && done != nil {
			t.Errorf("%v were done before the first", done)
		}
	}
	if !slices.IsSorted(done) || len(done) != 5 || len(q.ready) != 0 {
		t.Errorf("%v, %d wait", done, len(q.ready))
	}
}
