package revision

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestObserve(t *testing.T) {
	s := State{Name: "p"}.Observe("a", nil).Observe("b", nil)
	if s.Current() != "b" || s.Revisions[1].Revision != 2 {
		t.Errorf("automatic: %+v", s)
	}
	if diff := cmp.Diff(s, s.Observe("b", nil)); diff != "" {
		t.Errorf("observing the active revision changes it: %s", diff)
	}
	if back := s.Observe("a", nil); back.Current() != "a" || back.Revisions[0].Revision != 3 {
		t.Errorf("a revision that comes back takes the next number: %+v", back)
	}
	m := State{Name: "p", Activation: Manual}.Observe("a", nil)
	if m.Current() != "" {
		t.Errorf("manual: %+v", m)
	}
	if _, err := m.Activate("x"); err == nil {
		t.Error("activating what is not there must fail")
	}
}

func TestCollect(t *testing.T) {
	zero, two := 0, 2
	s := State{Revisions: []Revision{{Digest: "c", State: Inactive, Revision: 7}, {Digest: "a", State: Inactive, Revision: 1}, {Digest: "b", State: Inactive, Revision: 2}, {Digest: "d", State: Active, Revision: 3}}}
	for name, tc := range map[string]struct {
		limit *int
		gone  []string
	}{"default": {nil, []string{"a", "b"}}, "all": {&zero, nil}, "two": {&two, []string{"a"}}} {
		s.HistoryLimit = tc.limit
		after, gone := s.Collect()
		if diff := cmp.Diff(tc.gone, gone); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if len(after.Revisions)+len(gone) != 4 || after.Current() != "d" {
			t.Errorf("%s: %+v", name, after)
		}
	}
}

func TestOwn(t *testing.T) {
	s := State{Revisions: []Revision{{Digest: "a", UID: "1", State: Active, Objects: []string{"x", "y"}}}}
	got, conflicts := s.Own([]Object{
		{Name: "x", Owners: []Owner{{Kind: "Deployment", Name: "other", Controller: true}}},
		{Name: "y", Owners: []Owner{{Kind: "PackageRevision", Name: "a", UID: "old", Controller: true}}},
	})
	want := []Object{
		{Name: "x", Owners: []Owner{{Kind: "PackageRevision", Name: "a", UID: "1"}, {Kind: "Deployment", Name: "other", Controller: true}}},
		{Name: "y", Owners: []Owner{{Kind: "PackageRevision", Name: "a", UID: "1", Controller: true}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"x is controlled by other"}, conflicts); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"x", "y"}, Orphans(s, State{})); diff != "" {
		t.Error(diff)
	}
}

func TestNeedsFetch(t *testing.T) {
	failed := State{Reference: "r", ImagePullSecrets: []string{"old"}, LastFetch: &Fetch{Error: "unauthorized"}}
	done := State{Reference: "r", LastFetch: &Fetch{}}
	for name, tc := range map[string]struct {
		s       State
		ref     string
		secrets []string
		want    bool
	}{
		"never":               {State{Reference: "r"}, "r", nil, true},
		"failed, same":        {failed, "r", []string{"old"}, false},
		"failed, new secret":  {failed, "r", []string{"new"}, true},
		"failed, new content": {failed, "s", []string{"old"}, true},
		"done, new secret":    {done, "r", []string{"new"}, false},
		"done, other content": {done, "s", nil, true},
	} {
		if got := tc.s.NeedsFetch(tc.ref, tc.secrets); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
