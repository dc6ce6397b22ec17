package api

import (
	"fmt"
	"reflect"
	"sort"
	"strings"
	"sync"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/api/config/v1alpha2"
	variformv1alpha1 "github.com/variform/variform/api/variform/v1alpha1"
)

// fieldTable is a struct's fields by their JSON names, embedded ones included.
type fieldTable struct {
	byName map[string][]int
	names  []string        // sorted
	texts  map[string]bool // strings that may be written as numbers or booleans, too
}

var fieldTables sync.Map // reflect.Type -> *fieldTable

func fieldsOf(t reflect.Type) *fieldTable {
	if ft, ok := fieldTables.Load(t); ok {
		return ft.(*fieldTable)
	}
	ft := &fieldTable{byName: map[string][]int{}, texts: map[string]bool{}}
	ft.collect(t, nil)
	for name := range ft.byName {
		ft.names = append(ft.names, name)
	}
	sort.Strings(ft.names)
	fieldTables.Store(t, ft)
	return ft
}

func (ft *fieldTable) collect(t reflect.Type, prefix []int) {
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.IsExported() {
			continue
		}
		name, opts, _ := strings.Cut(f.Tag.Get("json"), ",")
		at := append(append([]int{}, prefix...), i)
		switch {
		case f.Anonymous && (name == "" || strings.Contains(opts, "inline")):
			ft.collect(f.Type, at)
		case name == "-":
		case name == "":
			ft.byName[f.Name] = at
		default:
			ft.byName[name] = at
			ft.texts[name] = strings.Contains(f.Tag.Get("jsonschema"), "oneof_type=string;")
		}
	}
}

// aliasOf is the documented name of a tolerated one
// (docs/design/kinds.md#porchs-kinds).
func aliasOf(t reflect.Type, name string) (string, bool) {
	if t == reflect.TypeOf(v1alpha2.PackageVariantTemplate{}) && name == "injectorExprs" {
		return "injectors", true
	}
	return "", false
}

// moved says where a field that is often written in a wrong place belongs.
var moved = map[reflect.Type]map[string]string{
	reflect.TypeOf(v1alpha2.PackageVariantSetSpec{}): placed("it belongs into spec.targets[].template",
		"adoptionPolicy", "deletionPolicy", "labels", "annotations", "labelExprs", "annotationExprs",
		"packageContext", "pipeline", "injectors", "template", "downstream"),
	reflect.TypeOf(v1alpha2.Target{}): placed("it belongs into this target's template",
		"adoptionPolicy", "deletionPolicy", "labels", "annotations", "labelExprs", "annotationExprs",
		"packageContext", "pipeline", "injectors", "injectorExprs", "downstream"),
	reflect.TypeOf(v1alpha2.ObjectSelector{}): placed("the namespace is always that of the set", "namespace"),
	reflect.TypeOf(v1alpha1.Downstream{}):     placed("approval numbers the downstream's revisions", "revision"),
	reflect.TypeOf(v1alpha1.PackageVariantSpec{}): placed("a PackageVariant is for one downstream; use a PackageVariantSet",
		"targets", "template"),
	reflect.TypeOf(v1alpha1.PackageVariant{}): placed("it belongs into spec", specNames(v1alpha1.PackageVariantSpec{})...),
	reflect.TypeOf(v1alpha2.PackageVariantSet{}): placed("it belongs into spec",
		specNames(v1alpha2.PackageVariantSetSpec{})...),
	reflect.TypeOf(variformv1alpha1.PackageManifest{}): placed("it belongs into spec",
		specNames(variformv1alpha1.PackageManifestSpec{})...),
	reflect.TypeOf(variformv1alpha1.Installation{}): placed("it belongs into spec",
		specNames(variformv1alpha1.InstallationSpec{})...),
	reflect.TypeOf(variformv1alpha1.InstallationSpec{}): placed("nothing is run for it: set image pull secrets, their policy and "+
		"annotations of a ServiceAccount in the package, or by the pipeline of its variant", "pull"),
	reflect.TypeOf(variformv1alpha1.InstallationDependencies{}): placed("a Secret is given to a credential of the dependency: "+
		"write spec.credentials: {<alias>.<credential>: {name: <a Secret>, key: <its key>}}", "values"),
	reflect.TypeOf(variformv1alpha1.Catalog{}):     placed("it belongs into spec", specNames(variformv1alpha1.CatalogSpec{})...),
	reflect.TypeOf(variformv1alpha1.PackageLock{}): placed("it belongs into spec", specNames(variformv1alpha1.PackageLockSpec{})...),
	reflect.TypeOf(v1alpha1.Repository{}):          placed("it belongs into spec", specNames(v1alpha1.RepositorySpec{})...),
	reflect.TypeOf(v1alpha1.RepositorySpec{}):      placed("it belongs into spec.git", "repo", "branch", "directory", "url"),
	reflect.TypeOf(v1alpha1.GitRepository{}):       placed(`the address is called "repo"`, "url", "uri", "address"),
	reflect.TypeOf(kptfilev1.Function{}):           placed("write the configuration as configMap, or name a file with configPath", "config", "functionConfig"),
}

func placed(hint string, names ...string) map[string]string {
	out := make(map[string]string, len(names))
	for _, n := range names {
		out[n] = hint
	}
	return out
}

func specNames(spec any) []string { return fieldsOf(reflect.TypeOf(spec)).names }

func unknownHint(t reflect.Type, name string, known []string) string {
	if hint := moved[t][name]; hint != "" {
		return hint
	}
	if name == "subpackageDir" {
		return "Porch's clone and upgrade tasks have it, no variant does: put the subpackage into the upstream package, or make it a variant beside this one"
	}
	if hint := didYouMean(name, known); hint != "" {
		return hint
	}
	if t == reflect.TypeOf(metav1.LabelSelector{}) || t == reflect.TypeOf(v1alpha2.ObjectSelector{}) {
		return fmt.Sprintf("labels to match belong into matchLabels: {%s: …}", name)
	}
	if len(known) <= 12 {
		return "the fields here are " + strings.Join(known, ", ")
	}
	return ""
}

// didYouMean names the nearest of the known words, empty where none is near.
func didYouMean(word string, known []string) string {
	best, least := "", 1+max(1, len(word)/3)
	for _, k := range known {
		if d := distance(strings.ToLower(word), strings.ToLower(k)); d < least {
			best, least = k, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("did you mean %q?", best)
}

// distance is the edit distance with swapped neighbours counted once.
func distance(a, b string) int {
	if a == b {
		return 0
	}
	rows := [3][]int{make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)}
	for j := range rows[1] {
		rows[1][j] = j
	}
	for i := 1; i <= len(a); i++ {
		two, one, now := rows[0], rows[1], rows[2]
		now[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			now[j] = min(one[j]+1, now[j-1]+1, one[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				now[j] = min(now[j], two[j-2]+1)
			}
		}
		rows[0], rows[1], rows[2] = one, now, two
	}
	return rows[1][len(b)]
}

// DidYouMean is `did you mean "x"?` for the nearest of the known words, empty
// where none is near.
func DidYouMean(word string, known []string) string { return didYouMean(word, known) }
