package review

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/cores"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/lazyregexp"
	"github.com/variform/variform/internal/provenance"
	"github.com/variform/variform/internal/yamltree"
)

// Op is what an edit does.
type Op string

// The operations of an edit.
const (
	Add     Op = "add"
	Remove  Op = "remove"
	Update  Op = "change"
	Move    Op = "move"     // a resource in another file
	Mode    Op = "mode"     // of a file: executable, a symbolic link
	Comment Op = "comment"  // of a field or a file: Before and After are a field's
	Format  Op = "reformat" // of a file its bytes
	Broken  Op = "broken"   // of a file: its YAML cannot be parsed, for the reason in After
)

// Edit is one normalised difference between two packages.
type Edit struct {
	// File is the path, normalised.
	File string `json:"file"`
	// Resource is "Kind name" or "Kind namespace/name", normalised; empty for
	// a file that holds no resource.
	Resource string `json:"resource,omitempty"`
	Op       Op     `json:"op"`
	// Field is the path in the resource; empty for all of it.
	Field string `json:"field,omitempty"`
	// Before and After are scalars or short YAML, normalised; empty where
	// there is nothing. A Secret's values are never in them.
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
	// Line is where a file cannot be parsed; 0 where unknown, and of other edits.
	Line int `json:"line,omitempty"`
	// Digest stands for content that is not shown.
	Digest string `json:"digest,omitempty"`
	// By is who wrote it, with the commit, where somebody looked for that.
	By string `json:"by,omitempty"`
	// ID is the resource as it is, not normalised.
	ID krm.ID `json:"-"`
}

// Edits lists what is other in after than in before, sorted by file, resource and
// field, without what a Kptfile records of where it comes from. A nil package
// holds nothing.
func Edits(before, after *krm.Package) ([]Edit, error) {
	return diffPackages(&Change{Before: before, After: after})
}

// ChangeDigest returns a digest of what after changes in before: of each edit the file, the resource,
// the field, the operation and the new value. What was there before is no part of it, nor is
// what a Kptfile records of where it comes from.
func ChangeDigest(before, after *krm.Package) (string, error) {
	d := &differ{norm: newNormaliser(nil)}
	if err := d.packages(before, after); err != nil {
		return "", err
	}
	var lines []string
	for _, f := range d.edits {
		_, now, changed := strings.Cut(f.Digest, "..") // of a file, both sides
		if !changed {
			now = f.Digest
		}
		if f.was != nil || f.is != nil {
			now = valueText(f.is)
		}
		lines = append(lines, fmt.Sprintf("%q %q %q %q %q %q", f.File, f.ID, f.Field, f.Op, f.After, now))
	}
	slices.Sort(lines)
	sum := sha256.Sum256([]byte(strings.Join(lines, "\n")))
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}

// Within reports whether another edit touches what this one did: the same field
// of the same resource, one around it or one below it.
func (e Edit) Within(o Edit) bool {
	if e.File != o.File || e.Resource != o.Resource {
		return false
	}
	short, long := e.Field, o.Field
	if len(short) > len(long) {
		short, long = long, short
	}
	rest, below := strings.CutPrefix(long, short)
	return below && (rest == "" || short == "" || rest[0] == '.' || rest[0] == '[')
}

// what names the thing that an edit touches, for summaries.
func (e Edit) what() string {
	switch {
	case e.Resource == "":
		return e.File
	case e.Field == "":
		return e.Resource
	default:
		return e.Resource + " " + e.Field
	}
}

// String says the edit in one line, with short values: "data.a of ConfigMap x 1 → 9".
func (e Edit) String() string {
	name := e.File
	switch {
	case e.Resource != "" && e.Field != "":
		name = e.Field + " of " + e.Resource
	case e.Resource != "":
		name = e.Resource
	}
	switch {
	case e.Op == Broken:
		name = e.broken()
	case e.Op == Update && (e.Before != "" || e.After != ""):
		name += " " + quote(e.Before) + " → " + quote(e.After)
	case e.Op == Add && e.After != "" && e.Field != "":
		name = "added " + name + " " + quote(e.After)
	case e.Op == Add:
		name = "added " + name
	case e.Op == Remove:
		name = "removed " + name
	case e.Op != Update:
		name += " (" + e.Verb() + ")"
	}
	return Visible(name)
}

// Verb returns what the edit does, for people.
func (e Edit) Verb() string {
	switch {
	case e.Op != Comment:
		return string(e.Op)
	case e.Before == "" && e.After != "":
		return "comment added"
	case e.Before != "" && e.After == "":
		return "comment removed"
	}
	return "comment changed"
}

// broken says that a file cannot be parsed.
func (e Edit) broken() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s cannot be parsed: %s", e.File, e.After)
	}
	return fmt.Sprintf("%s:%d cannot be parsed: %s", e.File, e.Line, e.After)
}

// diffPackages lists the edits of a change, normalised and sorted.
func diffPackages(c *Change) ([]Edit, error) {
	d := &differ{norm: newNormaliser(c.Aliases)}
	err := d.packages(c.Before, c.After)
	return d.norm.edits(d.edits), err
}

// found is an edit that is not told yet: of most variants of a fleet nobody reads
// it, for each class shows one.
type found struct {
	Edit // as it is
	// was and is are the values, of an edit whose texts and digest are to be made of them.
	was, is *yaml.Node
}

// edits tells what was found, sorted; nil where there is nothing.
func (n *normaliser) edits(list []found) []Edit {
	var out []Edit
	for i := range list {
		out = append(out, n.edit(&list[i]))
	}
	slices.SortStableFunc(out, func(a, b Edit) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Field, b.Field), cmp.Compare(a.Op, b.Op))
	})
	return out
}

func (n *normaliser) edit(f *found) Edit {
	e := f.Edit
	switch {
	case f.was == nil && f.is == nil:
	case e.Field == "" && e.Op != Update: // of a whole resource
		e.Digest = digest([]byte(n.text(yamlText(f.is))))
	default:
		before, after := valueText(f.was), valueText(f.is)
		e.Digest = n.digest(e.Field, before, after)
		if !e.ID.IsSecret() {
			e.Before, e.After = short(before), short(after)
		}
	}
	e.Before, e.After = n.value(e.Field, e.Before), n.value(e.Field, e.After)
	e.File, e.Resource, e.Field = n.identity(e.File), n.identity(e.Resource), n.identity(e.Field)
	return e
}

// digest stands for what a field was and is.
func (n *normaliser) digest(field, before, after string) string {
	return digest([]byte(n.value(field, before) + "\x00" + n.value(field, after)))
}

func (d *differ) packages(was, now *krm.Package) error {
	before, after, err := differing(was, now)
	if err != nil {
		return err
	}
	d.modes(before, after)
	d.files(before, after)
	d.resources(was, now, before, after)
	return nil
}

// each compares resources with what they were, nil where they are new: many of them
// side by side.
func (d *differ) each(list []*krm.Resource, was map[*krm.Resource]*krm.Resource) {
	if len(list) <= resourcesPerCore {
		for _, r := range list {
			d.resource(was[r], r)
		}
		return
	}
	chunks := slices.Collect(slices.Chunk(list, resourcesPerCore))
	parts := make([]differ, len(chunks))
	_ = cores.Each(context.Background(), 0, len(chunks), func(i int) error { // nothing fails
		parts[i] = differ{norm: d.norm, deep: d.deep, origins: d.origins}
		parts[i].each(chunks[i], was)
		return nil
	})
	for i := range parts {
		d.edits, d.cells = append(d.edits, parts[i].edits...), append(d.cells, parts[i].cells...)
	}
}

// resource compares a resource with what it was, nil where it is new.
func (d *differ) resource(o, r *krm.Resource) {
	if o == nil {
		d.whole(r, Add)
		return
	}
	if o.Path() != r.Path() {
		d.add(Edit{File: r.Path(), Resource: title(r), ID: r.ID(), Op: Move, Before: o.Path(), After: r.Path()})
	}
	d.tree(o, r)
}

// resourcesPerCore is how many resources are worth another core.
const resourcesPerCore = 64

// resourceKey pairs resources of two packages.
type resourceKey struct{ group, kind, namespace, name string }

// side is what one of two packages holds in files that the other has not, or has with
// another content or mode: variants have most files in common with what they come from.
type side struct {
	files     map[string]krm.File
	byPath    map[string][]*krm.Resource
	resources []*krm.Resource
	broken    map[string]krm.Problem
}

// differing are two packages without the files that they have in common. A nil package
// holds nothing. It fails only where one cannot be written.
func differing(was, now *krm.Package) (before, after side, err error) {
	a, err := written(was)
	if err != nil {
		return side{}, side{}, err
	}
	b, err := written(now)
	if err != nil {
		return side{}, side{}, err
	}
	before, after = newSide(), newSide()
	for len(a)+len(b) > 0 {
		switch {
		case len(b) == 0 || len(a) > 0 && a[0].Path < b[0].Path:
			before.files[a[0].Path], a = a[0], a[1:]
		case len(a) == 0 || b[0].Path < a[0].Path:
			after.files[b[0].Path], b = b[0], b[1:]
		default:
			if a[0].Mode != b[0].Mode || !bytes.Equal(a[0].Data, b[0].Data) {
				before.files[a[0].Path], after.files[b[0].Path] = a[0], b[0]
			}
			a, b = a[1:], b[1:]
		}
	}
	before.find(was)
	after.find(now)
	before.read(was, after)
	after.read(now, before)
	return before, after, nil
}

// written are a package's files, sorted by path.
func written(p *krm.Package) ([]krm.File, error) {
	if p == nil {
		return nil, nil
	}
	return p.Files()
}

func newSide() side { return side{files: map[string]krm.File{}, byPath: map[string][]*krm.Resource{}} }

// find lists the files of the side whose YAML cannot be parsed.
func (s *side) find(p *krm.Package) {
	if p == nil || len(s.files) == 0 {
		return
	}
	for _, problem := range p.Problems() {
		if _, ok := s.files[problem.Path]; ok {
			if s.broken == nil {
				s.broken = map[string]krm.Problem{}
			}
			s.broken[problem.Path] = problem
		}
	}
}

// read takes the resources of the side's files, but for those that the other side cannot
// parse: they are compared as files.
func (s *side) read(p *krm.Package, other side) {
	if p == nil || len(s.files) == 0 {
		return
	}
	for _, r := range p.Resources() {
		if _, broken := other.broken[r.Path()]; broken {
			continue
		}
		if _, ok := s.files[r.Path()]; ok {
			s.byPath[r.Path()] = append(s.byPath[r.Path()], r)
			s.resources = append(s.resources, r)
		}
	}
}

// samePackage compares two packages byte for byte.
func samePackage(before, after *krm.Package) (bool, error) {
	a, b, err := differing(before, after)
	return err == nil && len(a.files)+len(b.files) == 0, err
}

type differ struct {
	norm  *normaliser
	edits []found
	// deep says that cells are wanted beside the edits, and bookkeeping left out of
	// resources that are there on one side only.
	deep  bool
	cells []cell
	// first says that nothing was there before: resources are paired by what a pipeline
	// leaves alone, too, and renames has what became of namespaces and names.
	first   bool
	renames map[rename]bool
	// forms says that only what is new and what is written in another way is looked
	// for: a comment counts where its value changed as well.
	forms bool
	// origins are of what is there now, nil where nobody asked.
	origins *provenance.Origins
}

// add takes an edit with its one cell.
func (d *differ) add(e Edit) {
	d.cell(e)
	d.find(found{Edit: e})
}

func (d *differ) find(f found) {
	if d.edits == nil {
		d.edits = make([]found, 0, usualEdits)
	}
	d.edits = append(d.edits, f)
}

// modes reports what became executable or a link, and what no longer is. The target
// of a link is its content, and is always shown.
func (d *differ) modes(before, after side) {
	for path, f := range after.files {
		old, ok := before.files[path]
		e := Edit{File: path, Op: Mode, After: mode(f.Mode)}
		if ok {
			e.Before = mode(old.Mode)
		}
		target := f.Mode == krm.Symlink && !bytes.Equal(old.Data, f.Data)
		if f.Mode == krm.Symlink {
			e.After += " to " + string(f.Data)
		}
		if ok && old.Mode == krm.Symlink {
			e.Before += " to " + string(old.Data)
		}
		if target || ok && old.Mode != f.Mode || !ok && f.Mode != krm.Regular {
			d.add(e)
		}
	}
}

// files compares the files that hold no resource on either side.
func (d *differ) files(before, after side) {
	for path, f := range before.files {
		if len(before.byPath[path]) > 0 || len(after.byPath[path]) > 0 {
			continue
		}
		if _, ok := after.files[path]; !ok {
			d.add(Edit{File: path, Op: Remove, Digest: digest(f.Data)})
		} else if g := after.files[path]; !bytes.Equal(f.Data, g.Data) && !d.broke(after, g) {
			d.add(Edit{File: path, Op: Update, Digest: digest([]byte(d.norm.text(string(f.Data)))) + ".." + digest([]byte(d.norm.text(string(g.Data))))})
		}
	}
	for path, f := range after.files {
		if _, ok := before.files[path]; !ok && len(after.byPath[path]) == 0 && !d.broke(after, f) {
			d.add(Edit{File: path, Op: Add, Digest: digest([]byte(d.norm.text(string(f.Data))))})
		}
	}
}

// broke reports a file that cannot be parsed, and whether it is one.
func (d *differ) broke(after side, f krm.File) bool {
	problem, ok := after.broken[f.Path]
	if ok {
		d.add(Edit{File: f.Path, Op: Broken, Line: problem.Line, After: problem.Err.Error(), Digest: digest([]byte(d.norm.text(string(f.Data))))})
	}
	return ok
}

// resources compares the resources.
func (d *differ) resources(was, now *krm.Package, before, after side) {
	old := pairs{}
	for _, r := range before.resources {
		old[keyOf(r)] = append(old[keyOf(r)], r)
	}
	// Resources that stayed in their file are paired first: subpackages may
	// hold resources of one name.
	stayed := map[*krm.Resource]*krm.Resource{}
	for _, r := range after.resources {
		if o := old.take(r, true); o != nil {
			stayed[r] = o
		}
	}
	for _, r := range after.resources {
		if stayed[r] == nil {
			stayed[r] = old.take(r, false)
		}
	}
	if d.first {
		d.rendered(before, after, old, stayed)
	}
	d.each(after.resources, stayed)
	gone := map[string]bool{}
	for _, r := range before.resources {
		if old.has(r) {
			d.whole(r, Remove)
			gone[r.Path()] = true
		}
	}
	d.formats(was, now, before, after, gone)
}

// pairs are the resources of one side that are not paired yet, in order.
type pairs map[resourceKey][]*krm.Resource

// has reports whether a resource is not paired yet.
func (p pairs) has(r *krm.Resource) bool { return slices.Contains(p[keyOf(r)], r) }

// remove takes a resource out, and reports whether it was there.
func (p pairs) remove(r *krm.Resource) bool {
	k := keyOf(r)
	i := slices.Index(p[k], r)
	if i >= 0 {
		p[k] = slices.Delete(p[k], i, i+1)
	}
	return i >= 0
}

// take removes and returns the resource to compare r with: of its file, or any.
func (p pairs) take(r *krm.Resource, sameFile bool) *krm.Resource {
	k := keyOf(r)
	for i, o := range p[k] {
		if !sameFile || o.Path() == r.Path() {
			p[k] = slices.Delete(p[k], i, i+1)
			return o
		}
	}
	return nil
}

// formats reports files whose comments differ though no resource does; some are touched
// already. The layout alone is no edit: see krm.SameContent.
func (d *differ) formats(was, now *krm.Package, before, after side, touched map[string]bool) {
	for i := range d.edits {
		if e := &d.edits[i]; e.Resource != "" {
			touched[e.File] = true
		}
	}
	for path, f := range after.files {
		b, ok := before.files[path]
		if !ok || len(after.byPath[path]) == 0 || touched[path] || bytes.Equal(b.Data, f.Data) || isBookkeepingFile(path) || krm.SameLayout(was, now, path) {
			continue
		}
		if bytes.Equal(mergeComment.Regexp().ReplaceAll(b.Data, nil), mergeComment.Regexp().ReplaceAll(f.Data, nil)) {
			continue
		}
		if slices.ContainsFunc(after.byPath[path], isContext) && bytes.Equal(ownNames.Regexp().ReplaceAll(b.Data, nil), ownNames.Regexp().ReplaceAll(f.Data, nil)) {
			continue
		}
		op := Format
		if line := commentLine.Regexp(); !slices.EqualFunc(line.FindAll(b.Data, -1), line.FindAll(f.Data, -1), bytes.Equal) {
			op = Comment
		}
		d.add(Edit{File: path, Op: op, Digest: digest([]byte(d.norm.text(string(b.Data)))) + ".." + digest([]byte(d.norm.text(string(f.Data))))})
	}
}

// commentLine is a line of a file that is a comment.
var commentLine = lazyregexp.New(`(?m)^[ \t]*#.*$`)

// whole reports a resource that is there on one side only.
func (d *differ) whole(r *krm.Resource, op Op) {
	node := r.Node().YNode()
	if isContext(r) {
		node = withoutName(node)
		if data := yamltree.Path(node, "data"); d.deep && (data == nil || len(data.Content) == 0) {
			return
		}
	}
	e := found{Edit: Edit{File: r.Path(), Resource: title(r), ID: r.ID(), Op: op}, is: node}
	d.find(e)
	d.leaves(e.Edit, node)
}

func keyOf(r *krm.Resource) resourceKey {
	k := resourceKey{group: r.Group(), kind: r.Kind(), namespace: r.Namespace(), name: r.Name()}
	if r.Kind() == "Kptfile" {
		// A Kptfile is identified by its place: its name is the variant's own.
		k.name, k.namespace = r.Path(), ""
	}
	return k
}

func title(r *krm.Resource) string {
	if ns := r.Namespace(); ns != "" {
		return r.Kind() + " " + ns + "/" + r.Name()
	}
	return strings.TrimSpace(r.Kind() + " " + r.Name())
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:8])
}

func yamlText(n *yaml.Node) string {
	s, err := yaml.String(n)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(s, "\n")
}
