// Package check finds what Kubernetes would refuse in the resources of a package, before
// anything is deployed (docs/reference.md#checks): unknown fields, wrong types, missing fields, values that
// are not allowed, names and labels, resources that are there twice, and versions that are
// not served.
//
//	r := check.Resources(pkg, check.Options{Kubernetes: "1.34"})
//	for _, f := range r.Findings { fmt.Println(f) }
//
// It knows Kubernetes' own kinds in eight minor versions, and the kinds of the
// CustomResourceDefinitions that it is given. It reads YAML as kubectl and the API server
// do. It does not report what the server accepts, so it skips what it cannot judge: files that are
// not deployed as they are, the status, and rules in CEL or in the server's code.
//
// The validators of kube-openapi and kubeconform are not used: they report no lines, and follow the
// published documents, which require fields that the server does not require.
package check

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/yamltree"
)

// The checks, by the names that people select them with.
const (
	UnknownField = "unknown-field" // the server's strict decoder knows no such field
	Type         = "type"          // a value of another type
	Required     = "required"      // a field that is missing
	Value        = "value"         // not one of an enum, or in a wrong format
	Label        = "label"         // a label or an annotation that is not a string, or a wrong label
	Name         = "name"          // a name that is no DNS label or subdomain
	Duplicate    = "duplicate"     // a resource that is in a package twice
	Version      = "version"       // a kind or version that Kubernetes does not serve
)

// Names lists the checks.
var Names = []string{Duplicate, Label, Name, Required, Type, UnknownField, Value, Version}

// Finding is one mistake.
type Finding struct {
	Check    string `json:"check"`
	Severity string `json:"severity"` // error, or warning
	File     string `json:"file"`
	Line     int    `json:"line,omitempty"` // 0 where it is not known
	Kind     string `json:"kind"`
	Name     string `json:"name,omitempty"`
	Field    string `json:"field,omitempty"`
	Message  string `json:"message"`
	Hint     string `json:"hint,omitempty"`

	Resource *krm.Resource `json:"-"`
}

// Text returns what is wrong and what to do, in one line.
func (f Finding) Text() string {
	if f.Hint == "" {
		return f.Message
	}
	return f.Message + "; " + f.Hint
}

// String returns the finding in one line, without its place.
func (f Finding) String() string { return strings.TrimSpace(f.Kind+" "+f.Name) + ": " + f.Text() }

// Options select what resources are checked against.
type Options struct {
	// Kubernetes is a minor version, 1.34. "" is all that are known: what one of them
	// accepts is no finding. The fields of Kubernetes' own kinds are not checked
	// against a version that is not known.
	Kubernetes string
	// Cache, where it is not nil, keeps what is found in a text: the packages of a fleet are mostly alike.
	Cache *Cache
}

// Cache keeps findings by the text of a resource. Its zero value is empty; it is safe for
// concurrent use.
type Cache struct{ texts sync.Map }

// cacheKey is a text and the minor versions that it is checked against.
type cacheKey struct {
	in   minors
	text [sha256.Size]byte
}

// cached are the findings of a text, their lines counted from its first one.
type cached struct {
	findings []Finding
	checked  int
	unknown  []string
}

// Result is what Resources finds.
type Result struct {
	Findings []Finding `json:"findings"` // by file and line
	Checked  int       `json:"checked"`  // resources with a schema
	Unknown  []string  `json:"unknown"`  // kinds without a schema, in order: "cert-manager.io/v1 Certificate"
}

// Resources checks the resources of a package, or of a folder with packages.
func Resources(p *krm.Package, o Options) Result {
	c := &checker{kubernetes: load(), cache: o.Cache, definitions: definitions{}}
	c.in = c.selected(o.Kubernetes)
	for _, r := range p.Resources() {
		c.definitions.add(r)
	}
	c.layout = layoutOf(p)
	for _, r := range p.Resources() {
		if c.excluded(r) {
			continue
		}
		c.duplicate(r)
		if !r.Encrypted() {
			c.remembered(r)
		}
	}
	slices.SortStableFunc(c.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	slices.Sort(c.Unknown)
	c.Unknown = slices.Compact(c.Unknown)
	return c.Result
}

// checker is one run of Resources.
type checker struct {
	*kubernetes
	Result
	in          minors // 0 is a version that is not known
	cache       *Cache
	definitions definitions
	layout      layout
	seen        map[identity]*krm.Resource

	r    *krm.Resource // the one that is checked
	base int           // the line before its document's first one
}

// identity identifies a resource among those that are deployed together.
type identity struct {
	unit string
	id   krm.ID
}

// duplicate reports a second resource of one identity.
func (c *checker) duplicate(r *krm.Resource) {
	if r.Name() == "" {
		return
	}
	key := identity{c.layout.unit(r.Path()), r.ID()}
	first := c.seen[key]
	if first == nil {
		if c.seen == nil {
			c.seen = map[identity]*krm.Resource{}
		}
		c.seen[key] = r
		return
	}
	c.open(r)
	c.found(Duplicate, yamltree.Path(r.Node().YNode(), "metadata", "name"), "metadata.name", fmt.Sprintf("%s %s stands twice in one package, also in %s (document %d)", r.Kind(), r.Name(), first.Path(), first.Index()), "rename or remove one")
}

// open makes a resource the one that findings are about.
func (c *checker) open(r *krm.Resource) {
	c.r, c.base = r, 0
	if root := yamltree.Deref(r.Node().YNode()); root != nil && r.Line() > 0 {
		c.base = r.Line() - root.Line
	}
}

// remembered is resource with the cache: it checks each text once. Kinds that the package defines
// itself are always checked.
func (c *checker) remembered(r *krm.Resource) {
	text := krm.SourceOf(r)
	if c.cache == nil || text == nil || c.definitions[groupKind{r.Group(), r.Kind()}] != nil || r.Kind() == "List" {
		c.resource(r)
		return
	}
	key := cacheKey{c.in, sha256.Sum256(text)}
	if v, ok := c.cache.texts.Load(key); ok {
		was := v.(cached)
		c.Checked += was.checked
		c.Unknown = append(c.Unknown, was.unknown...)
		for _, f := range was.findings {
			f.File, f.Line, f.Resource = r.Path(), f.Line+r.Line(), r
			c.Findings = append(c.Findings, f)
		}
		return
	}
	findings, checked, unknown := len(c.Findings), c.Checked, len(c.Unknown)
	c.resource(r)
	now := cached{slices.Clone(c.Findings[findings:]), c.Checked - checked, slices.Clone(c.Unknown[unknown:])}
	for i := range now.findings {
		now.findings[i].Line -= r.Line()
		now.findings[i].Resource = nil
	}
	c.cache.texts.Store(key, now)
}

// resource checks one resource, and those in a List.
func (c *checker) resource(r *krm.Resource) {
	c.open(r)
	root := yamltree.Deref(r.Node().YNode())
	if r.APIVersion() == "v1" && r.Kind() == "List" {
		for i, item := range yamltree.Items(root, "items") {
			item = yamltree.Deref(item)
			c.object(item, yamltree.Text(item, "apiVersion"), yamltree.Text(item, "kind"), fmt.Sprintf("items[%d]", i))
		}
		return
	}
	c.object(root, r.APIVersion(), r.Kind(), "")
}

// object checks an object against the schema of its kind.
func (c *checker) object(n *yaml.Node, apiVersion, kind, at string) {
	group, _ := splitVersion(apiVersion)
	expr, in, wrong, hint := c.find(apiVersion, kind, c.in)
	known := c.definitions[groupKind{group, kind}]
	switch {
	case !yamltree.IsMap(n) || apiVersion == "" || kind == "":
		return
	case len(known) > 0:
		c.custom(n, apiVersion, kind, at, known)
	case c.in != 0 && expr != "":
		c.walk(n, expr, in, at)
	case c.in != 0 && wrong != "":
		c.found(Version, yamltree.Child(n, "apiVersion"), yamltree.JoinField(at, "apiVersion"), wrong, hint)
		c.Checked++
		return
	default:
		c.Unknown = append(c.Unknown, apiVersion+" "+kind)
		return
	}
	c.Checked++
	c.name(yamltree.Child(n, "metadata"), groupKind{group, kind}, yamltree.JoinField(at, "metadata"))
}

// found reports a mistake at a node; a node without a line is at that of its resource.
func (c *checker) found(check string, n *yaml.Node, field, message, hint string) {
	line := 0
	if n != nil && n.Line > 0 && c.r.Line() > 0 {
		line = c.base + n.Line
	}
	c.Findings = append(c.Findings, Finding{
		Check: check, Severity: Error, File: c.r.Path(), Line: cmp.Or(line, c.r.Line()), Kind: c.r.Kind(), Name: c.r.Name(),
		Field: field, Message: message, Hint: hint, Resource: c.r,
	})
}

// isKptfile reports whether a resource is a package's Kptfile.
func isKptfile(r *krm.Resource) bool { return path.Base(r.Path()) == "Kptfile" }
