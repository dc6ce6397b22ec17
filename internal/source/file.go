package source

import (
	"errors"
	"fmt"
	"strings"
	_ "time/tzdata" // of calendars: an image may have none

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/api"
	"github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/api/config/v1alpha2"
	variformv1alpha1 "github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/internal/foreign"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/krmignore"
	"github.com/variform/variform/internal/yamltree"
)

// file is one file as it was read.
type file struct {
	name string
	data []byte
	err  error // why it could not be
	// object says that it is one object of an API server, written out.
	object bool
}

// parse finds what the file holds. One that could not be read is a Problem.
func (f file) parse(limits Limits) fileResult {
	at := Origin{File: f.name}
	switch {
	case errors.Is(f.err, errTooLarge):
		return fileResult{problems: api.Issues{issue(at, "", fmt.Sprintf("the file is larger than %d bytes", limits.FileBytes), "split it, or name it in "+krmignore.Name)}}
	case f.err != nil:
		return fileResult{problems: api.Issues{issue(at, "", "the file cannot be read: "+plain(f.err), "make it readable, or name it in "+krmignore.Name)}}
	}
	found := parseFile(f.name, f.data, limits)
	if f.object {
		return found.withoutLines()
	}
	return found
}

// fileResult is what one file holds.
type fileResult struct {
	items    []item
	foreign  *foreign.Documents // nil for none
	problems api.Issues
	warnings api.Issues
}

// parser reads one file.
type parser struct {
	fileResult
	name   string
	limits Limits
}

func parseFile(name string, data []byte, limits Limits) fileResult {
	p := &parser{name: name, limits: limits}
	for _, c := range split(data) {
		if p.passing(c) {
			continue
		}
		docs, err := c.parse()
		for _, d := range docs {
			p.document(d)
		}
		if err != nil {
			p.fault(err, 0, "the document is not YAML: ", "correct it; a file that is no YAML, such as a template, can be named in "+krmignore.Name)
		}
	}
	if len(p.problems) == 0 {
		p.foreigners(data)
	}
	return p.fileResult
}

// passing reads a chunk that is one object which Variform does not act on, as most are:
// nothing of its tree is kept, so that the next may have its nodes. It reports false of
// all else.
func (p *parser) passing(c chunk) (read bool) {
	yamltree.Simply(c.data, func(doc *yaml.Node) {
		d := document{root: doc.Content[0], line: c.line, text: c}
		apiVersion, kind := yamltree.Text(d.root, "apiVersion"), yamltree.Text(d.root, "kind")
		if read = !strings.HasSuffix(kind, "List") && !ours(apiVersion, kind); read {
			p.document(d)
		}
	})
	return read
}

// foreigners reads the documents of other systems, which are objects as well.
func (p *parser) foreigners(data []byte) {
	docs, err := foreign.Whole(p.name, data)
	var issues api.Issues
	switch {
	case errors.As(err, &issues):
		p.problems = append(p.problems, issues...)
	case err != nil:
		p.problems = append(p.problems, issue(Origin{File: p.name}, "", plain(err), "correct it, or name it in "+krmignore.Name))
	case docs != nil:
		p.foreign, p.warnings = docs, append(p.warnings, docs.Warnings...)
	}
}

// fault records an error of a document; lines before it are added to its own.
func (p *parser) fault(err error, before int, prefix, hint string) {
	at := Origin{File: p.name}
	message := prefix + err.Error()
	var se *syntaxError
	if errors.As(err, &se) {
		at.Line = before + se.line
	}
	p.problems = append(p.problems, issue(at, "", message, hint))
}

func (p *parser) document(d document) {
	apiVersion, kind := yamltree.Text(d.root, "apiVersion"), yamltree.Text(d.root, "kind")
	if kind == "" || apiVersion == "" && !api.Misplaced(apiVersion, kind) {
		return // YAML that is no KRM
	}
	root, err := flat(d.root, p.limits)
	if err != nil {
		p.fault(err, d.line, fmt.Sprintf("%s cannot be read: ", kind), "write it out plainly")
		return
	}
	if items := yamltree.Child(root, "items"); items != nil && items.Kind == yaml.SequenceNode && strings.HasSuffix(kind, "List") {
		p.list(document{root: root, line: d.line}, items, apiVersion, strings.TrimSuffix(kind, "List"))
		return
	}
	p.object(document{root: root, line: d.line, text: d.text}, apiVersion, kind)
}

// list unpacks what `kubectl get -o yaml` prints. The items of a list of one
// kind may leave out apiVersion and kind.
func (p *parser) list(d document, items *yaml.Node, apiVersion, kind string) {
	for _, it := range items.Content {
		if it.Kind == yaml.MappingNode && kind != "" && yamltree.Child(it, "kind") == nil && yamltree.Child(it, "apiVersion") == nil {
			it = withType(it, apiVersion, kind)
		}
		k, v := yamltree.Text(it, "kind"), yamltree.Text(it, "apiVersion")
		if k == "" || v == "" {
			p.problems = append(p.problems, issue(Origin{p.name, d.line + it.Line}, "items",
				"an item of the list has no apiVersion and kind", "give it both, or take it out of the list"))
			continue
		}
		p.object(document{root: it, line: d.line}, v, k)
	}
}

// withType returns a mapping with apiVersion and kind in front.
func withType(n *yaml.Node, apiVersion, kind string) *yaml.Node {
	scalar := func(s string) *yaml.Node {
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: yaml.NodeTagString, Value: s, Line: n.Line, Column: n.Column}
	}
	out := *n
	out.Content = append([]*yaml.Node{scalar("apiVersion"), scalar(apiVersion), scalar("kind"), scalar(kind)}, n.Content...)
	return &out
}

func (p *parser) object(d document, apiVersion, kind string) {
	group := krm.GroupOf(apiVersion)
	switch {
	case kind == kptfilev1.KptFileGVK().Kind && group == kptfilev1.KptFileGVK().Group:
		return // of the package around, not of the fleet
	case ours(apiVersion, kind):
		p.ours(d, group, kind)
	default:
		p.other(d, apiVersion, group, kind)
	}
}

// ours says that Variform acts on an object, or would if its kind were written right.
func ours(apiVersion, kind string) bool {
	return acted(kind) && api.Handles(apiVersion, kind) || mistyped(krm.GroupOf(apiVersion), apiVersion, kind)
}

// mistyped says whether a kind of our or Porch's configuration is none that
// there is, or has an apiVersion whose group cannot have it: a set under a wrong name would otherwise look as if it had gone, and
// its packages with it.
func mistyped(group, apiVersion, kind string) bool {
	if api.Misplaced(apiVersion, kind) {
		return true
	}
	switch group {
	case variformv1alpha1.Group:
		return !api.Handles(apiVersion, kind)
	case v1alpha1.Group:
		return !api.Handles(apiVersion, kind) && kind != "PackageRev" && kind != "Function" // Porch's own, as data
	default:
		return false
	}
}

// acted are the kinds that Variform acts on; every other one is an Object. A Fleet is
// read for its faults alone: it tells a controller how to run what stands beside it, as
// flags tell a command.
func acted(kind string) bool {
	switch kind {
	case v1alpha1.KindRepository, v1alpha1.KindPackageVariant, v1alpha2.KindPackageVariantSet,
		variformv1alpha1.KindInstallation, variformv1alpha1.KindCatalog, variformv1alpha1.KindPackageLock,
		variformv1alpha1.KindFleet, variformv1alpha1.KindRollout, variformv1alpha1.KindRolloutStrategy:
		return true
	default:
		return false
	}
}

func (p *parser) ours(d document, group, kind string) {
	obj, report := api.ParseNode(yaml.NewRNode(d.root), api.WithFile(p.name), api.WithLine(d.line))
	meta := yamltree.Child(d.root, "metadata")
	it := item{obj: obj, report: report, origin: p.origin(d), key: Key{
		Group: group, Kind: kind, Namespace: namespaceOf(meta), Name: yamltree.Text(meta, "name"),
	}}
	for _, field := range edited[kind] {
		it.fields = append(it.fields, d.line+api.Line(d.root, field))
	}
	if obj == nil && report.Err() == nil {
		it.report.Errors = append(it.report.Errors, issue(it.origin, "kind", kind+" cannot be read", ""))
	}
	p.items = append(p.items, it)
}

func (p *parser) other(d document, apiVersion, group, kind string) {
	meta := yamltree.Child(d.root, "metadata")
	name := yamltree.Text(meta, "name")
	at := p.origin(d)
	if name == "" {
		p.warnings = append(p.warnings, issue(at, "metadata.name",
			kind+" has no metadata.name: it is left out", "give it a name, or name the file in "+krmignore.Name))
		return
	}
	o := &Object{
		Key:        Key{Group: group, Kind: kind, Namespace: namespaceOf(meta), Name: name},
		APIVersion: apiVersion, Origin: at, text: d.text,
	}
	if d.text.data == nil {
		o.node = yaml.NewRNode(d.root)
	}
	it := item{key: o.Key, origin: at, obj: o}
	o.Labels = p.stringMap(&it, d, meta, "labels")
	o.Annotations = p.stringMap(&it, d, meta, "annotations")
	p.items = append(p.items, it)
}

func (p *parser) origin(d document) Origin { return Origin{File: p.name, Line: d.line + d.root.Line} }

// stringMap reads labels or annotations; a value that is no string is an
// error, as it is in a Kubernetes API.
func (p *parser) stringMap(it *item, d document, meta *yaml.Node, key string) map[string]string {
	n := yamltree.Child(meta, key)
	if n == nil || n.ShortTag() == yaml.NodeTagNull {
		return nil
	}
	path := "metadata." + key
	if n.Kind != yaml.MappingNode {
		it.report.Errors = append(it.report.Errors, issue(Origin{p.name, d.line + n.Line}, path, path+" is not a mapping", "write it as key: value lines"))
		return nil
	}
	out := make(map[string]string, len(n.Content)/2)
	for k, v := range yamltree.Fields(n) {
		if v.Kind != yaml.ScalarNode || v.ShortTag() != yaml.NodeTagString {
			at := Origin{p.name, d.line + v.Line}
			it.report.Errors = append(it.report.Errors, issue(at, path+"."+k.Value,
				fmt.Sprintf("%s.%s is not a string", path, k.Value), "put its value in quotes"))
			continue
		}
		out[k.Value] = v.Value
	}
	return out
}

func namespaceOf(meta *yaml.Node) string {
	return api.NamespaceOr(yamltree.Text(meta, "namespace"))
}
