package decide_test

import (
	"fmt"

	"github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/lifecycle"
)

// Example decides one variant alone, in values: its package has v1, and the
// upstream's content is another than the one that v1 was built from.
func Example() {
	const fleet = decide.Manager("fleet")
	want := &decide.Want{
		Identity: decide.Identity{Namespace: "default", Repository: "cluster-01", Package: "web"}, Name: "web-01",
		Content: &decide.Variant{Object: &v1alpha1.PackageVariant{}},
	}
	built, now := decide.Parts{UpstreamTree: "1111", Spec: "{}"}, decide.Parts{UpstreamTree: "2222", Spec: "{}"}

	// What observe read.
	tag := decide.Published{Number: 1, Ref: decide.Ref{Name: lifecycle.PublishedRef("web", 1), Hash: decide.Hash{1}, Commit: decide.Hash{1}}}
	pkg := decide.NewPackage("web", []decide.Published{tag}, &decide.Revision{
		Ref: tag.Ref, Workspace: "packagevariant-1", Number: 1, Phase: lifecycle.Published,
		Owner: fleet.Sign("default", "web-01"), Inputs: built.Inputs(nil),
	})
	repo := &decide.Repository{Namespace: "default", Name: "cluster-01", Branch: "main"}

	works, err := decide.Select(fleet, want, repo, pkg)
	if err != nil {
		fmt.Println(err)
		return
	}
	question := decide.Question{Want: want, Work: works[0], Repo: repo, Package: pkg, Parts: now, Source: "catalog/web@v2"}
	intent := decide.Intend(question)
	fmt.Println(intent.(decide.Build).As, intent.(decide.Build).Reasons)

	// What build gave: a package for a new Draft.
	outcome := &decide.Outcome{Question: question, Intent: intent, Tried: true, Ref: lifecycle.DraftRef("web", "packagevariant-2")}
	for _, ruling := range (decide.Activation{}).Rule([]*decide.Outcome{outcome}) {
		for _, move := range ruling.Decision.Moves(decide.Hash{2}) {
			fmt.Println(ruling.Decision.Action(), move.Name)
		}
	}
	// Output:
	// redraft [upstream changed: now catalog/web@v2]
	// redraft refs/heads/drafts/web/packagevariant-2
}

// ExampleRemove decides what becomes of a package whose variant has gone, each
// revision by itself.
func ExampleRemove() {
	draft := &decide.Revision{Ref: decide.Ref{Name: lifecycle.DraftRef("web", "packagevariant-2")}, Workspace: "packagevariant-2", Phase: lifecycle.Draft}
	v1 := &decide.Revision{Ref: decide.Ref{Name: lifecycle.PublishedRef("web", 1)}, Number: 1, Phase: lifecycle.Published}
	orphan := &decide.Orphan{
		Repo:    &decide.Repository{},
		Package: decide.NewPackage("web", []decide.Published{{Number: 1, Ref: v1.Ref}}, draft, v1),
		Owners:  map[string]decide.Ownership{draft.Ref.Name: {Author: "Ann"}, v1.Ref.Name: {}},
	}
	for _, r := range decide.Remove(orphan) {
		fmt.Printf("%s: %s\n", r.Revision.Describe(), r.Decision.Action())
	}
	// Output:
	// Draft packagevariant-2: keep
	// Published v1: retire
}
