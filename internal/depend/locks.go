package depend

import (
	"hash/maphash"
	"maps"
	"reflect"
	"slices"
	"sync"

	"github.com/variform/variform/resolver"
)

// Locks keeps the packages of locks, once where they are equal: targets are mostly
// alike. It is safe for concurrent use; the zero value is ready.
type Locks struct {
	mu    sync.Mutex
	known map[uint64][]resolver.LockedPackage
}

// Of are the packages that were seen first and equal these, which nobody may change
// from now on.
func (l *Locks) Of(packages []resolver.LockedPackage) []resolver.LockedPackage {
	s := newSum()
	s.packages(packages)
	key := s.Sum64()
	l.mu.Lock()
	defer l.mu.Unlock()
	if known, ok := l.known[key]; ok && reflect.DeepEqual(known, packages) {
		return known
	}
	if l.known == nil {
		l.known = map[uint64][]resolver.LockedPackage{}
	}
	l.known[key] = packages
	return packages
}

// sumOf is a number that tells most questions from each other.
func sumOf(in *resolver.Input) uint64 {
	s := newSum()
	for n := range in.Want {
		w := &in.Want[n]
		s.texts(w.Name, w.Namespace, w.Package, w.Version)
		s.values(w.Parameters)
	}
	for n := range in.Installations {
		i := &in.Installations[n]
		s.texts(i.Name, i.Namespace, i.Package, i.Version)
	}
	s.values(in.Platform)
	for _, l := range []*resolver.Lock{in.Lock, in.Placed} {
		if l != nil {
			s.packages(l.Packages)
		}
	}
	return s.Sum64()
}

type sum struct{ maphash.Hash }

var sumSeed = maphash.MakeSeed()

func newSum() *sum {
	s := &sum{}
	s.SetSeed(sumSeed)
	return s
}

func (s *sum) texts(texts ...string) {
	for _, text := range texts {
		_, _ = s.WriteString(text)
		_ = s.WriteByte(0)
	}
}

func (s *sum) values(m map[string]string) {
	for _, k := range slices.Sorted(maps.Keys(m)) {
		s.texts(k, m[k])
	}
}

func (s *sum) packages(list []resolver.LockedPackage) {
	for n := range list {
		p := &list[n]
		s.texts(p.Name, p.Namespace, p.Version, p.Digest, p.Owner, p.Why)
	}
}
