package function

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"
	"github.com/kptdev/krm-functions-sdk/go/fn"

	"github.com/variform/variform/api"
	"github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/internal/injection"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/mutate"
	"github.com/variform/variform/internal/wiring"
)

// ValidatePackage checks a package and changes nothing
// (docs/design/functions.md): its Kptfiles, pipelines, injection points,
// readiness gates, identities and paths, and the kinds that Variform reads. Its
// functionConfig is absent or a ConfigMap with "strict"; strict makes unmet
// gates, repeated function names and outputs of resources that are not there
// errors instead of warnings.
func ValidatePackage(_ context.Context, c *Call) error {
	v := validation{Call: c, files: map[string]int{}, ids: map[id]*krm.Resource{}, dirs: map[string]bool{}}
	v.soft = fn.Warning
	if c.boolean(c.options("strict"), "strict") {
		v.soft = fn.Error
	}
	for _, p := range c.Package.Problems() {
		v.add(fn.Error, nil, "", "the YAML cannot be read at line %d: %v", p.Line, p.Err)
		c.Results[len(c.Results)-1].File = &fn.File{Path: p.Path}
	}
	var own []*krm.Resource
	for _, r := range c.Resources() {
		if a, _ := r.Annotation(v1alpha1.ContextAnnotation); a != "true" {
			own = append(own, r)
			v.files[r.Path()]++
			if isKptfile(r) {
				v.dirs[path.Dir(r.Path())] = true
			}
		}
	}
	for _, r := range own {
		v.identity(r)
		if isKptfile(r) {
			v.kptfile(r)
		} else if api.Handles(r.APIVersion(), r.Kind()) || api.Misplaced(r.APIVersion(), r.Kind()) {
			object, report := api.ParseNode(r.Node())
			c.issues(r, report)
			if m, ok := object.(*v1alpha1.PackageManifest); ok {
				v.outputs(r, m, report, own)
			}
		}
	}
	var points *injection.PointsError
	if errors.As(injection.Validate(injection.FindIn(own)), &points) {
		c.pointProblems(points.Problems)
	}
	count := map[fn.Severity]int{}
	for _, r := range c.Results {
		count[r.Severity]++
	}
	c.add(fn.Info, nil, "", "checked %s of %s: %s, %s", number(len(own), "resource"), number(len(v.dirs), "package"), number(count[fn.Error], "error"), number(count[fn.Warning], "warning"))
	c.fold()
	return nil
}

// outputs checks what a manifest's outputs are read from: that expressions
// compile, and that field paths name resources of the package.
func (v *validation) outputs(r *krm.Resource, m *v1alpha1.PackageManifest, report api.Report, own []*krm.Resource) {
	at := func(n int) string { return fmt.Sprintf("spec.outputs[%d].valueFrom", n) }
	compiled, err := wiring.Compile(m.Spec.Outputs)
	for _, e := range mutate.Split(err) {
		var mistake *wiring.MistakeError
		if !errors.As(e, &mistake) {
			v.add(fn.Error, r, "spec.outputs", "%v", e)
			continue
		}
		field := at(mistake.Index)
		if !slices.ContainsFunc(report.Errors, func(i api.Issue) bool { return i.Field == field }) {
			v.add(fn.Error, r, field, "%v", mistake)
		}
	}
	dir := v.packageOf(r.Path())
	inside := slices.DeleteFunc(slices.Clone(own), func(o *krm.Resource) bool {
		return dir != "." && !strings.HasPrefix(o.Path(), dir+"/")
	})
	for _, mistake := range compiled.Dangling(inside) {
		v.add(v.soft, r, at(mistake.Index), "%v; it is known only once the package has that resource", mistake)
	}
}

type validation struct {
	*Call
	soft  fn.Severity          // of what is a mistake only when strict
	files map[string]int       // documents per file
	dirs  map[string]bool      // folders with a Kptfile
	ids   map[id]*krm.Resource // the first of each identity
}

// id is a resource's identity within one package.
type id struct{ pkg, group, kind, namespace, name string }

func isKptfile(r *krm.Resource) bool {
	return path.Base(r.Path()) == kptfilev1.KptFileName && r.Kind() == kptfilev1.KptFileKind
}

// packageOf is the folder of the package that a file belongs to.
func (v *validation) packageOf(file string) string {
	for dir := path.Dir(file); ; dir = path.Dir(dir) {
		if v.dirs[dir] || dir == "." || dir == "/" {
			return dir
		}
	}
}

// identity reports a second resource of one identity in a package.
func (v *validation) identity(r *krm.Resource) {
	if r.Name() == "" {
		return
	}
	key := id{v.packageOf(r.Path()), r.Group(), r.Kind(), r.Namespace(), r.Name()}
	first, ok := v.ids[key]
	if !ok {
		v.ids[key] = r
		return
	}
	v.add(fn.Error, r, "metadata.name", "%s %s stands twice in one package, also in %s (document %d); rename or remove one",
		r.Kind(), r.Name(), first.Path(), first.Index())
}

// unsafePath says whether a path could leave its folder or is written in a way
// that hides where it goes.
func unsafePath(p string) bool {
	return p == "" || path.IsAbs(p) || path.Clean(p) != p || p == ".." || strings.HasPrefix(p, "../") ||
		strings.ContainsAny(p, "\\\x00")
}

// kptfile checks one Kptfile.
func (v *validation) kptfile(r *krm.Resource) {
	if r.APIVersion() != kptfilev1.KptFileAPIVersion {
		v.add(fn.Error, r, "apiVersion", "apiVersion is %q and must be %q", r.APIVersion(), kptfilev1.KptFileAPIVersion)
		return
	}
	var k kptfilev1.KptFile
	report := api.DecodeInto(r.Node(), &k)
	v.issues(r, report)
	if k.Name == "" {
		v.add(fn.Error, r, "metadata.name", "the Kptfile needs metadata.name, the package's name")
	}
	if _, err := mutate.Strategy(&k); err != nil {
		v.add(fn.Error, r, "upstream.updateStrategy", "%v", errors.Unwrap(err))
	}
	if k.Pipeline != nil {
		v.functions(r, "mutators", k.Pipeline.Mutators)
		v.functions(r, "validators", k.Pipeline.Validators)
	}
	v.gates(r, &k)
}

func (v *validation) gates(r *krm.Resource, k *kptfilev1.KptFile) {
	for _, unmet := range mutate.Unmet(k) {
		v.add(v.soft, r, "status.conditions", "readiness gate %q is not met: its condition is %s: %s", unmet.Type, unmet.Status, unmet.Message)
	}
}

// functions checks one list of a pipeline.
func (v *validation) functions(r *krm.Resource, field string, functions []kptfilev1.Function) {
	names := map[string]int{}
	for i := range functions {
		f := &functions[i]
		at := fmt.Sprintf("pipeline.%s[%d]", field, i)
		v.runnable(r, at, f)
		v.functionConfig(r, at, f)
		if first, ok := names[f.Name]; ok && f.Name != "" {
			v.add(v.soft, r, at+".name", "the name %q is also that of pipeline.%s[%d]; names tell functions apart in an update", f.Name, field, first)
		} else {
			names[f.Name] = i
		}
	}
}

func (v *validation) runnable(r *krm.Resource, at string, f *kptfilev1.Function) {
	switch {
	case f.Image == "" && f.Exec == "":
		v.add(fn.Error, r, at, "the function needs an image or an exec")
	case f.Image != "" && f.Exec != "":
		v.add(fn.Error, r, at, "the function has both image and exec; keep one")
	case f.Image != "":
		if err := kptfilev1.ValidateFunctionImageURL(f.Image); err != nil {
			v.add(fn.Error, r, at+".image", "%v", err)
		}
	}
}

func (v *validation) functionConfig(r *krm.Resource, at string, f *kptfilev1.Function) {
	if f.ConfigPath == "" {
		return
	}
	at += ".configPath"
	if len(f.ConfigMap) > 0 {
		v.add(fn.Error, r, at, "the function has both configPath and configMap; keep one")
	}
	clean := path.Clean(f.ConfigPath)
	if unsafePath(clean) {
		v.add(fn.Error, r, at, "%q is not a path inside the package", f.ConfigPath)
		return
	}
	switch n := v.files[path.Join(path.Dir(r.Path()), clean)]; {
	case n == 0:
		v.add(fn.Error, r, at, "no resource stands in %q; add the file or correct the path", f.ConfigPath)
	case n > 1:
		v.add(fn.Error, r, at, "%q holds %d resources and must hold one", f.ConfigPath, n)
	}
}
