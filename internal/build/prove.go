package build

import (
	"context"
	"fmt"
	"strings"

	"github.com/variform/variform/internal/count"
	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/krm"
)

// Prove says why an open Draft that is up to date may not be published unseen, ""
// where it may: it is, apart from bookkeeping, what building makes again of what stands
// on the registered branch. What the Draft's commits say of themselves proves
// nothing: whoever may push to its branch writes them.
func (b *Builder) Prove(ctx context.Context, j Job) string {
	m := &maker{Builder: b, Job: j, Made: &Made{}}
	_, there, err := j.Repo.ReadPackage(ctx, j.From.Ref.Commit, j.Package.Path)
	if err != nil {
		return fmt.Sprintf("%s cannot be read: %v", j.From.Ref.Short(), err)
	}
	m.pkg = there
	return m.prove(ctx)
}

// prove is Prove for what was made.
func (m *maker) prove(ctx context.Context) string {
	if why := m.astray(ctx); why != "" {
		return why
	}
	if m.From == nil || m.From.Number > 0 {
		return "" // it was made of what stands there
	}
	if m.Alone && m.From.Inputs.Values != "" {
		return "dependencies are left alone in this run, so that its values cannot be made again"
	}
	again := m.anew()
	if err := again.start(ctx); err != nil {
		return unmade(err)
	}
	if len(again.Conflicts) > 0 {
		return fmt.Sprintf("making it again loses %s: review and approve it", count.Of(len(again.Conflicts), "local value"))
	}
	if err := again.askAgain(); err != nil {
		return unmade(err)
	}
	return m.differs(again.pkg)
}

// anew is a maker of the same package from what is Published, as if there were no
// Draft.
func (m *maker) anew() *maker {
	j := m.Job
	j.From, j.Since, j.Adopt = m.Package.Latest, nil, false
	return &maker{Builder: m.Builder, Job: j, Made: &Made{}}
}

func unmade(err error) string { return "what it should hold cannot be made again: " + err.Error() }

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
func (m *maker) differs(again *krm.Package) string {
	if same, err := krm.SameContent(again, m.pkg); err != nil || same {
		if err != nil {
			return unmade(err)
		}
		return ""
	}
	have, err := m.pkg.Files()
	if err != nil {
		return unmade(err)
	}
	want, err := again.Files()
	if err != nil {
		return unmade(err)
	}
	files := changed(want, have)
	return fmt.Sprintf("the Draft is not what building makes of its inputs, it differs in %s: review and approve it, or delete %s and run apply",
		strings.Join(decide.Limit(files, 5), ", "), m.From.Ref.Short())
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
