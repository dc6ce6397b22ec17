package build

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/gitrepo"
	"github.com/variform/variform/internal/merge"
)

// maxConflicts bounds how many conflicts a commit message lists beside those that lose
// an edit or leave a value out.
const maxConflicts = 50

// listed are the conflicts that a commit message lists, in their order.
func listed(all []merge.Conflict) []merge.Conflict {
	n := 0
	return slices.DeleteFunc(slices.Clone(all), func(c merge.Conflict) bool {
		n++
		return n > maxConflicts && !c.LosesEdit() && c.Fate != merge.LeftOut
	})
}

// bothSides heads the list of what became of edits in a commit's message.
const bothSides = "Changed on both sides:"

// Conflicts returns what a commit's message lists of edits that an update met, as far
// as it can be read.
func Conflicts(message string) (out []merge.Conflict) {
	for _, text := range bothSidesOf(message) {
		if c, ok := merge.ParseConflict(text); ok {
			out = append(out, c)
		}
	}
	return out
}

// Lost returns the edits that a commit's message lists as lost or overruled, in its
// words.
func Lost(message string) (out []string) {
	for _, text := range bothSidesOf(message) {
		if c, ok := merge.ParseConflict(text); ok && c.LosesEdit() {
			out = append(out, text)
		}
	}
	return out
}

// bothSidesOf are the lines of a message's list.
func bothSidesOf(message string) (out []string) {
	_, list, _ := strings.Cut(message, "\n"+bothSides+"\n")
	for line := range strings.Lines(list) {
		text, found := strings.CutPrefix(strings.TrimSpace(line), "- ")
		if !found {
			break
		}
		out = append(out, text)
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
	if m.Furnished {
		b.WriteString(decide.Furnished + "\n")
	}
	for i, c := range listed(m.Conflicts) {
		if i == 0 {
			b.WriteString("\n" + bothSides + "\n")
		}
		fmt.Fprintf(&b, "- %s\n", c)
	}
	if more := len(m.Conflicts) - len(listed(m.Conflicts)); more > 0 {
		fmt.Fprintf(&b, "and %d more\n", more)
	}
	trailers := gitrepo.Trailers{Variant: m.owner().Variant, Inputs: m.Inputs.String()}
	if !m.Hydrated.IsZero() {
		trailers.Hydrated = m.Hydrated.String()
	}
	if m.Revert != nil {
		trailers.Reverts = m.reverts()
	}
	outcome := decide.Outcome{Question: m.Question, Conflicts: len(m.Conflicts), Attention: m.Attention}
	trailers.Review, trailers.Invalid = outcome.Review(), decide.InvalidTrailer(m.Findings)
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
