package function

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kptdev/krm-functions-sdk/go/fn"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/krm"
)

// call is one invocation of a function: files after lines "-- path --", and the
// functionConfig, "" for none.
func call(t *testing.T, p Processor, files, config string) (*Call, *krm.Package) {
	t.Helper()
	var list []krm.File
	for i, part := range strings.Split("\n"+files, "\n-- ") {
		if head, data, ok := strings.Cut(part, " --\n"); ok && i > 0 {
			list = append(list, krm.File{Path: head, Data: []byte(strings.TrimSuffix(data, "\n") + "\n")})
		}
	}
	pkg, err := krm.Parse(list)
	if err != nil {
		t.Fatal(err)
	}
	c := &Call{Package: pkg}
	if config != "" {
		c.Config = yaml.MustParse(config)
	}
	if err := p(context.Background(), c); err != nil {
		t.Fatal(err)
	}
	return c, pkg
}

// summary is what a call reports of itself as a whole, without names and fields.
func summary(c *Call) (out []string) {
	for _, r := range c.Results {
		if isSummary(r) {
			out = append(out, r.Message)
		}
	}
	return out
}

func isSummary(r *fn.Result) bool {
	return r.Severity == fn.Info && (r.ResourceRef == nil || r.ResourceRef.Kind == "PackageLock")
}

// said is a call's other results: severity, file and document, field, message.
func said(c *Call) []string {
	var out []string
	for _, r := range c.Results {
		if isSummary(r) {
			continue
		}
		line := string(r.Severity)
		if r.File != nil {
			line += fmt.Sprintf(" %s#%d", r.File.Path, r.File.Index)
		}
		if r.ResourceRef != nil {
			line += fmt.Sprintf(" <%s/%s>", r.ResourceRef.Kind, r.ResourceRef.Name)
		}
		if r.Field != nil {
			line += " " + r.Field.Path
		}
		out = append(out, line+": "+r.Message)
	}
	return out
}

// text is a package's files after lines "-- path --".
func text(t *testing.T, p *krm.Package) string {
	t.Helper()
	files, err := p.Files()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, f := range files {
		b.WriteString("-- " + f.Path + " --\n" + string(f.Data))
	}
	return b.String()
}

// wantSaid compares results; a line of want is the beginning of one.
func wantSaid(t *testing.T, want, got []string) {
	t.Helper()
	for i := range min(len(want), len(got)) {
		if strings.HasPrefix(got[i], want[i]) {
			got[i] = want[i]
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
}

const (
	head = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: p\n"
	kf   = "-- Kptfile --\n" + head
)

func configMap(data string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {" + data + "}\n"
}

// TestBuiltinDocs: each function has a page, and there is no page without one.
func TestBuiltinDocs(t *testing.T) {
	if diff := cmp.Diff(slices.Sorted(maps.Keys(Builtin)), slices.Sorted(maps.Keys(Docs))); diff != "" {
		t.Errorf("functions and docs (-want +got):\n%s", diff)
	}
	for name, d := range Docs {
		for _, n := range strings.Split(d.Config, "\n---\n") {
			if _, err := yaml.Parse(n); err != nil {
				t.Errorf("%s: the functionConfig of its docs: %v", name, err)
			}
		}
	}
}

// TestOptions: what a functionConfig of options may be.
func TestOptions(t *testing.T) {
	cases := map[string]struct {
		config string
		want   map[string]string
		said   []string
	}{
		"none":            {"", nil, nil},
		"empty":           {"{}", nil, nil},
		"without data":    {"apiVersion: v1\nkind: ConfigMap\n", nil, nil},
		"data is null":    {"apiVersion: v1\nkind: ConfigMap\ndata:\n", nil, nil},
		"one":             {configMap("a: 'true'"), map[string]string{"a": "true"}, nil},
		"a number":        {configMap("b: 3"), map[string]string{"b": "3"}, nil},
		"unknown":         {configMap("a: x, z: 1"), map[string]string{"a": "x"}, []string{`error <ConfigMap/c> data.z: functionConfig: unknown option "z"; there are ["a" "b"]`}},
		"no text":         {configMap("a: [x]"), map[string]string{}, []string{`error <ConfigMap/c> data.a: functionConfig: option "a" must be a text`}},
		"no map":          {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: x\n", nil, []string{"error <ConfigMap/c> data: functionConfig: data must be a map of strings"}},
		"another kind":    {"apiVersion: v1\nkind: Secret\nmetadata: {name: s}\n", nil, []string{"error <Secret/s> kind: functionConfig: it is v1 Secret and must be a v1 ConfigMap, or left out"}},
		"another group's": {"apiVersion: x/v1\nkind: ConfigMap\nmetadata: {name: s}\n", nil, []string{"error <ConfigMap/s> kind: functionConfig: it is x/v1 ConfigMap"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var got map[string]string
			c, _ := call(t, func(_ context.Context, c *Call) error { got = c.options("a", "b"); return nil }, "", tc.config)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			wantSaid(t, tc.said, said(c))
		})
	}
}

// TestBoolean: true and false, and nothing else.
func TestBoolean(t *testing.T) {
	for value, want := range map[string]bool{"true": true, "false": false, "yes": false, "": false} {
		c := &Call{}
		if got := c.boolean(map[string]string{"k": value}, "k"); got != want {
			t.Errorf("%q is %v", value, got)
		}
		if wrong := value != "true" && value != "false"; c.failed() != wrong {
			t.Errorf("%q: %v", value, said(c))
		}
	}
	c := &Call{}
	if c.boolean(nil, "k") || c.failed() {
		t.Error("one that is not there is true, or wrong")
	}
}

// TestValidatePackage: what is wrong with a package, where, and how badly.
func TestValidatePackage(t *testing.T) {
	cm := func(name string) string { return "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + name + "\n" }
	pipeline := func(fns string) string { return kf + "pipeline:\n  mutators:\n" + fns }
	gate := kf + "info:\n  readinessGates:\n  - conditionType: ready\nstatus:\n  conditions:\n  - type: ready\n    status: \"False\"\n    message: not yet\n"
	cases := map[string]struct {
		files  string
		strict bool
		want   []string
	}{
		"nothing":                  {kf + "-- a.yaml --\n" + cm("a"), true, nil},
		"unreadable":               {kf + "-- a.yaml --\na: [\n", false, []string{"error a.yaml#0: the YAML cannot be read at line "}},
		"twice in one file":        {kf + "-- a.yaml --\n" + cm("a") + "---\n" + cm("a"), false, []string{"error a.yaml#1 <ConfigMap/a> metadata.name: ConfigMap a stands twice in one package, also in a.yaml (document 0)"}},
		"twice in two files":       {kf + "-- a.yaml --\n" + cm("a") + "-- b/b.yaml --\n" + cm("a"), false, []string{"error b/b.yaml#0 <ConfigMap/a> metadata.name: ConfigMap a stands twice in one package, also in a.yaml (document 0)"}},
		"in a subpackage":          {kf + "-- a.yaml --\n" + cm("a") + "-- s/Kptfile --\n" + strings.Replace(head, "name: p", "name: s", 1) + "-- s/b.yaml --\n" + cm("a"), false, nil},
		"other namespaces":         {kf + "-- a.yaml --\n" + cm("a") + "---\n" + cm("a\n  namespace: n"), false, nil},
		"a context object":         {kf + "-- a.yaml --\n" + cm("a") + "---\n" + cm("a\n  annotations: {variform.dev/context: 'true'}"), false, nil},
		"no context object":        {kf + "-- a.yaml --\n" + cm("a") + "---\n" + cm("a\n  annotations: {variform.dev/context: 'false'}"), false, []string{"error a.yaml#1"}},
		"an old Kptfile":           {"-- Kptfile --\n" + strings.Replace(head, "/v1\n", "/v1alpha1\n", 1), false, []string{`error Kptfile#0 <Kptfile/p> apiVersion: apiVersion is "kpt.dev/v1alpha1" and must be "kpt.dev/v1"`}},
		"a Kptfile without a name": {"-- Kptfile --\napiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {}\n", false, []string{"error Kptfile#0 <Kptfile/> metadata.name: the Kptfile needs metadata.name"}},
		"an unknown field":         {kf + "pipelines: {}\n", false, []string{"error Kptfile#0 <Kptfile/p> pipelines: "}},
		"a strategy":               {kf + "upstream: {type: git, updateStrategy: best}\n", false, []string{"error Kptfile#0 <Kptfile/p> upstream.updateStrategy: "}},
		"no image":                 {pipeline("  - name: f\n"), false, []string{"error Kptfile#0 <Kptfile/p> pipeline.mutators[0]: the function needs an image or an exec"}},
		"image and exec":           {pipeline("  - {image: a, exec: b}\n"), false, []string{"error Kptfile#0 <Kptfile/p> pipeline.mutators[0]: the function has both image and exec"}},
		"a bad image":              {pipeline("  - image: 'A B'\n"), false, []string{"error Kptfile#0 <Kptfile/p> pipeline.mutators[0].image: "}},
		"a validator":              {kf + "pipeline:\n  validators:\n  - {image: a}\n  - {}\n", false, []string{"error Kptfile#0 <Kptfile/p> pipeline.validators[1]: the function needs an image or an exec"}},
		"an executable":            {pipeline("  - exec: ./run\n"), false, nil},
		"a name twice":             {pipeline("  - {image: a, name: f}\n  - {image: b, name: f}\n"), false, []string{`warning Kptfile#0 <Kptfile/p> pipeline.mutators[1].name: the name "f" is also that of pipeline.mutators[0]`}},
		"a name twice, strictly":   {pipeline("  - {image: a, name: f}\n  - {image: b, name: f}\n"), true, []string{"error Kptfile#0"}},
		"no name twice":            {pipeline("  - {image: a}\n  - {image: b}\n"), true, nil},
		"a config":                 {pipeline("  - {image: a, configPath: ./c.yaml}\n") + "-- c.yaml --\n" + cm("c"), false, nil},
		"a config of a subpackage": {kf + "-- s/Kptfile --\n" + strings.Replace(head, "name: p", "name: s", 1) + "pipeline: {mutators: [{image: a, configPath: c.yaml}]}\n-- s/c.yaml --\n" + cm("c"), false, nil},
		"no config there":          {pipeline("  - {image: a, configPath: c.yaml}\n"), false, []string{`error Kptfile#0 <Kptfile/p> pipeline.mutators[0].configPath: no resource stands in "c.yaml"`}},
		"two configs":              {pipeline("  - {image: a, configPath: c.yaml}\n") + "-- c.yaml --\n" + cm("c") + "---\n" + cm("d"), false, []string{`error Kptfile#0 <Kptfile/p> pipeline.mutators[0].configPath: "c.yaml" holds 2 resources`}},
		"a config outside":         {pipeline("  - {image: a, configPath: ../c.yaml}\n"), false, []string{`error Kptfile#0 <Kptfile/p> pipeline.mutators[0].configPath: "../c.yaml" is not a path inside the package`}},
		"a config at the root":     {pipeline("  - {image: a, configPath: /c.yaml}\n"), false, []string{`error Kptfile#0 <Kptfile/p> pipeline.mutators[0].configPath: "/c.yaml" is not a path inside the package`}},
		"two kinds of config":      {pipeline("  - {image: a, configPath: c.yaml, configMap: {k: v}}\n") + "-- c.yaml --\n" + cm("c"), false, []string{"error Kptfile#0 <Kptfile/p> pipeline.mutators[0].configPath: the function has both configPath and configMap"}},
		"a gate":                   {gate, false, []string{`warning Kptfile#0 <Kptfile/p> status.conditions: readiness gate "ready" is not met: its condition is False: not yet`}},
		"a gate, strictly":         {gate, true, []string{"error Kptfile#0"}},
		"a gate that is met":       {strings.Replace(gate, `"False"`, `"True"`, 1), true, nil},
		"a point":                  {kf + "-- a.yaml --\n" + cm("a\n  annotations: {kpt.dev/config-injection: maybe}"), false, []string{`error a.yaml#0 <ConfigMap/a> metadata.annotations[kpt.dev/config-injection]: ConfigMap/a has invalid`}},
		"a kind of ours":           {kf + "-- a.yaml --\napiVersion: config.porch.kpt.dev/v1alpha1\nkind: PackageVariant\nmetadata: {name: v}\nspec: {upstream: {repo: r, package: p, revision: v1}}\n", false, []string{"error a.yaml#0 <PackageVariant/v> spec.downstream"}},
		"outputs": {
			kf + "-- package.yaml --\napiVersion: variform.dev/v1alpha1\nkind: PackageManifest\nmetadata: {name: p}\nspec:\n  outputs:\n  - {name: a, valueFrom: 'ConfigMap/none:data.k'}\n  - {name: b, valueFrom: 'ConfigMap/a:data.k'}\n-- a.yaml --\n" + cm("a"),
			false,
			[]string{"warning package.yaml#0 <PackageManifest/p> spec.outputs[0].valueFrom: "},
		},
		"outputs, strictly": {
			kf + "-- package.yaml --\napiVersion: variform.dev/v1alpha1\nkind: PackageManifest\nmetadata: {name: p}\nspec:\n  outputs:\n  - {name: a, valueFrom: 'ConfigMap/none:data.k'}\n",
			true,
			[]string{"error package.yaml#0 <PackageManifest/p> spec.outputs[0].valueFrom: "},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			config := ""
			if tc.strict {
				config = configMap("strict: 'true'")
			}
			c, pkg := call(t, ValidatePackage, tc.files, config)
			wantSaid(t, tc.want, said(c))
			if before, _ := call(t, func(context.Context, *Call) error { return nil }, tc.files, ""); text(t, pkg) != text(t, before.Package) {
				t.Error("the package was changed")
			}
		})
	}
}

// TestCheckPlaces: where a ResourceList says that its items stand.
func TestCheckPlaces(t *testing.T) {
	item := func(name, annotations string) string {
		return "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + name + "\n  annotations: {" + annotations + "}\n"
	}
	at := func(path, index string) string {
		return "internal.config.kubernetes.io/path: '" + path + "', internal.config.kubernetes.io/index: '" + index + "'"
	}
	const field = "metadata.annotations[internal.config.kubernetes.io/path]"
	cases := map[string]struct {
		items []string
		want  []string
	}{
		"places of their own":  {[]string{item("a", at("f.yaml", "0")), item("b", at("f.yaml", "1")), item("c", at("g.yaml", "0"))}, nil},
		"no places":            {[]string{item("a", ""), item("b", "")}, nil},
		"one place":            {[]string{item("a", at("f.yaml", "0")), item("b", at("f.yaml", "0"))}, []string{`error all.yaml#1 <ConfigMap/b> ` + field + `: two items have the path "f.yaml" and the index "0": ConfigMap a and ConfigMap b`}},
		"one place of three":   {[]string{item("a", at("f.yaml", "0")), item("b", at("f.yaml", "0")), item("c", at("f.yaml", "0"))}, []string{"error all.yaml#1", "error all.yaml#2"}},
		"no index":             {[]string{item("a", "internal.config.kubernetes.io/path: f.yaml"), item("b", "internal.config.kubernetes.io/path: f.yaml")}, nil},
		"no index, one name":   {[]string{item("a", "internal.config.kubernetes.io/path: f.yaml"), item("a", "internal.config.kubernetes.io/path: f.yaml")}, []string{"error all.yaml#1"}},
		"the old annotations":  {[]string{item("a", "config.kubernetes.io/path: f.yaml, config.kubernetes.io/index: '0'"), item("b", "config.kubernetes.io/path: f.yaml, config.kubernetes.io/index: '0'")}, []string{"error all.yaml#1 <ConfigMap/b> metadata.annotations[config.kubernetes.io/path]"}},
		"another package":      {[]string{item("a", at("f.yaml", "0")), item("b", at("f.yaml", "0")+", internal.config.kubernetes.io/package-path: s")}, nil},
		"outside":              {[]string{item("a", at("../f.yaml", "0"))}, []string{`error all.yaml#0 <ConfigMap/a> ` + field + `: path "../f.yaml" is not a clean path inside the package`}},
		"just outside":         {[]string{item("a", at("..", "0"))}, []string{"error all.yaml#0"}},
		"at the root":          {[]string{item("a", at("/f.yaml", "0"))}, []string{"error all.yaml#0"}},
		"a way round":          {[]string{item("a", at("s/../f.yaml", "0"))}, []string{"error all.yaml#0"}},
		"of Windows":           {[]string{item("a", at(`s\f.yaml`, "0"))}, []string{"error all.yaml#0"}},
		"nowhere":              {[]string{item("a", at("", "0"))}, []string{"error all.yaml#0"}},
		"a name with two dots": {[]string{item("a", at("..f.yaml", "0"))}, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c, _ := call(t, func(_ context.Context, c *Call) error { CheckPlaces(c); return nil }, "-- all.yaml --\n"+strings.Join(tc.items, "---\n"), "")
			wantSaid(t, tc.want, said(c))
		})
	}
}

// TestInjectConfig: context objects, inline and among the items, and what is
// said of each point.
func TestInjectConfig(t *testing.T) {
	point := func(name, mode string) string {
		return "-- " + name + ".yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + name + "\n  annotations: {kpt.dev/config-injection: " + mode + "}\ndata: {}\n"
	}
	object := func(annotation string) string {
		return "-- ctx.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: eu\n  annotations: {variform.dev/context: '" + annotation + "'}\ndata: {k: item}\n"
	}
	config := "apiVersion: variform.dev/v1alpha1\nkind: InjectConfig\nmetadata: {name: i}\ninjectors: [{name: eu}]\n"
	inline := config + "resources: [{apiVersion: v1, kind: ConfigMap, metadata: {name: eu}, data: {k: inline}}]\n"
	variant := "apiVersion: config.porch.kpt.dev/v1alpha1\nkind: PackageVariant\nmetadata: {name: v}\nspec: {upstream: {repo: r, package: p, revision: v1}, downstream: {repo: d, package: p}, injectors: [{name: eu}]}\n"
	cases := map[string]struct {
		files, config string
		said          []string
		holds         string
	}{
		"an item":               {kf + point("a", "required") + object("true"), config, []string{`info a.yaml#0 <ConfigMap/a>: config.injection.ConfigMap.a: filled from ConfigMap eu (`}, "k: item"},
		"inline":                {kf + point("a", "required"), inline, []string{"info a.yaml#0"}, "k: inline"},
		"by a variant":          {kf + point("a", "required") + object("true"), variant, []string{"info a.yaml#0"}, "k: item"},
		"none, required":        {kf + point("a", "required"), config, []string{"warning a.yaml#0 <ConfigMap/a>: config.injection.ConfigMap.a: no in-cluster resources"}, "conditionType: config.injection.ConfigMap.a"},
		"none, optional":        {kf + point("a", "optional"), config, []string{"info a.yaml#0"}, "type: config.injection.ConfigMap.a"},
		"no context object":     {kf + point("a", "required") + object("false"), config, []string{"warning a.yaml#0"}, ""},
		"a wrong word":          {kf + point("a", "required") + object("yes"), config, []string{`error ctx.yaml#0 <ConfigMap/eu> metadata.annotations[variform.dev/context]: annotation variform.dev/context is "yes" and must be "true"`}, "data: {}"},
		"twice":                 {kf + point("a", "required") + object("true"), inline, []string{"error: context object ConfigMap.v1 default/eu stands twice"}, "data: {}"},
		"no config":             {kf + point("a", "required"), "", []string{"error: functionConfig: one of kind InjectConfig is needed"}, "data: {}"},
		"another kind":          {kf, configMap("a: b"), []string{`error <ConfigMap/c> kind: functionConfig: its kind is "ConfigMap" and must be one of`}, ""},
		"a mistake in it":       {kf, config + "injector: []\n", []string{"error <InjectConfig/i> injector: functionConfig: "}, ""},
		"a point that is wrong": {kf + point("a", "maybe"), config, []string{"error a.yaml#0 <ConfigMap/a> metadata.annotations[kpt.dev/config-injection]: ConfigMap/a has invalid"}, "data: {}"},
		"no Kptfile":            {point("a", "required"), config, []string{"error: the package has injection points but no Kptfile"}, "data: {}"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c, pkg := call(t, InjectConfig, tc.files, tc.config)
			wantSaid(t, tc.said, said(c))
			if got := text(t, pkg); !strings.Contains(got, tc.holds) {
				t.Errorf("the package lacks %q:\n%s", tc.holds, got)
			}
		})
	}
}

// TestApplyVariant: package context, pipeline and injection as one.
func TestApplyVariant(t *testing.T) {
	files := kf + "-- package-context.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: kptfile.kpt.dev\ndata:\n  name: p\n  old: x\n"
	variant := func(spec string) string {
		return "apiVersion: config.porch.kpt.dev/v1alpha1\nkind: PackageVariant\nmetadata: {name: v}\nspec: {upstream: {repo: r, package: p, revision: v1}, downstream: {repo: d, package: p}" + spec + "}\n"
	}
	cases := map[string]struct {
		files, config string
		said          []string
		holds, lacks  string
	}{
		"nothing":          {files, variant(""), nil, "old: x", "pipeline"},
		"context":          {files, variant(", packageContext: {data: {region: eu}, removeKeys: [old]}"), nil, "region: eu", "old: x"},
		"functions":        {files, variant(", pipeline: {mutators: [{image: set-labels:v1, configMap: {a: b}}]}"), nil, "image: set-labels:v1", "validators"},
		"a point, unmet":   {files + "-- a.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  annotations: {kpt.dev/config-injection: required}\n", variant(", injectors: [{name: eu}]"), []string{"warning a.yaml#0 <ConfigMap/a>: config.injection.ConfigMap.a: "}, "conditionType: config.injection.ConfigMap.a", "\ndata:\n  k"},
		"no config":        {files, "", []string{"error: functionConfig: one of kind PackageVariant is needed"}, "old: x", "region"},
		"no context there": {kf, variant(", packageContext: {data: {region: eu}}"), []string{"error "}, "name: p", "region"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c, pkg := call(t, ApplyVariant, tc.files, tc.config)
			wantSaid(t, tc.said, said(c))
			if got := text(t, pkg); !strings.Contains(got, tc.holds) || strings.Contains(got, tc.lacks) {
				t.Errorf("the package lacks %q or has %q:\n%s", tc.holds, tc.lacks, got)
			}
		})
	}
}

// TestGenerateVariants: which variants are made, changed, kept and removed.
func TestGenerateVariants(t *testing.T) {
	repo := func(name string) string {
		return "-- repos/" + name + ".yaml --\napiVersion: config.porch.kpt.dev/v1alpha1\nkind: Repository\nmetadata: {name: " + name + ", labels: {env: prod}}\nspec: {type: git, git: {repo: 'https://git.example/" + name + "'}}\n"
	}
	set := func(targets string) string {
		return "-- sets/s.yaml --\napiVersion: config.porch.kpt.dev/v1alpha2\nkind: PackageVariantSet\nmetadata: {name: s}\nspec:\n  upstream: {repo: cat, package: foo, revision: v1}\n  targets:\n  - " + targets + "\n"
	}
	variant := func(name, repo string) string {
		return "-- old/" + name + ".yaml --\napiVersion: config.porch.kpt.dev/v1alpha1\nkind: PackageVariant\nmetadata:\n  name: " + name + "\n  labels: {variform.dev/set: s, mine: kept}\nspec:\n  upstream: {repo: cat, package: foo, revision: v0} # old\n  downstream: {repo: " + repo + ", package: foo}\nstatus: {kept: true}\n"
	}
	all := "repositorySelector: {matchLabels: {env: prod}}"
	repos := repo("r1") + repo("r2") + repo("r3") + repo("r4")
	const stale = "no target asks for this PackageVariant any more; "
	cases := map[string]struct {
		files, config string
		said          []string
		want          map[string]string // of PackageVariants: file and revision by name
	}{
		"none there":                        {repo("r1") + set(all), "", nil, map[string]string{"s-r1-foo": "sets/packagevariant_s-r1-foo.yaml v1"}},
		"one there":                         {repo("r1") + set(all) + variant("s-r1-foo", "r1"), "", nil, map[string]string{"s-r1-foo": "old/s-r1-foo.yaml v1"}},
		"one there by another name":         {repo("r1") + set(all) + variant("other", "r1"), "", nil, map[string]string{"s-r1-foo": "old/other.yaml v1"}},
		"one there with another downstream": {repo("r1") + set(all) + variant("s-r1-foo", "gone"), "", nil, map[string]string{"s-r1-foo": "old/s-r1-foo.yaml v1"}},
		"stale": {
			repo("r1") + set(all) + variant("s-r1-foo", "r1") + variant("s-r9-foo", "r9"), "",
			[]string{"info old/s-r9-foo.yaml#0 <PackageVariant/s-r9-foo>: " + stale + "set option prune to remove it"},
			map[string]string{"s-r1-foo": "old/s-r1-foo.yaml v1", "s-r9-foo": "old/s-r9-foo.yaml v0"},
		},
		"pruned": {
			repo("r1") + set(all) + variant("s-r1-foo", "r1") + variant("s-r9-foo", "r9"), configMap("prune: 'true'"),
			[]string{"info old/s-r9-foo.yaml#0 <PackageVariant/s-r9-foo>: removed: " + stale[:len(stale)-2]},
			map[string]string{"s-r1-foo": "old/s-r1-foo.yaml v1"},
		},
		"more than may go": {
			repo("r1") + set(all) + variant("s-r1-foo", "r1") + variant("s-r9-foo", "r9"), configMap("prune: 'true', maxDelete: '0'"),
			[]string{"error <ConfigMap/c> data.maxDelete: 1 PackageVariants would be removed and maxDelete is 0; none was"},
			map[string]string{"s-r1-foo": "old/s-r1-foo.yaml v1", "s-r9-foo": "old/s-r9-foo.yaml v0"},
		},
		"as many as may go": {
			repo("r1") + set(all) + variant("s-r9-foo", "r9"), configMap("prune: 'true', maxDelete: '1'"), []string{"info old/s-r9-foo.yaml#0"}, map[string]string{"s-r1-foo": "sets/packagevariant_s-r1-foo.yaml v1"},
		},
		"the brake": {
			repos + set(all) + variant("x1", "x1") + variant("x2", "x2") + variant("x3", "x3") + variant("s-r1-foo", "r1"), configMap("prune: 'true'"),
			[]string{"warning old/x1.yaml#0 <PackageVariant/x1>: " + stale + "it stays because 3 of its set's 4 variants would go; set maxDelete to 3 if that is meant"},
			map[string]string{"s-r1-foo": "old/s-r1-foo.yaml v1", "s-r2-foo": "sets/packagevariant_s-r2-foo.yaml v1", "s-r3-foo": "sets/packagevariant_s-r3-foo.yaml v1", "s-r4-foo": "sets/packagevariant_s-r4-foo.yaml v1", "x1": "old/x1.yaml v0", "x2": "old/x2.yaml v0", "x3": "old/x3.yaml v0"},
		},
		"a set that gives none": {
			repo("r1") + set("repositorySelector: {matchLabels: {env: none}}") + variant("x1", "x1"), configMap("prune: 'true'"),
			[]string{"warning sets/s.yaml#0 <PackageVariantSet/s>: ", "warning old/x1.yaml#0 <PackageVariant/x1>: " + stale + "it stays because its set gives no variant at all"},
			map[string]string{"x1": "old/x1.yaml v0"},
		},
		"a set that is gone": {
			repo("r1") + variant("x1", "x1"), configMap("prune: 'true'"), []string{"info old/x1.yaml#0"}, map[string]string{},
		},
		"a failing target": {
			repo("r1") + set("repositories: [{name: r1}, {name: no}]") + variant("x1", "x1"), configMap("prune: 'true'"),
			[]string{`error sets/s.yaml#0 <PackageVariantSet/s> spec.targets[0].repositories[1].name: spec.targets[0].repositories[1] (no/foo): repository "no" could not be loaded`, "warning old/x1.yaml#0 <PackageVariant/x1>: " + stale + "it stays because its set has failing targets"},
			map[string]string{"s-r1-foo": "sets/packagevariant_s-r1-foo.yaml v1", "x1": "old/x1.yaml v0"},
		},
		"a failing target that may": {
			repo("r1") + set("repositories: [{name: r1}, {name: no}]"), configMap("onError: continue"), []string{"warning sets/s.yaml#0"}, map[string]string{"s-r1-foo": "sets/packagevariant_s-r1-foo.yaml v1"},
		},
		"no Repository is known": {set("repositories: [{name: anywhere}]"), "", nil, map[string]string{"s-anywhere-foo": "sets/packagevariant_s-anywhere-foo.yaml v1"}},
		"a set that is wrong": {
			repo("r1") + set("repositorySelectors: {}") + variant("x1", "x1"), configMap("prune: 'true', onError: continue"),
			[]string{"warning sets/s.yaml#0 <PackageVariantSet/s> spec.targets[0]", "warning sets/s.yaml#0", "warning old/x1.yaml#0 <PackageVariant/x1>: " + stale + "it stays because its set has failing targets"},
			map[string]string{"x1": "old/x1.yaml v0"},
		},
		"other objects are targets": {
			repo("r1") + set("objectSelector: {apiVersion: v1, kind: ConfigMap}\n    template: {downstream: {repo: r1, packageExpr: \"target.name + target.annotations['a']\"}}") + "-- c.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: cm, annotations: {a: '-x'}}\n",
			"", nil,
			map[string]string{"s-r1-cm-x": "sets/packagevariant_s-r1-cm-x.yaml v1"},
		},
		"wrong options": {
			repo("r1") + set(all), configMap("prune: maybe, maxDelete: '-1', onError: hope"),
			[]string{`error <ConfigMap/c> data.prune: functionConfig: option "prune" is "maybe"`, `error <ConfigMap/c> data.maxDelete: functionConfig: option "maxDelete" is "-1" and must be a number`, `error <ConfigMap/c> data.onError: functionConfig: option "onError" is "hope"`},
			map[string]string{},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c, pkg := call(t, GenerateVariants, tc.files, tc.config)
			wantSaid(t, tc.said, said(c))
			got := map[string]string{}
			for _, r := range pkg.Resources() {
				if r.Kind() == "PackageVariant" {
					revision, _ := r.Node().GetString("spec.upstream.revision")
					got[r.Name()] = r.Path() + " " + revision
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("variants (-want +got):\n%s", diff)
			}
			before := text(t, pkg)
			second, again := call(t, GenerateVariants, before, tc.config)
			if diff := cmp.Diff(before, text(t, again)); diff != "" {
				t.Errorf("a second run changes something (%v):\n%s", said(second), diff)
			}
		})
	}
}

// TestGeneratedVariantsKeep: what a set does not give stays where it was written.
func TestGeneratedVariantsKeep(t *testing.T) {
	files := "-- s.yaml --\napiVersion: config.porch.kpt.dev/v1alpha2\nkind: PackageVariantSet\nmetadata: {name: s}\nspec:\n  upstream: {repo: cat, package: foo, revision: v2}\n  targets:\n  - repositories: [{name: r1}]\n    template: {labels: {given: new}}\n" +
		"-- v.yaml --\n# head\napiVersion: config.porch.kpt.dev/v1alpha1\nkind: PackageVariant\nmetadata:\n  name: old\n  labels:\n    variform.dev/set: s\n    mine: kept # why\nspec:\n  upstream:\n    repo: cat # the catalogue\n    package: foo\n    revision: v1\n  downstream:\n    repo: r1\n    package: foo\n  deletionPolicy: orphan\nstatus:\n  kept: true\n"
	_, pkg := call(t, GenerateVariants, files, "")
	got, _ := pkg.Read("v.yaml")
	want := "# head\napiVersion: config.porch.kpt.dev/v1alpha1\nkind: PackageVariant\nmetadata:\n  name: s-r1-foo\n  labels:\n    variform.dev/set: s\n    mine: kept # why\nspec:\n  upstream:\n    repo: cat # the catalogue\n    package: foo\n    revision: v2\n  downstream:\n    repo: r1\n    package: foo\n  labels:\n    given: new\nstatus:\n  kept: true\n"
	if diff := cmp.Diff(want, string(got.Data)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestUpstreamByWorkspace: where the PackageRevision is known, a variant names it
// as Porch's controllers read it.
func TestUpstreamByWorkspace(t *testing.T) {
	const revision = "---\napiVersion: porch.kpt.dev/v1alpha1\nkind: PackageRevision\nmetadata: {name: x}\nspec: {repository: cat, packageName: foo, workspaceName: w1, revision: 1, lifecycle: Published}\n"
	const newest = "---\napiVersion: porch.kpt.dev/v1alpha2\nkind: PackageRevision\nmetadata: {name: x}\nspec: {repository: cat, packageName: foo, workspaceName: w1, lifecycle: Published, source: {init: {}}}\nstatus: {revision: 1, conditions: []}\n"
	for name, c := range map[string]struct{ upstream, more, want string }{
		"a number":             {"revision: 1", revision, "workspaceName: w1"},
		"a number in status":   {"revision: 1", newest, "workspaceName: w1"},
		"a name in status":     {"revision: v1", newest, "workspaceName: w1"},
		"none has that status": {"revision: v2", newest, "revision: v2"},
		"a name":               {"revision: v1", revision, "workspaceName: w1"},
		"the newest":           {"revision: latest", revision, "workspaceName: w1"},
		"none is followed":     {"workspaceName: ''", revision, ""},
		"a workspace":          {"workspaceName: w1", "", "workspaceName: w1"},
		"both":                 {"workspaceName: w1, revision: v1", revision, "revision: v1\n    workspaceName: w1"},
		"one that is not here": {"revision: v2", revision, "revision: v2"},
		"none is here":         {"revision: v3", "", "revision: v3"},
	} {
		set := "-- s.yaml --\napiVersion: config.porch.kpt.dev/v1alpha2\nkind: PackageVariantSet\nmetadata: {name: s}\nspec:\n  upstream: {repo: cat, package: foo, " + c.upstream + "}\n  targets:\n  - repositories: [{name: r1}]\n"
		results, pkg := call(t, GenerateVariants, set+c.more, "")
		const missing = "upstream cat/foo has no revision v2 among the PackageRevisions here, which have: w1"
		if warns := strings.Contains(fmt.Sprint(results), missing); warns != (c.upstream == "revision: v2") {
			t.Errorf("%s: %v", name, results)
		}
		got, _ := pkg.Read("packagevariant_s-r1-foo.yaml")
		_, spec, _ := strings.Cut(string(got.Data), "  upstream:\n    repo: cat\n    package: foo\n")
		spec, _, _ = strings.Cut(spec, "  downstream:")
		if got := strings.TrimSpace(spec); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestUpstreamOfExpressions: a PackageRevision among the items is what
// `upstream` shows.
func TestUpstreamOfExpressions(t *testing.T) {
	revision := func(namespace, owner string) string {
		return "---\napiVersion: porch.kpt.dev/v1alpha1\nkind: PackageRevision\nmetadata: {name: x-" + owner + ", namespace: " + namespace + ", labels: {owner: " + owner + "}}\nspec: {repository: cat, packageName: foo, workspaceName: w1, revision: 1, lifecycle: Published}\n"
	}
	set := "-- s.yaml --\napiVersion: config.porch.kpt.dev/v1alpha2\nkind: PackageVariantSet\nmetadata: {name: s}\nspec:\n  upstream: {repo: cat, package: foo, revision: 1}\n  targets:\n  - repositories: [{name: r1}]\n    template: {annotationExprs: [{key: k, valueExpr: \"upstream.name + ' ' + upstream.namespace + ' ' + upstream.labels['owner']\"}]}\n"
	c, pkg := call(t, GenerateVariants, set+revision("far", "them")+revision("default", "us"), "")
	wantSaid(t, nil, said(c))
	if got := text(t, pkg); !strings.Contains(got, "k: cat.foo.w1 default us\n") {
		t.Errorf("got\n%s", got)
	}
	c, _ = call(t, GenerateVariants, set+revision("far", "them"), "")
	wantSaid(t, []string{"error s.yaml#0 <PackageVariantSet/s> spec.targets[0].template.annotationExprs[0].valueExpr: "}, said(c))

	// Porch's v1alpha2 has the number in the status.
	newest := strings.NewReplacer("porch.kpt.dev/v1alpha1\nkind: PackageRevision", "porch.kpt.dev/v1alpha2\nkind: PackageRevision", "revision: 1, lifecycle: Published}", "lifecycle: Published}\nstatus: {revision: 1}").Replace(revision("default", "us"))
	c, pkg = call(t, GenerateVariants, set+newest, "")
	wantSaid(t, nil, said(c))
	if got := text(t, pkg); !strings.Contains(got, "k: cat.foo.w1 default us\n") {
		t.Errorf("v1alpha2: got\n%s", got)
	}
}

// TestResolveDependencies: one lock a target, and what is said where there is
// none.
func TestResolveDependencies(t *testing.T) {
	manifest := func(name, version, spec string) string {
		return "-- catalog/" + name + "-" + version + ".yaml --\napiVersion: variform.dev/v1alpha1\nkind: PackageManifest\nmetadata: {name: " + name + "}\nspec: {version: " + version + spec + "}\n"
	}
	install := func(name, target string) string {
		return "-- fleet/" + name + "-" + target + ".yaml --\napiVersion: variform.dev/v1alpha1\nkind: Installation\nmetadata: {name: " + name + "-" + target + "}\nspec: {target: " + target + ", package: " + name + "}\n"
	}
	base := manifest("app", "1.0.0", ", requires: [{alias: db, package: db, version: ^1}]") + manifest("db", "1.0.0", "") + manifest("db", "1.2.0", "") + manifest("db", "2.0.0", "")
	platform := manifest("k", "1.0.0", ", requires: [{alias: p, platform: {name: kubernetes, version: '>=1.30'}}]")
	api := manifest("op", "1.0.0", ", requires: [{alias: a, gvk: {apiVersion: x.io/v1, kind: Foo}}]")
	crd := "-- crd.yaml --\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: foos.x.io}\nspec: {group: x.io, names: {kind: Foo, plural: foos}, scope: Namespaced, versions: [{name: v1, served: true, storage: true}]}\n"
	carvel := func(version string) string {
		return "-- x-" + version + ".yaml --\napiVersion: data.packaging.carvel.dev/v1alpha1\nkind: Package\nmetadata: {name: x.example.com." + version + "}\nspec: {refName: x.example.com, version: " + version + ", template: {spec: {}}}\n"
	}
	cases := map[string]struct {
		files, config string
		said          []string
		want          map[string]string // of locks: file, and package@version of each entry
	}{
		"one target":                {base + install("app", "c1"), "", nil, map[string]string{"c1": "fleet app@1.0.0 db@1.2.0"}},
		"two targets":               {base + install("app", "c1") + install("db", "c2"), "", nil, map[string]string{"c1": "fleet app@1.0.0 db@1.2.0", "c2": "fleet db@2.0.0"}},
		"one of two":                {base + install("app", "c1") + install("db", "c2"), configMap("target: c2"), nil, map[string]string{"c2": "fleet db@2.0.0"}},
		"no such target":            {base + install("app", "c1"), configMap("target: c3"), []string{`error <ConfigMap/c> data.target: functionConfig: no Installation has the target "c3"; there are ["c1"]`}, map[string]string{}},
		"no such package":           {base + install("nosuch", "c1") + install("db", "c2"), "", []string{"error fleet/nosuch-c1.yaml#0 <Installation/nosuch-c1>: target c1: "}, map[string]string{"c2": "fleet db@2.0.0"}},
		"of two, at none":           {base + install("nosuch", "c1") + install("db", "c1"), "", []string{"error: target c1: "}, map[string]string{"c1": "fleet db@2.0.0"}},
		"a platform":                {platform + install("k", "c1"), configMap("platform: 'kubernetes=1.31.0'"), nil, map[string]string{"c1": "fleet k@1.0.0"}},
		"a platform too old":        {platform + install("k", "c1"), configMap("platform: 'os=1.0.0, kubernetes=1.29.0'"), []string{"error fleet/k-c1.yaml#0"}, map[string]string{}},
		"a wrong platform":          {platform + install("k", "c1"), configMap("platform: kubernetes"), []string{`error <ConfigMap/c> data.platform: functionConfig: option "platform" has "kubernetes" and must be name=version`}, map[string]string{}},
		"an API that is served":     {api + crd + install("op", "c1"), "", nil, map[string]string{"c1": "fleet op@1.0.0"}},
		"an API that is not served": {api + install("op", "c1"), "", []string{"error fleet/op-c1.yaml#0"}, map[string]string{}},
		"a mistake":                 {base + "-- fleet/i.yaml --\napiVersion: variform.dev/v1alpha1\nkind: Installation\nmetadata: {name: i}\nspec: {target: c1}\n", "", []string{"error fleet/i.yaml#0 <Installation/i> spec"}, map[string]string{}},
		"nothing to do":             {base, "", nil, map[string]string{}},
		"of other systems":          {carvel("1.0.0") + carvel("1.1.0") + carvel("2.0.0") + "-- fleet/i.yaml --\napiVersion: packaging.carvel.dev/v1alpha1\nkind: PackageInstall\nmetadata: {name: x}\nspec: {packageRef: {refName: x.example.com, versionSelection: {constraints: ^1}}}\n", "", nil, map[string]string{"": "fleet x.example.com@1.1.0"}},
		"of other systems, wrong":   {"-- x.yaml --\napiVersion: data.packaging.carvel.dev/v1alpha1\nkind: Package\nmetadata: {name: x}\nspec: {refName: 3}\n", "", []string{"error x.yaml#0"}, map[string]string{}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c, pkg := call(t, ResolveDependencies, tc.files, tc.config)
			wantSaid(t, tc.said, said(c))
			got := map[string]string{}
			for _, r := range pkg.Resources() {
				if r.Kind() != "PackageLock" {
					continue
				}
				target, _ := r.Node().GetString("spec.target")
				dir, _, _ := strings.Cut(r.Path(), "/")
				line := dir
				packages, err := r.Node().Pipe(yaml.Lookup("spec", "packages"))
				if err != nil {
					t.Fatal(err)
				}
				if packages != nil {
					_ = packages.VisitElements(func(n *yaml.RNode) error {
						name, _ := n.GetString("name")
						if of, err := n.GetString("package"); err == nil {
							name = of
						}
						version, _ := n.GetString("version")
						line += " " + name + "@" + version
						return nil
					})
				}
				got[target] = line
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("locks (-want +got):\n%s\n%s", diff, text(t, pkg))
			}
			before := text(t, pkg)
			if _, again := call(t, ResolveDependencies, before, tc.config); text(t, again) != before {
				t.Errorf("a second run changes something:\n%s", cmp.Diff(before, text(t, again)))
			}
		})
	}
}
