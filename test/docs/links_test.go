package docs

import (
	"bytes"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

var (
	// absent is how documents were cited that are in no clone: by sections of a
	// design, by numbers of specifications, by files beside the repository. A
	// citation may go over the end of a comment's line.
	absent = regexp.MustCompile(`(?i)\bdesign[\s/#*]+sections?[\s/#*]+\d|\bseeds?[\s/#*]+00\d|\bthe seeds?'|\bshared/(design|findings|style|real-parts)|\bfindings? [A-H]\d`)
	// cited is a page of ours, perhaps with a section, as comments name it. What
	// stands behind a slash is the end of another address.
	cited = regexp.MustCompile(`(?:^|[^\w/.-])(docs/[\w/-]+\.md(?:#[\w-]+)?)`)
	link  = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	title = regexp.MustCompile("^#{1,6} +(.+?) *$")
)

// TestLinks follows each relative link of each Markdown file.
func TestLinks(t *testing.T) {
	found := 0
	for file, text := range sources(t) {
		if path.Ext(file) != ".md" {
			continue
		}
		for _, to := range links(text) {
			found++
			if strings.HasPrefix(to, "#") {
				to = path.Base(file) + to
			}
			if problem := follow(path.Dir(file), to); problem != "" {
				t.Errorf("%s: the link %s: %s", file, to, problem)
			}
		}
	}
	if found < 50 {
		t.Errorf("only %d links were found: links are not recognised", found)
	}
}

// TestCitations looks in every file for documents that are not in the
// repository, and for pages and sections of ours that are not there.
func TestCitations(t *testing.T) {
	found := 0
	for file, text := range sources(t) {
		if m := absent.FindString(text); m != "" {
			t.Errorf("%s cites %q, which no clone has: name the published document as docs/design/README.md does, or a page of docs/design", file, m)
		}
		for _, m := range cited.FindAllStringSubmatch(text, -1) {
			found++
			if problem := follow(".", m[1]); problem != "" {
				t.Errorf("%s cites %s: %s", file, m[1], problem)
			}
		}
	}
	if found < 50 {
		t.Errorf("only %d citations were found: they are not recognised", found)
	}
}

// unmerged is a line that a merge left for somebody to decide.
var unmerged = regexp.MustCompile(`(?m)^(<{7}|>{7}) \S`)

// TestUnmerged: no file has what a merge left.
func TestUnmerged(t *testing.T) {
	for file, text := range sources(t) {
		if line := unmerged.FindString(text); line != "" {
			t.Errorf("%s has a line %q: decide that merge", file, line)
		}
	}
	if !unmerged.MatchString("a\n"+strings.Repeat("<", 7)+" HEAD\n") || unmerged.MatchString("<<<<<<<< x\n") {
		t.Error("such lines are not recognised")
	}
}

func TestAbsent(t *testing.T) {
	for text, want := range map[string]bool{
		"as design " + "section 3 says":             true,
		"(design\n// " + "sections 3 and 4)":        true,
		"(seed\n\t// " + "002)":                     true,
		"seeds " + "000 and 001":                    true,
		"see ../shared" + "/design.md":              true,
		"finding" + " A12":                          true,
		"it depends on the seed: 0.57 to 1.08":      false,
		"NewPCG(seed, 1)":                           false,
		"(docs/design/git.md#layout), section 3":    false,
		"Porch's PackageVariant design, \"Status\"": false,
	} {
		if got := absent.MatchString(text); got != want {
			t.Errorf("%q: %t, want %t", text, got, want)
		}
	}
}

func TestFollow(t *testing.T) {
	for to, want := range map[string]string{
		"git.md":                    "",
		"git.md#the-record":         "",
		"../design":                 "",
		"../ci/":                    "",
		"git.md#no-such-section":    "it has no section of that name",
		"no-such-page.md":           "there is no such file",
		"../reference.md#no-images": "it has no section of that name",
	} {
		if got := follow("docs/design", to); got != want {
			t.Errorf("%s: %q, want %q", to, got, want)
		}
	}
}

func TestSections(t *testing.T) {
	got := sections("# One & two\ntext\n## H(I): a `code` name\n```\n# none\n```\n## One & two\n### Porch's [kinds](x.md)\n")
	want := map[string]bool{"one--two": true, "hi-a-code-name": true, "one--two-1": true, "porchs-kinds": true}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// follow looks for the target of a relative link in a folder, and says what is
// wrong with it, "" for nothing.
func follow(dir, to string) string {
	name, section, _ := strings.Cut(to, "#")
	data, err := fs.ReadFile(os.DirFS(root), path.Join(dir, name))
	if info, serr := fs.Stat(os.DirFS(root), path.Join(dir, name)); serr == nil && info.IsDir() {
		return ""
	}
	switch {
	case err != nil:
		return "there is no such file"
	case section != "" && !sections(string(data))[section]:
		return "it has no section of that name"
	}
	return ""
}

// links are the relative links of a Markdown text, without those of blocks.
func links(text string) []string {
	var out []string
	for _, line := range prose(text) {
		for _, m := range link.FindAllStringSubmatch(line, -1) {
			if !strings.Contains(m[1], ":") {
				out = append(out, m[1])
			}
		}
	}
	return out
}

// sections are the anchors of a Markdown text's titles, as forges make them.
func sections(text string) map[string]bool {
	out := map[string]bool{}
	times := map[string]int{}
	for _, line := range prose(text) {
		m := title.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		name := anchor(link.ReplaceAllString(m[1], "]"))
		if n := times[name]; n > 0 {
			out[name+"-"+strconv.Itoa(n)] = true
		} else {
			out[name] = true
		}
		times[name]++
	}
	return out
}

// anchor keeps letters, digits, hyphens and underscores, in lower case.
func anchor(title string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-', r == '_', unicode.IsLetter(r), unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, title)
}

// prose are the lines outside of fenced blocks.
func prose(text string) []string {
	var out []string
	open := ""
	for _, line := range strings.Split(text, "\n") {
		m := fence.FindStringSubmatch(line)
		switch {
		case open == "" && m != nil:
			open = m[1]
		case open != "" && strings.TrimSpace(line) == open:
			open = ""
		case open == "":
			out = append(out, line)
		}
	}
	return out
}

// sources are the repository's files that are text, by path.
func sources(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	tree := os.DirFS(root)
	err := fs.WalkDir(tree, ".", func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case file == ".git", file == "bin", file == "dist":
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case !d.Type().IsRegular():
			return nil
		}
		data, err := fs.ReadFile(tree, file)
		if err == nil && utf8.Valid(data) && !bytes.ContainsRune(data, 0) {
			out[file] = string(data)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
