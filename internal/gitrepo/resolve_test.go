package gitrepo

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/internal/lifecycle"
	"github.com/variform/variform/internal/revision"
	"github.com/variform/variform/test/gittest"
)

// catalogue is a repository in which every name of a revision means something else.
func catalogue(t testing.TB, repo *gittest.Repo) map[string]string {
	t.Helper()
	at := map[string]string{}
	commit := func(name, message string) {
		at[name] = repo.Commit(t, "main", message, gittest.Text{"cat/base/Kptfile": kptfile(name)})
	}
	commit("one", "Approve\n\nkpt:{\"package\":\"cat/base\",\"workspaceName\":\"first\",\"revision\":\"1\"}\n")
	repo.Tag(t, "cat/base/v1", at["one"])
	commit("two", "Approve\n\nkpt:{\"package\":\"cat/base\",\"workspaceName\":\"packagevariant-2\",\"revision\":\"2\"}\n")
	repo.AnnotatedTag(t, "cat/base/v2", at["two"])
	commit("ten", "no annotation\n")
	repo.Tag(t, "cat/base/v10", at["ten"])
	for _, v := range []string{"v1.0.0", "v1.2.0", "v1.10.0", "v2.0.0-rc.1", "v1.3.0-alpha"} {
		commit(v, v)
		repo.AnnotatedTag(t, "cat/base/"+v, at[v])
	}
	commit("stable", "stable")
	repo.Tag(t, "cat/base/stable", at["stable"])
	commit("repo-stable", "repo stable")
	repo.Tag(t, "stable", at["repo-stable"])
	repo.Tag(t, "release-7", at["repo-stable"])
	commit("both-tag", "both")
	repo.Tag(t, "both", at["both-tag"])
	commit("both-branch", "both")
	repo.Branch(t, "both", at["both-branch"])
	repo.Branch(t, "team/dev", at["two"])
	repo.Branch(t, "drafts/cat/base/wip", at["stable"])
	repo.Branch(t, "proposed/cat/base/soon", at["both-tag"])
	repo.Branch(t, "deletionProposed/cat/base/v1", at["one"])
	commit("main", "last")
	return at
}

func TestResolve(t *testing.T) {
	srv := gittest.NewServer(t)
	repo := srv.NewRepo(t, "catalogue")
	at := catalogue(t, repo)
	tests := map[string]struct {
		reason   string
		q        Query
		commit   string // key of at
		ref      string
		rule     revision.Rule
		number   int
		life     lifecycle.Phase
		notFound string // in the error
	}{
		"Number":          {q: Query{Revision: "2"}, commit: "two", ref: "cat/base/v2", rule: revision.RuleRevision, number: 2, life: lifecycle.Published, reason: "an annotated tag is peeled"},
		"VNumber":         {q: Query{Revision: "v10"}, commit: "ten", ref: "cat/base/v10", rule: revision.RuleRevision, number: 10, life: lifecycle.Published},
		"DeletionPending": {q: Query{Revision: "1"}, commit: "one", ref: "cat/base/v1", rule: revision.RuleRevision, number: 1, life: lifecycle.DeletionProposed},
		"NoSuchNumber":    {q: Query{Revision: "3"}, notFound: "there is: v2, v1, v10"},
		"FloatingTag":     {q: Query{Revision: "stable"}, commit: "stable", ref: "cat/base/stable", rule: revision.RulePackageTag, reason: "the package's tag beats the repository's"},
		"SemverTag":       {q: Query{Revision: "v1.2.0"}, commit: "v1.2.0", ref: "cat/base/v1.2.0", rule: revision.RulePackageTag},
		"SemverNoV":       {q: Query{Revision: "1.2.0"}, notFound: "v1.2.0", reason: "no operator: not a range"},
		"RepositoryTag":   {q: Query{Revision: "release-7"}, commit: "repo-stable", ref: "release-7", rule: revision.RuleTag},
		"TagBeforeBranch": {q: Query{Revision: "both"}, commit: "both-tag", ref: "both", rule: revision.RuleTag},
		"Branch":          {q: Query{Revision: "team/dev"}, commit: "two", ref: "team/dev", rule: revision.RuleBranch},
		"Main":            {q: Query{Revision: "main"}, commit: "main", ref: "main", rule: revision.RuleBranch},
		"Registered":      {q: Query{Revision: "-1"}, commit: "main", ref: "main", rule: revision.RuleRegistered},
		"NoRegistered":    {q: Query{Revision: "-1", Branch: "trunk"}, notFound: "\"trunk\" does not exist"},
		"Commit":          {q: Query{Revision: at["both-tag"]}, commit: "both-tag", ref: at["both-tag"], rule: revision.RuleCommit},
		"CommitShort":     {q: Query{Revision: at["two"][:10]}, commit: "two", ref: at["two"], rule: revision.RuleCommit},
		"CommitUpper":     {q: Query{Revision: strings.ToUpper(at["two"][:12])}, commit: "two", ref: at["two"], rule: revision.RuleCommit},
		"NoCommit":        {q: Query{Revision: strings.Repeat("ab", 20)}, notFound: "no such commit"},
		"Caret":           {q: Query{Revision: "^1.0.0"}, commit: "v1.10.0", ref: "cat/base/v1.10.0", rule: revision.RuleRange, reason: "by number, not by letter"},
		"Tilde":           {q: Query{Revision: "~1.2"}, commit: "v1.2.0", ref: "cat/base/v1.2.0", rule: revision.RuleRange},
		"WildX":           {q: Query{Revision: "1.x"}, commit: "v1.10.0", ref: "cat/base/v1.10.0", rule: revision.RuleRange},
		"Star":            {q: Query{Revision: "*"}, commit: "v1.10.0", ref: "cat/base/v1.10.0", rule: revision.RuleRange, reason: "no prereleases, no vN revisions"},
		"Prerelease":      {q: Query{Revision: ">=2.0.0-0"}, commit: "v2.0.0-rc.1", ref: "cat/base/v2.0.0-rc.1", rule: revision.RuleRange},
		"Between":         {q: Query{Revision: ">1.0.0, <1.10.0"}, commit: "v1.2.0", ref: "cat/base/v1.2.0", rule: revision.RuleRange},
		"Hyphen":          {q: Query{Revision: "1.0.0 - 1.2.0"}, commit: "v1.2.0", ref: "cat/base/v1.2.0", rule: revision.RuleRange},
		"Or":              {q: Query{Revision: "0.9.0 || 1.0.0"}, commit: "v1.0.0", ref: "cat/base/v1.0.0", rule: revision.RuleRange},
		"NoVersion":       {q: Query{Revision: ">=3"}, notFound: "v2.0.0-rc.1, v1.10.0"},
		"BadRange":        {q: Query{Revision: ">=banana"}, notFound: "does not read as a version range"},
		"XInAName":        {q: Query{Revision: "next"}, notFound: "no tag, branch or commit", reason: "an x inside a word is no wildcard"},
		"Latest":          {q: Query{}, commit: "ten", ref: "cat/base/v10", rule: revision.RuleLatest, number: 10, life: lifecycle.Published, reason: "10 > 2"},
		"LatestByName":    {q: Query{Revision: "latest"}, commit: "ten", ref: "cat/base/v10", rule: revision.RuleLatest, number: 10, life: lifecycle.Published},
		"WorkspaceDraft":  {q: Query{Workspace: "wip"}, commit: "stable", ref: "drafts/cat/base/wip", rule: revision.RuleWorkspace, life: lifecycle.Draft},
		"WorkspaceProp":   {q: Query{Workspace: "soon"}, commit: "both-tag", ref: "proposed/cat/base/soon", rule: revision.RuleWorkspace, life: lifecycle.Proposed},
		"WorkspacePubl":   {q: Query{Workspace: "packagevariant-2"}, commit: "two", ref: "cat/base/v2", rule: revision.RuleWorkspace, number: 2, life: lifecycle.Published},
		"WorkspaceNoAnn":  {q: Query{Workspace: "v10"}, commit: "ten", ref: "cat/base/v10", rule: revision.RuleWorkspace, number: 10, life: lifecycle.Published, reason: "Porch's fallback"},
		"WorkspaceMain":   {q: Query{Workspace: "main"}, commit: "main", ref: "main", rule: revision.RuleRegistered, reason: "Porch's placeholder"},
		"WorkspaceNone":   {q: Query{Workspace: "wipp"}, notFound: "there is: wip"},
		"NoPackage":       {q: Query{Package: "bsae", Revision: "v1"}, notFound: "package cat/base"},
	}
	for _, kind := range []string{"path", "http"} {
		url := map[string]string{"path": repo.Dir, "http": srv.RepoURL("catalogue")}[kind]
		r := open(t, url)
		for name, tc := range tests {
			t.Run(kind+"/"+name, func(t *testing.T) {
				q := tc.q
				q.Directory = "cat"
				if q.Package == "" {
					q.Package = "base"
				}
				got, err := r.Resolve(context.Background(), q)
				if tc.notFound != "" {
					var nf *NotFoundError
					if !errors.As(err, &nf) || !strings.Contains(err.Error(), tc.notFound) {
						t.Fatalf("%s: got %+v, %v; want an error with %q", tc.reason, got, err, tc.notFound)
					}
					return
				}
				if err != nil {
					t.Fatalf("%s: %v", tc.reason, err)
				}
				want := Resolved{Path: "cat/base", Commit: plumbing.NewHash(at[tc.commit]), Ref: tc.ref, Rule: tc.rule, Number: tc.number, Lifecycle: tc.life}
				got.FullRef = ""
				if tc.rule == revision.RuleWorkspace {
					want.Workspace = tc.q.Workspace
				}
				if d := cmp.Diff(want, got); d != "" {
					t.Errorf("%s: %s", tc.reason, d)
				}
			})
		}
	}
}

func TestCommitNotOnAnyRef(t *testing.T) {
	s := newSite(t)
	first := s.repo.Commit(t, "main", "one", gittest.Text{"a/Kptfile": kptfile("a")})
	s.repo.Commit(t, "main", "two", gittest.Text{"a/Kptfile": kptfile("b")})
	q := Query{Package: "a", Revision: first}
	for _, kind := range []string{"http", "path"} {
		r := open(t, s.urls[kind])
		got, err := r.Resolve(context.Background(), q)
		if err != nil || got.Commit.String() != first {
			t.Errorf("%s: %+v %v", kind, got, err)
		}
	}
	q.Revision = first[:9]
	if got, err := open(t, s.urls["path"]).Resolve(context.Background(), q); err != nil || got.Commit.String() != first {
		t.Errorf("abbreviated, local: %+v %v", got, err)
	}
}

func TestIndex(t *testing.T) {
	h := plumbing.NewHash(strings.Repeat("1", 40))
	var list []Ref
	for _, n := range []string{
		"refs/heads/main", "refs/heads/drafts/lonely", "refs/heads/drafts/a/b/c/packagevariant-10", "refs/heads/drafts/a/b/c/packagevariant-9",
		"refs/heads/drafts/a/ws", "refs/heads/drafts/ab/ws", "refs/heads/proposed/a/b/c/x", "refs/heads/draftsX/a/b",
		"refs/heads/deletionProposed/a/v2", "refs/heads/deletionProposed/gone/v1",
		"refs/tags/v1", "refs/tags/a/v1", "refs/tags/a/v2", "refs/tags/a/v12", "refs/tags/a/v01", "refs/tags/a/v0", "refs/tags/a/v1.0.0", "refs/tags/a/stable",
		"refs/tags/a/b/c/v1", "refs/tags/only/v1.0.0",
	} {
		list = append(list, Ref{Name: n, Hash: h, Commit: h})
	}
	describe := func(x *Index) map[string]string {
		out := map[string]string{}
		for _, path := range x.Packages() {
			p := x.Package(path)
			var parts []string
			for _, rs := range [][]Revision{p.Drafts, p.Proposed, p.Published} {
				for _, r := range rs {
					parts = append(parts, fmt.Sprintf("%s %s%d", r.Lifecycle, r.Workspace, r.Number))
				}
			}
			for _, t := range p.Tags {
				parts = append(parts, strings.TrimPrefix(t.Name, "refs/tags/"))
			}
			out[path] = strings.Join(parts, ", ")
		}
		return out
	}
	refs := newRefs(list, "")
	all := map[string]string{
		"a":     "Draft ws0, Published 1, DeletionProposed 2, Published 12, a/stable, a/v0, a/v01, a/v1.0.0",
		"ab":    "Draft ws0",
		"a/b/c": "Draft packagevariant-90, Draft packagevariant-100, Proposed x0, Published 1",
	}
	if d := cmp.Diff(all, describe(refs.indexOf(""))); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(map[string]string{"a/b/c": all["a/b/c"]}, describe(refs.indexOf("/a/"))); d != "" {
		t.Errorf("below a: %s", d)
	}
	if p := refs.indexOf("").Package("only"); len(p.Tags) != 1 || p.Latest() != nil {
		t.Errorf("only: %+v", p)
	}
}

func TestPackagePath(t *testing.T) {
	for in, want := range map[[2]string]string{
		{"", "a"}: "a", {"/", "a/b/"}: "a/b", {"dir/", "/a"}: "dir/a", {"./dir", "a"}: "dir/a", {"", ""}: "", {"d", "../../x"}: "x",
	} {
		if got := lifecycle.PackagePath(in[0], in[1]); got != want {
			t.Errorf("lifecycle.PackagePath(%q, %q) = %q, want %q", in[0], in[1], got, want)
		}
	}
}

// A package that only approvals have tagged has its revisions for versions, and one
// that has only versions has the highest for its latest revision. A tag is a version
// with or without a v; of two that are equal, the one with a v counts.
func TestResolveOneKindOfTag(t *testing.T) {
	srv := gittest.NewServer(t)
	repo := srv.NewRepo(t, "catalogue")
	c := repo.Commit(t, "main", "all", gittest.Text{"a/Kptfile": kptfile("a"), "b/Kptfile": kptfile("b"), "c/Kptfile": kptfile("c"), "d/Kptfile": kptfile("d")})
	for _, tag := range []string{
		"a/v1", "a/v2", "a/v10", "b/v1.2.0", "b/v1.10.0", "b/v2.0.0-rc.1",
		"c/v6.0.0", "c/7.0.0", "c/7.1.0+b.1", "c/8.0.0-rc.1", "c/v1", "c/7.2", "c/v9.0.0", "c/9.0.0", "c/2024.01.15", "d/1.0.0", "d/1.1.0",
	} {
		repo.Tag(t, tag, c)
	}
	r, err := NewStore(Options{}).Open(t.Context(), srv.RepoURL("catalogue"))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ pkg, revision, want string }{
		{"a", "*", "a/v10"},
		{"a", ">=1, <10", "a/v2"},
		{"a", "1.x", "a/v1"},
		{"a", "", "a/v10"},
		{"a", ">10", "no version is in that range"},
		{"b", "latest", "b/v1.10.0"},
		{"b", "", "b/v1.10.0"},
		{"b", "<1.10", "b/v1.2.0"},
		{"c", "^6", "c/v6.0.0"},
		{"c", "^7", "c/7.1.0+b.1"},
		{"c", "~7.0", "c/7.0.0"},
		{"c", ">=8.0.0-0 <8.1", "c/8.0.0-rc.1"},
		{"c", "^9", "c/v9.0.0"},
		{"c", "*", "c/v9.0.0"},
		{"c", "<2", "no version is in that range"},
		{"d", "latest", "d/1.1.0"},
		{"d", "", "d/1.1.0"},
		{"d", "^1", "d/1.1.0"},
	} {
		got, err := r.Resolve(t.Context(), Query{Package: tt.pkg, Revision: tt.revision})
		if err != nil && !strings.Contains(err.Error(), tt.want) || err == nil && got.Ref != tt.want {
			t.Errorf("%s %q: %q, %v, want %q", tt.pkg, tt.revision, got.Ref, err, tt.want)
		}
	}
}
