package mutate

import (
	"path"
	"slices"
	"strings"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/yamltree"
)

// Furnish returns a folder without a Kptfile as the package that it is a copy of:
// with the Kptfiles of upstream, and with the files that nothing but their
// pipelines reads, where the folder lacks these. Such files are named by a
// configPath, or hold local-config resources alone. No file of the folder
// changes, and no resource of it comes a second time.
func Furnish(folder, upstream *krm.Package) (*krm.Package, error) {
	out := folder.Clone()
	there, of := map[krm.ID]bool{}, map[string][]*krm.Resource{}
	for _, r := range folder.Resources() {
		there[r.ID()] = true
	}
	for _, r := range upstream.Resources() {
		of[r.Path()] = append(of[r.Path()], r)
	}
	configs := map[string]bool{}
	for _, dir := range slices.Concat([]string{""}, upstream.Subpackages()) {
		at := path.Join(dir, kptfilev1.KptFileName)
		f, ok := upstream.Read(at)
		if !ok || !has(folder, dir) {
			continue
		}
		if _, has := folder.Read(at); !has {
			out.Write(f)
		}
		k, err := Kptfile(upstream, dir)
		if err != nil {
			return nil, err
		}
		for _, list := range []string{"mutators", "validators"} {
			for _, fn := range yamltree.Items(yamltree.Path(k.Node().YNode(), "pipeline", list)) {
				if at := yamltree.Text(fn, "configPath"); at != "" {
					configs[path.Join(dir, at)] = true
				}
			}
		}
	}
	for _, name := range upstream.Paths() {
		if _, ok := folder.Read(name); ok || name == PackageContextFile || path.Base(name) == kptfilev1.KptFileName || !has(folder, packageOf(upstream, name)) {
			continue
		}
		rs := of[name]
		if !configs[name] && (len(rs) == 0 || slices.ContainsFunc(rs, func(r *krm.Resource) bool { return !isLocal(r) })) {
			continue
		}
		if f, _ := upstream.Read(name); !slices.ContainsFunc(rs, func(r *krm.Resource) bool { return there[r.ID()] }) {
			out.Write(f)
		}
	}
	return out, nil
}

// has reports whether a package has a file in a folder.
func has(p *krm.Package, dir string) bool {
	return dir == "" || slices.ContainsFunc(p.Paths(), func(name string) bool { return strings.HasPrefix(name, dir+"/") })
}

func isLocal(r *krm.Resource) bool {
	return yamltree.Text(r.Node().YNode(), yaml.MetadataField, yaml.AnnotationsField, localConfig) == "true"
}
