package solve

import "math/bits"

// Set is a bit set over the values of one slot: bit 0 is absence, bit i is candidate i. A set shorter
// than its slot's values lacks the values beyond its end.
type Set []uint64

// NewSet returns a set with room for n values (absence included) that holds the given ones.
func NewSet(n int, values ...int) Set {
	s := make(Set, words(n))
	for _, v := range values {
		s.Add(v)
	}
	return s
}

// words is the number of 64-bit words that n values take.
func words(n int) int { return (n + 63) / 64 }

// Add puts value v into the set; v must lie within the room that the set was made with.
func (s Set) Add(v int) { s[v>>6] |= 1 << (v & 63) }

// Remove takes value v out of the set.
func (s Set) Remove(v int) { s[v>>6] &^= 1 << (v & 63) }

// Has tells whether value v is in the set.
func (s Set) Has(v int) bool { return v>>6 < len(s) && s[v>>6]&(1<<(v&63)) != 0 }

// Count is the number of values in the set.
func (s Set) Count() int {
	n := 0
	for _, w := range s {
		n += bits.OnesCount64(w)
	}
	return n
}

// Values lists the values in the set in ascending order.
func (s Set) Values() []int {
	out := make([]int, 0, s.Count())
	for i, w := range s {
		for ; w != 0; w &= w - 1 {
			out = append(out, i<<6+bits.TrailingZeros64(w))
		}
	}
	return out
}

// Equal tells whether both sets hold the same values.
func (s Set) Equal(o Set) bool {
	if len(s) < len(o) {
		s, o = o, s
	}
	for i, w := range s {
		if i < len(o) && w != o[i] || i >= len(o) && w != 0 {
			return false
		}
	}
	return true
}

// keep takes all values out of the set that are not in the other one.
func (s Set) keep(o Set) {
	for i := range s {
		if i < len(o) {
			s[i] &= o[i]
		} else {
			s[i] = 0
		}
	}
}

// Clone returns a copy of the set.
func (s Set) Clone() Set { return append(Set(nil), s...) }
