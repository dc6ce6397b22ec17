package histories

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/gittest"
)

// nextVersion is what the next hydration version changes: it says so, and writes
// another package context.
var nextVersion = []mutant{
	{Text: "const Hydration = 2", Instead: "const Hydration = 3"},
	{Text: `yamltree.SetString(data, reserved, "package-path", packagePath)`, Instead: `yamltree.SetString(data, reserved, "package-path", "/"+packagePath)`},
}

// TestTwoVersions plays histories in which this program and one of the next
// hydration version work on the same fleets, step by step one or the other: neither
// drafts anew for its own sake, what the next one made waits for it, and nothing else
// is promised less.
func TestTwoVersions(t *testing.T) {
	gittest.RequireGit(t)
	if testing.Short() {
		t.Skip("skipped: builds the program once more")
	}
	if decide.Hydration != 2 {
		t.Fatal("the hydration version has changed: so does what nextVersion says of the next one")
	}
	root := copyOfCode(t)
	for _, m := range nextVersion {
		file, text := find(t, root, m.Text)
		if err := os.WriteFile(file, []byte(strings.Replace(text, m.Text, m.Instead, 1)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	program := filepath.Join(t.TempDir(), "variform")
	build := exec.Command("go", "build", "-o", program, "./cmd/variform")
	build.Dir, build.Env = root, append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-buildvcs=false")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	n := 6
	if *count > 0 {
		n = *count
	}
	p := newPlayer(t)
	p.later = program
	p.forge = func(uint64) (context.Context, forge) {
		return context.Background(), httpForge{t, gittest.NewServer(t)}
	}
	if *script != "" {
		p.playScript(t, *script)
		return
	}
	p.playAll(t, n, *length, false)
}

// runNext runs the program of the next version.
func (w *world) runNext(ctx context.Context, args []string) (status int, out, errs bytes.Buffer) {
	c := exec.CommandContext(ctx, w.later, args...)
	c.Stdout, c.Stderr = &out, &errs
	err := c.Run()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return exit.ExitCode(), out, errs
	}
	if err != nil && ctx.Err() == nil {
		panic(err)
	}
	return 0, out, errs
}

// takeTurns says which of two programs, if there are two, does a step.
func (w *world) takeTurns(o operation) { w.byLater = w.later != "" && o.c%2 == 0 }

// afterNext notes what the next version made: this one lets it be, and where it is
// not known any more whose it is, it may have other bytes than this one's.
func (w *world) afterNext() {
	clear(w.newer)
	for _, t := range w.targets {
		if r := w.repos[t.name]; !w.broken[t.name] && r.recordRef() != "" {
			w.madeByNewer(r)
		}
	}
	for p := range w.newer {
		w.older[p] = true
	}
}
