package function

import (
	"context"
	"fmt"

	"github.com/kptdev/krm-functions-sdk/go/fn"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/api"
	configv1alpha1 "github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/internal/injection"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/mutate"
	"github.com/variform/variform/internal/yamltree"
)

// ApplyVariant makes a PackageVariant's mutations, its functionConfig, on a
// package: package context, pipeline, injection
// (docs/design/hydration-and-update.md, steps 2 to 4). Context objects among
// the resources are used and left as they are. After an error result the
// package may be changed in part.
func ApplyVariant(_ context.Context, c *Call) error {
	defer c.fold()
	config := c.config(configv1alpha1.KindPackageVariant)
	pv, ok := config.(*configv1alpha1.PackageVariant)
	in := c.injection(nil)
	if !ok || c.failed() {
		return nil
	}
	before := map[*krm.Resource]*yaml.Node{}
	for _, r := range c.Package.Resources() {
		before[r] = r.Node().YNode()
	}
	report, err := mutate.Apply(c.Package, pv, mutate.Options{Dir: c.Dir, Context: in.objects, Points: in.points})
	c.mistakes(err)
	c.report(report)
	added, changed := 0, 0
	for _, r := range c.Package.Resources() {
		switch was, ok := before[r]; {
		case !ok:
			added++
		case was != r.Node().YNode() && !yamltree.SameText(was, r.Node().YNode()):
			changed++
		}
	}
	c.add(fn.Info, nil, "", "PackageVariant %s: %s added, %d changed", pv.Name, number(added, "resource"), changed)
	return nil
}

// InjectConfig fills injection points alone; its functionConfig is an
// InjectConfig or a PackageVariant, of which only namespace and injectors count.
func InjectConfig(_ context.Context, c *Call) error {
	defer c.fold()
	req, inline := injection.Request{Dir: c.Dir}, []injection.Object(nil)
	switch config := c.config(v1alpha1.KindInjectConfig, configv1alpha1.KindPackageVariant).(type) {
	case *v1alpha1.InjectConfig:
		req.Namespace, req.Injectors, req.KeepInjected = config.Namespace, config.Injectors, true
		for i, node := range config.Resources {
			inline = append(inline, injection.Object{Node: node, Origin: fmt.Sprintf("functionConfig resources[%d]", i)})
		}
	case *configv1alpha1.PackageVariant:
		req.Namespace, req.Injectors = config.Namespace, config.Spec.Injectors
	}
	in := c.injection(inline)
	if c.failed() {
		return nil
	}
	req.Context = in.objects
	report, err := injection.InjectInto(c.Package, in.points, req)
	c.mistakes(err)
	c.report(report)
	return nil
}

// config reads a functionConfig of one of the kinds; nil with error results
// where it is none of them or wrong.
func (c *Call) config(kinds ...string) any {
	if empty(c.Config) {
		c.configResult(fn.Error, "", "functionConfig: one of kind %s is needed; give it as the function's configPath", kinds[0])
		return nil
	}
	if kind := c.Config.GetKind(); !contains(kinds, kind) {
		c.configResult(fn.Error, "kind", "functionConfig: its kind is %q and must be one of %q", kind, kinds)
		return nil
	}
	obj, report := api.ParseNode(c.Config)
	c.configIssues(report)
	if report.Err() != nil {
		return nil
	}
	return obj
}

// input is what the injecting functions take from their resources.
type input struct {
	objects *injection.Context
	points  []injection.Point
}

// injection separates context objects from the package's resources; its
// mistakes are results.
func (c *Call) injection(objects []injection.Object) input {
	var own []*krm.Resource
	for _, r := range c.Resources() {
		switch v, ok := r.Annotation(v1alpha1.ContextAnnotation); {
		case !ok || v == "false":
			own = append(own, r)
		case v == "true":
			objects = append(objects, injection.Object{Node: r.Node(), Origin: r.Path()})
		default:
			c.add(fn.Error, r, "metadata.annotations["+v1alpha1.ContextAnnotation+"]",
				"annotation %s is %q and must be \"true\" on context objects, and absent elsewhere", v1alpha1.ContextAnnotation, v)
		}
	}
	index, err := injection.NewContext(objects)
	for _, e := range mutate.Split(err) {
		c.add(fn.Error, nil, "", "%v", e)
	}
	points := injection.FindIn(own)
	if points == nil {
		points = []injection.Point{}
	}
	return input{objects: index, points: points}
}

// report adds a result for each point, and one with their numbers.
func (c *Call) report(report *injection.Report) {
	if report == nil {
		return
	}
	filled := 0
	defer func() {
		c.add(fn.Info, nil, "", "%s: %d filled, %d not", number(len(report.Outcomes), "injection point"), filled, len(report.Outcomes)-filled)
	}()
	for i := range report.Outcomes {
		o := &report.Outcomes[i]
		severity := fn.Info
		if !o.Injected() && o.Required {
			severity = fn.Warning
		}
		message := o.Message
		if o.Injected() {
			filled++
			message = fmt.Sprintf("filled from %s %s (%s)", o.Object.Kind, o.Object.Name, o.Object.Origin)
		}
		c.add(severity, nil, "", "%s: %s", o.ConditionType, message)
		last := c.Results[len(c.Results)-1]
		last.ResourceRef = &fn.ResourceRef{APIVersion: o.APIVersion, Kind: o.Kind, Name: o.Name, Namespace: o.Namespace}
		last.File = &fn.File{Path: o.File, Index: o.Index}
	}
}
