package build

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/mutate"
	"github.com/variform/variform/internal/render"
	"github.com/variform/variform/internal/yamltree"
	"github.com/variform/variform/test/gittest"
)

// pipeline is a Renderer that changes the values of the package's ConfigMap.
type pipeline struct {
	change func(key, value string) string
	runs   int
}

func (r *pipeline) Render(_ context.Context, p *krm.Package) (*render.Result, error) {
	r.runs++
	p = p.Clone()
	for _, res := range p.Resources() {
		if res.Kind() != "ConfigMap" || res.Name() != "cm" {
			continue
		}
		data := yamltree.Child(res.Node().YNode(), "data")
		for k, v := range yamltree.Fields(data) {
			if now := r.change(k.Value, v.Value); now != v.Value {
				if _, err := res.Modify(func(root *yaml.Node) error {
					yamltree.SetString(yamltree.Child(root, "data"), nil, k.Value, now)
					return nil
				}); err != nil {
					return nil, err
				}
			}
		}
	}
	return &render.Result{Package: p, Functions: []render.FunctionResult{{Name: "pipeline"}}}, nil
}

// statements are Statements in memory.
type statements map[string]bool

func (s statements) Has(words ...string) bool { return s[strings.Join(words, " ")] }
func (s statements) Put(words ...string)      { s[strings.Join(words, " ")] = true }

// TestRest: where rendering what was rendered changes nothing, a package with edits
// is rendered until that is so of it too; where each render changes it, it is not
// rendered again.
func TestRest(t *testing.T) {
	countDown := func(k, v string) string {
		if n, ok := strings.CutPrefix(v, "count"); ok && n > "0" {
			return "count" + string(n[0]-1)
		}
		return v
	}
	for name, c := range map[string]struct {
		change func(key, value string) string
		edit   string
		want   string
		warns  string
		runs   int // of the update, beside those of what it starts from
	}{
		"at rest at once":    {func(_, v string) string { return v }, "mine", "a: mine", "", 4},
		"at rest after some": {countDown, "count2", "a: count0", "", 5},
		"never at rest":      {countDown, "count9", "a: count6", "was rendered 3 times, and the package's pipeline changes it again", 6},
		"not idempotent": {func(k, v string) string {
			if k == "b" {
				return v + "+"
			}
			return v
		}, "mine", "b: second+\n", "changes what it has made already", 2},
	} {
		t.Run(name, func(t *testing.T) {
			s, r := newShop(t), &pipeline{change: c.change}
			s.builder.Renderer, s.builder.Statements = r, statements{}
			s.put(s.make())
			s.edit("drafts/foo/packagevariant-1", "a: one", "a: "+c.edit)
			s.release(2, "one", "second")
			r.runs = 0
			m := s.make()
			text := s.file(m.Tree, "cm.yaml")
			if !strings.Contains(text, c.want) {
				t.Errorf("no %q in:\n%s", c.want, text)
			}
			warned := slices.ContainsFunc(m.Warnings, func(w string) bool { return c.warns != "" && strings.Contains(w, c.warns) })
			if warned != (c.warns != "") {
				t.Errorf("warnings: %q", m.Warnings)
			}
			if r.runs != c.runs {
				t.Errorf("%d renders, want %d", r.runs, c.runs)
			}
			r.runs = 0
			if again := s.make(); r.runs != c.runs-1 {
				t.Errorf("%d renders the next time, want %d: %v", r.runs, c.runs-1, again.Err)
			}
		})
	}
}

// commented is a Renderer of two functions: one writes "y" for "x" and loses the
// value's comment, the other gives a value what its comment says.
type commented struct{}

func (commented) Render(_ context.Context, p *krm.Package) (*render.Result, error) {
	p = p.Clone()
	for _, res := range p.Resources() {
		if res.Kind() != "ConfigMap" || res.Name() != "cm" {
			continue
		}
		if _, err := res.Modify(func(root *yaml.Node) error {
			data := yamltree.Child(root, "data")
			for i := 1; i < len(data.Content); i += 2 {
				v := data.Content[i]
				if v.Value == "x" {
					data.Content[i] = yamltree.String("y")
				} else if says, ok := strings.CutPrefix(v.LineComment, "# set "); ok {
					v.Value = says
				}
			}
			return nil
		}); err != nil {
			return nil, err
		}
	}
	return &render.Result{Package: p, Functions: []render.FunctionResult{{Name: "commented"}}}, nil
}

// TestRestByComments: a package rests only where rendering what is written
// changes nothing, and the comments are written as well.
func TestRestByComments(t *testing.T) {
	s := newShop(t)
	s.builder.Renderer = commented{}
	s.put(s.make())
	s.edit("drafts/foo/packagevariant-1", "a: one", "a: x # set one")
	s.release(2, "one", "second")
	m := s.make()
	if text := s.file(m.Tree, "cm.yaml"); !strings.Contains(text, `a: "one" # set one`) || m.Restless != "" {
		t.Errorf("%q:\n%s", m.Restless, text)
	}
}

// declared is a Renderer that runs what the package's Kptfile says: plus adds to a value
// each time, mark marks each ConfigMap once.
type declared struct{}

func (declared) Render(_ context.Context, p *krm.Package) (*render.Result, error) {
	k, err := mutate.Read(p, "")
	if err != nil || k.Pipeline == nil {
		return &render.Result{Package: p}, err
	}
	p = p.Clone()
	var ran []render.FunctionResult
	for _, f := range k.Pipeline.Mutators {
		ran = append(ran, render.FunctionResult{Name: f.Image})
		for _, res := range p.Resources() {
			if res.Kind() != "ConfigMap" || f.Image == "plus" && res.Name() != "cm" {
				continue
			}
			if _, err := res.Modify(func(root *yaml.Node) error {
				data := yamltree.Child(root, "data")
				if f.Image == "mark" {
					yamltree.SetString(data, nil, "mark", "x")
				} else {
					yamltree.SetString(data, nil, "b", yamltree.Child(data, "b").Value+"+")
				}
				return nil
			}); err != nil {
				return nil, err
			}
		}
	}
	return &render.Result{Package: p, Functions: ran}, nil
}

// TestRestByEdits: where people took the function off that is not idempotent, what they
// wrote is rendered by the others; where it is there still, whatever else they changed of
// the pipeline, or they put one there, nothing is.
func TestRestByEdits(t *testing.T) {
	kptfile := func(functions ...string) string {
		out := "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: foo\n"
		for i, f := range functions {
			if i == 0 {
				out += "pipeline:\n  mutators:\n"
			}
			out += "    - image: " + f + "\n"
		}
		return out
	}
	for name, c := range map[string]struct {
		upstream string // functions
		edited   string // the functions after the edit
		marked   bool   // the file that came with the edit
		restless bool
		want     string
	}{
		"taken off":                {"mark plus", "mark", true, false, "b: second+\n"},
		"the others taken off":     {"mark plus", "plus", false, true, "b: second+\n"},
		"another before it":        {"mark plus", "mark mark plus", false, true, "b: second+\n"},
		"all as they were":         {"mark plus", "mark plus", false, true, "b: second+\n"},
		"nothing left, so no mark": {"mark plus", "", false, false, "b: second+\n"},
		"one put there":            {"mark", "mark plus", false, true, "b: second\n"},
		"one that rests put there": {"mark", "mark mark", true, false, "b: second\n"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShop(t)
			s.builder.Renderer = declared{}
			release := func(n int, b string) {
				commit := s.catalog.Commit(t, "main", "foo", gittest.Text{
					"foo/Kptfile": kptfile(strings.Fields(c.upstream)...),
					"foo/cm.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: cm\ndata:\n  b: " + b + "\n",
				})
				s.catalog.Tag(t, fmt.Sprintf("foo/v%d", n), commit)
				s.variant.Spec.Upstream.Revision = v1alpha1.Revision(fmt.Sprintf("v%d", n))
			}
			release(5, "first")
			s.put(s.make())
			const draft = "drafts/foo/packagevariant-1"
			was := s.c1.Show(t, draft, "foo/Kptfile")
			pipeline := strings.TrimPrefix(kptfile(strings.Fields(c.upstream)...), kptfile())
			if !strings.Contains(was, pipeline) {
				t.Fatalf("no %q in:\n%s", pipeline, was)
			}
			s.c1.Commit(t, draft, "by hand", gittest.Text{
				"foo/Kptfile":   strings.Replace(was, pipeline, strings.TrimPrefix(kptfile(strings.Fields(c.edited)...), kptfile()), 1),
				"foo/more.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: more\ndata:\n  c: mine\n",
			})
			release(6, "second")
			m := s.make()
			if text := s.file(m.Tree, "cm.yaml"); !strings.Contains(text, c.want) {
				t.Errorf("no %q in:\n%s", c.want, text)
			}
			if text := s.file(m.Tree, "more.yaml"); strings.Contains(text, "mark: x") != c.marked {
				t.Errorf("rendered: %t:\n%s", !c.marked, text)
			}
			if warned := strings.Contains(fmt.Sprint(m.Warnings), "changes what it has made already"); warned != c.restless || (m.Restless != "") != c.restless {
				t.Errorf("warnings %q, %q", m.Warnings, m.Restless)
			}
		})
	}
}

// Without a Renderer nothing is rendered, whatever people did to the pipeline.
func TestRestWithoutARenderer(t *testing.T) {
	s := newShop(t)
	s.put(s.make())
	const draft = "drafts/foo/packagevariant-1"
	s.c1.Commit(t, draft, "by hand", gittest.Text{"foo/Kptfile": s.c1.Show(t, draft, "foo/Kptfile") + "pipeline:\n  mutators:\n    - image: other\n"})
	s.release(2, "one", "second")
	m := s.make()
	if text := s.file(m.Tree, "cm.yaml"); !strings.Contains(text, "b: second") || m.Restless != "" {
		t.Errorf("%q:\n%s", m.Restless, text)
	}
}
