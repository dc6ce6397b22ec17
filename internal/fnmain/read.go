package fnmain

import (
	"bytes"
	"fmt"
	"io"

	"github.com/kptdev/krm-functions-sdk/go/fn"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/mutate/tree"
)

// The bounds of one ResourceList. An item costs some 55 kB of memory once it is
// parsed, so a list at both bounds needs about 3 GB.
const (
	MaxBytes = 128 << 20
	MaxItems = 50_000
)

// read takes the list from stdin, with the functionConfig of a file in place
// of the list's own where one is named.
func read(s Streams, configFile string) (*list, error) {
	in, err := io.ReadAll(io.LimitReader(s.In, MaxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("reading the ResourceList from stdin: %w", err)
	}
	if len(in) > MaxBytes {
		return nil, fmt.Errorf("the ResourceList on stdin has more than %d bytes (MaxBytes); give the function fewer items, with selectors or one package at a time", MaxBytes)
	}
	if n := countItems(in); n > MaxItems {
		return nil, fmt.Errorf("the ResourceList on stdin has more than %d items (MaxItems); give the function fewer, with selectors or one package at a time", MaxItems)
	}
	rl, err := fn.ParseResourceList(in)
	if err != nil {
		return nil, fmt.Errorf("reading the ResourceList from stdin: %w", err)
	}
	if len(rl.Items) > MaxItems {
		return nil, fmt.Errorf("the ResourceList on stdin has %d items, more than %d (MaxItems)", len(rl.Items), MaxItems)
	}
	l := newList(rl)
	if configFile != "" {
		if l.config, err = readConfig(s, configFile); err != nil {
			return nil, err
		}
	}
	return l, l.check()
}

// check refuses items whose YAML aliases make them endless.
func (l *list) check() error {
	for i, n := range l.items {
		if err := tree.Check(n.YNode()); err != nil {
			return fmt.Errorf("item %d of the ResourceList: %w", i, err)
		}
	}
	if l.config == nil {
		return nil
	}
	if err := tree.Check(l.config.YNode()); err != nil {
		return fmt.Errorf("functionConfig: %w", err)
	}
	return nil
}

func readConfig(s Streams, file string) (*yaml.RNode, error) {
	data, err := s.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading functionConfig: %w", err)
	}
	objects, err := fn.ParseKubeObjects(data)
	if err != nil {
		return nil, fmt.Errorf("reading functionConfig %q: %w", file, err)
	}
	if len(objects) != 1 {
		return nil, fmt.Errorf("reading functionConfig %q: it holds %d documents and must hold one", file, len(objects))
	}
	return objects[0].MoveToResourceNode(), nil
}

// countItems counts the items of a list in block style without parsing it, and
// stops past MaxItems. Other styles count 0: MaxBytes bounds those.
func countItems(in []byte) int {
	n, inside, dash := 0, false, -1
	for len(in) > 0 && n <= MaxItems {
		line := in
		if i := bytes.IndexByte(in, '\n'); i >= 0 {
			line, in = in[:i], in[i+1:]
		} else {
			in = nil
		}
		text := bytes.TrimLeft(line, " ")
		indent := len(line) - len(text)
		switch {
		case len(text) == 0 || text[0] == '#':
		case bytes.HasPrefix(line, []byte("items:")):
			inside, dash = true, -1
		case inside && text[0] == '-' && (dash < 0 || indent == dash):
			dash = indent
			n++
		case inside && indent == 0 && text[0] != '-':
			inside = false
		}
	}
	return n
}
