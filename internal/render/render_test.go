package render

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/kptdev/krm-functions-sdk/go/fn"

	"github.com/variform/variform/internal/krm"
)

// own is the image of a test function, run as one of our builtins.
func own(name string) string { return OwnRegistry + "/" + name + ":v1" }

func testOptions() Options {
	return Options{Builtins: testFunctions, NoContainers: true}
}

func kptfileOf(name, pipeline string) string {
	return "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: " + name + "\n" + pipeline
}

func configMap(name string, more ...string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + name + "\n" + strings.Join(more, "")
}

func mustRender(t *testing.T, opts Options, p *krm.Package) *Result {
	t.Helper()
	res, err := New(opts).Render(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func TestSelectors(t *testing.T) {
	files := map[string]string{
		"a.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: a\n  namespace: one\n  labels: {app: a, tier: web}\n",
		"b.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: b\n  namespace: two\n  annotations: {team: red}\n",
		"c.yaml": configMap("c"),
	}
	cases := map[string]struct {
		reason, fields string
		want           []string
	}{
		"None":        {reason: "without selectors everything is selected, Kptfiles too", want: []string{"a", "b", "c", "root"}},
		"Kind":        {reason: "by kind", fields: "    selectors: [{kind: Deployment}]\n", want: []string{"a", "b"}},
		"APIVersion":  {reason: "by apiVersion", fields: "    selectors: [{apiVersion: v1}]\n", want: []string{"c"}},
		"Name":        {reason: "by name", fields: "    selectors: [{name: b}]\n", want: []string{"b"}},
		"Namespace":   {reason: "by namespace", fields: "    selectors: [{namespace: one}]\n", want: []string{"a"}},
		"Labels":      {reason: "all labels given must be equal", fields: "    selectors: [{labels: {app: a, tier: web}}]\n", want: []string{"a"}},
		"LabelsOne":   {reason: "one label that differs is enough to miss", fields: "    selectors: [{labels: {app: a, tier: db}}]\n"},
		"Annotations": {reason: "by annotation", fields: "    selectors: [{annotations: {team: red}}]\n", want: []string{"b"}},
		"And":         {reason: "fields of one selector are joined by AND", fields: "    selectors: [{kind: Deployment, name: c}]\n"},
		"Or":          {reason: "selectors are joined by OR, each resource once", fields: "    selectors: [{kind: Deployment}, {name: a}, {name: c}]\n", want: []string{"a", "b", "c"}},
		"Exclude":     {reason: "exclusions come off the selection", fields: "    selectors: [{kind: Deployment}]\n    exclude: [{name: a}]\n", want: []string{"b"}},
		"ExcludeOnly": {reason: "exclusions work without selectors", fields: "    exclude: [{kind: Deployment}, {kind: Kptfile}]\n", want: []string{"c"}},
		"EmptySelect": {reason: "an empty selector matches everything", fields: "    selectors: [{}]\n", want: []string{"a", "b", "c", "root"}},
		"EmptyExcl":   {reason: "an empty exclusion matches nothing", fields: "    exclude: [{}]\n", want: []string{"a", "b", "c", "root"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			all := map[string]string{"Kptfile": kptfileOf("root", "pipeline:\n  mutators:\n  - image: "+own("note")+"\n    configMap: {seen: 'yes'}\n"+tc.fields)}
			for k, v := range files {
				all[k] = v
			}
			var got []string
			res := mustRender(t, testOptions(), pkg(t, all))
			for _, r := range res.Package.Resources() {
				if v, _ := r.Annotation("seen"); v == "yes" {
					got = append(got, r.Name())
				}
			}
			if res.Functions[0].Selected != len(tc.want) {
				t.Errorf("%s: selected %d, want %d", tc.reason, res.Functions[0].Selected, len(tc.want))
			}
			sortStrings(got)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func sortStrings(s []string) {
	for i := range s {
		for j := i; j > 0 && s[j] < s[j-1]; j-- {
			s[j], s[j-1] = s[j-1], s[j]
		}
	}
}

// nested is a package with subpackages two deep; each names its own note.
func nested(t *testing.T) *krm.Package {
	note := func(v string) string {
		return "pipeline:\n  mutators:\n  - image: " + own("note") + "\n    configMap: {last: " + v + ", by-" + v + ": 'yes'}\n"
	}
	return pkg(t, map[string]string{
		"Kptfile": kptfileOf("root", note("root")), "root.yaml": configMap("root-cm"),
		"sub/Kptfile": kptfileOf("sub", note("sub")), "sub/x.yaml": configMap("sub-cm"),
		"sub/deep/er/Kptfile": kptfileOf("deep", note("deep")), "sub/deep/er/x.yaml": configMap("deep-cm"),
		"plain/x.yaml": configMap("plain-cm"),
	})
}

func TestDepthFirst(t *testing.T) {
	res := mustRender(t, testOptions(), nested(t))
	var order []string
	for _, f := range res.Functions {
		order = append(order, fmt.Sprintf("%s:%d", f.Package, f.Selected))
	}
	// Children first; a parent sees its own and its children's resources.
	if diff := cmp.Diff([]string{"sub/deep/er:2", "sub:4", ":7"}, order); diff != "" {
		t.Error(diff)
	}
	got := map[string]string{}
	for _, r := range res.Package.Resources() {
		var by []string
		for _, w := range []string{"deep", "sub", "root"} {
			if _, ok := r.Annotation("by-" + w); ok {
				by = append(by, w)
			}
		}
		last, _ := r.Annotation("last")
		got[r.Name()] = strings.Join(by, ",") + " last " + last
	}
	want := map[string]string{
		"root": "root last root", "root-cm": "root last root", "plain-cm": "root last root",
		"sub": "sub,root last root", "sub-cm": "sub,root last root",
		"deep": "deep,sub,root last root", "deep-cm": "deep,sub,root last root",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if res.Packages != 3 {
		t.Errorf("packages: got %d, want 3", res.Packages)
	}
}

func TestBytesStay(t *testing.T) {
	odd := "# leading\n\n---\napiVersion: v1\nkind:   ConfigMap   # aligned\nmetadata: {name: odd}\n\n\ndata:\n    a:   \"1\"\n---\n# only a comment\n"
	files := map[string]string{
		"odd.yaml": odd, "README.md": "text", "values.yaml": "not: krm\nb: [a]", "list.yaml": "- a\n- b\n", "helm.yaml": "replicas: 3\n",
		"b.yaml":  configMap("b"),
		"Kptfile": kptfileOf("root", "pipeline:\n  mutators:\n  - image: "+own("note")+"\n    configMap: {k: v}\n    selectors: [{name: b}]\n"),
	}
	p := pkg(t, files)
	res := mustRender(t, testOptions(), p)
	got := contents(t, res.Package)
	want := map[string]string{}
	for k, v := range files {
		want[k] = v
	}
	want["b.yaml"] += "  annotations:\n    k: v\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(files, contents(t, p)); diff != "" {
		t.Errorf("the input changed:\n%s", diff)
	}
}

func TestNoPipeline(t *testing.T) {
	files := map[string]string{"Kptfile": kptfileOf("root", ""), "a.yaml": "apiVersion: v1\nkind: List\nitems: []\n", "x.bin": "\x00"}
	res := mustRender(t, testOptions(), pkg(t, files))
	if diff := cmp.Diff(files, contents(t, res.Package)); diff != "" {
		t.Error(diff)
	}
}

// aliasBomb stands for ten to the power of levels nodes.
func aliasBomb(levels int) string {
	s := "apiVersion: v1\nkind: Bomb\nmetadata: {name: bomb}\nspec:\n  a0: &a0 x\n"
	for i := 1; i <= levels; i++ {
		last := fmt.Sprintf("*a%d", i-1)
		s += fmt.Sprintf("  a%d: &a%d [%s]\n", i, i, strings.Join(slices.Repeat([]string{last}, 10), ", "))
	}
	return s
}

func TestUnreadable(t *testing.T) {
	deep := "apiVersion: v1\nkind: Deep\nmetadata: {name: deep}\nspec: " + strings.Repeat("{a: ", 1200) + "1" + strings.Repeat("}", 1200) + "\n"
	cases := map[string]struct {
		reason string
		files  map[string]string
		want   []string // what the error names; none: it renders
	}{
		"Broken":       {"broken YAML names its file and line", map[string]string{"x.yaml": "a: b\nname: {broken"}, []string{"x.yaml:2: it is not valid YAML", ".krmignore"}},
		"SecondOfFile": {"a document that breaks takes the good one beside it along", map[string]string{"two.yaml": configMap("one") + "---\na: {b"}, []string{"two.yaml:6:"}},
		"Yml":          {"all extensions count", map[string]string{"x.yml": "a: ["}, []string{"x.yml:1:"}},
		"JSON":         {"JSON that may hold a resource counts", map[string]string{"x.json": `{"apiVersion": "v1",`}, []string{"x.json"}},
		"Hidden":       {"folders with a dot count, as in kpt", map[string]string{".x/x.yaml": "a: ["}, []string{".x/x.yaml:1:"}},
		"Latin1":       {"text that is not UTF-8", map[string]string{"x.yaml": configMap("x", "data: {a: \"\xe9\"}\n")}, []string{"x.yaml", "UTF-8"}},
		"Deep":         {"nesting beyond the bound names it", map[string]string{"x.yaml": deep}, []string{"x.yaml:4:", "200 levels"}},
		"Bomb":         {"so do aliases that stand for too much", map[string]string{"x.yaml": aliasBomb(6)}, []string{"x.yaml", "100000 nodes"}},
		"All":          {"all files are named at once", map[string]string{"x.yaml": "a: [", "y.yaml": "b: {"}, []string{"x.yaml:1:", "y.yaml:1:"}},
		"Subpackage":   {"a subpackage's files too", map[string]string{"sub/Kptfile": kptfileOf("sub", ""), "sub/x.yaml": "a: ["}, []string{"sub/x.yaml:1:"}},
		"Kptfile":      {"a Kptfile is named once", map[string]string{"sub/Kptfile": "a: ["}, []string{`Kptfile of "sub": cannot be read`}},
		"Local":        {"what is for the client only is read all the same", map[string]string{"x.yaml": "metadata: {annotations: {config.kubernetes.io/local-config: 'true'}}\nspec: {"}, []string{"x.yaml"}},
		"NeverRead":    {"a bad file of another package's ignore list", map[string]string{".krmignore": "x.yaml\n", "sub/Kptfile": kptfileOf("sub", ""), "sub/x.yaml": "a: ["}, []string{"sub/x.yaml"}},
		"Ignored":      {"what .krmignore names is not read", map[string]string{".krmignore": "x.yaml\ntpl/\n", "x.yaml": "a: [", "tpl/y.yaml": "{{ .x }}: {"}, nil},
		"Text":         {"other files are not read", map[string]string{"x.tpl": "a: [", "README.md": "a: [", "dash.json": `{"panels": [`}, nil},
	}
	for name, tc := range cases {
		for _, pipeline := range []string{"", "pipeline:\n  mutators:\n  - image: " + own("note") + "\n    configMap: {k: v}\n"} {
			t.Run(fmt.Sprintf("%s/pipeline=%t", name, pipeline != ""), func(t *testing.T) {
				tc.files["Kptfile"] = kptfileOf("root", pipeline)
				_, err := New(testOptions()).Render(context.Background(), pkg(t, tc.files))
				if (err != nil) != (tc.want != nil) {
					t.Fatalf("%s: got %v", tc.reason, err)
				}
				for _, want := range tc.want {
					if strings.Count(err.Error(), want) != 1 {
						t.Errorf("%s: got %v, want %q once", tc.reason, err, want)
					}
				}
			})
		}
	}
}

func TestForeignYAMLIsNoted(t *testing.T) {
	res := mustRender(t, testOptions(), pkg(t, map[string]string{
		"Kptfile": kptfileOf("root", ""), "a.yaml": configMap("a"), "values.yaml": "# values\n\nreplicas: 3\n", "second.yaml": configMap("b") + "---\n- a\n",
		"kustomization.yaml": "resources: []\n", "empty.yaml": "# nothing\n", ".krmignore": "left.yaml\n", "left.yaml": "a: b\n",
	}))
	var got []string
	for _, n := range res.Notes {
		file, _, _ := strings.Cut(n, ": ")
		got = append(got, file)
	}
	if diff := cmp.Diff([]string{"second.yaml:6", "values.yaml:3"}, got); diff != "" {
		t.Error(diff)
	}
}

// TestAddedTwice: what two functions add to one place is kept, and one resource is
// added once. (kpt refuses both.)
func TestAddedTwice(t *testing.T) {
	adding := func(names ...string) *krm.Package {
		var calls []string
		for _, n := range names {
			calls = append(calls, `{image: "starlark:v0.5", configMap: {source: 'ctx.resource_list["items"].append({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "`+n+`", "annotations": {"`+annPath+`": "made.yaml"}}})'}}`)
		}
		return pkg(t, map[string]string{"Kptfile": kptfileOf("root", mutating(calls...))})
	}
	res := mustRender(t, testOptions(), adding("a", "b"))
	if got := contents(t, res.Package)["made.yaml"]; got != configMap("a")+"---\n"+configMap("b") {
		t.Errorf("got %s", got)
	}
	_, err := New(testOptions()).Render(context.Background(), adding("a", "a"))
	if err == nil || !strings.Contains(err.Error(), `pipeline.mutators[1]`) || !strings.Contains(err.Error(), `ConfigMap "a" was added twice to made.yaml`) {
		t.Errorf("got %v", err)
	}
}

func TestGenerateAndDrop(t *testing.T) {
	res := mustRender(t, testOptions(), pkg(t, map[string]string{
		"Kptfile":       kptfileOf("root", "pipeline:\n  mutators:\n  - image: "+own("note")+"\n    configMap: {root: saw}\n"),
		"sub/Kptfile":   kptfileOf("sub", "pipeline:\n  mutators:\n  - image: "+own("generate")+"\n  - image: "+own("drop")+"\n"),
		"sub/one.yaml":  configMap("drop-one"),
		"sub/both.yaml": configMap("drop-two") + "---\n" + configMap("keep"),
	}))
	got := contents(t, res.Package)
	for name, want := range map[string]bool{"sub/one.yaml": false, "sub/both.yaml": true, "sub/made/configmap_generated.yaml": true} {
		if _, ok := got[name]; ok != want {
			t.Errorf("%s: present %v, want %v", name, ok, want)
		}
	}
	if s := got["sub/both.yaml"]; strings.Contains(s, "drop-two") || !strings.Contains(s, "keep") {
		t.Errorf("sub/both.yaml:\n%s", s)
	}
	if s := got["sub/made/configmap_generated.yaml"]; !strings.Contains(s, "root: saw") {
		t.Errorf("the parent's pipeline did not see what the child generated:\n%s", s)
	}
}

func TestIgnore(t *testing.T) {
	note := "pipeline:\n  mutators:\n  - image: " + own("note") + "\n    configMap: {k: v}\n"
	res := mustRender(t, testOptions(), pkg(t, map[string]string{
		"Kptfile": kptfileOf("root", note), ".krmignore": "skipped.yaml\nfolder\n*.tmp.yaml\n", "seen.yaml": configMap("seen"),
		"skipped.yaml": configMap("skipped"), "folder/x.yaml": configMap("in-folder"), "a/b.tmp.yaml": configMap("tmp"),
		"sub/Kptfile": kptfileOf("sub", ""), "sub/.krmignore": "own.yaml\n", "sub/own.yaml": configMap("sub-own"), "sub/skipped.yaml": configMap("sub-skipped"),
	}))
	var got []string
	for _, r := range res.Package.Resources() {
		if _, ok := r.Annotation("k"); ok {
			got = append(got, r.Name())
		}
	}
	sortStrings(got)
	// A package's .krmignore holds for its own files alone.
	if diff := cmp.Diff([]string{"root", "seen", "sub", "sub-skipped"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestConfigPath(t *testing.T) {
	p := pkg(t, map[string]string{
		"Kptfile": kptfileOf("root", `pipeline:
  mutators:
  - image: ghcr.io/kptdev/krm-functions-catalog/apply-setters:v0.2
    configMap: {who: red}
  - image: `+own("note")+`
    configPath: cfg.yaml
  - image: `+own("note")+`
    configMap: {later: 'yes'}
  validators:
  - image: `+own("warn")+`
    configPath: cfg.yaml
`),
		"cfg.yaml": configMap("cfg", "data:\n  team: blue # kpt-set: ${who}\n"),
		"a.yaml":   configMap("a"),
	})
	res := mustRender(t, testOptions(), p)
	want := map[string]string{"root": "red yes", "a": "red yes", "cfg": " yes"}
	got := map[string]string{}
	for _, r := range res.Package.Resources() {
		team, _ := r.Annotation("team")
		later, _ := r.Annotation("later")
		got[r.Name()] = team + " " + later
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("a mutator's config is what earlier mutators made of it, and is an item of every other function (-want +got):\n%s", diff)
	}
}

func TestPipelineErrors(t *testing.T) {
	many := configMap("a") + "---\n" + configMap("b")
	cases := map[string]struct {
		reason, pipeline string
		files            map[string]string
		want             []string
	}{
		"Neither":  {reason: "no image and no exec", pipeline: "  mutators: [{name: x}]\n", want: []string{"pipeline.mutators[0]", "neither an image nor an exec"}},
		"Both":     {reason: "image and exec", pipeline: "  validators: [{image: a/b, exec: c}]\n", want: []string{"pipeline.validators[0]", "both"}},
		"Image":    {reason: "no image reference", pipeline: "  mutators: [{image: 'A B'}]\n", want: []string{"mutators[0].image", "not an image reference"}},
		"Unknown":  {reason: "an unknown field inside of the pipeline", pipeline: "  mutators: [{image: set-labels, select: []}]\n", want: []string{"pipeline", "select"}},
		"Misspelt": {reason: "the line, and what there is instead", pipeline: "  mutators:\n  - image: set-labels\n  - imge: x\n", want: []string{`Kptfile of ".", line 8: pipeline.mutators[1]: there is no field "imge"; there are image, exec,`}},
		"Selects":  {reason: "unknown fields of selectors too", pipeline: "  mutators: [{image: set-labels, selectors: [{knd: a}]}]\n", want: []string{`line 6: pipeline.mutators[0].selectors[0]: there is no field "knd"; there are apiVersion, kind,`}},
		"Shapes":   {reason: "shapes in words, all of them", pipeline: "  mutators: {image: set-labels}\n  validators: [{image: [a], configMap: b}, c]\n", want: []string{"pipeline.mutators: it is a mapping, not a list", "line 7: pipeline.validators[0].image: it is a list, not a single value", `validators[0].configMap: it is "b", not a mapping`, `validators[1]: it is "c", not a mapping`}},
		"Second":   {reason: "lines of the file, not of the document", pipeline: "  mutators: [{imge: a}]\n", files: map[string]string{"sub/Kptfile": "# one\n---\n" + kptfileOf("s", "pipeline: {mutators: [{imge: a}]}\n")}, want: []string{`of ".", line 6`, `of "sub", line 7`}},
		"TwoConf":  {reason: "both configs", pipeline: "  mutators: [{image: set-labels, configPath: a.yaml, configMap: {a: b}}]\n", files: map[string]string{"a.yaml": configMap("a")}, want: []string{"both configPath and configMap"}},
		"Absent":   {reason: "config missing", pipeline: "  mutators: [{image: set-labels, configPath: nope.yaml}]\n", want: []string{"mutators[0].configPath", "does not exist"}},
		"Outside":  {reason: "config outside", pipeline: "  mutators: [{image: set-labels, configPath: ../x.yaml}]\n", want: []string{"leads out of the package"}},
		"Absolute": {reason: "config absolute", pipeline: "  mutators: [{image: set-labels, configPath: /etc/passwd}]\n", want: []string{"not a relative path"}},
		"Two":      {reason: "two configs in a file", pipeline: "  mutators: [{image: set-labels, configPath: a.yaml}]\n", files: map[string]string{"a.yaml": many}, want: []string{"holds 2 resources"}},
		"Ignored":  {reason: "config that .krmignore names", pipeline: "  mutators: [{image: set-labels, configPath: a.yaml}]\n", files: map[string]string{"a.yaml": configMap("a"), ".krmignore": "a.yaml\n"}, want: []string{"holds no resource of this package"}},
		"Childs":   {reason: "config of a subpackage", pipeline: "  mutators: [{image: set-labels, configPath: sub/a.yaml}]\n", files: map[string]string{"sub/Kptfile": kptfileOf("s", ""), "sub/a.yaml": configMap("a")}, want: []string{"holds no resource of this package"}},
		"All":      {reason: "all mistakes at once, of all packages", pipeline: "  mutators: [{}]\n  validators: [{}]\n", files: map[string]string{"sub/Kptfile": kptfileOf("s", "pipeline: {mutators: [{}]}\n")}, want: []string{`"."`, "mutators[0]", "validators[0]", `"sub"`}},
		"Nameless": {reason: "a resource without a name where a function runs", pipeline: "  mutators: [{image: set-labels, configMap: {a: b}}]\n", files: map[string]string{"l.yaml": "apiVersion: v1\nkind: List\nitems: []\n"}, want: []string{"l.yaml", "without metadata.name"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{"Kptfile": kptfileOf("root", "pipeline:\n"+tc.pipeline)}
			for k, v := range tc.files {
				files[k] = v
			}
			_, err := New(testOptions()).Render(context.Background(), pkg(t, files))
			var pe *PipelineError
			if !errors.As(err, &pe) {
				t.Fatalf("%s: got %v, want a PipelineError", tc.reason, err)
			}
			for _, w := range tc.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%s: %q does not say %q", tc.reason, err, w)
				}
			}
		})
	}
	t.Run("NoKptfile", func(t *testing.T) {
		if _, err := New(testOptions()).Render(context.Background(), pkg(t, map[string]string{"a.yaml": configMap("a")})); err == nil {
			t.Error("a folder without a Kptfile is no package")
		}
	})
	t.Run("OldKptfile", func(t *testing.T) {
		_, err := New(testOptions()).Render(context.Background(), pkg(t, map[string]string{"Kptfile": "apiVersion: kpt.dev/v1alpha2\nkind: Kptfile\nmetadata: {name: a}\n"}))
		if err == nil || !strings.Contains(err.Error(), "v1alpha2") {
			t.Errorf("got %v", err)
		}
	})
}

func TestUnavailable(t *testing.T) {
	p := pkg(t, map[string]string{
		"Kptfile": kptfileOf("root", `pipeline:
  mutators:
  - image: `+own("note")+`
    configMap: {k: v}
  - exec: ./run-me
  - image: example.com/other/set-labels:v0.2
  - image: ghcr.io/kptdev/krm-functions-catalog/set-labels:v99.0
  validators:
  - image: gcr.io/kpt-fn/set-labels@sha256:`+strings.Repeat("0", 64)+`
`),
		"sub/Kptfile": kptfileOf("sub", "pipeline:\n  validators:\n  - image: kubeconform:latest\n"),
	})
	res, err := New(testOptions()).Render(context.Background(), p)
	if len(res.Functions) != 0 {
		t.Errorf("%d functions ran", len(res.Functions))
	}
	var got []string
	for _, e := range err.(interface{ Unwrap() []error }).Unwrap() {
		var fe *FunctionError
		var ue *UnavailableError
		if !errors.As(e, &fe) || !errors.As(e, &ue) || ue.Hint == "" {
			t.Fatalf("%v is no FunctionError with a hint", e)
		}
		got = append(got, fmt.Sprintf("%s %s[%d]", fe.Package, fe.Type, fe.Index))
	}
	want := []string{"sub validators[0]", " mutators[1]", " mutators[2]", " mutators[3]", " validators[0]"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(err.Error(), "--allow-exec") {
		t.Errorf("%v", err)
	}
}

func TestValidators(t *testing.T) {
	base := func(pipeline string) *krm.Package {
		return pkg(t, map[string]string{"Kptfile": kptfileOf("root", "pipeline:\n"+pipeline), "a.yaml": configMap("a"), "drop.yaml": configMap("drop-me")})
	}
	t.Run("Copies", func(t *testing.T) {
		p := base("  validators:\n  - {image: " + own("note") + ", configMap: {k: v}}\n  - {image: " + own("drop") + "}\n  - {image: " + own("generate") + "}\n")
		res := mustRender(t, testOptions(), p)
		if diff := cmp.Diff(contents(t, p), contents(t, res.Package)); diff != "" {
			t.Errorf("a validator's changes were kept:\n%s", diff)
		}
	})
	t.Run("AfterMutators", func(t *testing.T) {
		p := base("  validators:\n  - {image: " + own("count") + ", selectors: [{annotations: {k: v}}]}\n  mutators:\n  - {image: " + own("note") + ", configMap: {k: v}}\n")
		res := mustRender(t, testOptions(), p)
		if got := res.Functions[1].Selected; got != 3 {
			t.Errorf("the validator saw %d mutated resources, want 3", got)
		}
	})
	t.Run("AllFailures", func(t *testing.T) {
		p := base("  validators:\n  - {image: " + own("fail") + ", name: first}\n  - {image: " + own("warn") + "}\n  - {image: " + own("fail") + ", selectors: [{name: a}]}\n")
		res, err := New(testOptions()).Render(context.Background(), p)
		if res.Package != nil || err == nil {
			t.Fatal("a failing validator gave a package")
		}
		var fe *FunctionError
		if !errors.As(err, &fe) || fe.Name != "first" || len(fe.Results) != 3 || !errors.Is(err, ErrFindings) {
			t.Errorf("first failure: %+v", fe)
		}
		var outcomes []string
		for _, f := range res.Functions {
			outcomes = append(outcomes, string(f.Outcome))
		}
		if diff := cmp.Diff([]string{"Failed", "Passed", "Failed"}, outcomes); diff != "" {
			t.Error(diff)
		}
		if !strings.Contains(err.Error(), "bad drop-me") || !strings.Contains(err.Error(), "validators[2]") {
			t.Errorf("%v", err)
		}
	})
	t.Run("MutatorStops", func(t *testing.T) {
		p := base("  mutators:\n  - {image: " + own("fail") + "}\n  - {image: " + own("note") + ", configMap: {k: v}}\n")
		res, err := New(testOptions()).Render(context.Background(), p)
		if err == nil || len(res.Functions) != 1 || res.Functions[0].ExitCode != 1 {
			t.Errorf("got %+v, %v", res.Functions, err)
		}
	})
	t.Run("Panic", func(t *testing.T) {
		_, err := New(testOptions()).Render(context.Background(), base("  mutators:\n  - {image: "+own("break")+"}\n"))
		if err == nil || !strings.Contains(err.Error(), "broken") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("Escape", func(t *testing.T) {
		_, err := New(testOptions()).Render(context.Background(), base("  mutators:\n  - {image: "+own("escape")+"}\n"))
		if err == nil || !strings.Contains(err.Error(), "leads out of package") {
			t.Errorf("got %v", err)
		}
	})
}

func TestUnavailableIsSaidOnce(t *testing.T) {
	list := "pipeline:\n  mutators:\n" + strings.Repeat("  - image: example.com/fn:v1\n", 3) + "  - image: apply-setters:v0.2.99\n"
	opts := testOptions()
	opts.NoContainers, opts.AllowedImages = false, []string{OwnRegistry + "/*"}
	_, err := New(opts).Render(context.Background(), pkg(t, map[string]string{"Kptfile": kptfileOf("p", list), "a.yaml": configMap("a")}))
	if err == nil {
		t.Fatal("it rendered")
	}
	for _, want := range []string{"--allow-image example.com/fn:v1", "named 3 times", "or use what is built in: v0.1.1, v0.2.0, v0.2.1, v0.2.2"} {
		if strings.Count(err.Error(), want) != 1 {
			t.Errorf("want %q once:\n%v", want, err)
		}
	}
}

// Where nothing runs an image: which package and image, and what to install; a
// version that is built in is named where there is one.
func TestNoEngineIsSaid(t *testing.T) {
	opts := Options{Environ: []string{"PATH=" + t.TempDir()}}
	_, err := New(opts).Render(context.Background(), pkg(t, map[string]string{
		"Kptfile": kptfileOf("p", ""), "sub/Kptfile": kptfileOf("s", "pipeline:\n  validators:\n  - image: kubeconform:v0.1\n  - image: set-labels:v9.0\n"),
	}))
	for _, want := range []string{`package "sub": pipeline.validators[0] ` + DefaultRegistry + "/kubeconform:v0.1: no builtin", "install podman or docker\n", "install podman or docker, or use what is built in: v0.1.5, v0.2.0"} {
		if err == nil || strings.Count(err.Error(), want) != 1 {
			t.Errorf("want %q once:\n%v", want, err)
		}
	}
}

func TestTargets(t *testing.T) {
	p, err := krm.Parse([]krm.File{
		{Path: "link", Mode: krm.Symlink, Data: []byte("/etc")},
		{Path: "link.yaml", Mode: krm.Symlink, Data: []byte("x")},
		{Path: "README.md", Data: []byte("x")},
		{Path: "broken.yaml", Data: []byte("a: [")},
	})
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]bool{
		"sub/new.yaml": true, "sub/new.json": true, "sub/Kptfile": true, "link/x.yaml": false, "link.yaml": false, "README.md": false, "broken.yaml": false,
		"../x.yaml": false, "/x.yaml": false, "a/../../x.yaml": false, ".git/x.yaml": false, "README.md/x.yaml": false, "x.sh": false,
	}
	for file, want := range cases {
		if err := checkTarget(p, "", file); (err == nil) != want {
			t.Errorf("%s: got %v, want allowed %v", file, err, want)
		}
	}
	if err := checkTarget(p, "sub", "other/x.yaml"); err == nil {
		t.Error("a function of sub wrote to other")
	}
}

func TestImages(t *testing.T) {
	digest := "@sha256:" + strings.Repeat("a", 64)
	cases := map[string]struct {
		image, tag string
		want       string // version, "" for another runtime
	}{
		"Bare":          {image: "set-labels", want: "set-labels@v0.2"},
		"BareTag":       {image: "set-labels:v0.2", want: "set-labels@v0.2"},
		"Patch":         {image: "set-labels:v0.2.1", want: "set-labels@v0.2"},
		"UnknownPatch":  {image: "apply-setters:v0.2.99"},
		"Prerelease":    {image: "set-namespace:v0.4.1-rc.1"},
		"ExactField":    {image: "set-namespace", tag: "v0.4.1", want: "set-namespace@v0.4"},
		"Tilde":         {image: "set-namespace", tag: "~0.4.1", want: "set-namespace@v0.4"},
		"AtLeast":       {image: "set-namespace", tag: ">=0.4.1", want: "set-namespace@v0.4"},
		"Caret":         {image: "starlark", tag: "^0.4.2", want: "starlark@v0.4"},
		"Wildcard":      {image: "set-namespace", tag: "0.4.x", want: "set-namespace@v0.4"},
		"Above":         {image: "set-namespace", tag: ">0.4.1", want: "set-namespace@v0.4"},
		"AboveAll":      {image: "set-namespace", tag: ">0.4.5"},
		"Between":       {image: "starlark", tag: ">0.4.3 <0.5.0"},
		"Latest":        {image: "gcr.io/kpt-fn/starlark:latest", want: "starlark@v0.5"},
		"OldMinor":      {image: "gcr.io/kpt-fn/starlark:v0.4.3", want: "starlark@v0.4"},
		"NewRegistry":   {image: "ghcr.io/kptdev/krm-functions-catalog/set-namespace:v0.4", want: "set-namespace@v0.4"},
		"UnknownMinor":  {image: "set-namespace:v0.1"},
		"LongerMinor":   {image: "set-namespace:v0.40"},
		"NotAVersion":   {image: "set-namespace:v0.4.evil"},
		"Digest":        {image: "gcr.io/kpt-fn/set-labels" + digest},
		"TagAndDigest":  {image: "gcr.io/kpt-fn/set-labels:v0.2" + digest},
		"OtherRegistry": {image: "example.com/kpt-fn/set-labels:v0.2"},
		"Deeper":        {image: "gcr.io/kpt-fn/contrib/set-labels:v0.2"},
		"TagField":      {image: "set-labels:v9", tag: "v0.2", want: "set-labels@v0.2"},
		"Constraint":    {image: "starlark", tag: "~0.4", want: "starlark@v0.4"},
		"ConstraintTop": {image: "starlark", tag: ">=0.1", want: "starlark@v0.5"},
		"ConstraintNo":  {image: "starlark", tag: ">=7"},
		"Own":           {image: OwnRegistry + "/note:anything", want: "note@dev"},
		"OwnUnknown":    {image: OwnRegistry + "/nothing:v1"},
	}
	b := newBuiltins(testOptions())
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			ref, err := parseImage(tc.image)
			if err != nil {
				t.Fatal(err)
			}
			call, err := b.Resolve(Function{Image: ref.resolve(DefaultRegistry).String(), Tag: tc.tag})
			if tc.want == "" {
				if !errors.Is(err, ErrNotMine) {
					t.Errorf("got %v, %v; want another runtime", call, err)
				}
				return
			}
			if err != nil || !strings.Contains(call.Version(), tc.want) {
				t.Errorf("got %v, %v; want %s", call, err, tc.want)
			}
		})
	}
}

func TestAllowedImages(t *testing.T) {
	ref, _ := parseImage("example.com/team/fn:v1")
	cases := map[string]struct {
		patterns []string
		want     bool
	}{
		"Exact":     {[]string{"example.com/team/fn:v1"}, true},
		"OtherTag":  {[]string{"example.com/team/fn:v2"}, false},
		"AnyTag":    {[]string{"example.com/team/fn"}, true},
		"Prefix":    {[]string{"example.com/team/*"}, true},
		"NoPartial": {[]string{"example.com/te/*", "example.com/team/f"}, false},
		"Empty":     {[]string{}, false},
	}
	for name, tc := range cases {
		if got := ref.allowed(tc.patterns); got != tc.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

func TestContainerPolicy(t *testing.T) {
	const image = "example.com/team/fn:v1"
	cases := map[string]struct {
		opts Options
		env  []string
		want string
	}{
		"Off":       {opts: Options{NoContainers: true}, want: "containers are off"},
		"NotListed": {opts: Options{AllowedImages: []string{"other/*"}}, want: "not on the list"},
		"NoEngine":  {env: []string{"PATH=/nowhere"}, want: "install podman or docker"},
		"BadEngine": {env: []string{"KPT_FN_RUNTIME=lxc"}, want: "podman, docker or nerdctl"},
	}
	for name, tc := range cases {
		_, err := newContainerRuntime(tc.opts, tc.env).Resolve(Function{Image: image})
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got %v, want %q", name, err, tc.want)
		}
	}
}

// TestRunArguments pins what every engine is told, and what only some know.
func TestRunArguments(t *testing.T) {
	common := []string{
		"--network none", "--user nobody", "--security-opt=no-new-privileges", "--cap-drop all", "--read-only",
		"--memory 1073741824", "--pids-limit 256", "--pull never", "--rm", "--name n", "--label dev.variform.function=a/b",
	}
	own := map[string]string{"podman": "--ipc none --log-driver none --read-only-tmpfs=false", "docker": "--ipc none --log-driver none --ulimit cpu=301 --env http_proxy= ", "nerdctl": "--ulimit cpu=301"}
	l := limits{memory: defaultMemory, pids: defaultPIDs, timeout: defaultTimeout}
	for name, extra := range own {
		got := strings.Join(engine{name: name}.runArgs("n", reference{repository: "a/b"}, l), " ") + " "
		for _, want := range append([]string{extra}, common...) {
			if !strings.Contains(got, want) {
				t.Errorf("%s: no %q in %s", name, want, got)
			}
		}
	}
}

func TestVersions(t *testing.T) {
	p := pkg(t, map[string]string{
		"Kptfile":     kptfileOf("root", "pipeline:\n  mutators:\n  - image: set-labels:v0.2\n  - image: example.com/x:v1\n"),
		"sub/Kptfile": kptfileOf("sub", "pipeline:\n  validators:\n  - image: "+own("warn")+"\n"),
	})
	want := []string{
		"sub/Kptfile pipeline.validators[0] builtin warn@dev",
		"Kptfile pipeline.mutators[0] builtin set-labels@v0.2 revision 1",
		"Kptfile pipeline.mutators[1] unavailable example.com/x:v1",
	}
	r := New(testOptions())
	inputs, versions := r.Versions(p)
	if diff := cmp.Diff(want, versions); diff != "" {
		t.Error(diff)
	}
	for i, name := range []string{"builtin warn", "builtin set-labels", "unavailable example.com/x:v1"} {
		want[i] = strings.Join(strings.Fields(want[i])[:2], " ") + " " + name
	}
	if diff := cmp.Diff(want, inputs); diff != "" {
		t.Error(diff)
	}
	for _, tt := range [][4]string{
		{"set-labels:v0.2", "", "", "builtin set-labels@v0.2 revision 1"},
		{"set-labels", "", "v0.2", "builtin set-labels@v0.2 revision 1"},
		{"example.com/x:v1", "", "", "unavailable example.com/x:v1"},
		{"a:b:c:d", "", "", "unreadable a:b:c:d"},
	} {
		input, _, _ := strings.Cut(tt[3], "@")
		if in, got := r.Version(tt[0], tt[1], tt[2]); got != tt[3] || in != input {
			t.Errorf("Version(%q, %q, %q) = %q, %q, want %q", tt[0], tt[1], tt[2], in, got, tt[3])
		}
	}
}

func TestSplitWords(t *testing.T) {
	cases := map[string][]string{
		"fn":                    {"fn"},
		"  a  b\tc ":            {"a", "b", "c"},
		`a 'b c' "d \" e" f\ g`: {"a", "b c", `d " e`, "f g"},
		`a "" b`:                {"a", "", "b"},
		`a "x\y"`:               {"a", `x\y`},
		"a # comment":           {"a"},
		"a$HOME ; rm":           {"a$HOME", ";", "rm"},
	}
	for in, want := range cases {
		got, err := splitWords(in)
		if err != nil || cmp.Diff(want, got) != "" {
			t.Errorf("%q: got %q, %v", in, got, err)
		}
	}
	for _, in := range []string{"'a", `"a`, `a\`} {
		if _, err := splitWords(in); err == nil {
			t.Errorf("%q was taken", in)
		}
	}
}

func self(t testing.TB, name string) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return exe + " " + runFunction + " " + name
}

func TestExec(t *testing.T) {
	run := func(name, cm string) (*Result, error) {
		opts := testOptions()
		opts.AllowExec = true
		opts.Environ = append(os.Environ(), "SECRET_TOKEN=hush")
		p := pkg(t, map[string]string{"Kptfile": kptfileOf("root", "pipeline:\n  mutators:\n  - exec: "+self(t, name)+"\n    selectors: [{kind: ConfigMap}]\n"), "cm.yaml": cm})
		return New(opts).Render(context.Background(), p)
	}
	cm := "# about\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: cm # the name\ndata:\n  b:   'x' # odd spacing\n  n: \"1\"\n"
	t.Run("CommentsSurvive", func(t *testing.T) {
		res, err := run("comments-lost", cm)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := contents(t, res.Package)["cm.yaml"], cm+"  changed: \"yes\"\n"; got != want {
			t.Errorf("got:\n%s", got)
		}
	})
	t.Run("Move", func(t *testing.T) {
		res, err := run("move", cm)
		if err != nil {
			t.Fatal(err)
		}
		got := contents(t, res.Package)
		if _, old := got["cm.yaml"]; old || got["moved/cm.yaml"] != cm {
			t.Errorf("got %v", got)
		}
	})
	t.Run("Stderr", func(t *testing.T) {
		res, err := run("stderr", cm)
		if err != nil || res.Functions[0].Stderr != "said" || contents(t, res.Package)["cm.yaml"] != cm {
			t.Errorf("%+v, %v", res, err)
		}
	})
	t.Run("SoftError", func(t *testing.T) {
		res, err := run("soft-error", cm)
		if err != nil || len(res.Functions[0].Results) != 1 || res.Functions[0].Results[0].Severity != fn.Error {
			t.Errorf("success is the exit code alone, and results are shown: %+v, %v", res, err)
		}
	})
	t.Run("Environment", func(t *testing.T) {
		res, err := run("env", cm)
		if err != nil || strings.Contains(res.Functions[0].Stderr, "SECRET_TOKEN") || !strings.Contains(res.Functions[0].Stderr, "PATH=") {
			t.Errorf("%+v, %v", res, err)
		}
	})
	failures := map[string]string{
		"exit3": "exit code 3", "silent": "nothing was written", "garbage": "not YAML", "rewrite-path": "leads out of package",
	}
	for name, want := range failures {
		t.Run(name, func(t *testing.T) {
			res, err := run(name, cm)
			var fe *FunctionError
			if !errors.As(err, &fe) || !strings.Contains(err.Error(), want) || res.Package != nil {
				t.Fatalf("got %v", err)
			}
			if name == "exit3" && (fe.ExitCode != 3 || len(fe.Results) != 1 || !strings.Contains(err.Error(), "went wrong")) {
				t.Errorf("got %+v", fe)
			}
		})
	}
	t.Run("Missing", func(t *testing.T) {
		opts := testOptions()
		opts.AllowExec = true
		_, err := New(opts).Render(context.Background(), pkg(t, map[string]string{"Kptfile": kptfileOf("r", "pipeline: {mutators: [{exec: no-such-program-here}]}\n")}))
		if err == nil || !strings.Contains(err.Error(), "install it on the PATH") {
			t.Errorf("got %v", err)
		}
	})
}

func TestReport(t *testing.T) {
	p := pkg(t, map[string]string{"Kptfile": kptfileOf("root", "pipeline:\n  validators:\n  - image: "+own("fail")+"\n"), "a.yaml": configMap("a"), "b.yaml": configMap("b")})
	res, err := New(testOptions()).Render(context.Background(), p)
	if err == nil {
		t.Fatal("no error")
	}
	data, err := res.ResultList()
	if err != nil || !bytes.Contains(data, []byte("kind: FunctionResultList")) || !bytes.Contains(data, []byte("exitCode: 1")) || !bytes.Contains(data, []byte("bad b")) {
		t.Errorf("%s %v", data, err)
	}
}

// TestSummary has the form of kpt 1.0.0-beta.56.
func TestSummary(t *testing.T) {
	res := &Result{Functions: []FunctionResult{
		{Exec: "./fn", Outcome: Passed, Duration: 340 * time.Millisecond, Stderr: "one\ntwo\nthree\n", Results: fn.Results{
			{Severity: fn.Info, Message: "hello", ResourceRef: &fn.ResourceRef{APIVersion: "v1", Kind: "ConfigMap", Name: "a"}, Field: &fn.Field{Path: "data.x"}},
			{Severity: fn.Warning, Message: "second", File: &fn.File{Path: "a.yaml"}},
		}},
		{Package: "sub", Image: "example.com/fn:v1", Outcome: Failed, ExitCode: 4, Stderr: "oops"},
	}}
	want := `Package ".":
[PASS] "./fn" in 300ms
  Results:
    [info] v1/ConfigMap/a data.x: hello
    [warning]: second (a.yaml)
  Stderr:
    "one"
    "two"
    ...(1 line(s) more)
Package "sub":
[FAIL] "example.com/fn:v1" in 0s
  Stderr:
    "oops"
  Exit code: 4
`
	var b strings.Builder
	if err := res.WriteSummary(&b, 2); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	e := &FunctionError{Type: mutators, Function: "f", Err: exitError(4), Stderr: "oops", Results: fn.Results{{Severity: fn.Error, Message: "bad"}}}
	if got := e.Brief(); !strings.HasSuffix(got, "failed with exit code 4") || !strings.Contains(e.Error(), "oops") {
		t.Errorf("brief %q of %q", got, e.Error())
	}
}

// What is kept counts with what came of it, and what is as large as many others is not.
func TestCacheCountsOutputs(t *testing.T) {
	c := onceCache[int]{limit: 800, weigh: func(n int) int { return n }}
	runs := 0
	get := func(key byte, n int) (kept bool) {
		t.Helper()
		v, kept, err := c.get(digest{key}, 1, func() (int, error) { runs++; return n, nil })
		if err != nil || v != n {
			t.Fatalf("%d, %v", v, err)
		}
		return kept
	}
	for range 2 { // over an eighth
		if get(1, 101) || c.size != 0 || len(c.entries)+len(c.order) != 0 {
			t.Errorf("a large one is kept: %d bytes of %d", c.size, len(c.entries))
		}
	}
	for i := range byte(20) {
		get(10+i, 99)
	}
	if c.size != 800 || len(c.entries) != 8 || len(c.order) != 8 {
		t.Errorf("%d bytes of %d are kept, want 800 of 8", c.size, len(c.entries))
	}
	if runs = 0; !get(29, 99) || get(10, 99) || runs != 1 {
		t.Errorf("%d runs: the oldest go first", runs)
	}
	if newProcessCache().weigh(processOutput{stdout: make([]byte, 5), stderr: "123"}) != 8 {
		t.Error("what programs answered is not weighed")
	}
}
