package depcheck

import (
	"fmt"
	"regexp"
	"strings"
)

//go:generate go run ./mkpicture -page ../../docs/architecture.md

// The columns of a picture: where descriptions begin, and where lines end.
const (
	describeAt = 35
	widest     = 120
)

// Picture draws the layers as text, the highest first and Tooling last, apart
// from the others: it stands beside them. Each package has its line, with the
// first sentence of its comment; packages without a layer are left out.
func Picture(pkgs []Package, placement map[string]Layer) string {
	in := map[Layer][]Package{}
	for _, p := range pkgs {
		if layer, _, ok := place(p.Path, placement); ok {
			in[layer] = append(in[layer], p)
		}
	}
	var b strings.Builder
	for layer := Command; layer >= Leaf; layer-- {
		draw(&b, layer, in[layer], "│")
		if layer > Leaf {
			b.WriteString("▼\n")
		}
	}
	b.WriteString("\n")
	draw(&b, Tooling, in[Tooling], " ")
	return b.String()
}

func draw(b *strings.Builder, l Layer, pkgs []Package, edge string) {
	fmt.Fprintf(b, "%s: %s\n", strings.ToUpper(layers[l].name), layers[l].about)
	for _, p := range pkgs {
		name := p.Path
		for _, line := range wrap(describe(p.Doc), widest-describeAt) {
			text := fmt.Sprintf("%s  %-*s %s", edge, describeAt-4, name, line)
			b.WriteString(strings.TrimRight(text, " ") + "\n")
			name = ""
		}
	}
}

var (
	opening = regexp.MustCompile(`^(Package|Command) \S+ `)
	aside   = regexp.MustCompile(` \([^)]*\)`)
	further = regexp.MustCompile(`[:;] .*`)
)

// describe is the first clause of a sentence, without the package's name, which
// stands beside it, and without sources.
func describe(doc string) string {
	text := opening.ReplaceAllString(doc, "")
	return strings.TrimSuffix(further.ReplaceAllString(aside.ReplaceAllString(text, ""), ""), ".")
}

// wrap breaks a text into lines of at most width characters, at least one line.
func wrap(text string, width int) []string {
	lines := []string{""}
	for _, word := range strings.Fields(text) {
		last := len(lines) - 1
		switch {
		case lines[last] == "":
			lines[last] = word
		case len([]rune(lines[last]))+1+len([]rune(word)) > width:
			lines = append(lines, word)
		default:
			lines[last] += " " + word
		}
	}
	return lines
}
