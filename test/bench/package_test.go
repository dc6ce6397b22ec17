package bench

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/variform/variform/test/gittest"
)

// packageFiles is how many files the benchmarks' package has.
const packageFiles = 20

// catalogPackage is an application of 20 files, or another number, as people write them,
// with comments, a context and an injection point. image is what its revisions differ in;
// with render its pipeline changes every resource.
func (s scenario) catalogPackage(image string) gittest.Text {
	p := gittest.Text{
		"app/Kptfile":              kptfile(s.render),
		"app/README.md":            "# app\n\n" + strings.Repeat("How this application is run, and by whom.\n", 20),
		"app/package-context.yaml": packageContext,
		"app/region.yaml":          injectionPoint,
	}
	for i := len(p); i < cmp.Or(s.files, packageFiles); i++ {
		name := fmt.Sprintf("part-%02d", i)
		text := fmt.Sprintf(deployment, name, image)
		if i%2 == 1 {
			text = fmt.Sprintf(configMap, name, i)
		}
		for k := 1; len(text) < s.fileBytes; k++ {
			text += "---\n" + fmt.Sprintf(configMap, fmt.Sprintf("%s-%d", name, k), k)
		}
		p["app/"+name+".yaml"] = text
	}
	return p
}

func kptfile(render bool) string {
	text := `apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: app
  annotations:
    config.kubernetes.io/local-config: "true"
info:
  description: An application of twenty files.
`
	if render {
		text += `pipeline:
  mutators:
    - image: ghcr.io/kptdev/krm-functions-catalog/set-labels:v0.2
      configMap:
        fleet: bench
`
	}
	return text
}

const packageContext = `apiVersion: v1
kind: ConfigMap
metadata:
  name: kptfile.kpt.dev
  annotations:
    config.kubernetes.io/local-config: "true"
data:
  name: example
`

const injectionPoint = `apiVersion: v1
kind: ConfigMap
metadata:
  name: region
  annotations:
    kpt.dev/config-injection: required
data:
  # Replaced by the region's own.
  endpoint: https://example.com
`

const deployment = `# One part of the application.
apiVersion: apps/v1
kind: Deployment
metadata:
  name: %[1]s
  labels: {app: %[1]s}
spec:
  replicas: 2 # two zones

  selector:
    matchLabels:
      app: %[1]s
  template:
    metadata:
      labels:
        app: %[1]s
    spec:
      serviceAccountName: app
      containers:
        - name: main
          image: registry.example.com/%[1]s:%[2]s
          args: ["--listen", ":8080", "--verbose=false"]
          ports:
            - name: http
              containerPort: 8080
          env:
            - name: LOG_LEVEL
              value: 'info'
            - name: REGION
              valueFrom:
                configMapKeyRef: {name: region, key: endpoint}
          resources:
            requests: {cpu: 100m, memory: 128Mi}
            limits:   {memory: 256Mi}
          readinessProbe:
            httpGet:
              path: /ready
              port: http
`

const configMap = `apiVersion: v1
kind: ConfigMap
metadata:
  name: %[1]s
  labels:
    app: app
data:
  # Read at start-up.
  settings.json: |
    {
      "name": "%[1]s",
      "workers": %[2]d,
      "timeout": "30s",
      "features": ["a", "b", "c"]
    }
  level: "%[2]d"
  window: 5m
`
