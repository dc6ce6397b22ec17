//go:build linux

package e2e

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/variform/variform/internal/cli"
	"github.com/variform/variform/test/gittest"
)

// What diff writes into a pipe makes the Draft of what is published, in every byte;
// at a terminal the same characters are seen.
func TestDiffIsAPatch(t *testing.T) {
	w := newWorld(t, "c1")
	w.publishWeb(merged(web("1", "1", "info"), gittest.Text{"web/notes.txt": "one\r\ntwo\r\n", "web/logo": "\x00\x01"}), "v7")
	w.write("web.yaml", variantOf("web", "v7", "c1", "web", ""))
	w.mustApply()
	w.mustRun(0, "approve", "--all")
	w.publishWeb(merged(web("1", "1", "info"), gittest.Text{"web/notes.txt": "one\r\n2\u202e\r\n", "web/logo": "\x00\x02"}), "v8")
	w.write("web.yaml", variantOf("web", "v8", "c1", "web", ""))

	patch := w.mustRun(0, "diff").out
	w.contains(patch, "# notes.txt has characters that do not show: U+000D in line 1 and 2 more, U+202E in line 2\n")
	where := filepath.Join(w.dir, "web.patch")
	if err := os.WriteFile(where, []byte(patch), 0o600); err != nil {
		t.Fatal(err)
	}
	tree := t.TempDir()
	gittest.Run(t, tree, nil, "clone", "--quiet", w.repos["c1"].Dir, ".")
	gittest.Run(t, tree, nil, "apply", "--directory=web", "--whitespace=nowarn", where)
	w.mustApply()
	gittest.Run(t, tree, nil, "fetch", "--quiet", "origin", "drafts/web/packagevariant-2")
	gittest.Run(t, tree, nil, "diff", "--exit-code", "FETCH_HEAD")

	w.publishWeb(gittest.Text{"web/Kptfile": web("1", "1", "info")["web/Kptfile"], "web/notes.txt": "\x1b[2J\n"}, "v9")
	w.write("web.yaml", variantOf("web", "v9", "c1", "web", ""))
	person, program := terminal(t)
	var screen bytes.Buffer
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(&screen, person) // ends with an error when the other end is closed
	}()
	cli.Main(context.Background(), []string{"diff", "--color=never", "--no-pager", "-f", w.fleet(), "--cache-dir", filepath.Join(w.dir, "cache")}, cli.Streams{Out: program, Err: io.Discard})
	_ = program.Close()
	<-done
	w.contains(screen.String(), "<U+001B>[2J", "<U+202E>")
	w.lacks(screen.String(), "\x1b", "\u202e", "do not show")
}
