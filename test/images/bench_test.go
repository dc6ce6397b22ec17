package images

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/variform/variform/internal/function"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/render"
)

// items is how many Deployments the package has.
const items = 100

// benchPackage is a package whose function runs as line says; n makes it another
// one, so that no answer is known yet.
func benchPackage(b *testing.B, line string, n int) *krm.Package {
	b.Helper()
	files := []krm.File{{Path: "Kptfile", Data: fmt.Appendf(nil,
		"apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: bench\npipeline:\n  mutators:\n  - %s\n", line)}}
	for i := range items {
		files = append(files, krm.File{Path: fmt.Sprintf("deployment-%d.yaml", i), Data: fmt.Appendf(nil, `apiVersion: apps/v1
kind: Deployment
metadata:
  name: app-%[1]d # the name
  labels:
    app: app-%[1]d
    run: "%[2]d"
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
        image: example.com/app:1.0
        ports:
        - containerPort: 8080
          name: http
        resources:
          requests: {cpu: 100m, memory: 64Mi}
`, i, n)})
	}
	p, err := krm.Parse(files)
	if err != nil {
		b.Fatal(err)
	}
	return p
}

// BenchmarkRuntimes renders a package of 100 Deployments with one function, by
// each runtime in turn, and reports the median milliseconds of each: in process,
// as a program, in a container of its own (the image is there), in the first
// container of a run and in one that has served a call; and the engine alone
// with the function's --help, by `podman run` and by `podman exec`. A wasm runtime, which Variform does not have, stands beside them.
func BenchmarkRuntimes(b *testing.B) {
	if _, err := exec.LookPath("podman"); err != nil {
		b.Skip("SKIPPED: podman is not on the PATH")
	}
	made, err := made()
	if err != nil {
		b.Fatal(err)
	}
	if err := loaded(); err != nil {
		b.Fatal(err)
	}
	const name = "validate-package"
	helper, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	options := render.Options{Builtins: function.Builtin, AllowExec: true, ImagePullPolicy: render.PullNever}
	reusing := options
	reusing.ContainerHelper = helper
	once, again := render.New(options), render.New(reusing)
	b.Cleanup(once.Close)
	b.Cleanup(again.Close)
	image := "image: " + made.image(name)
	warm := startWarm(b, made.image(name))

	runs := 0
	pass := func(r *render.Renderer, line string) func(b *testing.B) time.Duration {
		return func(b *testing.B) time.Duration {
			runs++
			p := benchPackage(b, line, runs)
			start := time.Now()
			_, err := r.Render(context.Background(), p)
			if err != nil {
				b.Fatalf("run %d: %v", runs, err)
			}
			return time.Since(start)
		}
	}
	contestants := []struct {
		name string
		run  func(b *testing.B) time.Duration // what counts of it
	}{
		{"builtin", pass(once, "image: "+render.OwnRegistry+"/"+name+":v1")},
		{"exec", pass(once, "exec: "+made.program(name))},
		{"fresh", pass(once, image)},
		{"first", func(b *testing.B) time.Duration {
			r := render.New(reusing)
			defer r.Close()
			return pass(r, image)(b)
		}},
		{"reused", pass(again, image)},
		{"podman-run", podman("run", "--rm", "-i", "--network", "none", "--user", "nobody", "--security-opt=no-new-privileges", made.image(name), "--help")},
		{"wasm", wasm(b, name)},
		{"podman-exec", podman("exec", "-i", warm, "/usr/local/bin/"+name, "--help")},
	}
	pass(again, image)(b) // the first call starts the container
	times := map[string][]time.Duration{}
	for b.Loop() {
		for _, c := range contestants {
			times[c.name] = append(times[c.name], c.run(b))
		}
	}
	b.ReportMetric(0, "ns/op")
	for _, c := range contestants {
		slices.Sort(times[c.name])
		median := times[c.name][len(times[c.name])/2]
		b.ReportMetric(float64(median.Microseconds())/1000, c.name+"-ms")
	}
}

// podman times one command of the engine.
func podman(args ...string) func(b *testing.B) time.Duration {
	return func(b *testing.B) time.Duration {
		start := time.Now()
		if out, err := exec.Command("podman", args...).CombinedOutput(); err != nil {
			b.Fatalf("podman %v: %v\n%s", args, err, out)
		}
		return time.Since(start)
	}
}

// startWarm starts a container whose function waits for its input, for `podman exec`.
func startWarm(b *testing.B, image string) string {
	b.Helper()
	out, err := exec.Command("podman", "run", "--detach", "--interactive", "--network", "none", "--user", "nobody", image).Output()
	if err != nil {
		b.Fatal(err)
	}
	id := strings.TrimSpace(string(out))
	b.Cleanup(func() { _ = exec.Command("podman", "rm", "--force", "--time", "0", id).Run() })
	return id
}
