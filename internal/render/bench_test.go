package render

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/variform/variform/internal/krm"
)

// deployment is a resource of ordinary size.
const deployment = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: app-%[1]d # the name
  namespace: before
  labels:
    app: app-%[1]d
spec:
  replicas: 3
  selector:
    matchLabels:
      app: app-%[1]d
  template:
    metadata:
      labels:
        app: app-%[1]d
    spec:
      containers:
      - name: main
        image: example.com/app:1.0 # kpt-set: ${image}
        ports:
        - containerPort: 8080
          name: http
        env:
        - name: LEVEL
          value: "info"
        resources:
          requests: {cpu: 100m, memory: 64Mi}
      - name: side
        image: example.com/side:2.0
        args: ["--a", "--b"]
`

var benchFunctions = []string{
	"  - image: set-namespace:v0.4\n    configMap: {namespace: after}\n",
	"  - image: set-labels:v0.2\n    configMap: {tier: web}\n",
	"  - image: apply-setters:v0.2\n    configMap: {image: example.com/app:2.0}\n",
}

func manyResources(t testing.TB, n, functions int) *krm.Package {
	files := map[string]string{}
	for i := range n {
		files[fmt.Sprintf("deployment-%d.yaml", i)] = fmt.Sprintf(deployment, i)
	}
	kptfile := "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: many\n"
	if functions > 0 {
		kptfile += "pipeline:\n  mutators:\n" + strings.Join(benchFunctions[:functions], "")
	}
	files["Kptfile"] = kptfile
	return pkg(t, files)
}

// BenchmarkRender renders 1,000 resources with 0, 1 and 3 builtin functions,
// files read and written included.
func BenchmarkRender(b *testing.B) {
	for _, functions := range []int{0, 1, 3} {
		b.Run(fmt.Sprintf("resources=1000/functions=%d", functions), func(b *testing.B) {
			files := mustFiles(b, manyResources(b, 1000, functions))
			for b.Loop() {
				p, err := krm.Parse(files)
				if err != nil {
					b.Fatal(err)
				}
				res, err := New(Options{NoContainers: true}).Render(context.Background(), p)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := res.Package.Files(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
