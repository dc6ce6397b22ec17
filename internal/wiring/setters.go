package wiring

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/lazyregexp"
	"github.com/variform/variform/internal/mutate"
	"github.com/variform/variform/internal/yamltree"
)

const (
	setterFunction = "apply-setters"
	// setterImage has no registry: kpt and Variform take it from the catalogue.
	setterImage = setterFunction + ":v0.2"
	// addedName tells the function that Apply adds from the author's.
	addedName = "wiring"
	// variantFunctions begins the names of functions that PackageVariants
	// prepend on each run; those stay first.
	variantFunctions = "PackageVariant."
)

var functionKeys = []string{"name", "image", "exec", "tag", "configPath", "configMap", "selectors", "exclude"}

// setters is where a package keeps the values of its setters.
type setters struct {
	functions []setterConfig
	comments  map[string][]string // setter -> directories of the packages with a comment that names it
}

// setterConfig is the configuration of one apply-setters function: the map at
// keys of a resource, or of the function at an index of a Kptfile's mutators.
type setterConfig struct {
	dir      string // of its Kptfile, "." for the root
	resource *krm.Resource
	mutator  int // in the Kptfile, -1 where the resource is the configuration
}

// data is the map of the setters' values, nil where there is none.
func (c *setterConfig) data(root *yaml.Node) *yaml.Node {
	if c.mutator < 0 {
		return yamltree.Child(root, "data")
	}
	mutators := yamltree.Path(root, "pipeline", "mutators")
	return yamltree.Child(mutators.Content[c.mutator], "configMap")
}

// set sets one setter's value.
func (c *setterConfig) set(name, value string) error {
	_, err := c.resource.Modify(func(root *yaml.Node) error {
		holder, key, order := root, "data", []string{"apiVersion", "kind", "metadata", "immutable", "data"}
		if c.mutator >= 0 {
			holder, key, order = yamltree.Path(root, "pipeline", "mutators").Content[c.mutator], "configMap", functionKeys
		}
		data := yamltree.Ensure(holder, order, key)
		if data == nil {
			return fmt.Errorf("%s of the %s function must be a map", key, setterFunction)
		}
		yamltree.SetString(data, nil, name, value)
		return nil
	})
	if err != nil {
		return fmt.Errorf("%s: %w", c.resource.Path(), err)
	}
	return nil
}

func (a *applier) setter(name, value string) error {
	if a.setters == nil {
		found, err := readSetters(a.pkg)
		if err != nil {
			return err
		}
		a.setters = found
	}
	used, err := a.setters.users(a.pkg, name)
	if err != nil {
		return err
	}
	var errs []error
	for _, c := range used {
		errs = append(errs, c.set(name, value))
	}
	return errors.Join(errs...)
}

// users are the configurations that a setter's value belongs into.
func (s *setters) users(p *krm.Package, name string) ([]*setterConfig, error) {
	var out []*setterConfig
	for i := range s.functions {
		c := &s.functions[i]
		if yamltree.Child(c.data(c.resource.Node().YNode()), name) != nil {
			out = append(out, c)
		}
	}
	if len(out) > 0 {
		return out, nil
	}
	if len(s.comments[name]) == 0 {
		return nil, fmt.Errorf("nothing in the package uses the setter %q: no %s function has it and no comment `# kpt-set: ${%s}` names it; correct to.setter or mark a field",
			name, setterFunction, name)
	}
	for _, dir := range s.comments[name] {
		c, err := s.nearest(p, dir)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(out, c) {
			out = append(out, c)
		}
	}
	return out, nil
}

// nearest is the configuration of the first apply-setters function in a package
// or one above it. Where there is none the root Kptfile gets one.
func (s *setters) nearest(p *krm.Package, dir string) (*setterConfig, error) {
	for ; ; dir = path.Dir(dir) {
		for i := range s.functions {
			if s.functions[i].dir == dir {
				return &s.functions[i], nil
			}
		}
		if dir == "." {
			break
		}
	}
	kptfile, err := mutate.Kptfile(p, "")
	if err != nil {
		return nil, err
	}
	c := setterConfig{dir: ".", resource: kptfile}
	_, err = kptfile.Modify(func(root *yaml.Node) error { return addFunction(root, &c.mutator) })
	if err != nil {
		return nil, fmt.Errorf("%s: %w", kptfile.Path(), err)
	}
	s.functions = append(s.functions, c)
	return &s.functions[len(s.functions)-1], nil
}

// addFunction puts an apply-setters function before the package's own mutators
// and says where.
func addFunction(root *yaml.Node, at *int) error {
	pipeline := yamltree.Ensure(root, kptfileKeys, "pipeline")
	if pipeline == nil {
		return errors.New("pipeline must be a map")
	}
	mutators := yamltree.EnsureSeq(pipeline, []string{"mutators", "validators"}, "mutators")
	if mutators == nil {
		return errors.New("pipeline.mutators must be a list")
	}
	*at = 0
	for *at < len(mutators.Content) && strings.HasPrefix(yamltree.Text(mutators.Content[*at], "name"), variantFunctions) {
		*at++
	}
	f := yamltree.Map()
	yamltree.SetString(f, nil, "name", addedName)
	yamltree.SetString(f, nil, "image", setterImage)
	yamltree.Set(f, nil, "configMap", yamltree.Map())
	mutators.Content = slices.Insert(mutators.Content, *at, f)
	return nil
}

func readSetters(p *krm.Package) (*setters, error) {
	s := &setters{comments: map[string][]string{}}
	dirs := append([]string{"."}, p.Subpackages()...)
	slices.Sort(dirs)
	dirs = slices.Compact(dirs)
	var errs []error
	for _, dir := range dirs {
		errs = append(errs, s.read(p, dir))
	}
	for _, r := range p.Resources() {
		if !ordinary(r) {
			continue
		}
		dir := path.Dir(r.Path())
		for dir != "." && !slices.Contains(dirs, dir) {
			dir = path.Dir(dir)
		}
		for _, name := range marked(r.Node().YNode(), nil) {
			if !slices.Contains(s.comments[name], dir) {
				s.comments[name] = append(s.comments[name], dir)
			}
		}
	}
	return s, errors.Join(errs...)
}

// read collects the apply-setters functions of one Kptfile.
func (s *setters) read(p *krm.Package, dir string) error {
	kptfile := p.Kptfile(dir)
	if kptfile == nil {
		return nil
	}
	mutators := yamltree.Path(kptfile.Node().YNode(), "pipeline", "mutators")
	if mutators == nil || mutators.Kind != yaml.SequenceNode {
		return nil
	}
	var errs []error
	for i, f := range mutators.Content {
		if !appliesSetters(f) {
			continue
		}
		file := yamltree.Text(f, "configPath")
		if file == "" {
			s.functions = append(s.functions, setterConfig{dir, kptfile, i})
			continue
		}
		config := configAt(p, path.Join(dir, file))
		if config == nil {
			errs = append(errs, fmt.Errorf("%s: pipeline.mutators[%d].configPath: no ConfigMap with setters stands in %q; add it or correct the path", kptfile.Path(), i, file))
			continue
		}
		s.functions = append(s.functions, setterConfig{dir, config, -1})
	}
	return errors.Join(errs...)
}

// appliesSetters says whether a function is apply-setters, by the last part of
// its image or its program.
func appliesSetters(f *yaml.Node) bool {
	image := path.Base(yamltree.Text(f, "image"))
	image, _, _ = strings.Cut(image, "@")
	image, _, _ = strings.Cut(image, ":")
	return image == setterFunction || path.Base(yamltree.Text(f, "exec")) == setterFunction
}

func configAt(p *krm.Package, file string) *krm.Resource {
	for _, r := range p.Resources() {
		if r.Path() == file && r.Kind() == "ConfigMap" {
			return r
		}
	}
	return nil
}

var (
	setterComment = lazyregexp.New(`^#\s*kpt-set:(.*)$`)
	setterName    = lazyregexp.New(`\$\{([^}]*)\}`)
)

// marked lists the setters that comments of a tree name.
func marked(n *yaml.Node, names []string) []string {
	if m := setterComment.FindStringSubmatch(n.LineComment); m != nil {
		for _, name := range setterName.Regexp().FindAllStringSubmatch(m[1], -1) {
			names = append(names, name[1])
		}
	}
	for _, c := range n.Content {
		names = marked(c, names)
	}
	return names
}
