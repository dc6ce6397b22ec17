package cores

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
)

func TestEach(t *testing.T) {
	for _, workers := range []int{0, 1, 3, 100} {
		var done [50]atomic.Int32
		var at, most atomic.Int32
		err := Each(t.Context(), workers, len(done), func(i int) error {
			if n := at.Add(1); n > most.Load() {
				most.Store(n)
			}
			done[i].Add(1)
			at.Add(-1)
			return nil
		})
		for i := range done {
			if n := done[i].Load(); n != 1 {
				t.Errorf("%d workers: %d was done %d times", workers, i, n)
			}
		}
		if err != nil || workers > 0 && most.Load() > int32(workers) {
			t.Errorf("%d workers: %d at once, %v", workers, most.Load(), err)
		}
	}
}

func TestEachStops(t *testing.T) {
	boom := errors.New("boom")
	calls := 0
	if err := Each(t.Context(), 1, 10, func(i int) error {
		calls++
		if i == 3 {
			return boom
		}
		return nil
	}); !errors.Is(err, boom) || calls != 4 {
		t.Errorf("%d calls, %v", calls, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	calls = 0
	if err := Each(ctx, 1, 10, func(int) error {
		calls++
		cancel()
		return nil
	}); !errors.Is(err, context.Canceled) || calls != 1 {
		t.Errorf("%d calls, %v", calls, err)
	}
	if err := Each(t.Context(), 0, 0, nil); err != nil {
		t.Error(err)
	}
}
