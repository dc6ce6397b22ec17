package decide

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/variform/variform/internal/lifecycle"
	"github.com/variform/variform/internal/record"
)

// Hash names a Git object; the zero Hash names none.
type Hash [20]byte

// IsZero reports whether the Hash names nothing.
func (h Hash) IsZero() bool { return h == Hash{} }

// String is the name in hexadecimal digits.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// ParseHash reads a name of 40 digits; anything else gives the zero Hash.
func ParseHash(s string) (h Hash) {
	if b, err := hex.DecodeString(s); err == nil && len(b) == len(h) {
		copy(h[:], b)
	}
	return h
}

// Identity names a wanted package: not by its variant's name but by what is made.
type Identity struct {
	Namespace  string
	Repository string
	Package    string
}

// String is repository/package, the way people name a variant.
func (i Identity) String() string { return i.Repository + "/" + i.Package }

// Compare orders identities by namespace, repository and package.
func (i Identity) Compare(o Identity) int {
	return cmp.Or(cmp.Compare(i.Namespace, o.Namespace), cmp.Compare(i.Repository, o.Repository), cmp.Compare(i.Package, o.Package))
}

// Place is a folder or a ref of a Git repository, however many Repository
// objects show it. Git is the repository's address.
type Place struct{ Git, Name string }

// Ref is a Git ref: what it points at, and the commit behind an annotated tag.
type Ref struct {
	Name         string // full, "refs/heads/…"
	Hash, Commit Hash
}

// Short is the ref's name without refs/heads/.
func (r Ref) Short() string { return strings.TrimPrefix(r.Name, "refs/heads/") }

// Machine is the newest commit that Variform made for a package, below the tip
// of one of its revisions.
type Machine struct {
	Commit  Hash
	Parents []Hash
	// Ours says that Variform itself is the committer: amend, squash and rebase
	// by a person keep the message, and with it the trailers.
	Ours bool
	// Variant, Inputs and Review are the trailers as they stand in the message.
	Variant, Inputs, Review string
	// Hydrated is the tree of what the machine made, before the edits that the
	// commit holds; zero where the commit does not say.
	Hydrated Hash
	// Reverts is the trailer that says what it sets the package back to, Unproved that of an
	// approval that says why it was not built, and Exempt that of one that exempts it from checks. Invalid is
	// that of a Draft that Kubernetes would refuse.
	Reverts, Unproved, Exempt, Invalid string
	// Approval reports that the commit is an approval on the registered branch. Anybody who
	// may push a Draft, or the record, can write all other commits and trailers.
	Approval bool
}

// Revision is one revision of a package: an open one, or the latest Published.
type Revision struct {
	Ref       Ref
	Workspace string
	// Called is the workspace that the commits of an open one name: another one where a
	// person gave its branch another name. It is what commits say of it once it is merged.
	Called string
	Number int // N of vN; 0 for an open one
	Phase  lifecycle.Phase
	Owner  string // who signed it, "" for nobody
	Inputs Inputs // as recorded in Machine
	// Since names the Published revision that an open one started from, "" for
	// none: what Machine was built on, or what Machine itself published.
	Since   string
	Parents []Hash    // of the tip
	When    time.Time // of the tip's committer
	By      string    // the tip's author
	// Approved reports that the tip is the commit of an approval, of a Published one.
	Approved bool
	// Newest is the newest revision that its own commit or one behind says was Published;
	// zero where none was found before Machine, which names what it was made from.
	Newest  Numbered
	Machine *Machine // nil: none found
}

// Named reports whether an open revision is of a workspace, whatever name a person gave its
// branch.
func (r *Revision) Named(workspace string) bool {
	return workspace != "" && (r.Workspace == workspace || r.Called == workspace)
}

// Edited says that a revision, of which tree is the package's folder, holds edits by
// hand; false where what the machine made is not known.
func (r *Revision) Edited(tree Hash) bool {
	return r.Machine != nil && !r.Machine.Hydrated.IsZero() && r.Machine.Hydrated != tree
}

// PublishedEdited says that the latest Published revision holds edits by hand, as the
// record tells it: its folder may be in a commit that nothing else asks for.
func (p *Package) PublishedEdited() bool {
	return p.Latest != nil && slices.ContainsFunc(p.Entries, func(e record.Entry) bool {
		return e.Place == record.Main && p.Latest.Edited(ParseHash(e.Tree)) && p.Latest.Machine.Hydrated == ParseHash(e.Hydrated)
	})
}

// Merged is the machine's commit that an entry is about, as the record tells it of one
// that others merged; m where it does not tell, or m is that.
func (m *Machine) Merged(e record.Entry) *Machine {
	in := ParseInputs(e.Inputs)
	if in.Upstream == "" || m != nil && ParseInputs(m.Inputs) == in {
		return m
	}
	var now Machine
	if m != nil {
		now = *m
	}
	now.Inputs, now.Hydrated, now.Reverts, now.Review = e.Inputs, ParseHash(e.Hydrated), e.Reverts, ""
	now.Approval = false
	return &now
}

// squashed takes over what the record says of a Published revision whose own commit
// is none of the machine's.
func (r *Revision) squashed(e record.Entry) {
	if m := r.Machine; m != nil && m.Commit == r.Ref.Commit {
		return
	}
	if r.Machine = r.Machine.Merged(e); r.Machine != nil {
		r.Inputs = ParseInputs(r.Machine.Inputs)
	}
}

// Was is the workspace that a Published revision was drafted in. Of an owned one
// that a forge squashed no commit tells: it is then the one that its number makes
// likely, so that this is not used again.
func (r *Revision) Was() string {
	if r.Workspace == "" && r.Owner != "" {
		return lifecycle.WorkspacePrefix + strconv.Itoa(r.Number)
	}
	return r.Workspace
}

// PorchName is Porch's name of the revision of a package: by its workspace, of a
// Published one that no commit says that of by its number.
func (r *Revision) PorchName(repo, pkg string) string {
	return PorchName(repo, pkg, cmp.Or(r.Workspace, RevisionName(r.Number)))
}

// NeedsReview reports whether the revision holds what only a person may publish:
// edits by hand, or a build that says so.
func (r *Revision) NeedsReview() bool {
	return r.byHand() || r.Machine.Review != ""
}

// byHand says that a person committed since the machine did.
func (r *Revision) byHand() bool { return !r.Made() }

// Made says that a revision is the machine's own commit: nobody added or amended one.
func (r *Revision) Made() bool {
	return r.Machine != nil && r.Machine.Commit == r.Ref.Commit && !r.Amended()
}

// reviewNeeded begins the trailer of a commit that only a person may publish.
const reviewNeeded = "needed"

// Attention is what the machine's commit says that a person is to see first.
func (r *Revision) Attention() []string {
	if r.Machine == nil {
		return nil
	}
	words := strings.Split(r.Machine.Review, "; ")
	return words[1:]
}

// Amended reports whether a person made the commit anew that Variform made.
func (r *Revision) Amended() bool { return r.Machine != nil && r.Number == 0 && !r.Machine.Ours }

// Describe names a revision for people: "Draft packagevariant-1", "Published v2".
func (r *Revision) Describe() string {
	return strings.TrimSpace(string(r.Phase) + " " + cmp.Or(RevisionName(r.Number), r.Workspace))
}

// Published is a Published revision as its tag tells it.
type Published struct {
	Number   int
	Ref      Ref
	Deletion Ref // the branch that proposes its deletion; zero for none
}

// DeletionProposed reports whether the deletion of the revision is proposed.
func (t Published) DeletionProposed() bool { return t.Deletion.Name != "" }

// Package is what a repository holds of one package. Read only once made.
type Package struct {
	Path string
	// Revisions are the open ones and the latest Published, by ref; those of
	// Surplus are left out.
	Revisions []*Revision
	// Surplus are Drafts that are no revisions any more: see isSurplus.
	Surplus []*Revision
	Latest  *Revision   // highest Published, also where its deletion is proposed; nil for none
	Tags    []Published // all Published revisions, ascending
	// Trees are the package's folder at commits where it is known, each once. See Tree.
	Trees []Folder
	// Branch is what the registered branch holds, where that was looked at and is
	// not the latest Published revision; nil else.
	Branch *Branch
	// Reformatted reports that the registered branch holds Latest in another layout. That
	// is no edit, and an update keeps it.
	Reformatted bool
	// Rollout is the name of the Rollout that publishes the open Draft, "" for none: until then
	// no run changes the Draft, and no approval publishes it.
	Rollout string
	// Numbers are the commits of the registered branch, as far as it was looked at, that
	// published a revision whose tag is missing. Lost is the newest of these revisions
	// where it is newer than all tags, nil else.
	Numbers []Numbered
	Lost    *Revision
	// tagged says that this run makes the tag of Latest, traced that Trace found what
	// it was made from.
	tagged, traced bool
	// retouched reports that another tool changed what it published of a Draft.
	retouched bool
	// Entries are what this manager's record says of it; Shared: read only.
	Entries []record.Entry
	// Others are the records of others, for what people said there: of the package,
	// whoever manages it. Shared: read only.
	Others []*record.Record
}

// Folder is a package's folder at a commit; the zero Tree stands for no folder.
type Folder struct{ Commit, Tree Hash }

// Branch is what the registered branch holds of a package by other hands than an
// approval's.
type Branch struct {
	Tree Hash // zero where the package is not there
	// Came is the oldest commit of the branch's present unbroken run of that tree,
	// By its author and ID for people.
	Came Hash
	By   string
	// Rewritten says that the latest Published revision stood on the branch and is
	// in its history no more: who did that, no commit tells.
	Rewritten bool
	// Owner is who the package's Kptfile says that it belongs to.
	Owner string
	// Drafted says that a Draft was merged: the tree holds what Drafts alone
	// change. Workspace is the Draft's, where that is known, Merged the machine's
	// commit that it ended in.
	Drafted   bool
	Workspace string
	Merged    *Machine
	// Landed is, where that is known to be another one than Came, the commit at
	// which a Draft came, LandedTree the package there and Draft the open revision
	// that is left of it, nil where that went on.
	Landed, LandedTree Hash
	Draft              *Revision
	// Reverted is the earlier Published revision that the tree is that of, nil
	// for most.
	Reverted *Revision
	// Now are the folders below the Repository's to which people moved the package, where
	// it is not in its own.
	Now []string
}

// Given says that a person gave up, or away, in its Kptfile on the registered
// branch, what is Published of a package.
func (p *Package) Given(m Manager, namespace string) bool {
	b := p.Branch
	return p.Latest != nil && b.Moved() && m.Signed(p.Latest.Owner, namespace) && !m.Signed(b.Owner, namespace)
}

// Received says that a person gave a package that another manager Published to this
// one, in its Kptfile on the registered branch.
func (p *Package) Received(m Manager, namespace string) bool {
	b := p.Branch
	return p.Latest != nil && b.Moved() && !m.Signed(p.Latest.Owner, namespace) && m.Signed(b.Owner, namespace)
}

// deleted is Inputs.Main of a package that is not on the branch any more.
const deleted = "deleted"

// Main is Inputs.Main of a package on a branch.
func (b *Branch) Main() string {
	switch {
	case b == nil:
		return ""
	case b.Tree.IsZero():
		return deleted
	}
	return b.Tree.String()[:part]
}

// Deleted says that a branch which is looked at has the package no more.
func (b *Branch) Deleted() bool { return b.Main() == deleted }

// NewPackage sorts a package's revisions out.
func NewPackage(path string, tags []Published, revisions ...*Revision) *Package {
	p := &Package{Path: path, Tags: tags}
	list := slices.Clone(revisions)
	slices.SortFunc(list, func(a, b *Revision) int { return cmp.Compare(a.Ref.Name, b.Ref.Name) })
	for _, r := range list {
		if r.Number > 0 && (p.Latest == nil || p.Latest.Number < r.Number) {
			p.Latest = r
		}
		if isSurplus(r, list) {
			p.Surplus = append(p.Surplus, r)
		} else {
			p.Revisions = append(p.Revisions, r)
		}
	}
	return p
}

// A new Draft's push is conditional on its branch not being there: Git can make
// a push conditional only on the refs that it moves. Since the refs were read
// another run may have made the same Draft, and someone proposed or published it,
// which takes the branch away again; then the push goes through, and the
// workspace is there twice. What a run made so is withdrawn at once; what a run
// made that died there is surplus to the next one.

// isSurplus reports whether all of a Draft stands in a revision that its
// workspace became meanwhile.
func isSurplus(r *Revision, all []*Revision) bool {
	if r.Phase != lifecycle.Draft {
		return false
	}
	for _, o := range all {
		if o == r || o.Workspace != r.Workspace {
			continue
		}
		switch {
		case o.Phase == lifecycle.Proposed && (o.Ref.Commit == r.Ref.Commit || o.Machine != nil && o.Machine.Commit == r.Ref.Commit),
			o.Number > 0 && slices.Contains(o.Parents, r.Ref.Commit):
			return true
		}
	}
	return false
}

// Spent reports whether an open revision's workspace is Published already: a
// workspace is one revision, so that what stands there goes on in another.
func (p *Package) Spent(r *Revision) bool {
	return r != nil && r.Number == 0 && p.Latest != nil && r.Named(p.Latest.Workspace)
}

// Heads are all revisions, those of Surplus among them.
func (p *Package) Heads() []*Revision { return slices.Concat(p.Revisions, p.Surplus) }

// Gone is the highest revision whose deletion was approved, as any manager's record
// has it.
func (p *Package) Gone() (gone record.Entry) {
	look := func(entries []record.Entry) {
		for _, e := range entries {
			if e.Place == record.Gone && e.Revision > gone.Revision {
				gone = e
			}
		}
	}
	look(p.Entries)
	for _, rec := range p.Others {
		look(rec.Package(p.Path))
	}
	return gone
}

// open are the open revisions, the newest first: by the numbers of workspaces,
// which their names do not sort by.
func (p *Package) open() []*Revision {
	out := slices.DeleteFunc(slices.Clone(p.Revisions), func(r *Revision) bool { return !r.Phase.Open() })
	slices.Reverse(out)
	slices.SortStableFunc(out, func(a, b *Revision) int {
		return cmp.Compare(lifecycle.WorkspaceNumber(b.Workspace), lifecycle.WorkspaceNumber(a.Workspace))
	})
	return out
}

// Open is the newest open revision, nil for none.
func (p *Package) Open() *Revision {
	for _, r := range p.open() {
		return r
	}
	return nil
}

// OpenOrLatest is the open revision, or what was Published last where there is none; nil
// for neither.
func (p *Package) OpenOrLatest() *Revision { return cmp.Or(p.Open(), p.Latest) }

// Tagged is the Published revision of a name such as v2; nil where there is
// none, or none was named.
func (p *Package) Tagged(name string) *Published {
	for i := range p.Tags {
		if RevisionName(p.Tags[i].Number) == name {
			return &p.Tags[i]
		}
	}
	return nil
}

// published is Tagged, by the record where the tag has gone.
func (p *Package) published(name string) *Published {
	if t := p.Tagged(name); t != nil {
		return t
	}
	for _, e := range p.Entries {
		if e.Place == record.Past && RevisionName(e.Revision) == name {
			return &Published{Number: e.Revision, Ref: Ref{Name: lifecycle.PublishedRef(p.Path, e.Revision), Commit: ParseHash(e.Commit)}}
		}
	}
	return nil
}

// RecordedTree is what the record says that a revision holds, open or Published.
func (p *Package) RecordedTree(at *Revision) (tree Hash, known bool) {
	place := record.Past
	if at.Phase.Open() {
		place = record.Open
	}
	for _, e := range p.Entries {
		if e.Place == place && e.Revision == at.Number && e.Commit == at.Ref.Commit.String() && e.Tree != "" {
			return ParseHash(e.Tree), true
		}
	}
	return Hash{}, false
}

// Earlier are the Published revisions before the latest, the newest of them first,
// that may hold a tree: what the last ones held the record knows, and of one that it
// does not know the tag tells. No more than most are returned.
func (p *Package) Earlier(tree Hash, most int) (out []Published) {
	past := map[int]record.Entry{}
	for _, e := range p.Entries {
		if e.Place == record.Past && p.Latest != nil && e.Revision < p.Latest.Number {
			past[e.Revision] = e
		}
	}
	known := func(n int) bool { return past[n].Tree != "" }
	for _, t := range p.Tags {
		if p.Latest != nil && t.Number < p.Latest.Number && !known(t.Number) {
			out = append(out, t)
		}
	}
	for n, e := range past {
		if e.Tree != tree.String() {
			continue
		}
		out = append(out, *p.published(RevisionName(n)))
	}
	slices.SortFunc(out, func(a, b Published) int { return cmp.Compare(b.Number, a.Number) })
	return out[:min(len(out), most)]
}

// Newest is the latest Published revision as its tag tells it; nil for none.
func (p *Package) Newest() *Published {
	if n := len(p.Tags); n > 0 {
		return &p.Tags[n-1]
	}
	return nil
}

// IsPublished says whether a revision is Published and meant to stay.
func (p *Package) IsPublished() bool {
	return p.Latest != nil && p.Latest.Phase != lifecycle.DeletionProposed
}

// NewestOwner is the owner of the package's newest open revision that has one,
// or of the latest Published one.
func (p *Package) NewestOwner() string {
	for _, r := range p.open() {
		if r.Owner != "" {
			return r.Owner
		}
	}
	if p.Latest != nil {
		return p.Latest.Owner
	}
	return ""
}

// Tree is the package's folder at a commit, zero where the commit has none.
// That the commit was not looked at is an error of whoever asks: known is false.
func (p *Package) Tree(commit Hash) (tree Hash, known bool) {
	if commit.IsZero() {
		return Hash{}, true
	}
	for _, f := range p.Trees {
		if f.Commit == commit {
			return f.Tree, true
		}
	}
	return Hash{}, false
}

// Learn notes the package's folder at a commit.
func (p *Package) Learn(commit, tree Hash) {
	for n := range p.Trees {
		if p.Trees[n].Commit == commit {
			p.Trees[n].Tree = tree
			return
		}
	}
	p.Trees = append(p.Trees, Folder{commit, tree}) // they are few: a map would take ten times as much
}

// Deletions are the Published revisions whose deletion is proposed.
func (p *Package) Deletions() []Published {
	return slices.DeleteFunc(slices.Clone(p.Tags), func(t Published) bool { return !t.DeletionProposed() })
}

// RevisionName is vN, "" for what is not Published.
func RevisionName(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf("v%d", n)
}

// PorchName is Porch's name of a package revision.
func PorchName(repo, pkg, workspace string) string {
	return repo + "." + strings.ReplaceAll(pkg, "/", ".") + "." + workspace
}

// Downstream is one downstream revision as a PackageVariant's status names it.
type Downstream struct {
	Workspace string
	Phase     lifecycle.Phase
}

// Downstreams are the revisions that status names: the open ones, or the latest
// Published where there is none (Porch's PackageVariant design, "PackageVariant
// Status").
func (p *Package) Downstreams(owned func(*Revision) bool) []Downstream {
	var out []Downstream
	for _, r := range p.Revisions {
		if r.Phase.Open() && owned(r) {
			out = append(out, Downstream{r.Workspace, r.Phase})
		}
	}
	if len(out) == 0 && p.Latest != nil && owned(p.Latest) {
		out = append(out, Downstream{cmp.Or(p.Latest.Workspace, RevisionName(p.Latest.Number)), p.Latest.Phase})
	}
	return out
}

// Manager signs the packages of one management root, so that they are told
// from another's.
type Manager string

// Sign is how a variant signs what it owns.
func (m Manager) Sign(namespace, name string) string { return string(m) + "/" + namespace + "/" + name }

// Signed reports whether an owner is a variant of this manager and namespace. A
// package's owner may have another name than the variant that makes it now: a
// variant is identified by what it makes.
func (m Manager) Signed(owner, namespace string) bool {
	return strings.HasPrefix(owner, string(m)+"/"+namespace+"/")
}

// OwnerName is the last part of a signature: the variant's name.
func OwnerName(owner string) string { return owner[strings.LastIndex(owner, "/")+1:] }

// At is the revision at a ref, nil for none.
func (p *Package) At(ref string) *Revision {
	for _, r := range p.Heads() {
		if r.Ref.Name == ref {
			return r
		}
	}
	return nil
}
