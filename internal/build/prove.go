package build

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/variform/variform/internal/count"
	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/mutate"
	"github.com/variform/variform/internal/render"
)

// Proven is what building an open revision again shows.
type Proven struct {
	// Err is why it cannot be built again, and Astray why what is on the registered branch is
	// of no revision, which nobody would see replaced.
	Err    error
	Astray string
	// Differs lists the files that differ from a build, apart from bookkeeping. Their content
	// counts as edits, whatever author the commits name.
	Differs []string
	// Conflicts counts the local values that building it again loses.
	Conflicts int
	// Machine is the package without people's edits, nil where that is not known.
	Machine *krm.Package
}

// Proved reports whether the revision is what building makes.
func (p *Proven) Proved() bool { return p.Err == nil && len(p.Differs) == 0 }

// Unavailable reports whether building fails for what is not on this machine: a function
// that cannot run here.
func Unavailable(err error) bool {
	var here *render.UnavailableError
	return errors.As(err, &here)
}

// Unseen is why the revision may not be published unseen, "" where it may.
func (p *Proven) Unseen(from *decide.Revision) string {
	switch {
	case p.Astray != "":
		return p.Astray
	case p.Err != nil:
		return p.Err.Error()
	case p.Conflicts > 0:
		return fmt.Sprintf("making it again loses %s: review and approve it", count.Of(p.Conflicts, "local value"))
	case len(p.Differs) > 0:
		return fmt.Sprintf("the Draft is not what building makes of its inputs, it differs in %s: review and approve it, or delete %s and run apply",
			strings.Join(decide.Limit(p.Differs, 5), ", "), from.Ref.Short())
	}
	return ""
}

// Prove builds an open revision again from the registered branch and compares the two. The
// revision's commits prove nothing: anybody who may push to its branch can write them.
func (b *Builder) Prove(ctx context.Context, j Job) *Proven {
	m := &maker{Builder: b, Job: j, Made: &Made{}}
	_, there, err := j.Repo.ReadPackage(ctx, j.From.Ref.Commit, j.Package.Path)
	if err != nil {
		return &Proven{Err: fmt.Errorf("%s cannot be read: %w", j.From.Ref.Short(), err)}
	}
	m.pkg = there
	return m.prove(ctx)
}

// prove is Prove for what was made.
func (m *maker) prove(ctx context.Context) *Proven {
	p := &Proven{Astray: m.astray(ctx)}
	if m.From == nil || m.From.Number > 0 {
		return p // it was built from the registered branch
	}
	if m.Alone && m.From.Inputs.Values != "" {
		p.Err = errors.New("dependencies are left alone in this run, so that its values cannot be made again")
		return p
	}
	again := m.anew()
	again.pathless = m.Lock() == nil && !mutate.HasPackagePath(m.pkg) // what an older version made is no edit
	if k, err := mutate.Read(m.pkg, ""); err == nil {
		if owner, owned := mutate.OwnerOf(k); owned {
			again.policy = &owner.DeletionPolicy
		}
	}
	err := again.start(ctx)
	if err == nil {
		err = again.askAgain()
	}
	if err == nil {
		p.Conflicts, p.Machine = len(again.Conflicts), again.machine
		p.Differs, err = m.differs(again.pkg)
	}
	if err == nil && len(p.Differs) > 0 && again.guessed { // else the guess would be taken for edits
		p.Differs, err = nil, errors.New("what the published revision was made from is not known on this machine")
	}
	if err != nil {
		p.Err = fmt.Errorf("what it should hold cannot be made again: %w", err)
	}
	return p
}

// anew is a maker of the same package from what is Published, as if there were no
// Draft.
func (m *maker) anew() *maker {
	j := m.Job
	j.From, j.Since, j.Adopt = m.Package.Latest, nil, false
	return &maker{Builder: m.Builder, Job: j, Made: &Made{}}
}

// astray says that the registered branch does not hold what is Published: a tag
// may be forged, and a Draft that was made of it would replace what is there.
func (m *maker) astray(ctx context.Context) string {
	published, name := decide.Hash{}, ""
	if latest := m.Package.Latest; latest != nil {
		name = decide.RevisionName(latest.Number)
		var err error
		if published, err = m.Job.Repo.TreeAt(ctx, latest.Ref.Commit, m.Package.Path); err != nil {
			return fmt.Sprintf("%s cannot be read: %v", name, err)
		}
	}
	there, err := m.Job.Repo.TreeAt(ctx, m.Job.Repo.Head, m.Package.Path)
	if err == nil && there != published && name != "" {
		var same bool
		if same, err = m.Job.Repo.SameAt(ctx, m.Package.Path, m.Package.Latest.Ref.Commit, m.Job.Repo.Head); same {
			there = published
		}
	}
	switch {
	case err != nil:
		return fmt.Sprintf("%s cannot be read: %v", m.Job.Repo.Branch, err)
	case there != published && name == "":
		return fmt.Sprintf("%s on %s is of no revision, and would be replaced unseen: review and approve the Draft", m.Package.Path, m.Job.Repo.Branch)
	case there != published:
		return fmt.Sprintf("%s on %s is not what %s holds, and would be replaced unseen: review and approve the Draft", m.Package.Path, m.Job.Repo.Branch, name)
	}
	return ""
}

// differs names the files of a Draft that are not those of the same package made
// again.
func (m *maker) differs(again *krm.Package) ([]string, error) {
	if same, err := krm.SameContent(again, m.pkg); err != nil || same {
		return nil, err
	}
	have, err := m.pkg.Files()
	if err != nil {
		return nil, err
	}
	want, err := again.Files()
	return changed(want, have), err
}

// changed are the paths, sorted, that two packages do not hold alike.
func changed(a, b []krm.File) []string {
	var out []string
	for len(a) > 0 || len(b) > 0 {
		switch {
		case len(b) == 0 || len(a) > 0 && a[0].Path < b[0].Path:
			out, a = append(out, a[0].Path), a[1:]
		case len(a) == 0 || b[0].Path < a[0].Path:
			out, b = append(out, b[0].Path), b[1:]
		default:
			if !sameFile(a[0], b[0]) {
				out = append(out, a[0].Path)
			}
			a, b = a[1:], b[1:]
		}
	}
	return out
}
