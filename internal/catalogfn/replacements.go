package catalogfn

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"sigs.k8s.io/kustomize/api/filters/replacement"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/resid"
	"sigs.k8s.io/kustomize/kyaml/yaml"
	k8syaml "sigs.k8s.io/yaml"

	"github.com/variform/variform/internal/function"
	"github.com/variform/variform/internal/yamltree"
)

// openAPI serialises what reads kyaml's global schema.
var openAPI sync.Mutex

// ApplyReplacements copies values between fields as kustomize's replacements do.
// Config: an ApplyReplacements with `replacements`.
func ApplyReplacements(_ context.Context, c *function.Call) error {
	cfg := config(c)
	if !isConfigKind(cfg, "ApplyReplacements") {
		wrongConfig(c, cfg, "a "+configAPIVersion+" ApplyReplacements")
		return nil
	}
	var doc struct {
		Replacements []types.Replacement `json:"replacements"`
	}
	s, err := c.Config.String()
	if err == nil {
		err = k8syaml.Unmarshal([]byte(s), &doc)
	}
	if err != nil {
		c.Results.Errorf("functionConfig: replacements: %v", err)
		return nil
	}
	resources := c.Resources()
	nodes := make([]*yaml.RNode, len(resources))
	for i, r := range resources {
		nodes[i] = r.Node().Copy()
	}
	if err := replace(c, doc.Replacements, nodes); err != nil {
		c.Results.Errorf("%v", err)
		return nil
	}
	n := 0
	for i, r := range resources {
		if !yamltree.SameValue(r.Node().YNode(), nodes[i].YNode()) {
			r.Replace(nodes[i])
			n++
		}
	}
	c.Results.Infof("%d resource(s) changed", n)
	return nil
}

// replace runs the library, which is known to panic on some empty fields.
func replace(c *function.Call, replacements []types.Replacement, nodes []*yaml.RNode) error {
	openAPI.Lock()
	defer openAPI.Unlock()
	before, scalars := measure(nodes)
	for _, r := range replacements { // one by one: the call may have to end in between
		c.Work(steps(r, len(nodes), scalars))
		if delimits(r) {
			c.Spend(len(sourceOf(r, nodes)) * scalars / delimited)
		}
		if err := filter(r, nodes); err != nil {
			return err
		}
		c.Spend(0)
	}
	after, _ := measure(nodes)
	c.Spend(max(0, after-before))
	return nil
}

// The steps that a replacement takes, in the unit of function.Call.Work, for which
// a regular expression's step is the measure: to look whether a target selects a
// resource, and to find a field of one that it selects.
const (
	stepsToSelect = 16
	stepsToFind   = 128
)

// steps is how many a replacement takes at most: the library cannot be ended while
// it is at one.
func steps(r types.Replacement, nodes, scalars int) (n int) {
	for _, t := range r.Targets {
		if t == nil {
			continue
		}
		n += nodes * stepsToSelect
		for _, p := range t.FieldPaths {
			if strings.Contains(p, "*") {
				n += scalars * stepsToFind
			} else {
				n += nodes * stepsToFind
			}
		}
	}
	return n
}

func filter(r types.Replacement, nodes []*yaml.RNode) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("replacements cannot be applied: %v", v)
		}
	}()
	_, err = replacement.Filter{Replacements: []types.Replacement{r}}.Filter(nodes)
	return err
}

// delimited is how many scalars there are, about, for one that a replacement with
// a delimiter finds. Only there each target is a text of its own.
const delimited = 8

func delimits(r types.Replacement) bool {
	return slices.ContainsFunc(r.Targets, func(t *types.TargetSelector) bool {
		return t != nil && t.Options != nil && t.Options.Delimiter != ""
	})
}

// sourceOf is the value that a replacement copies, "" where it finds none: the
// library says why.
func sourceOf(r types.Replacement, nodes []*yaml.RNode) string {
	const name = "variform-source"
	probe, err := yaml.Parse("apiVersion: variform.dev/v1alpha1\nkind: " + name + "\nmetadata: {name: " + name + "}\n")
	if err != nil {
		return ""
	}
	r.Targets = []*types.TargetSelector{{
		Select:     &types.Selector{ResId: resid.ResId{Name: name, Gvk: resid.Gvk{Kind: name}}},
		FieldPaths: []string{"value"}, Options: &types.FieldOptions{Create: true},
	}}
	if filter(r, append(slices.Clone(nodes), probe)) != nil {
		return ""
	}
	return yamltree.Text(probe.YNode(), "value")
}

// measure says how many bytes trees take, and how many scalars they have.
func measure(nodes []*yaml.RNode) (bytes, scalars int) {
	for _, n := range nodes {
		bytes += size(n.YNode())
		scalars += leaves(n.YNode())
	}
	return bytes, scalars
}

func leaves(n *yaml.Node) int {
	if len(n.Content) == 0 {
		return 1
	}
	total := 0
	for _, e := range n.Content {
		total += leaves(e)
	}
	return total
}
