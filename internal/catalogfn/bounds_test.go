package catalogfn

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/function"
	"github.com/variform/variform/internal/krm"
)

func lines(n int, line string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "  k%d: %s\n", i, line)
	}
	return b.String()
}

// distinctNames is n ConfigMaps.
func distinctNames(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c%d}\n", i)
	}
	return b.String()
}

// Clones get labels of their own, and what they take counts for each.
func TestEditsOfClones(t *testing.T) {
	text := "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\n"
	p, err := krm.Parse([]krm.File{{Path: "c.yaml", Data: []byte(text)}})
	if err != nil {
		t.Fatal(err)
	}
	run := func(f function.Processor, value string) (*krm.Resource, string) {
		t.Helper()
		r := p.Clone().Resources()[0]
		c := &function.Call{Package: p, Selected: []*krm.Resource{r}, Config: yaml.MustParse("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: f}\ndata: {a: " + value + "}\n")}
		if err := function.Run(context.Background(), f, c); err != nil {
			t.Fatal(err)
		}
		return r, fmt.Sprint(c.Results)
	}
	for name, f := range map[string]function.Processor{"set-labels": SetLabels, "set-annotations": SetAnnotations} {
		a, said := run(f, "x")
		b, again := run(f, "x")
		other, _ := run(f, "z")
		if a.String() != b.String() || said != again || !strings.Contains(b.String(), "a: x") || !strings.Contains(other.String(), "a: z") {
			t.Errorf("%s: %s, then %s; %sand\n%s", name, said, again, b, other)
		}
		if name == "set-annotations" {
			r := p.Clone().Resources()[0]
			c := &function.Call{Package: p, Selected: []*krm.Resource{r}, Config: yaml.MustParse("apiVersion: fn.kpt.dev/v1alpha1\nkind: SetAnnotations\nmetadata: {name: f}\nannotations: {a: x}\nadditionalAnnotationFields:\n- {kind: ConfigMap, path: data, create: true}\n")}
			if err := function.Run(context.Background(), f, c); err != nil || !strings.Contains(r.String(), "\ndata:") {
				t.Errorf("%v; in more fields:\n%s", err, r)
			}
		}
		long := &function.Call{Package: p, Config: yaml.MustParse("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: f}\ndata: {a: " + strings.Repeat("x", 1<<20) + "}\n")}
		for range 100 {
			long.Selected = append(long.Selected, p.Clone().Resources()[0])
		}
		if err := function.Run(context.Background(), f, long); !errors.Is(err, function.ErrWritten) {
			t.Errorf("%s: got %v, want %v", name, err, function.ErrWritten)
		}
	}
}

// Little becomes much in each of these: the call ends, and has not made it first.
func TestFunctionsHaveBounds(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	data := func(fields string) string {
		return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n" + fields
	}
	config := func(pairs ...string) string {
		return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: f}\ndata:\n" + strings.Join(pairs, "")
	}
	entry := func(k, v string) string { return fmt.Sprintf("  %s: '%s'\n", k, v) }
	many := strings.Repeat("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n", 3000)
	kptfiles := strings.Repeat("---\napiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: k}\n", 3000)
	pods := "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  containers:\n" + strings.Repeat("  - image: nginx\n", 1000)
	replacements := func(options string) string {
		return "apiVersion: fn.kpt.dev/v1alpha1\nkind: ApplyReplacements\nmetadata: {name: f}\nreplacements:\n- source: {kind: ConfigMap, name: long, fieldPath: data.v}\n" +
			"  targets:\n  - select: {kind: ConfigMap, name: c}\n    fieldPaths:\n    - data.k0\n" + options
	}
	source := "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: long}\ndata: {v: '" + long + "'}\n"
	cases := map[string]struct {
		function, config, resources string
		want                        error
	}{
		"search-replace, groups":           {"search-replace", config(entry("by-value-regex", "(.*)"), entry("put-value", strings.Repeat("${1}", 1000))), data(entry("a", strings.Repeat("y", 1<<18))), function.ErrWritten},
		"search-replace, groups of groups": {"search-replace", config(entry("by-value-regex", "(.*),(.*),(.*)"), entry("put-value", strings.Repeat("${1}", 300))), data(entry("a", strings.Repeat("${2}", 1000)+","+strings.Repeat("${3}", 1000)+","+long[:1<<16])), function.ErrWritten},
		"search-replace, fields":           {"search-replace", config(entry("by-path", "data.**"), entry("put-value", long)), data(lines(1000, "a")), function.ErrWritten},
		"search-replace, steps":            {"search-replace", config(entry("by-value-regex", "(x+x+){1,400}y"), entry("put-value", "z")), data(entry("a", strings.Repeat("x", 12<<20))), function.ErrWork},
		"apply-setters, fields":            {"apply-setters", config(entry("v", long)), data(lines(1000, "a # kpt-set: ${v}")), function.ErrWritten},
		"apply-setters, of setters":        {"apply-setters", config(entry("a", strings.Repeat("${b}", 1000)), entry("b", strings.Repeat("${c}", 1000)), entry("c", long)), data(lines(1, "a # kpt-set: ${a}")), function.ErrWritten},
		"create-setters":                   {"create-setters", config("  ? '" + long + "'\n  : x\n"), data(entry("a", strings.Repeat("x", 1<<20))), function.ErrWritten},
		"ensure-name-substring":            {"ensure-name-substring", config(entry("prepend", long)), distinctNames(3000), function.ErrWritten},
		"set-annotations":                  {"set-annotations", config(entry("a", long)), many, function.ErrWritten},
		"set-labels":                       {"set-labels", config(entry("a", long)), many, function.ErrWritten},
		"set-project-id":                   {"set-project-id", config(entry("project-id", long)), kptfiles, function.ErrWritten},
		"set-namespace":                    {"set-namespace", config(entry("namespace", long)), many, function.ErrWritten},
		"set-image":                        {"set-image", config(entry("name", "nginx"), entry("newName", long)), pods, function.ErrWritten},
		"upsert-resource":                  {"upsert-resource", data(entry("a", long)), many, function.ErrWritten},
		"apply-replacements":               {"apply-replacements", replacements("    options: {create: true}\n"), many + source, function.ErrWritten},
		"apply-replacements, fields":       {"apply-replacements", replacements("    - " + strings.Repeat("data.v\n    - ", 30_000) + "data.v\n"), many + source, function.ErrWork},
		"apply-replacements, wild":         {"apply-replacements", replacements("    - " + strings.Repeat("data.*\n    - ", 1000) + "data.*\n"), data(lines(100_000, "a")) + source, function.ErrWork},
		"apply-replacements, delimiter":    {"apply-replacements", replacements("    options: {delimiter: '/', index: 1}\n"), strings.Repeat("---\n"+data(lines(1, "a/b/c")), 1000) + source, function.ErrWritten},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			f, ok := Lookup(c.function)
			if !ok {
				t.Fatalf("there is no %s", c.function)
			}
			p, err := krm.Parse([]krm.File{{Path: "a.yaml", Data: []byte(c.resources)}})
			if err != nil {
				t.Fatal(err)
			}
			if len(p.Resources()) == 0 {
				t.Fatalf("nothing to work on: %v", p.Problems())
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err = function.Run(context.Background(), f.Releases[len(f.Releases)-1].Run, &function.Call{Package: p, Config: yaml.MustParse(c.config)})
			runtime.ReadMemStats(&after)
			if !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
			if made := after.TotalAlloc - before.TotalAlloc; made > 1<<30 {
				t.Errorf("%d MiB were made", made>>20)
			}
		})
	}
}

// Every function that walks resources ends where its time does.
func TestFunctionsEndWithTheirTime(t *testing.T) {
	over, cancel := context.WithTimeout(context.Background(), time.Nanosecond)
	defer cancel()
	<-over.Done()
	configs := map[string]string{
		"ensure-name-substring": "prepend: a-", "search-replace": "by-value: a", "set-image": "name: nginx\n  newTag: v1", "set-namespace": "namespace: a",
		"set-project-id": "project-id: a", "remove-local-config-resources": "a: b", "apply-replacements": "a: b",
	}
	for _, f := range All() {
		if f.Releases[len(f.Releases)-1].Run == nil || f.Name == "apply-replacements" {
			continue // a worker has its own bounds; a library that cannot be asked
		}
		p, err := krm.Parse([]krm.File{{Path: "a.yaml", Data: []byte("apiVersion: v1\nkind: Pod\nmetadata: {name: p, annotations: {config.kubernetes.io/local-config: 'true'}}\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: q}\n")}})
		if err != nil {
			t.Fatal(err)
		}
		data := configs[f.Name]
		if data == "" {
			data = "a: b"
		}
		call := &function.Call{Package: p, Config: yaml.MustParse("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: f}\ndata:\n  " + data + "\n")}
		if err := function.Run(over, f.Releases[len(f.Releases)-1].Run, call); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: got %v and %v", f.Name, err, call.Results)
		}
	}
}
