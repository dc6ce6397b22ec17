package intern

import (
	"fmt"
	"slices"
	"sync"
	"testing"
)

func TestLists(t *testing.T) {
	var l Lists[string]
	a := l.Of([]string{"a", "b"})
	for name, c := range map[string]struct {
		list []string
		same bool
	}{
		"Equal":  {[]string{"a", "b"}, true},
		"Order":  {[]string{"b", "a"}, false},
		"Joined": {[]string{"ab"}, false},
		"Less":   {[]string{"a"}, false},
		"More":   {[]string{"a", "b", ""}, false},
	} {
		got := l.Of(slices.Clone(c.list))
		if !slices.Equal(got, c.list) || (&got[0] == &a[0]) != c.same {
			t.Errorf("%s: %q", name, got)
		}
	}
	if l.Of([]string{}) != nil {
		t.Error("an empty list is kept")
	}
}

func TestListsAtOnce(t *testing.T) {
	var l Lists[string]
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			want := []string{fmt.Sprint(i % 4)}
			if got := l.Of(slices.Clone(want)); !slices.Equal(got, want) {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
	wg.Wait()
}
