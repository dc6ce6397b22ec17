package histories

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/test/gittest"
)

// nextVersion is what the next hydration version changes: it says so, and writes
// another package context.
var nextVersion = []mutant{
	{Text: "const Hydration = 3", Instead: "const Hydration = 4"},
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
	if decide.Hydration != 3 {
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
	p := newPlayer(t, *choice)
	if p.Histories == 0 {
		p.Histories = 6
	}
	p.later = program
	p.forge = func(uint64) (context.Context, forge) {
		return context.Background(), httpForge{t, gittest.NewServer(t)}
	}
	p.run(t)
}
