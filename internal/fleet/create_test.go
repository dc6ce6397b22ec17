package fleet

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/variform/variform/api"
)

func document(t *testing.T, obj any, err error) string {
	t.Helper()
	if err != nil {
		return err.Error()
	}
	text, err := Document(obj)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func TestCreateRepository(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for name, tt := range map[string]struct{ address, want string }{
		"URL":                 {"https://git.example.com/c.git", "repo: https://git.example.com/c.git\n"},
		"folder and branch":   {"git@git.example.com:c.git//clusters/c1@prod", "repo: git@git.example.com:c.git\n    branch: prod\n    directory: clusters/c1\n"},
		"work tree":           {".", "repo: .\n"},
		"folder in work tree": {dir + "//packages", "repo: " + dir + "\n    directory: packages\n"},
		"no folder":           {"nowhere", `"nowhere" is neither the address of a Git repository nor a folder here`},
		"password":            {"https://me:secret@git.example.com/c.git", "the address has a password"},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := NewRepository(metav1.ObjectMeta{Name: "c1"}, tt.address, true)
			got := document(t, r, err)
			if !strings.Contains(got, tt.want) || strings.Contains(got, "secret") {
				t.Errorf("got\n%s\nwant %s", got, tt.want)
			}
		})
	}
	if got := document(t, NewOCIRepository(metav1.ObjectMeta{Name: "packages"}, "registry.example.com/packages"), nil); !strings.Contains(got, "type: oci\n  oci:\n    registry: registry.example.com/packages\n") {
		t.Error(got)
	}
}

func TestCreateSet(t *testing.T) {
	for name, tt := range map[string]struct {
		of, version, selector string
		repositories          []string
		adopt                 bool
		want                  string
	}{
		"label": {of: "catalog/apps/web", version: "v2", selector: "env=prod", want: `  upstream:
    repo: catalog
    package: apps/web
    revision: v2
  targets:
  - repositorySelector:
      matchLabels:
        env: prod
`},
		"names, the newest, adopted": {of: "catalog/web", repositories: []string{"c1", "c2"}, adopt: true, want: `  upstream:
    repo: catalog
    package: web
  targets:
  - repositories:
    - name: c1
    - name: c2
    template:
      adoptionPolicy: adoptExisting
`},
		"each operator": {of: "catalog/web", selector: "a==1,b!=2,c in (w,x),d notin (z),e,!f", want: `      matchLabels:
        a: "1"
      matchExpressions:
      - key: b
        operator: NotIn
        values:
        - "2"
      - key: c
        operator: In
        values:
        - w
        - x
      - key: d
        operator: NotIn
        values:
        - z
      - key: e
        operator: Exists
      - key: f
        operator: DoesNotExist
`},
		"a number to compare":    {of: "catalog/web", selector: "a>1", want: `a Repository is not selected by "gt"`},
		"no target":              {of: "catalog/web", want: "give --selector with their labels, or --repository"},
		"two ways":               {of: "catalog/web", selector: "a=b", repositories: []string{"c"}, want: "give --selector with their labels, or --repository"},
		"no package":             {of: "web", selector: "a=b", want: `--upstream "web": give REPOSITORY/PACKAGE`},
		"what plan would refuse": {of: "Catalog/web", selector: "a=b", want: "spec.upstream.repo"},
	} {
		t.Run(name, func(t *testing.T) {
			up, err := Upstream(tt.of, tt.version)
			if err != nil {
				if !strings.Contains(err.Error(), tt.want) {
					t.Error(err)
				}
				return
			}
			s, err := NewSet(metav1.ObjectMeta{Name: "web"}, up, tt.repositories, tt.selector, tt.adopt)
			if got := document(t, s, err); !strings.Contains(got, tt.want) {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

func TestCreateVariantAndInstallation(t *testing.T) {
	up, err := Upstream("catalog/web", "3")
	if err != nil {
		t.Fatal(err)
	}
	meta := metav1.ObjectMeta{Name: "web", Namespace: "team"}
	for to, want := range map[string]string{
		"c1":      "  downstream:\n    repo: c1\n    package: web\n",
		"c1/a/b":  "  downstream:\n    repo: c1\n    package: a/b\n",
		"c1/../x": "spec.downstream.package",
	} {
		if got := document(t, NewVariant(meta, up, to, false), nil); !strings.Contains(got, want) || strings.Contains(got, "adoptionPolicy") {
			t.Errorf("%s:\n%s", to, got)
		}
	}
	if got := document(t, NewVariant(meta, up, "c1", true), nil); !strings.HasPrefix(got, "---\n") || !strings.Contains(got, "adoptionPolicy: adoptExisting\n") || !strings.Contains(got, "namespace: team\n") {
		t.Error(got)
	}
	in := NewInstallation(meta, "c1", "shop", ">=1.4 <2")
	want := "---\napiVersion: variform.dev/v1alpha1\nkind: Installation\nmetadata:\n  namespace: team\n  name: web\nspec:\n  target: c1\n  package: shop\n  constraints: '>=1.4 <2'\n"
	text := document(t, in, nil)
	if diff := cmp.Diff(want, text); diff != "" {
		t.Error(diff)
	}
	if _, report := api.Parse([]byte(text)); report.Err() != nil {
		t.Error(report.Err())
	}
	if got := document(t, NewInstallation(meta, "c1", "shop", "no range"), nil); !strings.Contains(got, "spec.constraints") || strings.Contains(got, "line") {
		t.Error(got)
	}
}
