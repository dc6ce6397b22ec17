package api

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"sort"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/api/config/v1alpha2"
	variformv1alpha1 "github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/internal/yamltree"
)

// Option changes how a document is read.
type Option func(*options)

type options struct {
	file      string
	line      int
	bareGroup bool
}

// WithFile names the file in every issue.
func WithFile(path string) Option { return func(o *options) { o.file = path } }

// WithLine adds n to every line, for a document that starts after line n of
// its file.
func WithLine(n int) Option { return func(o *options) { o.line = n } }

// AllowBareGroup accepts `apiVersion: config.porch.kpt.dev` without a version,
// as Porch's own test data has it.
func AllowBareGroup() Option { return func(o *options) { o.bareGroup = true } }

type gvk struct{ apiVersion, kind string }

// kinds are the documents that Decode knows; each entry makes an empty object.
var kinds = map[gvk]func() any{
	{v1alpha1.APIVersion, v1alpha1.KindPackageVariant}:               func() any { return &v1alpha1.PackageVariant{} },
	{v1alpha1.APIVersion, v1alpha1.KindRepository}:                   func() any { return &v1alpha1.Repository{} },
	{v1alpha2.APIVersion, v1alpha2.KindPackageVariantSet}:            func() any { return &v1alpha2.PackageVariantSet{} },
	{v1alpha1.PorchAPIVersion, v1alpha1.KindPackageRevision}:         func() any { return &v1alpha1.PackageRevision{} },
	{v1alpha1.PorchAPIVersionV2, v1alpha1.KindPackageRevision}:       func() any { return &v1alpha1.PackageRevision{} },
	{variformv1alpha1.APIVersion, variformv1alpha1.KindInjectConfig}: func() any { return &variformv1alpha1.InjectConfig{} },

	{variformv1alpha1.APIVersion, variformv1alpha1.KindPackageManifest}: func() any { return &variformv1alpha1.PackageManifest{} },
	{variformv1alpha1.APIVersion, variformv1alpha1.KindInstallation}:    func() any { return &variformv1alpha1.Installation{} },
	{variformv1alpha1.APIVersion, variformv1alpha1.KindCatalog}:         func() any { return &variformv1alpha1.Catalog{} },
	{variformv1alpha1.APIVersion, variformv1alpha1.KindPackageLock}:     func() any { return &variformv1alpha1.PackageLock{} },
	{variformv1alpha1.APIVersion, variformv1alpha1.KindFleet}:           func() any { return &variformv1alpha1.Fleet{} },
	{variformv1alpha1.APIVersion, variformv1alpha1.KindRollout}:         func() any { return &variformv1alpha1.Rollout{} },
	{variformv1alpha1.APIVersion, variformv1alpha1.KindRolloutStrategy}: func() any { return &variformv1alpha1.RolloutStrategy{} },
}

// Handles says whether Parse should be given documents of this kind: one that
// it knows, or a kind of Porch's configuration group under another version,
// for which it has the fitting error. Everything else passes through untouched.
func Handles(apiVersion, kind string) bool {
	if _, ok := kinds[gvk{apiVersion, kind}]; ok {
		return true
	}
	group, _, _ := strings.Cut(apiVersion, "/")
	if group != v1alpha1.Group && group != variformv1alpha1.Group {
		return false
	}
	for k := range kinds {
		if k.kind == kind && strings.HasPrefix(k.apiVersion, group+"/") {
			return true
		}
	}
	return false
}

// Misplaced reports whether a document of a kind that Parse knows has an apiVersion of
// a group that cannot have it, so that it is a mistake and no kind of another system: one
// of Kubernetes, of kpt or of Variform, or one that is nearly the right one. Of
// PackageVariant and PackageVariantSet every other group is wrong, and none at all, for no
// other system has them.
func Misplaced(apiVersion, kind string) bool {
	var groups []string
	for k := range kinds {
		if group, _, _ := strings.Cut(k.apiVersion, "/"); k.kind == kind {
			groups = append(groups, group)
		}
	}
	group, _, found := strings.Cut(apiVersion, "/")
	unique := kind == v1alpha1.KindPackageVariant || kind == v1alpha2.KindPackageVariantSet
	switch {
	case len(groups) == 0, slices.Contains(groups, group), apiVersion == "" && !unique:
		return false
	case unique, !found, !strings.Contains(group, "."): // the core's, apps
		return true
	}
	for _, domain := range []string{"k8s.io", "kpt.dev", variformv1alpha1.Group} {
		if group == domain || strings.HasSuffix(group, "."+domain) {
			return true
		}
	}
	return slices.ContainsFunc(groups, func(right string) bool { return distance(group, right) <= 2 })
}

// Parse reads one document: strict decoding, defaults, validation. The object
// is one of *v1alpha1.PackageVariant, *v1alpha1.Repository,
// *v1alpha1.PackageRevision, *v1alpha2.PackageVariantSet and, of
// variformv1alpha1, *InjectConfig, *PackageManifest, *Installation, *Catalog,
// *PackageLock, *Fleet, *Rollout and *RolloutStrategy. With errors in the report the object holds
// what could be read, and is nil where the kind is unknown.
func Parse(data []byte, opts ...Option) (any, Report) {
	n, report := parseDocument(data, opts)
	if n == nil {
		return nil, report
	}
	return ParseNode(n, opts...)
}

// ParseNode is Parse for a document that is a tree already. The tree is not changed.
func ParseNode(n *yaml.RNode, opts ...Option) (any, Report) {
	obj, report := DecodeNode(n, opts...)
	if obj == nil {
		return nil, report
	}
	Default(obj)
	d := newDecoder(opts)
	found := Validate(obj)
	for i := range found {
		found[i].Line = d.fileLine(Line(n.YNode(), found[i].Field))
		found[i].File = d.file
	}
	report.Errors = withoutRepeats(report.Errors, found)
	return obj, report
}

// Decode is the first step of Parse alone: the shape of the document, with
// neither defaults nor validation.
func Decode(data []byte, opts ...Option) (any, Report) {
	n, report := parseDocument(data, opts)
	if n == nil {
		return nil, report
	}
	return DecodeNode(n, opts...)
}

// DecodeNode is Decode for a document that is a tree already.
func DecodeNode(n *yaml.RNode, opts ...Option) (any, Report) {
	d := newDecoder(opts)
	root := yamltree.Deref(n.YNode())
	if root == nil || root.Kind != yaml.MappingNode {
		d.errorf(root, "", "the document is not a mapping", "a KRM resource has apiVersion, kind and metadata")
		return nil, d.report
	}
	obj := d.object(root)
	if obj == nil {
		return nil, d.report
	}
	d.lenient = reflect.TypeOf(obj) == reflect.TypeOf(&v1alpha1.PackageRevision{})
	if c, ok := obj.(*variformv1alpha1.InjectConfig); ok {
		root = d.hoistSpec(root, c)
	}
	lock, isLock := obj.(*variformv1alpha1.PackageLock)
	edges := root
	if isLock {
		edges = edgesOfNames(root)
	}
	d.value(reflect.ValueOf(obj).Elem(), edges, "")
	if isLock {
		upgradeLock(&lock.Spec, edges != root)
	}
	d.noteIgnored(obj, root)
	return obj, d.report
}

// DecodeInto decodes a document's tree into any struct with json tags, with the
// same strictness: unknown and repeated fields and wrong types are errors with
// path, line and hint. For kinds of other packages.
func DecodeInto(n *yaml.RNode, into any, opts ...Option) Report {
	d := newDecoder(opts)
	v := reflect.ValueOf(into)
	root := yamltree.Deref(n.YNode())
	if v.Kind() != reflect.Pointer || v.IsNil() || root == nil {
		d.errorf(root, "", "there is nothing to decode", "")
		return d.report
	}
	d.value(v.Elem(), root, "")
	return d.report
}

func newDecoder(opts []Option) *decoder {
	d := &decoder{budget: maxNodes}
	for _, o := range opts {
		o(&d.options)
	}
	return d
}

func parseDocument(data []byte, opts []Option) (*yaml.RNode, Report) {
	if doc, ok := yamltree.Simple(data); ok {
		return yaml.NewRNode(doc.Content[0]), Report{}
	}
	d := newDecoder(opts)
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var found *yaml.Node
	for {
		var n yaml.Node
		err := dec.Decode(&n)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			d.yamlError(err)
			return nil, d.report
		}
		if root := yamltree.Deref(&n); yamltree.IsNull(root) {
			continue
		}
		if found != nil {
			d.errorf(&n, "", "there is more than one document", "give one document at a time")
			return nil, d.report
		}
		found = &n
	}
	if found == nil {
		d.errorf(nil, "", "the document is empty", "")
		return nil, d.report
	}
	return yaml.NewRNode(yamltree.Deref(found)), d.report
}

func (d *decoder) yamlError(err error) {
	msg := strings.TrimPrefix(err.Error(), "yaml: ")
	line := 1 // which the parser leaves out
	if rest, ok := strings.CutPrefix(msg, "line "); ok {
		if _, scanErr := fmt.Sscanf(rest, "%d:", &line); scanErr == nil {
			_, msg, _ = strings.Cut(rest, ": ")
		}
	}
	d.report.Errors = append(d.report.Errors, Issue{
		File: d.file, Line: d.fileLine(line), Message: "the document is not valid YAML: " + msg,
		Hint: "check indentation and quoting near this line",
	})
}

// object makes the empty object for a document's apiVersion and kind.
func (d *decoder) object(root *yaml.Node) any {
	apiVersion, kind := yamltree.Text(root, "apiVersion"), yamltree.Text(root, "kind")
	if d.bareGroup && apiVersion == v1alpha1.Group {
		apiVersion = bareVersion(kind)
	}
	if make, ok := kinds[gvk{apiVersion, kind}]; ok {
		return make()
	}
	d.unknownKind(root, apiVersion, kind)
	return nil
}

func bareVersion(kind string) string {
	if kind == v1alpha2.KindPackageVariantSet {
		return v1alpha2.APIVersion
	}
	return v1alpha1.APIVersion
}

const rewriteSet = "rewrite it as " + v1alpha2.APIVersion + ": targets[].package {repo, name} becomes repositories " +
	"[{name: repo, packageNames: [name]}], targets[].repositories becomes repositorySelector, targets[].objects.selectors[] " +
	"becomes one target with objectSelector each, and packageName or repoName become template.downstream"

func (d *decoder) unknownKind(root *yaml.Node, apiVersion, kind string) {
	switch {
	case apiVersion == "":
		d.errorf(root, "apiVersion", "apiVersion is a required field", suggestVersion(kind))
	case kind == "":
		d.errorf(root, "kind", "kind is a required field", "")
	case apiVersion == v1alpha1.APIVersion && kind == v1alpha2.KindPackageVariantSet:
		d.errorf(yamltree.Child(root, "apiVersion"), "apiVersion",
			"apiVersion "+apiVersion+" of PackageVariantSet is an old API that is not supported", rewriteSet)
	default:
		if hint := suggestVersion(kind); hint != "" {
			d.errorf(yamltree.Child(root, "apiVersion"), "apiVersion",
				fmt.Sprintf("apiVersion %q of kind %s is not known", apiVersion, kind), hint)
			return
		}
		d.errorf(yamltree.Child(root, "kind"), "kind", fmt.Sprintf("kind %q of apiVersion %s is not known", kind, apiVersion),
			didYouMean(kind, kindNames()))
	}
}

func suggestVersion(kind string) string {
	found := ""
	for k := range kinds {
		if k.kind == kind && (found == "" || k.apiVersion < found) {
			found = k.apiVersion
		}
	}
	if found == "" {
		return ""
	}
	return "use apiVersion: " + found
}

func kindNames() []string {
	out := make([]string, 0, len(kinds))
	for k := range kinds {
		out = append(out, k.kind)
	}
	sort.Strings(out)
	return out
}

// hoistSpec moves the fields under `spec` of an InjectConfig to the top.
func (d *decoder) hoistSpec(root *yaml.Node, _ *variformv1alpha1.InjectConfig) *yaml.Node {
	spec := yamltree.Child(root, "spec")
	if spec == nil || spec.Kind != yaml.MappingNode {
		return root
	}
	flat := *root
	flat.Content = nil
	for k, v := range yamltree.Fields(root) {
		if k.Value != "spec" {
			flat.Content = append(flat.Content, k, v)
		}
	}
	flat.Content = append(flat.Content, spec.Content...)
	d.warnf(spec, "spec", "the fields of an InjectConfig stand at the top level; those under spec are read as if they did", "")
	return &flat
}

// withoutRepeats appends the validation issues whose field no decoding issue
// named already: a wrong type is not "missing" as well.
func withoutRepeats(errs, found Issues) Issues {
	seen := make(map[string]bool, len(errs))
	for _, e := range errs {
		if e.Field != "" {
			seen[e.Field] = true
		}
	}
	for _, f := range found {
		if !seen[f.Field] {
			errs = append(errs, f)
		}
	}
	return errs
}
