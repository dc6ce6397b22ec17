package source

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A path of a repository is relative to the file that has it. One that leads somewhere
// from the current folder alone stays for now.
func TestRelativePaths(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{"git/a.git", "fleet/in.git", "fleet/eu/in.git"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(root)
	const warned = ": spec.git.repo: git/a.git is a path from the current folder (hint: write "
	for reason, tt := range map[string]struct {
		file, address, want, warning string
	}{
		"beside the fleet":             {"r.yaml", "../git/a.git", "../git/a.git", ""},
		"of a file in a folder":        {"eu/r.yaml", "../../git/a.git", "../git/a.git", ""},
		"below the file":               {"eu/r.yaml", "in.git", "eu/in.git", ""},
		"below the fleet":              {"r.yaml", "./in.git", "in.git", ""},
		"from the current folder":      {"r.yaml", "git/a.git", "git/a.git", "r.yaml:8" + warned + "../git/a.git"},
		"so, and in a folder":          {"eu/r.yaml", "git/a.git", "git/a.git", "eu/r.yaml:8" + warned + "../../git/a.git"},
		"nowhere":                      {"eu/r.yaml", "../git/none.git", "git/none.git", ""},
		"absolute":                     {"r.yaml", filepath.Join(root, "git/a.git"), filepath.Join(root, "git/a.git"), ""},
		"a URL":                        {"r.yaml", "https://git.example.com/a.git", "https://git.example.com/a.git", ""},
		"a host":                       {"r.yaml", "git@git.example.com:a.git", "git@git.example.com:a.git", ""},
		"a relative path with a colon": {"r.yaml", "../git/a:b.git", "../git/a:b.git", ""},
	} {
		t.Run(reason, func(t *testing.T) {
			fleet := filepath.Join(root, "fleet")
			name := filepath.Join(fleet, filepath.FromSlash(tt.file))
			text := strings.Replace(repository("r"), "https://git.example.com/r.git", tt.address, 1)
			if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			defer os.Remove(name)
			for _, location := range []string{"fleet", fleet} {
				f, err := Read(t.Context(), location, Options{})
				if err != nil || len(f.Repositories) != 1 {
					t.Fatal(f, err)
				}
				warning, _, _ := strings.Cut(f.Warnings.Error(), ": a path is relative to the file")
				if d := cmp.Diff([2]string{tt.want, tt.warning}, [2]string{f.Repositories[0].Spec.Git.Repo, warning}); d != "" {
					t.Errorf("-f %s (-want +got):\n%s", location, d)
				}
			}
		})
	}
}

// A command ran in the fleet's folder, whose files in folders had paths of that one.
func TestPathOfTheFleetsFolder(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, dir := range []string{"in.git", "eu"} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	text := strings.Replace(repository("r"), "https://git.example.com/r.git", "in.git", 1)
	if err := os.WriteFile("eu/r.yaml", []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := Read(t.Context(), ".", Options{})
	if err != nil || f.Repositories[0].Spec.Git.Repo != "in.git" || !strings.Contains(f.Warnings.Error(), "hint: write ../in.git: ") {
		t.Errorf("%v, %v: %s", f, err, f.Warnings.Error())
	}
}

// All paths that are to be written otherwise are one warning, and one of a Catalog is
// such a path too.
func TestOneWarningOfPaths(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.MkdirAll("git/a.git", 0o755); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{"c.yaml": "apiVersion: variform.dev/v1alpha1\nkind: Catalog\nmetadata:\n  name: c\nspec:\n  sources:\n  - git: {repo: git/a.git}\n"}
	for _, name := range []string{"a", "b"} {
		files[name+".yaml"] = strings.Replace(repository(name), "https://git.example.com/"+name+".git", "git/a.git", 1)
	}
	f, err := Read(t.Context(), write(t, files), Options{})
	if err != nil || len(f.Warnings) != 1 {
		t.Fatal(f.Warnings, err)
	}
	if got := f.Warnings.Error(); !strings.HasPrefix(got, "a.yaml:8: spec.git.repo: git/a.git is a path from the current folder, like 2 more addresses (hint: write ") {
		t.Error(got)
	}
}
