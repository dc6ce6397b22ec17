package conformance

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sort"
	"strings"
	"testing"

	"sigs.k8s.io/kustomize/kyaml/yaml"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/internal/injection"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/mutate"
)

func init() {
	Suite("injection_find_points", runFindPoints)
	Suite("injection_validate_points", runValidatePoints)
	Suite("injection_conditions_and_gates", runConditionsAndGates)
	Suite("injection_end_to_end", runMutations)
	Suite("pv_package_context", runMutations)
	Suite("pv_pipeline", runMutations)
	Suite("pv_func_name", runFunctionName)
	Suite("pv_func_is_owned", runFunctionOwned)

	Deviation("injection_find_points/parse error",
		"YAML that is no KRM (junk.yaml holds a bare text) is carried as it is and can hold no injection point (docs/design/injection.md); only unreadable YAML that names the annotation stops an injection")
}

// formatting names the cases whose files are equal as trees with comments but
// not as bytes.
var formatting = map[string]bool{}

// TestFormattingOnly prints them; it stands after TestPorch, which fills the list.
func TestFormattingOnly(t *testing.T) {
	if len(formatting) == 0 {
		t.Skip("no case differs in formatting alone, or none ran")
	}
	var keys []string
	for k := range formatting {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	fmt.Printf("porch: %d cases differ in formatting alone: Porch encodes files anew, ours keep the author's indentation and final newline (docs/design/hydration-and-update.md#bytes)\n", len(keys))
	for _, k := range keys {
		fmt.Println("  formatting", k)
	}
}

type pointData struct {
	File          string   `json:"file"`
	ConditionType string   `json:"conditionType"`
	Required      bool     `json:"required"`
	Errors        []string `json:"errors,omitempty"`
	Injected      bool     `json:"injected,omitempty"`
	InjectedName  string   `json:"injectedName,omitempty"`
}

func runFindPoints(r *R, c Case) {
	p := packageOf(r, c.Input)
	var want []pointData
	c.Decode(r, At(c.Expected, "injectionPoints"), &want)
	got := []pointData{}
	for _, pt := range injection.Find(p) {
		got = append(got, pointData{File: pt.File, ConditionType: pt.ConditionType, Required: pt.Required, Errors: pt.Problems})
	}
	r.Equal("injectionPoints", got, append([]pointData{}, want...))
	failure := ""
	for _, problem := range p.Problems() {
		failure = problem.Path + ": " + problem.Err.Error()
	}
	r.Equal("error", failure, TextAt(c.Expected, "error"))
}

func runValidatePoints(r *R, c Case) {
	var in []pointData
	c.Decode(r, At(c.Input, "injectionPoints"), &in)
	var points []injection.Point
	for _, d := range in {
		points = append(points, injection.Point{File: d.File, ConditionType: d.ConditionType, Required: d.Required, Problems: d.Errors})
	}
	got, want := "", TextAt(c.Expected, "error")
	if err := injection.Validate(points); err != nil {
		got = err.Error()
	}
	if want == "null" {
		want = ""
	}
	r.Equal("error", got, want)
}

// runConditionsAndGates builds a package with the points that the case starts
// from, and objects for those that it says were injected, so that the real
// injection writes the status.
func runConditionsAndGates(r *R, c Case) {
	var in []pointData
	c.Decode(r, At(c.Input, "injectionPoints"), &in)
	kptfile := "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: p\n"
	if given := At(c.Input, "kptfile"); !given.IsNilOrEmpty() {
		kptfile += given.MustString()
	}
	files := []krm.File{{Path: "Kptfile", Data: []byte(kptfile)}}
	docs := map[string][]string{}
	var objects []injection.Object
	req := injection.Request{Injectors: []v1alpha1.InjectionSelector{{Name: "matches-nothing"}}}
	for _, d := range in {
		kind, name, _ := strings.Cut(strings.TrimPrefix(d.ConditionType, injection.ConditionPrefix), ".")
		mode := injection.Optional
		if d.Required {
			mode = injection.Required
		}
		docs[d.File] = append(docs[d.File], fmt.Sprintf("%smetadata:\n  name: %s\n  annotations:\n    %s: %s\n", header(kind), name, injection.AnnotationPoint, mode))
		candidate := "other"
		if d.Injected {
			candidate = d.InjectedName
			req.Injectors = append(req.Injectors, v1alpha1.InjectionSelector{Kind: &kind, Name: d.InjectedName})
		}
		objects = append(objects, injection.Object{Node: yaml.MustParse(fmt.Sprintf("%smetadata:\n  name: %s\nspec: {a: b}\ndata: {a: b}\n", header(kind), candidate))})
	}
	for file, texts := range docs {
		files = append(files, krm.File{Path: file, Data: []byte(strings.Join(texts, "---\n"))})
	}
	p := parse(r, files)
	var err error
	if req.Context, err = injection.NewContext(objects); err != nil {
		r.Errorf("%v", err)
	}
	_, err = injection.Inject(p, req)
	r.Equal("error", text(err), TextAt(c.Expected, "error"))
	got := p.Kptfile("").Node()
	status := yaml.NewMapRNode(nil)
	for _, field := range []string{"info", "status"} {
		if v := At(got, field); v != nil {
			r.fail(status.PipeE(yaml.SetField(field, v)))
		}
	}
	r.EqualYAML("kptfile", status, At(c.Expected, "kptfile"))
}

func header(kind string) string {
	if kind == "ConfigMap" {
		return "apiVersion: v1\nkind: ConfigMap\n"
	}
	return "apiVersion: example.com/v1\nkind: " + kind + "\n"
}

// runMutations applies the case's PackageVariant to its files, twice.
func runMutations(r *R, c Case) {
	var pv v1alpha1.PackageVariant
	c.Decode(r, At(c.Input, "packageVariant"), &pv)
	var objects []injection.Object
	if list := At(c.Input, "clusterObjects"); list != nil {
		nodes, err := list.Elements()
		r.fail(err)
		for _, n := range nodes {
			objects = append(objects, injection.Object{Node: n})
		}
	}
	index, err := injection.NewContext(objects)
	r.fail(err)
	p := packageOf(r, c.Input)
	_, err = mutate.Apply(p, &pv, mutate.Options{Context: index})
	r.Equal("error", text(err), TextAt(c.Expected, "error"))
	first := r.compareFiles(c, p)

	again := parse(r, first)
	_, err = mutate.Apply(again, &pv, mutate.Options{Context: index})
	r.fail(err)
	second, err := again.Files()
	r.fail(err)
	r.Equal("files after a second run", second, first)
}

// compareFiles compares the package with the expected files, byte for byte
// where only formatting does not differ, and as trees with comments.
func (r *R) compareFiles(c Case, p *krm.Package) []krm.File {
	files, err := p.Files()
	r.fail(err)
	want := map[string]string{}
	c.Decode(r, At(c.Expected, "files"), &want)
	for _, f := range files {
		expected, ok := want[f.Path]
		delete(want, f.Path)
		got := withoutDesignAnnotation(f.Data)
		switch {
		case !ok:
			r.Errorf("file %s is not expected", f.Path)
		case string(got) == expected:
		default:
			r.Equal(f.Path, canonical(r, got), canonical(r, []byte(expected)))
			formatting[c.Suite+"/"+c.ID] = true
		}
	}
	for path := range want {
		r.Errorf("file %s is missing", path)
	}
	return files
}

// withoutDesignAnnotation leaves out what Porch's PackageVariant design asks for
// and Porch does not write (docs/design/injection.md#what-is-recorded).
func withoutDesignAnnotation(data []byte) []byte {
	var out [][]byte
	for _, line := range bytes.SplitAfter(data, []byte("\n")) {
		if !bytes.Contains(line, []byte(injection.AnnotationInjectedName+":")) {
			out = append(out, line)
		}
	}
	return bytes.Join(out, nil)
}

// canonical writes every document anew, so that only values, their order, and
// comments are compared.
func canonical(r *R, data []byte) string {
	var docs []string
	dec := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var n yaml.Node
		err := dec.Decode(&n)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			r.Errorf("%v in %q", err, data)
			break
		}
		docs = append(docs, yaml.NewRNode(&n).MustString())
	}
	if len(docs) == 0 {
		r.Errorf("no document in %q", data)
	}
	return strings.Join(docs, "---\n")
}

func runFunctionName(r *R, c Case) {
	var in struct {
		FuncName           string `json:"funcName"`
		PackageVariantName string `json:"packageVariantName"`
		Position           int    `json:"position"`
	}
	c.Decode(r, c.Input, &in)
	r.Equal("name", mutate.FunctionName(in.PackageVariantName, in.FuncName, in.Position), TextAt(c.Expected, "name"))
}

func runFunctionOwned(r *R, c Case) {
	name, variant := TextAt(c.Input, "function", "name"), TextAt(c.Input, "packageVariantName")
	r.Equal("owned", fmt.Sprint(mutate.Owns(variant, name)), TextAt(c.Expected, "owned"))
}

func packageOf(r *R, input *yaml.RNode) *krm.Package {
	var texts map[string]string
	data, err := At(input, "files").String()
	r.fail(err)
	r.fail(sigsyaml.Unmarshal([]byte(data), &texts))
	var files []krm.File
	for path, content := range texts {
		files = append(files, krm.File{Path: path, Data: []byte(content)})
	}
	return parse(r, files)
}

func parse(r *R, files []krm.File) *krm.Package {
	sort.Slice(files, func(i, j int) bool { return files[i].Path < files[j].Path })
	p, err := krm.Parse(files)
	if err != nil {
		r.Errorf("%v", err)
		return &krm.Package{}
	}
	return p
}

func (r *R) fail(err error) {
	if err != nil {
		r.Errorf("%v", err)
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
