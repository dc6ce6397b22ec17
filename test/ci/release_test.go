package ci

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// TestVersions holds that recipes, action, component and pages name the newest
// release of CHANGELOG.md.
func TestVersions(t *testing.T) {
	read := func(file string) string {
		data, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(file)))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	newest := regexp.MustCompile(`(?m)^## (v\d+\.\d+\.\d+)\b`).FindStringSubmatch(read("CHANGELOG.md"))
	if newest == nil {
		t.Fatal("CHANGELOG.md has no release")
	}
	named := regexp.MustCompile(`(?:variform(?:/cmd/variform)?@|VARIFORM_VERSION: |default: |releases/download/|variform-controller:|config@|\?ref=)(v\d+\.\d+\.\d+)`)
	for _, file := range []string{
		"action.yml", "templates/variform.yml", "config/controller/deployment.yaml", "docs/controller.md", "docs/install.md", "docs/ci/README.md", "docs/ci/github-actions.yaml", "docs/ci/gitlab-ci.yaml", "docs/ci/shards-github.yaml",
	} {
		found := named.FindAllStringSubmatch(read(file), -1)
		if len(found) == 0 {
			t.Errorf("%s names no version", file)
		}
		for _, m := range found {
			if m[1] != newest[1] {
				t.Errorf("%s: %q, but the newest release is %s", file, m[0], newest[1])
			}
		}
	}
}

// TestOwnWorkflows has the workflows of this repository read by their linter.
func TestOwnWorkflows(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", ".github", "workflows", "*.yml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no workflows: %v", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if out, clean := actionlint(t, data); !clean {
			t.Errorf("%s:\n%s", filepath.Base(file), out)
		}
	}
}
