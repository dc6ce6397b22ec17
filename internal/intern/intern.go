// Package intern keeps what is equal once: a fleet of thousands has few sets of
// labels, and a map takes more than what stands in it.
package intern

import (
	"maps"
	"slices"
	"strings"
)

// Maps are maps of texts that were seen. It is for one goroutine; the zero value is
// ready.
type Maps struct {
	known map[string]map[string]string
	key   strings.Builder
}

// Of is the first map that was seen and equals m, which nobody may change from now on.
// One that is empty is nil.
func (s *Maps) Of(m map[string]string) map[string]string {
	if len(m) == 0 {
		return nil
	}
	s.key.Reset()
	for _, k := range slices.Sorted(maps.Keys(m)) {
		for _, text := range []string{k, m[k]} {
			s.key.WriteString(text)
			s.key.WriteByte(0)
		}
	}
	key := s.key.String()
	if known, ok := s.known[key]; ok && maps.Equal(known, m) { // a text may hold a zero
		return known
	}
	if s.known == nil {
		s.known = map[string]map[string]string{}
	}
	s.known[key] = m
	return m
}
