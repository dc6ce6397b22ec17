package injection

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/api/config/v1alpha1"
)

// by selects objects by name.
func by(names ...string) []v1alpha1.InjectionSelector {
	var out []v1alpha1.InjectionSelector
	for _, n := range names {
		out = append(out, v1alpha1.InjectionSelector{Name: n})
	}
	return out
}

// injected is what became of a file of a package with one root Kptfile, and the
// report. It checks that a second run changes nothing.
func injected(t *testing.T, files map[string]string, req Request, path string) (string, *Report) {
	t.Helper()
	p := pkg(t, files)
	first, err := Inject(p, req)
	if err != nil {
		t.Fatal(err)
	}
	got := read(t, p, path)
	again, err := Inject(p, req)
	if err != nil {
		t.Fatal(err)
	}
	for i := range again.Outcomes {
		if again.Outcomes[i].Changed {
			t.Errorf("a second run changes %s", again.Outcomes[i].File)
		}
	}
	if second := read(t, p, path); second != got {
		t.Errorf("a second run changes %s:\n%s", path, cmp.Diff(got, second))
	}
	return got, first
}

// TestFieldIsOverwritten: the object's field takes the place of the point's, and
// what is the same already keeps its lines.
func TestFieldIsOverwritten(t *testing.T) {
	const head = "apiVersion: example.com/v1\nkind: A\nmetadata:\n  name: x\n  annotations:\n    kpt.dev/config-injection: optional\n    kpt.dev/injected-resource-name: o\n    kpt.dev/injected-resource: o\n"
	cases := map[string]struct{ have, object, want string }{
		"a new field, ahead of status":            {"status: {s: 1}\n", "spec: {a: 1}\n", "spec:\n  a: 1\nstatus: {s: 1}\n"},
		"fields that stay":                        {"spec:\n  a:   1 # one\n\n  b: 2\n", "spec: {b: 3, a: 1}\n", "spec:\n  a:   1 # one\n\n  b: 3\n"},
		"a field that goes":                       {"spec:\n  a: 1\n  b: 2\n", "spec: {b: 2}\n", "spec:\n  b: 2\n"},
		"a field that comes":                      {"spec:\n  a: 1 # one\n", "spec: {a: 1, z: 2}\n", "spec:\n  a: 1 # one\n  z: 2\n"},
		"the same another way":                    {"spec: {b: 0x10,  a: [1]}\n", "spec:\n  a:\n  - 1\n  b: 16\n", "spec: {b: 0x10,  a: [1]}\n"},
		"another type":                            {"spec: {a: 1}\n", "spec: {a: '1'}\n", "spec: {a: '1'}\n"},
		"a map for a list":                        {"spec: [1]\n", "spec: {a: 1}\n", "spec:\n  a: 1\n"},
		"nothing for a map":                       {"spec: {a: 1}\n", "spec: {}\n", "spec: {}\n"},
		"a map for nothing":                       {"spec: {}\n", "spec: {a: 1}\n", "spec:\n  a: 1\n"},
		"other fields of the object do not count": {"spec: {a: 1}\ndata: {k: mine}\n", "spec: {a: 2}\ndata: {k: theirs}\nmetadata2: x\n", "spec: {a: 2}\ndata: {k: mine}\n"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			source := objects(t, "apiVersion: example.com/v1\nkind: A\nmetadata: {name: o}\n"+tc.object)
			have := strings.Replace(head, "    kpt.dev/injected-resource-name: o\n    kpt.dev/injected-resource: o\n", "", 1)
			got, report := injected(t, map[string]string{"Kptfile": kptfile, "a.yaml": have + tc.have}, Request{Context: source, Injectors: by("o")}, "a.yaml")
			if diff := cmp.Diff(head+tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if !report.Outcomes[0].Changed {
				t.Error("not reported as changed")
			}
		})
	}
}

// TestWhichField: ConfigMaps and Secrets have data, all else has spec; group
// and kind decide, not the kind alone.
func TestWhichField(t *testing.T) {
	cases := map[string]struct{ apiVersion, kind, field string }{
		"core's ConfigMap":    {"v1", "ConfigMap", "data"},
		"core's Secret":       {"v1", "Secret", "data"},
		"another's ConfigMap": {"example.com/v1", "ConfigMap", "spec"},
		"another's Secret":    {"example.com/v1", "Secret", "spec"},
		"core's Service":      {"v1", "Service", "spec"},
		"another kind":        {"example.com/v1", "A", "spec"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			head := fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata:\n  name: %%s\n", tc.apiVersion, tc.kind)
			source := objects(t, fmt.Sprintf(head, "o")+"data: {k: data}\nspec: {k: spec}\n")
			in := fmt.Sprintf(head, "x") + "  annotations:\n    kpt.dev/config-injection: required\nbinaryData: {}\nstatus: {}\n"
			got, report := injected(t, map[string]string{"Kptfile": kptfile, "a.yaml": in}, Request{Context: source, Injectors: by("o"), AllowKinds: []string{"Secret"}}, "a.yaml")
			if !report.Outcomes[0].Injected() {
				t.Fatal(report.Outcomes[0].Message)
			}
			if want := fmt.Sprintf("%s:\n  k: %s\n", tc.field, tc.field); !strings.Contains(got, want+"binaryData: {}\n") {
				t.Errorf("got\n%s\nwant %q ahead of binaryData", got, want)
			}
			o := report.Outcomes[0]
			if o.Object.Kind != tc.kind || o.Object.Version != "v1" || o.Object.Name != "o" || o.Selector != 0 || o.Reason != ReasonInjected {
				t.Errorf("outcome %+v, object %+v", o, o.Object)
			}
		})
	}
}

// TestKptfileStatus: what an injection writes into the Kptfile, and what it
// leaves of it.
func TestKptfileStatus(t *testing.T) {
	const ok, no = "injected resource \"o\" from cluster", "no injectors defined"
	cond := func(kind, name, status, message, reason string) string {
		return fmt.Sprintf("  - type: config.injection.%s.%s\n    status: \"%s\"\n    message: %s\n    reason: %s\n", kind, name, status, message, reason)
	}
	found, none := cond("A", "x", "True", ok, ReasonInjected), cond("A", "x", "False", no, ReasonNotSelected)
	gate := func(types ...string) string {
		out := "info:\n  readinessGates:\n"
		for _, t := range types {
			out += "  - conditionType: " + t + "\n"
		}
		return out
	}
	const mine = "config.injection.A.x"
	status := func(conditions ...string) string { return "status:\n  conditions:\n" + strings.Join(conditions, "") }
	other := "  - type: b\n    status: \"True\"\n"
	required, optional := point("A", "x", Required), point("A", "x", Optional)
	two := required + "---\n" + point("B", "w", Required)
	cases := map[string]struct {
		points, have, want string
		injectors          []v1alpha1.InjectionSelector
		drop, keep         bool
	}{
		"required, found":            {points: required, want: gate(mine) + status(found), injectors: by("o")},
		"required, none":             {points: required, want: gate(mine) + status(none)},
		"optional, found":            {points: optional, want: status(found), injectors: by("o")},
		"optional, none":             {points: optional, want: status(none)},
		"no point":                   {points: "", have: "status: {}\n", want: "status: {}\n"},
		"gates are sorted":           {points: required, have: gate("z", "a"), want: gate("a", mine, "z") + status(none)},
		"a gate that is there stays": {points: required, have: gate(mine, "a"), want: gate("a", mine) + status(none)},
		"a gate stays where its point became optional":    {points: optional, have: gate(mine), want: gate(mine) + status(none)},
		"conditions are sorted":                           {points: required, have: "status:\n  conditions:\n  - type: z\n    status: \"True\"\n" + other, want: gate(mine) + status(other, none, "  - type: z\n    status: \"True\"\n")},
		"a condition is made anew":                        {points: optional, have: status(none), want: status(found), injectors: by("o")},
		"and taken back":                                  {points: optional, have: status(found), want: status(none)},
		"taken back, but not from the one that filled it": {points: optional, have: status(found), want: status(found), keep: true},
		"only what was filled is kept":                    {points: optional, have: status(cond("A", "x", "False", "old", ReasonNotSelected)), want: status(none), keep: true},
		"a found one is written though the last is kept":  {points: optional, have: status(cond("A", "x", "True", "old", ReasonInjected)), want: status(found), injectors: by("o"), keep: true},
		"between info and inventory":                      {points: required, have: "upstream: {}\nupstreamLock: {}\npipeline: {}\ninventory: {}\n", want: "upstream: {}\nupstreamLock: {}\n" + gate(mine) + "pipeline: {}\ninventory: {}\n" + status(none)},
		"ahead of renderStatus":                           {points: optional, have: "status:\n  renderStatus: {}\n", want: status(none) + "  renderStatus: {}\n"},
		"several points": {
			points: two, want: gate(mine, "config.injection.B.w") + status(found, cond("B", "w", "False", "no in-cluster resources of type example.com/v1.B", ReasonNotSelected)), injectors: by("o"),
		},
		"stale ones stay":                     {points: "", have: gate(mine) + status(found), want: gate(mine) + status(found)},
		"stale ones go":                       {points: "", have: gate(mine) + status(found), want: "", drop: true},
		"stale ones go, others stay":          {points: "", have: gate("a", mine) + status(found, other), want: gate("a") + status(other), drop: true},
		"what else is in info and status too": {points: "", have: "info:\n  site: s\n  readinessGates:\n  - conditionType: " + mine + "\nstatus:\n  conditions:\n" + found + "  renderStatus: {}\n", want: "info:\n  site: s\nstatus:\n  renderStatus: {}\n", drop: true},
		"those of points that are there stay": {points: optional, have: status(none), want: status(none), drop: true},
		"another's reason":                    {points: "", have: gate(mine) + status(cond("A", "x", "True", "m", "Other")), want: gate(mine) + status(cond("A", "x", "True", "m", "Other")), drop: true},
		"another's type":                      {points: "", have: status("  - type: b\n    status: \"True\"\n    reason: " + ReasonInjected + "\n"), want: status("  - type: b\n    status: \"True\"\n    reason: " + ReasonInjected + "\n"), drop: true},
		"a gate alone is nobody's":            {points: "", have: gate(mine), want: gate(mine), drop: true},
		"no list, nothing to drop":            {points: "", have: "status:\n  conditions: {}\n", want: "status:\n  conditions: {}\n", drop: true},
		"gates that are no list":              {points: "", have: "info:\n  readinessGates: x\n" + status(found), want: "info:\n  readinessGates: x\n", drop: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{"Kptfile": kptfile + tc.have}
			if tc.points != "" {
				files["a.yaml"] = tc.points
			}
			source := objects(t, "apiVersion: example.com/v1\nkind: A\nmetadata: {name: o}\nspec: {}\n")
			got, _ := injected(t, files, Request{Context: source, Injectors: tc.injectors, DropStale: tc.drop, KeepInjected: tc.keep}, "Kptfile")
			if diff := cmp.Diff(kptfile+tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestDropConditions: which conditions went is told.
func TestDropConditions(t *testing.T) {
	root := yaml.MustParse("status:\n  conditions:\n  - type: config.injection.A.x\n    reason: " + ReasonInjected + "\n  - type: config.injection.A.w\n    reason: " + ReasonNotSelected + "\n")
	gone := DropConditions(root.YNode(), func(conditionType string) bool { return conditionType == "config.injection.A.w" })
	if diff := cmp.Diff(map[string]bool{"config.injection.A.w": true}, gone); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff("status:\n  conditions:\n  - type: config.injection.A.x\n    reason: "+ReasonInjected+"\n", root.MustString()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestNothingIsWrittenOnAnError: neither into the Kptfile nor into a point.
func TestNothingIsWrittenOnAnError(t *testing.T) {
	noAnnotations := "apiVersion: example.com/v1\nkind: A\nmetadata:\n  name: w\n  annotations:\n    kpt.dev/config-injection: wrong\n"
	files := map[string]string{"Kptfile": kptfile, "a.yaml": point("A", "x", Required), "b.yaml": noAnnotations}
	p := pkg(t, files)
	source := objects(t, "apiVersion: example.com/v1\nkind: A\nmetadata: {name: o}\nspec: {a: 1}\n")
	_, err := Inject(p, Request{Context: source, Injectors: by("o")})
	if err == nil || !strings.Contains(err.Error(), "b.yaml") {
		t.Fatalf("got %v", err)
	}
	for path, want := range files {
		if diff := cmp.Diff(want, read(t, p, path)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
	}
}

// TestKptfileOfAFolder: a request for a subpackage writes into its Kptfile.
func TestKptfileOfAFolder(t *testing.T) {
	files := map[string]string{"Kptfile": kptfile, "sub/Kptfile": kptfile, "sub/a.yaml": point("A", "x", Required)}
	p := pkg(t, files)
	if _, err := Inject(p, Request{Dir: "sub"}); err != nil {
		t.Fatal(err)
	}
	if read(t, p, "Kptfile") != kptfile || !strings.Contains(read(t, p, "sub/Kptfile"), "config.injection.A.x") {
		t.Errorf("root\n%s\nsub\n%s", read(t, p, "Kptfile"), read(t, p, "sub/Kptfile"))
	}
}

// TestNoPointNoKptfile: a package without points needs none.
func TestNoPointNoKptfile(t *testing.T) {
	r, err := Inject(pkg(t, map[string]string{"a.txt": "x"}), Request{})
	if err != nil || len(r.Outcomes) != 0 {
		t.Errorf("got %v, %v", r, err)
	}
}

// TestPointsThatCannotBeFilled: each says file, resource and why.
func TestPointsThatCannotBeFilled(t *testing.T) {
	cases := map[string]struct {
		files map[string]string
		want  []Problem
	}{
		"a wrong word": {
			map[string]string{"a.yaml": point("A", "x", "maybe")},
			[]Problem{{File: "a.yaml", Field: "metadata.annotations[kpt.dev/config-injection]", Message: `a.yaml: A/x has invalid "kpt.dev/config-injection" annotation value of "maybe"`, APIVersion: "example.com/v1", Kind: "A", Name: "x"}},
		},
		"no name": {
			map[string]string{"a.yaml": strings.Replace(point("A", "x", Optional), "  name: x # the point\n", "", 1)},
			[]Problem{{File: "a.yaml", Field: "metadata.annotations[kpt.dev/config-injection]", Message: `a.yaml: A has the annotation "kpt.dev/config-injection" but no metadata.name`, APIVersion: "example.com/v1", Kind: "A"}},
		},
		"one condition for two": {
			map[string]string{"a.yaml": point("A", "x", Optional), "b.yaml": "# two\n---\n" + point("A", "x", Required)},
			[]Problem{{File: "b.yaml", Field: "metadata.name", Message: `duplicate injection conditionType "config.injection.A.x" (a.yaml and b.yaml)`, APIVersion: "example.com/v1", Kind: "A", Name: "x"}},
		},
		"one condition for three": {
			map[string]string{"a.yaml": point("A", "x", Optional), "b.yaml": point("A", "x", Required), "c.yaml": point("A", "x", Required)},
			[]Problem{
				{File: "b.yaml", Field: "metadata.name", Message: `duplicate injection conditionType "config.injection.A.x" (a.yaml and b.yaml)`, APIVersion: "example.com/v1", Kind: "A", Name: "x"},
				{File: "c.yaml", Field: "metadata.name", Message: `duplicate injection conditionType "config.injection.A.x" (b.yaml and c.yaml)`, APIVersion: "example.com/v1", Kind: "A", Name: "x"},
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := Validate(Find(pkg(t, tc.files)))
			bad, ok := err.(*PointsError) //nolint:errorlint // it is what Validate returns
			if !ok {
				t.Fatalf("got %v", err)
			}
			if diff := cmp.Diff(tc.want, bad.Problems); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if err := Validate(Find(pkg(t, map[string]string{"a.yaml": point("A", "x", Optional), "b.yaml": point("B", "x", Optional) + "---\n" + point("A", "w", Required)}))); err != nil {
		t.Errorf("three good points: %v", err)
	}
}

// TestFind: which resources are points, in which order.
func TestFind(t *testing.T) {
	p := pkg(t, map[string]string{
		"b.yaml": point("B", "one", Required) + "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: none\n---\n" + point("ConfigMap", "two", Optional),
		"a.yaml": strings.Replace(point("A", "first", Optional), "  name: first # the point\n", "  name: first\n  namespace: ns\n", 1),
	})
	var got []Point
	for _, found := range Find(p) {
		found.resource = nil
		got = append(got, found)
	}
	want := []Point{
		{File: "a.yaml", APIVersion: "example.com/v1", Group: "example.com", Version: "v1", Kind: "A", Namespace: "ns", Name: "first", ConditionType: "config.injection.A.first"},
		{File: "b.yaml", APIVersion: "example.com/v1", Group: "example.com", Version: "v1", Kind: "B", Name: "one", ConditionType: "config.injection.B.one", Required: true},
		{File: "b.yaml", Index: 2, APIVersion: "v1", Version: "v1", Kind: "ConfigMap", Name: "two", ConditionType: "config.injection.ConfigMap.two"},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(Point{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestContextObjects: what an index takes, and how much it holds.
func TestContextObjects(t *testing.T) {
	object := func(text, origin string) Object { return Object{Node: yaml.MustParse(text), Origin: origin} }
	cases := map[string]struct {
		objects []Object
		len     int
		want    string
	}{
		"none":               {nil, 0, ""},
		"two namespaces":     {[]Object{object("{apiVersion: v1, kind: A, metadata: {name: a}}", ""), object("{apiVersion: v1, kind: A, metadata: {name: a, namespace: n}}", "")}, 2, ""},
		"two versions":       {[]Object{object("{apiVersion: g/v1, kind: A, metadata: {name: a}}", ""), object("{apiVersion: g/v2, kind: A, metadata: {name: a}}", "")}, 2, ""},
		"no kind":            {[]Object{object("{apiVersion: v1, metadata: {name: a}}", "f.yaml")}, 0, "context object (f.yaml) needs apiVersion, kind and metadata.name"},
		"no name":            {[]Object{object("{apiVersion: v1, kind: A}", "")}, 0, "context object needs apiVersion, kind and metadata.name"},
		"twice, one unnamed": {[]Object{object("{apiVersion: g/v1, kind: A, metadata: {name: a}}", ""), object("{apiVersion: g/v1, kind: A, metadata: {name: a, namespace: default}}", "f")}, 1, "context object A.v1.g default/a stands twice, and (f); keep one"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c, err := NewContext(tc.objects)
			got := ""
			if err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(tc.want, got); diff != "" || c.Len() != tc.len {
				t.Errorf("%d objects, want %d; (-want +got):\n%s", c.Len(), tc.len, diff)
			}
		})
	}
	var none *Context
	if none.Len() != 0 {
		t.Errorf("no context has %d objects", none.Len())
	}
}

// unread is an object that counts how often it is read.
type unread struct {
	ID
	text  string
	reads int
}

type unreadObject struct{ *unread }

func (o unreadObject) ID() ID { return o.unread.ID }

func (o unreadObject) From() string { return "f.yaml" }

func (o unreadObject) Node() *yaml.RNode {
	o.reads++
	return yaml.MustParse(o.text)
}

// TestContextReadsWhatIsUsed: of a fleet's objects those are read that go in, once.
func TestContextReadsWhatIsUsed(t *testing.T) {
	of := func(name string) *unread {
		return &unread{ID: ID{APIVersion: "v1", Kind: "ConfigMap", Name: name}, text: "{apiVersion: v1, kind: ConfigMap, metadata: {name: " + name + "}, data: {a: " + name + "}}"}
	}
	one, other := of("one"), of("other")
	c, err := NewContext([]Object{{Source: unreadObject{one}}, {Source: unreadObject{other}}})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		r := Select(Find(pkg(t, map[string]string{"a.yaml": point("ConfigMap", "x", Required)})), Request{Injectors: by("one"), Context: c})
		if o := r.Outcomes[0].Object; o == nil || o.Name != "one" || o.Origin != "f.yaml" {
			t.Errorf("%+v went in", r.Outcomes[0])
		}
	}
	if one.reads != 1 || other.reads != 0 {
		t.Errorf("read %d and %d times", one.reads, other.reads)
	}
	if _, err := NewContext([]Object{{Source: unreadObject{one}}, {Source: unreadObject{of("one")}}}); err == nil || err.Error() != "context object ConfigMap.v1 default/one stands twice, (f.yaml) and (f.yaml); keep one" {
		t.Errorf("of one that stands twice: %v", err)
	}
}

// TestKeysOfOneHash: objects are found whose keys have one hash, and no other.
func TestKeysOfOneHash(t *testing.T) {
	source := objects(t, "{apiVersion: v1, kind: A, metadata: {name: a}}", "{apiVersion: v1, kind: A, metadata: {name: b}}", "{apiVersion: v1, kind: B, metadata: {name: a}}")
	c, err := newContext(source.objects, func(key) uint64 { return math.MaxUint64 })
	if err != nil || c.Len() != 3 {
		t.Fatal(c, err)
	}
	for _, o := range source.objects {
		k := keyOf(o.ID())
		if one, again := c.get(k), c.get(k); one == nil || one.Root() != o.Root() || one != again {
			t.Errorf("%s gives %v and %v", k, one, again)
		}
	}
	if k := keyOf(ID{APIVersion: "v1", Kind: "B", Name: "b"}); c.get(k) != nil {
		t.Errorf("%s is there", k)
	}
	if _, err := newContext(append(source.objects, source.objects[1]), func(key) uint64 { return 0 }); err == nil || !strings.Contains(err.Error(), "default/b stands twice, (doc 1) and (doc 1)") {
		t.Errorf("of one that stands twice: %v", err)
	}
}

// TestUsedIsSorted: each object once, by its identity.
func TestUsedIsSorted(t *testing.T) {
	source := objects(t,
		"apiVersion: example.com/v1\nkind: B\nmetadata: {name: o}\nspec: {}\n", "apiVersion: example.com/v1\nkind: A\nmetadata: {name: o}\nspec: {}\n",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: o}\ndata: {}\n")
	p := pkg(t, map[string]string{"Kptfile": kptfile, "a.yaml": point("ConfigMap", "c", Optional), "b.yaml": point("B", "b", Optional), "c.yaml": point("A", "a", Optional), "d.yaml": point("A", "d", Optional)})
	r := Select(Find(p), Request{Injectors: by("o"), Context: source})
	var got []string
	for _, u := range r.Used() {
		got = append(got, u.String())
	}
	if diff := cmp.Diff([]string{"/v1 ConfigMap default/o", "example.com/v1 A default/o", "example.com/v1 B default/o"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestDigestOfPoints: which point got what counts, their order does not.
func TestDigestOfPoints(t *testing.T) {
	source := objects(t, "apiVersion: example.com/v1\nkind: A\nmetadata: {name: o}\nspec: {}\n", "apiVersion: example.com/v1\nkind: A\nmetadata: {name: p}\nspec: {}\n")
	points := Find(pkg(t, map[string]string{"a.yaml": point("A", "x", Optional), "b.yaml": point("A", "w", Optional)}))
	digest := func(points []Point, names ...string) string {
		return Select(points, Request{Injectors: by(names...), Context: source}).Digest()
	}
	want := digest(points, "o")
	if got := digest([]Point{points[1], points[0]}, "o"); got != want {
		t.Error("the order of the points changes the digest")
	}
	for name, got := range map[string]string{"one point": digest(points[:1], "o"), "another object": digest(points, "p"), "none": digest(points)} {
		if got == want {
			t.Errorf("%s: the same digest", name)
		}
	}
	if digest(points) == digest(points, "none such") {
		t.Error("why there is none does not change the digest")
	}
}

// An outcome reports whether an injector selects its point, with or without an object.
func TestSelectNames(t *testing.T) {
	kind := "ConfigMap"
	points := []Point{{Group: "", Version: "v1", Kind: "ConfigMap", Name: "a"}, {Group: "", Version: "v1", Kind: "Secret", Name: "b"}}
	report := Select(points, Request{Injectors: []v1alpha1.InjectionSelector{{Kind: &kind, Name: "absent"}}})
	if a, b := report.Outcomes[0], report.Outcomes[1]; !a.Named || a.Injected() || b.Named {
		t.Errorf("%+v\n%+v", a, b)
	}
}
