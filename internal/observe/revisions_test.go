package observe

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"

	"github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/gitrepo"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/lifecycle"
	"github.com/variform/variform/internal/record"
	"github.com/variform/variform/test/gittest"
)

const (
	ours     = "fleet/default/web"
	webDraft = "refs/heads/drafts/web/w1"
)

// yard is a repository whose revisions are read as a run reads them.
type yard struct {
	t     *testing.T
	git   *gittest.Repo
	store *gitrepo.Store
	fleet Fleet
}

func newYard(t *testing.T) *yard {
	t.Helper()
	y := &yard{t: t, git: gittest.NewRepo(t), store: gitrepo.NewStore(gitrepo.Options{})}
	y.git.Commit(t, "main", "start", gittest.Text{"README.md": "x\n"})
	y.register("c1", "")
	return y
}

func (y *yard) register(name, dir string) {
	obj := &v1alpha1.Repository{}
	obj.Namespace, obj.Name = "default", name
	obj.Spec.Git = &v1alpha1.GitRepository{Repo: y.git.Dir, Branch: "main", Directory: dir}
	y.fleet.Repositories = append(y.fleet.Repositories, obj)
}

// want is a variant in c1 of a package of a Repository.
func (y *yard) want(upstream, pkg string) {
	pv := &v1alpha1.PackageVariant{}
	pv.Namespace, pv.Name = "default", pkg
	pv.Spec.Upstream = &v1alpha1.Upstream{Repo: "c1", Package: upstream, Revision: "v1"}
	pv.Spec.Downstream = &v1alpha1.Downstream{Repo: "c1", Package: pkg}
	y.fleet.Variants = append(y.fleet.Variants, pv)
}

func (y *yard) read() (*Reader, *Snapshot) {
	y.t.Helper()
	r := New(Config{Fleet: y.fleet, Git: Git(gitrepo.NewStore(gitrepo.Options{})), Manager: "fleet"})
	s := r.ReadOpen(y.t.Context())
	if len(s.Problems) > 0 {
		y.t.Fatal(s.Problems)
	}
	return r, s
}

// made is a commit of a package: a machine's, where email is.
type made struct {
	pkg, email, message string
	annotation          gitrepo.Annotation
	trailers            gitrepo.Trailers
	files               map[string]string
}

// machine is the commit that Variform makes of web.
func machine(changes ...func(*made)) made {
	m := made{
		pkg: "web", email: MachineEmail, message: "Update web", annotation: gitrepo.Annotation{Package: "web", WorkspaceName: "w1"},
		trailers: gitrepo.Trailers{Variant: ours, Inputs: "sha256:aa upstream=bb"}, files: map[string]string{"Kptfile": kptfileOf("web", ours)},
	}
	for _, c := range changes {
		c(&m)
	}
	return m
}

func kptfileOf(name, owner string) string {
	return "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: " + name + "\n  annotations:\n    variform.dev/variant: " + owner + "\n"
}

// commit makes a commit on top of others, and brings a ref to it.
func (y *yard) commit(ref string, m made, parents ...string) string {
	y.t.Helper()
	ctx := y.t.Context()
	repo, err := y.store.Open(ctx, y.git.Dir)
	if err == nil {
		err = repo.Refresh(ctx)
	}
	if err != nil {
		y.t.Fatal(err)
	}
	message, err := gitrepo.FormatMessage(m.message, &m.annotation, m.trailers)
	if err != nil {
		y.t.Fatal(err)
	}
	spec := gitrepo.CommitSpec{Path: m.pkg, Author: gitrepo.Signature{Name: "x", Email: m.email, When: time.Unix(1700000900, 0).UTC()}, Message: message}
	for _, p := range parents {
		spec.Parents = append(spec.Parents, gitrepo.Hash(decide.ParseHash(p)))
	}
	if len(parents) > 0 {
		first, err := repo.Commits(ctx, spec.Parents[0])
		if err != nil {
			y.t.Fatal(err)
		}
		spec.Root = first[0].Tree
	}
	b := repo.NewBatch()
	var files []krm.File
	for name, data := range m.files {
		files = append(files, krm.File{Path: name, Data: []byte(data)})
	}
	if spec.PackageTree, err = b.PackageTree(files); err != nil {
		y.t.Fatal(err)
	}
	c, err := b.Commit(ctx, spec)
	if err != nil {
		y.t.Fatal(err)
	}
	if err := b.Create("refs/heads/made", c.Hash); err != nil {
		y.t.Fatal(err)
	}
	if _, err := b.Push(ctx, gitrepo.PushOptions{}); err != nil {
		y.t.Fatal(err)
	}
	y.git.Git(y.t, "update-ref", ref, c.Hash.String())
	y.git.Git(y.t, "update-ref", "-d", "refs/heads/made")
	return c.Hash.String()
}

func (y *yard) main() string { return y.git.Git(y.t, "rev-parse", "main") }

// What is known of a revision is what the newest of our commits behind its tip
// says, whatever people, forges and Porch put on top.
func TestRevisions(t *testing.T) {
	ann := func(m *made) { m.email = "ann@example.com" }
	type known struct {
		Owner, Since, Workspace, Machine string // the commit, by its name below
		Ours, NeedsReview                bool
	}
	tests := map[string]struct {
		make func(y *yard) (ref string, commits map[string]string)
		want known
	}{
		"our own": {func(y *yard) (string, map[string]string) {
			return webDraft, map[string]string{y.commit(webDraft, machine(), y.main()): "ours"}
		}, known{Owner: ours, Workspace: "w1", Machine: "ours", Ours: true}},
		"of a build that wants review": {func(y *yard) (string, map[string]string) {
			return webDraft, map[string]string{y.commit(webDraft, machine(func(m *made) { m.trailers.Review = "needed" }), y.main()): "ours"}
		}, known{Owner: ours, Workspace: "w1", Machine: "ours", Ours: true, NeedsReview: true}},
		"people on top": {func(y *yard) (string, map[string]string) {
			c := y.commit(webDraft, machine(), y.main())
			for i := range 9 {
				y.git.Commit(y.t, "drafts/web/w1", "by hand", gittest.Text{"web/x": fmt.Sprint(i)})
			}
			return webDraft, map[string]string{c: "ours"}
		}, known{Owner: ours, Workspace: "w1", Machine: "ours", Ours: true, NeedsReview: true}},
		"made anew by a person": {func(y *yard) (string, map[string]string) {
			return webDraft, map[string]string{y.commit(webDraft, machine(ann), y.main()): "theirs"}
		}, known{Owner: ours, Workspace: "w1", Machine: "theirs", NeedsReview: true}},
		"nobody's": {func(y *yard) (string, map[string]string) {
			y.git.CommitFrom(y.t, "drafts/web/w1", "main", "by hand", gittest.Text{"web/Kptfile": kptfileOf("web", ours)})
			return webDraft, nil
		}, known{Workspace: "w1", NeedsReview: true}},
		"another package's commits": {func(y *yard) (string, map[string]string) {
			c := y.commit(webDraft, machine(), y.main())
			other := machine(func(m *made) { m.pkg, m.annotation.Package, m.trailers.Variant = "db", "db", "fleet/default/db" })
			y.commit(webDraft, other, c)
			return webDraft, map[string]string{c: "ours"}
		}, known{Owner: ours, Workspace: "w1", Machine: "ours", Ours: true, NeedsReview: true}},
		"given up": {func(y *yard) (string, map[string]string) {
			c := y.commit(webDraft, machine(), y.main())
			free := y.commit(webDraft, machine(func(m *made) { m.trailers = gitrepo.Trailers{Variant: Released} }), c)
			return webDraft, map[string]string{c: "ours", free: "release"}
		}, known{Workspace: "w1", Machine: "release", Ours: true}},
		"on what was Published": {func(y *yard) (string, map[string]string) {
			v2 := y.commit("refs/heads/main", machine(func(m *made) { m.annotation.Revision = "2" }), y.main())
			y.git.CommitFrom(y.t, "drafts/web/w1", v2, "by hand", gittest.Text{"web/x": "y"})
			return webDraft, map[string]string{v2: "v2"}
		}, known{Owner: ours, Since: "v2", Workspace: "w1", Machine: "v2", Ours: true, NeedsReview: true}},
		"approved through Porch": {func(y *yard) (string, map[string]string) {
			c := y.commit("refs/heads/side", machine(), y.main())
			merge := y.commit("refs/heads/main", machine(ann, func(m *made) { m.trailers, m.annotation.Revision = gitrepo.Trailers{}, "1" }), y.main(), c)
			y.git.Tag(y.t, "web/v1", merge)
			return "refs/tags/web/v1", map[string]string{c: "ours"}
		}, known{Owner: ours, Since: "v1", Workspace: "w1", Machine: "ours", Ours: true, NeedsReview: true}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			y := newYard(t)
			y.want("none", "web")
			ref, commits := tt.make(y)
			r, _ := y.read()
			h := r.Repo("default", "c1").Package("web").At(ref)
			if h == nil {
				t.Fatalf("no revision at %s", ref)
			}
			got := known{Owner: h.Owner, Since: h.Since, Workspace: h.Workspace, NeedsReview: h.NeedsReview()}
			if h.Machine != nil {
				got.Machine, got.Ours = commits[h.Machine.Commit.String()], h.Machine.Ours
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
			if fmt.Sprint(h.When.Unix()) != y.git.Git(t, "log", "-1", "--format=%ct", ref) || len(h.Parents) == 0 {
				t.Errorf("of %v, on %v", h.When, h.Parents)
			}
		})
	}
}

// A commit into which people squashed several messages is made as that one says which is
// about the revision, wherever it stands; what they quote before one of the machine's says
// nothing.
func TestVisitSquashed(t *testing.T) {
	message := func(pkg, workspace, number, inputs string) string {
		text, err := gitrepo.FormatMessage("Update", &gitrepo.Annotation{Package: pkg, WorkspaceName: workspace, Revision: number},
			gitrepo.Trailers{Variant: "fleet/default/" + pkg, Inputs: "sha256:" + inputs + " upstream=bb"})
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	v1, draft, v2 := message("web", "w1", "1", "11"), message("web", "w2", "", "22"), message("web", "w2", "2", "2a")
	again, db := message("web", "w2", "", "33"), message("db", "w2", "", "44")
	entry := func(place record.Place, workspace string, number int, inputs string) record.Entry {
		return record.Entry{Path: "web", Place: place, Workspace: workspace, Revision: number, Inputs: inputs}
	}
	for name, c := range map[string]struct {
		messages []string
		number   int // of the revision; that with none is the Draft w2
		record   []record.Entry
		want     string // digest of the inputs, "" where nothing is the machine's
	}{
		"with what is below":             {[]string{v1, draft}, 0, nil, "22"},
		"the newest first":               {[]string{draft, v1}, 0, nil, "22"},
		"what is below alone":            {[]string{v1, "more"}, 0, nil, ""},
		"another Draft's":                {[]string{message("web", "w3", "", "55"), v1}, 0, nil, "11"},
		"approved, the newest first":     {[]string{v2, v1}, 2, nil, "2a"},
		"approved, with its Draft":       {[]string{v2, draft, v1}, 2, nil, "22"},
		"of the revision before":         {[]string{v2, v1}, 1, nil, "11"},
		"beside another package":         {[]string{draft, db}, 0, nil, "22"},
		"after another package":          {[]string{db, draft}, 0, nil, "22"},
		"two of it":                      {[]string{draft, again}, 0, nil, "33"},
		"two of it, one recorded":        {[]string{draft, again}, 0, []record.Entry{entry(record.Open, "w2", 0, "sha256:22 upstream=bb")}, "22"},
		"two of it, both of the record":  {[]string{again, draft}, 0, []record.Entry{entry(record.Open, "w2", 0, "sha256:33 upstream=bb"), entry(record.Open, "w1", 0, "sha256:22 upstream=bb")}, "33"},
		"two of it, nothing is said":     {[]string{draft, again}, 0, []record.Entry{entry(record.Open, "w2", 0, "")}, "33"},
		"two of it, approved since":      {[]string{draft, again}, 2, []record.Entry{entry(record.Past, "w2", 2, "sha256:22")}, "22"},
		"two of it, another's approval":  {[]string{draft, again}, 2, []record.Entry{entry(record.Past, "w2", 1, "sha256:22")}, "33"},
		"the record's word without one":  {[]string{draft, again}, 0, []record.Entry{entry(record.Open, "w2", 0, "sha256:66 upstream=bb")}, "33"},
		"the record of another package":  {[]string{draft, db}, 0, []record.Entry{entry(record.Open, "w2", 0, "sha256:44 upstream=bb")}, "22"},
		"a quote of it":                  {[]string{message("web", "w2", "", "66"), draft}, 0, nil, "22"},
		"a quote of it before a hand's":  {[]string{draft, v1, "as was said"}, 0, nil, ""},
		"a quote of the one after it":    {[]string{message("web", "w9", "", "66"), draft}, 0, nil, "22"},
		"a quote of it, without a Draft": {[]string{v1, "kpt:{\"package\":\"web\",\"workspaceName\":\"w2\"}\n\nand so on", v1}, 0, nil, "11"},
	} {
		as, trailers := gitrepo.ParseMessage(strings.Join(c.messages, "\n"))
		h := &head{path: "web", Revision: &decide.Revision{Workspace: "w2", Number: c.number}, entries: c.record}
		found := h.visit(&gitrepo.Commit{Annotations: as, Trailers: trailers})
		if found != (c.want != "") || h.Inputs.Digest != c.want {
			t.Errorf("%s: made of %q, want %q", name, h.Inputs.Digest, c.want)
		}
		if found && (h.Owner != ours || h.Machine.Variant != ours) {
			t.Errorf("%s: of %q", name, h.Owner)
		}
	}
}

// Of two messages about one revision the record is asked as the tips are read.
func TestTipsSquashed(t *testing.T) {
	y := newYard(t)
	y.want("none", "web")
	message := "Update\n\nkpt:{\"package\":\"web\",\"workspaceName\":\"w1\"}\n\nVariform-Variant: " + ours + "\nVariform-Inputs: sha256:"
	y.git.Branch(t, "drafts/web/w1", "main")
	tip := y.git.Commit(t, "drafts/web/w1", message+"22\n\n"+message+"11\n", gittest.Text{"web/Kptfile": kptfileOf("web", ours)})
	ctx := t.Context()
	repo, err := y.store.Open(ctx, y.git.Dir)
	if err == nil {
		err = repo.Refresh(ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
	b := repo.NewBatch()
	tree := y.git.Git(t, "rev-parse", tip+":web")
	edits := []record.Edit{record.Put{Entry: record.Entry{Path: "web", Place: record.Open, Workspace: "w1", Commit: tip, Tree: tree, Hydrated: tree, Owner: ours, Inputs: "sha256:22"}}}
	if err := b.Recorded(edits, gitrepo.RefUpdate{Name: "refs/heads/made", New: gitrepo.Hash(decide.ParseHash(tip))}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Push(ctx, gitrepo.PushOptions{Record: &gitrepo.RecordOf{Manager: "fleet"}}); err != nil {
		t.Fatal(err)
	}
	r, _ := y.read()
	if h := r.Repo("default", "c1").Package("web").At(webDraft); h == nil || h.Inputs.Digest != "22" {
		t.Errorf("%+v", h)
	}
}

// So it is for what people squashed onto the registered branch: it is that Draft's which
// nothing Published is.
func TestSquashedOntoTheBranch(t *testing.T) {
	const below = "Approve\n\nkpt:{\"package\":\"web\",\"workspaceName\":\"w1\",\"revision\":\"1\"}\n\nVariform-Variant: " + ours + "\nVariform-Inputs: sha256:11\n"
	const draft = "Update\n\nkpt:{\"package\":\"web\",\"workspaceName\":\"w2\"}\n\nVariform-Variant: " + ours + "\nVariform-Inputs: sha256:22\n"
	for _, message := range []string{below + "\n" + draft, draft + "\n" + below} {
		y := newYard(t)
		y.want("none", "web")
		y.git.Tag(t, "web/v1", y.git.Commit(t, "main", below, gittest.Text{"web/Kptfile": kptfileOf("web", ours)}))
		y.git.Commit(t, "main", message, gittest.Text{"web/a.yaml": "a: 1\n"})
		r, _ := y.read()
		repo := r.Repo("default", "c1")
		p := repo.Package("web")
		if err := r.ReadBranch(t.Context(), repo, p); err != nil || p.Branch == nil {
			t.Fatal(err, p.Branch)
		}
		if b := p.Branch; !b.Drafted || b.Workspace != "w2" || b.Merged == nil || b.Merged.Inputs != "sha256:22" {
			t.Errorf("%q: %+v", message, b)
		}
	}
}

// Orphans are this manager's packages that nothing wants, seen once, with why
// some of them stay.
func TestOrphans(t *testing.T) {
	y := newYard(t)
	tip := y.main()
	add := func(pkg, owner string) {
		tip = y.commit("refs/heads/main", machine(func(m *made) {
			m.pkg, m.annotation.Package, m.trailers.Variant = pkg, pkg, owner
			m.files = map[string]string{"Kptfile": kptfileOf(pkg, owner)}
		}), tip)
		y.git.Tag(t, pkg+"/v1", tip)
	}
	for _, pkg := range []string{"gone", "wanted", "base", "held", "sub/gone"} {
		add(pkg, "fleet/default/"+strings.ReplaceAll(pkg, "/", "-"))
	}
	add("other", "others/default/other")
	add("elsewhere", "fleet/team/elsewhere")
	y.want("base", "wanted")
	y.register("c2", "sub")
	r, s := y.read()
	s.Untouchable[r.Repo("default", "c1").Place("held")] = "it cannot be told"
	got := map[string]string{}
	for _, o := range r.Orphans(t.Context(), s, r.UpstreamPlaces(s.Wants)) {
		got[o.Identity.String()] = o.Kept
		if o.Upstream {
			got[o.Identity.String()] = "an upstream"
		}
		if o.Err != nil {
			t.Error(o.Err)
		}
		if owned := len(o.Owners) > 0; owned == (o.Kept != "" || o.Upstream) {
			t.Errorf("%s: owners %v", o.Identity, o.Owners)
		}
	}
	want := map[string]string{
		"c1/gone": "", "c1/sub/gone": "",
		"c1/base": "an upstream",
		"c1/held": "nothing is known to need it, but it cannot be told",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

// A Draft that nothing wants is somebody's where a person committed to it, also
// where the machine has updated it since.
func TestEditorOfAnOrphan(t *testing.T) {
	review := func(m *made) { m.trailers.Review = "needed" }
	byHand := func(y *yard) string {
		return y.git.Commit(y.t, "drafts/web/w1", "by hand", gittest.Text{"web/x": "y"})
	}
	tests := map[string]struct {
		make func(y *yard) (editor string) // the commit, "" for nobody
	}{
		"the machine's": {func(y *yard) string {
			y.commit(webDraft, machine(), y.main())
			return ""
		}},
		"an edit at the tip": {func(y *yard) string {
			y.commit(webDraft, machine(), y.main())
			return byHand(y)
		}},
		"an edit below an update": {func(y *yard) string {
			y.commit(webDraft, machine(), y.main())
			c := byHand(y)
			y.commit(webDraft, machine(review), y.commit(webDraft, machine(review), c))
			return c
		}},
		"values that an update of main lost": {func(y *yard) string {
			y.git.Commit(y.t, "main", "by hand", gittest.Text{"web/x": "y"})
			y.commit(webDraft, machine(review), y.main())
			y.git.Commit(y.t, "main", "later", gittest.Text{"web/z": "y"})
			return ""
		}},
		"an edit that main had, and that was set back there": {func(y *yard) string {
			y.commit(webDraft, machine(), y.main())
			byHand(y)
			before := y.main()
			y.git.Git(y.t, "update-ref", "refs/heads/main", mergeOf(y, "main", "drafts/web/w1"))
			tree := strings.TrimSpace(y.git.Git(y.t, "rev-parse", before+"^{tree}"))
			y.git.Git(y.t, "update-ref", "refs/heads/main", strings.TrimSpace(y.git.Git(y.t, "commit-tree", "-m", "revert", "-p", "main", tree)))
			return ""
		}},
		"an edit after one that main had": {func(y *yard) string {
			y.commit(webDraft, machine(), y.main())
			byHand(y)
			y.git.Git(y.t, "update-ref", "refs/heads/main", mergeOf(y, "main", "drafts/web/w1"))
			return y.git.Commit(y.t, "drafts/web/w1", "by hand again", gittest.Text{"web/y": "y"})
		}},
		"made anew": {func(y *yard) string {
			return y.commit(webDraft, machine(func(m *made) { m.email = "ann@example.com" }), y.main())
		}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			y := newYard(t)
			editor := tt.make(y)
			r, s := y.read()
			orphans := r.Orphans(t.Context(), s, nil)
			if len(orphans) != 1 || orphans[0].Err != nil {
				t.Fatalf("%+v", orphans)
			}
			got := orphans[0].Owners[webDraft].Author
			if (got == "") != (editor == "") || editor != "" && !strings.Contains(got, editor[:7]) {
				t.Errorf("got %q, want %q", got, editor)
			}
		})
	}
}

// A Draft on which people changed more than its package is not published.
func TestOnlyPackage(t *testing.T) {
	tests := map[string]struct {
		happens func(y *yard)
		want    string
	}{
		"nothing":           {func(*yard) {}, ""},
		"an edit in it":     {func(y *yard) { y.git.Commit(y.t, "drafts/web/w1", "by hand", gittest.Text{"web/x": "y"}) }, ""},
		"an edit beside it": {func(y *yard) { y.git.Commit(y.t, "drafts/web/w1", "by hand", gittest.Text{"db/x": "y", "web/x": "y"}) }, "drafts/web/w1 changes db outside of web"},
		"what main has too": {func(y *yard) {
			merged(y, "db/x")
			y.git.Commit(y.t, "drafts/web/w1", "merged", gittest.Text{"db/x": "y"})
		}, ""},
		"more than main has": {func(y *yard) {
			merged(y, "db/x")
			y.git.Commit(y.t, "drafts/web/w1", "merged", gittest.Text{"db/x": "y", "db/z": "y"})
		}, "changes db outside of web"},
		"main merged, which moved on": {func(y *yard) { merged(y, "db/x"); synced(y); merged(y, "db/z") }, ""},
		"another branch merged": {func(y *yard) {
			y.git.CommitFrom(y.t, "other", "main", "another", gittest.Text{"db/x": "y"})
			y.git.Git(y.t, "update-ref", "refs/heads/drafts/web/w1", mergeOf(y, "drafts/web/w1", "other"))
			merged(y, "db/z")
		}, "changes db outside of web"},
		"a file made anew":    {func(y *yard) { amended(y, "db/x") }, "changes db outside of web"},
		"the commit made new": {func(y *yard) { amended(y, "") }, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			y := newYard(t)
			y.want("none", "web")
			y.commit(webDraft, machine(), y.main())
			tt.happens(y)
			r, _ := y.read()
			repo := r.Repo("default", "c1")
			err := repo.OnlyPackage(t.Context(), repo.Package("web").At(webDraft), "web")
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

func merged(y *yard, file string) { y.git.Commit(y.t, "main", "another", gittest.Text{file: "y"}) }

// synced merges main into the Draft.
func synced(y *yard) {
	y.git.Git(y.t, "update-ref", "refs/heads/drafts/web/w1", mergeOf(y, "drafts/web/w1", "main"))
}

// mergeOf is a commit that merges two branches.
func mergeOf(y *yard, into, from string) string {
	tree := strings.TrimSpace(y.git.Git(y.t, "merge-tree", "--write-tree", into, from))
	return strings.TrimSpace(y.git.Git(y.t, "commit-tree", "-m", "merge", "-p", into, "-p", from, tree))
}

// amended makes the machine's commit anew, with another file beside it.
func amended(y *yard, file string) {
	m := machine(func(m *made) { m.email = "ann@example.com" })
	if file != "" {
		m.pkg, m.files = "", map[string]string{"README.md": "x\n", "web/Kptfile": kptfileOf("web", ours), file: "y"}
	}
	y.commit(webDraft, m, y.main())
}

func TestUnmet(t *testing.T) {
	k := &kptfilev1.KptFile{
		Info: &kptfilev1.PackageInfo{ReadinessGates: []kptfilev1.ReadinessGate{{ConditionType: "a"}, {ConditionType: "b"}, {ConditionType: "c"}}},
		Status: &kptfilev1.Status{Conditions: []kptfilev1.Condition{
			{Type: "a", Status: kptfilev1.ConditionTrue}, {Type: "b", Status: kptfilev1.ConditionFalse, Message: "waits"}, {Type: "x", Status: kptfilev1.ConditionFalse},
		}},
	}
	got := Unmet(k)
	if i := slices.IndexFunc(got, func(g decide.Gate) bool { return g.Type == "b" }); len(got) != 2 || i < 0 || got[i].Message != "waits" || got[i].Status != "False" {
		t.Errorf("%+v", got)
	}
}

// An unread workspace is not used again: those of open revisions and of what was
// Published count.
func TestWorkspaces(t *testing.T) {
	y := newYard(t)
	y.want("none", "web")
	v1 := y.commit("refs/heads/main", machine(func(m *made) {
		m.annotation = gitrepo.Annotation{Package: "web", WorkspaceName: "packagevariant-4", Revision: "1"}
	}), y.main())
	y.git.Tag(t, "web/v1", v1)
	y.git.Branch(t, "drafts/web/packagevariant-7", v1)
	y.git.Branch(t, "proposed/web/mine", v1)
	r, _ := y.read()
	got, err := r.Repo("default", "c1").Workspaces(t.Context(), "web")
	slices.Sort(got)
	if d := cmp.Diff([]string{"mine", "packagevariant-4", "packagevariant-7"}, got); d != "" || err != nil {
		t.Errorf("%v\n%s", err, d)
	}
	if next := lifecycle.NextWorkspace(got...); next != "packagevariant-8" {
		t.Errorf("next %s", next)
	}
}

// TestWorkspacesOfManyRevisions holds that the highest number is found without reading all
// that was ever Published, and that the record tells it of the revisions that it knows.
func TestWorkspacesOfManyRevisions(t *testing.T) {
	const (
		machines = "packagevariant-"
		people   = "fix-"
	)
	for name, c := range map[string]struct {
		published []string // workspaces, v1 first
		recorded  map[int]string
		foreign   bool // the record has another commit
		want      []string
		unknown   int // commits that are to be read
	}{
		"none": {nil, nil, false, nil, 0},
		"few":  {[]string{machines + "1", machines + "2"}, nil, false, []string{machines + "1", machines + "2"}, 2},
		"the newest have numbers": {
			[]string{machines + "1", machines + "2", people + "3", people + "4", machines + "9", people + "6", people + "7"},
			nil, false,
			[]string{people + "3", people + "4", people + "6", people + "7", machines + "9"},
			5,
		},
		"the newest have lower numbers than there are revisions": {
			[]string{machines + "2", people + "2", people + "3", people + "4", people + "5", machines + "1"},
			nil, false,
			[]string{people + "2", people + "3", people + "4", people + "5", machines + "1", machines + "2"},
			6,
		},
		"only old ones have": {
			[]string{machines + "1", machines + "2", people + "3", people + "4", people + "5", people + "6", people + "7"},
			nil, false,
			[]string{people + "3", people + "4", people + "5", people + "6", people + "7", machines + "1", machines + "2"},
			7,
		},
		"the record tells": {
			[]string{machines + "1", machines + "2", machines + "3"},
			map[int]string{2: machines + "8", 3: machines + "9"},
			false,
			[]string{machines + "1", machines + "8", machines + "9"},
			1,
		},
		"the record tells of another commit": {
			[]string{machines + "1"}, map[int]string{1: machines + "8"}, true, []string{machines + "1"}, 1,
		},
		"the record tells no workspace": {[]string{machines + "1"}, map[int]string{1: ""}, false, []string{machines + "1"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			y := newYard(t)
			y.want("none", "web")
			commits := []string{y.main()}
			for i, ws := range c.published {
				at := y.commit("refs/heads/main", machine(func(m *made) {
					m.annotation = gitrepo.Annotation{Package: "web", WorkspaceName: ws, Revision: strconv.Itoa(i + 1)}
				}), commits[i])
				y.git.Tag(t, "web/v"+strconv.Itoa(i+1), at)
				commits = append(commits, at)
			}
			r, _ := y.read()
			repo := r.Repo("default", "c1")
			for n, ws := range c.recorded {
				e := record.Entry{Path: "web", Place: record.Past, Revision: n, Commit: commits[n], Workspace: ws}
				if c.foreign {
					e.Commit = commits[0]
				}
				repo.Packages["web"].Entries = append(repo.Packages["web"].Entries, e)
			}
			git := &commitsRead{Repository: repo.Git, read: map[gitrepo.Hash]bool{}}
			repo.Git = git
			r.fetchWorkspaces(t.Context(), map[*Repo][]string{repo: {"web", "none"}})
			if git.calls > 2 || len(git.read) != c.unknown {
				t.Errorf("%d commits were read in %d calls, want %d", len(git.read), git.calls, c.unknown)
			}
			got, err := repo.Workspaces(t.Context(), "web")
			slices.Sort(got)
			if d := cmp.Diff(c.want, got); d != "" || err != nil || len(git.read) != c.unknown {
				t.Errorf("%v, %d commits were read, want %d\n%s", err, len(git.read), c.unknown, d)
			}
		})
	}
}

// commitsRead counts what commits are read.
type commitsRead struct {
	Repository
	read  map[gitrepo.Hash]bool
	calls int
}

func (c *commitsRead) Commits(ctx context.Context, hashes ...gitrepo.Hash) ([]*gitrepo.Commit, error) {
	if len(hashes) > 0 {
		c.calls++
	}
	for _, h := range hashes {
		c.read[h] = true
	}
	return c.Repository.Commits(ctx, hashes...)
}

func (c *commitsRead) PublishedWorkspaces(ctx context.Context, p *gitrepo.PackageRefs) (map[string]string, error) {
	for _, rev := range p.Published {
		c.read[rev.Ref.Commit] = true
	}
	return c.Repository.PublishedWorkspaces(ctx, p)
}
