package catalog

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/api"
	"github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/internal/krm"
)

const (
	importedCRD = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: foos.x.io}\nspec: {group: x.io, names: {kind: Foo}, versions: [{name: v1, served: true}]}\n"
	importedUse = "apiVersion: x.io/v1\nkind: Foo\nmetadata: {name: a}\n---\napiVersion: y.io/v1\nkind: Foo\nmetadata: {name: b}\n---\napiVersion: v1\nkind: Service\nmetadata: {name: s}\n"
)

func importedKptfile(name, ref string) string {
	text := "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: " + name + "}\n"
	if ref != "" {
		text += "upstreamLock: {type: git, git: {repo: https://example.com/r, directory: /x, ref: " + ref + ", commit: c0}}\n"
	}
	return text
}

// told is what is worth to see of manifests, by their files.
func told(t *testing.T, out *Imported) map[string]string {
	t.Helper()
	got := map[string]string{}
	for _, f := range out.Files {
		var lines []string
		for _, doc := range strings.Split(string(f.Data), "---\n") {
			obj, report := api.Parse([]byte(doc))
			if err := report.Err(); err != nil {
				t.Fatalf("%s: %v\n%s", f.Path, err, doc)
			}
			m := obj.(*v1alpha1.PackageManifest)
			line := m.Name + " " + m.Spec.Version
			for _, p := range m.Spec.Provides {
				line += " +" + p.GVK.String()
			}
			for _, r := range m.Spec.Requires {
				line += " " + r.Alias + "=" + r.Package + r.Version
				if r.GVK != nil {
					line += r.GVK.String()
				}
			}
			lines = append(lines, line)
		}
		got[f.Path] = strings.Join(lines, "\n")
	}
	return got
}

func TestImport(t *testing.T) {
	const manifest = "apiVersion: variform.dev/v1alpha1\nkind: PackageManifest\nmetadata: {name: web}\nspec: {version: 9.0.0}\n"
	carvel := func(version string) string {
		return "apiVersion: data.packaging.carvel.dev/v1alpha1\nkind: Package\nspec: {refName: c.example.org, version: " + version + "}\n"
	}
	for name, tc := range map[string]struct {
		files          map[string]string
		anew           bool
		want           map[string]string
		notes, problem string
	}{
		"what resources bring and ask for": {
			files: map[string]string{"op/Kptfile": importedKptfile("op", ""), "op/crd.yaml": importedCRD, "a/use/Kptfile": importedKptfile("use", ""), "a/use/use.yaml": importedUse, "README.md": "x"},
			want:  map[string]string{"op/package.yaml": "op  +x.io/v1 Foo", "a/use/package.yaml": "a/use  foo=x.io/v1 Foo foo-2=y.io/v1 Foo"},
		},
		"the version of a lock that is one": {
			files: map[string]string{
				"a/Kptfile": importedKptfile("a", "x/v1.2.3"), "b/Kptfile": importedKptfile("b", "x/v3"), "c/Kptfile": importedKptfile("c", "main"), "d/Kptfile": importedKptfile("d", "v1.2"),
			},
			want: map[string]string{"a/package.yaml": "a 1.2.3", "b/package.yaml": "b ", "c/package.yaml": "c ", "d/package.yaml": "d "},
		},
		"the folder itself, with a package that is part of it": {
			files: map[string]string{"Kptfile": importedKptfile("web", ""), "sub/Kptfile": importedKptfile("sub", ""), "sub/crd.yaml": importedCRD},
			want:  map[string]string{"package.yaml": "web  +x.io/v1 Foo"},
		},
		"a manifest that is there stays": {
			files: map[string]string{"web/Kptfile": importedKptfile("web", ""), "web/package.yaml": manifest},
			want:  map[string]string{}, notes: "package web has a manifest already",
		},
		"unless it is to be made anew": {
			files: map[string]string{"web/Kptfile": importedKptfile("web", ""), "web/package.yaml": manifest}, anew: true,
			want: map[string]string{"web/package.yaml": "web "},
		},
		"another file in its place stays in any case": {
			files: map[string]string{"web/Kptfile": importedKptfile("web", ""), "web/package.yaml": "apiVersion: v1\nkind: Service\nmetadata: {name: s}\n"}, anew: true,
			want: map[string]string{}, problem: "package web: its package.yaml holds something else than a manifest",
		},
		"one that cannot be read stops no other": {
			files: map[string]string{"web/Kptfile": "a: b: c", "op/Kptfile": importedKptfile("op", "")},
			want:  map[string]string{"op/package.yaml": "op "}, problem: "package web: ",
		},
		"what .krmignore names is left out": {
			files: map[string]string{"web/Kptfile": importedKptfile("web", ""), "web/.krmignore": "gen\n", "web/gen/crd.yaml": importedCRD},
			want:  map[string]string{"web/package.yaml": "web "},
		},
		"a bundle in a package, with what its resources say": {
			files: map[string]string{"web/Kptfile": importedKptfile("web", ""), "web/crd.yaml": importedCRD, "web/porter.yaml": "name: w\nversion: 1.0.0\ndependencies: {requires: [{name: db, bundle: {reference: org/db, version: 14.x}}]}\n"},
			want:  map[string]string{"web/package.yaml": "web 1.0.0 +x.io/v1 Foo db=org/db14.x"},
		},
		"documents of others": {
			files: map[string]string{
				"p/porter.yaml": "name: w\nregistry: example.com\nversion: 1.0.0\n", "x/crossplane.yaml": "apiVersion: meta.pkg.crossplane.io/v1\nkind: Configuration\nspec: {dependsOn: [{provider: example.com/org/p, version: \">=1\"}]}\n",
				"c/all.yml": carvel("1.0.0") + "---\n" + carvel("1.1.0"),
			},
			want: map[string]string{"p/package.yaml": "example.com/w 1.0.0", "x/package.yaml": "x  p=example.com/org/p>=1", "c/all.manifest.yaml": "c.example.org 1.0.0\nc.example.org 1.1.0"},
		},
		"and those that were imported": {
			files: map[string]string{"c/all.yml": carvel("1.0.0"), "c/all.manifest.yaml": "x"},
			want:  map[string]string{}, notes: "c/all.yml: c/all.manifest.yaml is there already",
		},
		"one that is wrong": {
			files: map[string]string{"c/a.yml": carvel("")},
			want:  map[string]string{}, problem: "c/a.yml:1: a Package needs spec.refName and spec.version",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var files []krm.File
			for p, text := range tc.files {
				files = append(files, krm.File{Path: p, Data: []byte(text)})
			}
			out := Import(files, tc.anew)
			if d := cmp.Diff(tc.want, told(t, out)); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
			if got := strings.Join(out.Notes, "\n"); got != tc.notes {
				t.Errorf("notes %q", got)
			}
			var got string
			for _, p := range out.Problems {
				got += p.Error()
			}
			if tc.problem == "" && got != "" || !strings.Contains(got, tc.problem) {
				t.Errorf("problems %q", got)
			}
		})
	}
}
