package wiring

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/mutate"
	"github.com/variform/variform/internal/yamltree"
)

// ConditionPrefix begins the type of each gate's condition, followed by its
// name, as the injector's config.injection does.
const ConditionPrefix = "config.wiring."

// The reasons of a condition whose Gate has none.
const (
	ReasonWired = "ValueWired" // status True
	ReasonWaits = "ValueWaits" // status False
)

// Gate is a value that a package needs before it is ready.
type Gate struct {
	Name            string // the parameter's
	Met             bool
	Reason, Message string // of the condition; an empty reason is ReasonWired or ReasonWaits
}

// The places that new keys take, as kpt writes them.
var (
	kptfileKeys   = []string{"apiVersion", "kind", "metadata", "upstream", "upstreamLock", "info", "pipeline", "inventory", "status"}
	conditionKeys = []string{"type", "status", "message", "reason"}
)

// SetGates makes gates the only ones of wiring in the root Kptfile: a condition
// and a readiness gate each, at their place by type. Those of earlier runs that
// are not among them go; nothing else moves. With none and none there before it
// changes nothing. It fails where two gates have one name or one has none,
// where there is no Kptfile, or where its info or status has no usable shape.
func SetGates(p *krm.Package, gates []Gate) error {
	kptfile, err := mutate.Kptfile(p, "")
	if err != nil {
		return err
	}
	conditions, types, err := conditionsOf(gates)
	if err != nil {
		return err
	}
	root := kptfile.Node().YNode()
	if len(gates) == 0 && yamltree.IsNull(yamltree.Path(root, "info", "readinessGates")) && yamltree.IsNull(yamltree.Path(root, "status", "conditions")) {
		return nil // a trial would cost a copy
	}
	_, err = kptfile.Modify(func(root *yaml.Node) error {
		return errors.Join(
			setList(root, "info", "readinessGates", "conditionType", types, func(string) *yaml.Node { return yamltree.Map() }),
			setList(root, "status", "conditions", "type", types, func(t string) *yaml.Node { return conditions[t] }),
		)
	})
	if err != nil {
		return fmt.Errorf("%s: %w", kptfile.Path(), err)
	}
	return nil
}

// conditionsOf are the conditions by type, and their types in order.
func conditionsOf(gates []Gate) (map[string]*yaml.Node, []string, error) {
	out := make(map[string]*yaml.Node, len(gates))
	var errs []error
	for i := range gates {
		g := &gates[i]
		t := ConditionPrefix + g.Name
		switch {
		case g.Name == "":
			errs = append(errs, fmt.Errorf("gate %d has no name", i))
		case out[t] != nil:
			errs = append(errs, fmt.Errorf("gate %s is there twice", g.Name))
		}
		out[t] = g.condition(t)
	}
	return out, slices.Sorted(maps.Keys(out)), errors.Join(errs...)
}

func (g *Gate) condition(conditionType string) *yaml.Node {
	status, reason := "False", ReasonWaits
	if g.Met {
		status, reason = "True", ReasonWired
	}
	if g.Reason != "" {
		reason = g.Reason
	}
	c := yamltree.Map()
	yamltree.SetString(c, nil, "type", conditionType)
	yamltree.SetString(c, nil, "status", status)
	if g.Message != "" {
		yamltree.SetString(c, nil, "message", g.Message)
	}
	yamltree.SetString(c, nil, "reason", reason)
	return c
}

// setList makes wiring's items of a list be those of types, each with the
// fields of want besides its type.
func setList(root *yaml.Node, section, list, key string, types []string, want func(string) *yaml.Node) error {
	have := yamltree.Path(root, section, list)
	if len(types) == 0 && yamltree.IsNull(have) {
		return nil
	}
	parent := yamltree.Ensure(root, kptfileKeys, section)
	if parent == nil {
		return fmt.Errorf("%s must be a map", section)
	}
	seq := yamltree.EnsureSeq(parent, []string{"conditions", "renderStatus"}, list)
	if seq == nil {
		return fmt.Errorf("%s.%s must be a list", section, list)
	}
	wanted := make(map[string]bool, len(types))
	for _, t := range types {
		wanted[t] = true
	}
	known := map[string]*yaml.Node{}
	dropped := yamltree.DeleteFunc(seq, func(n *yaml.Node) bool {
		t := yamltree.Text(n, key)
		if !strings.HasPrefix(t, ConditionPrefix) {
			return false
		}
		if !wanted[t] || known[t] != nil {
			return true
		}
		known[t] = n
		return false
	})
	for _, t := range types {
		item := want(t)
		yamltree.SetString(item, conditionKeys, key, t)
		if n := known[t]; n != nil {
			yamltree.Assign(n, item, conditionKeys)
			continue
		}
		insert(seq, key, t, item)
	}
	if dropped > 0 {
		yamltree.RemoveEmpty(parent, list)
		yamltree.RemoveEmpty(root, section)
	}
	return nil
}

// insert puts an item before the first of a greater type, so that a list that
// the injector sorted stays sorted.
func insert(seq *yaml.Node, key, t string, item *yaml.Node) {
	at := len(seq.Content)
	for i, n := range seq.Content {
		if yamltree.Text(n, key) > t {
			at = i
			break
		}
	}
	seq.Content = append(seq.Content[:at:at], append([]*yaml.Node{item}, seq.Content[at:]...)...)
}
