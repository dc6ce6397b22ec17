package build

import (
	"fmt"
	"path"
	"strings"

	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/gitrepo"
	"github.com/variform/variform/internal/merge"
)

// maxLostValues bounds how many conflicts a commit message lists.
const maxLostValues = 50

// bothSides heads the list of what became of edits in a commit's message.
const bothSides = "Changed on both sides:"

// Lost lists the edits that a commit's message says were lost or overruled, as it
// says that.
func Lost(message string) (out []string) {
	_, list, _ := strings.Cut(message, "\n"+bothSides+"\n")
	for line := range strings.Lines(list) {
		text, listed := strings.CutPrefix(strings.TrimSpace(line), "- ")
		if !listed {
			break
		}
		kept := strings.Contains(text, ": "+string(merge.Local)+" wins with ") || strings.Contains(text, ": "+draftSide+" wins with ")
		if strings.Contains(text, " wins with ") && !kept || strings.Contains(text, ": overruled with ") {
			out = append(out, text)
		}
	}
	return out
}

// message is that of a Draft's commit: what was done and why, the local values
// that were lost, Porch's annotation and our trailers.
func (m *maker) message() (string, error) {
	var b strings.Builder
	switch {
	case m.Lock() != nil:
		fmt.Fprintf(&b, "Lock the dependencies of %s\n", m.Target.Name())
	case m.Revert != nil:
		fmt.Fprintf(&b, "Set %s back to %s\n", m.Package.Path, decide.RevisionName(m.Revert.Number))
	case m.From == nil:
		fmt.Fprintf(&b, "Clone %s into %s\n", m.Source, m.Package.Path)
	default:
		fmt.Fprintf(&b, "Update %s from %s\n", m.Package.Path, m.Source)
	}
	b.WriteString("\n")
	for _, r := range m.Reasons {
		fmt.Fprintf(&b, "%s\n", r)
	}
	for i, c := range m.Conflicts {
		if i == 0 {
			b.WriteString("\n" + bothSides + "\n")
		}
		if i == maxLostValues {
			fmt.Fprintf(&b, "and %d more\n", len(m.Conflicts)-i)
			break
		}
		fmt.Fprintf(&b, "- %s\n", c)
	}
	trailers := gitrepo.Trailers{Variant: m.owner().Variant, Inputs: m.Inputs.String()}
	if !m.Hydrated.IsZero() {
		trailers.Hydrated = m.Hydrated.String()
	}
	if m.Revert != nil {
		trailers.Reverts = m.reverts()
	}
	outcome := decide.Outcome{Question: m.Question, Lost: len(m.Conflicts), Attention: m.Attention}
	trailers.Review = outcome.Review()
	return gitrepo.FormatMessage(strings.TrimSpace(b.String()), &gitrepo.Annotation{
		Package: m.Package.Path, WorkspaceName: m.Workspace, Task: m.task(),
	}, trailers)
}

// task tells Porch what the commit did.
func (m *maker) task() *gitrepo.Task {
	if m.Lock() != nil {
		if m.From == nil {
			return &gitrepo.Task{Type: "init", Init: &gitrepo.InitTask{}}
		}
		return EditTask(m.From.PorchName(m.Repository, m.Question.Want.Package))
	}
	if m.Revert != nil {
		return EditTask(decide.PorchName(m.Repository, m.Question.Want.Package, m.Revert.Was()))
	}
	named := m.Variant().Spec.Upstream.Package
	upstream := m.Upstream.PorchName(named)
	if m.From == nil {
		return &gitrepo.Task{Type: "clone", Clone: &gitrepo.CloneTask{Upstream: gitrepo.UpstreamPackage{UpstreamRef: &gitrepo.RevisionRef{Name: upstream}}}}
	}
	local := m.From.PorchName(m.Repository, m.Question.Want.Package)
	if m.From.Inputs.Upstream == m.Inputs.Upstream {
		return EditTask(local)
	}
	old := decide.PorchName(m.Upstream.Repo.Name, named, path.Base(m.oldUpstream))
	return UpgradeTask(old, upstream, local, m.strategy)
}

// EditTask is Porch's record of a Draft made from a revision of the same
// package; the names are those of package revisions (see decide.PorchName).
func EditTask(source string) *gitrepo.Task {
	return &gitrepo.Task{Type: "edit", Edit: &gitrepo.EditTask{Source: &gitrepo.RevisionRef{Name: source}}}
}

// UpgradeTask is Porch's record of a Draft that takes a new upstream revision.
func UpgradeTask(oldUpstream, newUpstream, local string, strategy merge.Strategy) *gitrepo.Task {
	return &gitrepo.Task{Type: "upgrade", Upgrade: &gitrepo.UpgradeTask{
		OldUpstream:             gitrepo.RevisionRef{Name: oldUpstream},
		NewUpstream:             gitrepo.RevisionRef{Name: newUpstream},
		LocalPackageRevisionRef: gitrepo.RevisionRef{Name: local},
		Strategy:                string(strategy),
	}}
}
