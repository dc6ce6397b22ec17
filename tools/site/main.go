// Command site makes a static site of docs/: one page for each Markdown file,
// with no script and nothing from elsewhere, and each link followed. A module of
// its own; `make site` runs it.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"html/template"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"

	_ "embed"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// source is where files are that the site has not.
const source = "https://github.com/variform/variform/blob/main/"

//go:embed page.html
var layout string

func main() {
	from := flag.String("from", ".", "folder of the repository")
	out := flag.String("out", "dist/site", "folder for the site")
	flag.Parse()
	n, err := build(os.DirFS(*from), *out)
	if err != nil {
		fmt.Fprintln(os.Stderr, "site:", err)
		os.Exit(1)
	}
	fmt.Printf("%d pages in %s\n", n, *out)
}

// menu is what each page begins with.
var menu = []struct{ Name, File string }{
	{"Start", "index.html"},
	{"Install", "docs/install.html"},
	{"Tutorial", "docs/tutorial.html"},
	{"How to", "docs/how-to/index.html"},
	{"Concepts", "docs/concepts.html"},
	{"Reference", "docs/reference.html"},
	{"Fields", "docs/fields.html"},
	{"Commands", "docs/commands.html"},
	{"CI", "docs/ci/index.html"},
	{"Design", "docs/design/index.html"},
}

type page struct {
	file   string // "docs/kpt.md"
	title  string
	body   bytes.Buffer
	links  []string        // to pages of the site, "docs/kpt.md#updates"
	titles map[string]bool // anchors
}

func build(repo fs.FS, out string) (int, error) {
	files, err := sources(repo)
	if err != nil {
		return 0, err
	}
	pages := map[string]*page{}
	for _, file := range files {
		data, err := fs.ReadFile(repo, file)
		if err != nil {
			return 0, err
		}
		if path.Ext(file) != ".md" {
			if err := write(out, file, data); err != nil {
				return 0, err
			}
			continue
		}
		if pages[file], err = render(repo, file, data, files); err != nil {
			return 0, fmt.Errorf("%s: %w", file, err)
		}
	}
	var errs []error
	for _, p := range pages {
		for _, to := range p.links {
			name, anchor, _ := strings.Cut(to, "#")
			if target := pages[name]; target != nil && anchor != "" && !target.titles[anchor] {
				errs = append(errs, fmt.Errorf("%s: the link to %s: no such section", p.file, to))
			}
		}
		errs = append(errs, p.write(out))
	}
	return len(pages), errors.Join(errs...)
}

// sources are the files of the site: docs, and the pages that it links at the root.
func sources(repo fs.FS) ([]string, error) {
	files := []string{"README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"}
	err := fs.WalkDir(repo, "docs", func(file string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			files = append(files, file)
		}
		return err
	})
	return files, err
}

func render(repo fs.FS, file string, data []byte, files []string) (*page, error) {
	p := &page{file: file, title: file, titles: map[string]bool{}}
	md := goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithParserOptions(parser.WithAutoHeadingID()))
	ids := &anchors{p.titles}
	doc := md.Parser().Parse(text.NewReader(data), parser.WithContext(parser.NewContext(parser.WithIDs(ids))))
	var errs []error
	err := ast.Walk(doc, func(n ast.Node, enter bool) (ast.WalkStatus, error) {
		switch n := n.(type) {
		case *ast.Heading:
			if enter && n.Level == 1 {
				p.title = string(n.Lines().Value(data))
			}
		case *ast.Link:
			if enter {
				to, err := p.follow(repo, string(n.Destination), files)
				errs = append(errs, err)
				n.Destination = []byte(to)
			}
		}
		return ast.WalkContinue, nil
	})
	if err := errors.Join(append(errs, err)...); err != nil {
		return nil, err
	}
	return p, md.Renderer().Render(&p.body, data, doc)
}

// follow turns a link of the repository into one of the site.
func (p *page) follow(repo fs.FS, to string, files []string) (string, error) {
	if strings.Contains(to, ":") {
		return to, nil
	}
	name, anchor, _ := strings.Cut(to, "#")
	target := path.Join(path.Dir(p.file), name)
	if name == "" {
		target = p.file
	}
	info, err := fs.Stat(repo, target)
	if err != nil {
		return "", fmt.Errorf("the link %s: %w", to, err)
	}
	if info.IsDir() && slices.Contains(files, path.Join(target, "README.md")) {
		target = path.Join(target, "README.md")
	}
	if !slices.Contains(files, target) {
		if info.IsDir() {
			return strings.Replace(source, "/blob/", "/tree/", 1) + target, nil
		}
		return source + target, nil
	}
	p.links = append(p.links, target+"#"+anchor)
	rel, err := filepath.Rel(path.Dir(address(p.file)), address(target))
	if anchor != "" {
		rel += "#" + anchor
	}
	return filepath.ToSlash(rel), err
}

// address is a file's place in the site.
func address(file string) string {
	if dir, ok := strings.CutSuffix(file, "README.md"); ok {
		return dir + "index.html"
	}
	if name, ok := strings.CutSuffix(file, ".md"); ok {
		return name + ".html"
	}
	return file
}

var table = regexp.MustCompile(`(?s)<table>.*?</table>`)

// fieldName is the path of a field in the first cell of a row: it is broken at its dots.
var fieldName = regexp.MustCompile(`<tr>\n<td><code>[\w.\[\]*-]+</code></td>`)

func (p *page) write(out string) error {
	at := address(p.file)
	type entry struct {
		Name, To string
		Here     bool
	}
	var entries []entry
	for _, m := range menu {
		rel, err := filepath.Rel(path.Dir(at), m.File)
		if err != nil {
			return err
		}
		entries = append(entries, entry{m.Name, filepath.ToSlash(rel), m.File == at})
	}
	body := table.ReplaceAllString(p.body.String(), `<div class="wide" tabindex="0">$0</div>`)
	body = strings.NewReplacer("<pre>", `<pre tabindex="0">`, "<th></th>", "<td></td>").Replace(body) // an empty corner heads nothing
	body = fieldName.ReplaceAllStringFunc(body, func(cell string) string { return strings.ReplaceAll(cell, ".", ".<wbr>") })
	var b bytes.Buffer
	if err := template.Must(template.New("").Parse(layout)).Execute(&b, map[string]any{"Title": p.title, "Menu": entries, "Body": template.HTML(body)}); err != nil {
		return err
	}
	return write(out, at, b.Bytes())
}

func write(out, name string, data []byte) error {
	to := filepath.Join(out, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o644)
}

// anchors names sections as forges do, so that links hold in both.
type anchors struct{ used map[string]bool }

func (a *anchors) Generate(value []byte, _ ast.NodeKind) []byte {
	name := strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-', r == '_', unicode.IsLetter(r), unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, strings.TrimSpace(string(value)))
	unique := name
	for n := 1; a.used[unique]; n++ {
		unique = fmt.Sprintf("%s-%d", name, n)
	}
	a.used[unique] = true
	return []byte(unique)
}

func (a *anchors) Put(value []byte) { a.used[string(value)] = true }
