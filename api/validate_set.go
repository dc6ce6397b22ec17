package api

import (
	"fmt"
	"sort"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/api/config/v1alpha2"
)

// ValidatePackageVariantSet checks a set by the rules of Porch's PackageVariant
// design, "PackageVariantSet API", and by ours. Expressions are compiled
// elsewhere (package variantgen). Where Porch has a text for a finding, the
// Message is it.
func ValidatePackageVariantSet(set *v1alpha2.PackageVariantSet) Issues {
	var i Issues
	i.metadata(&set.ObjectMeta)
	i.setUpstreams(&set.Spec)
	if len(set.Spec.Targets) == 0 {
		i.add("spec.targets", "must specify at least one item in spec.targets",
			"each target has one of repositories, repositorySelector and objectSelector")
	}
	for n := range set.Spec.Targets {
		i.target(index("spec.targets", n), &set.Spec.Targets[n])
	}
	return i
}

func (i *Issues) required(field, hint string) { i.add(field, field+" is a required field", hint) }

func (i *Issues) setUpstreams(spec *v1alpha2.PackageVariantSetSpec) {
	switch {
	case spec.Upstream != nil && len(spec.Upstreams) > 0:
		i.add("spec.upstreams", "spec.upstreams stands in the place of spec.upstream, not beside it", "put all of them into spec.upstreams")
	case spec.Upstream != nil:
		i.setUpstream("spec.upstream", spec.Upstream)
	case len(spec.Upstreams) == 0:
		i.required("spec.upstream", "name the package to derive from: {repo, package, revision}")
	}
	for n := range spec.Upstreams {
		i.setUpstream(index("spec.upstreams", n), &spec.Upstreams[n])
	}
}

func (i *Issues) setUpstream(field string, u *v1alpha1.Upstream) {
	if u.Package == "" {
		i.required(field+".package", "the package's path in that Repository")
	}
	if u.Repo == "" {
		i.required(field+".repo", "the name of a Repository")
	}
	if u.Revision == "0" && u.WorkspaceName == "" { // none at all is the newest Published
		i.add(field+".revision", "either "+field+".revision or "+field+".workspaceName must be specified",
			"a revision such as 1 or v1, latest, a tag, a branch or a version range")
	}
	i.upstreamValues(field, u)
}

func (i *Issues) target(field string, t *v1alpha2.Target) {
	i.repositories(field+".repositories", t.Repositories)
	if t.RepositorySelector != nil {
		i.selector(field+".repositorySelector", t.RepositorySelector)
	}
	if t.ObjectSelector != nil {
		i.objectSelector(field, t.ObjectSelector)
	}
	i.oneTargeting(field, t)
	i.packageNames(field+".packageNames", t.PackageNames)
	if t.PackageNames != nil && t.Repositories != nil {
		i.add(field+".packageNames", field+".packageNames stands beside a selector, not beside `repositories`",
			"put packageNames into each entry of repositories")
	}
	if t.Template != nil {
		i.template(field+".template", t.Template)
	}
}

func (i *Issues) oneTargeting(field string, t *v1alpha2.Target) {
	var given []string
	if t.Repositories != nil {
		given = append(given, "repositories")
	}
	if t.RepositorySelector != nil {
		given = append(given, "repositorySelector")
	}
	if t.ObjectSelector != nil {
		given = append(given, "objectSelector")
	}
	if len(given) == 1 {
		return
	}
	hint := "it has none of them"
	if len(given) > 1 {
		hint = "it has " + strings.Join(given, " and ") + "; make a target of each"
	}
	i.add(field, field+" must specify one of `repositories`, `repositorySelector`, or `objectSelector`", hint)
}

func (i *Issues) repositories(field string, list []v1alpha2.RepositoryTarget) {
	if list != nil && len(list) == 0 {
		i.add(field, field+" must not be an empty list if specified", "")
	}
	for n := range list {
		at := index(field, n)
		if list[n].Name == "" {
			i.add(at+".name", at+".name cannot be empty", "the name of a Repository")
		} else {
			i.name(at+".name", list[n].Name)
		}
		i.packageNames(at+".packageNames", list[n].PackageNames)
	}
}

func (i *Issues) packageNames(field string, names []string) {
	for n, name := range names {
		at := index(field, n)
		if name == "" {
			i.add(at, at+" cannot be empty", "")
		}
		i.packagePath(at, name)
	}
}

func (i *Issues) objectSelector(target string, s *v1alpha2.ObjectSelector) {
	field := target + ".objectSelector"
	if s.APIVersion == "" {
		i.add(field+".apiVersion", target+".objectselector.apiVersion cannot be empty", "such as v1 or example.com/v1")
	}
	if s.Kind == "" {
		i.add(field+".kind", target+".objectselector.kind cannot be empty", "such as ConfigMap")
	}
	if s.Name != nil && *s.Name == "" {
		i.add(field+".name", field+".name cannot be empty", "leave it out to select by labels")
	}
	i.selector(field, &s.LabelSelector)
}

var operators = map[metav1.LabelSelectorOperator]selection.Operator{
	metav1.LabelSelectorOpIn: selection.In, metav1.LabelSelectorOpNotIn: selection.NotIn,
	metav1.LabelSelectorOpExists: selection.Exists, metav1.LabelSelectorOpDoesNotExist: selection.DoesNotExist,
}

func operatorNames() []string {
	out := make([]string, 0, len(operators))
	for op := range operators {
		out = append(out, string(op))
	}
	sort.Strings(out)
	return out
}

func (i *Issues) selector(field string, s *metav1.LabelSelector) {
	i.labels(field+".matchLabels", s.MatchLabels)
	for n := range s.MatchExpressions {
		at := index(field+".matchExpressions", n)
		e := &s.MatchExpressions[n]
		op, ok := operators[e.Operator]
		if !ok {
			i.add(at+".operator", fmt.Sprintf("%s.operator can only be %s", at, strings.Join(operatorNames(), ", ")),
				wrongWord(string(e.Operator), operatorNames()...))
			continue
		}
		if _, err := labels.NewRequirement(e.Key, op, e.Values); err != nil {
			i.add(at, fmt.Sprintf("%s: %v", at, err), "In and NotIn need values; Exists and DoesNotExist take none")
		}
	}
}
