package e2e

import (
	"bytes"
	_ "embed"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

//go:embed testdata/short.txt
var shortList string

// short skips a test that -short leaves out.
func short(t testing.TB) {
	t.Helper()
	name, _, _ := strings.Cut(t.Name(), "/")
	if _, ok := t.(*testing.T); ok && testing.Short() && !strings.Contains(shortList, "\n"+name+"\n") {
		t.Skip("SKIPPED: -short runs the tests of testdata/short.txt")
	}
}

// Each name of the list is a test: a test that was renamed is not left out in silence.
func TestShortList(t *testing.T) {
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var all []byte
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, text...)
	}
	for line := range strings.Lines(shortList) {
		if name := strings.TrimSpace(line); !strings.HasPrefix(name, "#") && !bytes.Contains(all, []byte("\nfunc "+name+"(t *testing.T) {")) {
			t.Errorf("testdata/short.txt names %q, which is no test", name)
		}
	}
}
