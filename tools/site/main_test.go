package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

func repository(readme string) fstest.MapFS {
	return fstest.MapFS{
		"README.md":           {Data: []byte(readme)},
		"CONTRIBUTING.md":     {Data: []byte("# C\n")},
		"CHANGELOG.md":        {Data: []byte("# C\n")},
		"SECURITY.md":         {Data: []byte("# C\n")},
		"docs/kpt.md":         {Data: []byte("# A\n\n## In which order, and what a failure leaves\n\n| x |\n|---|\n| `<b>` |\n\n[home](../README.md#start)\n")},
		"docs/ci/README.md":   {Data: []byte("# CI\n\n[recipe](recipe.yaml), [up](../kpt.md)\n")},
		"docs/ci/recipe.yaml": {Data: []byte("a: b\n")},
		"examples/x/y":        {Data: []byte("x")},
	}
}

func TestBuild(t *testing.T) {
	out := t.TempDir()
	n, err := build(repository("# Start\n\n[a](docs/kpt.md#in-which-order-and-what-a-failure-leaves) [ci](docs/ci/) [x](examples/x) [out](https://example.com)\n"), out)
	if err != nil || n != 6 {
		t.Fatal(n, err)
	}
	for file, wants := range map[string][]string{
		"index.html":         {`<a href="docs/kpt.html#in-which-order-and-what-a-failure-leaves">`, `<a href="docs/ci/index.html">ci`, source[:len(source)-len("blob/main/")] + "tree/main/examples/x", `href="https://example.com"`, "<title>Start", `href="docs/install.html"`, `aria-current="page">Start`},
		"docs/kpt.html":      {`id="in-which-order-and-what-a-failure-leaves"`, `<div class="wide" tabindex="0"><table>`, "&lt;b&gt;", `<a href="../index.html#start">`},
		"docs/ci/index.html": {`<a href="recipe.yaml">`, `<a href="../kpt.html">`},
	} {
		data, err := os.ReadFile(filepath.Join(out, filepath.FromSlash(file)))
		if err != nil {
			t.Error(err)
		}
		for _, want := range wants {
			if !strings.Contains(string(data), want) {
				t.Errorf("%s lacks %s", file, want)
			}
		}
	}
	if _, err := os.Stat(filepath.Join(out, "docs/ci/recipe.yaml")); err != nil {
		t.Error(err)
	}
}

func TestLinksThatLeadNowhere(t *testing.T) {
	for link, want := range map[string]string{"docs/" + "b.md": "b.md: file does not exist", "docs/" + "kpt.md#three": "no such section", "#three": "no such section"} {
		if _, err := build(repository("# Start\n\n[x]("+link+")\n"), t.TempDir()); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "README.md") {
			t.Errorf("%s: %v", link, err)
		}
	}
}

// TestMenu holds that the menu's pages are there.
func TestMenu(t *testing.T) {
	for _, m := range menu {
		file := filepath.Join("../..", strings.TrimSuffix(m.File, ".html")+".md")
		if strings.HasSuffix(m.File, "index.html") {
			file = filepath.Join("../..", strings.TrimSuffix(m.File, "index.html"), "README.md")
		}
		if _, err := os.Stat(file); err != nil {
			t.Error(err)
		}
	}
}
