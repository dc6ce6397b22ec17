package lifecycle

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/api/config/v1alpha1"
)

func TestWorkspaceNumber(t *testing.T) {
	for name, want := range map[string]int{
		"packagevariant-1": 1, "packagevariant-20": 20,
		"packagevariant-0": 0, "packagevariant--1": 0, "packagevariant-01": 0, "packagevariant-": 0, "packagevariant-x": 0, "1": 0, "v1": 0, "": 0,
	} {
		if got := WorkspaceNumber(name); got != want {
			t.Errorf("%q: got %d, want %d", name, got, want)
		}
	}
}

// names are those of revisions, by their workspaces.
func names(list []Revision) (out []string) {
	for _, r := range list {
		out = append(out, r.Package+"/"+r.Workspace)
	}
	return out
}

// TestDownstream holds which revisions a variant works on.
func TestDownstream(t *testing.T) {
	rev := func(pkg, workspace string, number int, phase Phase, owners ...string) Revision {
		return Revision{Repository: "r", Package: pkg, Workspace: workspace, Revision: number, Phase: phase, Owners: owners}
	}
	elsewhere := rev("p", "d1", 0, Draft, "me")
	elsewhere.Repository = "s"
	cases := map[string]struct {
		policy                            v1alpha1.AdoptionPolicy
		in                                []Revision
		going, adopt, strays, foreignOnes []string
	}{
		"nothing": {},
		"the open ones, not what is Published": {
			in:    []Revision{rev("p", "v1", 1, Published, "me"), rev("p", "d1", 0, Draft, "me"), rev("p", "d2", 0, Proposed, "me")},
			going: []string{"p/d1", "p/d2"},
		},
		"else the highest Published, in any order": {
			in:    []Revision{rev("p", "a", 2, Published, "me"), rev("p", "b", 10, Published, "me"), rev("p", "c", 9, Published, "me")},
			going: []string{"p/b"},
		},
		"what waits for deletion is over": {in: []Revision{rev("p", "a", 2, DeletionProposed, "me")}},
		"nobody's Draft is adopted on request": {
			policy: v1alpha1.AdoptExisting,
			in:     []Revision{rev("p", "d1", 0, Draft), rev("p", "d2", 0, Draft, "you"), rev("p", "v1", 1, Published)},
			going:  []string{"p/d1"}, adopt: []string{"p/d1"}, foreignOnes: []string{"p/d2", "p/v1"},
		},
		"nobody's Draft is left alone otherwise": {
			in:          []Revision{rev("p", "d1", 0, Draft), rev("p", "v1", 1, Published, "you")},
			foreignOnes: []string{"p/d1", "p/v1"},
		},
		"open ones of another name or repository are strays": {
			in:     []Revision{rev("q", "d1", 0, Draft, "me"), rev("q", "v1", 1, Published, "me"), rev("q", "d2", 0, Draft, "you"), elsewhere},
			strays: []string{"q/d1", "p/d1"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := Downstream("me", "r", "p", tc.policy, tc.in)
			got := [][]string{names(s.Continue), names(s.Adopt), names(s.Strays), names(s.Foreign)}
			if diff := cmp.Diff([][]string{tc.going, tc.adopt, tc.strays, tc.foreignOnes}, got); diff != "" {
				t.Errorf("continue, adopt, strays, foreign (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRemove(t *testing.T) {
	for _, tc := range []struct {
		policy v1alpha1.DeletionPolicy
		phase  Phase
		want   Removal
	}{
		{"", Draft, Discard},
		{"", Proposed, Discard},
		{"", Published, ProposeDeletion},
		{"", DeletionProposed, Keep},
		{v1alpha1.DeletionDelete, Draft, Discard},
		{v1alpha1.DeletionDelete, Published, ProposeDeletion},
		{v1alpha1.DeletionOrphan, Draft, Release},
		{v1alpha1.DeletionOrphan, Published, Release},
		{v1alpha1.DeletionOrphan, DeletionProposed, Release},
	} {
		if got := Remove(tc.policy, tc.phase); got != tc.want {
			t.Errorf("%q, %s: got %s, want %s", tc.policy, tc.phase, got, tc.want)
		}
	}
}

// TestBraked: three packages or more, and more than a quarter of the set.
func TestBraked(t *testing.T) {
	for _, tc := range []struct {
		going, total int
		want         bool
	}{
		{2, 2, false}, {3, 3, true}, {3, 11, true}, {3, 12, false}, {4, 12, true}, {25, 100, false}, {26, 100, true}, {0, 0, false},
	} {
		if got := Braked(tc.going, tc.total); got != tc.want {
			t.Errorf("%d of %d: got %v", tc.going, tc.total, got)
		}
	}
}

// TestUpstreamIsNamed holds what an error says that was looked for.
func TestUpstreamIsNamed(t *testing.T) {
	for want, u := range map[string]v1alpha1.Upstream{
		`could not find upstream package revision r/p (workspace "w")`:                  {WorkspaceName: "w"},
		`could not find upstream package revision r/p (revision "v2")`:                  {Revision: "v2"},
		`could not find upstream package revision r/p (workspace "w" or revision "v2")`: {WorkspaceName: "w", Revision: "v2"},
		`could not find upstream package revision r/p (any Published revision)`:         {},
		`revision 0 of upstream r/p: upstream cannot be published`:                      {Revision: "0"},
	} {
		u.Repo, u.Package = "r", "p"
		if _, err := FindUpstream(u, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// TestUpstreamOfNothingNamed: the highest Published, then the branch's own content.
func TestUpstreamOfNothingNamed(t *testing.T) {
	rev := func(workspace string, number int) Revision {
		return Revision{Repository: "r", Package: "p", Workspace: workspace, Revision: number}
	}
	for name, tc := range map[string]struct {
		in   []Revision
		want string
	}{
		"highest":     {[]Revision{rev("a", 1), rev("b", 3), rev("c", 2)}, "b"},
		"branch":      {[]Revision{rev("d1", 0), rev("main", -1)}, "main"},
		"not branch":  {[]Revision{rev("main", -1), rev("a", 1)}, "a"},
		"first equal": {[]Revision{rev("a", 1), rev("b", 1)}, "a"},
		"no Draft":    {[]Revision{rev("d1", 0)}, ""},
	} {
		got, err := FindUpstream(v1alpha1.Upstream{Repo: "r", Package: "p"}, tc.in)
		if got.Workspace != tc.want || (err != nil) != (tc.want == "") {
			t.Errorf("%s: got %q, %v, want %q", name, got.Workspace, err, tc.want)
		}
	}
}

// TestRefs: the layout is Porch's, letter by letter.
func TestRefs(t *testing.T) {
	for got, want := range map[string]string{
		DraftRef("a/b", "w"): "refs/heads/drafts/a/b/w", ProposedRef("a/b", "w"): "refs/heads/proposed/a/b/w",
		DeletionRef("a/b", 3): "refs/heads/deletionProposed/a/b/v3", PublishedRef("a/b", 3): "refs/tags/a/b/v3", BranchRef("main"): "refs/heads/main",
		PackagePath("", "p"): "p", PackagePath("/d/", "p/q"): "d/p/q", PackagePath("d/../e", "p"): "e/p",
		PackagePath("", "./r"): "r", PackagePath("", "s//t"): "s/t", PackagePath("f", ""): "f", PackagePath("", ""): "", PackagePath("", "."): "", PackagePath("g", "../h"): "h", PackagePath("", "../i"): "i",
		PackagePath("j", "k"): "j/k", PackagePath("", "l/m/"): "l/m", PackagePath("n/.", "."): "n",
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
