package review

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Classes of parts, as they come from other processes, join to those of the whole: with
// outliers, edits by hand, what is sensitive, deletions and packages of their own.
func TestJoin(t *testing.T) {
	for seed := range uint64(40) {
		random := rand.New(rand.NewPCG(seed, 0))
		n, parts := 1+random.IntN(40), 1+random.IntN(5)
		text := func(size, port int) string {
			return config(fmt.Sprintf("size: %d\n  port: %d", size, port)) + "---\n" + running(fmt.Sprintf("r.io/web:%d", random.IntN(2)))
		}
		members := make([]member, n)
		for i := range members {
			m := member{before: text(1, random.IntN(3)), machine: text(2+random.IntN(2)*random.IntN(900), 7)}
			switch random.IntN(8) {
			case 0:
				m.after = text(3, random.IntN(2)) // by hand
			case 1:
				m.before, m.machine = text(1, 1), "-" // it goes
			case 2:
				m.machine = m.before + "---\n" + resource("Secret", "s", fmt.Sprintf("stringData:\n  password: p%d\n", random.IntN(3)))
			case 3:
				m.machine = m.before
			}
			members[i] = m
		}
		all := changes(t, members)
		sets := map[string]int{}
		for i := range all {
			all[i].Namespace, all[i].Version = "default", fmt.Sprint("commit-", i)
			all[i].Set = fmt.Sprint("default/set-", random.IntN(2))
			sets[all[i].Set]++
			if random.IntN(9) == 0 {
				all[i].Marks = []Mark{{Kind: Lost, Text: "an edit by hand was lost"}}
			}
		}
		// A run adds them by their names.
		slices.SortFunc(all, func(a, b Change) int { return strings.Compare(a.Variant, b.Variant) })
		whole, of := Classifier{Sets: sets}, make([]Classifier, parts)
		for i := range all {
			c, err := Compare(all[i])
			if err != nil {
				t.Fatal(err)
			}
			p := &of[random.IntN(parts)]
			p.Sets = sets
			whole.Add(all[i].Variant, c)
			p.Add(all[i].Variant, c)
		}
		want, err := whole.Report()
		if err != nil {
			t.Fatal(err)
		}
		var list []*Parts
		for i := range of {
			if i%2 == 0 { // a report that was made before changes nothing
				if _, err := of[i].Report(); err != nil {
					t.Fatal(err)
				}
			}
			part, err := of[i].Parts()
			if err != nil {
				t.Fatal(err)
			}
			data, err := json.Marshal(part)
			if err != nil {
				t.Fatal(err)
			}
			crossed := &Parts{}
			if err := json.Unmarshal(data, crossed); err != nil {
				t.Fatal(err)
			}
			list = append(list, crossed)
		}
		random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		got, err := Join(list...)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(asJSON(t, want), asJSON(t, got)); d != "" {
			t.Fatalf("seed %d, %d members in %d parts (-whole +joined):\n%s", seed, n, parts, d)
		}
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	data, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestJoinRefuses(t *testing.T) {
	for name, part := range map[string]Part{
		"no members":   {Key: "k"},
		"other fields": {Key: "k", Members: []PartMember{{Name: "b", Variant: "b"}}, Columns: []PartColumn{{}}},
	} {
		if _, err := Join(&Parts{Classes: []Part{{Key: "k", Members: []PartMember{{Name: "a", Variant: "a"}}}}}, &Parts{Classes: []Part{part}}); err == nil {
			t.Errorf("%s: joined", name)
		}
	}
}
