package observe

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/gitrepo"
	"github.com/variform/variform/internal/record"
)

// Several Repositories may show one Git repository: it has one record, where the
// first of them says that it stands.
func TestRecordOf(t *testing.T) {
	one, two := new(gitrepo.Repo), new(gitrepo.Repo)
	shown := func(name string, git *gitrepo.Repo, ref string) *Repo {
		obj := &v1alpha1.Repository{}
		obj.Name = name
		if ref != "" {
			obj.Annotations = map[string]string{"variform.dev/record-ref": ref}
		}
		r := newRepo(obj)
		if git != nil {
			r.Git = git
		}
		return r
	}
	e := New(Config{Manager: "fleet"})
	e.sorted = []*Repo{shown("a", one, ""), shown("b", two, ""), shown("c", one, "refs/heads/memory"), shown("d", one, "none"), shown("unread", nil, "none")}
	for name, tt := range map[string]struct {
		git  Repository
		want string
	}{"the second says": {one, "refs/heads/memory"}, "nobody says": {two, ""}, "not read": {nil, ""}} {
		t.Run(name, func(t *testing.T) {
			if got := e.RecordOf(tt.git); got.Ref != tt.want || got.Manager != "fleet" {
				t.Errorf("got %+v, want %q", got, tt.want)
			}
		})
	}
	var names []string
	for _, r := range e.GitRepositories() {
		names = append(names, r.Name)
	}
	if len(names) != 2 || names[0] != "a" || names[1] != "b" {
		t.Errorf("repositories %v", names)
	}
}

// Packages that only the record knows come in order of their paths, however the
// record holds them.
func TestVanishedInOrder(t *testing.T) {
	var edits []record.Edit
	var want []string
	for i := range 40 {
		hash := strings.Repeat("1", 40)
		e := record.Entry{Path: fmt.Sprintf("app-%02d", i), Place: record.Open, Workspace: "v1", Commit: hash, Tree: hash, Hydrated: hash, Owner: "fleet/default/app"}
		edits, want = append(edits, record.Put{Entry: e}), append(want, e.Path)
	}
	rec, _, err := record.New("fleet").With(edits, time.Unix(1700000000, 0))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range (&Repo{Repository: &decide.Repository{Recorded: rec}}).vanished() {
		got = append(got, e.Path)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
