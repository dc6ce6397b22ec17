package provenance

import (
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/yamltree"
)

// Call is one function of a pipeline, as it ran.
type Call struct {
	// Dir is the folder of the Kptfile, Field the function's place in it, and
	// Function its image or command.
	Dir, Field, Function string
	// ConfigFile is where its configuration stands, below the root; "" for the Kptfile.
	ConfigFile string
	// Config is the configuration as it was given, nil for none.
	Config *yaml.Node
	// Before and After are the package around it.
	Before, After *krm.Package
	// Again runs it once more on Before, with another configuration and other
	// resources. It is nil where that costs too much: then the function itself is
	// the origin of all that it changed.
	Again func(config *yaml.Node, edit func(*krm.Package)) (*krm.Package, error)
}

// input is a value that a function was given.
type input struct {
	origin *Origin
	mark   string
	// carried says that its mark came out: it is part of the value, and not only what
	// decided about it.
	carried bool
}

// maxTries bounds how often a function is run again with one input changed.
const maxTries = 16

// Function notes what a function did.
func (t *Trace) Function(c Call) {
	if d := t.at(path.Join(c.Dir, "Kptfile")); d != nil { // as people wrote it
		for _, key := range []string{"image", "exec"} {
			if n, _ := yamltree.Nearest(d.node, c.Field+"."+key); n != nil && n.Value != "" {
				c.Function = n.Value
			}
		}
	}
	f := &carried{Trace: t, Call: c, claims: map[claim][]input{}, set: map[claim]bool{}}
	self := f.self()
	f.did = t.compare(c.After)
	if c.Again != nil {
		f.ask()
	}
	t.take(f.did, func(v Value) Origin { return f.origin(v, self) })
	for at, inputs := range f.claims { // what it set to the value that was there
		d := t.docs[at.doc]
		o := d.leaves[at.field]
		itself := slices.ContainsFunc(inputs, func(in input) bool { return in.origin == o })
		if o != nil && !itself && !f.set[at] {
			over := f.through(inputs, *o)
			over.Before = o
			d.put(at.field, over)
		}
	}
}

type claim struct {
	doc   int
	field string
}

type carried struct {
	*Trace
	Call
	did    *changes
	claims map[claim][]input
	set    map[claim]bool // those that the function changed
}

// origin is that of a value that the function changed.
func (f *carried) origin(v Value, self Origin) Origin {
	at := claim{v.doc, v.Field}
	f.set[at] = true
	o := f.through(f.claims[at], self)
	if v.Was != nil && v.old != "" && v.old != v.Text && strings.Contains(v.Text, v.old) {
		o.Also = append(o.Also, *v.Was) // it was added to
	}
	return o
}

// through is where inputs come from, carried by the function; or else what is.
func (f *carried) through(inputs []input, or Origin) Origin {
	var out Origin
	slices.SortStableFunc(inputs, func(a, b input) int {
		switch {
		case a.carried == b.carried:
			return 0
		case a.carried:
			return -1
		}
		return 1
	})
	for _, in := range inputs {
		switch {
		case in.origin == nil:
		case out.Kind == "":
			out = *in.origin
		default:
			out.Also = append(slices.Clip(out.Also), *in.origin)
		}
	}
	if out.Kind == "" {
		return or
	}
	out.Via = append(slices.Clip(out.Via), f.via())
	return out
}

func (f *carried) via() Via {
	return Via{Carrier: Function, Name: f.Call.Function, Place: path.Join(f.Dir, "Kptfile") + " " + f.Field}
}

// self is the function as an origin: where somebody put it into the pipeline.
func (f *carried) self() Origin {
	o := Origin{Kind: Function, Function: f.Call.Function, Via: []Via{f.via()}, File: path.Join(f.Dir, "Kptfile"), Field: f.Field}
	if d := f.at(f.ConfigFile); d != nil && d.leaves["source"] != nil { // a program
		by := d.leaves["source"]
		o.File, o.Line, o.Field, o.Object, o.Package, o.Commit, o.Author = d.path, by.Line, "source", by.Object, by.Package, by.Commit, by.Author
		return o
	}
	d := f.at(o.File)
	if d == nil {
		return o
	}
	entry := f.entry(d)
	for _, key := range []string{"image", "exec"} {
		if by := d.leaves[entry+"."+key]; by != nil {
			o.File, o.Line, o.Object, o.Package, o.Commit, o.Author = by.File, by.Line, by.Object, by.Package, by.Commit, by.Author
			if by.Kind == Template {
				o.Field = by.Field
			}
		}
	}
	return o
}

// at is the first resource of a file.
func (t *Trace) at(file string) *doc {
	if i := slices.IndexFunc(t.docs, func(d *doc) bool { return d.path == file }); i >= 0 {
		return t.docs[i]
	}
	return nil
}

// entry is the field of the function in its Kptfile, as leaves are called.
func (f *carried) entry(kptfile *doc) string {
	list, index, ok := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(f.Field, "pipeline."), "]"), "[")
	i, err := strconv.Atoi(index)
	seq := yamltree.Path(kptfile.node, "pipeline", list)
	if !ok || err != nil || seq == nil || i >= len(seq.Content) {
		return f.Field
	}
	return item("pipeline."+list, seq, i)
}

// ask runs the function again to see what becomes of its inputs: first with all
// of them marked; where that tells nothing of what it changed, with one at a time.
func (f *carried) ask() {
	if f.Config != nil && yamltree.Text(f.Config, "kind") == "ApplyReplacements" {
		f.replacements()
		return
	}
	leaves := f.configured()
	if len(leaves) > 0 {
		inputs := make([]input, len(leaves))
		config := yamltree.Copy(f.Config)
		for i, l := range leaves {
			inputs[i] = input{origin: l.origin, mark: mark(i)}
			find(config, l.field, func(n *yaml.Node) { n.Value = marked(n.Value, mark(i)) })
		}
		out, err := f.Again(config, nil)
		if err == nil {
			f.claim(out, inputs, false)
		}
		if err != nil || len(f.claims) == 0 || f.unclaimed() {
			f.oneByOne(leaves)
		}
	}
	if f.unclaimed() {
		f.items()
	}
}

type configLeaf struct {
	field, value string
	origin       *Origin
}

// configured are the values of the configuration that may be carried.
func (f *carried) configured() []configLeaf {
	if f.Config == nil {
		return nil
	}
	of := func(field string) *Origin { return nil }
	if f.ConfigFile != "" {
		if d := f.at(f.ConfigFile); d != nil {
			of = func(field string) *Origin { return d.leaves[field] }
		}
	} else if d := f.at(path.Join(f.Dir, "Kptfile")); d != nil {
		entry := f.entry(d)
		of = func(field string) *Origin {
			key := strings.TrimPrefix(field, "data.")
			if inside, ok := strings.CutPrefix(field, "data["); ok {
				key = strings.TrimSuffix(inside, "]")
			}
			return d.leaves[yamltree.JoinField(entry+".configMap", key)]
		}
	}
	var out []configLeaf
	walk(f.Config, "", func(field string, n *yaml.Node) {
		if n.Kind == yaml.ScalarNode && !within(field, "apiVersion") && !within(field, "kind") && !within(field, "metadata") && field != "source" {
			out = append(out, configLeaf{field, n.Value, of(field)})
		}
	})
	return out
}

// oneByOne changes one value of the configuration at a time.
func (f *carried) oneByOne(leaves []configLeaf) {
	for i, l := range leaves[:min(len(leaves), maxTries)] {
		for _, other := range others(l.value, mark(i)) {
			config := yamltree.Copy(f.Config)
			find(config, l.field, func(n *yaml.Node) { n.Value = other })
			out, err := f.Again(config, nil)
			if err != nil {
				continue
			}
			if f.claim(out, []input{{origin: l.origin, mark: mark(i)}}, true) {
				break
			}
		}
	}
}

// others are values to try in place of one.
func others(value, mark string) []string {
	out := []string{marked(value, mark)}
	if n, err := strconv.Atoi(value); err == nil {
		out = append(out, strconv.Itoa(n+1))
	}
	if b, err := strconv.ParseBool(value); err == nil {
		out = append(out, strconv.FormatBool(!b))
	}
	return out
}

// items marks what the function may have read besides: the package's context, and
// resources that are for tools alone.
func (f *carried) items() {
	var inputs []input
	out, err := f.Again(f.Config, func(p *krm.Package) {
		for i, r := range p.Resources() {
			local, _ := r.Annotation(localConfig)
			if i >= len(f.docs) || local == "" || local == "false" || r.Kind() == "Kptfile" || r.Path() == f.ConfigFile {
				continue
			}
			for _, field := range slices.Sorted(maps.Keys(f.docs[i].leaves)) {
				if within(field, "data") || within(field, "spec") {
					m := mark(len(inputs))
					find(r.Edit().YNode(), field, func(n *yaml.Node) {
						inputs = append(inputs, input{origin: f.docs[i].leaves[field], mark: m})
						n.Value = marked(n.Value, m)
					})
				}
			}
		}
	})
	if err == nil && len(inputs) > 0 {
		f.claim(out, inputs, false)
	}
}

const localConfig = "config.kubernetes.io/local-config"

// replacements marks what each replacement copies.
func (f *carried) replacements() {
	config := yamltree.Copy(f.Config)
	var inputs []input
	for i, r := range yamltree.Items(config, "replacements") {
		source := yamltree.Child(r, "source")
		if source == nil {
			continue
		}
		inputs = append(inputs, input{origin: f.source(source), mark: mark(i)})
		yamltree.Remove(r, "source")
		yamltree.SetString(r, nil, "sourceValue", mark(i))
	}
	if out, err := f.Again(config, nil); err == nil && len(inputs) > 0 {
		f.claim(out, inputs, false)
	}
}

// source is the origin of the value that a replacement copies.
func (f *carried) source(source *yaml.Node) (found *Origin) {
	field := yamltree.Text(source, "fieldPath")
	if field == "" {
		field = "metadata.name"
	}
	want := kustomizePath(field)
	fits := func(key, have string) bool { want := yamltree.Text(source, key); return want == "" || want == have }
	for _, d := range f.docs {
		if !fits("group", d.id.Group) || !fits("kind", d.id.Kind) || !fits("namespace", d.id.Namespace) || !fits("name", d.id.Name) {
			continue
		}
		for field, o := range d.leaves {
			if plainPath(field) == want {
				return o
			}
		}
	}
	return nil
}

// kustomizePath and plainPath bring a path of kustomize's and one of ours to one form.
func kustomizePath(p string) string {
	return strings.NewReplacer(`\.`, ".", ".[", "[").Replace(p)
}

func plainPath(p string) string {
	var out strings.Builder
	for p != "" {
		open := strings.IndexByte(p, '[')
		if open < 0 {
			break
		}
		inside, rest, _ := strings.Cut(p[open+1:], "]")
		out.WriteString(p[:open])
		switch _, err := strconv.Atoi(inside); {
		case strings.Contains(inside, "="):
			out.WriteString("[" + inside + "]")
		case err == nil, out.Len() > 0:
			out.WriteString("." + inside)
		default:
			out.WriteString(inside)
		}
		p = rest
	}
	return out.String() + p
}

// claim notes which values of a package that was made of marked inputs show them.
// differ says that a value that is other is of the input as well. It reports
// whether there was any.
func (f *carried) claim(out *krm.Package, inputs []input, differ bool) (found bool) {
	now, other := f.After.Resources(), out.Resources()
	if len(now) != len(other) {
		return false
	}
	for i := range now {
		pairLeaves("", now[i].Node().YNode(), other[i].Node().YNode(), func(field string, a, b *yaml.Node) {
			at := claim{i, field}
			var seen []input
			for _, in := range inputs {
				in.carried = b != nil && strings.Contains(b.Value, in.mark)
				if in.carried || differ && (b == nil || a.Value != b.Value) {
					seen = append(seen, in)
				}
			}
			if len(seen) == 0 {
				return
			}
			if b != nil {
				slices.SortStableFunc(seen, func(x, y input) int {
					return strings.Index(b.Value, x.mark) - strings.Index(b.Value, y.mark)
				})
			}
			found = true
			for _, in := range seen {
				if !slices.ContainsFunc(f.claims[at], func(o input) bool { return o.origin == in.origin }) {
					f.claims[at] = append(f.claims[at], in)
				}
			}
		})
	}
	return found
}

// pairLeaves visits the leaves of a tree with what stands in their place in another
// one of the same making, nil where nothing does.
func pairLeaves(at string, a, b *yaml.Node, visit func(field string, a, b *yaml.Node)) {
	a, b = yamltree.Deref(a), yamltree.Deref(b)
	if b != nil && a.Kind != b.Kind {
		b = nil
	}
	switch {
	case len(a.Content) == 0:
		visit(at, a, b)
	case a.Kind == yaml.MappingNode:
		for k, v := range yamltree.Fields(a) {
			var other *yaml.Node
			if b != nil {
				other = yamltree.Child(b, k.Value)
			}
			pairLeaves(yamltree.JoinField(at, k.Value), v, other, visit)
		}
	default:
		for i, v := range a.Content {
			var other *yaml.Node
			if b != nil && i < len(b.Content) {
				other = b.Content[i]
			}
			pairLeaves(item(at, a, i), v, other, visit)
		}
	}
}

// unclaimed says that the function changed a value of which no input is known.
func (f *carried) unclaimed() bool {
	return slices.ContainsFunc(f.did.gone, func(l loss) bool { return l.by == nil }) || slices.ContainsFunc(f.did.set, func(p pending) bool {
		return len(f.claims[claim{p.doc, p.Field}]) == 0
	})
}

// mark is a text that no package holds, and that may stand in names, labels and tags.
func mark(i int) string { return "zqv" + strconv.Itoa(i) + "x" }

// marked is a value with a mark; of a list in text, each element's.
func marked(value, mark string) string {
	if strings.HasPrefix(strings.TrimSpace(value), "[") || strings.HasPrefix(strings.TrimSpace(value), "- ") {
		if list, err := yaml.Parse(value); err == nil && list.YNode().Kind == yaml.SequenceNode {
			for _, n := range list.YNode().Content {
				if n.Kind == yaml.ScalarNode {
					n.Value, n.Tag = n.Value+mark, ""
				}
			}
			if text, err := list.String(); err == nil {
				return text
			}
		}
	}
	return value + mark
}

// find visits the leaf at a field.
func find(root *yaml.Node, field string, visit func(*yaml.Node)) {
	var at *yaml.Node
	walk(root, "", func(f string, n *yaml.Node) {
		if f == field {
			at = n
		}
	})
	if at != nil {
		visit(at)
	}
}
