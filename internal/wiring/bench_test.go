package wiring_test

import (
	"fmt"
	"testing"

	"github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/wiring"
)

// hundred is a package of 100 resources in 50 files.
func hundred() map[string]string {
	files := map[string]string{"Kptfile": kptfile}
	for i := range 50 {
		files[fmt.Sprintf("app-%02d.yaml", i)] = fmt.Sprintf(`apiVersion: apps/v1
kind: Deployment
metadata:
  name: app-%[1]d
  labels: {app: app-%[1]d, tier: web}
spec:
  replicas: 1
  template:
    spec:
      containers:
      - name: app
        image: "app:1" # kpt-set: app:${tag}
        env:
        - {name: HOST, value: none}
---
apiVersion: v1
kind: Service
metadata:
  name: app-%[1]d
spec:
  ports:
  - {name: http, port: %[1]d}
`, i)
	}
	return files
}

func benchOutputs(b *testing.B) *wiring.Outputs {
	outputs, err := wiring.Compile([]v1alpha1.ManifestOutput{
		output("port", "Service/app-7:spec.ports[name=http].port"),
		output("url", "'http://' + resources.filter(r, r.kind == 'Service' && r.metadata.name == 'app-9')[0].metadata.name + '.' + self.target"),
	})
	if err != nil {
		b.Fatal(err)
	}
	return outputs
}

// BenchmarkWire wires a package of 100 resources as a run does: values into a clone, outputs out of it.
func BenchmarkWire(b *testing.B) {
	p, outputs := pkg(b, hundred()), benchOutputs(b)
	values := []wiring.Value{setter("tag", "2"), field("host", "Deployment/app-3:spec.template.spec.containers[name=app].env[name=HOST].value", "db", "string")}
	for name, part := range map[string]func(*krm.Package){
		"Apply": func(c *krm.Package) {
			if err := wiring.Apply(c, values); err != nil {
				b.Fatal(err)
			}
		},
		"Eval": func(c *krm.Package) {
			got, unknown := outputs.Eval(wiring.Scope{Package: c, Self: wiring.Self{Target: "edge"}})
			if len(got) != 2 {
				b.Fatal(unknown)
			}
		},
		"EvalPath": func(c *krm.Package) {
			got, unknown := outputs.Eval(wiring.Scope{Package: c}, "port")
			if len(got) != 1 {
				b.Fatal(unknown)
			}
		},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				part(p.Clone())
			}
		})
	}
}
