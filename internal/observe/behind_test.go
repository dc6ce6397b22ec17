package observe

import (
	"fmt"
	"testing"

	"github.com/variform/variform/api/config/v1alpha1"

	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/gitrepo"
	"github.com/variform/variform/test/gittest"
)

// TestBehind walks from a Draft's tip to the first commit that made it.
func TestBehind(t *testing.T) {
	mine := gitrepo.Annotation{Package: "web", WorkspaceName: "w1"}
	published := gitrepo.Annotation{Package: "web", Revision: "v1"}
	before := gitrepo.Annotation{Package: "web", WorkspaceName: "w0"}
	other := gitrepo.Annotation{Package: "db", WorkspaceName: "w9"}
	for name, c := range map[string]struct {
		commits      [][]gitrepo.Annotation // from the tip on
		visited, own int
	}{
		"made once":                     {[][]gitrepo.Annotation{{mine}, {published}}, 1, 1},
		"edited":                        {[][]gitrepo.Annotation{nil, {other}, {mine}, {published}}, 3, 3},
		"made twice":                    {[][]gitrepo.Annotation{{mine}, nil, {mine}, {before}}, 3, 3},
		"a person began it":             {[][]gitrepo.Annotation{nil, nil}, 2, 0},
		"the root made it":              {[][]gitrepo.Annotation{nil, {mine}}, 2, 2},
		"squashed with what is below":   {[][]gitrepo.Annotation{{mine, published}, {mine}}, 1, 1},
		"edited upon such a squash":     {[][]gitrepo.Annotation{nil, {mine}, {before, mine}, {mine}}, 3, 3},
		"squashed with another package": {[][]gitrepo.Annotation{{mine, other}, {published}}, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			b := &behind{path: "web", Revision: &decide.Revision{Workspace: "w1"}, next: gitrepo.Hash{1}}
			var ends []int
			for range 2 { // history comes in steps, each from the tip on
				end := len(c.commits) - 1
				for i, list := range c.commits {
					at := &gitrepo.Commit{Hash: gitrepo.Hash{byte(i + 1)}, Annotations: list}
					if i+1 < len(c.commits) {
						at.Parents = []gitrepo.Hash{{byte(i + 2)}}
					}
					if b.visit(at) {
						end = i
						break
					}
				}
				ends = append(ends, end)
			}
			if ends[0] != ends[1] {
				t.Errorf("it ended at %v", ends)
			}
			if len(b.commits) != c.visited || b.own != c.own {
				t.Errorf("%d commits, of which %d lead to what made it; want %d and %d", len(b.commits), b.own, c.visited, c.own)
			}
		})
	}
}

// One Draft whose history cannot be had keeps no other from being read ahead.
func TestFetchBehindTheOthers(t *testing.T) {
	srv := gittest.NewServer(t)
	git := srv.NewRepo(t, "c1")
	git.Git(t, "config", "uploadpack.allowFilter", "true") // as forges have it: what is not asked for does not come along
	git.Git(t, "config", "uploadpack.allowAnySHA1InWant", "true")
	git.Commit(t, "main", "start", gittest.Text{"README.md": "c1\n"})
	var fleet Fleet
	obj := &v1alpha1.Repository{}
	obj.Namespace, obj.Name = "default", "c1"
	obj.Spec.Git = &v1alpha1.GitRepository{Repo: srv.RepoURL("c1")}
	fleet.Repositories = append(fleet.Repositories, obj)
	tips := map[string]string{}
	for _, name := range []string{"web", "db"} {
		branch := "drafts/" + name + "/w1"
		git.Git(t, "branch", branch, "main")
		git.Commit(t, branch, fmt.Sprintf("Draft\n\nkpt:{\"package\":%q,\"workspaceName\":\"w1\"}\n", name), gittest.Text{name + "/Kptfile": kptfileOf(name, "nobody")})
		tips[name] = git.Commit(t, branch, "by hand", gittest.Text{name + "/more.yaml": "a: 1\n"})
	}
	r := New(Config{Fleet: fleet, Git: Git(gitrepo.NewStore(gitrepo.Options{})), Manager: "fleet"})
	if s := r.Read(t.Context()); len(s.Failures()) > 0 {
		t.Fatal(s.Failures())
	}
	repo := r.Repo("default", "c1")
	draft := func(commit string) *decide.Revision {
		return &decide.Revision{Ref: decide.Ref{Commit: decide.ParseHash(commit)}, Workspace: "w1"}
	}
	list := []*behind{
		{path: "web", Revision: draft(tips["web"])},
		{path: "gone", Revision: draft("abababababababababababababababababababab")},
		{path: "db", Revision: draft(tips["db"])},
	}
	repo.fetchBehind(t.Context(), list)
	before := srv.Count(gittest.Fetch)
	for _, name := range []string{"web", "db"} {
		commits, err := repo.behindTip(t.Context(), &decide.Package{Path: name}, draft(tips[name]), func(gitrepo.Hash) bool { return false })
		if err != nil || len(commits) != 2 {
			t.Errorf("%s: %v, %v", name, commits, err)
		}
	}
	if n := srv.Count(gittest.Fetch) - before; n > 0 {
		t.Errorf("%d requests for what can be had", n)
	}
}

// A Published commit that cannot be had makes the others be asked for no more than before.
func TestMergedBesideWhatIsGone(t *testing.T) {
	requests := map[bool]int{}
	for _, gone := range []bool{false, true} {
		srv := gittest.NewServer(t)
		git := srv.NewRepo(t, "c1")
		git.Git(t, "config", "uploadpack.allowFilter", "true")
		git.Git(t, "config", "uploadpack.allowAnySHA1InWant", "true")
		const n = 12
		hotfixes := gittest.Text{}
		for i := range n {
			name := fmt.Sprintf("web-%02d", i)
			git.Tag(t, name+"/v1", git.Commit(t, "main", fmt.Sprintf("Approve\n\nkpt:{\"package\":%q,\"workspaceName\":\"w0\",\"revision\":\"1\"}\n", name), gittest.Text{name + "/Kptfile": kptfileOf(name, "nobody")}))
			hotfixes[name+"/hotfix.yaml"] = "a: 2\n"
		}
		for i := range n {
			name := fmt.Sprintf("web-%02d", i)
			branch := "drafts/" + name + "/w1"
			git.Git(t, "branch", branch, "main")
			git.Commit(t, branch, fmt.Sprintf("Draft\n\nkpt:{\"package\":%q,\"workspaceName\":\"w1\"}\n\nVariform-Variant: fleet/default/%s\nVariform-Inputs: sha256:aa\n", name, name), gittest.Text{name + "/a.yaml": "a: 1\n"})
		}
		git.Commit(t, "main", "hotfixes", hotfixes)
		var fleet Fleet
		obj := &v1alpha1.Repository{}
		obj.Namespace, obj.Name = "default", "c1"
		obj.Spec.Git = &v1alpha1.GitRepository{Repo: srv.RepoURL("c1")}
		fleet.Repositories = append(fleet.Repositories, obj)
		r := New(Config{Fleet: fleet, Git: Git(gitrepo.NewStore(gitrepo.Options{})), Manager: "fleet"})
		if s := r.Read(t.Context()); len(s.Failures()) > 0 {
			t.Fatal(s.Failures())
		}
		repo := r.Repo("default", "c1")
		var list []looked
		for i := range n {
			list = append(list, looked{repo, repo.Packages[fmt.Sprintf("web-%02d", i)]})
		}
		if gone {
			latest := *list[3].Latest
			latest.Ref.Commit = decide.ParseHash("abababababababababababababababababababab")
			list[3].Package.Latest = &latest
		}
		before := srv.Count(gittest.Fetch)
		r.fetchMerged(t.Context(), list)
		if requests[gone] = srv.Count(gittest.Fetch) - before; requests[gone] == 0 {
			t.Error("nothing is read ahead")
		}
	}
	if requests[true] != requests[false] {
		t.Errorf("%d requests, %d where one was not there", requests[false], requests[true])
	}
}

// TestFetchMain looks for what people committed to a branch where no record tells what was
// Published: what ReadMain reads is brought. A branch that cannot be had is asked for once,
// and each of its packages says so.
func TestFetchMain(t *testing.T) {
	const n = 12
	for name, gone := range map[string]bool{"people wrote": false, "the branch cannot be had": true} {
		t.Run(name, func(t *testing.T) {
			srv := gittest.NewServer(t)
			git := srv.NewRepo(t, "c1")
			git.Git(t, "config", "uploadpack.allowFilter", "true")
			git.Git(t, "config", "uploadpack.allowAnySHA1InWant", "true")
			fleet := Fleet{}
			obj := &v1alpha1.Repository{}
			obj.Namespace, obj.Name = "default", "c1"
			obj.Spec.Git = &v1alpha1.GitRepository{Repo: srv.RepoURL("c1"), Branch: "main"}
			fleet.Repositories = append(fleet.Repositories, obj)
			for i := range n {
				pkg := fmt.Sprintf("web-%02d", i)
				git.Tag(t, pkg+"/v1", git.Commit(t, "main", fmt.Sprintf("Approve\n\nkpt:{\"package\":%q,\"workspaceName\":\"w0\",\"revision\":\"1\"}\n", pkg), gittest.Text{pkg + "/Kptfile": kptfileOf(pkg, "nobody")}))
				pv := &v1alpha1.PackageVariant{}
				pv.Namespace, pv.Name = "default", pkg
				pv.Spec.Downstream = &v1alpha1.Downstream{Repo: "c1", Package: pkg}
				fleet.Variants = append(fleet.Variants, pv)
			}
			git.Commit(t, "main", "hotfix", gittest.Text{"web-03/a.yaml": "a: 1\n"})
			r := New(Config{Fleet: fleet, Git: Git(gitrepo.NewStore(gitrepo.Options{})), Manager: "fleet"})
			s := r.ReadOpen(t.Context())
			if len(s.Failures()) > 0 || len(s.Wants) != n {
				t.Fatal(len(s.Wants), s.Failures())
			}
			repo := r.Repo("default", "c1")
			if gone {
				repo.Head = decide.ParseHash("abababababababababababababababababababab")
			}
			before := srv.Count(gittest.Fetch)
			unread := r.FetchMain(t.Context(), s.Wants)
			if gone {
				if n, asked := len(unread), srv.Count(gittest.Fetch)-before; n != len(s.Wants) || asked > 2 {
					t.Errorf("%d packages are not read, of %d, in %d requests", n, len(s.Wants), asked)
				}
				return
			}
			if len(unread) > 0 {
				t.Fatal(unread)
			}
			read := srv.Count(gittest.Fetch)
			for _, p := range repo.Packages {
				if err := r.ReadMain(t.Context(), repo, p); err != nil {
					t.Error(err)
				}
				if (p.Branch != nil) != (p.Path == "web-03") {
					t.Errorf("%s: %+v", p.Path, p.Branch)
				}
			}
			if asked := srv.Count(gittest.Fetch) - read; asked > 0 {
				t.Errorf("%d requests for what was brought", asked)
			}
		})
	}
}
