package check

import (
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/yamltree"
)

// layout is how the files of a folder are used.
type layout struct {
	packages map[string]bool // folders with a Kptfile
	overlays map[string]bool // folders with a kustomization
	charts   map[string]bool // folders with templates of a Helm chart
	inputs   map[string]bool // files and folders of functions and kustomize
}

func layoutOf(p *krm.Package) layout {
	l := layout{packages: map[string]bool{}, overlays: map[string]bool{}, charts: map[string]bool{}, inputs: map[string]bool{}}
	for _, file := range p.Paths() {
		dir := path.Dir(file)
		switch path.Base(file) {
		case "Chart.yaml":
			l.charts[path.Join(dir, "templates")] = true
		case "kustomization.yaml", "kustomization.yml", "Kustomization":
			l.overlays[dir] = true
			f, _ := p.Read(file)
			var doc yaml.Node
			if yaml.Unmarshal(f.Data, &doc) == nil {
				l.kustomization(dir, &doc)
			}
		}
	}
	for _, r := range p.Resources() {
		if !isKptfile(r) {
			continue
		}
		dir := path.Dir(r.Path())
		l.packages[dir] = true
		for _, list := range []string{"mutators", "validators"} {
			for _, f := range yamltree.Items(r.Node().YNode(), "pipeline", list) {
				l.input(dir, yamltree.Text(f, "configPath"))
			}
		}
	}
	return l
}

// kustomization notes the files that a kustomization uses other than as resources.
func (l layout) kustomization(dir string, doc *yaml.Node) {
	for _, list := range []string{"patches", "patchesJson6902", "patchesStrategicMerge", "generators", "transformers", "validators", "configurations", "replacements"} {
		for _, item := range yamltree.Items(doc, list) {
			item = yamltree.Deref(item)
			if l.input(dir, yamltree.Text(item, "path")); yamltree.IsScalar(item) {
				l.input(dir, item.Value)
			}
		}
	}
	l.input(dir, yamltree.Text(doc, "openapi", "path"))
	for _, list := range []string{"configMapGenerator", "secretGenerator"} {
		for _, g := range yamltree.Items(doc, list) {
			for _, f := range yamltree.Items(g, "files") {
				_, file, named := strings.Cut(yamltree.Deref(f).Value, "=")
				if !named {
					file = yamltree.Deref(f).Value
				}
				l.input(dir, file)
			}
		}
	}
}

// input notes a file or folder that is not deployed as it is.
func (l layout) input(dir, file string) {
	if file != "" && !strings.Contains(file, "\n") && !strings.Contains(file, "://") {
		l.inputs[path.Join(dir, file)] = true
	}
}

// below reports whether a file is one of a set or in a folder of it.
func below(set map[string]bool, file string) bool {
	for len(set) > 0 && file != "." && file != "/" {
		if set[file] {
			return true
		}
		file = path.Dir(file)
	}
	return false
}

// unit returns what a file is deployed with: its package, or nothing else where it is in none or
// kustomize chooses from its folder.
func (l layout) unit(file string) string {
	for dir := path.Dir(file); ; dir = path.Dir(dir) {
		switch {
		case l.overlays[dir]:
			return file
		case l.packages[dir]:
			return dir
		case dir == "." || dir == "/":
			return file
		}
	}
}

// localConfig is the annotation of what stays in the package and is not deployed.
const localConfig = "config.kubernetes.io/local-config"

// excluded reports whether a resource is not deployed as it is.
func (c *checker) excluded(r *krm.Resource) bool {
	local, _ := r.Annotation(localConfig)
	group := r.Group()
	return isKptfile(r) || strings.HasPrefix(r.Path(), ".") || strings.Contains(r.Path(), "/.") || strings.EqualFold(local, "true") || slices.Contains([]string{"kpt.dev", "kustomize.config.k8s.io"}, group) ||
		below(c.layout.inputs, r.Path()) || below(c.layout.charts, r.Path())
}
