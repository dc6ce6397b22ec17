package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A command that has ended leaves no file of its cache folder open: who runs many in one
// process, as these tests, has no more of them than one run needs.
func TestCommandsCloseTheirFiles(t *testing.T) {
	const own = "/proc/self/fd"
	if _, err := os.ReadDir(own); err != nil {
		t.Skip("skipped: the system does not say which files are open")
	}
	w := newHTTPWorld(t, "c1", "c2")
	w.write("sets/web.yaml", webSet)
	w.mustRun(0, "apply")
	for _, args := range [][]string{{"apply"}, {"plan"}, {"status"}, {"review"}, {"approve", "--all", "-y"}, {"plan", "--only", "nowhere"}} {
		w.run(args...)
		list, err := os.ReadDir(own)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range list {
			at, _ := os.Readlink(filepath.Join(own, f.Name()))
			if strings.HasPrefix(at, filepath.Join(w.dir, "cache")) {
				t.Errorf("after %s %s is open", args[0], at)
			}
		}
	}
}
