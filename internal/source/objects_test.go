package source_test

import (
	"context"
	"strings"
	"testing"

	"github.com/variform/variform/internal/source"
)

func object(apiVersion, kind, name string, more map[string]any) map[string]any {
	out := map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{
		"name": name, "namespace": "prod", "resourceVersion": "7", "generation": int64(3), "uid": "u",
		"managedFields": []any{map[string]any{"manager": "kubectl"}},
	}}
	for k, v := range more {
		out[k] = v
	}
	return out
}

func texts(objects []map[string]any) (out []source.Text) {
	for _, o := range objects {
		out = append(out, source.TextOf(o))
	}
	return out
}

// TestOfObjects: objects of an API server are read as files are, strictly, and what the
// server keeps about them is no part of the fleet.
func TestOfObjects(t *testing.T) {
	const porch = "config.porch.kpt.dev/"
	repo := object(porch+"v1alpha1", "Repository", "c1", map[string]any{
		"spec":   map[string]any{"type": "git", "git": map[string]any{"repo": "https://git.example.com/c1"}},
		"status": map[string]any{"of-another-version": true},
	})
	set := object(porch+"v1alpha2", "PackageVariantSet", "web", map[string]any{"spec": map[string]any{
		"upstream": map[string]any{"repo": "c1", "package": "web", "revision": int64(1)},
		"targets":  []any{map[string]any{"repositorySelector": map[string]any{}}},
	}})
	bad := object(porch+"v1alpha1", "PackageVariant", "bad", map[string]any{"spec": map[string]any{"upstrem": map[string]any{}}})
	config := object("v1", "ConfigMap", "site", map[string]any{"data": map[string]any{"a": "on", "b": "x: y\n"}, "status": map[string]any{"phase": "Bound"}})
	all := []map[string]any{set, repo, bad, config}
	d := source.OfObjects("objects of namespace prod", texts(all), source.Options{Manager: "me"})
	f, err := d.Fleet(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Repositories) != 1 || len(f.Sets) != 1 || len(f.Objects) != 1 || len(f.Rejected) != 1 || f.Manager != "me" || f.Location != "objects of namespace prod" {
		t.Fatalf("%+v", f)
	}
	if got := f.Sets[0].Generation; got != 3 {
		t.Errorf("generation %d, which the status needs", got)
	}
	text, err := f.Objects[0].Node().String()
	if err != nil || strings.Contains(text, "managedFields") || strings.Contains(text, "resourceVersion") || !strings.Contains(text, "phase: Bound") || !strings.Contains(text, `a: "on"`) {
		t.Errorf("%v\n%s", err, text)
	}
	const where = "PackageVariant.config.porch.kpt.dev prod/bad: unknown field spec.upstrem"
	if p := f.Problems.Error(); !strings.HasPrefix(p, where) {
		t.Errorf("%s\nwant it to begin with %s", p, where)
	}
	if at := f.Origin(f.Objects[0].Key); at.Line != 0 || at.File != "ConfigMap prod/site" {
		t.Errorf("%+v", at)
	}
	if len(f.Warnings) != 0 {
		t.Error(f.Warnings)
	}
	if _, there := repo["status"]; !there || repo["metadata"].(map[string]any)["managedFields"] == nil {
		t.Error("the objects were changed")
	}

	again := func(change func()) bool {
		change()
		return source.OfObjects("", texts(all), source.Options{}).Digest() == d.Digest()
	}
	if !again(func() { repo["status"] = nil; repo["metadata"].(map[string]any)["resourceVersion"] = "8" }) {
		t.Error("a status that was written is a change of the fleet")
	}
	if again(func() { config["data"].(map[string]any)["a"] = "off" }) {
		t.Error("a changed object is none")
	}
	if f, _ := source.OfObjects("", texts([]map[string]any{config, config}), source.Options{}).Fleet(context.Background()); len(f.Rejected) != 2 {
		t.Error("two objects of one identity")
	}
	if f, _ := source.OfObjects("", texts([]map[string]any{config}), source.Options{Limits: source.Limits{FileBytes: 20}}).Fleet(context.Background()); !strings.Contains(f.Problems.Error(), "larger than 20 bytes") {
		t.Error(f.Problems)
	}
}
