package function

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kptdev/krm-functions-sdk/go/fn"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/api"
	"github.com/variform/variform/internal/injection"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/mutate"
	"github.com/variform/variform/internal/yamltree"
)

// add appends a result about a resource; r may be nil.
func (c *Call) add(severity fn.Severity, r *krm.Resource, field, format string, args ...any) {
	result := &fn.Result{Severity: severity, Message: fmt.Sprintf(format, args...)}
	if r != nil {
		result.ResourceRef = &fn.ResourceRef{APIVersion: r.APIVersion(), Kind: r.Kind(), Name: r.Name(), Namespace: r.Namespace()}
		result.File = &fn.File{Path: r.Path(), Index: r.Index()}
	}
	if field != "" {
		result.Field = &fn.Field{Path: field}
	}
	c.Results = append(c.Results, result)
}

// configResult appends a result about the functionConfig.
func (c *Call) configResult(severity fn.Severity, field, format string, args ...any) {
	c.add(severity, nil, field, format, args...)
	if c.Config == nil {
		return
	}
	root := c.Config.YNode()
	c.Results[len(c.Results)-1].ResourceRef = &fn.ResourceRef{
		APIVersion: yamltree.Text(root, "apiVersion"), Kind: yamltree.Text(root, "kind"),
		Name: yamltree.Text(root, "metadata", "name"), Namespace: yamltree.Text(root, "metadata", "namespace"),
	}
}

// number is a count with its noun.
func number(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// foldedNames is how many resources a folded warning names.
const foldedNames = 3

// fold makes one warning of equal warnings about different resources: the first one, with
// their number and some names.
func (c *Call) fold() {
	type equal struct{ message, field string }
	first, others := map[equal]*fn.Result{}, map[*fn.Result][]string{}
	c.Results = slices.DeleteFunc(c.Results, func(r *fn.Result) bool {
		if r.Severity != fn.Warning || r.ResourceRef == nil {
			return false
		}
		key := equal{message: r.Message}
		if r.Field != nil {
			key.field = r.Field.Path
		}
		kept := first[key]
		if kept == nil {
			first[key] = r
			return false
		}
		others[kept] = append(others[kept], r.ResourceRef.Kind+" "+r.ResourceRef.Name)
		return true
	})
	for r, names := range others {
		text := strings.Join(names[:min(len(names), foldedNames)], ", ")
		if more := len(names) - foldedNames; more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
		r.Message += fmt.Sprintf(" (the same for %s: %s)", number(len(names), "other resource"), text)
	}
}

// failed says whether a result of severity error is there.
func (c *Call) failed() bool { return c.Results.ExitCode() != 0 }

// configIssues turns what api found in the functionConfig into results.
func (c *Call) configIssues(report api.Report) {
	for _, i := range report.Errors {
		c.configResult(fn.Error, i.Field, "functionConfig: %s", withHint(i))
	}
	for _, i := range report.Warnings {
		c.configResult(fn.Warning, i.Field, "functionConfig: %s", withHint(i))
	}
}

// issues turns what api found in a resource into results.
func (c *Call) issues(r *krm.Resource, report api.Report) {
	for _, i := range report.Errors {
		c.add(fn.Error, r, i.Field, "%s", withHint(i))
	}
	for _, i := range report.Warnings {
		c.add(fn.Warning, r, i.Field, "%s", withHint(i))
	}
}

func withHint(i api.Issue) string {
	if i.Hint == "" {
		return i.Message
	}
	return i.Message + " (hint: " + i.Hint + ")"
}

// mistakes turns the errors of mutate and injector into results, one each.
func (c *Call) mistakes(err error) {
	for _, e := range mutate.Split(err) {
		var points *injection.PointsError
		var at *mutate.Error
		switch {
		case errors.As(e, &points):
			c.pointProblems(points.Problems)
		case errors.As(e, &at) && at.File == "":
			c.configResult(fn.Error, at.Field, "%v", at.Err)
		case errors.As(e, &at):
			c.add(fn.Error, resourceAt(c.Package, at.File), at.Field, "%v", at.Err)
			c.Results[len(c.Results)-1].File = &fn.File{Path: at.File}
		default:
			c.add(fn.Error, nil, "", "%v", e)
		}
	}
}

func (c *Call) pointProblems(problems []injection.Problem) {
	for _, p := range problems {
		message := strings.TrimPrefix(p.Message, p.File+": ") // the result names the file
		if rest, ok := strings.CutPrefix(message, p.File+" "); ok {
			message = "the file " + rest
		}
		c.add(fn.Error, nil, p.Field, "%s", message)
		last := c.Results[len(c.Results)-1]
		last.File = &fn.File{Path: p.File, Index: p.Index}
		if p.Kind != "" {
			last.ResourceRef = &fn.ResourceRef{APIVersion: p.APIVersion, Kind: p.Kind, Name: p.Name, Namespace: p.Namespace}
		}
	}
}

// resourceAt is the first resource of a file, nil where it has none.
func resourceAt(p *krm.Package, file string) *krm.Resource {
	for _, r := range p.Resources() {
		if r.Path() == file {
			return r
		}
	}
	return nil
}

// lists reports Lists among the resources, and whether there are any: a function reads items of the ResourceList, not
// what an item contains.
func (c *Call) lists() (found bool) {
	for _, r := range c.Resources() {
		n := len(yamltree.Items(r.Node().YNode(), "items"))
		if n > 0 && strings.HasSuffix(r.Kind(), "List") {
			c.add(fn.Error, r, "items", "a function does not read what a %s contains (%s); write each as a resource of its own", r.Kind(), number(n, "resource"))
			found = true
		}
	}
	return found
}

// options reads a functionConfig that is absent or a ConfigMap whose data has
// only the keys given; every mistake is a result.
func (c *Call) options(keys ...string) map[string]string {
	if empty(c.Config) {
		return nil
	}
	root := c.Config.YNode()
	if v, k := yamltree.Text(root, "apiVersion"), yamltree.Text(root, "kind"); k != "ConfigMap" || v != "v1" {
		c.configResult(fn.Error, "kind", "functionConfig: it is %s %s and must be a v1 ConfigMap, or left out", v, k)
		return nil
	}
	data := yamltree.Child(root, "data")
	if yamltree.IsNull(data) {
		return nil
	}
	if data.Kind != yaml.MappingNode {
		c.configResult(fn.Error, "data", "functionConfig: data must be a map of strings")
		return nil
	}
	out := map[string]string{}
	for k, v := range yamltree.Fields(data) {
		key, value := k.Value, yamltree.Deref(v)
		switch {
		case !contains(keys, key):
			c.configResult(fn.Error, "data."+key, "functionConfig: unknown option %q; there are %q", key, keys)
		case value.Kind != yaml.ScalarNode:
			c.configResult(fn.Error, "data."+key, "functionConfig: option %q must be a text", key)
		default:
			out[key] = value.Value
		}
	}
	return out
}

// boolean reads an option that is "true" or "false"; absent is false.
func (c *Call) boolean(options map[string]string, key string) bool {
	switch v, ok := options[key]; {
	case !ok || v == "false":
		return false
	case v == "true":
		return true
	default:
		c.configResult(fn.Error, "data."+key, "functionConfig: option %q is %q and must be \"true\" or \"false\"", key, v)
		return false
	}
}

func contains(list []string, s string) bool {
	for _, e := range list {
		if e == s {
			return true
		}
	}
	return false
}

// empty says whether no functionConfig was given; kpt stands in a ConfigMap
// without data, the SDK an empty map.
func empty(config *yaml.RNode) bool {
	return config == nil || config.IsNil() || len(config.YNode().Content) == 0
}
