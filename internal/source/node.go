package source

import (
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/yamltree"
)

// Line is the line of a field of the document at a place, or of the nearest parent
// that is there; the document's own where it cannot be read any more. The field is
// as yamltree.Nearest has it. Files are parsed anew: few fields are asked for.
func (d *Directory) Line(at Origin, field string) int {
	i := slices.IndexFunc(d.files, func(f file) bool { return f.name == at.File })
	if i < 0 {
		return at.Line
	}
	for _, c := range split(d.files[i].data) {
		docs, err := c.parse()
		if err != nil {
			continue
		}
		for _, doc := range docs {
			for _, root := range append([]*yaml.Node{doc.root}, yamltree.Items(doc.root, "items")...) {
				if c.line+root.Line == at.Line {
					_, line := yamltree.Nearest(root, field)
					return c.line + line
				}
			}
		}
	}
	return at.Line
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
