package catalogfn

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
	"go.starlark.net/syntax"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/catalogfn/carry"
	"github.com/variform/variform/internal/function"
	"github.com/variform/variform/internal/krm"
)

const (
	// maxSteps bounds a script's work: a few seconds of computing.
	maxSteps = 100_000_000
	// maxValues bounds what a script may leave in its items.
	maxValues = 5_000_000
)

// dialect are the language features that the catalogue's function allows.
var dialect = &syntax.FileOptions{Set: true, While: true, TopLevelControl: true, GlobalReassign: true, Recursion: true}

// Starlark runs a script on the resources: ctx.resource_list["items"] and
// ctx.resource_list["functionConfig"]. fail() fails the function, print() adds
// to its results. A script has no environment (ctx.environment is empty), no
// network and no clock, a bounded number of steps, and of the catalogue's
// libraries those that need none of these. Config: a StarlarkRun with `source`
// and `params`, or a ConfigMap with `source`.
func Starlark(ctx context.Context, c *function.Call) error {
	name, source, ok := starlarkConfig(c)
	if !ok {
		return nil
	}
	s := &script{call: c}
	list, err := s.resourceList()
	if err != nil {
		c.Results.Errorf("%v", err)
		return nil
	}
	if err := s.exec(ctx, name, source, list); err != nil {
		return s.failed(ctx, err)
	}
	if err := s.apply(list); err != nil {
		c.Results.Errorf("%v", err)
	}
	return nil
}

func starlarkConfig(c *function.Call) (name, source string, ok bool) {
	cfg := config(c)
	field := "source"
	switch {
	case text(cfg, "kind") == "ConfigMap" && !strings.Contains(text(cfg, "apiVersion"), "/"):
		source, field = text(cfg, "data", "source"), "data.source"
	case text(cfg, "kind") == "StarlarkRun" && strings.HasPrefix(text(cfg, "apiVersion"), "fn.kpt.dev/"):
		source = text(cfg, "source")
	default:
		wrongConfig(c, cfg, "a v1 ConfigMap", "a "+configAPIVersion+" StarlarkRun")
		return "", "", false
	}
	if source == "" {
		c.Results.Errorf("functionConfig: %s is empty; give the script", field)
		return "", "", false
	}
	name = text(cfg, "metadata", "name")
	if name == "" {
		name = "starlark-function-run"
	}
	return name, source, true
}

type script struct {
	call *function.Call
}

// resourceList is the ResourceList as values; items carry their places in the
// annotations that kpt sets.
func (s *script) resourceList() (*starlark.Dict, error) {
	resources := s.call.Resources()
	items := make([]starlark.Value, len(resources))
	for i, r := range resources {
		v, err := toValue(r.Node().YNode())
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.Path(), err)
		}
		d, ok := v.(*starlark.Dict)
		if !ok {
			return nil, fmt.Errorf("%s: not a mapping", r.Path())
		}
		s.annotate(d, i, r)
		items[i] = d
	}
	list := starlark.NewDict(4)
	set(list, "apiVersion", starlark.String("config.kubernetes.io/v1"))
	set(list, "kind", starlark.String("ResourceList"))
	set(list, "items", starlark.NewList(items))
	cfg, err := toValue(config(s.call))
	if err != nil {
		return nil, fmt.Errorf("functionConfig: %w", err)
	}
	set(list, "functionConfig", cfg)
	return list, nil
}

func set(d *starlark.Dict, key string, v starlark.Value) {
	_ = d.SetKey(starlark.String(key), v) // neither frozen nor being iterated here
}

// The annotations that carry an item's identity and place.
const (
	itemID    = "internal.config.kubernetes.io/id"
	itemPath  = "internal.config.kubernetes.io/path"
	itemIndex = "internal.config.kubernetes.io/index"
)

func (s *script) annotate(d *starlark.Dict, i int, r *krm.Resource) {
	ann := child(child(d, "metadata"), "annotations")
	if ann == nil {
		return
	}
	for _, kv := range [][2]string{{itemID, strconv.Itoa(i + 1)}, {itemPath, r.Path()}, {itemIndex, strconv.Itoa(r.Index())}} {
		set(ann, kv[0], starlark.String(kv[1]))
	}
}

// child is the dict at key, made where it is missing or None.
func child(d *starlark.Dict, key string) *starlark.Dict {
	if d == nil {
		return nil
	}
	v, found, _ := d.Get(starlark.String(key))
	if !found || v == starlark.None {
		v = starlark.NewDict(1)
		set(d, key, v)
	}
	sub, _ := v.(*starlark.Dict)
	return sub
}

func (s *script) exec(ctx context.Context, name, source string, list *starlark.Dict) error {
	thread := &starlark.Thread{
		Name:  name,
		Load:  loadLibrary,
		Print: func(_ *starlark.Thread, msg string) { s.call.Results.Infof("print: %s", msg) },
	}
	thread.SetMaxExecutionSteps(maxSteps)
	defer context.AfterFunc(ctx, func() { thread.Cancel(ctx.Err().Error()) })()
	predeclared := starlark.StringDict{"ctx": starlarkstruct.FromStringDict(starlarkstruct.Default, starlark.StringDict{
		"resource_list": list,
		"environment":   starlark.NewDict(0),
	})}
	_, err := starlark.ExecFileOptions(dialect, thread, name, source, predeclared)
	return err
}

// failed turns a script's failure into a result.
func (s *script) failed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	msg := err.Error()
	var eval *starlark.EvalError
	if errors.As(err, &eval) {
		if at := eval.CallStack.At(0); len(eval.CallStack) > 0 && at.Pos.Line > 0 {
			msg = fmt.Sprintf("%s (%s)", eval.Msg, at.Pos)
		} else if len(eval.CallStack) > 1 {
			msg = fmt.Sprintf("%s (%s)", eval.Msg, eval.CallStack.At(1).Pos)
		}
	}
	s.call.Results.Errorf("%s", msg)
	return nil
}

// apply brings the items back: only what differs is changed.
func (s *script) apply(list *starlark.Dict) error {
	v, _, _ := list.Get(starlark.String("items"))
	items, ok := v.(starlark.Iterable)
	if !ok {
		return errors.New(`ctx.resource_list["items"] is no list after the script ran`)
	}
	resources := s.call.Resources()
	seen := make([]bool, len(resources))
	var added []*yaml.Node
	budget := maxValues
	it := items.Iterate()
	defer it.Done()
	var e starlark.Value
	for i := 0; it.Next(&e); i++ {
		n, err := toNode(e, &budget)
		if err != nil {
			return fmt.Errorf("items[%d]: %w", i, err)
		}
		at := itemIdentity(n)
		if at < 0 || at >= len(resources) || seen[at] {
			added = append(added, n)
			continue
		}
		seen[at] = true
		r := resources[at]
		clean(n, r.Node().YNode())
		if carry.Differs(r.Node().YNode(), n) {
			carry.Over(r.Edit().YNode(), n)
		}
	}
	for i, r := range resources {
		if !seen[i] {
			r.Delete()
		}
	}
	return s.add(added)
}

func (s *script) add(nodes []*yaml.Node) error {
	for _, n := range nodes {
		if text(n, "apiVersion") == "" || text(n, "kind") == "" || text(n, "metadata", "name") == "" {
			return errors.New("the script added an item without apiVersion, kind or metadata.name")
		}
		target := text(n, "metadata", "annotations", itemPath)
		if target == "" {
			target = text(n, "metadata", "annotations", "config.kubernetes.io/path")
		}
		clean(n, nil)
		if target == "" {
			target = DefaultPath(n)
		}
		s.call.Package.Add(target, yaml.NewRNode(n))
	}
	return nil
}

// itemIdentity is the index of the resource that an item was; -1 for a new one.
func itemIdentity(n *yaml.Node) int {
	id, err := strconv.Atoi(text(n, "metadata", "annotations", itemID))
	if err != nil {
		return -1
	}
	return id - 1
}

// clean takes the identity off an item; an annotation of that name that the
// resource had itself comes back.
func clean(n, was *yaml.Node) {
	meta := get(n, "metadata")
	ann := get(meta, "annotations")
	if ann == nil || ann.Kind != yaml.MappingNode {
		return
	}
	for _, k := range []string{itemID, itemPath, itemIndex} {
		remove(ann, k)
		if old := get(was, "metadata", "annotations", k); old != nil {
			putText(ann, k, old.Value)
		}
	}
	if len(ann.Content) > 0 {
		return
	}
	if old := get(was, "metadata", "annotations"); old == nil {
		remove(meta, "annotations")
	} else if old.Kind == yaml.ScalarNode {
		*ann = *yaml.CopyYNode(old)
	}
}
