package dialect

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/api"
	"github.com/variform/variform/resolver"
)

// Bounds on what is read, so that aliases and depth cannot exhaust anything.
const (
	maxBytes = 16 << 20
	maxNodes = 500_000
	maxDepth = 100
)

// ErrNoDocument is that a file holds no document of the system.
var ErrNoDocument = errors.New("there is no document of this system in it")

// Reader collects what reading one file finds.
type Reader struct {
	Documents
	errs   api.Issues
	budget int
}

// Read parses the YAML or JSON documents of a file and hands each to read,
// which says whether it knew it. The error lists all that could not be read,
// with lines; it is [ErrNoDocument] where read knew none.
func Read(data []byte, read func(r *Reader, root Node) bool) (*Documents, error) {
	r := &Reader{budget: maxNodes}
	if len(data) > maxBytes {
		return nil, fmt.Errorf("the file has %d bytes; at most %d are read", len(data), maxBytes)
	}
	docs, err := r.parse(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")))
	if err != nil {
		return nil, err
	}
	known := false
	for _, d := range docs {
		if root := (Node{r: r, n: d, line: d.Line}).follow(); root.IsMap() {
			known = read(r, root) || known
		}
	}
	switch {
	case len(r.errs) > 0:
		return nil, r.errs
	case !known:
		return nil, ErrNoDocument
	}
	return &r.Documents, nil
}

// parse splits a file into its documents. A file that begins with a brace is
// JSON, which may have tabs and, warned of, closing brackets too many.
func (r *Reader) parse(data []byte) ([]*yaml.Node, error) {
	isJSON := bytes.HasPrefix(bytes.TrimSpace(data), []byte("{"))
	if isJSON {
		data = bytes.ReplaceAll(data, []byte("\t"), []byte(" "))
	}
	docs, err := decode(data)
	if err == nil || !isJSON {
		return docs, err
	}
	repaired, lines := withoutSurplus(data)
	again, repairErr := decode(repaired)
	if len(lines) == 0 || repairErr != nil {
		return nil, err
	}
	for _, l := range lines {
		r.Warnings = append(r.Warnings, api.Issue{
			Line: l, Message: "a closing bracket too many is passed over: nothing that is open stands at its indentation", Hint: "remove it",
		})
	}
	return again, nil
}

func decode(data []byte) (docs []*yaml.Node, err error) {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var n yaml.Node
		err := dec.Decode(&n)
		if errors.Is(err, io.EOF) {
			return docs, nil
		}
		if err != nil {
			return nil, fmt.Errorf("the file is not valid YAML or JSON: %w", err)
		}
		if n.Kind == yaml.DocumentNode && len(n.Content) == 1 {
			docs = append(docs, n.Content[0])
		}
	}
}

// withoutSurplus blanks the lines that close what does not stand at their
// indentation, and lists them.
func withoutSurplus(data []byte) (out []byte, lines []int) {
	var open []int // the indentation of the line that opened each bracket
	all := bytes.SplitAfter(data, []byte("\n"))
	for n, line := range all {
		text := bytes.TrimLeft(line, " ")
		indent := len(line) - len(text)
		if len(text) > 0 && strings.IndexByte("}]", text[0]) >= 0 && (len(open) == 0 || open[len(open)-1] != indent) {
			lines, all[n] = append(lines, n+1), []byte("\n")
			continue
		}
		inString := false
		for i := 0; i < len(text); i++ {
			switch c := text[i]; {
			case c == '\\' && inString:
				i++
			case c == '"':
				inString = !inString
			case inString:
			case c == '{' || c == '[':
				open = append(open, indent)
			case (c == '}' || c == ']') && len(open) > 0:
				open = open[:len(open)-1]
			}
		}
	}
	return bytes.Join(all, nil), lines
}

// Reference splits "registry/name:tag@digest"; what is not there is empty.
func Reference(text string) (name, tag, digest string) {
	text, digest, _ = strings.Cut(text, "@")
	if n := strings.LastIndex(text, ":"); n >= 0 && !strings.Contains(text[n:], "/") {
		return text[:n], text[n+1:], digest
	}
	return text, "", digest
}

// Version reads "registry/name:tag@digest" where a package at a version is meant. The digest is the version where there is one, and
// the tag beside it means nothing; a tag that is no version is left out with a warning.
func Version(n Node) (name, version string) {
	name, tag, digest := Reference(n.Text())
	switch {
	case digest != "":
		checkDigest(n, digest)
		return name, digest
	case tag != "" && !resolver.IsVersion(tag):
		n.Warn("the tag "+tag+" is no version: any version is taken", "name a tag such as v1.2.3, or a range of versions")
		tag = ""
	}
	return name, tag
}

func checkDigest(n Node, digest string) {
	if api.DigestOf(digest) == "" {
		n.Error(fmt.Sprintf("%s: %q is no digest", n.path, digest), "write the algorithm and the hash, such as sha256: and 64 digits")
	}
}

// UniqueAliases numbers the aliases that would be there twice, for systems whose dependencies have no names.
func UniqueAliases(reqs []resolver.Requirement) []resolver.Requirement {
	seen := map[string]int{}
	for i := range reqs {
		a := reqs[i].Alias
		if seen[a]++; seen[a] > 1 {
			reqs[i].Alias = fmt.Sprintf("%s-%d", a, seen[a])
		}
	}
	return reqs
}
