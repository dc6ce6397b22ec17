package docs

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// page is a Markdown file of the documentation.
type page struct {
	file     string // from the repository's root, with slashes
	commands []command
	yaml     []block
}

// command is one command line, without prompt and comment.
type command struct {
	line   int
	text   string
	inline bool // in running text, not in a block
}

// block is a fenced block in YAML.
type block struct {
	line int // of its first line of text
	text string
}

var (
	fence = regexp.MustCompile("^\\s*(```+)\\s*(\\S*)")
	span  = regexp.MustCompile("`([^`]+)`")
	// runnable is what makes code in running text a command: a program that a
	// user of ours calls, with an argument. Git's commands are explained, not used.
	runnable = regexp.MustCompile(`^(make [a-z]|go test |kpt fn \w+ \S|bin/variform |[a-z]+-[a-z]+ --?\w)`)
	comment  = regexp.MustCompile(`(^|\s+)#(\s.*)?$`)
)

// readPage finds the commands and the YAML of a Markdown text. Blocks without
// a language are commands.
func readPage(file, text string) (page, error) {
	p := page{file: file}
	var open, language string // of the block that is being read
	var body []string
	began := 0
	for i, line := range strings.Split(text, "\n") {
		m := fence.FindStringSubmatch(line)
		switch {
		case open == "" && m != nil:
			open, language, body, began = m[1], m[2], nil, i+2
		case open != "" && strings.TrimSpace(line) == open:
			if err := p.addBlock(language, began, body); err != nil {
				return p, err
			}
			open = ""
		case open != "":
			body = append(body, line)
		default:
			for _, s := range span.FindAllStringSubmatch(line, -1) {
				if runnable.MatchString(s[1]) {
					p.commands = append(p.commands, command{i + 1, s[1], true})
				}
			}
		}
	}
	if open != "" {
		return p, fmt.Errorf("%s:%d: the block that begins here has no end", file, began-1)
	}
	return p, nil
}

func (p *page) addBlock(language string, began int, body []string) error {
	switch language {
	case "", "sh", "bash", "console":
		for i := 0; i < len(body); i++ {
			line, text := began+i, body[i]
			for strings.HasSuffix(text, `\`) && i+1 < len(body) {
				i++
				text = strings.TrimSuffix(text, `\`) + strings.TrimSpace(body[i])
			}
			text = strings.TrimSpace(comment.ReplaceAllString(text, ""))
			if text = strings.TrimPrefix(text, "$ "); text != "" {
				p.commands = append(p.commands, command{line, text, false})
			}
		}
	case "yaml":
		p.yaml = append(p.yaml, block{began, strings.Join(body, "\n") + "\n"})
	case "text": // pictures and output
	default:
		return fmt.Errorf("%s:%d: a block in %q: write yaml, text, or nothing for commands", p.file, began-1, language)
	}
	return nil
}

func TestReadPage(t *testing.T) {
	const text = "Run `make demo`, `git push` or `kpt fn render`.\n" +
		"```\n" +
		"make build     # bin/variform\n" +
		"# alone\n" +
		"\n" +
		"$ bin/variform plan \\\n" +
		"    -f 'a#b'\n" +
		"```\n" +
		"- in a list: `fill-in --help`\n" +
		"  ```yaml\n" +
		"  a: b\n" +
		"  ```\n" +
		"```text\n" +
		"make nothing\n" +
		"```\n"
	got, err := readPage("x.md", text)
	want := page{
		file: "x.md",
		commands: []command{
			{1, "make demo", true}, {3, "make build", false}, {6, "bin/variform plan -f 'a#b'", false}, {9, "fill-in --help", true},
		},
		yaml: []block{{11, "  a: b\n"}},
	}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(page{}, command{}, block{})); d != "" || err != nil {
		t.Errorf("(-want +got):\n%s%v", d, err)
	}
	for text, want := range map[string]string{
		"a\n```\nmake demo\n":   "x.md:2: the block",
		"```perl\nprint\n```\n": `x.md:1: a block in "perl"`,
	} {
		if _, err := readPage("x.md", text); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s…", text, err, want)
		}
	}
}
