package render

import (
	"errors"
	"fmt"
	"path"
	"reflect"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/yamltree"
)

// kptfileAPIVersion is the only version of Kptfiles that is rendered.
const kptfileAPIVersion = "kpt.dev/v1"

// Function is one entry of a Kptfile's pipeline, its image resolved.
type Function struct {
	Package    string // directory of the package, "" for the root
	Type       string // "mutators" or "validators"
	Index      int    // place in its list, from 0
	Name       string
	Image      string // resolved: registry, path, tag or digest; "" for exec
	Tag        string // the Kptfile's tag: a version or a semver constraint
	Exec       string
	ConfigPath string
	ConfigMap  map[string]string
	Selectors  []Selector
	Exclude    []Selector

	entry *yaml.Node // of the Kptfile that was read, a copy
}

// id is how messages call the function.
func (f Function) id() string {
	if f.Exec != "" {
		return "exec " + f.Exec
	}
	return f.Image
}

func (f Function) field() string { return fmt.Sprintf("pipeline.%s[%d]", f.Type, f.Index) }

func (f Function) fail(err error) *FunctionError {
	return &FunctionError{Package: f.Package, Type: f.Type, Index: f.Index, Name: f.Name, Function: f.id(), Err: err}
}

// pipelineDoc is the part of a Kptfile that rendering reads; what stands in
// pipeline is decoded strictly, the rest is not looked at.
type pipelineDoc struct {
	Mutators   []functionDoc `yaml:"mutators"`
	Validators []functionDoc `yaml:"validators"`
}

type functionDoc struct {
	Image      string            `yaml:"image"`
	Exec       string            `yaml:"exec"`
	ConfigPath string            `yaml:"configPath"`
	ConfigMap  map[string]string `yaml:"configMap"`
	Name       string            `yaml:"name"`
	Tag        string            `yaml:"tag"`
	Selectors  []Selector        `yaml:"selectors"`
	Exclude    []Selector        `yaml:"exclude"`
}

// readPipeline reads the functions of one package's Kptfile: mutators, then
// validators. All mistakes are reported at once.
func readPipeline(p *krm.Package, dir, registry string) ([]Function, []error) {
	kf, err := kptfile(p, dir)
	if err != nil {
		return nil, []error{&PipelineError{Package: dir, Err: err}}
	}
	var doc pipelineDoc
	if n := kf.Node().Field("pipeline"); n != nil && !n.Value.IsNilOrEmpty() {
		if errs := readStrictly(kf, dir, n.Value.YNode(), &doc); len(errs) > 0 {
			return nil, errs
		}
	}
	var fns []Function
	var errs []error
	add := func(sort string, docs []functionDoc) {
		entries := yamltree.Items(kf.Node().YNode(), "pipeline", sort)
		for i, d := range docs {
			f, bad := d.function(p, dir, sort, i, registry)
			f.entry = yaml.CopyYNode(entries[i])
			fns, errs = append(fns, f), append(errs, bad...)
		}
	}
	add("mutators", doc.Mutators)
	add("validators", doc.Validators)
	return fns, errs
}

func kptfile(p *krm.Package, dir string) (*krm.Resource, error) {
	kf := p.Kptfile(dir)
	if kf == nil {
		for _, problem := range p.Problems() {
			if problem.Path == path.Join(dir, "Kptfile") {
				return nil, fmt.Errorf("cannot be read: %w", problem.Err)
			}
		}
		return nil, fmt.Errorf("no resource of apiVersion %s and kind Kptfile in it", kptfileAPIVersion)
	}
	if kf.APIVersion() != kptfileAPIVersion {
		return nil, fmt.Errorf("apiVersion is %q, only %s is rendered; migrate the package with kpt first", kf.APIVersion(), kptfileAPIVersion)
	}
	return kf, nil
}

// readStrictly decodes a Kptfile's pipeline; a field that nobody reads is a mistake.
func readStrictly(kf *krm.Resource, dir string, n *yaml.Node, doc *pipelineDoc) []error {
	var errs []error
	for _, e := range checkFields(n, reflect.TypeFor[pipelineDoc](), "pipeline") {
		line := 0
		if e.line > 0 {
			line = e.line + kf.Line() - kf.Node().YNode().Line
		}
		errs = append(errs, &PipelineError{Package: dir, Field: e.field, Line: line, Err: errors.New(e.why)})
	}
	if len(errs) > 0 {
		return errs
	}
	if err := n.Decode(doc); err != nil {
		return []error{&PipelineError{Package: dir, Field: "pipeline", Err: err}}
	}
	return nil
}

func (d functionDoc) function(p *krm.Package, dir, sort string, i int, registry string) (Function, []error) {
	f := Function{
		Package: dir, Type: sort, Index: i, Name: d.Name, Tag: d.Tag, Exec: d.Exec,
		ConfigPath: d.ConfigPath, ConfigMap: d.ConfigMap, Selectors: d.Selectors, Exclude: d.Exclude,
	}
	var errs []error
	bad := func(field string, err error) {
		errs = append(errs, &PipelineError{Package: dir, Field: f.field() + field, Err: err})
	}
	switch {
	case d.Image == "" && d.Exec == "":
		bad("", errors.New("names neither an image nor an exec; give one of them"))
	case d.Image != "" && d.Exec != "":
		bad("", errors.New("names both an image and an exec; give one of them"))
	case d.Image != "":
		ref, err := parseImage(d.Image)
		if err != nil {
			bad(".image", err)
		}
		f.Image = ref.resolve(registry).String()
	}
	if d.ConfigPath != "" && len(d.ConfigMap) > 0 {
		bad("", errors.New("has both configPath and configMap; give one of them"))
	}
	if d.ConfigPath != "" {
		if err := checkConfigPath(p, dir, d.ConfigPath); err != nil {
			bad(".configPath", err)
		}
	}
	return f, errs
}

// checkConfigPath follows kpt: the file is below the package, is read as one
// of the package's resources, and holds exactly one of them.
func checkConfigPath(p *krm.Package, dir, config string) error {
	clean := path.Clean(config)
	switch {
	case strings.TrimSpace(config) == "", path.IsAbs(clean):
		return fmt.Errorf("%q is not a relative path", config)
	case strings.Contains(clean, ".."):
		return fmt.Errorf("%q leads out of the package", config)
	}
	return nil
}
