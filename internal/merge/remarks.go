package merge

import (
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/krm"
)

// remarked reports whether a person added a comment to a resource that local has as
// base has it otherwise: in its tree, or as a line of a file of its own.
func (m *merger) remarked(t *tuple) bool {
	if addsRemark(allComments(t.b.tree()), allComments(t.l.tree())) {
		return true
	}
	if len(m.b.docs[t.b.path]) != 1 || len(m.l.docs[t.l.path]) != 1 {
		return false
	}
	return addsLine(commentLines(m.b.file(t.b.path)), commentLines(m.l.file(t.l.path)))
}

// addsRemark reports whether one list of comments has a line that another one lacks. Merge
// comments and the markers of fields that are owned elsewhere are none.
func addsRemark(was, is string) bool {
	return addsLine(strings.Split(was, "\n"), strings.Split(is, "\n"))
}

func addsLine(was, is []string) bool {
	known := map[string]bool{"": true}
	for _, line := range was {
		known[strings.TrimSpace(line)] = true
	}
	for _, line := range is {
		line = strings.TrimSpace(line)
		if !known[line] && !strings.Contains(line, mergeComment) && !strings.Contains(line, imageMarker) {
			return true
		}
	}
	return false
}

// allComments are the comments of a tree, line by line.
func allComments(n *yaml.Node) string {
	if n == nil || n.Kind == yaml.AliasNode {
		return ""
	}
	out := n.HeadComment + "\n" + n.LineComment + "\n" + n.FootComment + "\n"
	for _, c := range n.Content {
		out += allComments(c)
	}
	return out
}

// commentLines are the lines of a file that are comments.
func commentLines(f *krm.File) (out []string) {
	if f == nil {
		return nil
	}
	for line := range strings.Lines(string(f.Data)) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "#") {
			out = append(out, line)
		}
	}
	return out
}
