package merge

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/kustomize/kyaml/openapi"
)

var update = flag.Bool("update", false, "write the golden files and the table of merge keys")

// TestMergeKeysTable fails where kyaml knows other merge keys than the table:
// after an update of kyaml, run it with -update.
func TestMergeKeysTable(t *testing.T) {
	got := newTableWriter().table()
	if *update {
		if err := os.WriteFile("mergekeys.txt", []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(mergeKeysTable, got); diff != "" {
		t.Errorf("mergekeys.txt differs from kyaml's schemas (-table +kyaml); run with -update:\n%s", diff)
	}
}

func TestSchemaFor(t *testing.T) {
	cases := map[string]struct {
		apiVersion, kind string
		path             []string
		want             []string
	}{
		"containers":      {"apps/v1", "Deployment", []string{"spec", "template", "spec", "containers"}, []string{"name"}},
		"ports":           {"apps/v1", "Deployment", []string{"spec", "template", "spec", "containers", "ports"}, []string{"containerPort", "protocol"}},
		"service ports":   {"v1", "Service", []string{"spec", "ports"}, []string{"port", "protocol"}},
		"unknown version": {"apps/v9", "Deployment", []string{"spec", "template", "spec", "containers"}, []string{"name"}},
		"kustomization":   {"kustomize.config.k8s.io/v1beta1", "Kustomization", []string{"configMapGenerator"}, []string{"name"}},
		"unknown kind":    {"example.com/v1", "Thing", []string{"spec", "items"}, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var f schemaField
			s := schemaFor(tc.apiVersion, tc.kind)
			for _, p := range tc.path {
				f = s.field(p)
				s = f.next
			}
			if diff := cmp.Diff(tc.want, f.keys); diff != "" {
				t.Errorf("keys of %v (-want +got):\n%s", tc.path, diff)
			}
		})
	}
}

// tableWriter cuts kyaml's definitions down to what leads to a keyed list.
type tableWriter struct {
	defs   spec.Definitions
	useful map[string]bool
	ids    map[string]int
	lines  []string
}

func newTableWriter() *tableWriter {
	w := &tableWriter{defs: openapi.Schema().Definitions, useful: map[string]bool{}, ids: map[string]int{}}
	for changed := true; changed; {
		changed = false
		for name := range w.defs {
			s := w.defs[name]
			if !w.useful[name] && w.leads(&s) {
				w.useful[name] = true
				changed = true
			}
		}
	}
	return w
}

func (w *tableWriter) table() string {
	names := make([]string, 0, len(w.defs))
	for name := range w.defs {
		names = append(names, name)
	}
	sort.Strings(names)
	types := map[string]string{}
	for _, name := range names {
		if !w.useful[name] {
			continue
		}
		gvks, _ := w.defs[name].Extensions["x-kubernetes-group-version-kind"].([]interface{})
		for _, g := range gvks {
			m := g.(map[string]interface{})
			apiVersion, _ := m["version"].(string)
			if group, _ := m["group"].(string); group != "" {
				apiVersion = group + "/" + apiVersion
			}
			types[apiVersion+" "+m["kind"].(string)] = name
		}
	}
	var typeNames []string
	for n := range types {
		typeNames = append(typeNames, n)
	}
	sort.Strings(typeNames)
	for _, n := range typeNames {
		w.lines = append(w.lines, fmt.Sprintf("T %s %d", n, w.id(types[n])))
	}
	return strings.Join(w.lines, "\n") + "\n"
}

// id writes a definition once and returns its number.
func (w *tableWriter) id(name string) int {
	if id, ok := w.ids[name]; ok {
		return id
	}
	w.ids[name] = len(w.ids) + 1
	s := w.defs[name]
	w.write(w.ids[name], &s)
	return w.ids[name]
}

func (w *tableWriter) write(id int, s *spec.Schema) {
	var fields []string
	for f := range s.Properties {
		fields = append(fields, f)
	}
	sort.Strings(fields)
	for _, f := range fields {
		p := s.Properties[f]
		w.field(id, f, &p)
	}
	if a := s.AdditionalProperties; a != nil && a.Schema != nil {
		w.field(id, "*", a.Schema)
	}
}

func (w *tableWriter) field(id int, name string, s *spec.Schema) {
	if !w.leads(s) {
		return
	}
	switch {
	case s.Items == nil:
		w.lines = append(w.lines, fmt.Sprintf("D %d %s %d", id, name, w.target(s)))
	case keysOf(s) == nil && isMerge(s):
		w.lines = append(w.lines, fmt.Sprintf("D %d %s {}", id, name))
	case w.leads(s.Items.Schema):
		w.lines = append(w.lines, fmt.Sprintf("D %d %s [%s] %d", id, name, strings.Join(keysOf(s), ","), w.target(s.Items.Schema)))
	default:
		w.lines = append(w.lines, fmt.Sprintf("D %d %s [%s]", id, name, strings.Join(keysOf(s), ",")))
	}
}

func (w *tableWriter) target(s *spec.Schema) int {
	if n := refName(s); n != "" {
		return w.id(n)
	}
	id := len(w.ids) + 1
	w.ids[fmt.Sprintf("inline %d", id)] = id
	w.write(id, s)
	return id
}

// leads says whether a schema holds a list with merge keys, at any depth.
func (w *tableWriter) leads(s *spec.Schema) bool {
	if s == nil {
		return false
	}
	if n := refName(s); n != "" {
		return w.useful[n]
	}
	if s.Items != nil {
		return isMerge(s) || w.leads(s.Items.Schema)
	}
	for _, p := range s.Properties {
		if w.leads(&p) {
			return true
		}
	}
	return s.AdditionalProperties != nil && w.leads(s.AdditionalProperties.Schema)
}

func refName(s *spec.Schema) string {
	return strings.TrimPrefix(s.Ref.String(), "#/definitions/")
}

func isMerge(s *spec.Schema) bool {
	strategy, _ := s.Extensions["x-kubernetes-patch-strategy"].(string)
	return slices.Contains(strings.Split(strategy, ","), "merge")
}

func keysOf(s *spec.Schema) []string {
	if !isMerge(s) {
		return nil
	}
	_, keys := (&openapi.ResourceSchema{Schema: s}).PatchStrategyAndKeyList()
	if len(keys) == 0 {
		return nil
	}
	return keys
}
