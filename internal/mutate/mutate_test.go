package mutate

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"

	"github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/test/krmtest"
)

const context = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: kptfile.kpt.dev\n  annotations:\n    config.kubernetes.io/local-config: \"true\"\ndata:\n  name: web\n"

var (
	pkg   = krmtest.Package
	texts = krmtest.Texts
)

var from = CloneOptions{
	Path: "fleet/web",
	Upstream: &kptfilev1.Upstream{Type: kptfilev1.GitOrigin, Git: &kptfilev1.Git{
		Repo: "https://example.com/catalog.git", Directory: "/web", Ref: "web/v1",
	}},
	Lock: &kptfilev1.Locator{Type: kptfilev1.GitOrigin, Git: &kptfilev1.GitLock{
		Repo: "https://example.com/catalog.git", Directory: "/web", Ref: "web/v1", Commit: "0123456789",
	}},
	Owner:       Owner{Variant: "fleet/default/my-variant", Set: "my-set", DeletionPolicy: "orphan"},
	Labels:      map[string]string{"region": "no", "a": "b"},
	Annotations: map[string]string{"team": "red"},
	Deployment:  true,
}

func TestClone(t *testing.T) {
	upstream := pkg(t, map[string]string{
		"Kptfile": `# The upstream's own words.
apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: base # renamed
  annotations:
    variform.dev/variant: other/default/v
    variform.dev/set: theirs
    variform.dev/functions: '["PackageVariant.a.b.c.0"]'
    config.kubernetes.io/local-config: "true"

info:
  description:   odd   # spacing
  readinessGates:
  - conditionType: config.injection.A.x
status:
  conditions:
  - type: config.injection.A.x
    status: "True"
    reason: ConfigInjected
`,
		"sub/Kptfile": "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: sub\n  annotations:\n    variform.dev/variant: other/default/w\nupstream:\n  type: git\n",
		"a.yaml":      "a:   b\n",
	})
	before := texts(t, upstream)
	p, err := Clone(upstream, from)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"Kptfile": `# The upstream's own words.
apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: web # renamed
  labels:
    a: b
    region: "no"
  annotations:
    variform.dev/variant: fleet/default/my-variant
    variform.dev/set: my-set
    variform.dev/deletion-policy: orphan
    config.kubernetes.io/local-config: "true"
    team: red
upstream:
  type: git
  git:
    repo: https://example.com/catalog.git
    directory: /web
    ref: web/v1
  updateStrategy: resource-merge
upstreamLock:
  type: git
  git:
    repo: https://example.com/catalog.git
    directory: /web
    ref: web/v1
    commit: "0123456789"

info:
  description:   odd   # spacing
  readinessGates:
  - conditionType: config.injection.A.x
`,
		"sub/Kptfile":          "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: sub\nupstream:\n  type: git\n",
		"a.yaml":               "a:   b\n",
		"package-context.yaml": context,
	}
	if diff := cmp.Diff(want, texts(t, p)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if diff := cmp.Diff(before, texts(t, upstream)); diff != "" {
		t.Errorf("the upstream changed:\n%s", diff)
	}
	again, err := Clone(p, from)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, texts(t, again)); diff != "" {
		t.Errorf("cloning a second time (-want +got):\n%s", diff)
	}
	k, err := Read(p, "")
	if err != nil {
		t.Fatal(err)
	}
	owner, ok := OwnerOf(k)
	if !ok || owner != from.Owner || Lock(k).Commit != "0123456789" {
		t.Errorf("owner %+v, lock %+v", owner, Lock(k))
	}
}

func TestCloneWithExistingContext(t *testing.T) {
	for name, c := range map[string]struct {
		deployment bool
		have, want string
	}{
		"of a deployment repository":     {true, "name: base # theirs\n  region: a\n", "name: web # theirs\n  package-path: shop/web\n  region: a\n"},
		"elsewhere":                      {false, "name: base # theirs\n  region: a\n", "name: web # theirs\n  region: a\n"},
		"elsewhere, a path of another's": {false, "name: base\n  package-path: base\n", "name: web\n  package-path: shop/web\n"},
	} {
		files := map[string]string{
			"Kptfile":              "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: base\n",
			"package-context.yaml": strings.Replace(context, "name: web\n", c.have, 1),
		}
		opts := CloneOptions{Path: "apps/shop/web", PackagePath: "shop/web", Deployment: c.deployment}
		p, err := Clone(pkg(t, files), opts)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(strings.Replace(context, "name: web\n", c.want, 1), texts(t, p)["package-context.yaml"]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	p, err := Clone(pkg(t, map[string]string{"Kptfile": "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: base}\n"}), CloneOptions{Path: "web"})
	if err != nil {
		t.Fatal(err)
	}
	if got := texts(t, p); len(got) != 1 || !strings.Contains(got["Kptfile"], "name: web") {
		t.Errorf("outside a deployment repository: %v", got)
	}
}

// TestDropUngiven: a clone is left without what Clone gives, where another package lacks it.
func TestDropUngiven(t *testing.T) {
	const plain = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: web\n"
	const taken = plain + "upstream:\n  type: git\n"
	const strategy = taken + "  updateStrategy: fast-forward\n"
	for name, c := range map[string]struct {
		there             map[string]string
		context, strategy bool
	}{
		"made by hand":  {map[string]string{"Kptfile": plain}, false, true},
		"taken":         {map[string]string{"Kptfile": taken}, false, false},
		"with context":  {map[string]string{"Kptfile": taken, "package-context.yaml": context}, true, false},
		"with strategy": {map[string]string{"Kptfile": strategy}, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := Clone(pkg(t, map[string]string{"Kptfile": plain}), from)
			if err != nil {
				t.Fatal(err)
			}
			if err := DropUngiven(p, pkg(t, c.there)); err != nil {
				t.Fatal(err)
			}
			files := texts(t, p)
			if _, ok := files["package-context.yaml"]; ok != c.context {
				t.Errorf("its context stands: %v, want %v", ok, c.context)
			}
			if got := strings.Contains(files["Kptfile"], "updateStrategy: resource-merge"); got != c.strategy {
				t.Errorf("its strategy stands: %v, want %v:\n%s", got, c.strategy, files["Kptfile"])
			}
		})
	}
}

func TestEnsureContext(t *testing.T) {
	kptfile := "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: x\n"
	for have, want := range map[string]string{"": context + "  package-path: team/web\n", context: context} {
		p := pkg(t, map[string]string{"Kptfile": kptfile})
		if have != "" {
			p = pkg(t, map[string]string{"Kptfile": kptfile, "package-context.yaml": have})
		}
		if err := EnsureContext(p, "web", "team/web"); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, texts(t, p)["package-context.yaml"]); d != "" {
			t.Errorf("with %q (-want +got):\n%s", have, d)
		}
	}
}

func TestCloneErrors(t *testing.T) {
	good := "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: base}\n"
	cases := map[string]struct {
		files map[string]string
		opts  CloneOptions
		want  []string
	}{
		"no Kptfile":      {map[string]string{"a.yaml": "a: b"}, from, []string{"Kptfile: no usable Kptfile: the file is missing", "kpt pkg init"}},
		"not YAML":        {map[string]string{"Kptfile": "a: ["}, from, []string{"its YAML cannot be read", "correct it"}},
		"another kind":    {map[string]string{"Kptfile": "apiVersion: v1\nkind: X\nmetadata: {name: a}\n"}, from, []string{"no document of kind Kptfile"}},
		"an old Kptfile":  {map[string]string{"Kptfile": strings.Replace(good, "/v1", "/v1alpha2", 1)}, from, []string{"Kptfile: apiVersion: ", "must be \"kpt.dev/v1\""}},
		"no path":         {map[string]string{"Kptfile": good}, CloneOptions{}, []string{"path of the downstream package"}},
		"forged owner":    {map[string]string{"Kptfile": good}, CloneOptions{Path: "a", Annotations: map[string]string{"variform.dev/variant": "x", "variform.dev/x": "y"}}, []string{`"variform.dev/variant" is Variform's own`, `"variform.dev/x"`}},
		"broken context":  {map[string]string{"Kptfile": good, "package-context.yaml": "a: ["}, from, []string{"package-context.yaml: "}},
		"several at once": {map[string]string{"Kptfile": good + "upstream: x\nupstreamLock: []\n", "package-context.yaml": strings.Replace(context, "data:\n  name: web", "data: x", 1)}, from, []string{"Kptfile: upstream: must be a map", "package-context.yaml: data: must be a map"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			p, err := Clone(pkg(t, c.files), c.opts)
			if err == nil || p != nil {
				t.Fatalf("got %v, %v", p, err)
			}
			for _, text := range c.want {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("%q lacks %q", err, text)
				}
			}
			if strings.Contains(name, "Kptfile") != errors.Is(err, ErrNoKptfile) && name != "not YAML" && name != "another kind" {
				t.Errorf("errors.Is(ErrNoKptfile) is %v", errors.Is(err, ErrNoKptfile))
			}
		})
	}
}

func variant(name string, functions ...kptfilev1.Function) *v1alpha1.PackageVariant {
	pv := &v1alpha1.PackageVariant{}
	pv.Name = name
	pv.Spec.Pipeline = &kptfilev1.Pipeline{Mutators: functions}
	return pv
}

// Functions of a variant must not pile up, whatever dots names have, and those
// of other variants must stay.
func TestPipelineDots(t *testing.T) {
	fn := func(name, image string) kptfilev1.Function { return kptfilev1.Function{Name: name, Image: image} }
	cases := map[string]struct {
		variant string
		runs    [][]kptfilev1.Function
		want    []string // names after the last run, before the package's own
	}{
		"dots in the variant":              {"my.long.variant", [][]kptfilev1.Function{{fn("f", "a:v1")}, {fn("f", "a:v2")}}, []string{"PackageVariant.my.long.variant.f.0"}},
		"dots in the function":             {"v", [][]kptfilev1.Function{{fn("my.fn", "a:v1")}, {fn("my.fn", "a:v2")}}, []string{"PackageVariant.v.my.fn.0"}},
		"a dotted function goes":           {"v", [][]kptfilev1.Function{{fn("my.fn", "a:v1"), fn("g", "b:v1")}, {fn("g", "b:v1")}}, []string{"PackageVariant.v.g.0"}},
		"dots everywhere, order changes":   {"v.w", [][]kptfilev1.Function{{fn("a.b", "a:v1"), fn("", "b:v1")}, {fn("", "b:v1"), fn("a.b", "a:v1")}}, []string{"PackageVariant.v.w..0", "PackageVariant.v.w.a.b.1"}},
		"none at the end":                  {"v", [][]kptfilev1.Function{{fn("a.b", "a:v1")}, nil}, nil},
		"a variant whose name begins ours": {"other", [][]kptfilev1.Function{{fn("x", "a:v1")}}, []string{"PackageVariant.other.x.0"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			start := "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: p\npipeline:\n  mutators:\n  # theirs\n  - name: PackageVariant.other.variant.dotted.0\n    image: theirs:v1\n  - image: last:v1\n"
			p := pkg(t, map[string]string{"Kptfile": start})
			for _, functions := range c.runs {
				for range 2 {
					if _, err := Apply(p, variant(c.variant, functions...), Options{}); err != nil {
						t.Fatal(err)
					}
					p = pkg(t, texts(t, p))
				}
			}
			k, err := Read(p, "")
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range k.Pipeline.Mutators {
				got = append(got, f.Name)
			}
			if diff := cmp.Diff(append(append([]string{}, c.want...), "PackageVariant.other.variant.dotted.0", ""), got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if c.want == nil && texts(t, p)["Kptfile"] != start {
				t.Errorf("not as before:\n%s", texts(t, p)["Kptfile"])
			}
		})
	}
}

func TestPipelineKeepsComments(t *testing.T) {
	p := pkg(t, map[string]string{"Kptfile": "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: p\npipeline:\n  mutators:\n    - name: PackageVariant.v.f.0 # ours\n      image: a:v1\n      # set by people\n      configMap:\n        k: '1'\n    - image:   b\n"})
	pv := variant("v", kptfilev1.Function{Name: "f", Image: "a:v2", ConfigMap: map[string]string{"k": "1"}})
	if _, err := Apply(p, pv, Options{}); err != nil {
		t.Fatal(err)
	}
	want := "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: p\npipeline:\n  mutators:\n    - name: PackageVariant.v.f.0 # ours\n      image: a:v2\n      # set by people\n      configMap:\n        k: '1'\n    - image:   b\n"
	if diff := cmp.Diff(want, texts(t, p)["Kptfile"]); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestApplyErrorsAllAtOnce(t *testing.T) {
	p := pkg(t, map[string]string{
		"Kptfile": "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: p}\npipeline: {mutators: x, validators: {}}\n",
		"a.yaml":  "apiVersion: v1\nkind: A\nmetadata:\n  name: x\n  annotations: {kpt.dev/config-injection: maybe}\n",
	})
	pv := variant("v", kptfilev1.Function{Image: "a"})
	pv.Spec.PackageContext = &v1alpha1.PackageContext{Data: map[string]string{"name": "x", "ok": "y"}, RemoveKeys: []string{"package-path"}}
	report, err := Apply(p, pv, Options{})
	if err == nil || report != nil {
		t.Fatalf("got %v, %v", report, err)
	}
	var got []string
	for _, e := range Split(err) {
		got = append(got, e.Error())
	}
	want := []string{
		`spec.packageContext.data: the key "name" is kept by kpt; choose another`,
		`spec.packageContext.removeKeys: the key "package-path" is kept by kpt and cannot be removed`,
		`spec.packageContext: the package has no ConfigMap "kptfile.kpt.dev"; clone it into a deployment repository, or add package-context.yaml to the upstream, or to the package where that was adopted`,
		`Kptfile: pipeline.mutators: must be a list`,
		`Kptfile: pipeline.validators: must be a list`,
		`errors in injection points: a.yaml: A/x has invalid "kpt.dev/config-injection" annotation value of "maybe"`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestPackageContext(t *testing.T) {
	root := "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: p}\n"
	p := pkg(t, map[string]string{
		"Kptfile": root, "sub/Kptfile": root,
		"sub/package-context.yaml": context,
		"odd/name.yaml":            strings.Replace(context, "name: web\n", "name: web # kept\n  both: 'x'\n  old: y\n", 1),
	})
	pv := variant("v")
	pv.Spec.PackageContext = &v1alpha1.PackageContext{Data: map[string]string{"both": "z", "on": "off"}, RemoveKeys: []string{"both", "old", "absent"}}
	if _, err := Apply(p, pv, Options{}); err != nil {
		t.Fatal(err)
	}
	got := texts(t, p)
	if diff := cmp.Diff(strings.Replace(context, "name: web\n", "name: web # kept\n  \"on\": \"off\"\n", 1), got["odd/name.yaml"]); diff != "" {
		t.Errorf("removal beats data (-want +got):\n%s", diff)
	}
	if got["sub/package-context.yaml"] != context {
		t.Error("a subpackage's context changed")
	}
}

// What an edit changes is read, of the edited package alone.
func TestReadAfterEdits(t *testing.T) {
	p := pkg(t, map[string]string{"Kptfile": "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: p}\n"})
	read := func(p *krm.Package) *kptfilev1.KptFile {
		t.Helper()
		k, err := Read(p, "")
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	clone := p.Clone()
	for _, owner := range []string{"a", "b"} {
		if err := SetOwner(clone, Owner{Variant: owner}); err != nil {
			t.Fatal(err)
		}
		if o, _ := OwnerOf(read(clone)); o.Variant != owner {
			t.Errorf("after an edit the owner is %q instead of %q", o.Variant, owner)
		}
	}
	if _, owned := OwnerOf(read(p)); owned {
		t.Error("the package that was cloned has the clone's owner")
	}
}

func TestKptfileFacts(t *testing.T) {
	p := pkg(t, map[string]string{"Kptfile": "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: p}\nunknown: field\nupstream: {updateStrategy: magic}\ninfo: {readinessGates: [{conditionType: a}, {conditionType: b}, {conditionType: c}]}\nstatus: {conditions: [{type: a, status: \"True\"}, {type: b, status: \"False\", message: m}]}\n"})
	k, err := Read(p, "")
	if err != nil {
		t.Fatal(err)
	}
	var unmet []string
	for _, c := range Unmet(k) {
		unmet = append(unmet, c.Type+" "+string(c.Status))
	}
	if diff := cmp.Diff([]string{"b False", "c Unknown"}, unmet); diff != "" {
		t.Errorf("unmet (-want +got):\n%s", diff)
	}
	if _, err := Strategy(k); err == nil || !strings.Contains(err.Error(), "fast-forward") {
		t.Errorf("strategy: %v", err)
	}
	k.Upstream = nil
	if s, err := Strategy(k); s != kptfilev1.ResourceMerge || err != nil {
		t.Errorf("default strategy: %v, %v", s, err)
	}
	if Lock(k) != nil {
		t.Errorf("lock %v", Lock(k))
	}
	if _, ok := OwnerOf(k); ok {
		t.Error("nobody's package has an owner")
	}
}

func TestSetOwnerAndUpstream(t *testing.T) {
	start := "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: p\n"
	p := pkg(t, map[string]string{"Kptfile": start})
	if err := errors.Join(SetOwner(p, from.Owner), SetUpstream(p, from.Upstream, from.Lock)); err != nil {
		t.Fatal(err)
	}
	next := *from.Lock
	next.Git = &kptfilev1.GitLock{Repo: from.Lock.Git.Repo, Directory: "/web", Ref: "web/v2", Commit: "f00"}
	if err := SetUpstream(p, from.Upstream, &next); err != nil {
		t.Fatal(err)
	}
	if got := texts(t, p)["Kptfile"]; strings.Count(got, "web/v2") != 1 || strings.Count(got, "web/v1") != 1 || !strings.Contains(got, "commit: f00") {
		t.Errorf("after an update:\n%s", got)
	}
	if err := errors.Join(SetOwner(p, Owner{}), SetUpstream(p, nil, nil)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(start, texts(t, p)["Kptfile"]); diff != "" {
		t.Errorf("after dropping all (-want +got):\n%s", diff)
	}
}

func TestDropConditions(t *testing.T) {
	start := "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: p\n"
	one := "  - type: a # why\n    status: \"True\"\n"
	for _, c := range []struct {
		text, want string
		types      []string
	}{
		{start, start, []string{"a"}},
		{start + "status:\n  conditions:\n" + one, start, []string{"a"}},
		{start + "status:\n  conditions:\n" + one + "  - type: b\n    status: \"False\"\n", start + "status:\n  conditions:\n" + one, []string{"b", "x"}},
	} {
		p := pkg(t, map[string]string{"Kptfile": c.text})
		if err := DropConditions(p, c.types); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, texts(t, p)["Kptfile"]); diff != "" {
			t.Errorf("without %v (-want +got):\n%s", c.types, diff)
		}
	}
}

// BenchmarkApply makes all mutations on a package of 100 resources.
func BenchmarkApply(b *testing.B) {
	files := map[string]string{"Kptfile": "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: p\n", "package-context.yaml": context}
	for i := range 100 {
		name := string(rune('a'+i%26)) + string(rune('a'+i/26))
		files[name+".yaml"] = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + name + "\ndata:\n  a: b\n"
	}
	p := pkg(b, files)
	pv := variant("v", kptfilev1.Function{Name: "f", Image: "a:v1", ConfigMap: map[string]string{"k": "v"}})
	pv.Spec.PackageContext = &v1alpha1.PackageContext{Data: map[string]string{"a": "b"}}
	b.ResetTimer()
	for range b.N {
		c := p.Clone()
		if _, err := Apply(c, pv, Options{}); err != nil {
			b.Fatal(err)
		}
		if _, err := c.Files(); err != nil {
			b.Fatal(err)
		}
	}
}

// A pipeline of a subpackage that calls apply-variant means its own package.
func TestApplyInSubpackage(t *testing.T) {
	const kptfile = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: web\n"
	files := map[string]string{
		"Kptfile": kptfile, "package-context.yaml": context,
		"sub/Kptfile": kptfile, "sub/package-context.yaml": context, "sub/deeper/Kptfile": kptfile, "sub/deeper/package-context.yaml": context,
	}
	p := pkg(t, files)
	pv := &v1alpha1.PackageVariant{}
	pv.Name = "v"
	pv.Spec.PackageContext = &v1alpha1.PackageContext{Data: map[string]string{"region": "no"}}
	pv.Spec.Pipeline = &kptfilev1.Pipeline{Mutators: []kptfilev1.Function{{Image: "example.com/fn:v1"}}}
	if _, err := Apply(p, pv, Options{Dir: "sub"}); err != nil {
		t.Fatal(err)
	}
	for file, got := range texts(t, p) {
		changed := file == "sub/Kptfile" || file == "sub/package-context.yaml"
		if (got != files[file]) != changed {
			t.Errorf("%s: %s", file, got)
		}
	}
}

// TestAsItIsCosts counts: where a Kptfile says already what it is to say, it is not
// copied to find that out.
func TestAsItIsCosts(t *testing.T) {
	text := "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: base\npipeline:\n  mutators:\n"
	for n := range 500 {
		text += fmt.Sprintf("  - image: example.com/f%d:v1\n", n)
	}
	p, err := Clone(pkg(t, map[string]string{"Kptfile": text}), from)
	if err != nil {
		t.Fatal(err)
	}
	pv := &v1alpha1.PackageVariant{}
	pv.Name = "my-variant"
	const kptfile = 100 << 10 // what a copy takes
	for name, again := range map[string]func() error{
		"owner":    func() error { return SetOwner(p, from.Owner) },
		"upstream": func() error { return SetUpstream(p, from.Upstream, from.Lock) },
		"variant":  func() error { _, err := Apply(p, pv, Options{DropStale: true}); return err },
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if err := again(); err != nil {
			t.Fatal(err)
		}
		if runtime.ReadMemStats(&after); after.TotalAlloc-before.TotalAlloc > kptfile {
			t.Errorf("%s: %d bytes", name, after.TotalAlloc-before.TotalAlloc)
		}
	}
}

// TestDroppedKeys lists what a package context loses because its variant sets it no longer.
func TestDroppedKeys(t *testing.T) {
	of := func(keys ...string) *krm.Package {
		text := "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: kptfile.kpt.dev\ndata:\n  name: p\n"
		for _, k := range keys {
			text += "  " + k + ": x\n"
		}
		p, err := krm.Parse([]krm.File{{Path: "Kptfile", Data: []byte("apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: p\n")}, {Path: PackageContextFile, Data: []byte(text)}})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	none, err := krm.Parse([]krm.File{{Path: "Kptfile", Data: []byte("apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: p\n")}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		reason             string
		was, now, upstream *krm.Package
		remove             []string
		want               string
	}{
		{"the variant sets it no longer", of("a", "b"), of("a"), nil, nil, "b"},
		{"several", of("b", "a"), of(), of(), nil, "a b"},
		{"nothing went", of("a"), of("a", "b"), nil, nil, ""},
		{"removeKeys says it", of("a", "b"), of(), nil, []string{"a"}, "b"},
		{"upstream had it", of("a"), of(), of("a"), nil, ""},
		{"there was no context", none, of("a"), nil, nil, ""},
		{"there is no context any more", of("a"), none, nil, nil, "a name"},
	} {
		got := strings.Join(DroppedKeys(c.was, c.now, c.upstream, &v1alpha1.PackageContext{RemoveKeys: c.remove}), " ")
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.reason, got, c.want)
		}
	}
	if got := DroppedKeys(of("a"), of(), nil, nil); len(got) != 1 {
		t.Errorf("without a packageContext: %q", got)
	}
}
