package build

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/gitrepo"
	"github.com/variform/variform/internal/injection"
	"github.com/variform/variform/internal/ocirepo"
	"github.com/variform/variform/internal/render"
	"github.com/variform/variform/internal/wire"
	"github.com/variform/variform/internal/wiring"
	"github.com/variform/variform/test/krmtest"
)

// injected is what a package was given of objects of the kinds ConfigMap and
// Secret.
func injected(t *testing.T) (*injection.Context, *injection.Report) {
	t.Helper()
	object := func(kind, text string) injection.Object {
		return injection.Object{Node: yaml.MustParse("apiVersion: v1\nkind: " + kind + "\nmetadata: {name: o}\ndata: " + text + "\n")}
	}
	objects, err := injection.NewContext([]injection.Object{
		object("ConfigMap", "{k: first-value, n: \"12\", text: \"line one\\nline two\\n\", list: \"first-value-longer\"}"),
		object("Secret", "{p: aHVudGVyMg==}"),
	})
	if err != nil {
		t.Fatal(err)
	}
	var points []injection.Point
	for _, kind := range []string{"ConfigMap", "Secret"} {
		p := krmtest.Package(t, map[string]string{"o.yaml": "apiVersion: v1\nkind: " + kind + "\nmetadata:\n  name: o\n  annotations: {kpt.dev/config-injection: required}\n"})
		points = append(points, injection.Find(p)...)
	}
	return objects, injection.Select(points, injection.Request{
		Namespace: "default", Context: objects, AllowKinds: []string{"Secret"}, Injectors: []v1alpha1.InjectionSelector{{Name: "o"}},
	})
}

func TestMemorable(t *testing.T) {
	objects, report := injected(t)
	m := &maker{Builder: &Builder{Context: objects}, Made: &Made{}, injected: report}
	m.Wires = &Wires{values: []wiring.Value{{Text: "wired-value"}}}
	rendering := func(err error) error {
		return decide.Stall(fmt.Errorf("rendering web: %w", &render.FunctionError{Function: "f", Err: err}))
	}
	for name, tt := range map[string]struct {
		err  error
		want string
	}{
		"a function":           {rendering(errors.New("bad")), `rendering web: package ".": pipeline.[0] f: bad`},
		"not allowed here":     {rendering(&render.UnavailableError{Reason: "no"}), `rendering web: package ".": pipeline.[0] f: no`},
		"not pulled":           {rendering(&render.UnavailableError{Reason: "no", Passing: true}), ""},
		"out of time":          {rendering(fmt.Errorf("was stopped: %w", context.DeadlineExceeded)), ""},
		"stopped by a person":  {rendering(context.Canceled), ""},
		"a server is slow":     {decide.Stall(&wire.SlowError{}), ""},
		"no access":            {decide.Stall(gitrepo.ErrAuth), ""},
		"no access to images":  {decide.Stall(ocirepo.ErrAuth), ""},
		"the network":          {errors.New("no route to host"), ""},
		"what was injected":    {decide.Stalled("k is first-value, n is 12"), "k is ***, n is 12"},
		"the longer one first": {decide.Stalled("is first-value-longer"), "is ***"},
		"lines of a text":      {decide.Stalled("is \"line two\""), `is "***"`},
		"a Secret":             {decide.Stalled("aHVudGVyMg== is hunter2"), "*** is ***"},
		"a value of another":   {decide.Stalled("is wired-value"), "is ***"},
		"too long":             {decide.Stalled("%s", strings.Repeat("ü", maxFailure)), strings.Repeat("ü", maxFailure/2) + "…"},
		"no text":              {decide.Stalled("a\xff\n"), "a"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := m.memorable(tt.err); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
	if got := (&maker{Builder: &Builder{}, Made: &Made{}}).memorable(decide.Stalled("bad")); got != "bad" {
		t.Errorf("without context: %q", got)
	}
}
