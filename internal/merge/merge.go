// Package merge brings a new upstream into a locally edited package: the
// three-way merge behind every update of a variant
// (docs/design/hydration-and-update.md#update).
//
// Three packages go in, one comes out, with a list of what could not be had
// both ways.
//
// The rules are kpt's resource-merge, bettered where kpt loses an edit:
//
//   - No merge starts from a side that cannot be read ([UnreadableError]).
//   - What one side left alone follows the other side. Where two of the three
//     files are byte-equal, the third is taken whole. Where both sides edited a
//     file, its resources are merged field by field.
//   - The text of such a file is merged line by line, so that comments, key
//     order, quoting and blank lines follow both sides. Where no line was changed
//     by both and the values are those of the merge by field, the file is what git
//     merge-file makes. Elsewhere the values are written into the merged lines of
//     each resource, and a comment is merged apart from the rest of its line.
//   - Resources are matched by group, kind, namespace and name, or by the name in
//     the comment "# kpt-merge: namespace/name" on metadata; what is left over by
//     the names that a pipeline gave. A resource may change its file on either side. Items of lists are matched by the merge
//     keys of the Kubernetes API, else by a field that identifies them on all
//     sides, else by their place.
//   - A true conflict is one field that both sides changed differently. Upstream
//     wins, and the lost value is a [Conflict]; so is the comment of a field. A
//     string of several lines is merged by line: only lines that both changed are a
//     conflict. A field that local deleted and upstream changed comes back whole,
//     never as a fragment.
//   - A value that is only written another way (16 for 0x10) is no change of it,
//     but local's text follows where local left it alone.
//   - What has an identity (a resource, a file, a subpackage, an item of a keyed
//     list) and was deleted locally stays deleted. A resource, file or
//     subpackage that upstream deleted goes too, unless it was edited locally;
//     an item of a list that upstream deleted goes in any case. Both are
//     reported.
//   - A resource that both added is one, merged by field, in upstream's file.
//   - Fields that are owned elsewhere (the comment # {"$imagepolicy": …} or the
//     annotation variform.dev/owned-elsewhere) are local's, without a word.
//   - Files that are no YAML are merged line by line; where both changed the
//     same lines upstream wins.
//   - Where base is a guess ([Options.Guess]), nothing that local has goes, and
//     values are written into local's text.
//   - A subpackage with an upstream of its own is merged as any other; one that
//     local points at another upstream than base does is left alone, with all
//     that is in it.
//   - After each merge a file that upstream changed and nobody edited must be as
//     upstream has it, or the merge fails.
//
// The package is pure: no file system, no network, no clock. Cost is linear in
// the size of what changed.
package merge

import (
	"fmt"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"

	"github.com/variform/variform/internal/krm"
)

// Strategy is how a package follows its upstream: the values of a Kptfile's
// upstream.updateStrategy.
type Strategy = kptfilev1.UpdateStrategyType

// Options changes how packages are merged. The zero value merges a root
// package with resource-merge.
type Options struct {
	// Strategy is the update strategy; "" means resource-merge.
	Strategy Strategy

	// Subpackage says that the packages are subpackages of something larger
	// (kpt's "not root"): the Kptfile's upstream and upstreamLock follow
	// upstream, and a package whose upstream was changed locally is left as it
	// is.
	Subpackage bool

	// Own lists files, by path, that the variant's own mutations write, such as
	// package-context.yaml. They are no local change to fast-forward, and
	// force-delete-replace and copy-merge leave them where upstream has none.
	Own []string

	// Guess says that base is a guess. Then nothing that local has goes: it wins
	// each conflict and each deletion, and of lists only additions are taken. It
	// says nothing to the strategies that replace a package.
	Guess bool

	// Keep says that local wins where both sides changed a value, but for what
	// the annotation variform.dev/on-conflict of local's Kptfile or of a resource
	// says.
	Keep bool

	// Stands says that upstream is what stands, and local a Draft that is brought up
	// to it: of what is owned elsewhere upstream's is taken.
	Stands bool

	// Theirs and Ours are what conflicts call upstream and local, where these are
	// something else.
	Theirs, Ours string
}

// Result is a merged package and what is worth telling about it.
type Result struct {
	// Package is the merged package, independent of the inputs.
	Package *krm.Package

	// Conflicts are in order of path, then of place in the file.
	Conflicts []Conflict
}

// Packages merges the change from base to upstream into local. The three must
// not be nil and are never modified; an empty base means that both sides were
// made independently.
//
// Errors: [*UnreadableError] where one of the three cannot be read,
// [*ModifiedError] where the strategy is fast-forward and local
// differs from base, [*DuplicateError] where a resource that upstream changed
// occurs twice in one file, and an error that names an unknown strategy. All of
// them are joined. A [*NotFollowedError] says that the merge went wrong: each
// result is checked before it is handed out.
func Packages(base, upstream, local *krm.Package, o Options) (*Result, error) {
	o.Guess = o.Guess && (o.Strategy == "" || o.Strategy == kptfilev1.ResourceMerge)
	if err := readableSides(base, upstream, local); err != nil {
		return nil, err
	}
	m := newMerger(base, upstream, local, o)
	var err error
	switch o.Strategy {
	case "", kptfilev1.ResourceMerge:
		err = m.resourceMerge()
	case kptfilev1.FastForward:
		err = m.fastForward()
	case kptfilev1.ForceDeleteReplace:
		err = m.replace()
	case kptfilev1.CopyMerge:
		err = m.copyMerge()
	default:
		err = fmt.Errorf("update strategy %q is unknown: use one of %v", o.Strategy, kptfilev1.UpdateStrategiesAsStrings())
	}
	if err == nil {
		err = m.check()
	}
	if err != nil {
		return nil, err
	}
	res, err := m.result()
	if err != nil {
		return nil, err
	}
	for i := range res.Conflicts {
		res.Conflicts[i].Theirs, res.Conflicts[i].Ours = o.Theirs, o.Ours
	}
	return res, nil
}
