package fnmain

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"
	"unicode/utf8"

	"sigs.k8s.io/kustomize/kyaml/kio"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/yamltree"
)

// The bounds of one ResourceList (docs/design/trust.md#one-boundary). All but
// the depth and the aliases are checked on the text, before any of it is
// parsed.
const (
	MaxBytes     = 64 << 20            // of the list
	MaxItems     = 50_000              // in the list
	MaxItemBytes = krm.DefaultFileSize // of one item
	// MaxValues bounds the values and keys of the list by the characters that
	// can part them (see values): some 400 bytes of memory each at most.
	MaxValues   = 2_500_000
	maxPathText = 4096 // bytes of an item's path

	// MaxTime bounds the function itself. It ends before kpt would kill it, so
	// that there is a list with a result.
	MaxTime = 4 * time.Minute
)

// read takes the list from stdin, with the functionConfig of a file in place
// of the list's own where one is named.
func read(s Streams, configFile string) (*list, error) {
	var in bytes.Buffer
	if _, err := in.ReadFrom(io.LimitReader(s.In, MaxBytes+1)); err != nil {
		return nil, fmt.Errorf("reading the ResourceList from stdin: %w", err)
	}
	l, err := parseList(in.Bytes())
	if err != nil {
		return nil, fmt.Errorf("the ResourceList on stdin: %w", err)
	}
	if configFile != "" {
		if l.config, err = readConfig(s, configFile); err != nil {
			return nil, err
		}
		l.configText = nil
	}
	return l, l.check()
}

// parseList reads a list within the bounds: item by item where the text can be
// cut at its items, so that those keep their bytes, and else as one document.
func parseList(in []byte) (*list, error) {
	switch {
	case len(in) > MaxBytes:
		return nil, fmt.Errorf("it has more than %d bytes (MaxBytes); %s", MaxBytes, fewer)
	case len(bytes.TrimSpace(in)) == 0:
		return nil, errors.New("it is empty; give one with \"items: []\" where there are no items, as kpt fn source does")
	}
	if err := checkText(in); err != nil {
		return nil, err
	}
	c, ok := cut(in)
	if len(c.items) > MaxItems {
		return nil, fmt.Errorf("it has more than %d items (MaxItems); %s", MaxItems, fewer)
	}
	if err := c.sizes(in); err != nil {
		return nil, err
	}
	if ok {
		if l := c.parse(in); l != nil {
			return l, nil
		}
	}
	return parseWhole(in)
}

// checkText refuses what is no text, and text that may cost too much to parse.
func checkText(in []byte) error {
	if !utf8.Valid(in) {
		return fmt.Errorf("line %d: it is not UTF-8 text", lineOf(in, invalidAt(in)))
	}
	if i := bytes.IndexByte(in, 0); i >= 0 {
		return fmt.Errorf("line %d: it has a NUL byte, so it is no YAML text", lineOf(in, i))
	}
	if values(in) > MaxValues {
		return fmt.Errorf("it may hold more than %d values (MaxValues); %s", MaxValues, fewer)
	}
	return nil
}

const fewer = "give the function fewer items, with selectors or one package at a time"

func lineOf(in []byte, offset int) int { return 1 + bytes.Count(in[:offset], []byte("\n")) }

func invalidAt(in []byte) int {
	for i := 0; i < len(in); {
		r, size := utf8.DecodeRune(in[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return len(in)
}

// values counts the characters that can begin a value or a comment: no YAML has
// more nodes than three for each of them. Those in strings count as well.
func values(in []byte) int {
	n := 0
	for _, c := range []string{",", ":", "-", "[", "{", "?", "#"} {
		n += bytes.Count(in, []byte(c))
	}
	return n
}

// parseWhole reads a list in any style as one document; its items lose their
// bytes.
func parseWhole(in []byte) (*list, error) {
	root, err := decode(in)
	if err != nil {
		return nil, err
	}
	l := &list{}
	items, err := l.head(root)
	if err != nil {
		return nil, err
	}
	if len(items.Content) > MaxItems {
		return nil, fmt.Errorf("it has %d items, more than %d (MaxItems); %s", len(items.Content), MaxItems, fewer)
	}
	for _, n := range items.Content {
		l.items = append(l.items, item{node: yaml.NewRNode(n)})
	}
	return l, nil
}

// head reads what a list has beside its items, and returns those.
func (l *list) head(root *yaml.Node) (items *yaml.Node, err error) {
	if root == nil || root.Kind != yaml.MappingNode {
		return nil, errors.New("it is no mapping; a ResourceList has apiVersion, kind and items")
	}
	if err := once(root); err != nil {
		return nil, err
	}
	if kind := yamltree.Text(root, "kind"); kind != kio.ResourceListKind {
		return nil, fmt.Errorf("its kind is %q and must be %s", kind, kio.ResourceListKind)
	}
	switch items = yamltree.Child(root, "items"); {
	case yamltree.IsNull(items):
		return nil, errors.New("items is missing or null; it must be a list, [] where there are none")
	case items.Kind != yaml.SequenceNode:
		return nil, errors.New("items must be a list")
	}
	switch config := yamltree.Child(root, "functionConfig"); {
	case yamltree.IsNull(config):
	case config.Kind != yaml.MappingNode:
		return nil, errors.New("functionConfig must be a mapping")
	default:
		l.config = yaml.NewRNode(config)
	}
	results := yamltree.Child(root, "results")
	if results != nil && results.Kind == yaml.MappingNode { // an older form
		results = yamltree.Child(results, "items")
	}
	if yamltree.IsNull(results) {
		return items, nil
	}
	if err := yamltree.Check(results); err != nil {
		return nil, fmt.Errorf("results: %w", err)
	}
	if err := results.Decode(&l.results); err != nil {
		return nil, fmt.Errorf("results: %w", err)
	}
	return items, nil
}

// once refuses a key that stands twice: which of them counts is anybody's guess.
func once(root *yaml.Node) error {
	if k := yamltree.Repeated(root); k != nil {
		return fmt.Errorf("line %d: the key %q stands twice", k.Line, k.Value)
	}
	return nil
}

// decode parses text that holds one document, and perhaps empty ones behind it, as JSON
// where it is that. The parser panics on some malformed input; that is an error like any
// other.
func decode(text []byte) (root *yaml.Node, err error) {
	defer func() {
		if r := recover(); r != nil {
			root, err = nil, fmt.Errorf("the YAML parser gave up: %v", r)
		}
	}()
	if root, ok := yamltree.JSON(text); ok {
		return root.Content[0], nil
	}
	d := yaml.NewDecoder(bytes.NewReader(text))
	var document, more yaml.Node
	if err := d.Decode(&document); errors.Is(err, io.EOF) {
		return nil, nil //nolint:nilnil // nil is an empty document
	} else if err != nil {
		return nil, fmt.Errorf("it is not valid YAML: %w", err)
	}
	for {
		err := d.Decode(&more)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("it is not valid YAML: %w", err)
		}
		if len(more.Content) > 0 && !yamltree.IsNull(more.Content[0]) {
			return nil, fmt.Errorf("line %d: a second document starts; there must be one", more.Line)
		}
	}
	if len(document.Content) == 0 {
		return nil, nil //nolint:nilnil // as above
	}
	return document.Content[0], nil
}

// check refuses items that are no objects or whose YAML aliases make them
// endless, all of them named.
func (l *list) check() error {
	var errs []error
	for i := range l.items {
		if err := checkItem(l.items[i].node); err != nil {
			errs = append(errs, fmt.Errorf("the ResourceList on stdin: items[%d]: %w", i, err))
		}
	}
	if l.config != nil {
		if err := yamltree.Check(l.config.YNode()); err != nil {
			errs = append(errs, fmt.Errorf("functionConfig: %w", err))
		}
	}
	return errors.Join(errs...)
}

func checkItem(n *yaml.RNode) error {
	if n.YNode().Kind != yaml.MappingNode {
		return errors.New("it is no object")
	}
	if err := yamltree.Check(n.YNode()); err != nil {
		return err
	}
	if p := annotation(n, pathAnnotations...); len(p) > maxPathText {
		return fmt.Errorf("its path has %d bytes, more than %d", len(p), maxPathText)
	}
	if dir := annotation(n, packagePath); len(dir) > maxPathText {
		return fmt.Errorf("its package path has %d bytes, more than %d", len(dir), maxPathText)
	}
	return nil
}

func readConfig(s Streams, file string) (*yaml.RNode, error) {
	data, err := s.ReadFile(file)
	if err == nil && len(data) > MaxItemBytes {
		err = fmt.Errorf("%s has %d bytes, more than %d (MaxItemBytes)", file, len(data), MaxItemBytes)
	}
	if err == nil {
		err = checkText(data)
	}
	if err != nil {
		return nil, fmt.Errorf("reading functionConfig: %w", err)
	}
	root, err := decode(data)
	if err == nil && (root == nil || root.Kind != yaml.MappingNode) {
		err = errors.New("it holds no object")
	}
	if err != nil {
		return nil, fmt.Errorf("reading functionConfig %q: %w", file, err)
	}
	return yaml.NewRNode(root), nil
}
