package intern

import (
	"hash/maphash"
	"slices"
	"sync"
)

// Lists are lists that were seen. They are safe for concurrent use; the zero value is
// ready.
type Lists[T comparable] struct {
	mu    sync.Mutex
	seed  maphash.Seed
	known map[uint64][]T
}

// Of is a list that was seen before and equals this one, which nobody may change from
// now on. One that is empty is nil.
func (l *Lists[T]) Of(list []T) []T {
	if len(list) == 0 {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.known == nil {
		l.seed, l.known = maphash.MakeSeed(), map[uint64][]T{}
	}
	var h maphash.Hash
	h.SetSeed(l.seed)
	for _, item := range list {
		maphash.WriteComparable(&h, item)
	}
	key := h.Sum64()
	if known := l.known[key]; slices.Equal(known, list) {
		return known
	}
	l.known[key] = slices.Clip(list)
	return list
}
