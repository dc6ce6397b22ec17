package decide

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/variform/variform/api/config/v1alpha1"
	variformv1alpha1 "github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/internal/depend"
	"github.com/variform/variform/internal/lifecycle"
	"github.com/variform/variform/resolver"
)

// The values that tests decide about: the package "web" of Repository c1, which
// keeps its packages in the folder apps.

const (
	fleet    = Manager("fleet")
	webOwner = "fleet/default/web"
	webPath  = "apps/web"
)

// errText compares errors by what they say.
var errText = cmp.Comparer(func(a, b error) bool { return fmt.Sprint(a) == fmt.Sprint(b) })

// unseen leaves out what only this package sees of a Ruling.
var unseen = cmpopts.IgnoreUnexported(Ruling{})

type change func(*Revision)

func by(owner string) change      { return func(r *Revision) { r.Owner = owner } }
func since(name string) change    { return func(r *Revision) { r.Since = name } }
func parents(list ...Hash) change { return func(r *Revision) { r.Parents = list } }
func recorded(in Inputs) change   { return func(r *Revision) { r.Inputs = in } }

// edited says that a person committed on top of the machine's commit.
func edited(r *Revision) { r.Machine.Commit = Hash{200} }

func revision(ref string, n int, commit byte, phase lifecycle.Phase, changes []change) *Revision {
	r := &Revision{
		Ref: Ref{Name: ref, Hash: Hash{commit}, Commit: Hash{commit}}, Workspace: workspace(n), Phase: phase, Owner: webOwner,
		Machine: &Machine{Commit: Hash{commit}, Ours: true, Variant: webOwner},
	}
	for _, c := range changes {
		c(r)
	}
	return r
}

func workspace(n int) string { return fmt.Sprint("packagevariant-", n) }

func draftOf(n int, commit byte, changes ...change) *Revision {
	return revision(lifecycle.DraftRef(webPath, workspace(n)), n, commit, lifecycle.Draft, changes)
}

func proposedOf(n int, commit byte, changes ...change) *Revision {
	return revision(lifecycle.ProposedRef(webPath, workspace(n)), n, commit, lifecycle.Proposed, changes)
}

func publishedOf(n int, commit byte, changes ...change) *Revision {
	return revision(lifecycle.PublishedRef(webPath, n), n, commit, lifecycle.Published, append([]change{func(r *Revision) { r.Number = n }}, changes...))
}

// doomedOf is a Published revision whose deletion is proposed.
func doomedOf(n int, commit byte, changes ...change) *Revision {
	r := publishedOf(n, commit, changes...)
	r.Phase = lifecycle.DeletionProposed
	return r
}

func tag(n int, commit byte) Published {
	return Published{Number: n, Ref: Ref{Name: lifecycle.PublishedRef(webPath, n), Hash: Hash{commit, 1}, Commit: Hash{commit}}}
}

func doomedTag(n int, commit byte) Published {
	t := tag(n, commit)
	t.Deletion = Ref{Name: lifecycle.DeletionRef(webPath, n), Hash: Hash{commit}, Commit: Hash{commit}}
	return t
}

func tags(list ...Published) []Published { return list }

func webPackage(tags []Published, revisions ...*Revision) *Package {
	return NewPackage(webPath, tags, revisions...)
}

// repository is Repository c1 with packages.
func repository(packages ...*Package) *Repository {
	r := &Repository{
		Namespace: "default", Name: "c1", Address: "https://git/c1", Git: "https://git/c1", Dir: "apps", Branch: "main",
		Head: Hash{100}, Packages: map[string]*Package{}, Wanted: map[string]bool{},
	}
	for _, p := range packages {
		r.Packages[p.Path] = p
	}
	return r
}

// wanted is a variant of the catalogue's web.
func wanted(changes ...func(*v1alpha1.PackageVariant)) *Want {
	pv := &v1alpha1.PackageVariant{}
	pv.Namespace, pv.Name = "default", "web"
	pv.Spec.Upstream = &v1alpha1.Upstream{Repo: "catalog", Package: "web", Revision: "v1"}
	pv.Spec.Downstream = &v1alpha1.Downstream{Repo: "c1", Package: "web"}
	for _, c := range changes {
		c(pv)
	}
	return &Want{Identity: Identity{"default", "c1", "web"}, Name: "web", Ref: "web", Content: &Variant{pv}}
}

// webLock is a lock of c1 that is wanted, and the locks that are there.
func webLock(now resolver.Lock, newest, placed *resolver.Lock) *Want {
	content := &Lock{Document: &variformv1alpha1.PackageLock{Spec: now}, Newest: newest, Placed: placed}
	return &Want{Identity: Identity{"default", "c1", depend.LockPackage}, Name: "lock-c1", Ref: depend.LockPackage, Content: content}
}

// lockOf locks packages by name and version: "web", "1.0.0", ….
func lockOf(pairs ...string) resolver.Lock {
	var l resolver.Lock
	for p := range slices.Chunk(pairs, 2) {
		l.Packages = append(l.Packages, resolver.LockedPackage{Name: p[0], Version: p[1], Why: "asked for"})
	}
	return l
}

func adopting(pv *v1alpha1.PackageVariant) { pv.Spec.AdoptionPolicy = v1alpha1.AdoptExisting }

// saying checks that an error says something; "" wants none.
func saying(err error, text string) string {
	switch {
	case err == nil && text == "":
		return ""
	case err == nil:
		return "no error, want one that says: " + text
	case text == "" || !strings.Contains(err.Error(), text):
		return fmt.Sprintf("error %q, want %q", err, text)
	}
	return ""
}
