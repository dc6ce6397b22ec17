package conformance

import (
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/internal/build"
	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/gitrepo"
	"github.com/variform/variform/internal/lifecycle"
)

func init() {
	Suite("pv_get_downstream_prs", runDownstream)
	Suite("pv_adoption_policy", runDownstream)
	Suite("pv_delete_or_orphan", runRemove)
	Suite("pv_new_workspace_name", runNextWorkspace)
	CaseOf("assertion_tests", "PVS upstream look-up (TestGetUpstreamPr)", runLookups)
	CaseOf("assertion_tests", "PV upstream look-up (TestGetUpstreamPr)", runLookups)
	CaseOf("assertion_tests", "PV published upstream by revision (TestGetPublishedUpstreamPr)", runLookups)
	CaseOf("assertion_tests", "PV upgrade draft (TestCreateUpgradeDraft)", runUpgradeDraft)
	CaseOf("assertion_tests", "PV edit draft (TestCreateEditDraft)", runEditDraft)
	Deviation("assertion_tests/PV upstream look-up (TestGetUpstreamPr)/my-repo/my-package",
		"an upstream without revision and workspace is the highest Published revision, not the branch's content (docs/design/kinds.md#revisions)")
}

// revisionOf reads a PackageRevision, or its bare spec as some cases have it.
func revisionOf(n *yaml.RNode) lifecycle.Revision {
	spec := At(n, "spec")
	if spec == nil {
		spec = n
	}
	r := lifecycle.Revision{
		Name: TextAt(n, "metadata", "name"), Repository: TextAt(spec, "repository"), Package: TextAt(spec, "packageName"),
		Workspace: TextAt(spec, "workspaceName"), Phase: lifecycle.Phase(TextAt(spec, "lifecycle")),
	}
	if r.Name == "" {
		r.Name = TextAt(n, "name")
	}
	if text := TextAt(spec, "revision"); text != "" {
		_ = yaml.Unmarshal([]byte(text), &r.Revision)
	}
	owners, _ := elements(At(n, "metadata", "ownerReferences"))
	for _, o := range owners {
		r.Owners = append(r.Owners, TextAt(o, "uid"))
	}
	return r
}

func elements(n *yaml.RNode) ([]*yaml.RNode, error) {
	if n.IsNilOrEmpty() {
		return nil, nil
	}
	return n.Elements()
}

func revisionsOf(r *R, n *yaml.RNode) []lifecycle.Revision {
	list, err := elements(n)
	if err != nil {
		r.Errorf("the case cannot be read: %v", err)
	}
	var out []lifecycle.Revision
	for _, e := range list {
		out = append(out, revisionOf(e))
	}
	return out
}

func variantOf(r *R, c Case) (pv v1alpha1.PackageVariant) {
	c.Decode(r, At(c.Input, "packageVariant"), &pv)
	return pv
}

// described is what a case says of a revision.
func described(list []lifecycle.Revision) []string {
	var out []string
	for _, x := range list {
		owners := slices.Clone(x.Owners)
		slices.Sort(owners)
		out = append(out, strings.Join([]string{x.Name, string(x.Phase), x.Workspace, x.Package, strings.Join(owners, ",")}, "|"))
	}
	return out
}

// runDownstream compares the revisions that a variant goes on with; adopting
// one is Porch's update of its owner, a stray one Porch's deletion.
func runDownstream(r *R, c Case) {
	pv := variantOf(r, c)
	all := revisionsOf(r, At(c.Input, "packageRevisionList", "items"))
	sel := lifecycle.Downstream(string(pv.UID), pv.Spec.Downstream.Repo, pv.Spec.Downstream.Package, pv.Spec.AdoptionPolicy, all)
	var calls []string
	for _, s := range sel.Strays {
		calls = append(calls, "deleting object: "+s.Name)
	}
	got := slices.Clone(sel.Continue)
	for _, a := range sel.Adopt {
		calls = append(calls, "updating object: "+a.Name)
		for i := range got {
			if got[i].Name == a.Name {
				got[i].Owners = append(slices.Clone(a.Owners), string(pv.UID))
			}
		}
	}
	r.Equal("downstreams", described(got), described(revisionsOf(r, At(c.Expected, "downstreams"))))
	var want []string
	c.Decode(r, At(c.Expected, "clientCalls"), &want)
	r.Equal("calls", calls, want)
}

func runRemove(r *R, c Case) {
	pv := variantOf(r, c)
	rev := revisionOf(At(c.Input, "packageRevision"))
	var calls []string
	switch lifecycle.Remove(pv.Spec.DeletionPolicy, rev.Phase) {
	case lifecycle.Discard:
		calls = []string{"deleting object: " + rev.Name}
	case lifecycle.ProposeDeletion:
		calls = []string{"updating object: " + rev.Name}
		rev.Phase = lifecycle.DeletionProposed
	case lifecycle.Release:
		calls = []string{"updating object: " + rev.Name}
		rev.Owners = slices.DeleteFunc(rev.Owners, func(o string) bool { return o == string(pv.UID) })
	case lifecycle.Keep:
	}
	var want []string
	c.Decode(r, At(c.Expected, "clientCalls"), &want)
	r.Equal("calls", calls, want)
	if after := At(c.Expected, "packageRevision"); after != nil {
		r.Equal("package revision", described([]lifecycle.Revision{rev}), described([]lifecycle.Revision{revisionOf(after)}))
	}
}

func runNextWorkspace(r *R, c Case) {
	all := revisionsOf(r, At(c.Input, "packageRevisionList", "items"))
	var used []string
	for _, rev := range all {
		if rev.Repository == TextAt(c.Input, "repository") && rev.Package == TextAt(c.Input, "packageName") {
			used = append(used, rev.Workspace)
		}
	}
	got := lifecycle.NextWorkspace(used...)
	r.Equal("workspaceName", got, TextAt(c.Expected, "workspaceName"))
}

func runLookups(r *R, c Case) {
	all := revisionsOf(r, At(c.Input, "packageRevisions"))
	lookups, err := elements(At(c.Expected, "lookups"))
	if err != nil || len(lookups) == 0 {
		r.Errorf("the case has no lookups: %v", err)
	}
	for _, l := range lookups {
		var u v1alpha1.Upstream
		c.Decode(r, At(l, "upstream"), &u)
		name := strings.TrimRight(strings.Join([]string{u.Repo, u.Package, u.WorkspaceName, string(u.Revision)}, "/"), "/")
		r.Part(name, func() { checkLookup(r, l, u, all) })
	}
}

func checkLookup(r *R, l *yaml.RNode, u v1alpha1.Upstream, all []lifecycle.Revision) {
	got, err := lifecycle.FindUpstream(u, all)
	if prefix := TextAt(l, "errorPrefix"); prefix != "" && (err == nil || !strings.HasPrefix(err.Error(), prefix)) {
		r.Errorf("error %v, want one that begins with %q", err, prefix)
	}
	if part := TextAt(l, "errorContains"); part != "" && (err == nil || !strings.Contains(err.Error(), part)) {
		r.Errorf("error %v, want one that holds %q", err, part)
	}
	if workspace := TextAt(l, "foundWorkspace"); workspace != "" && (err != nil || got.Workspace != workspace) {
		r.Errorf("found workspace %q (%v), want %q", got.Workspace, err, workspace)
	}
	switch found := TextAt(l, "found"); found {
	case "":
	case "true", "false":
		if (err == nil) != (found == "true") {
			r.Errorf("found %+v (%v), want found %s", got, err, found)
		}
	default:
		if err != nil || got.Name != found {
			r.Errorf("found %q (%v), want %q", got.Name, err, found)
		}
	}
}

// draft is what the two cases on new Drafts expect.
func checkDraft(r *R, c Case, source lifecycle.Revision, task *gitrepo.Task) {
	r.Equal("packageName", source.Package, TextAt(c.Expected, "packageName"))
	r.Equal("workspaceName", lifecycle.NextWorkspace(source.Workspace), TextAt(c.Expected, "workspaceName"))
	r.Equal("task type", task.Type, TextAt(c.Expected, "task", "type"))
}

func runUpgradeDraft(r *R, c Case) {
	in := At(c.Input, "source")
	source := revisionOf(in)
	var u v1alpha1.Upstream
	c.Decode(r, At(c.Input, "upstream"), &u)
	next, err := lifecycle.FindUpstream(u, revisionsOf(r, At(c.Input, "packageRevisions")))
	if err != nil {
		r.Errorf("upstream: %v", err)
		return
	}
	lock := TextAt(in, "upstreamLockGitRef")
	old := decide.PorchName(u.Repo, u.Package, lock[strings.LastIndex(lock, "/")+1:])
	local := decide.PorchName(source.Repository, source.Package, source.Workspace)
	task := build.UpgradeTask(old, decide.PorchName(u.Repo, u.Package, next.Workspace), local, "resource-merge")
	checkDraft(r, c, source, task)
	want := At(c.Expected, "task")
	r.Equal("oldUpstream", task.Upgrade.OldUpstream.Name, TextAt(want, "oldUpstream"))
	r.Equal("newUpstream", task.Upgrade.NewUpstream.Name, TextAt(want, "newUpstream"))
	r.Equal("localPackageRevisionRef", task.Upgrade.LocalPackageRevisionRef.Name, TextAt(want, "localPackageRevisionRef"))
	r.Equal("strategy", task.Upgrade.Strategy, TextAt(want, "strategy"))
}

func runEditDraft(r *R, c Case) {
	source := revisionOf(At(c.Input, "source"))
	checkDraft(r, c, source, build.EditTask(source.Name))
}
