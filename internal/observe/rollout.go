package observe

import (
	"context"
	"slices"
	"time"

	variformv1alpha1 "github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/gitrepo"
)

// rolloutsOf are the names of Rollouts by the commits of the Drafts that they publish.
func rolloutsOf(list []*variformv1alpha1.Rollout) map[decide.Hash]string {
	out, replaced := map[decide.Hash]string{}, map[string]bool{}
	for _, r := range list {
		replaced[r.Spec.Replaces] = true
	}
	for _, r := range list {
		for _, m := range r.Spec.Members {
			if r.Spec.Stopped || replaced[r.Name] || slices.Contains(r.Spec.Except, m.Target) {
				continue
			}
			for _, p := range m.Packages {
				out[decide.ParseHash(p.Draft)] = r.Name
			}
		}
	}
	return out
}

// StepsSince lists the contents that the registered branch got of a package since one of its
// commits, the newest first. The zero Hash is the time before the branch. found is false if
// the branch's history does not have the commit.
func StepsSince(ctx context.Context, r *Repo, path string, since decide.Hash) (steps []decide.RolloutStep, found bool, err error) {
	if r.Head == since {
		return nil, true, nil
	}
	r.lines.mu.Lock()
	defer r.lines.mu.Unlock()
	for n := firstLine; ; n *= 8 {
		l, err := r.atLeast(ctx, n)
		if err != nil {
			return nil, false, err
		}
		if at, ok := l.at[gitrepo.Hash(since)]; ok {
			steps, err = stepsOf(l, path, at)
			return steps, true, err
		}
		if l.whole || n >= lineLimit {
			if !since.IsZero() || !l.whole {
				return nil, false, nil
			}
			steps, err = stepsOf(l, path, len(l.commits))
			return steps, true, err
		}
	}
}

// stepsOf lists the steps of a line before a position. The time of a step is not before that
// of any commit that it follows; a commit of the machine has the time of its inputs.
func stepsOf(l *line, path string, end int) (steps []decide.RolloutStep, err error) {
	var was, parent decide.Hash
	var latest time.Time
	if end < len(l.commits) {
		tree, err := l.along.Tree(end, path)
		if err != nil {
			return nil, err
		}
		was, parent, latest = decide.Hash(tree), decide.Hash(l.commits[end].Hash), l.commits[end].Committer.When
	}
	for i := end - 1; i >= 0; i-- {
		tree, err := l.along.Tree(i, path)
		if err != nil {
			return nil, err
		}
		c := l.commits[i]
		if c.Committer.When.After(latest) {
			latest = c.Committer.When
		}
		if now := decide.Hash(tree); now != was {
			step := decide.RolloutStep{Commit: decide.Hash(c.Hash), Parent: parent, Tree: now, When: latest}
			if was = now; c.Committer.Email == MachineEmail {
				step.When = time.Time{}
			}
			steps = append(steps, step)
		}
		parent = decide.Hash(c.Hash)
	}
	slices.Reverse(steps)
	return steps, nil
}
