package source

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/yamltree"
)

// Line is the line of a field of the document at a place, or of the nearest parent
// that is there; the document's own where it cannot be read any more. The field is
// as yamltree.Nearest has it. Files are parsed anew: few fields are asked for.
func (d *Directory) Line(at Origin, field string) int {
	root, before := d.root(at)
	if root == nil {
		return at.Line
	}
	_, line := yamltree.Nearest(root, field)
	return before + line
}

// root returns the document at a place, and how many lines come before what its own lines
// count from; nil where it cannot be read any more.
func (d *Directory) root(at Origin) (root *yaml.Node, before int) {
	data, _ := d.Text(at.File)
	for _, c := range split(data) {
		docs, err := c.parse()
		if err != nil {
			continue
		}
		for _, doc := range docs {
			for _, root := range append([]*yaml.Node{doc.root}, yamltree.Items(doc.root, "items")...) {
				if c.line+root.Line == at.Line {
					return root, c.line
				}
			}
		}
	}
	return nil, 0
}

// word are the values that need no quotes where YAML reads them as strings.
var word = regexp.MustCompile(`^[A-Za-z][-+./A-Za-z0-9_]*$`)

// Replace returns the text of a file with another value of a string field of the document at
// a place. All other bytes stay. It fails where the field is not there, or its value is not
// written on one line of its own place.
func (d *Directory) Replace(at Origin, field, value string) (text []byte, was string, err error) {
	root, before := d.root(at) // a nil root has no field
	n, _ := yamltree.Nearest(root, field)
	if n == nil {
		return nil, "", fmt.Errorf("%s: it has no %s", at, field)
	}
	at.Line = before + n.Line
	data, _ := d.Text(at.File)
	lines := strings.SplitAfter(string(data), "\n")
	elsewhere := fmt.Errorf("%s: %s is not written there as one word: change it by hand", at, field)
	if n.Kind != yaml.ScalarNode || at.Line > len(lines) {
		return nil, "", elsewhere
	}
	runes := []rune(lines[at.Line-1])
	if n.Column > len(runes) {
		return nil, "", elsewhere
	}
	head, rest := string(runes[:n.Column-1]), string(runes[n.Column-1:])
	old := n.Value
	if n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0 {
		quote := rest[:1]
		old = quote + n.Value + quote
	}
	if n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 || !strings.HasPrefix(rest, old) {
		return nil, "", elsewhere
	}
	written := strconv.Quote(value)
	if plain, err := yaml.Marshal(value); err == nil && string(plain) == value+"\n" && word.MatchString(value) {
		written = value
	}
	lines[at.Line-1] = head + written + strings.TrimPrefix(rest, old)
	return []byte(strings.Join(lines, "")), n.Value, nil
}

// Block is the last line of what begins on a line of a file: those that are indented
// deeper follow. Line 0 is the file, of which it is 0.
func (d *Directory) Block(name string, line int) (int, error) {
	i := slices.IndexFunc(d.files, func(f file) bool { return f.name == name })
	if i < 0 {
		return 0, fmt.Errorf("%s is no file of the management directory that is read: give its path below %s", name, d.loc)
	}
	if line == 0 {
		return 0, nil
	}
	lines := strings.Split(string(d.files[i].data), "\n")
	if line > len(lines) {
		return 0, fmt.Errorf("%s has %d lines, and none is %d", name, len(lines), line)
	}
	depth := func(text string) int { return len(text) - len(strings.TrimLeft(text, " -")) }
	last := line
	for n := line; n < len(lines); n++ {
		if text := lines[n]; strings.TrimSpace(text) != "" {
			if depth(text) <= depth(lines[line-1]) {
				break
			}
			last = n + 1
		}
	}
	return last, nil
}
