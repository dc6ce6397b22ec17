package wiring_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/internal/function"
)

// TestValidatePackage holds that the function validate-package finds outputs that can have no value, each mistake once.
func TestValidatePackage(t *testing.T) {
	files := map[string]string{
		"sub/Kptfile":  kptfile,
		"sub/svc.yaml": "apiVersion: v1\nkind: Service\nmetadata: {name: db}\n",
		"web.yaml":     "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: web}]}}}\n",
		"sub/package.yaml": `apiVersion: variform.dev/v1alpha1
kind: PackageManifest
metadata: {name: db}
spec:
  outputs:
  - {name: good, valueFrom: 'Service:spec.clusterIP'}
  - {name: path, valueFrom: 'Service:spec['}
  - {name: expression, valueFrom: status.url}
  - {name: outside, valueFrom: 'Deployment/web:spec.replicas'}
  - {name: later, valueFrom: 'context/ConfigMap/x:data.y'}
`,
	}
	want := func(severity string) []string {
		return []string{
			`error sub/package.yaml spec.outputs[1].valueFrom: spec.outputs[1].valueFrom: field path "spec[", character 6: an element of a list is chosen with [name=value] (hint: a field path is Kind/name:path, such as Service/db:spec.ports[name=sql].port)`,
			"error sub/package.yaml spec.outputs[2].valueFrom: output expression: valueFrom: ERROR: <input>:1:1: undeclared reference to 'status' (in container ''), in expression `status.url` (hint: the variables here are context, resources, self)",
			severity + " sub/package.yaml spec.outputs[3].valueFrom: output outside: the package has no Deployment web; it is known only once the package has that resource",
		}
	}
	for strict, severity := range map[string]string{"false": "warning", "true": "error"} {
		config := pkg(t, map[string]string{"c.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {strict: \"" + strict + "\"}\n"})
		call := &function.Call{Package: pkg(t, files), Config: config.Resources()[0].Node()}
		if err := function.ValidatePackage(context.Background(), call); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range call.Results {
			if r.File == nil { // the count at the end
				continue
			}
			got = append(got, fmt.Sprintf("%s %s %s: %s", r.Severity, r.File.Path, r.Field.Path, r.Message))
		}
		if diff := cmp.Diff(want(severity), got); diff != "" {
			t.Errorf("strict %s:\n%s", strict, diff)
		}
	}
}
