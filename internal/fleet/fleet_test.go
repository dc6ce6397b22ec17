package fleet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/lifecycle"
	"github.com/variform/variform/internal/observe"
	"github.com/variform/variform/internal/reconcile"
	"github.com/variform/variform/internal/review"
	"github.com/variform/variform/internal/source"
	"github.com/variform/variform/variantgen"
)

func TestManager(t *testing.T) {
	for name, tc := range map[string]struct {
		manager string
		prune   bool
		want    string
		err     string
	}{
		"Named":        {manager: "prod", want: "prod"},
		"NamedPrune":   {manager: "prod", prune: true, want: "prod"},
		"Unnamed":      {want: "variform"},
		"UnnamedPrune": {prune: true, err: "--manager variform"},
		"NoName":       {manager: "Prod/1", err: `manager "Prod/1"`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Manager(&source.Fleet{Manager: tc.manager}, tc.prune)
			if got != tc.want || (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Errorf("got %q, %v; want %q, %q", got, err, tc.want, tc.err)
			}
		})
	}
}

// TestComesFrom: a fleet is told by where it is read from, or cloned from.
func TestComesFrom(t *testing.T) {
	clone := func(url, dir string) func(string) (string, string) {
		return func(string) (string, string) { return url, dir }
	}
	for name, tt := range map[string]struct {
		fleet  source.Fleet
		remote func(string) (string, string)
		want   string
	}{
		"Git":               {fleet: source.Fleet{From: source.Location{URL: "https://me@Git.example.com/a/fleet.git", Dir: "prod"}}, want: "git.example.com/a/fleet//prod"},
		"a clone":           {fleet: source.Fleet{From: source.Location{Folder: "fleet"}}, remote: clone("git@git.example.com:a/fleet.git", "prod"), want: "git.example.com/a/fleet//prod"},
		"a port of its own": {fleet: source.Fleet{From: source.Location{URL: "ssh://git@git.example.com:2222/a/fleet.git"}}, want: "git.example.com/a/fleet//"},
		"named":             {fleet: source.Fleet{Manager: "prod", From: source.Location{URL: "https://git.example.com/a/fleet"}}, want: "git.example.com/a/fleet//"},
		"no clone":          {fleet: source.Fleet{From: source.Location{Folder: "fleet"}}, remote: clone("", "")},
		"of this machine":   {fleet: source.Fleet{From: source.Location{Folder: "fleet"}}, remote: clone("/srv/git/fleet.git", "")},
		"of a neighbour":    {fleet: source.Fleet{From: source.Location{URL: "git/fleet.git"}}},
	} {
		if got := ComesFrom(&tt.fleet, tt.remote); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

// shownClasses are three, two of which have keys that begin alike.
func shownClasses() *Shown {
	shown := &Shown{
		Report: &review.Report{Classes: []review.Class{
			{Key: idA[:12], ID: idA, Members: []string{"c1/web", "c2/web"}}, {Key: idB[:12], ID: idB, Members: []string{"c3/web"}}, {Key: idC[:12], ID: idC, Members: []string{"c4/web"}},
		}},
		Revisions: map[string]*reconcile.Shown{},
		Problems:  []error{errors.New("c9 cannot be read")},
	}
	for i, phase := range []lifecycle.Phase{lifecycle.Draft, lifecycle.Proposed, lifecycle.Draft, lifecycle.DeletionProposed} {
		repo := fmt.Sprintf("c%d", i+1)
		shown.Revisions[repo+"/web"] = &reconcile.Shown{
			Identity: revisionOf(repo).Identity, Workspace: "w", Phase: phase, Commit: "commit of " + repo,
			Selectable: decide.Selectable{
				Names: func() []string { return []string{repo, "web"} }, Labels: map[string]string{"region": []string{"eu", "us"}[i%2]},
				When: time.Date(2026, 1, i+1, 0, 0, 0, 0, time.UTC),
			},
		}
	}
	return shown
}

const (
	idA = "aaaa00000001@000000000001"
	idB = "aaab00000002@000000000002"
	idC = "aaab10000003@000000000003"
)

func revisionOf(repo string) decide.RevisionID {
	return decide.RevisionID{Identity: decide.Identity{Namespace: "default", Repository: repo, Package: "web"}, Workspace: "w"}
}

func TestClasses(t *testing.T) {
	shown := shownClasses()
	for name, tc := range map[string]struct {
		d    decide.Verb
		ids  []string
		want []string // repositories
		err  []string
	}{
		"One":         {d: decide.Approve, ids: []string{idA}, want: []string{"c1", "c2"}},
		"Two":         {d: decide.Approve, ids: []string{idA, idB}, want: []string{"c1", "c2", "c3"}},
		"Twice":       {d: decide.Approve, ids: []string{idB, idB}, want: []string{"c3"}},
		"Short":       {d: decide.Approve, ids: []string{"aaaa@00000000"}, want: []string{"c1", "c2"}},
		"TooShort":    {d: decide.Approve, ids: []string{"aaaa@0000000"}, err: []string{"at least 8 characters after the @", idA}},
		"KeyTooShort": {d: decide.Approve, ids: []string{"aaa@00000000000"}, err: []string{"no class aaa@"}},
		"Several":     {d: decide.Approve, ids: []string{"aaab@00000000"}, err: []string{"begins 2 classes", idB, idC}},
		"Changed":     {d: decide.Approve, ids: []string{idA, "gone"}, err: []string{"no class gone", "review again", "c9 cannot be read"}},
		"None":        {d: decide.Approve, ids: []string{""}, err: []string{"no class"}},
		"KeyAlone":    {d: decide.Approve, ids: []string{idA[:12]}, err: []string{"class aaaa00000001 has 2 members now", "with the whole ID " + idA}},
		"KeyBegins":   {d: decide.Approve, ids: []string{"aaaa"}, err: []string{"with the whole ID " + idA}},
		"KeyMoved":    {d: decide.Approve, ids: []string{idB[:12] + "@000000000009"}, err: []string{"run review again: it has 1 member now, as " + idB}},
		"NotInOne":    {d: decide.Reject, ids: []string{idA}, want: []string{"c2"}},
		"NotInAny":    {d: decide.Reject, ids: []string{idA, idB}, err: []string{"class " + idB + " has nothing to reject"}},
		"AllWrongOf2": {d: decide.Approve, ids: []string{"x", "y"}, err: []string{"no class x", "no class y"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := shown.Classes(tc.d, tc.ids...)
			if errors.Is(err, ErrClass) != (tc.err != nil) {
				t.Fatalf("got %v", err)
			}
			for _, want := range tc.err {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not say %q", err, want)
				}
			}
			var want map[decide.RevisionID]decide.Seen
			for _, repo := range tc.want {
				if want == nil {
					want = map[decide.RevisionID]decide.Seen{}
				}
				want[revisionOf(repo)] = decide.Seen{Commit: "commit of " + repo, Class: map[string]string{"c1": idA[:12], "c2": idA[:12], "c3": idB[:12]}[repo]}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Classes are shown whole: so they are approved.
func TestSelect(t *testing.T) {
	shown := shownClasses()
	us, err := decide.ParseLabels("region=us")
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		decide.Selection
		want []string
		err  string
	}{
		"all":             {want: []string{idA, idB, idC}},
		"a class":         {Selection: decide.Selection{Names: []string{idB}}, want: []string{idB}},
		"a key":           {Selection: decide.Selection{Names: []string{"aaaa"}}, want: []string{idA}},
		"a member":        {Selection: decide.Selection{Names: []string{"c2/web"}}, want: []string{idA}},
		"a repository":    {Selection: decide.Selection{Names: []string{"c3"}}, want: []string{idB}},
		"class or member": {Selection: decide.Selection{Names: []string{"c3", idA}}, want: []string{idA, idB}},
		"labels":          {Selection: decide.Selection{Labels: us}, want: []string{idA, idC}},
		"labels of names": {Selection: decide.Selection{Names: []string{"c1", "c4"}, Labels: us}, want: []string{idC}},
		"labels of class": {Selection: decide.Selection{Names: []string{idA, idB}, Labels: us}, want: []string{idA}},
		"since":           {Selection: decide.Selection{Since: time.Date(2026, 1, 3, 0, 0, 0, 0, time.UTC)}, want: []string{idB, idC}},
		"several":         {Selection: decide.Selection{Names: []string{"aaab"}}, err: "begins 2 classes"},
		"nobody":          {Selection: decide.Selection{Names: []string{"c9"}}, err: `called "c9"`},
		"none":            {Selection: decide.Selection{Names: []string{"c1"}, Labels: us}, err: `with the labels "region=us"`},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := shown.Select(tc.Selection)
			if err != nil || tc.err != "" {
				if err == nil || tc.err == "" || !strings.Contains(err.Error(), tc.err) {
					t.Fatalf("error %v, want %q", err, tc.err)
				}
				return
			}
			var got []string
			for _, c := range r.Classes {
				got = append(got, c.ID)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// read is the fleet of a folder with one file of three documents.
func read(t *testing.T) *source.Fleet {
	t.Helper()
	dir := t.TempDir()
	text := "apiVersion: config.porch.kpt.dev/v1alpha1\nkind: Repository\nmetadata: {name: c1, labels: {env: prod}}\nspec: {type: git, git: {repo: /none}}\n---\n" +
		"apiVersion: config.porch.kpt.dev/v1alpha2\nkind: PackageVariantSet\nmetadata: {name: web}\nspec:\n  upstream: {repo: c, package: web, revision: v1}\n  targets:\n  - repositories: [{name: c1}]\n---\n" +
		"apiVersion: config.porch.kpt.dev/v1alpha1\nkind: PackageVariant\nmetadata: {name: own}\nspec:\n  upstream: {repo: c, package: web, revision: v1}\n  downstream: {repo: c1, package: own}\n---\n" +
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {a: b}\n"
	if err := os.WriteFile(filepath.Join(dir, "fleet.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	files, err := source.Open(context.Background(), dir, source.Options{})
	if err != nil {
		t.Fatal(err)
	}
	f, err := files.Fleet(context.Background())
	if err != nil || len(f.Problems) > 0 {
		t.Fatal(err, f.Problems)
	}
	return f
}

func TestLocate(t *testing.T) {
	f, bad := read(t), errors.New("bad")
	item := func(set, name string, pv *v1alpha1.PackageVariant) *reconcile.Item {
		return &reconcile.Item{Identity: decide.Identity{Namespace: "default"}, Set: set, Name: name, Variant: pv, Err: bad}
	}
	pv := &v1alpha1.PackageVariant{}
	p := &reconcile.Plan{
		Sets:  []*reconcile.SetStatus{{Set: observe.Set{Namespace: "default", Name: "web", Failures: []error{bad}}}, {Set: observe.Set{Namespace: "default", Name: "elsewhere", Failures: []error{bad}}}},
		Items: []*reconcile.Item{item("web", "web-c1-web", pv), item("", "own", pv), item("", "gone", nil), {Variant: pv}},
		Problems: []error{
			&observe.RepositoryError{Namespace: "default", Name: "c1", Err: bad}, bad,
			variantgen.Failure{Origin: variantgen.Origin{Namespace: "default", Variant: "own", Description: "PackageVariant default/own"}, Err: bad},
		},
	}
	Locate(f, p)
	var got []string
	add := func(err error) {
		if err == nil {
			got = append(got, "nothing")
			return
		}
		at, message := PlaceOf(err)
		if !errors.Is(err, bad) && !errors.As(err, new(*observe.RepositoryError)) {
			t.Errorf("%v hides its cause", err)
		}
		got = append(got, at.String()+"|"+message)
	}
	for _, s := range p.Sets {
		add(s.Failures[0])
	}
	for _, i := range p.Items {
		add(i.Err)
	}
	for _, err := range p.Problems {
		add(err)
	}
	want := []string{"fleet.yaml:6|bad", "|bad", "fleet.yaml:6|bad", "fleet.yaml:14|bad", "|bad", "nothing", "fleet.yaml:1|Repository default/c1: bad", "|bad", "fleet.yaml:14|PackageVariant default/own: bad"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("places (-want +got):\n%s", diff)
	}
}

func TestWanted(t *testing.T) {
	got, err := Wanted(read(t))
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Repositories) != 1 || len(got.Sets) != 1 || len(got.Variants) != 1 || got.Context == nil {
		t.Errorf("got %+v", got)
	}
	var objects []string
	for i, o := range got.Objects {
		objects = append(objects, o.Kind+" "+o.Name+" "+got.ContextObjects[i].From())
	}
	if diff := cmp.Diff([]string{"ConfigMap settings fleet.yaml:21"}, objects); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
}
