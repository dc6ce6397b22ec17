package depcheck

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestOnce keeps what there is one of: text that only those files may hold, by
// what it decides. A second place is a second answer, and users have seen them.
func TestOnce(t *testing.T) {
	for what, tc := range map[string]struct {
		text string
		in   []string
	}{
		"lifecycles":                        {`"DeletionProposed"`, []string{"api/config/v1alpha1/packagerevision.go", "api/validate_other.go"}},
		"the default namespace":             {`(?i)(?:namespace|ns|old)\w* *(?:[:!=]?=|return|:) *"default"`, nil},
		"what a Secret is":                  {`== "Secret"`, []string{"api/defaults.go"}},
		"numbers of things":                 {`^func plural`, nil},
		"addresses without logins":          {`^func (?:\(.*\) )?[rR]edact\w*\(\w+ string\) string`, []string{"internal/wire/redact.go"}},
		"patterns of .krmignore":            {`gitignore|"\.krmignore"`, []string{"internal/krmignore/krmignore.go"}},
		"versions of tags":                  {`StrictNewVersion`, []string{"api/shape.go", "internal/revision/version.go", "resolver/catalog.go"}},
		"what is a range of versions":       {`rangeForm`, []string{"internal/revision/revision.go"}},
		"what the resolver is asked":        {`resolver\.Input\{`, []string{"internal/depend/depend.go"}},
		"numbers of workspaces":             {`"packagevariant-"`, []string{"internal/lifecycle/lifecycle.go"}},
		"the deletion brake's few and much": {`brakeShare`, []string{"internal/lifecycle/lifecycle.go"}},
	} {
		t.Run(what, func(t *testing.T) {
			if diff := cmp.Diff(tc.in, holding(t, regexp.MustCompile("(?m)"+tc.text))); diff != "" {
				t.Errorf("files that decide (-want +got):\n%s", diff)
			}
		})
	}
}

// holding lists the product's Go files in which text matches, comments aside.
func holding(t *testing.T, text *regexp.Regexp) []string {
	t.Helper()
	root := os.DirFS(filepath.Join("..", ".."))
	var out []string
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			if base := d.Name(); name == "test" || base == "testdata" || name == "bin" || name == "dist" || name != "." && strings.HasPrefix(base, ".") {
				return fs.SkipDir
			}
			return nil
		case !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		src, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		if text.Match(lineComment.ReplaceAll(src, nil)) {
			out = append(out, name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(out)
	return out
}

var lineComment = regexp.MustCompile(`(?m)^\s*//.*$|\s// .*$`)
