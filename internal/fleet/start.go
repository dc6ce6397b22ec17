package fleet

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"

	"github.com/variform/variform/api"
	"github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/gitrepo"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/lazyregexp"
	"github.com/variform/variform/internal/lifecycle"
)

// Layouts are where a new fleet's packages go, as variform init asks it.
var Layouts = []string{LayoutFolders, LayoutRepositories, LayoutExisting}

// The layouts.
const (
	LayoutFolders      = "folders"      // one repository, one folder for each cluster
	LayoutRepositories = "repositories" // one repository for each cluster
	LayoutExisting     = "existing"     // as one of these, where folders hold the package already
)

// UsualName is the name of a fleet that nobody named otherwise.
const UsualName = "platform"

const (
	repositoriesFile = "repositories.yaml"
	catalogName      = "catalog"
)

// Start is what a new fleet is written from.
type Start struct {
	Name     string // of the fleet
	Layout   string // one of Layouts
	Catalog  *v1alpha1.Repository
	Clusters []*v1alpha1.Repository
	// Labels are those of the clusters that get the package.
	Labels           map[string]string
	Package, Version string
}

// StartFiles are the files of every new fleet, whatever its package.
var StartFiles = []string{kptfilev1.KptFileName, repositoriesFile}

// Selector returns the labels as the set selects them.
func (s *Start) Selector() string {
	labels := make([]string, 0, len(s.Labels))
	for _, key := range slices.Sorted(maps.Keys(s.Labels)) {
		labels = append(labels, key+"="+s.Labels[key])
	}
	return strings.Join(labels, ",")
}

// Files returns the files of the fleet: its name, its Repositories and a set. The same
// Start gives the same bytes.
func (s *Start) Files() ([]krm.File, error) {
	kptfile, err := api.Encode(newKptfile(s.Name))
	if err != nil {
		return nil, err
	}
	repositories := []byte("# Packages come from the first Repository, and go to the others.\n# Sets select these by their labels: change the labels to what tells your clusters apart.\n")
	for _, r := range append([]*v1alpha1.Repository{s.Catalog}, s.Clusters...) {
		text, err := Document(r)
		if err != nil {
			return nil, fmt.Errorf("Repository %s: %w", r.Name, err)
		}
		repositories = append(repositories, text...)
	}
	name := nameFrom(path.Base(s.Package))
	up := &v1alpha1.Upstream{Repo: s.Catalog.Name, Package: s.Package, Revision: v1alpha1.Revision(s.Version)}
	set, err := NewSet(metav1.ObjectMeta{Name: name}, up, nil, s.Selector(), s.Layout == LayoutExisting)
	if err != nil {
		return nil, err
	}
	text, err := Document(set)
	if err != nil {
		return nil, fmt.Errorf("PackageVariantSet %s: %w", name, err)
	}
	file := name + ".yaml"
	if file == repositoriesFile {
		file = "set-" + file
	}
	return []krm.File{
		{Path: kptfilev1.KptFileName, Data: append([]byte("# The name marks every package that this fleet creates. Do not change it later.\n"), kptfile...)},
		{Path: repositoriesFile, Data: repositories},
		{Path: file, Data: bytes.TrimPrefix(text, []byte("---\n"))},
	}, nil
}

func newKptfile(name string) *kptfilev1.KptFile {
	k := &kptfilev1.KptFile{}
	k.APIVersion, k.Kind, k.Name = kptfilev1.KptFileAPIVersion, kptfilev1.KptFileKind, name
	return k
}

// WriteNew writes files below a folder, all or none: a file that exists is an error that
// is fs.ErrExist.
func WriteNew(dir string, files []krm.File) (err error) {
	var written []string
	defer func() {
		if err != nil {
			for _, name := range written {
				_ = os.Remove(name)
			}
		}
	}()
	for _, f := range files {
		name := filepath.Join(dir, filepath.FromSlash(f.Path))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644) //nolint:gosec // as an editor makes it: Git and others read it
		if err != nil {
			return existing(err, name)
		}
		written = append(written, name)
		_, err = file.Write(f.Data)
		if err := cmp.Or(err, file.Close()); err != nil {
			return err
		}
	}
	return nil
}

// CheckNew reports the first of a new fleet's files that exists.
func CheckNew(dir string) error {
	for _, name := range StartFiles {
		name = filepath.Join(dir, name)
		if _, err := os.Lstat(name); err == nil {
			return existing(fs.ErrExist, name)
		}
	}
	return nil
}

func existing(err error, name string) error {
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s exists: init only writes a new fleet; name another folder, or add to this fleet what variform create prints", name)
	}
	return err
}

// ParseLayout reads a layout by its name or its number.
func ParseLayout(text string) (string, error) {
	for i, l := range Layouts {
		if text == l || text == fmt.Sprint(i+1) {
			return l, nil
		}
	}
	return "", fmt.Errorf("%q: choose one of %s", text, strings.Join(Layouts, ", "))
}

var notInNames = lazyregexp.New(`[^a-z0-9-]+`)

// nameFrom makes a name of an object from that of a folder or repository.
func nameFrom(of string) string {
	return strings.Trim(notInNames.Regexp().ReplaceAllString(strings.ToLower(of), "-"), "-")
}

// Checkout is a repository at its registered branch, as variform init reads it.
type Checkout struct {
	Repository *v1alpha1.Repository
	repo       *gitrepo.Repo
	commit     gitrepo.Hash // zero where the repository is empty
}

// readAddress opens the repository of an address, URL[//dir][@branch], and gives its
// Repository the branch that the server names where the address has none.
func readAddress(ctx context.Context, store *gitrepo.Store, meta metav1.ObjectMeta, address string, deployment bool) (*Checkout, error) {
	r, err := NewRepository(meta, address, deployment)
	if err != nil {
		return nil, err
	}
	c := &Checkout{Repository: r}
	if c.repo, err = store.Open(ctx, r.Spec.Git.Repo); err != nil {
		return nil, err
	}
	refs := c.repo.Refs()
	if r.Spec.Git.Branch == "" {
		r.Spec.Git.Branch = cmp.Or(strings.TrimPrefix(refs.Head(), "refs/heads/"), "main")
	}
	branch, ok := refs.Branch(r.Spec.Git.Branch)
	if !ok {
		if !slices.ContainsFunc(refs.All(), isBranch) { // nothing is Published there yet
			return c, nil
		}
		return nil, fmt.Errorf("%s has no branch %s: end the address with @ and a branch that it has", c.repo.URL(), r.Spec.Git.Branch)
	}
	c.commit = branch.Commit
	return c, c.repo.Fetch(ctx, c.commit)
}

// isBranch reports whether a ref is a branch that is no open revision.
func isBranch(ref gitrepo.Ref) bool {
	open := slices.ContainsFunc([]string{lifecycle.DraftsPrefix, lifecycle.ProposedPrefix, lifecycle.DeletionPrefix}, func(prefix string) bool {
		return strings.HasPrefix(ref.Name, prefix)
	})
	return !open && strings.HasPrefix(ref.Name, "refs/heads/")
}

// ReadCatalog opens the repository that a new fleet takes packages from, and lists them:
// paths below the address's folder.
func ReadCatalog(ctx context.Context, store *gitrepo.Store, address string) (*Checkout, []string, error) {
	c, err := readAddress(ctx, store, metav1.ObjectMeta{Name: catalogName}, address, false)
	if err != nil {
		return nil, nil, err
	}
	git := c.Repository.Spec.Git
	var found []gitrepo.PackageAt
	if !c.commit.IsZero() {
		if found, err = c.repo.Packages(ctx, c.commit, git.Directory); err != nil {
			return nil, nil, err
		}
	}
	var names []string
	for _, p := range found {
		if name := strings.Trim(strings.TrimPrefix(p.Path, git.Directory), "/"); name != "" {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil, nil, fmt.Errorf("%s has no package on %s: a package is a folder with a Kptfile; add @ and a branch to the address if packages are on another one", c.repo.URL(), git.Branch)
	}
	return c, names, nil
}

// Newest is the version of a package to begin with: the highest one, or the branch where
// none has a tag.
func (c *Checkout) Newest(ctx context.Context, pkg string) (version string, tagged bool) {
	const latest = "latest"
	git := c.Repository.Spec.Git
	at, err := c.repo.Resolve(ctx, gitrepo.Query{Directory: git.Directory, Package: pkg, Branch: git.Branch, Revision: latest})
	if err != nil {
		return git.Branch, false
	}
	return strings.TrimPrefix(at.Ref, lifecycle.PackagePath(git.Directory, pkg)+"/"), true
}

// CheckVersion reports why a package has no such version.
func (c *Checkout) CheckVersion(ctx context.Context, pkg, version string) error {
	git := c.Repository.Spec.Git
	_, err := c.repo.Resolve(ctx, gitrepo.Query{Directory: git.Directory, Package: pkg, Branch: git.Branch, Revision: version})
	return err
}

// clustersFolder is where a repository's folders of clusters are if its address names no
// folder.
const clustersFolder = "clusters"

// ReadFolders opens a repository that has one folder for each cluster, and lists the
// folders that are there: below the address's folder, else below clusters, else, where
// they are to exist, in the root.
func ReadFolders(ctx context.Context, store *gitrepo.Store, address string, exist bool) (*Checkout, []string, error) {
	c, err := readAddress(ctx, store, metav1.ObjectMeta{}, address, true)
	if err != nil {
		return nil, nil, err
	}
	git := c.Repository.Spec.Git
	anywhere := exist && git.Directory == ""
	git.Directory = cmp.Or(git.Directory, clustersFolder)
	if c.commit.IsZero() {
		return c, nil, nil
	}
	tree, ok, err := c.repo.TreeAt(ctx, c.commit, git.Directory)
	if err == nil && !ok && anywhere {
		git.Directory = ""
		tree, ok, err = c.repo.TreeAt(ctx, c.commit, "")
	}
	if err != nil || !ok {
		return c, nil, err
	}
	entries, err := c.repo.Entries(tree)
	if err != nil {
		return nil, nil, err
	}
	var names []string
	for _, e := range entries {
		if e.Dir && !strings.HasPrefix(e.Name, ".") {
			names = append(names, e.Name)
		}
	}
	return c, names, nil
}

// Folders returns a Repository for each folder of a cluster, with the labels.
func (c *Checkout) Folders(folders []string, labels map[string]string) ([]*v1alpha1.Repository, error) {
	var out []*v1alpha1.Repository
	for _, folder := range folders {
		r := *c.Repository
		git := *r.Spec.Git
		git.Directory = path.Join(git.Directory, folder)
		r.ObjectMeta, r.Spec.Git = metav1.ObjectMeta{Name: nameFrom(folder), Labels: labels}, &git
		out = append(out, &r)
	}
	return out, checkClusters(out)
}

// Holding names the clusters, read before, that have a folder of the package's name.
func Holding(ctx context.Context, store *gitrepo.Store, clusters []*v1alpha1.Repository, pkg string) (out []string, err error) {
	for _, r := range clusters {
		repo, err := store.Open(ctx, r.Spec.Git.Repo)
		if err != nil {
			return nil, err
		}
		branch, ok := repo.Refs().Branch(r.Spec.Git.Branch)
		if !ok {
			continue
		}
		if _, ok, err = repo.TreeAt(ctx, branch.Commit, path.Join(r.Spec.Git.Directory, pkg)); err != nil {
			return nil, err
		}
		if ok {
			out = append(out, r.Name)
		}
	}
	return out, nil
}

// ReadClusters opens one repository for each cluster.
func ReadClusters(ctx context.Context, store *gitrepo.Store, addresses []string, labels map[string]string) ([]*v1alpha1.Repository, error) {
	var out []*v1alpha1.Repository
	for _, address := range addresses {
		c, err := readAddress(ctx, store, metav1.ObjectMeta{Labels: labels}, address, true)
		if err != nil {
			return nil, err
		}
		repo := strings.TrimSuffix(filepath.ToSlash(c.Repository.Spec.Git.Repo), ".git")
		at := cmp.Or(c.Repository.Spec.Git.Directory, repo)
		c.Repository.Name = nameFrom(at[strings.LastIndexAny(at, "/:")+1:])
		out = append(out, c.Repository)
	}
	return out, checkClusters(out)
}

// checkClusters reports clusters that cannot be told apart by name.
func checkClusters(clusters []*v1alpha1.Repository) error {
	seen := map[string]bool{}
	for _, r := range clusters {
		switch {
		case r.Name == catalogName:
			return fmt.Errorf("a cluster cannot have the name %s, which is the Repository of the packages: leave it out, and add it with variform create repository", catalogName)
		case seen[r.Name]:
			return fmt.Errorf("two clusters would have the name %s: leave one out, and add it with variform create repository", r.Name)
		}
		seen[r.Name] = true
	}
	if len(clusters) == 0 {
		return errors.New("no cluster is named: give one or more")
	}
	return nil
}

// Known reports whether a word is one of those that there are, as an error that names the
// nearest.
func Known(what, word string, there []string) error {
	if slices.Contains(there, word) {
		return nil
	}
	return fmt.Errorf("there is no %s %s: %s", what, word, decide.Hint(word, there, "choose one of "+strings.Join(decide.Limit(there, 9), ", ")))
}
