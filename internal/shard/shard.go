// Package shard splits what has keys into parts that need not know of each other:
// who knows a key and how many parts there are, knows the part. With one part more,
// only what the new one takes moves (rendezvous hashing).
package shard

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strconv"

	"github.com/variform/variform/internal/lazyregexp"
)

// Shard is one of several parts, counted from 1. The zero value is the whole.
type Shard struct{ Index, Of int }

// Most is how many parts there may be.
const Most = 10_000

var form = lazyregexp.New(`^[0-9]{1,9}/[0-9]{1,9}$`)

// Parse reads "2/4", "" for the whole.
func Parse(text string) (Shard, error) {
	if text == "" {
		return Shard{}, nil
	}
	if !form.MatchString(text) {
		return Shard{}, fmt.Errorf("%q is no shard: give which of how many, such as 2/4", text)
	}
	var s Shard
	if _, err := fmt.Sscanf(text, "%d/%d", &s.Index, &s.Of); err != nil {
		return Shard{}, fmt.Errorf("%q is no shard: %w", text, err)
	}
	switch {
	case s.Of == 0 || s.Of > Most:
		return Shard{}, fmt.Errorf("shard %q: there may be 1 to %d of them", text, Most)
	case s.Index == 0:
		return Shard{}, fmt.Errorf("shard %q: they are counted from 1, so the first is 1/%d: add 1 to an index that is counted from 0", text, s.Of)
	case s.Index > s.Of:
		return Shard{}, fmt.Errorf("shard %q: the last is %d/%d", text, s.Of, s.Of)
	}
	return s, nil
}

// String is as Parse reads it.
func (s Shard) String() string {
	if s == (Shard{}) {
		return ""
	}
	return strconv.Itoa(s.Index) + "/" + strconv.Itoa(s.Of)
}

// Whole says that everything is in it.
func (s Shard) Whole() bool { return s.Of <= 1 }

// Has says whether a key is in it.
func (s Shard) Has(key string) bool { return s.Whole() || Of(key, s.Of) == s.Index }

// Of is the one of n shards that a key is in: the one with the highest weight. The
// weights are a contract between all versions of the program that share a fleet.
func Of(key string, n int) int {
	best, most := 1, uint64(0)
	for i := 1; i <= n; i++ {
		if w := weight(key, strconv.Itoa(i)); i == 1 || w > most {
			best, most = i, w
		}
	}
	return best
}

// Assign gives each key to one of several members by name, none of them more than its
// fair share: the one with the highest weight that has less. Whoever knows keys, in their
// order, and members, knows who has what. Without members nobody has anything.
func Assign(keys, members []string) map[string]string {
	out, load := map[string]string{}, map[string]int{}
	for _, key := range keys {
		best, most := "", uint64(0)
		for _, m := range members {
			if w := weight(key, m); load[m]*len(members) < len(keys) && (best == "" || w > most) {
				best, most = m, w
			}
		}
		if best != "" {
			out[key] = best
			load[best]++
		}
	}
	return out
}

func weight(key, member string) uint64 {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s", member, key))
	return binary.BigEndian.Uint64(sum[:8])
}
