package krm

import (
	"fmt"
	"testing"
)

const deployment = `# A Deployment as people write it.
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web-%d
  namespace: shop
  labels:
    app: web
  annotations:
    team: red
spec:
  replicas: 3
  selector:
    matchLabels: {app: web}
  template:
    metadata:
      labels:
        app: web
    spec:
      containers:
      # the server
      - name: web
        image: nginx:1.25 # pinned
        ports:
        - name: http
          containerPort: 80
        env:
        - name: A
          value: "1"
        - name: B
          value: "2"
        resources:
          requests: {cpu: 100m, memory: 128Mi}
          limits: {cpu: "1", memory: 256Mi}
      - name: sidecar
        image: envoy:1.30
        args: ["--config", "/etc/envoy.yaml"]
        volumeMounts:
        - name: config
          mountPath: /etc
      volumes:
      - name: config
        configMap:
          name: web
`

func thousand(b *testing.B) []File {
	b.Helper()
	files := make([]File, 0, 1000)
	for i := range 1000 {
		files = append(files, File{Path: fmt.Sprintf("d%04d.yaml", i), Data: fmt.Appendf(nil, deployment, i)})
	}
	return files
}

func parsedThousand(b *testing.B) *Package {
	b.Helper()
	p, err := Parse(thousand(b))
	if err != nil || len(p.Resources()) != 1000 {
		b.Fatal(err)
	}
	return p
}

func BenchmarkParse1000(b *testing.B) {
	files := thousand(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(files); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkClone1000(b *testing.B) {
	p := parsedThousand(b)
	b.ReportAllocs()
	for b.Loop() {
		_ = p.Clone()
	}
}

func BenchmarkEditAnnotation(b *testing.B) {
	p, err := Parse(thousand(b)[:1])
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		c := p.Clone()
		if err := c.Resources()[0].SetAnnotation("team", "blue"); err != nil {
			b.Fatal(err)
		}
		if _, err := c.Files(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkWriteOneEditOf1000(b *testing.B) {
	p := parsedThousand(b)
	if err := p.Resources()[500].SetAnnotation("team", "blue"); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.Files(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParseAliasBomb(b *testing.B) {
	bomb := "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n"
	for i := 1; i < 40; i++ {
		bomb += fmt.Sprintf("a%d: &a%d [*a%d,*a%d,*a%d,*a%d]\n", i, i, i-1, i-1, i-1, i-1)
	}
	files := []File{{Path: "b.yaml", Data: []byte(bomb)}}
	for b.Loop() {
		if p, err := Parse(files); err != nil || len(p.Problems()) != 1 {
			b.Fatal(err)
		}
	}
}
