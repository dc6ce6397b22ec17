package injection

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/kyaml/yaml"
	k8syaml "sigs.k8s.io/yaml"

	"github.com/variform/variform/api"
	"github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/test/krmtest"
)

const kptfile = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: p\n"

var pkg = krmtest.Package

func objects(t testing.TB, docs ...string) *Context {
	t.Helper()
	var list []Object
	for i, d := range docs {
		list = append(list, Object{Node: yaml.MustParse(d), Origin: fmt.Sprintf("doc %d", i)})
	}
	c, err := NewContext(list)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func point(kind, name, mode string) string {
	apiVersion := "example.com/v1"
	if kind == "ConfigMap" || kind == "Secret" {
		apiVersion = "v1"
	}
	return fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata:\n  name: %s # the point\n  annotations:\n    %s: %s\n", apiVersion, kind, name, AnnotationPoint, mode)
}

func ptr(s string) *string { return &s }

func read(t testing.TB, p *krm.Package, path string) string {
	t.Helper()
	f, ok := p.Read(path)
	if !ok {
		t.Fatalf("no file %s", path)
	}
	return string(f.Data)
}

func TestSelect(t *testing.T) {
	context := objects(t,
		"apiVersion: example.com/v1\nkind: A\nmetadata: {name: foo}\nspec: {from: A-foo}\n",
		"apiVersion: example.com/v1\nkind: A\nmetadata: {name: bar}\nspec: {from: A-bar}\n",
		"apiVersion: example.com/v2\nkind: A\nmetadata: {name: new}\nspec: {from: A-new}\n",
		"apiVersion: other.com/v1\nkind: A\nmetadata: {name: stranger}\nspec: {from: stranger}\n",
		"apiVersion: example.com/v1\nkind: B\nmetadata: {name: bar}\nspec: {from: B-bar}\n",
		"apiVersion: example.com/v1\nkind: A\nmetadata: {name: far, namespace: far}\nspec: {from: far}\n",
		"apiVersion: example.com/v1\nkind: Empty\nmetadata: {name: none}\n",
		"apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata: {k: djE=}\n",
	)
	cases := map[string]struct {
		reason    string
		kind      string
		namespace string
		injectors []v1alpha1.InjectionSelector
		allow     []string
		want      string // name, or the message where there is none
	}{
		"order of selectors":   {"the first that matches wins", "A", "", []v1alpha1.InjectionSelector{{Name: "nope"}, {Name: "bar"}, {Name: "foo"}}, nil, "bar"},
		"kind of a selector":   {"given fields must be the point's", "A", "", []v1alpha1.InjectionSelector{{Kind: ptr("B"), Name: "bar"}, {Name: "foo"}}, nil, "foo"},
		"group of a selector":  {"", "A", "", []v1alpha1.InjectionSelector{{Group: ptr("other.com"), Name: "bar"}, {Group: ptr("example.com"), Name: "foo"}}, nil, "foo"},
		"empty group":          {"a given empty group is the core group", "A", "", []v1alpha1.InjectionSelector{{Group: ptr(""), Name: "foo"}}, nil, "no resource matched any injection selector for this injection point"},
		"version":              {"", "A", "", []v1alpha1.InjectionSelector{{Version: ptr("v2"), Name: "foo"}, {Version: ptr("v1"), Name: "bar"}}, nil, "bar"},
		"other version":        {"the object's GVK is the point's", "A", "", []v1alpha1.InjectionSelector{{Name: "new"}}, nil, "no resource matched any injection selector for this injection point"},
		"other group":          {"", "A", "", []v1alpha1.InjectionSelector{{Name: "stranger"}}, nil, "no resource matched any injection selector for this injection point"},
		"empty is default":     {"an empty namespace is default on both sides", "A", "default", []v1alpha1.InjectionSelector{{Name: "foo"}}, nil, "foo"},
		"other namespace":      {"nothing leaks between namespaces", "A", "", []v1alpha1.InjectionSelector{{Name: "far"}}, nil, "no resource matched any injection selector for this injection point"},
		"its namespace":        {"", "A", "far", []v1alpha1.InjectionSelector{{Name: "far"}}, nil, "far"},
		"no object of kind":    {"", "Missing", "", []v1alpha1.InjectionSelector{{Name: "foo"}}, nil, "no in-cluster resources of type example.com/v1.Missing"},
		"no injectors":         {"", "A", "", nil, nil, "no injectors defined"},
		"its point":            {"one of several of a kind", "A", "", []v1alpha1.InjectionSelector{{Name: "foo", Point: "y"}, {Name: "bar", Point: "x"}}, nil, "bar"},
		"another point":        {"", "A", "", []v1alpha1.InjectionSelector{{Name: "foo", Point: "y"}}, nil, "no resource matched any injection selector for this injection point"},
		"no spec":              {"", "Empty", "", []v1alpha1.InjectionSelector{{Name: "none"}}, nil, `field "spec" not found in resource "none"`},
		"Secret":               {"never without leave", "Secret", "", []v1alpha1.InjectionSelector{{Name: "s"}}, nil, "kind Secret is injected only where it is allowed by name"},
		"Secret that may":      {"", "Secret", "", []v1alpha1.InjectionSelector{{Name: "s"}}, []string{"Secret"}, "s"},
		"leave for other kind": {"", "Secret", "", []v1alpha1.InjectionSelector{{Name: "s"}}, []string{"A"}, "kind Secret is injected only where it is allowed by name"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			p := pkg(t, map[string]string{"Kptfile": kptfile, "a.yaml": point(c.kind, "x", Required)})
			r, err := Inject(p, Request{Namespace: c.namespace, Injectors: c.injectors, Context: context, AllowKinds: c.allow})
			if err != nil {
				t.Fatal(err)
			}
			o := r.Outcomes[0]
			got := o.Message
			if o.Injected() {
				got = o.Object.Name
			}
			if got != c.want || o.Injected() != (o.Selector >= 0 && o.Reason == ReasonInjected) {
				t.Errorf("%s: got %q (selector %d, %s), want %q", c.reason, got, o.Selector, o.Reason, c.want)
			}
			if o.Injected() != o.Changed {
				t.Errorf("changed is %v", o.Changed)
			}
			if s := read(t, p, "Kptfile"); !strings.Contains(s, "- conditionType: "+o.ConditionType) || !strings.Contains(s, "reason: "+o.Reason) {
				t.Errorf("Kptfile:\n%s", s)
			}
		})
	}
}

// Two points of one kind get different objects where injectors name them, in
// whichever order; others fill what is left.
func TestPointsOfOneKind(t *testing.T) {
	context := objects(t,
		"apiVersion: example.com/v1\nkind: A\nmetadata: {name: a}\nspec: {from: a}\n",
		"apiVersion: example.com/v1\nkind: A\nmetadata: {name: b}\nspec: {from: b}\n",
	)
	p := pkg(t, map[string]string{"Kptfile": kptfile, "a.yaml": point("A", "one", Required), "b.yaml": point("A", "two", Required), "c.yaml": point("A", "three", Optional)})
	r, err := Inject(p, Request{Context: context, Injectors: []v1alpha1.InjectionSelector{{Name: "b", Point: "two"}, {Name: "a", Point: "one"}, {Name: "b"}}})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, o := range r.Outcomes {
		got[o.Name] = o.Object.Name
	}
	if diff := cmp.Diff(map[string]string{"one": "a", "two": "b", "three": "b"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestInjectKeepsBytes(t *testing.T) {
	files := map[string]string{
		"Kptfile": "# top\n\napiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n    name:   p   # odd\n\ninfo:\n    keywords: [a,  b]\n",
		"a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: cm\n  annotations:\n    kpt.dev/config-injection: optional\n\ndata:\n  same: 'x'   # stays\n  old: y\nbinaryData:\n  b: aGk=\n" +
			"---\n# next\napiVersion: v1\nkind: Service\nmetadata: {name:   s}\n",
		"notes.txt":   "text",
		"broken.yaml": "a: [",
	}
	p := pkg(t, files)
	req := Request{Injectors: []v1alpha1.InjectionSelector{{Name: "obj"}}, Context: objects(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: obj}\ndata: {new: \"no\", same: x}\nbinaryData: {other: aGk=}\n")}
	if _, err := Inject(p, req); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: cm\n  annotations:\n    kpt.dev/config-injection: optional\n    kpt.dev/injected-resource-name: obj\n    kpt.dev/injected-resource: obj\n\ndata:\n  same: 'x'   # stays\n  new: \"no\"\nbinaryData:\n  b: aGk=\n" +
			"---\n# next\napiVersion: v1\nkind: Service\nmetadata: {name:   s}\n",
		"notes.txt": "text", "broken.yaml": "a: [",
	}
	for path, text := range want {
		if diff := cmp.Diff(text, read(t, p, path)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
	}
	if got := read(t, p, "Kptfile"); !strings.HasPrefix(got, files["Kptfile"]) || !strings.Contains(got, "type: config.injection.ConfigMap.cm") || strings.Contains(got, "readinessGates") {
		t.Errorf("Kptfile:\n%s", got)
	}
	first, err := p.Files()
	if err != nil {
		t.Fatal(err)
	}
	again, err := krm.Parse(first)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Inject(again, req)
	if err != nil || r.Outcomes[0].Changed {
		t.Errorf("second run: %v, changed %v", err, r.Outcomes[0].Changed)
	}
	second, _ := again.Files()
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("a second run changes bytes:\n%s", diff)
	}
}

func TestInjectErrors(t *testing.T) {
	cases := map[string]struct {
		files map[string]string
		want  []string
	}{
		"all at once": {map[string]string{
			"Kptfile": kptfile, "a.yaml": point("A", "x", "maybe"), "b.yaml": point("A", "x", Optional),
			"c.yaml": "a: [ # " + AnnotationPoint, "d.yaml": "a: [",
		}, []string{"a.yaml: A/x has invalid", `duplicate injection conditionType "config.injection.A.x" (a.yaml and b.yaml)`, "c.yaml names"}},
		"no Kptfile":       {map[string]string{"a.yaml": point("A", "x", Required)}, []string{ErrNoKptfile.Error()}},
		"info is a list":   {map[string]string{"Kptfile": kptfile + "info: []\n", "a.yaml": point("A", "x", Required)}, []string{"Kptfile: info must be a map"}},
		"status is a text": {map[string]string{"Kptfile": kptfile + "status: x\n", "a.yaml": point("A", "x", Required)}, []string{"status must be a map"}},
		"conditions":       {map[string]string{"Kptfile": kptfile + "info: {readinessGates: x}\nstatus: {conditions: {}}\n", "a.yaml": point("A", "x", Required)}, []string{"info.readinessGates must be a list", "status.conditions must be a list"}},
		"no name":          {map[string]string{"Kptfile": kptfile, "a.yaml": "apiVersion: v1\nkind: A\nmetadata:\n  annotations: {kpt.dev/config-injection: required}\n"}, []string{"no metadata.name"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			p := pkg(t, c.files)
			_, err := Inject(p, Request{})
			if err == nil {
				t.Fatal("no error")
			}
			for _, text := range c.want {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("%q lacks %q", err, text)
				}
			}
			if strings.Contains(err.Error(), "d.yaml") {
				t.Errorf("%q blames a file that can hold no point", err)
			}
			for path, text := range c.files {
				if got := read(t, p, path); got != text {
					t.Errorf("%s changed:\n%s", path, got)
				}
			}
		})
	}
}

func TestNewContextErrors(t *testing.T) {
	_, err := NewContext([]Object{
		{Node: yaml.MustParse("apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ndata: {password: hunter2}"), Origin: "one.yaml"},
		{Node: yaml.MustParse("apiVersion: v1\nkind: Secret\nmetadata: {name: a, namespace: default}\ndata: {password: hunter3}"), Origin: "two.yaml"},
		{Node: yaml.MustParse("kind: X\nmetadata: {name: a}"), Origin: "three.yaml"},
	})
	if err == nil {
		t.Fatal("no error")
	}
	for _, text := range []string{"Secret.v1 default/a stands twice", "one.yaml", "two.yaml", "three.yaml"} {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("%q lacks %q", err, text)
		}
	}
	if strings.Contains(err.Error(), "hunter") {
		t.Errorf("%q has a secret", err)
	}
}

func TestSubpackagesAndStale(t *testing.T) {
	status := "info:\n  readinessGates:\n  - conditionType: config.injection.A.gone\n  - conditionType: config.injection.A.theirs\nstatus:\n  conditions:\n  - type: config.injection.A.gone\n    status: \"False\"\n    reason: NoResourceSelected\n  - type: config.injection.A.theirs\n    status: \"False\"\n    reason: Other\n"
	files := map[string]string{"Kptfile": kptfile + status, "sub/Kptfile": kptfile, "sub/a.yaml": point("A", "x", Required)}
	for _, drop := range []bool{false, true} {
		p := pkg(t, files)
		if _, err := Inject(p, Request{DropStale: drop}); err != nil {
			t.Fatal(err)
		}
		root := read(t, p, "Kptfile")
		if strings.Contains(root, "A.gone") == drop || !strings.Contains(root, "- conditionType: config.injection.A.theirs") || !strings.Contains(root, "type: config.injection.A.x") {
			t.Errorf("DropStale %v:\n%s", drop, root)
		}
		if read(t, p, "sub/Kptfile") != kptfile {
			t.Error("the subpackage's Kptfile changed")
		}
	}
}

func TestKeepInjected(t *testing.T) {
	p := pkg(t, map[string]string{"Kptfile": kptfile, "a.yaml": point("A", "x", Required)})
	source := objects(t, "apiVersion: example.com/v1\nkind: A\nmetadata:\n  name: eu\nspec:\n  n: 1\n")
	variant := Request{Context: source, Injectors: []v1alpha1.InjectionSelector{{Name: "eu"}}}
	if _, err := Inject(p, variant); err != nil {
		t.Fatal(err)
	}
	filled := read(t, p, "Kptfile")
	for _, keep := range []bool{true, false} {
		c := p.Clone()
		if _, err := Inject(c, Request{Context: source, Injectors: []v1alpha1.InjectionSelector{{Name: "other"}}, KeepInjected: keep}); err != nil {
			t.Fatal(err)
		}
		if got := read(t, c, "Kptfile"); (got == filled) != keep {
			t.Errorf("KeepInjected %v:\n%s", keep, got)
		}
	}
}

func TestDigest(t *testing.T) {
	base := "apiVersion: example.com/v1\nkind: A\nmetadata: {name: o}\nspec: {a: 1, b: [x]}\n"
	digest := func(injectors []v1alpha1.InjectionSelector, doc string) string {
		p := pkg(t, map[string]string{"Kptfile": kptfile, "a.yaml": point("A", "x", Required)})
		return Select(Find(p), Request{Injectors: injectors, Context: objects(t, doc)}).Digest()
	}
	by := []v1alpha1.InjectionSelector{{Name: "o"}}
	want := digest(by, base)
	same := "# c\nkind: A\napiVersion: example.com/v1\nmetadata:\n  name: o\n  labels: {l: x}\nspec:\n  b:\n  - \"x\"\n  a: 1 # one\nstatus: {s: 1}\n"
	if got := digest(by, same); got != want {
		t.Error("style, order, labels or status change the digest")
	}
	for name, got := range map[string]string{
		"content":  digest(by, strings.Replace(base, "a: 1", "a: 2", 1)),
		"type":     digest(by, strings.Replace(base, "a: 1", "a: '1'", 1)),
		"selector": digest([]v1alpha1.InjectionSelector{{Name: "p"}}, base),
	} {
		if got == want {
			t.Errorf("another %s has the same digest", name)
		}
	}
}

func TestUsed(t *testing.T) {
	p := pkg(t, map[string]string{"Kptfile": kptfile, "a.yaml": point("A", "x", Required), "b.yaml": point("A", "y", Optional), "c.yaml": point("B", "z", Optional)})
	r, err := Inject(p, Request{Injectors: []v1alpha1.InjectionSelector{{Name: "o"}}, Context: objects(t, "apiVersion: example.com/v1\nkind: A\nmetadata: {name: o}\nspec: {}\n")})
	if err != nil {
		t.Fatal(err)
	}
	used := r.Used()
	if len(used) != 1 || used[0].Name != "o" || used[0].Namespace != api.DefaultNamespace || used[0].Origin != "doc 0" || !strings.HasPrefix(used[0].Digest, "sha256:") {
		t.Errorf("got %+v", used)
	}
}

func TestContextIsSafeForConcurrentUse(t *testing.T) {
	context := objects(t, "apiVersion: example.com/v1\nkind: A\nmetadata: {name: o}\nspec: {a: {b: [1, 2]}}\n")
	p := pkg(t, map[string]string{"Kptfile": kptfile, "a.yaml": point("A", "x", Required)})
	var wg sync.WaitGroup
	for range 8 {
		own := p.Clone()
		wg.Add(1)
		go func() {
			defer wg.Done()
			if _, err := Inject(own, Request{Injectors: []v1alpha1.InjectionSelector{{Name: "o"}}, Context: context}); err != nil {
				t.Error(err)
			}
		}()
	}
	wg.Wait()
	if strings.Contains(read(t, p, "a.yaml"), "spec") {
		t.Error("an injection into clones changed the original")
	}
}

func TestPointOfAnotherPackage(t *testing.T) {
	p := pkg(t, map[string]string{"Kptfile": kptfile})
	var bad *PointsError
	if _, err := InjectInto(p, []Point{{File: "a.yaml", Kind: "A", Name: "x"}}, Request{}); !errors.As(err, &bad) {
		t.Errorf("got %v", err)
	}
}

// BenchmarkInject injects one of 10,000 objects into each of 100 points.
func BenchmarkInject(b *testing.B) {
	var docs, points []string
	for i := range 10_000 {
		docs = append(docs, fmt.Sprintf("apiVersion: example.com/v1\nkind: A\nmetadata: {name: o%d}\nspec: {a: %d}\n", i, i))
	}
	for i := range 100 {
		points = append(points, point("A", fmt.Sprintf("p%d", i), Optional))
	}
	context := objects(b, docs...)
	p := pkg(b, map[string]string{"Kptfile": kptfile, "a.yaml": strings.Join(points, "---\n")})
	req := Request{Injectors: []v1alpha1.InjectionSelector{{Name: "nope"}, {Name: "o9999"}}, Context: context}
	b.ResetTimer()
	for range b.N {
		if _, err := Inject(p.Clone(), req); err != nil {
			b.Fatal(err)
		}
	}
}

// TestInjectPlainScalars: what is injected is what the API server reads of the context
// object, word for word.
func TestInjectPlainScalars(t *testing.T) {
	for _, s := range []string{"yes", "Off", "n", `"yes"`, "'no'", "true", "0o7", "1_000", "~", ".inf", "12:30:45", "2001-01-02"} {
		object := "apiVersion: example.com/v1\nkind: X\nmetadata:\n  name: a\nspec:\n  v: " + s + "\n  l: [" + s + "]\n"
		p := pkg(t, map[string]string{"Kptfile": kptfile, "x.yaml": point("X", "a", Required)})
		if _, err := Inject(p, Request{Injectors: by("a"), Context: objects(t, object)}); err != nil {
			t.Fatal(err)
		}
		text, err := p.Resources()[1].Text()
		if err != nil {
			t.Fatal(err)
		}
		var got, want struct{ Spec any }
		if err := k8syaml.Unmarshal(text, &got); err != nil && s != ".inf" { // JSON has none
			t.Fatal(err)
		}
		if err := k8syaml.Unmarshal([]byte(object), &want); err != nil && s != ".inf" {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" || !strings.Contains(string(text), "v: "+s+"\n") {
			t.Errorf("%s became\n%s\n%s", s, text, diff)
		}
	}
}
