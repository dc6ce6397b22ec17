package gitrepo

import (
	"os"
	"path/filepath"
	"testing"
)

// TestCloneOf: a local folder is a clone of its checkout's remote origin.
func TestCloneOf(t *testing.T) {
	const url = "https://git.example.com/fleet.git"
	for name, tt := range map[string]struct {
		config, folder string
		url, dir       string
	}{
		"the root":     {"[remote \"origin\"]\n\turl = " + url + "\n", "", url, ""},
		"a folder":     {"[remote \"origin\"]\n\turl = " + url + "\n", "teams/shop", url, "teams/shop"},
		"no remote":    {"[core]\n\tbare = false\n", "", "", ""},
		"another name": {"[remote \"fork\"]\n\turl = " + url + "\n", "", "", ""},
		"no config":    {"[remote", "", "", ""},
		"no clone":     {"", "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			folder := filepath.Join(root, filepath.FromSlash(tt.folder))
			for _, dir := range []string{folder, filepath.Join(root, ".git")} {
				if err := os.MkdirAll(dir, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			if tt.config != "" {
				if err := os.WriteFile(filepath.Join(root, ".git", "config"), []byte(tt.config), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if url, dir := CloneOf(folder); url != tt.url || dir != tt.dir {
				t.Errorf("%q, %q", url, dir)
			}
		})
	}
}
