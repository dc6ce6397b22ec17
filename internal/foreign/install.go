package foreign

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/api"
	"github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/resolver"
)

// carvelKind is the Foreign of a Carvel Package.
const carvelKind = "Carvel Package"

// Document names a Carvel Package in a file with several, as Carvel itself does.
func Document(p *resolver.Package) string { return p.Package + "." + p.Version }

// carvelInputs are what a PackageInstall takes beside its version, by name: what a Secret holds does not belong in Git.
func carvelInputs(base string) []v1alpha1.ManifestInput {
	input := func(name, path string) v1alpha1.ManifestInput {
		return v1alpha1.ManifestInput{
			ManifestField: v1alpha1.ManifestField{Name: name, Type: "string"}, Required: new(bool), To: &v1alpha1.InputTarget{FieldPath: path},
		}
	}
	return []v1alpha1.ManifestInput{
		input("serviceAccountName", "PackageInstall/"+base+":spec.serviceAccountName"),
		input("valuesSecret", "PackageInstall/"+base+":spec.values[0].secretRef.name"),
	}
}

// Installable reports whether a package is a Carvel Package, of which [Carvel] makes a kpt package, and adds what that takes. Its
// digest is that of the image with its content, or else of what it says.
func Installable(p *resolver.Package) bool {
	if p.Foreign != carvelKind {
		return false
	}
	if p.Foreign = ""; p.Digest == "" {
		own := *p
		own.Source = "" // a file's name
		said, _ := json.Marshal(own)
		p.Digest = fmt.Sprintf("sha256:%x", sha256.Sum256(said))
	}
	for _, in := range carvelInputs("x") {
		p.Parameters = append(p.Parameters, resolver.Field{Name: in.Name, Type: in.Type, Required: in.Required})
	}
	return true
}

// IsCarvel reports whether a file has documents of Carvel's packaging API.
func IsCarvel(file string, data []byte) bool {
	s := systemOf(file, data)
	return s != nil && s.kind == carvelKind
}

// Carvel returns a Carvel Package as a kpt package: the PackageInstall that installs its version, with its service
// account and its values, and a manifest of what it needs. Of a file with several it is the one that document names;
// "" is the only one. It is called name, or as it calls itself.
func Carvel(file string, data []byte, document, name string) (files []krm.File, digest string, err error) {
	docs, err := Whole(file, data)
	if err != nil {
		return nil, "", err
	}
	var found []resolver.Package
	if docs != nil {
		found = slices.DeleteFunc(docs.Packages, func(p resolver.Package) bool {
			return p.Foreign != carvelKind || document != "" && document != Document(&p)
		})
	}
	if len(found) != 1 {
		return nil, "", fmt.Errorf("%s has %d Carvel Packages %s; exactly one is needed", file, len(found), document)
	}
	p := &found[0]
	installed := *p
	Installable(&installed)
	refName, version := p.Package, p.Version
	if name != "" {
		p.Package = name
	}
	base := path.Base(p.Package)
	m, _ := Manifest(p)
	m.Spec.Parameters = append(m.Spec.Parameters, carvelInputs(base)...)
	if issues := api.Validate(m); len(issues) > 0 {
		return nil, "", fmt.Errorf("what %s needs cannot be said: %w", file, issues)
	}
	manifest, err := api.Encode(m)
	if err != nil {
		return nil, "", err
	}
	selection := map[string]any{"constraints": version}
	if strings.Contains(version, "-") { // which a constraint leaves out otherwise
		selection["prereleases"] = map[string]any{}
	}
	install, err := yaml.Marshal(map[string]any{
		"apiVersion": "packaging.carvel.dev/v1alpha1", "kind": "PackageInstall", "metadata": map[string]any{"name": base},
		"spec": map[string]any{
			"serviceAccountName": base + "-sa", "packageRef": map[string]any{"refName": refName, "versionSelection": selection},
			"values": []any{map[string]any{"secretRef": map[string]any{"name": base + "-values"}}},
		},
	})
	if err != nil {
		return nil, "", err
	}
	return []krm.File{
		{Path: "Kptfile", Data: fmt.Appendf(nil, "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: %s\ninfo:\n  description: Installs a Carvel Package with kapp-controller\n", base)},
		{Path: "package.yaml", Data: manifest},
		{Path: "packageinstall.yaml", Data: install},
		{Path: "serviceaccount.yaml", Data: fmt.Appendf(nil, "apiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: %s-sa\n", base)},
		{Path: "values.yaml", Data: fmt.Appendf(nil, "apiVersion: v1\nkind: Secret\nmetadata:\n  name: %s-values\n# Each key is a file of values. Encrypt them if they are secret, or name another Secret in packageinstall.yaml.\nstringData: {}\n", base)},
	}, installed.Digest, nil
}
