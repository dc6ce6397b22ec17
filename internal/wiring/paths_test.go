package wiring_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/internal/merge"
	"github.com/variform/variform/internal/wiring"
)

// TestPathsOfMerge holds that the fields that a merge names in its messages can be pasted as field paths.
func TestPathsOfMerge(t *testing.T) {
	const doc = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  annotations: {a.b/c: VALUE}
spec:
  template:
    spec:
      containers:
      - name: web
        image: VALUE
        ports:
        - {containerPort: 80, protocol: TCP, name: http}
`
	with := func(v string) map[string]string {
		return map[string]string{"Kptfile": kptfile, "web.yaml": strings.ReplaceAll(doc, "VALUE", v)}
	}
	local := pkg(t, with("mine"))
	result, err := merge.Packages(pkg(t, with("old")), pkg(t, with("theirs")), local, merge.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var outputs []v1alpha1.ManifestOutput
	want := map[string]string{}
	for _, c := range result.Conflicts {
		outputs = append(outputs, output(c.Field, "Deployment/web:"+c.Field))
		want[c.Field] = "mine"
	}
	if len(want) != 2 {
		t.Fatalf("the merge names %d fields: %v", len(want), result.Conflicts)
	}
	compiled, err := wiring.Compile(outputs)
	if err != nil {
		t.Fatal(err)
	}
	got, unknown := compiled.Eval(wiring.Scope{Package: local})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff, unknown)
	}
}
