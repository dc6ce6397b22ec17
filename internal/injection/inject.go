package injection

import (
	"errors"
	"fmt"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/yamltree"
)

// The places that new keys take, as kpt writes them.
var (
	resourceOrder = []string{"apiVersion", "kind", "metadata", "spec", "data", "binaryData", "stringData", "status"}
	metadataOrder = []string{"name", "namespace", "labels", "annotations"}
	kptfileOrder  = []string{"apiVersion", "kind", "metadata", "upstream", "upstreamLock", "info", "pipeline", "inventory", "status"}
)

// ErrNoKptfile is returned where a package has injection points but no root
// Kptfile to hold their conditions.
var ErrNoKptfile = errors.New("the package has injection points but no Kptfile at its root; run \"kpt pkg init\" there")

// Inject finds the injection points of a package, injects what the request
// selects and writes conditions and readiness gates into the root Kptfile. A
// point that nothing matched gets a condition False and is no error. On an
// error (*PointsError, ErrNoKptfile, a Kptfile whose info or status has no
// usable shape) nothing was changed.
//
// A second run with the same request changes no byte.
func Inject(p *krm.Package, req Request) (*Report, error) {
	return InjectInto(p, Find(p), req)
}

// InjectInto is Inject for points that Find or FindIn returned for p.
func InjectInto(p *krm.Package, points []Point, req Request) (*Report, error) {
	if err := check(p, points); err != nil {
		return nil, err
	}
	report := Select(points, req)
	kptfile := p.Kptfile(req.Dir)
	if kptfile == nil {
		if len(points) > 0 {
			return nil, ErrNoKptfile
		}
		return report, nil
	}
	if err := setStatus(kptfile, report, req); err != nil {
		return nil, fmt.Errorf("%s: %w", kptfile.Path(), err)
	}
	var errs []error
	for i := range report.Outcomes {
		o := &report.Outcomes[i]
		if o.Object == nil {
			continue
		}
		if err := o.write(req.Context); err != nil {
			errs = append(errs, fmt.Errorf("%s: %s/%s: %w", o.File, o.Kind, o.Name, err))
		}
	}
	return report, errors.Join(errs...)
}

// check lists all that makes injection impossible before anything changes.
func check(p *krm.Package, points []Point) error {
	var all PointsError
	var bad *PointsError
	if errors.As(Validate(points), &bad) {
		all = *bad
	}
	all.Problems = append(all.Problems, unreadable(p)...)
	for i := range points {
		if message := points[i].unusable(); message != "" {
			all.Problems = append(all.Problems, points[i].problem("metadata.annotations", message))
		}
	}
	if len(all.Problems) == 0 {
		return nil
	}
	return &all
}

// unusable says why nothing can be written into a point, "" where it can.
func (p *Point) unusable() string {
	if p.resource == nil {
		return fmt.Sprintf("%s: %s/%s: the point was not found in this package", p.File, p.Kind, p.Name)
	}
	if a := yamltree.Path(p.resource.Node().YNode(), "metadata", "annotations"); a == nil || a.Kind != yaml.MappingNode {
		return fmt.Sprintf("%s: %s/%s: metadata.annotations must be a map", p.File, p.Kind, p.Name)
	}
	return ""
}

// write puts the chosen object into the point's resource.
func (o *Outcome) write(c *Context) error {
	ref := o.Object
	k := key{ref.Namespace, ref.Group, ref.Version, ref.Kind, ref.Name}
	value := c.get(k).read().value
	changed, err := o.resource.Modify(func(root *yaml.Node) error {
		overwrite(root, k.field(), yaml.CopyYNode(value))
		annotations := yamltree.Ensure(yamltree.Ensure(root, resourceOrder, "metadata"), metadataOrder, "annotations")
		yamltree.SetString(annotations, nil, AnnotationInjectedName, ref.Name)
		yamltree.SetString(annotations, nil, AnnotationInjected, ref.Name)
		return nil
	})
	o.Changed = changed
	return err
}

// overwrite makes a field mean value. Entries that are the same already keep
// their lines and comments.
func overwrite(root *yaml.Node, field string, value *yaml.Node) {
	have := yamltree.Child(root, field)
	switch {
	case have == nil:
		yamltree.Set(root, resourceOrder, field, value)
	case yamltree.SameValue(have, value):
	case have.Kind == yaml.MappingNode && value.Kind == yaml.MappingNode && len(have.Content) > 0 && len(value.Content) > 0:
		yamltree.Assign(yamltree.Ensure(root, resourceOrder, field), value, nil)
	default:
		yamltree.Set(root, resourceOrder, field, value)
	}
}

// setStatus writes the conditions of all points and the gates of the required
// ones. Both lists are sorted by type, as Porch writes them.
func setStatus(kptfile *krm.Resource, report *Report, req Request) error {
	if len(report.Outcomes) == 0 && len(yamltree.Items(kptfile.Node().YNode(), "status", "conditions")) == 0 {
		return nil // a trial would cost a copy
	}
	_, err := kptfile.ModifyFields(func(root *yaml.Node) error {
		if req.DropStale {
			dropStaleStatus(root, report)
		}
		if len(report.Outcomes) == 0 {
			return nil
		}
		return errors.Join(setGates(root, report), setConditions(root, report, req.KeepInjected))
	}, "info", "status")
	return err
}

func setGates(root *yaml.Node, report *Report) error {
	var missing []*yaml.Node
	have := yamltree.Path(root, "info", "readinessGates")
	known := byText(have, "conditionType")
	for i := range report.Outcomes {
		o := &report.Outcomes[i]
		if o.Required && known[o.ConditionType] == nil {
			gate := yamltree.Map()
			yamltree.SetString(gate, nil, "conditionType", o.ConditionType)
			missing = append(missing, gate)
		}
	}
	if len(missing) == 0 && have == nil {
		return nil
	}
	info := yamltree.Ensure(root, kptfileOrder, "info")
	if info == nil {
		return errors.New("info must be a map")
	}
	gates := yamltree.EnsureSeq(info, nil, "readinessGates")
	if gates == nil {
		return errors.New("info.readinessGates must be a list")
	}
	gates.Content = append(gates.Content, missing...)
	yamltree.SortBy(gates, func(n *yaml.Node) string { return yamltree.Text(n, "conditionType") })
	return nil
}

func setConditions(root *yaml.Node, report *Report, keep bool) error {
	status := yamltree.Ensure(root, kptfileOrder, "status")
	if status == nil {
		return errors.New("status must be a map")
	}
	conditions := yamltree.EnsureSeq(status, []string{"conditions", "renderStatus"}, "conditions")
	if conditions == nil {
		return errors.New("status.conditions must be a list")
	}
	known := byText(conditions, "type")
	for i := range report.Outcomes {
		o := &report.Outcomes[i]
		c := known[o.ConditionType]
		if keep && !o.Injected() && yamltree.Text(c, "reason") == ReasonInjected {
			continue
		}
		if c == nil {
			conditions.Content = append(conditions.Content, o.condition())
			continue
		}
		yamltree.Assign(c, o.condition(), conditionOrder)
	}
	yamltree.SortBy(conditions, func(n *yaml.Node) string { return yamltree.Text(n, "type") })
	return nil
}

var conditionOrder = []string{"type", "status", "message", "reason"}

func (o *Outcome) condition() *yaml.Node {
	status := "False"
	if o.Injected() {
		status = "True"
	}
	c := yamltree.Map()
	for i, text := range []string{o.ConditionType, status, o.Message, o.Reason} {
		yamltree.SetString(c, conditionOrder, conditionOrder[i], text)
	}
	return c
}

// byText indexes the mappings of a list by a text of theirs, the first of each.
func byText(seq *yaml.Node, key string) map[string]*yaml.Node {
	out := map[string]*yaml.Node{}
	if seq == nil || seq.Kind != yaml.SequenceNode {
		return out
	}
	for _, n := range seq.Content {
		if text := yamltree.Text(n, key); out[text] == nil && n.Kind == yaml.MappingNode {
			out[text] = n
		}
	}
	return out
}

// dropStaleStatus removes what an injection wrote about points that are gone.
func dropStaleStatus(root *yaml.Node, report *Report) {
	current := map[string]bool{}
	for i := range report.Outcomes {
		current[report.Outcomes[i].ConditionType] = true
	}
	dropGates(root, DropConditions(root, func(conditionType string) bool { return !current[conditionType] }))
}

// DropConditions removes from a Kptfile's tree the conditions that an injection
// wrote, known by their prefix and their reason, and that drop says to; it
// returns their types. A list and a status left empty go too. Gates stay.
func DropConditions(root *yaml.Node, drop func(conditionType string) bool) map[string]bool {
	gone := map[string]bool{}
	status := yamltree.Child(root, "status")
	conditions := yamltree.Child(status, "conditions")
	if conditions == nil || conditions.Kind != yaml.SequenceNode {
		return gone
	}
	n := yamltree.DeleteFunc(conditions, func(c *yaml.Node) bool {
		t, reason := yamltree.Text(c, "type"), yamltree.Text(c, "reason")
		ours := strings.HasPrefix(t, ConditionPrefix) && (reason == ReasonInjected || reason == ReasonNotSelected)
		if ours && drop(t) {
			gone[t] = true
		}
		return gone[t]
	})
	if n > 0 {
		yamltree.RemoveEmpty(status, "conditions")
		yamltree.RemoveEmpty(root, "status")
	}
	return gone
}

func dropGates(root *yaml.Node, gone map[string]bool) {
	info := yamltree.Child(root, "info")
	gates := yamltree.Child(info, "readinessGates")
	if len(gone) == 0 || gates == nil || gates.Kind != yaml.SequenceNode {
		return
	}
	if yamltree.DeleteFunc(gates, func(g *yaml.Node) bool { return gone[yamltree.Text(g, "conditionType")] }) > 0 {
		yamltree.RemoveEmpty(info, "readinessGates")
		yamltree.RemoveEmpty(root, "info")
	}
}
