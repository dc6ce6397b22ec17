package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"sort"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/yamltree"
)

// Encode writes an object of this package's kinds as YAML. The same object
// gives the same bytes: fields stand in the order of their types, which is the
// examples in Porch's PackageVariant design, metadata begins with namespace and
// name, map keys are sorted, and what is empty (status and creationTimestamp
// with it) is left out.
func Encode(obj any) ([]byte, error) {
	n, err := ToNode(obj)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	enc.CompactSeqIndent()
	if err := enc.Encode(n.YNode()); err != nil {
		return nil, fmt.Errorf("encoding %T: %w", obj, err)
	}
	if err := enc.Close(); err != nil {
		return nil, fmt.Errorf("encoding %T: %w", obj, err)
	}
	return b.Bytes(), nil
}

// ToNode is Encode for callers that work with trees.
func ToNode(obj any) (*yaml.RNode, error) {
	v := reflect.ValueOf(obj)
	for v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct {
		return nil, fmt.Errorf("encoding %T: not a struct", obj)
	}
	n, err := encodeValue(v)
	if err != nil {
		return nil, fmt.Errorf("encoding %T: %w", obj, err)
	}
	return yaml.NewRNode(n), nil
}

var jsonMarshalerType = reflect.TypeOf((*json.Marshaler)(nil)).Elem()

func encodeValue(v reflect.Value) (*yaml.Node, error) {
	if r, ok := v.Interface().(*yaml.RNode); ok {
		return r.Copy().YNode(), nil
	}
	if v.Kind() == reflect.Pointer {
		return encodeValue(v.Elem())
	}
	if v.Type().Implements(jsonMarshalerType) || reflect.PointerTo(v.Type()).Implements(jsonMarshalerType) {
		return encodeJSON(v)
	}
	switch v.Kind() {
	case reflect.Struct:
		n := &yaml.Node{Kind: yaml.MappingNode, Tag: yaml.NodeTagMap}
		return n, encodeStruct(n, v)
	case reflect.Map:
		return encodeMap(v)
	case reflect.Slice:
		n := &yaml.Node{Kind: yaml.SequenceNode, Tag: yaml.NodeTagSeq}
		for i := range v.Len() {
			c, err := encodeValue(v.Index(i))
			if err != nil {
				return nil, err
			}
			n.Content = append(n.Content, c)
		}
		return n, nil
	case reflect.String:
		return stringNode(v.String()), nil
	case reflect.Bool:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: yaml.NodeTagBool, Value: strconv.FormatBool(v.Bool())}, nil
	case reflect.Int, reflect.Int32, reflect.Int64:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: yaml.NodeTagInt, Value: strconv.FormatInt(v.Int(), 10)}, nil
	}
	return encodeJSON(v)
}

// encodeJSON goes through the type's own JSON form.
func encodeJSON(v reflect.Value) (*yaml.Node, error) {
	data, err := json.Marshal(v.Interface())
	if err != nil {
		return nil, err
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return nil, err
	}
	n := yamltree.Deref(&doc)
	blockStyle(n)
	return n, nil
}

func blockStyle(n *yaml.Node) {
	if n.Kind == yaml.ScalarNode && n.ShortTag() == yaml.NodeTagString {
		*n = *stringNode(n.Value)
		return
	}
	n.Style = 0
	for _, c := range n.Content {
		blockStyle(c)
	}
}

// stringNode quotes what any YAML version could read as something else.
func stringNode(s string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: yaml.NodeTagString, Value: s}
	if !isWord(s) && yaml.IsYaml1_1NonString(n) {
		n.Style = yaml.DoubleQuotedStyle
	}
	if strings.Contains(s, "\n") {
		n.Style = yaml.LiteralStyle
	}
	return n
}

// isWord tells of most strings, without a parser, that every YAML version reads them as strings: they begin with a
// letter, are longer than any word that stands for something else ("false"), and hold no mark that YAML knows.
func isWord(s string) bool {
	const longest = 5
	if len(s) <= longest || s[len(s)-1] == ':' {
		return false
	}
	for i := range len(s) {
		letter := s[i]|0x20 >= 'a' && s[i]|0x20 <= 'z'
		if !letter && (i == 0 || !strings.ContainsRune("0123456789.-_/@+:", rune(s[i]))) {
			return false
		}
	}
	return true
}

func encodeMap(v reflect.Value) (*yaml.Node, error) {
	keys := v.MapKeys()
	sort.Slice(keys, func(i, j int) bool { return keys[i].String() < keys[j].String() })
	n := &yaml.Node{Kind: yaml.MappingNode, Tag: yaml.NodeTagMap}
	for _, k := range keys {
		c, err := encodeValue(v.MapIndex(k))
		if err != nil {
			return nil, err
		}
		n.Content = append(n.Content, stringNode(k.String()), c)
	}
	return n, nil
}

func encodeStruct(n *yaml.Node, v reflect.Value) error {
	t := v.Type()
	if tm, ok := v.Interface().(metav1.TypeMeta); ok {
		n.Content = append(n.Content, stringNode("apiVersion"), stringNode(tm.APIVersion), stringNode("kind"), stringNode(tm.Kind))
		return nil
	}
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.IsExported() {
			continue
		}
		name, opts, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && (name == "" || strings.Contains(opts, "inline")) {
			if err := encodeStruct(n, v.Field(i)); err != nil {
				return err
			}
			continue
		}
		if name == "-" || isEmpty(v.Field(i)) {
			continue
		}
		c, err := encodeValue(v.Field(i))
		if err != nil {
			return fmt.Errorf("field %s: %w", name, err)
		}
		if f.Type == reflect.TypeOf(metav1.ObjectMeta{}) {
			namespaceFirst(c)
		}
		n.Content = append(n.Content, stringNode(name), c)
	}
	return nil
}

// isEmpty is what a reader gets back from nothing. An empty list or selector
// behind a pointer is not: it may mean "all".
func isEmpty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Map, reflect.Slice:
		return v.Len() == 0
	}
	return v.IsZero()
}

func namespaceFirst(meta *yaml.Node) {
	if i := yamltree.Index(meta, "namespace"); i >= 0 {
		pair := []*yaml.Node{meta.Content[i], meta.Content[i+1]}
		rest := append(meta.Content[:i:i], meta.Content[i+2:]...)
		meta.Content = append(pair, rest...)
	}
}
