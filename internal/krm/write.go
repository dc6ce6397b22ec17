package krm

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/yamltree"
)

// Files returns the package as files, by path: unchanged ones share their
// Data, edited documents are spliced, files without a document left are left
// out. It fails for trees that no YAML text stands for and for those that Parse
// would refuse, naming all of them.
func (p *Package) Files() ([]File, error) {
	size := 0
	for _, f := range p.files {
		size += len(f.Data)
	}
	out, errs := make([]File, len(p.files)), make([]error, len(p.files))
	onCores(len(p.files), size, func(i int) {
		f := p.files[i]
		if f.gone() {
			return
		}
		b, err := f.bytes()
		if err == nil && f.problem == nil && f.dirty() && IsYAML(b) {
			err = f.readable(b.Data, p.limits.withDefaults())
		}
		out[i], errs[i] = b, err
	})
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(out, func(f File) bool { return f.Path == "" }), nil
}

// readable refuses what Parse would refuse of a text that its resources gave.
func (f *file) readable(text []byte, l Limits) error {
	_, err := l.text(text)
	if err == nil && len(f.docs)+len(f.parsed.docs) > l.Documents {
		err = l.documents(len(cut(text)))
	}
	if err != nil {
		return fmt.Errorf("writing %q: %w", f.Path, err)
	}
	return nil
}

// Text is the resource's present text, without a leading separator line.
func (r *Resource) Text() ([]byte, error) {
	b, _, err := r.encode(lineBreak(r.data()))
	if err != nil {
		return nil, err
	}
	return trimSeparator(bytes.TrimPrefix(b, []byte(bom))), nil
}

// String is Text, or the error in its place.
func (r *Resource) String() string {
	b, err := r.Text()
	if err != nil {
		return "# " + err.Error() + "\n"
	}
	return string(b)
}

// data is the file's bytes that the resource was parsed from.
func (r *Resource) data() []byte {
	if r.from == nil {
		return nil
	}
	return r.from.Data
}

// bytes makes the file's present bytes.
func (f *file) bytes() (File, error) {
	if !f.given && !f.dirty() {
		return f.File, nil
	}
	w := fileWriter{nl: lineBreak(f.Data), bom: bytes.HasPrefix(f.Data, []byte(bom))}
	if f.problem != nil || len(f.parsed.docs) == 0 { // opaque text, or none
		w.out = append(w.out, f.Data...)
		w.any = len(f.Data) > 0
	}
	if err := w.originals(f); err != nil {
		return File{}, err
	}
	if err := w.additions(f); err != nil {
		return File{}, err
	}
	out := f.File
	out.Data = w.out
	return out, nil
}

// fileWriter joins the documents of a file.
type fileWriter struct {
	nl   string
	bom  bool
	out  []byte
	any  bool // a document or other text was written
	last *Resource
}

// originals writes the documents that the file was parsed with.
func (w *fileWriter) originals(f *file) error {
	byDoc := make(map[*document]*Resource, len(f.docs))
	for _, r := range f.docs {
		if r.from == f.parsed {
			byDoc[r.doc] = r
		}
	}
	for i := range f.parsed.docs {
		d := &f.parsed.docs[i]
		text := f.Data[d.start:d.end]
		r := byDoc[d]
		if d.meta.kind != "" {
			if r == nil || r.deleted {
				continue
			}
			var err error
			if text, _, err = r.encode(w.nl); err != nil {
				return err
			}
		}
		w.original(f, i, text)
		w.last = r
	}
	return nil
}

func (w *fileWriter) original(f *file, i int, text []byte) {
	if len(w.out) == 0 && i > 0 {
		if w.bom {
			w.out = append(w.out, bom...)
		}
		if !bytes.HasPrefix(bytes.TrimPrefix(f.Data, []byte(bom)), []byte("---")) {
			text = trimSeparator(text)
		}
	}
	w.out = append(w.out, text...)
	w.any = true
}

// additions writes the documents that were added or came from other files.
func (w *fileWriter) additions(f *file) error {
	for _, r := range f.docs {
		if r.from == f.parsed && r.doc != nil || r.deleted {
			continue
		}
		text, err := r.Text()
		if err != nil {
			return err
		}
		if nl := lineBreak(text); nl != w.nl {
			text = bytes.ReplaceAll(text, []byte(nl), []byte(w.nl))
		}
		if err := w.separate(); err != nil {
			return err
		}
		w.out = append(w.out, text...)
		w.any, w.last = true, r
	}
	return nil
}

// separate ends the text so far, so that another document can follow.
func (w *fileWriter) separate() error {
	if !w.any {
		return nil
	}
	if n := len(w.out); n > 0 && w.out[n-1] != '\n' {
		start := 0
		if chunks := cut(w.out); len(chunks) > 0 {
			start = chunks[len(chunks)-1].start
		}
		w.out = append(w.out[:start:start], closeText(w.out[start:], w.nl)...)
	}
	if chunks := cut(w.out); len(chunks) > 0 {
		last := w.out[chunks[len(chunks)-1].start:]
		if bytes.HasPrefix(last, []byte("---")) && trivialText(last) && !bytes.Contains(last, []byte("\n...")) {
			return nil // an empty document is open
		}
	}
	w.out = append(w.out, "---"+w.nl...)
	return nil
}

// closeText ends a document's text with a line break, the value of an open
// literal kept.
func closeText(text []byte, nl string) []byte {
	root, _, err := decode(text)
	if err == nil && root != nil && yamltree.Deref(root) != nil {
		s := &splicer{source: newSource(text, nl), dashed: map[*yaml.Node][]int{}}
		s.closeBlock(yamltree.Deref(root), len(text))
		if out, ok := s.apply(); ok && s.source.err == nil {
			text = out
		}
	}
	return append(text[:len(text):len(text)], nl...)
}

// trimSeparator takes a leading separator line without anything else away.
func trimSeparator(text []byte) []byte {
	end, next := lineEnd(text, 0)
	if isMarker(text[:end], "---") && len(bytes.Trim(text[3:end], " \t")) == 0 {
		return text[next:]
	}
	return text
}

// encode returns the resource's text and whether it keeps the text it was
// parsed from wherever the trees agree.
func (r *Resource) encode(nl string) (text []byte, kept bool, err error) {
	if r.node == nil && r.put != nil && !isJSON(r.path) {
		return r.put.encode(nl, func() ([]byte, bool, error) { return r.write(nl) })
	}
	return r.write(nl)
}

func (r *Resource) write(nl string) (text []byte, kept bool, err error) {
	tree := r.edited()
	if tree != nil {
		var l Limits
		if r.pkg != nil {
			l = r.pkg.limits
		}
		if _, err := l.withDefaults().check(tree); err != nil {
			return nil, false, r.wrap(err)
		}
	}
	switch {
	case r.doc != nil && tree == nil && !(r.moved() && isJSON(r.path)):
		return r.text(), true, nil
	case r.json():
		return r.encodeJSON(nl)
	case r.doc == nil:
		text, _, err = encodeNew(r.plainTree(), nl)
		return text, true, r.wrap(err)
	}
	if r.exact { // what is remembered has the comments
		return r.encodeEdited(tree, nl)
	}
	return r.doc.memo.write(tree, nl, r.node == nil, func() ([]byte, bool, error) { return r.encodeEdited(tree, nl) })
}

// encodeEdited splices an edited tree into the text that it was parsed from.
func (r *Resource) encodeEdited(tree *yaml.Node, nl string) (text []byte, kept bool, err error) {
	after := settle(tree)
	if out, ok := r.spliced(nl, after); ok {
		return out, true, nil
	}
	out, err := encodeOver(r.text(), nl, r.doc.root, after)
	return out, false, r.wrap(err)
}

// spliced is the resource's own text with what differs put in, where that
// reads back as the tree.
func (r *Resource) spliced(nl string, after *yaml.Node) ([]byte, bool) {
	text := r.text()
	out, proved, ok := splice(text, nl, r.doc.root, after, r.exact)
	if !ok {
		return nil, false
	}
	if bytes.Equal(out, text) && yamltree.SameValue(r.doc.root, after) {
		return text, true
	}
	if proved || meansIn(r.path, out, after) {
		return out, true
	}
	out = append(out, nl...)
	return out, meansIn(r.path, out, after)
}

func (r *Resource) wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("writing %s of %q: %w", r.ID(), r.path, err)
}

// plainTree is the tree of a resource without text, without the annotations
// that say where it is.
func (r *Resource) plainTree() *yaml.Node {
	n := r.Node().Document()
	if r.given == nil {
		return n
	}
	return withoutPlace(n)
}

// means reports whether a text stands for a tree.
func means(text []byte, tree *yaml.Node) (same bool) {
	if yamltree.Simply(text, func(root *yaml.Node) { same = yamltree.SameValue(root, tree) }) {
		return same
	}
	root, _, err := library(text)
	return err == nil && root != nil && yamltree.SameValue(root, tree)
}

// settle returns the tree with every alias whose anchor is not before it in
// the tree replaced by what it stands for. It copies only where it has to.
func settle(tree *yaml.Node) *yaml.Node {
	if !yamltree.HasAlias(tree) {
		return tree
	}
	tree = yamltree.Copy(tree)
	inline(tree, map[string]*yaml.Node{}, 0)
	return tree
}

func inline(n *yaml.Node, anchors map[string]*yaml.Node, depth int) {
	if n == nil || depth > maxTree {
		return
	}
	if n.Kind == yaml.AliasNode {
		if anchors[n.Value] == n.Alias || n.Alias == nil {
			return
		}
		to := yamltree.Copy(yamltree.Deref(n))
		to.HeadComment, to.LineComment, to.FootComment = n.HeadComment, n.LineComment, n.FootComment
		dropAnchors(to)
		*n = *to
	}
	for _, c := range n.Content {
		inline(c, anchors, depth+1)
	}
	if n.Anchor != "" {
		anchors[n.Anchor] = n
	}
}

func dropAnchors(n *yaml.Node) {
	if n == nil {
		return
	}
	n.Anchor = ""
	for _, c := range n.Content {
		dropAnchors(c)
	}
}

// encodeNew writes a tree that has no text yet, and says whether this package's emitter did.
func encodeNew(tree *yaml.Node, nl string) (text []byte, own bool, err error) {
	return encodeTree(settle(tree), layoutStyle{indent: 2, nl: nl})
}

// encodeOver writes a whole document in the style of the text it replaces;
// its separator line, a byte order mark and a missing line break stay.
func encodeOver(text []byte, nl string, before, after *yaml.Node) ([]byte, error) {
	out, _, err := encodeTree(after, styleOf(before, nl))
	if err != nil {
		return nil, err
	}
	head := 0
	for pos := 0; pos < len(text); {
		end, next := lineEnd(text, pos)
		line := bytes.TrimPrefix(text[pos:end], []byte(bom))
		if isMarker(line, "---") {
			head = next
			break
		}
		if !isTrivial(line) && line[0] != '%' {
			break
		}
		pos = next
	}
	if head == 0 && bytes.HasPrefix(text, []byte(bom)) {
		head = len(bom)
	}
	joined := append(text[:head:head], out...)
	if short := bytes.TrimSuffix(joined, []byte(nl)); !bytes.HasSuffix(text, []byte("\n")) && means(short, after) {
		return short, nil
	}
	if means(joined, after) {
		return joined, nil
	}
	return append([]byte("---"+nl), out...), nil
}

// encodeTree writes a tree with this package's emitter, and with the YAML
// library's where that fails, and proves that the text means the tree.
func encodeTree(tree *yaml.Node, st layoutStyle) (text []byte, own bool, err error) {
	b := yamltree.Deref(tree)
	if b == nil {
		return nil, false, errors.New("the tree is empty")
	}
	if out := emitTree(tree, b, st); out != nil && means(out, tree) {
		return out, true, nil
	}
	out, err := libraryEncode(tree, st)
	if err != nil {
		return nil, false, err
	}
	if !means(out, tree) {
		return nil, false, errors.New("the tree cannot be written as YAML: it reads back as something else")
	}
	return out, false, nil
}

func emitTree(tree, b *yaml.Node, st layoutStyle) []byte {
	e := &emitter{layoutStyle: st}
	var w strings.Builder
	if tree != b && tree.HeadComment != "" {
		e.above(&w, tree.HeadComment, 0)
		w.WriteString(st.nl)
	}
	if block(b) && b.Anchor == "" && yamltree.CustomTag(b) == "" {
		e.above(&w, b.HeadComment, 0)
		e.collection(&w, b, 0)
		e.below(&w, b.FootComment, 0)
	} else {
		w.WriteString(e.flow(b))
	}
	if tree != b && tree.FootComment != "" {
		w.WriteString(st.nl)
		e.below(&w, tree.FootComment, 0)
	}
	if e.err != nil {
		return nil
	}
	w.WriteString(st.nl)
	return []byte(w.String())
}

// libraryEncode writes a tree with the YAML library, which panics on trees
// that make no sense.
func libraryEncode(tree *yaml.Node, st layoutStyle) (out []byte, err error) {
	defer func() {
		if r := recover(); r != nil {
			out, err = nil, fmt.Errorf("the tree cannot be written as YAML: %v", r)
		}
	}()
	if deep(tree, 0) {
		return nil, errDeep
	}
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(st.indent)
	if st.dash > 0 {
		enc.DefaultSeqIndent()
	}
	if err := enc.Encode(quoteTree(yamltree.Portable(yamltree.Copy(tree)))); err != nil {
		return nil, err
	}
	if err := enc.Close(); err != nil {
		return nil, err
	}
	out = b.Bytes()
	if st.nl != "\n" {
		out = bytes.ReplaceAll(out, []byte("\n"), []byte(st.nl))
	}
	return out, nil
}

// quoteTree quotes the strings that some readers take for something else.
func quoteTree(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.ScalarNode && n.Style&quoted == 0 && n.ShortTag() == yaml.NodeTagString && yamltree.Ambiguous(n.Value) && !yamltree.AsWritten(n) {
		n.Style |= yaml.DoubleQuotedStyle
	}
	for _, c := range n.Content {
		if c != nil {
			quoteTree(c)
		}
	}
	return n
}

// maxTree bounds the depth of trees that callers build; a deeper one is taken
// for a cycle.
const maxTree = 10_000

var errDeep = errors.New("the tree is nested too deeply, or contains itself")

// deep reports whether a tree is nested too deeply, or contains itself.
func deep(n *yaml.Node, depth int) bool {
	if n == nil {
		return false
	}
	if depth > maxTree/10 {
		return true
	}
	for _, c := range n.Content {
		if deep(c, depth+1) {
			return true
		}
	}
	return false
}
