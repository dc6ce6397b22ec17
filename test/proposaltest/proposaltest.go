// Package proposaltest gives the dialects' tests the examples of the published
// documents that the dialects implement, which are read where they are and
// never copied, and a short form of a resolution.
package proposaltest

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/variform/variform/resolver"
)

// The documents, as docs/design/README.md#sources names them.
const (
	Porter            Proposal = "000"
	PorterProvisional Proposal = "001"
	Carvel            Proposal = "003"
	Crossplane        Proposal = "004"
)

// Proposal is a published document, by what its file's name begins with.
type Proposal string

// Text is the text of a document. The test is skipped where the documents are not at hand.
func Text(t *testing.T, p Proposal) string {
	t.Helper()
	shared := os.Getenv("SHARED")
	if shared == "" {
		shared = filepath.Join("..", "..", "..", "..", "shared")
	}
	files, err := filepath.Glob(filepath.Join(shared, "seeds", string(p)+"_*.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Skipf("document %s is not at %s (set SHARED)", p, shared)
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

var fence = regexp.MustCompile("```(\\w*)=?[ \t]*\r?\n?")

// Fenced are the fenced blocks of a language.
func Fenced(text, language string) []string {
	var out []string
	for {
		open := fence.FindStringSubmatchIndex(text)
		if open == nil {
			return out
		}
		lang, rest := text[open[2]:open[3]], text[open[1]:]
		block, after, _ := strings.Cut(rest, "```")
		if text = after; lang == language {
			out = append(out, block)
		}
	}
}

// Unfenced are the YAML and JSON blocks of a page whose fences were lost: they begin with a field or a
// brace in the first column, or a comment that says whose document comes, and end at prose.
func Unfenced(text string) []string {
	starts := regexp.MustCompile(`^(\{|(dependencies|credentials|parameters|outputs|install|name|schemaType):( |$)|# .*(bundle|porter\.yaml)$)`)
	part := regexp.MustCompile(`^( +[^ •\d]|[-}#]|[a-z][\w$-]*:( |$)|$)`)
	var out, block []string
	end := func() {
		if len(block) > 0 {
			out = append(out, strings.TrimRight(strings.Join(block, "\n"), "\n")+"\n")
		}
		block = nil
	}
	for _, line := range strings.Split(text, "\n") {
		if len(block) == 0 && !starts.MatchString(line) {
			continue
		}
		if title := regexp.MustCompile(`^# .*(bundle|porter\.yaml)$`).MatchString(line); title || !part.MatchString(line) && line != "{" {
			end()
			if !title {
				continue
			}
		}
		block = append(block, line)
	}
	end()
	return out
}

// Unflatten gives the lines of a YAML document back that was written in one line: each begins at a field, a
// dash or a separator, and is indented by the next width.
func Unflatten(t *testing.T, text string, widths ...int) string {
	t.Helper()
	var lines []string
	begun := false
	for _, word := range strings.Fields(text) {
		isKey := strings.HasSuffix(word, ":")
		switch {
		case word == "-" || word == "---" || isKey && !begun:
			lines = append(lines, word)
		default:
			lines[len(lines)-1] += " " + word
		}
		begun = word == "-"
	}
	if len(lines) != len(widths) {
		t.Fatalf("%d lines, %d widths:\n%s", len(lines), len(widths), strings.Join(lines, "\n"))
	}
	for i, w := range widths {
		lines[i] = strings.Repeat(" ", w) + lines[i]
	}
	return strings.Join(lines, "\n") + "\n"
}

// Resolve asks for a package of a catalogue.
func Resolve(t *testing.T, in resolver.Input, catalog []resolver.Package, want ...resolver.Request) (*resolver.Resolution, error) {
	t.Helper()
	cat, err := resolver.NewCatalog(catalog)
	if err != nil {
		t.Fatal(err)
	}
	if in.Catalog == nil {
		in.Catalog = cat
	}
	in.Want = want
	return resolver.Resolve(t.Context(), in)
}

// Bindings tells what the first request's dependencies got: "alias: use package version namespace/name".
func Bindings(res *resolver.Resolution) []string {
	var out []string
	for _, b := range res.Root().Bindings {
		ref := resolver.Installation{Name: b.Installation, Namespace: b.Namespace}.Ref()
		out = append(out, strings.TrimSpace(fmt.Sprintf("%s: %s %s %s %s", b.Alias, b.Use, b.Package, b.Version, ref)))
	}
	return out
}

// Before tells whether one instance runs in an earlier wave than another.
func Before(res *resolver.Resolution, first, second string) bool {
	wave := map[string]int{}
	for n, w := range res.Plan {
		for _, ref := range w {
			wave[res.Find(ref).Package] = n + 1
		}
	}
	return wave[first] > 0 && wave[first] < wave[second]
}
