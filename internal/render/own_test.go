package render

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/internal/function"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/yamltree"
)

// TestOwnConfiguration renders pipelines whose functions would change the resource that
// configures them, or the entry that calls them.
func TestOwnConfiguration(t *testing.T) {
	const (
		labels = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: l\ndata:\n  team: a\n"
		labeld = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: l\n  labels:\n    tier: x\ndata:\n  team: a\n"
		search = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: s\ndata:\n  by-value: old\n  put-value: new\n"
		script = "apiVersion: fn.kpt.dev/v1alpha1\nkind: StarlarkRun\nmetadata:\n  name: run\nsource: |\n  for r in ctx.resource_list[\"items\"]:\n    r[\"touched\"] = \"yes\"\n"
	)
	for name, c := range map[string]struct {
		reason, pipeline string
		files, want      map[string]string
	}{
		"configPath": {
			reason:   "a function is given its configuration, and does not see it among its items",
			pipeline: mutating("{image: set-labels:v0.2, configPath: l.yaml}"),
			files:    map[string]string{"l.yaml": labels, "r.yaml": configMap("r")},
			want:     map[string]string{"l.yaml": labels, "r.yaml": configMap("r", "  labels:\n    team: a\n")},
		},
		"other functions": {
			reason:   "the configuration of another function is a resource like any other",
			pipeline: mutating("{image: set-labels:v0.2, configMap: {tier: x}}", "{image: set-annotations:v0.1, configPath: ./l.yaml}"),
			files:    map[string]string{"l.yaml": labels},
			want:     map[string]string{"l.yaml": labeld},
		},
		"two functions": {
			reason:   "a configuration that two functions share is changed by neither",
			pipeline: mutating("{image: set-labels:v0.2, configPath: l.yaml}", "{image: set-annotations:v0.1, configPath: l.yaml}"),
			files:    map[string]string{"l.yaml": labels},
			want:     map[string]string{"l.yaml": labels},
		},
		"search": {
			reason:   "the value that is searched stands in the configuration itself",
			pipeline: mutating("{image: search-replace:v0.2, configPath: s.yaml}"),
			files:    map[string]string{"s.yaml": search, "r.yaml": configMap("old")},
			want:     map[string]string{"s.yaml": search, "r.yaml": configMap("new")},
		},
		"script": {
			reason:   "a script gets a ResourceList, without its configuration among the items",
			pipeline: mutating("{image: starlark:v0.5, configPath: run.yaml}"),
			files:    map[string]string{"run.yaml": script, "r.yaml": configMap("r")},
			want:     map[string]string{"run.yaml": script, "r.yaml": configMap("r", "touched: \"yes\"\n")},
		},
		"subpackage": {
			reason:   "a parent's function may change the configuration of a child's function of the same path",
			pipeline: mutating("{image: set-labels:v0.2, configPath: l.yaml}"),
			files: map[string]string{
				"l.yaml":      labels,
				"sub/Kptfile": kptfileOf("sub", mutating("{image: set-annotations:v0.1, configPath: l.yaml}")), "sub/l.yaml": labels,
			},
			want: map[string]string{
				"l.yaml":      labels,
				"sub/Kptfile": "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: sub\n  annotations:\n    team: a\n  labels:\n    team: a\n" + mutating("{image: set-annotations:v0.1, configPath: l.yaml}"),
				"sub/l.yaml":  "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: l\n  labels:\n    team: a\ndata:\n  team: a\n",
			},
		},
		"entry": {
			reason:   "the entry in the Kptfile stays as it is, the entry of another function does not",
			pipeline: mutating("{image: search-replace:v0.2, configMap: {by-value: old, put-value: new, put-comment: 'kpt-set: ${x}'}}", "{image: set-annotations:v0.1, configMap: {is: old}, exclude: [{kind: Kptfile}]}"),
			files:    map[string]string{"r.yaml": configMap("r", "data:\n  is: old\n")},
			want: map[string]string{
				"Kptfile": kptfileOf("p", mutating("{image: search-replace:v0.2, configMap: {by-value: old, put-value: new, put-comment: 'kpt-set: ${x}'}}",
					"{image: set-annotations:v0.1, configMap: {is: new}, exclude: [{kind: Kptfile}]}")),
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{"Kptfile": kptfileOf("p", c.pipeline)}
			for k, v := range c.files {
				files[k] = v
			}
			got := contents(t, mustRender(t, testOptions(), pkg(t, files)).Package)
			for file, want := range c.want {
				if diff := cmp.Diff(want, got[file]); diff != "" {
					t.Errorf("%s: %s (-want +got):\n%s", c.reason, file, diff)
				}
			}
		})
	}
}

// TestOwnEntry runs functions that edit the list that calls them.
func TestOwnEntry(t *testing.T) {
	edit := func(change func(list *[]string)) function.Processor {
		return func(_ context.Context, c *function.Call) error {
			for _, r := range c.Resources() {
				if r.Kind() != "Kptfile" {
					continue
				}
				seq := yamltree.Path(r.Edit().YNode(), "pipeline", "mutators")
				var list []string
				for _, e := range seq.Content {
					list = append(list, yamltree.Text(e, "image"))
				}
				change(&list)
				seq.Content = nil
				for _, image := range list {
					seq.Content = append(seq.Content, yamltree.StringMap(map[string]string{"image": image}))
				}
			}
			return nil
		}
	}
	fns := map[string]function.Processor{"same": func(context.Context, *function.Call) error { return nil }}
	for name, c := range map[string]struct {
		reason string
		change func(list *[]string)
		want   []string
	}{
		"kept":      {"nothing changes", func(*[]string) {}, []string{own("same"), own("edit"), own("same")}},
		"own":       {"its own image is not its to choose", func(l *[]string) { (*l)[1] = "other" }, []string{own("same"), own("edit"), own("same")}},
		"other":     {"other entries are", func(l *[]string) { (*l)[0], (*l)[2] = "x", "y" }, []string{"x", own("edit"), "y"}},
		"prepended": {"an entry may be added, before its own too", func(l *[]string) { *l = append([]string{"x"}, *l...) }, []string{"x", own("same"), own("edit"), own("same")}},
		"removed":   {"its own entry is put back where it was", func(l *[]string) { *l = []string{own("same"), own("same")} }, []string{own("same"), own("edit"), own("same")}},
		"emptied":   {"only its own entry is put back", func(l *[]string) { *l = nil }, []string{own("edit")}},
	} {
		t.Run(name, func(t *testing.T) {
			fns["edit"] = edit(c.change)
			p := pkg(t, map[string]string{"Kptfile": kptfileOf("p", mutating("image: "+own("same"), "image: "+own("edit"), "image: "+own("same")))})
			res := mustRender(t, Options{Builtins: fns, NoContainers: true}, p)
			if diff := cmp.Diff(c.want, mutatorImages(res.Package)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

func mutatorImages(p *krm.Package) (out []string) {
	for _, e := range yamltree.Items(p.Kptfile("").Node().YNode(), "pipeline", "mutators") {
		out = append(out, yamltree.Text(e, "image"))
	}
	return out
}
