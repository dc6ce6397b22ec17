package catalogfn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/kptdev/krm-functions-sdk/go/fn"
	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
	"go.starlark.net/syntax"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/yamltree"
)

const (
	// maxSteps bounds a script's work: a few seconds of computing.
	maxSteps = 100_000_000
	// maxValues bounds what a script may leave in its items.
	maxValues = 5_000_000
)

// dialect are the language features that the catalogue's function allows.
var dialect = &syntax.FileOptions{Set: true, While: true, TopLevelControl: true, GlobalReassign: true, Recursion: true}

// scriptRules are the differences between releases of starlark.
type scriptRules struct {
	// matches is match_gvk of the library krmfn.star, of a resource's apiVersion and kind and
	// those that are asked for; nil in the release that lacks the library.
	matches func(apiVersion, kind, wantVersion, wantKind string) bool
}

// sameGVK is match_gvk of v0.4.1 to v0.5.0.
func sameGVK(apiVersion, kind, wantVersion, wantKind string) bool {
	return apiVersion == wantVersion && kind == wantKind
}

// coreGVK is match_gvk of v0.5.1, which knows the core group alone.
func coreGVK(apiVersion, kind, wantVersion, wantKind string) bool {
	return !strings.Contains(apiVersion, "/") && sameGVK(apiVersion, kind, wantVersion, wantKind)
}

// likeGVK is match_gvk of v0.5.5: a group, version or kind that one side lacks matches any.
func likeGVK(apiVersion, kind, wantVersion, wantKind string) bool {
	group, version := splitAPIVersion(apiVersion)
	wantGroup, want := splitAPIVersion(wantVersion)
	same := func(a, b string) bool { return a == "" || b == "" || a == b }
	return same(group, wantGroup) && same(version, want) && same(kind, wantKind)
}

func splitAPIVersion(s string) (group, version string) {
	if group, version, ok := strings.Cut(s, "/"); ok {
		return group, version
	}
	return "", s
}

// run runs a script on a ResourceList: ctx.resource_list["items"], with
// places and identities in the annotations that kpt sets, and
// ctx.resource_list["functionConfig"]. The items that it leaves replace those of
// the list. fail() fails the function, print() adds to its results. A script has
// no environment (ctx.environment is empty), no network and no clock, a bounded
// number of steps, and of the catalogue's libraries those that need none of
// these. It ends where ctx does, unless a single step takes long; its memory is
// what its process gives it. Config: a StarlarkRun with `source` and `params`, or
// a ConfigMap with `source`.
func (rules scriptRules) run(ctx context.Context, list *yaml.Node) (fn.Results, error) {
	s := &script{rules: rules}
	source, ok := s.config(yamltree.Path(list, "functionConfig"))
	if !ok {
		return s.results, nil
	}
	err := s.run(ctx, source, list)
	var failed *starlark.EvalError
	switch {
	case err == nil:
	case ctx.Err() != nil && errors.As(err, &failed):
		return s.results, fmt.Errorf("%w%s", context.Cause(ctx), place(failed))
	case ctx.Err() != nil:
		return s.results, context.Cause(ctx)
	case errors.As(err, &failed):
		s.results.Errorf("%s%s", strings.Replace(failed.Msg, "Starlark computation cancelled: ", "the script was ended: ", 1), place(failed))
	default:
		s.results.Errorf("%v", err)
	}
	return s.results, nil
}

type script struct {
	rules   scriptRules
	name    string
	results fn.Results
}

func (s *script) run(ctx context.Context, source string, list *yaml.Node) error {
	v, err := toValue(list)
	if err != nil {
		return err
	}
	values, ok := v.(*starlark.Dict)
	if !ok {
		return errors.New("the ResourceList is no mapping")
	}
	if err := s.exec(ctx, source, values); err != nil {
		return err
	}
	items, err := itemNodes(values)
	if err != nil {
		return err
	}
	setNode(list, "items", items)
	return nil
}

// config reads the script and its name; what is wrong becomes a result.
func (s *script) config(cfg *yaml.Node) (source string, ok bool) {
	field := "source"
	switch {
	case yamltree.Text(cfg, "kind") == "ConfigMap" && !strings.Contains(yamltree.Text(cfg, "apiVersion"), "/"):
		source, field = yamltree.Text(cfg, "data", "source"), "data.source"
	case yamltree.Text(cfg, "kind") == "StarlarkRun" && strings.HasPrefix(yamltree.Text(cfg, "apiVersion"), "fn.kpt.dev/"):
		source = yamltree.Text(cfg, "source")
	default:
		s.results.Errorf("%s", configProblem(cfg, "a v1 ConfigMap", "a "+configAPIVersion+" StarlarkRun"))
		return "", false
	}
	if source == "" {
		s.results.Errorf("functionConfig: %s is empty; give the script", field)
		return "", false
	}
	s.name = cmp.Or(yamltree.Text(cfg, "metadata", "name"), "starlark-function-run")
	return source, true
}

func (s *script) exec(ctx context.Context, source string, list *starlark.Dict) error {
	thread := &starlark.Thread{
		Name:  s.name,
		Load:  s.rules.load,
		Print: func(_ *starlark.Thread, msg string) { s.results.Infof("print: %s", msg) },
	}
	thread.SetMaxExecutionSteps(maxSteps)
	thread.OnMaxSteps = func(t *starlark.Thread) { t.Cancel(fmt.Sprintf("it takes more than %d steps", maxSteps)) }
	defer context.AfterFunc(ctx, func() { thread.Cancel(context.Cause(ctx).Error()) })()
	predeclared := starlark.StringDict{"ctx": starlarkstruct.FromStringDict(starlarkstruct.Default, starlark.StringDict{
		"resource_list": list,
		"environment":   starlark.NewDict(0),
	})}
	_, err := starlark.ExecFileOptions(dialect, thread, s.name, source, predeclared)
	return err
}

// place is where in the script it failed.
func place(err *starlark.EvalError) string {
	for i := range min(2, len(err.CallStack)) { // the innermost may be a built-in one, without a place
		if pos := err.CallStack.At(i).Pos; pos.Line > 0 {
			return fmt.Sprintf(" (%s)", pos)
		}
	}
	return ""
}

// itemNodes are the items that a script left, as nodes.
func itemNodes(list *starlark.Dict) (*yaml.Node, error) {
	v, _, _ := list.Get(starlark.String("items"))
	items, ok := v.(starlark.Iterable)
	if !ok {
		return nil, errors.New(`ctx.resource_list["items"] is no list after the script ran`)
	}
	budget := maxValues
	n, err := toNode(items, &budget)
	if err != nil {
		return nil, fmt.Errorf("items%w", err)
	}
	if n.Kind != yaml.SequenceNode {
		return nil, errors.New(`ctx.resource_list["items"] is no list after the script ran`)
	}
	return n, nil
}

func setNode(m *yaml.Node, key string, v *yaml.Node) {
	if i := yamltree.Index(m, key); i >= 0 {
		m.Content[i+1] = v
		return
	}
	m.Content = append(m.Content, stringNode(key), v)
}
