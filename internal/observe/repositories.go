package observe

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/gitrepo"
	"github.com/variform/variform/internal/lifecycle"
	"github.com/variform/variform/internal/mutate"
	"github.com/variform/variform/internal/record"
)

// defaultBranch is the registered branch where a Repository names none.
const defaultBranch = "main"

// MachineEmail signs the commits that Variform makes by itself.
const MachineEmail = "variform@variform.dev"

// Released stands in the Variform-Variant trailer of a package that no variant
// owns any more.
const Released = "-"

type repoKey struct{ namespace, name string }

type addressKey struct{ namespace, address string }

// Repo is one Repository object, what was read of it, and the Git repository or
// the registry behind it; both are nil where it could not be read.
type Repo struct {
	*decide.Repository
	Object *v1alpha1.Repository
	Git    Repository
	OCI    Registry
	Err    error
	// Elsewhere says that it is of another shard: nothing of it moves. Closed ones of
	// these are not read, but for packages that others are made from ([Reader.reach]).
	Elsewhere bool
	closed    bool
	// open is closed once Git, OCI and Err are known.
	open chan struct{}
	// whole reads the open revisions of what is wanted with all their files.
	whole  bool
	record gitrepo.RecordOf // without an author
	// foreign is why the record is another fleet's.
	foreign error
	// rollouts are the Rollouts that publish a Draft, by its commit.
	rollouts map[decide.Hash]string
	// refs are the packages' refs, by path; they change with Packages.
	refs map[string]*gitrepo.PackageRefs
	// shallow are heads whose history was not looked behind.
	shallow map[*decide.Revision]bool
	// recordedAt are trees that the record alone tells, by their places.
	recordedAt map[gitrepo.Place]gitrepo.Hash
	lines      lines
	untagged   struct {
		mu   sync.Mutex
		head decide.Hash
		list []decide.OnBranch
	}
}

// Repo finds a Repository of a namespace, nil where there is none.
func (r *Reader) Repo(namespace, name string) *Repo { return r.repos[repoKey{namespace, name}] }

// RepoOf is the Repository that a wanted package is written to, nil where there is none.
func (r *Reader) RepoOf(w *decide.Want) *Repo { return r.Repo(w.Namespace, w.Repository) }

// packagesOf are the packages of what is wanted, in repositories that could be read.
func (r *Reader) packagesOf(wants []*decide.Want) iter.Seq2[*Repo, *decide.Package] {
	return func(yield func(*Repo, *decide.Package) bool) {
		for _, w := range wants {
			repo := r.RepoOf(w)
			if repo == nil || repo.Err != nil || repo.Git == nil {
				continue
			}
			if !yield(repo, repo.Package(repo.Path(w.Package))) {
				return
			}
		}
	}
}

// Facts lists what is known of the repositories that could be read.
func (r *Reader) Facts() []*decide.Repository {
	var out []*decide.Repository
	for _, repo := range r.sorted {
		if repo.Err == nil {
			out = append(out, repo.Repository)
		}
	}
	return out
}

// readRepositories reads the refs of every registered Git repository, anew where the
// Reader has read before, and then, in one go for each, the commits at the tips of every
// package revision that matters: all open ones and the latest Published. Meanwhile expand
// finds out what is wanted there, which these wait for, and nothing else: while a slow
// repository's refs are read, others are further. A repository that cannot be read keeps
// its error; the rest go on.
func (r *Reader) readRepositories(ctx context.Context, expand func() []*decide.Want) (unopened, unread []error) {
	r.newRepositories()
	lists := r.byGit()
	var g errgroup.Group
	r.slots = make(chan struct{}, r.Repositories())
	talk := func(f func()) { // who waits for a slot is no goroutine: there may be thousands
		r.slots <- struct{}{}
		g.Go(func() error {
			defer func() { <-r.slots }()
			f()
			return nil
		})
	}
	var mu sync.Mutex
	done := 0
	opened := make(chan []*Repo, len(lists))
	g.Go(func() error {
		for _, list := range lists {
			left := int64(len(list))
			for _, repo := range list {
				talk(func() {
					if !repo.closed {
						r.open(ctx, repo)
					}
					close(repo.open)
					mu.Lock()
					defer mu.Unlock()
					done++
					if r.cfg.Progress != nil {
						r.cfg.Progress(done, len(r.sorted), repo.Name)
					}
					if left--; left == 0 {
						opened <- list
					}
				})
			}
		}
		return nil
	})
	d := r.cfg.Dependencies // what targets need is looked at together with what is wanted
	ahead := r.TreesAhead && (d == nil || len(d.Catalogs) == 0)
	wants := map[*Repo][]*decide.Want{}
	for _, w := range expand() {
		if repo := r.RepoOf(w); repo != nil && !repo.Elsewhere {
			wants[repo] = append(wants[repo], w)
		}
	}
	for range lists {
		list := <-opened
		var wanted []*decide.Want
		for _, repo := range list { // whose record is read, all of them say
			repo.Keep(r.recordOf(showing(list, repo.Git)))
			wanted = append(wanted, wants[repo]...)
		}
		left := int64(len(list))
		for _, repo := range list {
			talk(func() {
				var err error
				if repo.Git != nil {
					err = repo.readHeads(ctx)
				}
				mu.Lock()
				if err != nil {
					repo.Err = &RepositoryError{repo.Namespace, repo.Name, err}
					unread = append(unread, repo.Err)
				}
				left--
				last := left == 0
				mu.Unlock()
				if last {
					letGo(list)
				}
				if last && ahead && len(wanted) > 0 {
					r.FetchTrees(ctx, wanted)
				}
			})
		}
	}
	_ = g.Wait()
	r.findByURL()
	for _, repo := range r.sorted {
		if repo.Err != nil && repo.Git == nil {
			unopened = append(unopened, repo.Err)
		}
	}
	sort.Slice(unread, func(i, j int) bool { return unread[i].Error() < unread[j].Error() })
	return unopened, unread
}

// letGo is for Repositories whose tips have all been read: those of one Git repository show
// the same commits.
func letGo(list []*Repo) {
	for _, repo := range list {
		if repo.Git != nil {
			repo.Git.LetGo()
		}
	}
}

// talk calls f once fewer repositories are talked to than may be. f must not wait for one
// that is not open.
func (r *Reader) talk(f func()) {
	if r.slots != nil {
		r.slots <- struct{}{}
		defer func() { <-r.slots }()
	}
	f()
}

// newRepositories are the fleet's, of which nothing was read.
func (r *Reader) newRepositories() {
	again := r.repos != nil
	r.repos, r.sorted = map[repoKey]*Repo{}, make([]*Repo, 0, len(r.cfg.Fleet.Repositories))
	r.upstream = memo[upstreamKey, *decide.Upstream]{}
	r.apart = memo[*Repo, *Repo]{}
	rollouts := rolloutsOf(r.cfg.Fleet.Rollouts)
	for _, obj := range r.cfg.Fleet.Repositories {
		repo := newRepo(obj)
		repo.rollouts = rollouts
		repo.whole, repo.Elsewhere = r.OpenWhole, !r.has(ShardKey(obj))
		repo.closed = repo.Elsewhere && !r.cfg.ReadAll && obj.Spec.Git != nil
		r.repos[repoKey{obj.Namespace, obj.Name}] = repo
		r.sorted = append(r.sorted, repo)
	}
	sort.Slice(r.sorted, func(i, j int) bool {
		a, b := r.sorted[i], r.sorted[j]
		if a.Namespace != b.Namespace {
			return a.Namespace < b.Namespace
		}
		return a.Name < b.Name
	})
	var refreshed memo[Repository, error]
	r.refresh = func(ctx context.Context, repo *Repo) error {
		switch {
		case !again:
			return nil
		case repo.OCI != nil:
			repo.OCI.Refresh()
			return nil
		}
		return refreshed.get(repo.Git, func() error { return repo.Git.Refresh(ctx) })
	}
}

// byGit are the Repositories, those of one Git repository together, by namespace and name.
// What is wanted follows from the upstreams of sets and variants: theirs come first.
func (r *Reader) byGit() (out [][]*Repo) {
	lists := map[string][]*Repo{}
	for _, repo := range r.sorted {
		key := ShardKey(repo.Object)
		lists[key] = append(lists[key], repo)
	}
	take := func(repo *Repo) {
		if repo == nil {
			return
		}
		if key := ShardKey(repo.Object); lists[key] != nil {
			out = append(out, lists[key])
			delete(lists, key)
		}
	}
	for _, set := range r.cfg.Fleet.Sets {
		for _, u := range set.Spec.AllUpstreams() {
			take(r.Repo(set.Namespace, u.Repo))
		}
	}
	for _, pv := range r.cfg.Fleet.Variants {
		if u := pv.Spec.Upstream; u != nil {
			take(r.Repo(pv.Namespace, u.Repo))
		}
	}
	for _, repo := range r.sorted {
		take(repo)
	}
	return out
}

func newRepo(obj *v1alpha1.Repository) *Repo {
	facts := &decide.Repository{
		Namespace: obj.Namespace, Name: obj.Name, Branch: defaultBranch,
		Deployment: obj.Spec.Deployment, Annotations: obj.Annotations, Labels: obj.Labels, Wanted: map[string]bool{},
	}
	if git := obj.Spec.Git; git != nil {
		facts.Address = gitrepo.Display(git.Repo)
		facts.Dir = strings.Trim(git.Directory, "/")
		if git.Branch != "" {
			facts.Branch = git.Branch
		}
	}
	return &Repo{Repository: facts, Object: obj, open: make(chan struct{})}
}

// open finds what is behind a Repository. Of a registry nothing is asked yet.
func (r *Reader) open(ctx context.Context, repo *Repo) {
	var err error
	switch spec := repo.Object.Spec; {
	case spec.Git != nil:
		repo.Git, err = r.cfg.Git.Open(ctx, spec.Git.Repo)
	case spec.OCI != nil:
		if repo.OCI, err = r.cfg.OCI.Open(spec.OCI.Registry); err == nil {
			repo.Address = mutate.ImageScheme + repo.OCI.Address()
			repo.Registry = repo.OCI.Address()
		}
	default:
		err = errors.New("it has neither a git nor an oci section")
	}
	if err == nil {
		err = r.refresh(ctx, repo)
	}
	switch {
	case err != nil:
		repo.fail(err)
	case repo.Git != nil:
		repo.Repository.Git = repo.Git.URL()
		repo.branch()
	}
}

func (r *Repo) fail(err error) {
	r.Git, r.OCI, r.Repository.Git, r.Registry = nil, nil, "", ""
	r.Err = &RepositoryError{r.Namespace, r.Name, err}
}

// branch notes where the registered branch is.
func (r *Repo) branch() {
	ref, _ := r.Git.Refs().Branch(r.Branch)
	r.Head = decide.Hash(ref.Commit)
}

// findByURL notes which Repository has an address first.
func (r *Reader) findByURL() {
	r.byURL = map[addressKey]*Repo{}
	for _, repo := range r.sorted {
		urls := []string{repo.Address}
		switch {
		case repo.Git != nil:
			// Of a path, others such as kpt write what is absolute.
			urls = append(urls, repo.Git.URL(), repo.Git.Key())
		case !repo.closed:
			continue
		}
		for _, url := range urls {
			k := addressKey{repo.Namespace, decide.PlainAddress(url)}
			if r.byURL[k] == nil {
				r.byURL[k] = repo
			}
		}
	}
}

// at finds a registered repository by address, nil where there is none.
func (r *Reader) at(namespace, url string) *Repo {
	return r.byURL[addressKey{namespace, decide.PlainAddress(url)}]
}

// has says that what has a key is worked on.
func (r *Reader) has(key string) bool {
	return r.cfg.Shard.Has(key) && (r.cfg.Within == nil || r.cfg.Within[key])
}

// ShardKey is what decides of which shard a Repository is: the Git repository behind
// it, which has one record and gets one push, whoever shows which part of it.
func ShardKey(obj *v1alpha1.Repository) string {
	switch spec := obj.Spec; {
	case spec.Git != nil:
		return decide.PlainAddress(gitrepo.Key(spec.Git.Repo))
	case spec.OCI != nil:
		return spec.OCI.Registry
	}
	return UnregisteredKey(obj.Namespace, obj.Name)
}

// UnregisteredKey is the ShardKey of a Repository that nobody registered.
func UnregisteredKey(namespace, name string) string { return namespace + "/" + name }

// Mine says that what is wanted of a Repository, registered or not, is of this shard.
func (r *Reader) Mine(namespace, name string) bool {
	if repo := r.repos[repoKey{namespace, name}]; repo != nil {
		return !repo.Elsewhere
	}
	return r.has(UnregisteredKey(namespace, name))
}

// reach is a Repository to read packages of: of one that is closed, another object
// for the same. It is safe for concurrent use.
func (r *Reader) reach(ctx context.Context, repo *Repo) *Repo {
	if repo == nil || !repo.closed {
		return repo
	}
	return r.apart.get(repo, func() *Repo {
		out := newRepo(repo.Object)
		r.open(ctx, out)
		return out
	})
}

// source finds a Repository of a namespace that packages come from, and waits until it
// is open.
func (r *Reader) source(ctx context.Context, namespace, name string) (*Repo, error) {
	if repo := r.Repo(namespace, name); repo != nil {
		<-repo.open
	}
	repo, err := r.Find(namespace, name)
	if repo = r.reach(ctx, repo); err == nil {
		err = repo.Err
	}
	return repo, err
}

// Find finds a Repository of a namespace that could be read.
func (r *Reader) Find(namespace, name string) (*Repo, error) {
	repo := r.repos[repoKey{namespace, name}]
	if repo == nil {
		var there []string
		for key := range r.repos {
			if key.namespace == namespace {
				there = append(there, key.name)
			}
		}
		slices.Sort(there)
		return nil, fmt.Errorf("no Repository %q in namespace %q: %s", name, namespace, decide.Hint(name, there, "add one, or correct the name"))
	}
	return repo, repo.Err
}

// Downstream finds the Repository that a wanted package is written to.
func (r *Reader) Downstream(namespace, name string) (*Repo, error) {
	repo, err := r.Find(namespace, name)
	if err == nil && repo.Git == nil {
		return nil, fmt.Errorf("Repository %s is an OCI registry (spec.type: oci), which serves upstreams only: a Draft is a branch, so name a Repository of type git, and publish from there with \"variform push\"", name)
	}
	return repo, err
}

// readHeads reads the tips of one repository. A server may give out no commit that its refs have
// left since they were read, as that of the record, which moves often: then the
// refs are read again.
func (r *Repo) readHeads(ctx context.Context) error {
	r.recordedAt = nil
	err := r.readTips(ctx)
	if errors.Is(err, gitrepo.ErrMissingObject) {
		if err = r.Git.Refresh(ctx); err == nil {
			err = r.readTips(ctx)
		}
	}
	if err != nil {
		return fmt.Errorf("reading the tips of its packages: %w", err)
	}
	return r.registered(ctx)
}

// readTips reads them as the refs are. Published packages that no variant wants are
// looked at without their history: a catalogue may have thousands. What Variform
// published says so in the commit itself.
func (r *Repo) readTips(ctx context.Context) error {
	r.branch()
	index := r.Git.Index(r.Dir)
	found := map[string][]*head{}
	var all []*head
	r.refs, r.shallow = make(map[string]*gitrepo.PackageRefs, len(index.Packages())), map[*decide.Revision]bool{}
	for _, path := range index.Packages() {
		refs := index.Package(path)
		r.refs[path] = refs
		for _, rev := range slices.Concat(refs.Drafts, refs.Proposed) {
			found[path] = append(found[path], newHead(rev))
		}
		if latest := refs.Latest(); latest != nil {
			h := newHead(*latest)
			if h.shallow = !r.Wanted[path]; h.shallow {
				r.shallow[h.Revision] = true
			}
			found[path] = append(found[path], h)
		}
		all = append(all, found[path]...)
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Ref.Name < all[j].Ref.Name })
	if err := r.fetchOpen(ctx, all); err != nil {
		return err
	}
	rec, err := r.readRecord(ctx)
	if err != nil {
		return err
	}
	for _, h := range all {
		h.entries = rec.Package(h.path)
	}
	if err := r.walk(ctx, all); err != nil {
		return err
	}
	if err := r.readUnsigned(ctx, rec, all); err != nil {
		return err
	}
	r.Packages = make(map[string]*decide.Package, len(found))
	for path, heads := range found {
		list := make([]*decide.Revision, len(heads))
		for i, h := range heads {
			list[i] = h.Revision
		}
		p := decide.NewPackage(path, publishedOf(r.refs[path]), list...)
		if p.Entries = rec.Package(path); rec != nil {
			p.Doubt(r.record.Manager)
		}
		if open := p.Open(); open != nil && open.Ref.Commit != r.Head {
			p.Rollout = r.rollouts[open.Ref.Commit]
		}
		r.Packages[path] = p
	}
	r.Recorded, r.Others = rec, nil
	if err := r.hear(ctx); err != nil {
		return err
	}
	if err := r.believe(ctx, index.Packages()); err != nil {
		return err
	}
	return r.trace(ctx)
}

// hear reads the records of others, where packages are wanted or this manager's:
// what people said there is about the packages, whoever manages them.
func (r *Repo) hear(ctx context.Context) error {
	if r.Others != nil || len(r.Wanted) == 0 && !r.owns() {
		return nil
	}
	for _, name := range r.Git.Refs().Records() {
		rec, err := readable(r.Git.Record(ctx, gitrepo.RecordOf{Ref: name}))
		if err != nil {
			return err
		}
		if rec != nil && (rec.Manager != r.record.Manager || r.foreign != nil) {
			r.Others = append(r.Others, rec)
		}
	}
	for _, p := range r.Packages {
		p.Others = r.Others
	}
	return nil
}

// owns reports whether a package there is this manager's.
func (r *Repo) owns() bool {
	for _, p := range r.Packages {
		if r.mine(p) {
			return true
		}
	}
	return false
}

// believe takes over what records know of packages: this manager's of all, others'
// of those that are wanted here and theirs.
func (r *Repo) believe(ctx context.Context, paths []string) error {
	var foreign []*decide.Package
	for _, path := range paths {
		p := r.Packages[path]
		for _, rec := range r.Others {
			p.Heed(rec.Package(path))
		}
		p.Believe(r.record.Manager, p.Entries)
		if l := p.Latest; r.Wanted[path] && l != nil && l.Owner != "" && !strings.HasPrefix(l.Owner, r.record.Manager+"/") {
			foreign = append(foreign, p)
		}
	}
	if len(foreign) == 0 {
		return nil
	}
	for _, name := range r.Git.Refs().Records() {
		rec, err := readable(r.Git.Record(ctx, gitrepo.RecordOf{Ref: name}))
		if err != nil {
			return err
		}
		for _, p := range foreign {
			if rec != nil {
				p.Believe(rec.Manager, rec.Package(p.Path))
			}
		}
	}
	return nil
}

func publishedOf(refs *gitrepo.PackageRefs) []decide.Published {
	out := make([]decide.Published, len(refs.Published))
	for i, p := range refs.Published {
		out[i] = decide.Published{Number: p.Number, Ref: ref(p.Ref), Deletion: ref(p.Deletion)}
	}
	return out
}

func ref(r gitrepo.Ref) decide.Ref {
	return decide.Ref{Name: r.Name, Hash: decide.Hash(r.Hash), Commit: decide.Hash(r.Commit)}
}

// head is a revision while its history is read.
type head struct {
	*decide.Revision
	path    string
	shallow bool
	seen    bool // its tip
	draft   bool // the walk left the registered branch for a Draft's commits
	entries []record.Entry
	// into is the commit that an approval merged a Draft into. source is the workspace of
	// the revision that the Draft copied, while the walk looks for it from there.
	into   gitrepo.Hash
	source string
}

func newHead(rev gitrepo.Revision) *head {
	return &head{path: rev.Package, Revision: &decide.Revision{
		Ref: ref(rev.Ref), Workspace: rev.Workspace, Number: rev.Number, Phase: rev.Lifecycle,
	}}
}

// readUnsigned finds the owner of what is wanted and Published where a person may
// have said who that is, or a forge squashed the commit that says it: neither is
// the tip the machine's commit, nor does the record know it. The Kptfile tells.
func (r *Repo) readUnsigned(ctx context.Context, rec *record.Record, heads []*head) error {
	var unsigned []*head
	var places []gitrepo.Place
	for _, h := range heads {
		known := func(e record.Entry) bool { return h.Machine != nil && e.Commit == h.Ref.Commit.String() }
		if h.Number > 0 && !h.shallow && !h.Made() && !slices.ContainsFunc(rec.Package(h.path), known) {
			unsigned, places = append(unsigned, h), append(places, gitrepo.Place{Commit: gitrepo.Hash(h.Ref.Commit), Path: h.path})
		}
	}
	if len(unsigned) == 0 {
		return nil
	}
	if err := r.Git.FetchPlaces(ctx, places...); err != nil {
		return err
	}
	for _, h := range unsigned {
		if k, err := r.kptfileAt(ctx, h.Ref.Commit, h.path); err == nil && k != nil { // else who needs it says what is wrong with it
			if owner, ok := mutate.OwnerOf(k); ok {
				h.Owner = owner.Variant
			}
		}
	}
	return nil
}

// fetchOpen brings the open heads of what is wanted, where they will be read whole: then
// their commits need no request of their own. Beside many packages who needs some of them
// asks for these.
func (r *Repo) fetchOpen(ctx context.Context, heads []*head) error {
	if !r.whole || r.Git.Many() {
		return nil
	}
	var places []gitrepo.Place
	for _, h := range heads {
		if h.Phase.Open() && r.Wanted[h.path] {
			places = append(places, gitrepo.Place{Commit: gitrepo.Hash(h.Ref.Commit), Path: h.path})
		}
	}
	if len(places) == 0 {
		return nil
	}
	if !r.Head.IsZero() { // a repository may be empty but for Drafts
		places = append(places, gitrepo.Place{Commit: gitrepo.Hash(r.Head)})
	}
	return r.Git.FetchPlaces(ctx, places...)
}

// walkLimit bounds how many hand-made commits on a Draft are looked behind.
const walkLimit = 256

// walk finds for each head the newest commit that Variform made for its
// package: the head itself, or one behind commits that people added. One
// request for each step serves all heads.
func (r *Repo) walk(ctx context.Context, heads []*head) error {
	at := make(map[*head]gitrepo.Hash, len(heads))
	tips := make([]gitrepo.Hash, len(heads))
	for i, h := range heads {
		at[h], tips[i] = gitrepo.Hash(h.Ref.Commit), gitrepo.Hash(h.Ref.Commit)
	}
	// The tips in one request, then history in a few, deeper each time: a
	// server gives out what its refs name, and seldom what lies behind.
	if _, err := r.Git.Commits(ctx, tips...); err != nil {
		return err
	}
	_, err := r.Git.FindAncestors(ctx, tips, walkLimit, func(i int, c *gitrepo.Commit) bool {
		probe := head{Revision: &decide.Revision{Ref: heads[i].Ref, Workspace: heads[i].Workspace, Number: heads[i].Number}, path: heads[i].path, entries: heads[i].entries}
		return probe.visit(c) || heads[i].shallow
	})
	if err != nil {
		return err
	}
	for step := 0; len(at) > 0 && step < walkLimit; step++ {
		var pending []*head
		var hashes []gitrepo.Hash
		for _, h := range heads {
			if hash, ok := at[h]; ok {
				pending = append(pending, h)
				hashes = append(hashes, hash)
			}
		}
		commits, err := r.Git.Commits(ctx, hashes...)
		if err != nil {
			return err
		}
		for i, h := range pending {
			if h.visit(commits[i]) || h.shallow || len(commits[i].Parents) == 0 {
				delete(at, h)
				continue
			}
			at[h] = h.next(commits[i])
		}
	}
	return nil
}

// next is the parent to look at after c: of an approval through Porch, which
// merges into the registered branch without Variform's trailers, the Draft's; so
// of a forge's merge that was tagged, for the tag is where the package came. At the
// merge of another package it came before, or the tag was moved there.
func (h *head) next(c *gitrepo.Commit) gitrepo.Hash {
	tagged := h.Number > 0 && decide.Hash(c.Hash) == h.Ref.Commit && len(c.Annotations) == 0
	if len(c.Parents) > 1 && (tagged || slices.ContainsFunc(c.Annotations, func(a gitrepo.Annotation) bool { return a.Package == h.path })) {
		if h.source != "" {
			return c.Parents[0]
		}
		h.draft, h.into = true, c.Parents[0]
		return c.Parents[1]
	}
	// Porch may commit a copy upon an older state of the branch than what it copied.
	i := slices.IndexFunc(c.Annotations, func(a gitrepo.Annotation) bool { return a.Package == h.path && a.Source != "" })
	if into := h.into; i >= 0 && !into.IsZero() {
		h.source, h.into = c.Annotations[i].Source, gitrepo.Hash{}
		return into
	}
	return c.Parents[0]
}

// visit looks at one commit on the way down and reports whether to stop: at
// Variform's own commit for the package, or where the branch began.
func (h *head) visit(c *gitrepo.Commit) bool {
	if !h.seen {
		h.seen, h.Parents, h.When, h.By = true, hashes(c.Parents), c.Committer.When, c.Author.Name
	}
	if h.source != "" {
		if !slices.ContainsFunc(c.Annotations, func(a gitrepo.Annotation) bool {
			return a.Package == h.path && a.WorkspaceName == h.source && a.Revision != "" && a.Revision != "0"
		}) {
			return false
		}
		h.source = ""
	}
	mine, published, least := h.annotations(c)
	if mine && h.Since == "" {
		h.Since = decide.RevisionName(published)
	}
	if h.Newest.Number == 0 && published > 0 && least > 0 { // else it has the message of an earlier approval, too
		h.Newest = decide.Numbered{Number: published, Commit: decide.Hash(c.Hash)}
	}
	own := about(h.path, h.Workspace, h.Number)
	t := c.TrailersOf(func(a gitrepo.Annotation) bool { return own(a) && h.known(a) }, own)
	if !mine || t.Inputs == "" && t.Variant == "" {
		return h.recorded(c)
	}
	h.Machine = &decide.Machine{
		Commit: decide.Hash(c.Hash), Parents: hashes(c.Parents), Ours: c.Committer.Email == MachineEmail,
		Variant: t.Variant, Inputs: t.Inputs, Review: t.Review,
		Hydrated: decide.ParseHash(t.Hydrated), Reverts: t.Reverts, Unproved: t.Unproved, Exempt: t.Exempt, Invalid: t.Invalid,
		Approval: h.Number > 0 && !h.draft && published > 0 && len(c.Parents) > 1,
	}
	h.Inputs = decide.ParseInputs(t.Inputs)
	if h.Since == "" {
		h.Since = h.Inputs.Published
	}
	if h.Newest.Number == 0 {
		h.Newest.Number = h.Inputs.Started()
	}
	if t.Variant != Released {
		h.Owner = t.Variant
	}
	return true
}

// annotations reads the lines of a commit that are about the package: whether there is one,
// the number that it publishes, and the least number of them.
func (h *head) annotations(c *gitrepo.Commit) (mine bool, published, least int) {
	least = 1
	for _, a := range c.Annotations {
		if a.Package != h.path {
			continue
		}
		mine = true
		n, err := strconv.Atoi(a.Revision)
		least = min(least, n)
		if h.Workspace == "" && (err != nil || n == 0 || h.Number == 0 || n == h.Number) { // not an earlier one's
			h.Workspace = a.WorkspaceName
		}
		if h.Number == 0 && n == 0 && h.Called == "" {
			h.Called = a.WorkspaceName
		}
		if n > 0 && (h.Number == 0 || published != h.Number) {
			published = n
		}
		h.Approved = h.Approved || n > 0 && n == h.Number && decide.Hash(c.Hash) == h.Ref.Commit
	}
	return mine, published, least
}

// recorded takes over what the record knows of a Published revision's commit below this
// one, which another tool published, and reports whether it does.
func (h *head) recorded(c *gitrepo.Commit) bool {
	at := decide.Hash(c.Hash)
	for _, e := range h.entries {
		if h.Number == 0 || at == h.Ref.Commit || e.Place != record.Past || e.Commit != c.Hash.String() {
			continue
		}
		var none *decide.Machine
		if m := none.Merged(e); m != nil {
			m.Commit, m.Parents = at, hashes(c.Parents)
			h.Machine, h.Inputs, h.Owner = m, decide.ParseInputs(m.Inputs), e.Owner
			return true
		}
	}
	return false
}

// known says whether the record has the revision as made of what an annotation's message
// says: of several that a person squashed, in whatever order, it is that one.
func (h *head) known(a gitrepo.Annotation) bool {
	return slices.ContainsFunc(h.entries, func(e record.Entry) bool {
		mine := e.Place == record.Open && e.Workspace == h.Workspace || h.Number > 0 && e.Revision == h.Number
		return mine && e.Inputs != "" && strings.HasPrefix(a.Trailers.Inputs, e.Inputs)
	})
}

// about says of annotations whether they are of a revision of the package at a path: of its
// Draft, or of what has its number.
func about(path, workspace string, number int) func(gitrepo.Annotation) bool {
	return func(a gitrepo.Annotation) bool {
		n, _ := strconv.Atoi(a.Revision) // 0, as Porch writes it, or none, is a Draft's
		return a.Package == path && (n == 0 && a.WorkspaceName == workspace || n > 0 && n == number)
	}
}

func hashes(list []gitrepo.Hash) []decide.Hash {
	out := make([]decide.Hash, len(list))
	for i, h := range list {
		out[i] = decide.Hash(h)
	}
	return out
}

// deepen reads the history of heads that were taken for packages which nobody
// wants.
func (r *Reader) deepen(ctx context.Context, wants []*decide.Want) []error {
	heads := map[*Repo][]*head{}
	for _, w := range wants {
		repo := r.RepoOf(w)
		if repo == nil || repo.Git == nil || repo.Err != nil {
			continue
		}
		path := repo.Path(w.Package)
		p := repo.Packages[path]
		if p == nil || p.Latest == nil || !repo.shallow[p.Latest] {
			continue
		}
		delete(repo.shallow, p.Latest)
		if p.Latest.Machine == nil {
			heads[repo] = append(heads[repo], &head{Revision: p.Latest, path: path, seen: true, entries: p.Entries})
		}
	}
	var problems []error
	for _, repo := range r.sorted {
		if repo.Git != nil && repo.Err == nil {
			if err := repo.hear(ctx); err != nil {
				problems = append(problems, &RepositoryError{repo.Namespace, repo.Name, err})
			}
		}
		list := heads[repo]
		if len(list) == 0 {
			continue
		}
		if err := repo.walk(ctx, list); err != nil {
			problems = append(problems, &RepositoryError{repo.Namespace, repo.Name, err})
			continue
		}
		var paths []string
		for _, h := range list {
			p := repo.Packages[h.path]
			next := decide.NewPackage(p.Path, p.Tags, p.Heads()...)
			next.Entries, next.Others, next.Rollout = p.Entries, p.Others, p.Rollout
			repo.Packages[h.path] = next
			paths = append(paths, h.path)
		}
		if err := repo.believe(ctx, paths); err != nil {
			problems = append(problems, &RepositoryError{repo.Namespace, repo.Name, err})
		}
	}
	return problems
}

// Reread reads a Git repository's refs and tips anew, for all Repositories that
// show it. It is safe for concurrent use with other repositories.
func (r *Reader) Reread(ctx context.Context, git Repository) error {
	if err := git.Refresh(ctx); err != nil {
		return err
	}
	defer git.LetGo()
	for _, repo := range r.sorted {
		if repo.Git == git {
			if err := repo.readHeads(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// Published reports whether a Published revision is one of this manager's: its
// own commit says so.
func (r *Reader) Published(ctx context.Context, repo *Repo, path string, p decide.Published) (bool, error) {
	commits, err := repo.Git.Commits(ctx, gitrepo.Hash(p.Ref.Commit))
	if err != nil {
		return false, err
	}
	h := head{Revision: &decide.Revision{Number: p.Number}, path: path}
	h.visit(commits[0])
	return r.cfg.Manager.Signed(h.Owner, repo.Namespace), nil
}

// newestPublished is how many Published revisions are looked at first for the highest number
// of a workspace: as many as a record keeps.
const newestPublished = 5

// Workspaces names workspaces that a package has used, the highest number among them: those
// of open revisions, and of the newest Published ones, or of all where none of these has a
// number as high as there are revisions. That of an older one is lower, for each was the
// highest when it was drafted, unless people named some.
func (r *Repo) Workspaces(ctx context.Context, path string) (used []string, err error) {
	refs := r.packageRefs(path)
	for _, rev := range slices.Concat(refs.Drafts, refs.Proposed) {
		used = append(used, rev.Workspace)
	}
	newest, older := split(refs.Published)
	names, err := r.workspacesOf(ctx, path, newest)
	if used = append(used, names...); err != nil || numbered(names, refs.Latest()) {
		return used, err
	}
	names, err = r.workspacesOf(ctx, path, older)
	return append(used, names...), err
}

// split parts a package's revisions into the newest and the others.
func split(published []gitrepo.Revision) (newest, older []gitrepo.Revision) {
	at := max(0, len(published)-newestPublished)
	return published[at:], published[:at]
}

// numbered says that one of these workspaces has a number that no older one's exceeds.
func numbered(workspaces []string, latest *gitrepo.Revision) bool {
	return latest == nil || slices.ContainsFunc(workspaces, func(name string) bool { return lifecycle.WorkspaceNumber(name) >= latest.Number })
}

// workspacesOf are those of Published revisions, by the record or by their commits.
func (r *Repo) workspacesOf(ctx context.Context, path string, published []gitrepo.Revision) ([]string, error) {
	told, unknown := r.recordedWorkspaces(path, published)
	names, err := r.Git.PublishedWorkspaces(ctx, &gitrepo.PackageRefs{Path: path, Published: unknown})
	return slices.AppendSeq(told, maps.Values(names)), err
}

func (r *Repo) packageRefs(path string) *gitrepo.PackageRefs {
	if refs := r.refs[path]; refs != nil {
		return refs
	}
	return r.Git.Index(r.Dir).Package(path)
}

// recordedWorkspaces are those that the record tells of Published revisions, and the
// revisions of which it tells none.
func (r *Repo) recordedWorkspaces(path string, published []gitrepo.Revision) (told []string, unknown []gitrepo.Revision) {
	var entries []record.Entry
	if p := r.Packages[path]; p != nil {
		entries = p.Entries
	}
	for _, rev := range published {
		i := slices.IndexFunc(entries, func(e record.Entry) bool {
			return (e.Place == record.Past || e.Place == record.Main) && e.Revision == rev.Number && e.Commit == rev.Ref.Commit.String() && e.Workspace != ""
		})
		if i < 0 {
			unknown = append(unknown, rev)
		} else {
			told = append(told, entries[i].Workspace)
		}
	}
	return told, unknown
}

// fetchWorkspaces brings the commits that tell, beside the record, what workspaces packages
// have used, in two requests a repository at most.
func (r *Reader) fetchWorkspaces(ctx context.Context, packages map[*Repo][]string) {
	set := commitSet{}
	add := func(repo *Repo, path string, published []gitrepo.Revision) {
		_, unknown := repo.recordedWorkspaces(path, published)
		for _, rev := range unknown {
			set.add(repo, rev.Ref.Commit)
		}
	}
	for repo, paths := range packages {
		for _, path := range paths {
			newest, _ := split(repo.packageRefs(path).Published)
			add(repo, path, newest)
		}
	}
	unread := set.run(ctx, r.Repositories())
	set = commitSet{}
	for repo, paths := range packages {
		for _, path := range paths {
			refs := repo.packageRefs(path)
			newest, older := split(refs.Published)
			if len(older) == 0 || unread[repo.Git] {
				continue
			}
			if names, err := repo.workspacesOf(ctx, path, newest); err == nil && !numbered(names, refs.Latest()) {
				add(repo, path, older)
			}
		}
	}
	set.run(ctx, r.Repositories())
}

// FetchPublished brings the commits of Published revisions, in one request a repository.
func (r *Reader) FetchPublished(ctx context.Context, of map[*Repo][]decide.Published) {
	set := commitSet{}
	for repo, list := range of {
		for _, p := range list {
			set.add(repo, gitrepo.Hash(p.Ref.Commit))
		}
	}
	set.run(ctx, r.Repositories())
}

// commitSet collects commits that are to be read without what they hold, by Git repository.
type commitSet map[Repository][]gitrepo.Hash

func (c commitSet) add(r *Repo, commits ...gitrepo.Hash) {
	if r != nil && r.Git != nil {
		c[r.Git] = append(c[r.Git], commits...)
	}
}

// run reads each repository's in one request, and names those of which it failed: whoever
// needs the commits asks again and says why.
func (c commitSet) run(ctx context.Context, limit int) (unread map[Repository]bool) {
	repos := slices.Collect(maps.Keys(c))
	failed, _ := Parallel(ctx, limit, repos, func(ctx context.Context, r Repository) bool {
		_, err := r.Commits(ctx, slices.DeleteFunc(c[r], gitrepo.Hash.IsZero)...)
		return err != nil
	})
	unread = map[Repository]bool{}
	for i, r := range repos {
		unread[r] = failed[i]
	}
	return unread
}

// markWanted notes where wanted packages are to stand.
func (r *Reader) markWanted(wants []*decide.Want) {
	for _, w := range wants {
		if repo := r.RepoOf(w); repo != nil {
			repo.Wanted[repo.Path(w.Package)] = true
		}
	}
}
