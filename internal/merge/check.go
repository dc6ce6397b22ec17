package merge

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/yamltree"
)

// ErrNotFollowed is what a NotFollowedError is.
var ErrNotFollowed = errors.New("the merge did not follow upstream where nobody edited")

var errGone = errors.New("the merge took away what stands there, and what it was made from is a guess")

// NotFollowedError says that a merged package lacks changes of upstream to
// files that local left alone. The merge itself is wrong then, and its result
// is not to be used.
type NotFollowedError struct {
	Paths []string // sorted
	Gone  bool     // base is a guess, and something went that local has
}

// Error lists the files and says what to do.
func (e *NotFollowedError) Error() string {
	what := ErrNotFollowed
	if e.Gone {
		what = errGone
	}
	return fmt.Sprintf("%v: %s; this is a defect of variform: report it, and use the update strategy %s until it is mended",
		what, strings.Join(e.Paths, ", "), kptfilev1.ForceDeleteReplace)
}

// Is makes errors.Is(err, ErrNotFollowed) true.
func (e *NotFollowedError) Is(target error) bool { return target == ErrNotFollowed }

// check compares a merged package with the three that it was made of: a file
// that upstream changed and nobody edited is as upstream has it, and in a file
// that local edited so is, comments included, each resource that it left alone. It decides
// nothing and knows nothing of how the package was merged, so that a rule of the
// merge that skips too much is an error and no silence. Not looked at are
// subpackages that follow an upstream of their own, those that upstream
// deleted and local edited, and resources that local edited, moved or deleted.
func (m *merger) check() error {
	if m.o.Guess {
		return m.checkStands()
	}
	var behind []string
	out := byPath(m.out)
	var edited map[krm.ID]bool
	for p := range m.paths() {
		c := m.change(p)
		follows := m.followsBut
		switch {
		case sameFile(c.b, c.u) || m.follows(c) || m.exempt(c):
			continue
		case c.bothChanged() && isResources(p):
			follows = m.followsUnedited
		case !sameFile(c.b, c.l):
			continue
		}
		if edited == nil {
			edited = m.edited()
		}
		if !follows(c, out[p], edited) {
			behind = append(behind, p)
		}
	}
	if len(behind) == 0 {
		return nil
	}
	slices.Sort(behind)
	return &NotFollowedError{Paths: behind}
}

// checkStands holds that nothing went of what local has, where base is a guess.
func (m *merger) checkStands() error {
	there := map[krm.ID]bool{}
	for _, r := range m.out.Resources() {
		there[loose(identity(r))], there[loose(r.ID())] = true, true
	}
	var gone []string
	for p := range m.l.files {
		if _, ok := m.out.Read(p); !ok && len(m.l.docs[p]) == 0 || slices.ContainsFunc(m.l.docs[p], func(r *krm.Resource) bool { return !there[loose(identity(r))] }) {
			gone = append(gone, p)
		}
	}
	if len(gone) == 0 {
		return nil
	}
	slices.Sort(gone)
	return &NotFollowedError{Paths: gone, Gone: true}
}

// paths are the files of the inputs.
func (m *merger) paths() map[string]bool {
	all := map[string]bool{}
	for _, v := range []*version{m.b, m.u, m.l} {
		for p := range v.files {
			all[p] = true
		}
	}
	return all
}

// follows says whether the merged package has a file as upstream has it.
func (m *merger) follows(c change) bool {
	if path.Base(c.path) == kptfilev1.KptFileName {
		if is, theirs := m.out.Kptfile(path.Dir(c.path)), m.u.kptfile(path.Dir(c.path)); is != nil && theirs != nil {
			return followsKptfile(ynode(is), ynode(theirs), c.path != kptfilev1.KptFileName)
		}
	}
	is, ok := m.out.Read(c.path)
	if !ok {
		return c.u == nil
	}
	return sameFile(&is, c.u)
}

// followsKptfile leaves out what a Kptfile does not take from its upstream.
func followsKptfile(is, theirs *yaml.Node, subpackage bool) bool {
	if subpackage && !equal(yamltree.Child(is, "upstream"), yamltree.Child(theirs, "upstream")) {
		return false
	}
	return equal(inherited(is, theirs), inherited(theirs, theirs))
}

// exempt says whether a file is local's to keep as a whole.
func (m *merger) exempt(c change) bool {
	u := m.unitOf(c.path)
	switch {
	case m.o.Subpackage && m.followsOther():
		return true
	case m.o.Strategy != kptfilev1.CopyMerge && m.repointed(u) && m.independent(u):
		return true
	case c.u != nil:
		return false
	}
	return slices.Contains(m.o.Own, c.path) || c.path == kptfilev1.KptFileName ||
		u.dir != "." && !m.u.exists(u) && !m.alike(u, m.b, m.l)
}

// repointed says whether local edited the Kptfile of a unit or of one around
// it: without that no rule may call it independent.
func (m *merger) repointed(u *unit) bool {
	for dir := u.dir; dir != "."; dir = path.Dir(dir) {
		if c := m.change(path.Join(dir, kptfilev1.KptFileName)); !sameFile(c.b, c.l) {
			return true
		}
	}
	return false
}

// edited lists the resources that local changed, if only in a comment, moved,
// added or deleted.
func (m *merger) edited() map[krm.ID]bool {
	out := map[krm.ID]bool{}
	for p := range m.paths() {
		if c := m.change(p); sameFile(c.b, c.l) {
			continue
		}
		was, is := byIdentity(m.b.docs[p]), byIdentity(m.l.docs[p])
		for _, side := range []map[krm.ID][]*yaml.Node{was, is} {
			for id := range side {
				if !slices.EqualFunc(was[id], is[id], yamltree.SameText) {
					out[id] = true
				}
			}
		}
	}
	return out
}

func byIdentity(rs []*krm.Resource) map[krm.ID][]*yaml.Node {
	out := map[krm.ID][]*yaml.Node{}
	for _, r := range rs {
		id := loose(identity(r))
		out[id] = append(out[id], ynode(r))
	}
	return out
}

// followsBut says whether a file is as upstream has it but for the resources
// that local edited somewhere: those may be here with the edit, or elsewhere.
func (m *merger) followsBut(c change, out []*krm.Resource, edited map[krm.ID]bool) bool {
	theirs, editedTheirs := unedited(m.u.docs[c.path], edited)
	is, editedHere := unedited(out, edited)
	return len(m.u.docs[c.path]) > 0 && (editedTheirs || editedHere) && maps.EqualFunc(is, theirs, alike)
}

// followsUnedited says whether a file that both sides changed has the resources
// that local did not edit as upstream has them, with their comments. It looks at
// those that all versions have under one name.
func (m *merger) followsUnedited(c change, out []*krm.Resource, edited map[krm.ID]bool) bool {
	theirs, _ := unedited(m.u.docs[c.path], edited)
	if len(theirs) == 0 {
		return true
	}
	was, is := byIdentity(m.b.docs[c.path]), byIdentity(out)
	for id, now := range theirs {
		if len(was[id]) == 1 && len(is[id]) == 1 && len(now) == 1 &&
			!(alike(is[id], now) && slices.Equal(commentsIn(is[id]), commentsIn(now))) {
			return false
		}
	}
	return true
}

// unedited are the resources of a file that local did not edit; others says that
// there are others.
func unedited(rs []*krm.Resource, edited map[krm.ID]bool) (out map[krm.ID][]*yaml.Node, others bool) {
	out = byIdentity(rs)
	for id := range out {
		if edited[id] {
			delete(out, id)
			others = true
		}
	}
	return out, others
}

func commentsIn(trees []*yaml.Node) []string {
	var out []string
	for _, n := range trees {
		eachComment(n, func(line string) { out = append(out, line) })
	}
	slices.Sort(out)
	return out
}

// isResources says whether a file may have resources in YAML that are merged by
// identity alone.
func isResources(p string) bool {
	return path.Base(p) != kptfilev1.KptFileName && (path.Ext(p) == ".yaml" || path.Ext(p) == ".yml")
}
