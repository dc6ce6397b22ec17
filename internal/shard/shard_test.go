package shard

import (
	"fmt"
	"maps"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		text string
		want Shard
		err  string // in the error
	}{
		{text: "", want: Shard{}},
		{text: "1/1", want: Shard{1, 1}},
		{text: "2/4", want: Shard{2, 4}},
		{text: "4/4", want: Shard{4, 4}},
		{text: "10/10000", want: Shard{10, 10000}},
		{text: "0/4", err: "counted from 1"},
		{text: "5/4", err: "the last is 4/4"},
		{text: "1/0", err: "1 to 10000"},
		{text: "0/0", err: "1 to 10000"},
		{text: "1/10001", err: "1 to 10000"},
		{text: "2", err: "such as 2/4"},
		{text: "2/", err: "such as 2/4"},
		{text: "/4", err: "such as 2/4"},
		{text: "-1/4", err: "such as 2/4"},
		{text: "+1/4", err: "such as 2/4"},
		{text: " 1/4", err: "such as 2/4"},
		{text: "1/4\n", err: "such as 2/4"},
		{text: "1/4/2", err: "such as 2/4"},
		{text: "a/b", err: "such as 2/4"},
		{text: "1/99999999999999999999", err: "such as 2/4"},
	} {
		got, err := Parse(c.text)
		if c.err == "" {
			if err != nil || got != c.want || got.String() != c.text {
				t.Errorf("Parse(%q) = %v, %v, want %v", c.text, got, err, c.want)
			}
		} else if err == nil || !strings.Contains(err.Error(), c.err) {
			t.Errorf("Parse(%q): %v, want an error with %q", c.text, err, c.err)
		}
	}
}

// TestOfIsAContract: machines of one run may have different versions of the program.
func TestOfIsAContract(t *testing.T) {
	for _, c := range []struct {
		key  string
		want [6]int // of 1, 2, 3, 4, 5 and 100
	}{
		{"git.example.com/fleet/cluster-001", [6]int{1, 2, 2, 4, 4, 9}},
		{"git.example.com/fleet/cluster-002", [6]int{1, 1, 3, 3, 3, 19}},
		{"git.example.com/fleet/cluster-003", [6]int{1, 2, 2, 2, 2, 68}},
		{"git.example.com/fleet/cluster-004", [6]int{1, 2, 3, 3, 3, 92}},
		{"/srv/git/edge", [6]int{1, 2, 2, 2, 2, 7}},
		{"", [6]int{1, 1, 1, 1, 1, 81}},
	} {
		var got [6]int
		for i, n := range []int{1, 2, 3, 4, 5, 100} {
			got[i] = Of(c.key, n)
		}
		if got != c.want {
			t.Errorf("%q is in %v, want %v", c.key, got, c.want)
		}
	}
}

func keys() (out []string) {
	for i := range 10_000 {
		out = append(out, fmt.Sprintf("git.example.com/fleet/cluster-%05d", i))
	}
	return out
}

// TestEachKeyIsInOneShard, and shards are alike in size.
func TestEachKeyIsInOneShard(t *testing.T) {
	for _, n := range []int{1, 2, 3, 4, 7, 16} {
		count := make([]int, n+1)
		for _, k := range keys() {
			in := 0
			for i := 1; i <= n; i++ {
				if (Shard{i, n}).Has(k) {
					in, count[i] = in+1, count[i]+1
				}
			}
			if in != 1 {
				t.Fatalf("%s is in %d of %d shards", k, in, n)
			}
		}
		for i := 1; i <= n; i++ {
			if mean := len(keys()) / n; count[i] < mean*85/100 || count[i] > mean*115/100 {
				t.Errorf("shard %d/%d has %d of %d keys", i, n, count[i], len(keys()))
			}
		}
	}
}

// TestOneMoreTakesItsShareAlone: nothing moves between those that were there.
func TestOneMoreTakesItsShareAlone(t *testing.T) {
	for n := 1; n <= 12; n++ {
		moved := 0
		for _, k := range keys() {
			was, is := Of(k, n), Of(k, n+1)
			switch {
			case is == n+1:
				moved++
			case is != was:
				t.Fatalf("with %d shards for %d, %s moves from %d to %d", n+1, n, k, was, is)
			}
		}
		if share := len(keys()) / (n + 1); moved < share*9/10 || moved > share*11/10 {
			t.Errorf("with %d shards for %d, %d of %d keys move, want about %d", n+1, n, moved, len(keys()), share)
		}
	}
}

func TestTheWhole(t *testing.T) {
	for s, whole := range map[Shard]bool{{}: true, {1, 1}: true, {1, 2}: false} {
		if s.Whole() != whole {
			t.Errorf("%v is whole: %t", s, s.Whole())
		}
	}
	if !(Shard{}).Has("anything") {
		t.Error("the whole lacks something")
	}
}

// TestAssign: every key has one member, none has more than its share, the order of
// members is nothing, and who joins takes its share and little else moves.
func TestAssign(t *testing.T) {
	var keys []string
	for i := range 60 {
		keys = append(keys, fmt.Sprint("key ", i))
	}
	members := []string{"a", "b", "c"}
	before := Assign(keys, members)
	load := map[string]int{}
	for _, m := range before {
		load[m]++
	}
	if len(before) != 60 || load["a"] != 20 || load["b"] != 20 || load["c"] != 20 {
		t.Errorf("%d keys, %v", len(before), load)
	}
	if again := Assign(keys, []string{"c", "a", "b"}); !maps.Equal(before, again) {
		t.Error("the order of members means something")
	}
	moved := 0
	for key, m := range Assign(keys, append(members, "d")) {
		if before[key] != m {
			moved++
		}
	}
	if moved < 15 || moved > 30 {
		t.Errorf("%d of 60 keys move to or around a fourth member", moved)
	}
	if got := Assign(keys[:1], members); len(got) != 1 {
		t.Error(got)
	}
	if got := Assign(keys, nil); len(got) != 0 {
		t.Error(got)
	}
}
