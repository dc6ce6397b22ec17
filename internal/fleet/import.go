package fleet

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/variform/variform/api"
	"github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/api/config/v1alpha2"
	"github.com/variform/variform/internal/gitrepo"
	"github.com/variform/variform/internal/krm"
)

// Imported are the folders that variform import reads.
type Imported struct {
	// Repository is where they are.
	Repository *v1alpha1.Repository
	// Pattern is what they match in it.
	Pattern string
	Folders []ImportedFolder
}

// ImportedFolder is one folder, by its path in the repository. Err is why it could not be
// read.
type ImportedFolder struct {
	Path  string
	Files []krm.File
	Err   error
}

// ReadImport reads the folders that an address means, a glob in Git (URL//glob@branch) or
// of local folders (DIR//glob, or a glob), which read reads.
func ReadImport(ctx context.Context, store *gitrepo.Store, address string, read func(dir string) ([]krm.File, error)) (*Imported, error) {
	base, pattern, two := strings.Cut(address, "//")
	if info, err := os.Stat(base); two && err == nil && info.IsDir() && !isBareRepository(base) {
		return readFolders(filepath.Join(base, filepath.FromSlash(pattern)), read)
	}
	if !two && !strings.Contains(address, "@") {
		return readFolders(address, read)
	}
	c, err := readAddress(ctx, store, metav1.ObjectMeta{}, address, true)
	if err != nil {
		return nil, err
	}
	in := &Imported{Repository: c.Repository, Pattern: c.Repository.Spec.Git.Directory}
	if root, ok, err := c.repo.TreeAt(ctx, c.commit, ""); err != nil || !ok {
		return in, err
	} else if in.Folders, err = foldersAt(ctx, c.repo, root, "", strings.Split(in.Pattern, "/")); err != nil {
		return nil, err
	}
	return in, nil
}

func isBareRepository(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "HEAD"))
	return err == nil
}

// foldersAt reads the folders of a tree that match a pattern.
func foldersAt(ctx context.Context, repo *gitrepo.Repo, tree gitrepo.Hash, at string, glob []string) (out []ImportedFolder, err error) {
	if len(glob) == 0 {
		files, err := repo.ReadFiles(ctx, tree)
		return []ImportedFolder{{Path: at, Files: files, Err: err}}, ctx.Err()
	}
	entries, err := repo.Entries(tree)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		ok, err := path.Match(glob[0], e.Name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", glob[0], err)
		}
		if ok && e.Dir {
			below, err := foldersAt(ctx, repo, e.Hash, path.Join(at, e.Name), glob[1:])
			if err != nil {
				return nil, err
			}
			out = append(out, below...)
		}
	}
	return out, nil
}

// readFolders reads folders of a work tree.
func readFolders(glob string, read func(dir string) ([]krm.File, error)) (*Imported, error) {
	dirs, err := filepath.Glob(glob)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", glob, err)
	}
	dirs = slices.DeleteFunc(dirs, func(dir string) bool {
		info, err := os.Stat(dir)
		return err != nil || !info.IsDir()
	})
	if len(dirs) == 0 {
		return &Imported{}, nil
	}
	root, branch := workTree(filepath.Dir(dirs[0]))
	if root == "" {
		return nil, fmt.Errorf("%s is in no Git repository, where Variform could adopt it: run git init and commit the folders, or give a Git address", dirs[0])
	}
	url, _ := gitrepo.CloneOf(root)
	in := &Imported{Repository: newRepository("", &v1alpha1.GitRepository{Repo: cmp.Or(url, root), Branch: branch}, true)}
	if in.Pattern, err = below(root, glob); err != nil {
		return nil, err
	}
	for _, dir := range dirs {
		f := ImportedFolder{}
		if f.Path, err = below(root, dir); err != nil {
			return nil, err
		}
		if info, err := os.Lstat(dir); err != nil || info.Mode()&fs.ModeSymlink != 0 {
			f.Err = errors.New("it is a symbolic link")
		} else {
			f.Files, f.Err = read(dir)
		}
		in.Folders = append(in.Folders, f)
	}
	return in, nil
}

// below is a path in a folder, with slashes.
func below(root, name string) (string, error) {
	abs, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	if root, err = filepath.Abs(root); err != nil {
		return "", err
	}
	rel, err := filepath.Rel(root, abs)
	return filepath.ToSlash(rel), err
}

// workTree is the root of the Git work tree that a folder is in, and its branch.
func workTree(dir string) (root, branch string) {
	for root = dir; ; root = filepath.Join(root, "..") {
		if data, err := os.ReadFile(filepath.Join(root, ".git", "HEAD")); err == nil {
			branch, _ = strings.CutPrefix(strings.TrimSpace(string(data)), "ref: refs/heads/")
			return root, branch
		}
		if abs, err := filepath.Abs(root); err != nil || abs == filepath.Dir(abs) {
			return "", ""
		}
	}
}

func newRepository(name string, git *v1alpha1.GitRepository, deployment bool) *v1alpha1.Repository {
	return &v1alpha1.Repository{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.APIVersion, Kind: v1alpha1.KindRepository},
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       v1alpha1.RepositorySpec{Deployment: deployment, Type: v1alpha1.RepositoryGit, Git: git},
	}
}

// ImportedTo are the places that an imported package goes to.
type ImportedTo struct {
	Catalog, Source *v1alpha1.Repository
	Fleet           string // its name, "" where its Kptfile exists
	APIVersion      string // of objects
}

// file is that of Repositories: a fleet that exists has one of its own.
func (to ImportedTo) file() string {
	if to.Fleet != "" {
		return repositoriesFile
	}
	return "repositories-" + to.Source.Name + ".yaml"
}

// ImportedPackage is one that was found.
type ImportedPackage struct {
	Name, Kind string     // Kind is that of its objects
	Objects    []krm.File // by name, without folder
	// PackageExpr computes a variant's folder from its object.
	PackageExpr string
}

// Files returns the files that describe imported packages in a fleet: a set for each, its
// objects, and Repositories.
func (to ImportedTo) Files(packages []ImportedPackage, repositories ...*v1alpha1.Repository) (out []krm.File, err error) {
	if to.Fleet != "" {
		kptfile, err := api.Encode(newKptfile(to.Fleet))
		if err != nil {
			return nil, err
		}
		out = append(out, krm.File{Path: kptfilev1.KptFileName, Data: kptfile})
	}
	var repos []byte
	for _, r := range repositories {
		text, err := Document(r)
		if err != nil {
			return nil, fmt.Errorf("Repository %s: %w", r.Name, err)
		}
		repos = append(repos, text...)
	}
	if len(repos) > 0 {
		out = append(out, krm.File{Path: to.file(), Data: bytes.TrimPrefix(repos, []byte("---\n"))})
	}
	for _, p := range packages {
		set, err := Document(to.set(p))
		if err != nil {
			return nil, fmt.Errorf("PackageVariantSet %s: %w", p.Name, err)
		}
		name := nameFrom(p.Name)
		out = append(out, krm.File{Path: name + ".yaml", Data: bytes.TrimPrefix(set, []byte("---\n"))})
		for _, o := range p.Objects {
			out = append(out, krm.File{Path: path.Join("config", name, o.Path), Data: o.Data})
		}
	}
	return out, nil
}

func (to ImportedTo) set(p ImportedPackage) *v1alpha2.PackageVariantSet {
	adopt, name := v1alpha1.AdoptExisting, "target.name"
	return &v1alpha2.PackageVariantSet{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha2.APIVersion, Kind: v1alpha2.KindPackageVariantSet},
		ObjectMeta: metav1.ObjectMeta{Name: nameFrom(p.Name)},
		Spec: v1alpha2.PackageVariantSetSpec{
			Upstream: &v1alpha1.Upstream{Repo: to.Catalog.Name, Package: p.Name, WorkspaceName: "v1"},
			Targets: []v1alpha2.Target{{
				ObjectSelector: &v1alpha2.ObjectSelector{APIVersion: to.APIVersion, Kind: p.Kind},
				Template: &v1alpha2.PackageVariantTemplate{
					AdoptionPolicy: &adopt,
					Downstream:     &v1alpha2.DownstreamTemplate{Repo: &to.Source.Name, PackageExpr: &p.PackageExpr},
					Injectors:      []v1alpha2.InjectionSelectorTemplate{{Kind: &p.Kind, NameExpr: &name}},
				},
			}},
		},
	}
}

// CatalogFor is the Repository of a folder that gets packages.
func CatalogFor(dir string) (*v1alpha1.Repository, error) {
	root, branch := workTree(dir)
	if root == "" {
		return newRepository(catalogName, &v1alpha1.GitRepository{Repo: dir, Branch: "main"}, false), nil
	}
	url, _ := gitrepo.CloneOf(root)
	in, err := below(root, dir)
	if in == "." {
		in = ""
	}
	return newRepository(catalogName, &v1alpha1.GitRepository{Repo: cmp.Or(url, root), Branch: branch, Directory: in}, false), err
}

// KnownRepository names r as the fleet's Repository of the same place, and reports whether
// there is one.
func KnownRepository(have []*v1alpha1.Repository, r *v1alpha1.Repository, name string) (same bool) {
	taken := map[string]bool{}
	for _, h := range have {
		taken[h.Name] = true
		if g, w := h.Spec.Git, r.Spec.Git; g != nil && gitrepo.Key(g.Repo) == gitrepo.Key(w.Repo) && g.Branch == w.Branch && g.Directory == w.Directory {
			r.Name = h.Name
			return true
		}
	}
	r.Name = cmp.Or(nameFrom(name), "source")
	for base, n := r.Name, 2; taken[r.Name]; n++ {
		r.Name = fmt.Sprintf("%s-%d", base, n)
	}
	return false
}

// WriteAll writes new files of several folders, all or none. A file that exists must
// have the same bytes; it returns how many were missing.
func WriteAll(files []krm.File) (written int, err error) {
	var missing []krm.File
	for _, f := range files {
		switch data, err := os.ReadFile(f.Path); {
		case errors.Is(err, fs.ErrNotExist):
			missing = append(missing, f)
		case err != nil:
			return 0, err
		case !bytes.Equal(data, f.Data):
			return 0, fmt.Errorf("%s exists with another content: import overwrites nothing; remove it, or name another place", f.Path)
		}
	}
	return len(missing), WriteNew("", missing)
}
