package catalogfn

import (
	"context"
	"fmt"
	"sync"

	"sigs.k8s.io/kustomize/api/filters/replacement"
	"sigs.k8s.io/kustomize/api/types"
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
	if err := replace(doc.Replacements, nodes); err != nil {
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
func replace(replacements []types.Replacement, nodes []*yaml.RNode) (err error) {
	openAPI.Lock()
	defer openAPI.Unlock()
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("replacements cannot be applied: %v", v)
		}
	}()
	_, err = replacement.Filter{Replacements: replacements}.Filter(nodes)
	return err
}
