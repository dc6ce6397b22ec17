package importer

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/function"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/yamltree"
)

// APIVersion is that of the objects of imported packages.
const APIVersion = "fields.variform.dev/v1alpha1"

const configFile = "set-fields.yaml"

// folderAnnotation has a folder's path where that is not its object's name.
const folderAnnotation = "folder"

// pkg writes the model as a package, and an object for each folder.
func (m *model) pkg() (*Package, error) {
	out := &Package{Name: m.name, Kind: kindOf(m.name)}
	files, err := m.base()
	if err != nil {
		return nil, err
	}
	config, err := m.config(out.Kind)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(files, func(f krm.File) bool { return f.Path == configFile }) {
		return nil, fmt.Errorf("the folders have a file %s, which import writes: rename it", configFile)
	}
	kptfile := fmt.Sprintf("apiVersion: %s\nkind: Kptfile\nmetadata:\n  name: %s\npipeline:\n  mutators:\n  - image: ghcr.io/variform/set-fields\n    configPath: %s\n", kptfilev1.KptFileAPIVersion, path.Base(m.name), configFile)
	out.Files = append(files, krm.File{Path: configFile, Data: config}, krm.File{Path: kptfilev1.KptFileName, Data: []byte(kptfile)})
	slices.SortFunc(out.Files, func(a, b krm.File) int { return strings.Compare(a.Path, b.Path) })
	names := map[string]string{}
	for i, f := range m.folders {
		v := &Variant{Folder: f.Folder, Object: objectName(f.Path), Explained: m.explained[i]}
		for _, r := range m.resources {
			if r.of[i] != nil {
				v.Resources++
				v.Fields += r.of[i].fields
			}
		}
		v.Others = len(f.resources) - v.Resources
		if other, ok := names[v.Object]; ok {
			return nil, fmt.Errorf("the folders %s and %s would both have an object %s: rename one", other, f.Path, v.Object)
		}
		names[v.Object] = f.Path
		if v.Data, err = encode(m.object(i, out.Kind, v.Object)); err != nil {
			return nil, err
		}
		out.Folders = append(out.Folders, v)
		out.Fields, out.Others, out.Explained = out.Fields+v.Fields, out.Others+v.Others, out.Explained+v.Explained
	}
	out.PackageExpr = "target.name"
	if slices.ContainsFunc(out.Folders, func(v *Variant) bool { return v.Object != v.Folder.Path }) {
		out.PackageExpr = fmt.Sprintf("'%s' in target.annotations ? target.annotations['%s'] : target.name", folderAnnotation, folderAnnotation)
	}
	out.Parameters = m.report()
	out.Edits = m.edits()
	return out, nil
}

func kindOf(name string) string {
	return strings.TrimPrefix(camel("x "+path.Base(name)), "x") + "Fields"
}

func objectName(folder string) string {
	return strings.Trim(notWord.Regexp().ReplaceAllString(strings.ToLower(folder), "-"), "-")
}

// base writes the files of the base.
func (m *model) base() ([]krm.File, error) {
	of := map[*yaml.Node]*column{}
	for _, c := range m.columns {
		of[c.base] = c
	}
	byFile, paths := map[string][]*baseResource{}, []string(nil)
	for _, r := range m.resources {
		if byFile[r.file] == nil {
			paths = append(paths, r.file)
		}
		byFile[r.file] = append(byFile[r.file], r)
	}
	var out []krm.File
	for _, name := range paths {
		f, err := m.baseFile(name, byFile[name], of)
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return append(out, m.otherFiles(out)...), nil
}

// baseFile takes a file from the folder in the middle, with the values of the base.
func (m *model) baseFile(name string, resources []*baseResource, of map[*yaml.Node]*column) (krm.File, error) {
	center := resources[0].medoid
	for _, r := range resources {
		if r.of[r.medoid].Path() == name && m.inFile(resources, r.medoid) > m.inFile(resources, center) {
			center = r.medoid
		}
	}
	f, _ := m.folders[center].pkg.Read(name)
	p, err := krm.Parse([]krm.File{f})
	if err != nil {
		return f, err
	}
	for _, r := range p.Resources() {
		i := slices.IndexFunc(resources, func(b *baseResource) bool {
			return b.medoid == center && b.of[center].Path() == name && b.of[center].Index() == r.Index()
		})
		if i < 0 {
			r.Delete()
			continue
		}
		if !resources[i].anchored {
			inBase(r.Edit().YNode(), resources[i].of[center].Node().YNode(), of)
		}
	}
	for _, r := range resources {
		if r.medoid != center || r.of[center].Path() != name {
			node := r.of[r.medoid].Node()
			added := node.Copy()
			if !r.anchored {
				inBase(added.YNode(), node.YNode(), of)
			}
			p.Add(name, added)
		}
	}
	files, err := p.Files()
	if err != nil || len(files) != 1 {
		return f, fmt.Errorf("writing %s of the base: %w", name, err)
	}
	lines := strings.SplitAfter(string(files[0].Data), "\n")
	for i, line := range lines {
		if strings.HasPrefix(strings.TrimSpace(line), "#") {
			lines[i] = m.folders[center].inBase(m.folders[center].template(line))
		}
	}
	files[0].Data = []byte(strings.Join(lines, ""))
	return files[0], nil
}

// inBase gives a copy of a tree the values of the base; nil where nothing of it belongs
// there.
func inBase(copied, was *yaml.Node, of map[*yaml.Node]*column) *yaml.Node {
	if len(was.Content) == 0 {
		c := of[was]
		if c == nil {
			return copied
		}
		if c.value != nil && copied.Kind == yaml.ScalarNode && id(copied) != id(c.value) {
			like := plain(c.value)
			like.HeadComment, like.LineComment, like.FootComment, like.Anchor = copied.HeadComment, copied.LineComment, copied.FootComment, copied.Anchor
			if keep := copied.Style & (yaml.SingleQuotedStyle | yaml.DoubleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle); keep != 0 && like.Tag == yaml.NodeTagString {
				like.Style = keep
			}
			*copied = *like
		}
		if c.dropped {
			return nil
		}
		return copied
	}
	size := 1
	if was.Kind == yaml.MappingNode {
		size = 2
	}
	var kept []*yaml.Node
	for i := 0; i+size <= len(was.Content); i += size {
		if inBase(copied.Content[i+size-1], was.Content[i+size-1], of) != nil {
			kept = append(kept, copied.Content[i:i+size]...)
		}
	}
	if copied.Content = kept; len(kept) == 0 {
		return nil
	}
	return copied
}

// otherFiles are files without resources that most folders have.
func (m *model) otherFiles(taken []krm.File) (out []krm.File) {
	type content struct{ path, data string }
	n, of := map[content]int{}, map[content]krm.File{}
	for _, f := range m.folders {
		resources := map[string]bool{kptfilev1.KptFileName: true}
		for _, r := range f.pkg.Resources() {
			resources[r.Path()] = true
		}
		for _, file := range f.Files {
			if key := (content{file.Path, string(file.Data)}); !resources[file.Path] && file.Mode != krm.Symlink {
				n[key]++
				of[key] = file
			}
		}
	}
	for key, count := range n {
		if count >= m.most(len(m.folders)) && !slices.ContainsFunc(taken, func(f krm.File) bool { return f.Path == key.path }) {
			out = append(out, of[key])
		}
	}
	return out
}

// path is the column's in the base, as set-fields takes it.
func (c *column) path() string {
	parts := make([]string, len(c.steps))
	for i, s := range c.steps {
		switch {
		case s.by != nil:
			parts[i] = "[" + s.key + "=" + s.by.inPath() + "]"
		default:
			parts[i] = strings.ReplaceAll(s.key, ".", `\.`)
		}
	}
	return strings.Join(parts, ".")
}

// inPath is the column's value in the base.
func (c *column) inPath() string {
	if c.value == nil {
		return ""
	}
	return c.value.Value
}

func (r *baseResource) kindName() string {
	for _, of := range r.of {
		if of != nil {
			return of.Kind()
		}
	}
	return ""
}

func (r *baseResource) selector() function.FieldSelector {
	of := r.of[r.medoid]
	s := function.FieldSelector{Group: of.Group(), Kind: of.Kind(), Name: r.name.inPath(), File: r.file}
	if r.ambiguous && r.namespace != nil {
		s.Namespace = r.namespace.inPath()
	}
	return s
}

// config writes the functionConfig of set-fields.
func (m *model) config(kind string) ([]byte, error) {
	c := yamltree.Map()
	yamltree.SetString(c, nil, "apiVersion", APIVersion)
	yamltree.SetString(c, nil, "kind", kind)
	meta := yamltree.Map()
	yamltree.SetString(meta, nil, "name", objectName(m.name))
	yamltree.Set(meta, nil, "annotations", yamltree.StringMap(map[string]string{"config.kubernetes.io/local-config": "true", "kpt.dev/config-injection": "required"}))
	yamltree.Set(c, nil, "metadata", meta)
	spec := yamltree.Map()
	for i, n := range m.folders[0].Names {
		stand := n.Parameter
		if i == 0 {
			stand = placeholder
		}
		yamltree.Set(spec, nil, n.Parameter, yamltree.String(stand))
	}
	var rules []*yaml.Node
	for _, r := range m.rules {
		if r.from == nil && r.template == "" {
			yamltree.Set(spec, nil, r.name, plain(r.usual))
		}
		node := yamltree.Map()
		if r.name != "" {
			yamltree.SetString(node, nil, "name", r.name)
		}
		if r.template != "" {
			yamltree.SetString(node, nil, "value", r.template)
		}
		switch {
		case r.affix != "":
			yamltree.SetString(node, nil, "value", strings.ReplaceAll(r.affix, hole, "${"+r.from.name+"}"))
		case r.from != nil:
			yamltree.SetString(node, nil, "from", r.from.name)
			values := yamltree.Map()
			for _, from := range slices.Sorted(maps.Keys(r.values)) {
				yamltree.Set(values, nil, from, r.values[from])
			}
			yamltree.Set(node, nil, "values", values)
		}
		yamltree.Set(node, nil, "targets", m.targets(r))
		if r.name != "" {
			node.HeadComment = "# " + r.describe()
		}
		rules = append(rules, node)
	}
	yamltree.Set(c, nil, "spec", spec)
	yamltree.Set(c, nil, "fields", yamltree.Seq(rules...))
	return encode(c)
}

// describe names the first field of a rule.
func (r *rule) describe() string {
	c := r.columns[0]
	return fmt.Sprintf("%s: %s of %s %s", r.name, strings.ReplaceAll(c.path(), `\.`, "."), c.resource.kindName(), c.resource.name.inPath())
}

// targets are a rule's columns by resource, those that some folder lacks apart.
func (m *model) targets(r *rule) *yaml.Node {
	type key struct {
		of       *baseResource
		optional bool
	}
	at := map[key]*yaml.Node{}
	out := yamltree.Seq()
	for _, c := range r.columns {
		k := key{c.resource, slices.Contains(c.at, nil)}
		paths := at[k]
		if paths == nil {
			paths = yamltree.Seq()
			at[k] = paths
			sel := c.resource.selector()
			s := yamltree.Map()
			for _, f := range [][2]string{{"group", sel.Group}, {"kind", sel.Kind}, {"namespace", sel.Namespace}, {"name", sel.Name}, {"file", sel.File}} {
				if f[1] != "" {
					yamltree.SetString(s, nil, f[0], f[1])
				}
			}
			s.Style = yaml.FlowStyle
			target := yamltree.Map()
			yamltree.Set(target, nil, "select", s)
			yamltree.Set(target, nil, "fieldPaths", paths)
			if k.optional {
				yamltree.Set(target, nil, "optional", &yaml.Node{Kind: yaml.ScalarNode, Tag: yaml.NodeTagBool, Value: "true"})
			}
			out.Content = append(out.Content, target)
		}
		paths.Content = append(paths.Content, yamltree.String(c.path()))
	}
	return out
}

// object writes the values of one folder.
func (m *model) object(i int, kind, name string) *yaml.Node {
	f := m.folders[i]
	out := yamltree.Map()
	yamltree.SetString(out, nil, "apiVersion", APIVersion)
	yamltree.SetString(out, nil, "kind", kind)
	meta := yamltree.Map()
	yamltree.SetString(meta, nil, "name", name)
	if name != f.Path {
		yamltree.Set(meta, nil, "annotations", yamltree.StringMap(map[string]string{folderAnnotation: f.Path}))
	}
	yamltree.Set(out, nil, "metadata", meta)
	spec := yamltree.Map()
	for _, n := range f.Names {
		yamltree.Set(spec, nil, n.Parameter, yamltree.String(n.Value))
	}
	for _, r := range m.rules {
		if v := r.given(i); v != nil {
			yamltree.Set(spec, nil, r.name, plain(v))
		}
	}
	yamltree.Set(out, nil, "spec", spec)
	return out
}

// given is the value that a folder's object states.
func (r *rule) given(i int) *yaml.Node {
	if r.template != "" || r.from != nil {
		return r.stated[i]
	}
	if v := r.at(i); v != nil && (!r.isUsual || id(v) != id(r.usual)) {
		return v
	}
	return nil
}

func encode(n *yaml.Node) ([]byte, error) {
	text, err := yaml.NewRNode(n).String()
	return []byte(text), err
}

// report lists the parameters, contradictions first.
func (m *model) report() (out []*Parameter) {
	for i, n := range m.folders[0].Names {
		p := &Parameter{Name: n.Parameter, Path: true}
		values := map[string]int{}
		for _, f := range m.folders {
			values[f.Names[i].Value]++
		}
		p.Values = valuesOf(values)
		for _, r := range m.rules {
			if strings.Contains(r.template, "${"+n.Parameter+"}") {
				p.Fields += len(r.columns)
			}
		}
		out = append(out, p)
	}
	for _, r := range m.rules {
		if r.name == "" {
			continue
		}
		p := &Parameter{Name: r.name, Description: strings.TrimPrefix(r.describe(), r.name+": "), Fields: len(r.columns)}
		values := map[string]int{}
		for i := range m.folders {
			if v := r.at(i); v != nil {
				values[v.Value]++
			}
		}
		p.Values = valuesOf(values)
		switch {
		case r.template != "":
			p.Follows = r.template
		case r.from != nil:
			p.Follows = r.from.name
		case r.isUsual:
			p.Default = r.usual.Value
		}
		for i, f := range m.folders {
			if v := r.stated[i]; v != nil && (r.from == nil || r.from.ids[i] != "") {
				p.Contradictions = append(p.Contradictions, Contradiction{Folder: f.Path, Value: v.Value, Expected: r.expected(m, i)})
			}
		}
		out = append(out, p)
	}
	slices.SortStableFunc(out, func(a, b *Parameter) int {
		return cmp.Compare(min(1, len(b.Contradictions)), min(1, len(a.Contradictions)))
	})
	return out
}

// expected is the value that follows for a folder.
func (r *rule) expected(m *model, i int) string {
	if r.template != "" {
		return m.folders[i].expand(r.template)
	}
	from := textOf(r.from.ids[i])
	if r.affix != "" {
		return strings.ReplaceAll(r.affix, hole, from)
	}
	if v := r.values[from]; v != nil {
		return v.Value
	}
	return r.usual.Value
}

func valuesOf(n map[string]int) (out []Value) {
	for _, v := range slices.Sorted(maps.Keys(n)) {
		out = append(out, Value{v, n[v]})
	}
	slices.SortStableFunc(out, func(a, b Value) int { return cmp.Compare(b.Folders, a.Folders) })
	return out
}

// edits lists the columns whose values stay edits.
func (m *model) edits() (out []Edit) {
	for _, c := range m.columns {
		n := 0
		for i := range c.at {
			if c.at[i] != nil && (c.dropped || !m.isExplained(c, i)) {
				n++
			}
		}
		if n > 0 {
			why := c.why
			if why == "" {
				why = "few folders have it"
			}
			out = append(out, Edit{Field: fmt.Sprintf("%s of %s %s", c.path(), c.resource.kindName(), c.resource.name.inPath()), Folders: n, Why: why})
		}
	}
	slices.SortStableFunc(out, func(a, b Edit) int { return cmp.Compare(b.Folders, a.Folders) })
	return out
}
