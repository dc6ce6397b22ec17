package conformance

import (
	"errors"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/variform/variform/api"
	"github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/api/config/v1alpha2"
	"github.com/variform/variform/internal/celexpr"
	"github.com/variform/variform/variantgen"
)

func init() {
	Suite("pvs_render_spec", runRenderSpec)
	Suite("pvs_validate", runSetValidate)
	Suite("pv_validate", runVariantValidate)
	Suite("pv_validate_workspacename", runVariantValidate)
	Suite("cel_eval_expr", runEval)
	Suite("cel_overlay_map_expr", runOverlay)
	CaseOf("assertion_tests", "PVS unroll (TestUnrollDownstreamTargets)", runUnroll)
	CaseOf("assertion_tests", "PVS create, update, delete and long names (TestEnsurePackageVariants)", runNames)
	CaseOf("assertion_tests", "PV upstream validation (TestIsValidUpstram)", runUpstreamValidation)

	Deviation("pvs_validate/missing upstream revision", "a set without a revision follows the newest Published (docs/design/kinds.md#revisions)")
	const kept = "Porch throws the given revision away; we resolve it (docs/design/kinds.md#revisions)"
	for _, part := range []string{"revisionAfter[3]", "revisionAfter[4]", "revisionAfter[5]"} {
		Deviation("assertion_tests/PV upstream validation (TestIsValidUpstram)/"+part, kept)
	}
}

// readKind reads a document as Porch's tests do: shape findings are not theirs.
func readKind(r *R, text string) any {
	obj, report := api.Decode([]byte(text), api.AllowBareGroup())
	if obj == nil {
		r.Errorf("the object cannot be read: %v", report.Err())
		return nil
	}
	api.Default(obj)
	return obj
}

func runSetValidate(r *R, c Case) {
	set, ok := readKind(r, TextAt(c.Input, "packageVariantSetYaml")).(*v1alpha2.PackageVariantSet)
	if !ok {
		return
	}
	var want []string
	c.Decode(r, At(c.Expected, "errors"), &want)
	r.Equal("errors", api.ValidatePackageVariantSet(set).Messages(), want, cmpopts.EquateEmpty())
}

func runVariantValidate(r *R, c Case) {
	pv, ok := readKind(r, TextAt(c.Input, "packageVariantYaml")).(*v1alpha1.PackageVariant)
	if !ok {
		return
	}
	got := strings.Join(api.ValidatePackageVariant(pv).Messages(), "; ")
	r.Equal("combinedError", got, TextAt(c.Expected, "combinedError"))
}

func runUpstreamValidation(r *R, c Case) {
	var checks []struct {
		Upstream      *v1alpha1.Upstream `json:"upstream"`
		Errors        []string           `json:"errors"`
		RevisionAfter *v1alpha1.Revision `json:"revisionAfter"`
	}
	c.Decode(r, At(c.Expected, "checks"), &checks)
	for i, check := range checks {
		pv := v1alpha1.PackageVariant{Spec: v1alpha1.PackageVariantSpec{
			Upstream: check.Upstream, Downstream: &v1alpha1.Downstream{Repo: "r", Package: "p"},
		}}
		pv.Name = "my-pv"
		r.Equal("errors", api.ValidatePackageVariant(&pv).Messages(), check.Errors, cmpopts.EquateEmpty())
		if check.RevisionAfter != nil {
			r.Part("revisionAfter["+string(rune('0'+i))+"]", func() {
				r.Equal("revision", pv.Spec.Upstream.Revision, *check.RevisionAfter)
			})
		}
	}
}

func runRenderSpec(r *R, c Case) {
	obj, report := api.DecodeNode(At(c.Input, "packageVariantSet"))
	set, ok := obj.(*v1alpha2.PackageVariantSet)
	if !ok || report.Err() != nil {
		r.Errorf("the set cannot be read: %v", report.Err())
		return
	}
	var repos struct {
		Items []*v1alpha1.Repository `json:"items"`
	}
	c.Decode(r, At(c.Input, "repositories"), &repos)
	var up v1alpha1.PackageRevision
	c.Decode(r, At(c.Input, "upstreamPackageRevision"), &up)
	env := variantgen.NewEnv(variantgen.Inputs{
		Repositories: repos.Items,
		Upstreams: variantgen.UpstreamFunc(func(string, v1alpha1.Upstream) (variantgen.Metadata, error) {
			return variantgen.Metadata{Name: up.Name, Namespace: up.Namespace, Labels: up.Labels, Annotations: up.Annotations}, nil
		}),
	})
	res := variantgen.ExpandAll(env, set)
	if res.Err() != nil || len(res.Variants) != 1 {
		r.Errorf("got %d variants, failures: %v", len(res.Variants), res.Err())
		return
	}
	r.EqualYAML("packageVariantSpec", res.Variants[0].Spec, At(c.Expected, "packageVariantSpec"))
}

// celEnv declares what a template's expressions see.
func celEnv(r *R) *celexpr.Env {
	env, err := celexpr.NewEnv(celexpr.String("repoDefault"), celexpr.String("packageDefault"),
		celexpr.Dynamic("upstream"), celexpr.Dynamic("repository"), celexpr.Dynamic("target"))
	if err != nil {
		r.Errorf("%v", err)
	}
	return env
}

func celVars(r *R, c Case) celexpr.Vars {
	var vars map[string]any
	c.Decode(r, At(c.Input, "vars"), &vars)
	return vars
}

func runEval(r *R, c Case) {
	var got string
	p, err := celEnv(r).Compile("expr", TextAt(c.Input, "expr"))
	if err == nil {
		got, err = p.Eval(celVars(r, c), celexpr.NewBudget())
	}
	want := firstLine(TextAt(c.Expected, "error"))
	var ee *celexpr.Error
	switch {
	case err == nil:
		r.Equal("error", "", want)
		r.Equal("result", got, TextAt(c.Expected, "result"))
	case !errors.As(err, &ee):
		r.Errorf("not a *celexpr.Error: %v", err)
	default:
		r.Equal("first line of the error", ee.FirstLine(), want)
		r.Equal("field", ee.Field, "expr")
	}
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// runOverlay puts the expressions into a template's labels: the vars are the
// defaults of one explicit target.
func runOverlay(r *R, c Case) {
	var plain map[string]string
	var exprs []v1alpha2.MapExpr
	c.Decode(r, At(c.Input, "map"), &plain)
	c.Decode(r, At(c.Input, "mapExprs"), &exprs)
	vars := celVars(r, c)
	repo, _ := vars["repoDefault"].(string)
	pkg, _ := vars["packageDefault"].(string)
	set := setOf("up", []v1alpha2.Target{{
		Repositories: []v1alpha2.RepositoryTarget{{Name: repo, PackageNames: []string{pkg}}},
		Template:     &v1alpha2.PackageVariantTemplate{Labels: plain, LabelExprs: exprs},
	}})
	res := variantgen.ExpandAll(variantgen.NewEnv(variantgen.Inputs{RepositoriesUnknown: true}), set)
	if res.Err() != nil || len(res.Variants) != 1 {
		r.Errorf("got %d variants, failures: %v", len(res.Variants), res.Err())
		return
	}
	var want map[string]string
	c.Decode(r, At(c.Expected, "map"), &want)
	r.Equal("map", res.Variants[0].Spec.Labels, want)
}

func setOf(pkg string, targets []v1alpha2.Target) *v1alpha2.PackageVariantSet {
	set := &v1alpha2.PackageVariantSet{Spec: v1alpha2.PackageVariantSetSpec{
		Upstream: &v1alpha1.Upstream{Repo: "up-repo", Package: pkg, Revision: "1"}, Targets: targets,
	}}
	set.Name, set.Namespace = "my-pvs", api.DefaultNamespace
	return set
}

func runUnroll(r *R, c Case) {
	var targets []v1alpha2.Target
	c.Decode(r, At(c.Input, "targets"), &targets)
	var names []string
	c.Decode(r, At(c.Input, "selectedObjects"), &names)
	in := variantgen.Inputs{}
	for _, n := range slices.Backward(names) {
		repo := &v1alpha1.Repository{}
		repo.Name = n
		in.Repositories = append(in.Repositories, repo)
	}
	type unrolled struct {
		RepoDefault    string `json:"repoDefault"`
		PackageDefault string `json:"packageDefault"`
		Object         string `json:"object"`
	}
	e, _ := variantgen.New(setOf(TextAt(c.Input, "upstreamPackage"), targets))
	list, _ := e.Targets(variantgen.NewEnv(in))
	var got, want []unrolled
	for _, t := range list {
		u := unrolled{RepoDefault: t.RepoDefault, PackageDefault: t.PackageDefault}
		if t.Object != nil {
			u.Object = t.Object.Name
		}
		got = append(got, u)
	}
	c.Decode(r, At(c.Expected, "targets"), &want)
	r.Equal("targets", got, want)
}

// runNames: which of the existing names stay, which are new, which go.
func runNames(r *R, c Case) {
	var in struct {
		SetName  string                  `json:"setName"`
		Existing []struct{ Name string } `json:"existing"`
		Desired  []v1alpha1.Downstream   `json:"desired"`
	}
	c.Decode(r, c.Input, &in)
	var targets []v1alpha2.Target
	for _, d := range in.Desired {
		targets = append(targets, v1alpha2.Target{Repositories: []v1alpha2.RepositoryTarget{{Name: d.Repo, PackageNames: []string{d.Package}}}})
	}
	set := setOf("up", targets)
	set.Name = in.SetName
	res := variantgen.ExpandAll(variantgen.NewEnv(variantgen.Inputs{RepositoriesUnknown: true}), set)
	if res.Err() != nil {
		r.Errorf("%v", res.Err())
	}
	made := map[string]bool{}
	for _, pv := range res.Variants {
		made[pv.Name] = true
	}
	type plan struct{ Deleted, Updated, Created []string }
	var got, want plan
	for _, e := range in.Existing {
		if made[e.Name] {
			got.Updated = append(got.Updated, e.Name)
		} else {
			got.Deleted = append(got.Deleted, e.Name)
		}
		delete(made, e.Name)
	}
	for _, pv := range res.Variants {
		if made[pv.Name] {
			got.Created = append(got.Created, pv.Name)
		}
	}
	c.Decode(r, c.Expected, &want)
	r.Equal("plan", got, want)
}
