package krm

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"sort"
	"strconv"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/lazyregexp"
	"github.com/variform/variform/internal/yamltree"
)

// Parse reads files into a package. It fails only where two files have one
// path or a path is not clean, naming all of them; YAML that does not parse
// becomes a Problem. Read as YAML are Kptfile, *.yaml and *.yml, and *.json that
// has an apiVersion somewhere and is not valid JSON; where it is, it is read as JSON.
func Parse(files []File, opts ...Option) (*Package, error) {
	p := &Package{limits: Limits{}.withDefaults()}
	for _, o := range opts {
		o(p)
	}
	var errs []error
	size, named := 0, make([]File, 0, len(files))
	for _, f := range files {
		if err := checkPath(f.Path); err != nil {
			errs = append(errs, err)
			continue
		}
		size, named = size+len(f.Data), append(named, f)
	}
	sources := make([]*parsed, len(named))
	onCores(len(named), size, func(i int) { sources[i] = p.parseFile(named[i]) })
	p.files = p.open(sources...)
	sort.SliceStable(p.files, func(i, j int) bool { return p.files[i].Path < p.files[j].Path })
	for i := 1; i < len(p.files); i++ {
		if p.files[i].Path == p.files[i-1].Path {
			errs = append(errs, fmt.Errorf("two files have the path %q", p.files[i].Path))
		}
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return p, nil
}

func checkPath(name string) error {
	if name == "" || name == "." || name == ".." || path.Clean(name) != name || strings.HasPrefix(name, "../") || name[0] == '/' {
		return fmt.Errorf("file path %q is not a clean relative path", name)
	}
	return nil
}

// open makes this package's files of parsed ones, and its resources.
func (p *Package) open(sources ...*parsed) []*file {
	n := 0
	for _, src := range sources {
		n += src.krm
	}
	files, resources, handles := make([]file, len(sources)), make([]Resource, n), make([]*Resource, n)
	out := make([]*file, len(sources))
	for i, src := range sources {
		files[i] = file{parsed: src}
		out[i] = &files[i]
		if src.krm == 0 {
			continue
		}
		// The capacity ends with the file: an added resource must not reach the next file's.
		own := handles[:0:src.krm]
		for d := range src.docs {
			if doc := &src.docs[d]; doc.meta.kind != "" {
				resources[0] = Resource{pkg: p, path: src.Path, index: doc.index, from: src, doc: doc}
				own, resources = append(own, &resources[0]), resources[1:]
			}
		}
		files[i].docs, handles = own, handles[src.krm:]
	}
	return out
}

// gitCrypt begins each file that git-crypt has encrypted.
var gitCrypt = []byte("\x00GITCRYPT\x00")

// IsYAML reports whether a file is read as YAML: by its name, unless it is a link or
// git-crypt has encrypted it.
func IsYAML(f File) bool {
	base := path.Base(f.Path)
	return f.Mode != Symlink && !bytes.HasPrefix(f.Data, gitCrypt) && (base == "Kptfile" || strings.HasSuffix(base, ".yaml") || strings.HasSuffix(base, ".yml") ||
		isJSON(base) && mayHoldJSON(f.Data))
}

// parseFile reads a file's documents, with the help of those that are mostly alike. A
// file with a problem has none.
func (p *Package) parseFile(f File, like ...known) *parsed {
	src := &parsed{File: f}
	if !IsYAML(f) {
		return src
	}
	src.content = p.cache.parse(f.Path, f.Data, p.limits, like)
	src.Data = src.content.data
	if problem := src.content.problem; problem != nil {
		own := *problem
		own.Path = f.Path
		src.problem = &own
		return src
	}
	src.docs = src.content.docs
	for i := range src.docs {
		if src.docs[i].meta.kind != "" {
			src.krm++
		}
	}
	return src
}

// known returns the text of document i of a file and the tree that the parser makes of
// it, nil where there is none.
type known func(i int) (text []byte, root *yaml.Node)

// known returns a document, with its separator. A nil content has none.
func (c *content) known(i int) ([]byte, *yaml.Node) {
	if c == nil || i >= len(c.docs) {
		return nil, nil
	}
	d := &c.docs[i]
	return c.data[d.start:d.end], d.root
}

// parseDocs reads the documents of a file, with the help of those that are mostly alike.
func parseDocs(path string, data []byte, l Limits, like ...known) ([]document, *Problem) {
	if line, err := l.text(data); err != nil {
		return nil, &Problem{Line: line, Err: err}
	}
	if isJSON(path) {
		if root, ok := yamltree.JSON(data); ok {
			return documents([]chunk{{end: len(data)}}, l, func(int) (*yaml.Node, int, error) { return root, 0, nil })
		}
	}
	chunks := cut(data)
	return documents(chunks, l, func(i int) (*yaml.Node, int, error) { return decodeLike(like, i, data[chunks[i].start:chunks[i].end]) })
}

// documents reads the documents of a file that is cut into chunks.
func documents(chunks []chunk, l Limits, read func(i int) (root *yaml.Node, line int, err error)) ([]document, *Problem) {
	if err := l.documents(len(chunks)); err != nil {
		return nil, &Problem{Err: err}
	}
	docs := make([]document, len(chunks))
	index := 0
	for i, c := range chunks {
		root, line, err := read(i)
		if err == nil && root != nil {
			line, err = l.check(root)
		}
		if err != nil {
			return nil, &Problem{Line: c.line + max(line, 1), Err: err}
		}
		docs[i] = document{chunk: c, root: root, index: index}
		if b := yamltree.Deref(root); !yamltree.IsNull(b) {
			docs[i].meta, docs[i].memo = metaOf(b), &memo{}
			index++
		}
	}
	return docs, nil
}

// decodeLike parses document i of a file, or only what differs in it from a known one.
func decodeLike(like []known, i int, text []byte) (root *yaml.Node, line int, err error) {
	for _, k := range like {
		old, root := k(i)
		if root == nil {
			continue
		}
		if root, ok := patched(root, old, text); ok {
			return root, 0, nil
		}
	}
	return decode(text)
}

// metaOf reads what identifies a resource; the zero value where the document
// is none: it needs a mapping with the strings apiVersion and kind.
func metaOf(n *yaml.Node) meta {
	m := meta{apiVersion: text(n, "apiVersion"), kind: text(n, "kind")}
	if m.apiVersion == "" || m.kind == "" || n.Kind != yaml.MappingNode {
		return meta{}
	}
	md := yamltree.Child(n, "metadata")
	m.name, m.namespace = yamltree.Text(md, "name"), yamltree.Text(md, "namespace")
	m.annotations, m.labels = yamltree.Child(md, annotations), yamltree.Child(md, labels)
	return m
}

// text returns the value of a key that is a string, "" otherwise.
func text(n *yaml.Node, key string) string {
	v := yamltree.Child(n, key)
	if v == nil || v.Kind != yaml.ScalarNode || v.ShortTag() != yaml.NodeTagString {
		return ""
	}
	return v.Value
}

// decode parses one document, nil where the text has none.
func decode(data []byte) (root *yaml.Node, line int, err error) {
	if root, ok := yamltree.Simple(data); ok {
		return root, 0, nil
	}
	return library(data)
}

// library is decode by the YAML library alone. Its parser panics on some malformed
// input; that is an error like any other.
func library(data []byte) (root *yaml.Node, line int, err error) {
	defer func() {
		if r := recover(); r != nil {
			root, line, err = nil, 0, fmt.Errorf("the YAML parser gave up: %v", r)
		}
	}()
	d := yaml.NewDecoder(bytes.NewReader(data))
	var first, second yaml.Node
	switch err := d.Decode(&first); {
	case errors.Is(err, io.EOF):
		return nil, 0, nil
	case err != nil:
		line, err = parserError(data, err)
		return nil, line, err
	}
	switch err := d.Decode(&second); {
	case err == nil:
		return nil, second.Line, errors.New("a document starts where no separator --- stands")
	case !errors.Is(err, io.EOF):
		line, err = parserError(data, err)
		return nil, line, err
	}
	return &first, 0, nil
}

var (
	conflictMarker = lazyregexp.New(`(?m)^(?:<<<<<<<|=======|>>>>>>>)(?: |\r?$)`)
	unknownAnchor  = lazyregexp.New(`unknown anchor '(.*)' referenced`)
)

// parserError returns the parser's error about a text without its line, and that line,
// 0 where the parser names none.
func parserError(data []byte, err error) (int, error) {
	if m := conflictMarker.Regexp().FindIndex(data); m != nil {
		return 1 + bytes.Count(data[:m[0]], []byte{'\n'}), fmt.Errorf("it is not valid YAML: conflict marker %s", bytes.TrimSpace(data[m[0]:m[1]]))
	}
	if m := unknownAnchor.FindStringSubmatch(err.Error()); m != nil { // no line
		if i := bytes.Index(data, []byte("*"+m[1])); i >= 0 {
			return 1 + bytes.Count(data[:i], []byte{'\n'}), fmt.Errorf("it is not valid YAML: %s", m[0])
		}
	}
	line, err := splitError(err)
	return min(line, lines(data)), err
}

// lines is how many lines a text has; the parser may complain of the one behind.
func lines(data []byte) int { return bytes.Count(bytes.TrimRight(data, "\r\n"), []byte{'\n'}) + 1 }

// grammarError tells the grammar's errors from those of single tokens.
var grammarError = lazyregexp.New(`did not find expected (?:node content|key|'-' indicator|',' or '[]}]'|<.*>)`)

var errorLine = lazyregexp.New(`^yaml: (?:line (\d+): )?`)

// splitError takes the line number out of a parser's error.
func splitError(err error) (int, error) {
	msg := err.Error()
	m := errorLine.FindStringSubmatch(msg)
	if m == nil {
		return 0, err
	}
	line, convErr := strconv.Atoi(m[1])
	switch {
	case convErr != nil:
		line = 0
	case grammarError.MatchString(msg):
		line++ // the library counts these from 0
	}
	return line, fmt.Errorf("it is not valid YAML: %s", msg[len(m[0]):])
}
