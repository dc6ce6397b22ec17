package reconcile

import (
	"fmt"
	"path"
	"strings"

	"github.com/variform/variform/internal/gitrepo"
	"github.com/variform/variform/internal/merge"
)

// author signs the commits that Variform makes by itself: a fixed identity, so
// that the same inputs give the same commit.
var author = gitrepo.Signature{Name: "Variform", Email: "variform@variform.dev"}

// maxLostValues bounds how many conflicts a commit message lists.
const maxLostValues = 50

// reviewNeeded marks a commit that only a person may publish: see needsReview.
const reviewNeeded = "needed"

// draftMessage is the message of a Draft's commit: what was done and why, the
// local values that were lost, Porch's annotation and our trailers.
func draftMessage(w *work, item *Item) (string, error) {
	var b strings.Builder
	switch {
	case w.isLock():
		fmt.Fprintf(&b, "Lock the dependencies of %s\n", w.dep.target.Name())
	case w.from == nil:
		fmt.Fprintf(&b, "Clone %s into %s\n", w.up.String(), w.state.path)
	default:
		fmt.Fprintf(&b, "Update %s from %s\n", w.state.path, w.up.String())
	}
	b.WriteString("\n")
	for _, r := range item.Reasons {
		fmt.Fprintf(&b, "%s\n", r)
	}
	for i, c := range item.Conflicts {
		if i == 0 {
			b.WriteString("\nChanged on both sides:\n")
		}
		if i == maxLostValues {
			fmt.Fprintf(&b, "and %d more\n", len(item.Conflicts)-i)
			break
		}
		fmt.Fprintf(&b, "- %s\n", c)
	}
	trailers := gitrepo.Trailers{Variant: w.owner, Inputs: w.inputs.String()}
	if w.needsReview(len(item.Conflicts)) {
		trailers.Review = reviewNeeded
	}
	return gitrepo.FormatMessage(strings.TrimSpace(b.String()), &gitrepo.Annotation{
		Package: w.state.path, WorkspaceName: item.Workspace, Task: w.task(),
	}, trailers)
}

// task tells Porch what the commit did.
func (w *work) task() *gitrepo.Task {
	if w.isLock() {
		if w.from == nil {
			return &gitrepo.Task{Type: "init", Init: &gitrepo.InitTask{}}
		}
		return EditTask(RevisionName(w.Repository, w.Package, w.from.workspace))
	}
	upstream := w.up.name(w.pv.Spec.Upstream.Package)
	if w.from == nil {
		return &gitrepo.Task{Type: "clone", Clone: &gitrepo.CloneTask{Upstream: gitrepo.UpstreamPackage{UpstreamRef: &gitrepo.RevisionRef{Name: upstream}}}}
	}
	local := RevisionName(w.Repository, w.Package, w.from.workspace)
	if w.from.inputs.Upstream == w.inputs.Upstream {
		return EditTask(local)
	}
	old := RevisionName(w.up.repo.obj.Name, w.pv.Spec.Upstream.Package, path.Base(w.oldUpstream))
	return UpgradeTask(old, upstream, local, w.strategy)
}

// EditTask is Porch's record of a Draft made from a revision of the same
// package; the names are those of package revisions (see RevisionName).
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
