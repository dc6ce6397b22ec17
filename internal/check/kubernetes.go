package check

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/version"

	"github.com/variform/variform/api"
)

// kubernetesGz is what tools/kubeschemas makes of the OpenAPI documents of Kubernetes,
// which are under the Apache License 2.0. That package describes the text.
//
//go:embed kubernetes.txt.gz
var kubernetesGz []byte

// minors is a set of minor versions of Kubernetes: bit i is the i-th of kubernetes.minors.
type minors uint

// form is what a field is in some minor versions.
type form struct {
	in       minors
	required bool
	expr     string // its type: see tools/kubeschemas
}

// builtin is a version of one of Kubernetes' own kinds.
type builtin struct {
	in      minors
	version string // of the group
	expr    string
}

// kubernetes is what the program knows of Kubernetes. It is never changed.
type kubernetes struct {
	minors []string                     // "1.30", oldest first
	types  map[string]map[string][]form // by name and field
	asked  map[string][]string          // the fields of a type that some minor version requires, in order
	kinds  map[groupKind][]builtin
	groups map[string][]string // kinds
}

type groupKind struct{ group, kind string }

// load reads the schemas once.
var load = sync.OnceValue(read)

func read() *kubernetes {
	r, err := gzip.NewReader(bytes.NewReader(kubernetesGz))
	if err != nil {
		panic(err) // the program is broken
	}
	text, err := io.ReadAll(r)
	if err != nil {
		panic(err)
	}
	return parse(string(text))
}

func parse(text string) *kubernetes {
	k := &kubernetes{types: map[string]map[string][]form{}, asked: map[string][]string{}, kinds: map[groupKind][]builtin{}, groups: map[string][]string{}}
	var fields map[string][]form // of the type above; nil below "kinds"
	of := ""
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		switch {
		case f[0] == "kubernetes":
			k.minors = append(k.minors, minorOf(f[1]))
			continue
		case f[0] == "type":
			of, fields = f[1], map[string][]form{}
			k.types[of] = fields
			continue
		case f[0] == "kinds":
			fields = nil
			continue
		}
		set, required := strings.CutSuffix(f[0], "!")
		in, _ := strconv.ParseUint(set, 16, 16)
		if fields != nil {
			fields[f[1]] = append(fields[f[1]], form{minors(in), required, f[2]})
			if asked := k.asked[of]; required && (len(asked) == 0 || asked[len(asked)-1] != f[1]) { // a field's lines follow each other
				k.asked[of] = append(asked, f[1])
			}
			continue
		}
		group, ofGroup := splitVersion(f[1])
		key := groupKind{group, f[2]}
		if k.kinds[key] == nil {
			k.groups[group] = append(k.groups[group], key.kind)
		}
		k.kinds[key] = append(k.kinds[key], builtin{minors(in), ofGroup, "." + f[3]})
	}
	for _, versions := range k.kinds {
		slices.SortFunc(versions, func(a, b builtin) int { return version.CompareKubeAwareVersionStrings(b.version, a.version) })
	}
	return k
}

// splitVersion returns group and version of an apiVersion.
func splitVersion(apiVersion string) (group, ofGroup string) {
	if group, ofGroup, ok := strings.Cut(apiVersion, "/"); ok {
		return group, ofGroup
	}
	return "", apiVersion
}

func joinVersion(group, ofGroup string) string {
	if group == "" {
		return ofGroup
	}
	return group + "/" + ofGroup
}

// minorOf returns 1.34 of 1.34.2 and v1.34.
func minorOf(v string) string {
	major, rest, _ := strings.Cut(strings.TrimPrefix(v, "v"), ".")
	minor, _, _ := strings.Cut(rest, ".")
	return major + "." + minor
}

// Known lists the minor versions of Kubernetes that the program has the schemas of, oldest first.
func Known() []string { return slices.Clone(load().minors) }

// selected returns the set of one minor version; "" is all of them. It is 0 for one
// that is not known.
func (k *kubernetes) selected(minor string) minors {
	if minor == "" {
		return 1<<len(k.minors) - 1
	}
	i := slices.Index(k.minors, minorOf(minor))
	if i < 0 {
		return 0
	}
	return 1 << i
}

// moved are kinds that are in another group now.
var moved = map[string]string{
	"Ingress": "networking.k8s.io/v1", "NetworkPolicy": "networking.k8s.io/v1",
	"Deployment": "apps/v1", "DaemonSet": "apps/v1", "ReplicaSet": "apps/v1",
}

// notApplied are kinds in Kubernetes' groups that no server is to get: a kubeconfig, and what
// schedulers read.
var notApplied = map[groupKind]bool{{"", "Config"}: true, {"", "Policy"}: true}

// find returns the type of a kind in the minor versions that have it among those given, or
// what is wrong with its version. It returns neither for a kind that is not Kubernetes'.
func (k *kubernetes) find(apiVersion, kind string, in minors) (expr string, found minors, wrong, hint string) {
	group, ofGroup := splitVersion(apiVersion)
	if k.groups[group] == nil && group != "extensions" || notApplied[groupKind{group, kind}] {
		return "", 0, "", ""
	}
	use := ""
	for _, v := range k.kinds[groupKind{group, kind}] {
		switch {
		case v.in&in == 0:
		case v.version == ofGroup:
			return v.expr, v.in & in, "", ""
		case use == "":
			use = joinVersion(group, v.version)
		}
	}
	switch {
	case group == "extensions" && moved[kind] != "":
		use = moved[kind]
	case use == "" && k.kinds[groupKind{group, kind}] == nil:
		hint = api.DidYouMean(kind, k.groups[group])
	}
	if use != "" {
		hint = "use " + use
	}
	return "", 0, fmt.Sprintf("%s does not serve %s %s", k.names(in), apiVersion, kind), hint
}

// names names minor versions in a message.
func (k *kubernetes) names(in minors) string {
	if i := slices.IndexFunc(k.minors, func(m string) bool { return k.selected(m) == in }); i >= 0 {
		return "Kubernetes " + k.minors[i]
	}
	return fmt.Sprintf("Kubernetes %s to %s", k.minors[0], k.minors[len(k.minors)-1])
}

// field returns the types of a field, one for each form that it has in the minor versions given.
func (k *kubernetes) field(typeName, name string, in minors) (expr []string) {
	for _, f := range k.types[typeName][name] {
		if f.in&in != 0 {
			expr = append(expr, f.expr)
		}
	}
	return expr
}

// required lists the fields that a type requires in all the minor versions given, in order.
func (k *kubernetes) required(typeName string, in minors) (names []string) {
	for _, name := range k.asked[typeName] {
		var required minors
		for _, f := range k.types[typeName][name] {
			if f.required {
				required |= f.in
			}
		}
		if in&^required == 0 {
			names = append(names, name)
		}
	}
	return names
}

// fieldNames lists the fields of a type in the minor versions given, in order.
func (k *kubernetes) fieldNames(typeName string, in minors) []string {
	return slices.Sorted(func(yield func(string) bool) {
		for name := range maps.Keys(k.types[typeName]) {
			if len(k.field(typeName, name, in)) > 0 && !yield(name) {
				return
			}
		}
	})
}
