package build

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/api/config/v1alpha1"
	variformv1alpha1 "github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/depend"
	"github.com/variform/variform/internal/gitrepo"
	"github.com/variform/variform/internal/injection"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/mutate"
	"github.com/variform/variform/internal/observe"
	"github.com/variform/variform/internal/provenance"
	"github.com/variform/variform/internal/wiring"
	"github.com/variform/variform/resolver"
	"github.com/variform/variform/test/gittest"
)

const draft1 = "refs/heads/drafts/foo/packagevariant-1"

// shop has the package foo in a catalogue and a variant of it in c1, read by a
// real Reader of real repositories.
type shop struct {
	t           *testing.T
	catalog, c1 *gittest.Repo
	variant     *v1alpha1.PackageVariant
	fleet       observe.Fleet
	builder     *Builder
	stage       *gitrepo.Stage
}

func newShop(t *testing.T) *shop {
	t.Helper()
	s := &shop{t: t, catalog: gittest.NewRepo(t), c1: gittest.NewRepo(t)}
	for name, at := range map[string]*gittest.Repo{"catalog": s.catalog, "c1": s.c1} {
		obj := &v1alpha1.Repository{}
		obj.Namespace, obj.Name = "default", name
		obj.Spec.Git = &v1alpha1.GitRepository{Repo: at.Dir, Branch: "main"}
		s.fleet.Repositories = append(s.fleet.Repositories, obj)
	}
	s.c1.Commit(t, "main", "start", gittest.Text{"README.md": "c1\n"})
	s.release(1, "one", "first")
	s.variant = &v1alpha1.PackageVariant{}
	s.variant.Namespace, s.variant.Name = "default", "foo"
	s.variant.Spec.Downstream = &v1alpha1.Downstream{Repo: "c1", Package: "foo"}
	s.variant.Spec.Upstream = &v1alpha1.Upstream{Repo: "catalog", Package: "foo", Revision: "v1"}
	s.fleet.Variants = []*v1alpha1.PackageVariant{s.variant}
	var err error
	if s.fleet.Context, err = injection.NewContext(nil); err != nil {
		t.Fatal(err)
	}
	s.builder = &Builder{Manager: "fleet", Context: s.fleet.Context}
	return s
}

// release publishes foo with a ConfigMap of two values.
func (s *shop) release(n int, a, b string) {
	s.t.Helper()
	commit := s.catalog.Commit(s.t, "main", "foo", gittest.Text{
		"foo/Kptfile": "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: foo\n",
		"foo/cm.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: cm\ndata:\n  a: " + a + "\n  b: " + b + "\n",
	})
	s.catalog.Tag(s.t, fmt.Sprintf("foo/v%d", n), commit)
	if s.variant != nil {
		s.variant.Spec.Upstream.Revision = v1alpha1.Revision(fmt.Sprintf("v%d", n))
	}
}

// job reads what there is and says what is to be built, as a run does.
func (s *shop) job() Job {
	s.t.Helper()
	ctx := s.t.Context()
	s.builder.Read = observe.New(observe.Config{Fleet: s.fleet, Git: observe.Git(gitrepo.NewStore(gitrepo.Options{})), Manager: "fleet"})
	read := s.builder.Read.Read(ctx)
	if len(read.Problems) > 0 || len(read.Wants) != 1 {
		s.t.Fatalf("%d wanted, %v", len(read.Wants), read.Problems)
	}
	w, repo := read.Wants[0], s.builder.Read.Repo("default", "c1")
	up := s.builder.Read.UpstreamOf(ctx, w)
	if up.Err != nil {
		s.t.Fatal(up.Err)
	}
	p := repo.Package("foo")
	works, err := decide.Select("fleet", w, repo.Repository, p)
	if err != nil {
		s.t.Fatal(err)
	}
	spec, err := decide.SpecDigest(s.variant, "fleet/default/foo", "", "")
	if err != nil {
		s.t.Fatal(err)
	}
	q := decide.Question{
		Want: w, Work: works[0], Repo: repo.Repository, Package: p, Source: up.String(),
		Parts: decide.Parts{UpstreamTree: up.Content, UpstreamRef: up.String(), Spec: spec},
	}
	s.stage = repo.Git.NewStage()
	j := Job{Question: q, Repo: repo, Upstream: up, Stage: s.stage}
	if b, ok := decide.Intend(q).(decide.Build); ok {
		j.Build = b
	}
	return j
}

func (s *shop) make() *Made {
	s.t.Helper()
	m := s.builder.Make(s.t.Context(), s.job())
	if m.Err != nil {
		s.t.Fatal(m.Err)
	}
	return m
}

// put commits what was made, as a run does.
func (s *shop) put(m *Made) {
	s.t.Helper()
	ctx, git := s.t.Context(), s.builder.Read.Repo("default", "c1").Git
	b := s.stage.NewBatch()
	root, err := git.Commits(ctx, gitrepo.Hash(m.Root))
	if err != nil {
		s.t.Fatal(err)
	}
	c, err := b.Commit(ctx, gitrepo.CommitSpec{
		Root: root[0].Tree, Path: "foo", PackageTree: gitrepo.Hash(m.Tree), Parents: []gitrepo.Hash{gitrepo.Hash(m.Parents[0])},
		Author: gitrepo.Signature{Name: "Variform", Email: observe.MachineEmail, When: m.When}, Message: m.Message,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	if err := b.Create(m.Ref, c.Hash); err != nil {
		s.t.Fatal(err)
	}
	if _, err := b.Push(ctx, gitrepo.PushOptions{}); err != nil {
		s.t.Fatal(err)
	}
}

// publish tags a commit, and brings main to it.
func (s *shop) publish(n int, commit string) {
	s.t.Helper()
	s.c1.Branch(s.t, "main", commit)
	s.c1.Tag(s.t, fmt.Sprintf("foo/v%d", n), commit)
	s.c1.Git(s.t, "update-ref", "-d", fmt.Sprintf("refs/heads/drafts/foo/packagevariant-%d", n))
}

// edit is a person's commit on a branch.
func (s *shop) edit(branch, from, to string) {
	s.t.Helper()
	text := s.c1.Git(s.t, "show", branch+":foo/cm.yaml") + "\n"
	if !strings.Contains(text, from) {
		s.t.Fatalf("no %q in:\n%s", from, text)
	}
	s.c1.Commit(s.t, branch, "by hand", gittest.Text{"foo/cm.yaml": strings.Replace(text, from, to, 1)})
}

// file is one of a tree that was made, as a push brings it.
func (s *shop) file(tree decide.Hash, name string) string {
	s.t.Helper()
	if tree.IsZero() {
		s.t.Fatalf("there is no %s", name)
	}
	b, ref := s.stage.NewBatch(), "refs/heads/made/"+tree.String()
	c, err := b.Commit(s.t.Context(), gitrepo.CommitSpec{PackageTree: gitrepo.Hash(tree), Message: "made\n"})
	if err == nil {
		err = b.Create(ref, c.Hash)
	}
	if err == nil {
		_, err = b.Push(s.t.Context(), gitrepo.PushOptions{})
	}
	if err != nil {
		s.t.Fatal(err)
	}
	defer s.c1.Git(s.t, "update-ref", "-d", ref)
	return s.c1.Show(s.t, ref, name)
}

func lacks(t *testing.T, text string, all ...string) {
	t.Helper()
	for _, s := range all {
		if strings.Contains(text, s) {
			t.Errorf("%q in:\n%s", s, text)
		}
	}
}

func has(t *testing.T, text string, all ...string) {
	t.Helper()
	for _, s := range all {
		if !strings.Contains(text, s) {
			t.Errorf("no %q in:\n%s", s, text)
		}
	}
}

// A first Draft is a clone, on top of the registered branch, of the time of the
// newest of what it is made of.
func TestFirstDraft(t *testing.T) {
	s := newShop(t)
	j := s.job()
	s.builder.Keep = true
	m := s.builder.Make(t.Context(), j)
	main := decide.ParseHash(s.c1.Git(t, "rev-parse", "main"))
	if m.Err != nil || m.Same || m.Ref != draft1 || m.Workspace != "packagevariant-1" || m.Root != main || !slices.Equal(m.Parents, []decide.Hash{main}) {
		t.Fatalf("%v: %+v", m.Err, m)
	}
	if m.Hydrated != m.Tree || m.Tree.IsZero() || m.Before != nil || m.Base != j.Upstream.Package || m.After == nil {
		t.Errorf("before %v, base %v, after %v, tree %s, %s hydrated", m.Before, m.Base, m.After, m.Tree, m.Hydrated)
	}
	has(t, s.file(m.Tree, "Kptfile"), "variform.dev/variant: fleet/default/foo", "ref: foo/v1", "commit: "+s.catalog.Git(t, "rev-parse", "foo/v1"))
	has(t, m.Message, "Clone catalog/foo@foo/v1 into foo", `"type":"clone"`, "Variform-Variant: fleet/default/foo", "Variform-Inputs: "+j.Inputs.String(), "Variform-Hydrated: ")
	lacks(t, m.Message, "Variform-Review")
	newest := max(s.catalog.Git(t, "log", "-1", "--format=%ct", "foo/v1"), s.c1.Git(t, "log", "-1", "--format=%ct", "main"))
	if fmt.Sprint(m.When.Unix()) != newest {
		t.Errorf("made at %d, want %s", m.When.Unix(), newest)
	}
	s.c1.Commit(t, "main", "later", gittest.Text{"x": "1"})
	s.c1.Commit(t, "main", "later still", gittest.Text{"x": "2"})
	if later := s.make(); fmt.Sprint(later.When.Unix()) != s.c1.Git(t, "log", "-1", "--format=%ct", "main") {
		t.Errorf("made at %d, before what it stands on", later.When.Unix())
	}
}

// A registered branch that createBranch may create has no commit to build on.
func TestCreateBranch(t *testing.T) {
	s := newShop(t)
	s.c1.Git(t, "branch", "-m", "main", "other")
	s.fleet.Repositories[0].Spec.Git.CreateBranch, s.fleet.Repositories[1].Spec.Git.CreateBranch = true, true
	if m := s.make(); !m.Root.IsZero() || len(m.Parents) > 0 || m.Ref != draft1 {
		t.Errorf("%+v", m)
	}
}

// What is let go, and what is kept for whom.
func TestKeep(t *testing.T) {
	for name, tt := range map[string]struct{ all, this, shown, packages bool }{
		"a run that writes":        {},
		"one that shows":           {all: true, packages: true},
		"one of which one is read": {this: true, packages: true},
		"one that writes nothing":  {shown: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShop(t)
			j := s.job()
			want := s.builder.Make(t.Context(), j)
			if tt.shown {
				j.Stage = nil
			}
			j.Keep, s.builder.Keep = tt.this, tt.all
			m := s.builder.Make(t.Context(), j)
			if m.Err != nil || (m.After != nil) != tt.packages || (m.Base != nil) != tt.packages || m.Tree != want.Tree || m.Tree.IsZero() {
				t.Errorf("%v: after %t, base %t, tree %s, want %s", m.Err, m.After != nil, m.Base != nil, m.Tree, want.Tree)
			}
		})
	}
}

// Who asks where values come from gets them with the package, which is let go then.
func TestBlame(t *testing.T) {
	s := newShop(t)
	j := s.job()
	j.Blame = func(p *krm.Package, from *provenance.Origins) any {
		by, _ := from.At("cm.yaml", krm.ID{Kind: "ConfigMap", Name: "cm"}, "data.a")
		return []any{p.Kptfile("").Name(), by.Kind, by.Line}
	}
	m := s.builder.Make(t.Context(), j)
	if d := cmp.Diff([]any{"foo", provenance.Upstream, 6}, m.Blamed); m.Err != nil || d != "" || m.After != nil {
		t.Errorf("%v, %v\n%s", m.Err, m.After, d)
	}
	if m := s.make(); m.Blamed != nil {
		t.Errorf("nobody asked, and %v was taken", m.Blamed)
	}
}

// An update is a merge of what people edited with what the machine makes now.
func TestUpdate(t *testing.T) {
	tests := map[string]struct {
		from, to         string // a person's edit of the Draft
		stop             bool
		want, lack       []string // of cm.yaml
		message          []string
		conflicts        int
		hydrated, stalls bool
	}{
		"nobody edited":           {"", "", false, []string{"a: two", "b: first"}, []string{"one"}, []string{"Update foo from catalog/foo@foo/v2", "upstream changed", `"type":"upgrade"`}, 0, false, false},
		"an edit elsewhere":       {"b: first", "b: mine", true, []string{"a: two", "b: mine"}, nil, nil, 0, true, false},
		"an edit of the same":     {"a: one", "a: mine", false, []string{"a: two"}, []string{"mine"}, []string{"Changed on both sides:", "data.a", "mine"}, 1, false, false},
		"stopped at a conflict":   {"a: one", "a: mine", true, nil, nil, nil, 0, false, true},
		"the upstream's own edit": {"a: one", "a: two", true, []string{"a: two"}, nil, nil, 0, false, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := newShop(t)
			s.put(s.make())
			if tt.from != "" {
				s.edit("drafts/foo/packagevariant-1", tt.from, tt.to)
			}
			tip := decide.ParseHash(s.c1.Git(t, "rev-parse", draft1))
			s.release(2, "two", "first")
			s.builder.StopOnConflict = tt.stop
			m := s.builder.Make(t.Context(), s.job())
			if tt.stalls {
				if !decide.IsStalled(m.Err) || !m.Tree.IsZero() {
					t.Fatalf("got %v", m.Err)
				}
				has(t, m.Err.Error(), "merging catalog/foo@foo/v2: 1 conflict", "data.a")
				return
			}
			if m.Err != nil || m.Same || m.Ref != draft1 || m.Root != tip || !slices.Equal(m.Parents, []decide.Hash{tip}) {
				t.Fatalf("%v: %+v", m.Err, m)
			}
			has(t, s.file(m.Tree, "cm.yaml"), tt.want...)
			lacks(t, s.file(m.Tree, "cm.yaml"), tt.lack...)
			has(t, m.Message, tt.message...)
			if len(m.Conflicts) != tt.conflicts || (m.Hydrated != m.Tree) != tt.hydrated || strings.Contains(m.Message, "Variform-Review: needed") != (tt.from != "") {
				t.Errorf("conflicts %v, %s hydrated, message:\n%s", m.Conflicts, m.Hydrated, m.Message)
			}
			if tt.hydrated {
				has(t, s.file(m.Hydrated, "cm.yaml"), "a: two", "b: first")
			}
		})
	}
}

// What came out as it is there makes no commit, but where the Draft is to stand
// on what was published since.
func TestSame(t *testing.T) {
	s := newShop(t)
	s.put(s.make())
	if m := s.make(); !m.Same || !m.Tree.IsZero() || m.Message != "" {
		t.Errorf("same %t, tree %s", m.Same, m.Tree)
	}
	s.publish(1, s.c1.Git(t, "rev-parse", draft1))
	if m := s.make(); !m.Same {
		t.Error("what is Published is made again")
	}
	s.variant.Spec.Labels = map[string]string{"k": "v"}
	s.release(2, "two", "first")
	m := s.make()
	if m.Same || m.Ref != "refs/heads/drafts/foo/packagevariant-2" || m.Root.String() != s.c1.Git(t, "rev-parse", "main") {
		t.Fatalf("%+v", m)
	}
	has(t, m.Message, `"type":"upgrade"`)
	s.put(m)
	// Another revision is published, of the same content as the Draft.
	theirs := s.c1.Commit(t, "main", "by hand", gittest.Text{"foo/Kptfile": s.file(m.Tree, "Kptfile"), "foo/cm.yaml": s.file(m.Tree, "cm.yaml")})
	s.c1.Tag(t, "foo/v2", theirs)
	j := s.job()
	if m := s.builder.Make(t.Context(), j); m.Err != nil || m.Same != !j.Behind() || !j.Behind() {
		t.Errorf("%v: same %t, behind %t", m.Err, m.Same, j.Behind())
	}
}

// What is to be published unseen is what building makes again.
func TestProve(t *testing.T) {
	tests := map[string]struct {
		happens func(s *shop)
		want    string
	}{
		"nothing happened":        {func(*shop) {}, ""},
		"another deletion policy": {func(s *shop) { s.variant.Spec.DeletionPolicy = v1alpha1.DeletionOrphan }, ""},
		"a person's edit":         {func(s *shop) { s.edit("drafts/foo/packagevariant-1", "a: one", "a: mine") }, "it differs in cm.yaml"},
		"something else on main":  {func(s *shop) { s.c1.Commit(s.t, "main", "by hand", gittest.Text{"foo/x.yaml": "a: b\n"}) }, "foo on main is of no revision"},
		"a commit on main since v1": {func(s *shop) {
			s.c1.Git(s.t, "update-ref", "refs/heads/main", "refs/heads/drafts/foo/packagevariant-1")
			s.c1.Tag(s.t, "foo/v1", s.c1.Git(s.t, "rev-parse", "main"))
			s.c1.Commit(s.t, "main", "by hand", gittest.Text{"foo/x.yaml": "a: c\n"})
		}, "foo on main is not what v1 holds"},
		"another package on main": {func(s *shop) { s.c1.Commit(s.t, "main", "by hand", gittest.Text{"bar/x.yaml": "a: b\n"}) }, ""},
		"a file that people added": {func(s *shop) {
			s.c1.Commit(s.t, "drafts/foo/packagevariant-1", "by hand", gittest.Text{"foo/x.yaml": "a: b\n"})
		}, "it differs in x.yaml"},
		"a file that they removed": {func(s *shop) {
			s.c1.Commit(s.t, "drafts/foo/packagevariant-1", "by hand", gittest.Files{{Path: "foo/cm.yaml", Mode: gittest.Deleted}})
		}, "it differs in cm.yaml"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := newShop(t)
			s.put(s.make())
			tt.happens(s)
			j := s.job()
			got := s.builder.Prove(t.Context(), j).Unseen(j.From)
			if (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestReleased(t *testing.T) {
	s := newShop(t)
	s.put(s.make())
	j := s.job()
	before, after, err := Released(context.Background(), j.Repo, j.From, "foo")
	if err != nil {
		t.Fatal(err)
	}
	kptfile := func(p *krm.Package) string {
		f, _ := p.Read("Kptfile")
		return string(f.Data)
	}
	has(t, kptfile(before), "variform.dev/variant: fleet/default/foo")
	lacks(t, kptfile(after), "variform.dev/variant")
}

func lockOf(version string) *decide.Lock {
	doc := &variformv1alpha1.PackageLock{Spec: resolver.Lock{Target: "c1", Packages: []resolver.LockedPackage{{Name: "db", Version: version, Why: "asked for", Requested: true}}}}
	doc.APIVersion, doc.Kind, doc.Name = variformv1alpha1.APIVersion, variformv1alpha1.KindPackageLock, "c1"
	return &decide.Lock{Document: doc}
}

// Of a lock of which nobody says what the machine made that is told by its bytes: whatever
// is resolved today, it is what was written for what it says, or somebody edited it.
func TestAsWritten(t *testing.T) {
	owner := mutate.Owner{Variant: "fleet/default/lock"}
	first, err := new(Builder).writeLock(lockOf("1.0.0"), nil, owner)
	if err != nil {
		t.Fatal(err)
	}
	b := new(Builder)
	updated, err := b.writeLock(lockOf("1.5.0"), first, owner)
	if err != nil {
		t.Fatal(err)
	}
	f, _ := first.Read(depend.LockFile)
	with := func(path, text string) *krm.Package {
		p := first.Clone()
		p.Write(krm.File{Path: path, Data: []byte(text)})
		return p
	}
	for name, tt := range map[string]struct {
		there *krm.Package
		owner mutate.Owner
		want  bool
	}{
		"the first":        {first, owner, true},
		"updated":          {updated, owner, true},
		"a comment":        {with(depend.LockFile, strings.Replace(string(f.Data), "version: 1.0.0", "version: 1.0.0 # ours", 1)), owner, false},
		"a file beside it": {with("more.yaml", "a: 1\n"), owner, false},
		"another Kptfile":  {with("Kptfile", strings.Replace(lockKptfile, "  annotations:", "  annotations:\n    a: b", 1)), owner, false},
		"no lock":          {with(depend.LockFile, "a: 1\n"), owner, false},
		"another's":        {first, mutate.Owner{Variant: "other/default/lock"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := b.asWritten(lockOf("2.0.0"), tt.there, tt.owner); err != nil || got != tt.want {
				t.Errorf("got %t, %v", got, err)
			}
		})
	}
}

// A lock that says the same keeps its bytes, and what people wrote there.
func TestWriteLock(t *testing.T) {
	lock := lockOf
	owner := mutate.Owner{Variant: "fleet/default/lock"}
	first, err := new(Builder).writeLock(lock("1.0.0"), nil, owner)
	if err != nil {
		t.Fatal(err)
	}
	kptfile, _ := first.Read("Kptfile")
	has(t, string(kptfile.Data), "name: "+depend.LockPackage, "fleet/default/lock", "local-config")
	text := func(p *krm.Package) string {
		f, _ := p.Read(depend.LockFile)
		return string(f.Data)
	}
	has(t, text(first), "version: 1.0.0")
	commented := first.Clone()
	commented.Write(krm.File{Path: depend.LockFile, Data: []byte(strings.Replace(text(first), "version: 1.0.0", "version: 1.0.0 # ours", 1))})
	again, err := new(Builder).writeLock(lock("1.0.0"), commented, owner)
	if err != nil || text(again) != text(commented) {
		t.Errorf("%v\n%s", err, cmp.Diff(text(commented), text(again)))
	}
	old := first.Clone() // of an earlier release
	old.Write(krm.File{Path: depend.LockFile, Data: []byte(strings.Replace(text(first), "    requested: true\n", "", 1))})
	if again, err = new(Builder).writeLock(lock("1.0.0"), old, owner); err != nil || text(again) != text(old) || text(old) == text(first) {
		t.Errorf("%v\n%s", err, cmp.Diff(text(old), text(again)))
	}
	next, err := new(Builder).writeLock(lock("2.0.0"), commented, owner)
	if err != nil {
		t.Fatal(err)
	}
	has(t, text(next), "version: 2.0.0")
	has(t, text(commented), "version: 1.0.0 # ours")
}

func TestChanged(t *testing.T) {
	files := func(list ...string) []krm.File {
		var out []krm.File
		for _, s := range list {
			name, data, _ := strings.Cut(s, "=")
			out = append(out, krm.File{Path: name, Data: []byte(data)})
		}
		return out
	}
	tests := map[string]struct {
		a, b []krm.File
		want []string
	}{
		"nothing":        {nil, nil, nil},
		"the same":       {files("a=1", "b=2"), files("a=1", "b=2"), nil},
		"other content":  {files("a=1", "b=2"), files("a=1", "b=3"), []string{"b"}},
		"one less":       {files("a=1", "b=2", "c=3"), files("a=1", "c=3"), []string{"b"}},
		"one more":       {files("b=2"), files("a=1", "b=2", "c=3"), []string{"a", "c"}},
		"all others":     {files("a=1"), files("b=1"), []string{"a", "b"}},
		"another's mode": {[]krm.File{{Path: "a", Mode: krm.Executable}}, files("a="), []string{"a"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(tt.want, changed(tt.a, tt.b)); d != "" {
				t.Error(d)
			}
			if sameFiles(tt.a, tt.b) != (len(tt.want) == 0) {
				t.Error("sameFiles says otherwise")
			}
		})
	}
}

// What a package is given, and waits for, goes into its inputs.
func TestWires(t *testing.T) {
	w := &Wires{
		values: []wiring.Value{{Parameter: "host", Text: "db.example.com", To: variformv1alpha1.InputTarget{ContextKey: "host"}}},
		notes:  []string{"parameters.url is kept"},
		gates:  []wiring.Gate{{Name: "host", Met: true, Message: "given by db"}, {Name: "port", Message: "waits for db"}},
	}
	if d := cmp.Diff([]string{"host=db.example.com", "port waits for db"}, w.Text()); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"parameters.url is kept", "port: waits for db"}, w.remarks()); d != "" {
		t.Error(d)
	}
	s := newShop(t)
	j := s.job()
	j.Wires = w
	if m := s.builder.Make(t.Context(), j); m.Err == nil {
		t.Error("a key of no package context was set")
	}
	w.values = nil
	m := s.builder.Make(t.Context(), j)
	if m.Err != nil || len(m.Unmet) != 1 || !strings.HasSuffix(m.Unmet[0].Type, "port") || !slices.Contains(m.Warnings, "port: waits for db") {
		t.Errorf("%v: unmet %v, warnings %q", m.Err, m.Unmet, m.Warnings)
	}
}
