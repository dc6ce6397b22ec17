package images

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
	"github.com/tetratelabs/wazero/sys"

	"github.com/variform/variform/internal/krm"
)

// wasm times a call of a function that was built for WASI, with its module
// compiled once and an instance a call, on the same package as a ResourceList.
// It stands for a runtime that Variform does not have.
func wasm(b *testing.B, name string) func(b *testing.B) time.Duration {
	b.Helper()
	file := filepath.Join(b.TempDir(), name+".wasm")
	build := exec.Command("go", "build", "-ldflags", "-s -w", "-o", file, "../../functions/"+name)
	build.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("building for WASI: %v\n%s", err, out)
	}
	code, err := os.ReadFile(file)
	if err != nil {
		b.Fatal(err)
	}
	ctx := context.Background()
	r := wazero.NewRuntime(ctx)
	b.Cleanup(func() { _ = r.Close(ctx) })
	wasi_snapshot_preview1.MustInstantiate(ctx, r)
	module, err := r.CompileModule(ctx, code)
	if err != nil {
		b.Fatal(err)
	}
	runs := 0
	return func(b *testing.B) time.Duration {
		runs++
		list := resourceList(b, benchPackage(b, "image: "+name, runs))
		var out, said bytes.Buffer
		start := time.Now()
		m, err := r.InstantiateModule(ctx, module, wazero.NewModuleConfig().WithName("").WithArgs(name).
			WithStdin(strings.NewReader(list)).WithStdout(&out).WithStderr(&said).WithSysWalltime().WithSysNanotime())
		took := time.Since(start)
		var exit *sys.ExitError
		if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 0) || !strings.Contains(out.String(), "kind: ResourceList") {
			b.Fatalf("%v\n%s\n%.300s", err, said.String(), out.String())
		}
		if m != nil {
			_ = m.Close(ctx)
		}
		return took
	}
}

// resourceList is a package as a function gets it.
func resourceList(b *testing.B, p *krm.Package) string {
	b.Helper()
	files, err := p.Files()
	if err != nil {
		b.Fatal(err)
	}
	var out strings.Builder
	out.WriteString("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n")
	for _, f := range files {
		text := strings.Replace(string(f.Data), "metadata:\n", "metadata:\n  annotations:\n    internal.config.kubernetes.io/path: "+f.Path+"\n", 1)
		for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
			if i == 0 {
				out.WriteString("- " + line + "\n")
			} else {
				out.WriteString("  " + line + "\n")
			}
		}
	}
	return out.String()
}
