package fleet

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/internal/krm"
)

func repositoryOf(name, address string, labels map[string]string) *v1alpha1.Repository {
	r, err := NewRepository(metav1.ObjectMeta{Name: name, Labels: labels}, address, labels != nil)
	if err != nil {
		panic(err)
	}
	return r
}

func TestStartFiles(t *testing.T) {
	labels := map[string]string{"region": "eu", "env": "prod"}
	start := Start{
		Name: "123", Layout: LayoutExisting, Labels: labels, Package: "apps/Web_App", Version: "2",
		Catalog:  repositoryOf("catalog", "https://git.example.com/catalog.git@main", nil),
		Clusters: []*v1alpha1.Repository{repositoryOf("c1", "https://git.example.com/clusters.git//clusters/c1@main", labels)},
	}
	want := map[string]string{
		"Kptfile": `# The name marks every package that this fleet creates. Do not change it later.
apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: "123"
`,
		"repositories.yaml": `# Packages come from the first Repository, and go to the others.
# Sets select these by their labels: change the labels to what tells your clusters apart.
---
apiVersion: config.porch.kpt.dev/v1alpha1
kind: Repository
metadata:
  name: catalog
spec:
  type: git
  git:
    repo: https://git.example.com/catalog.git
    branch: main
---
apiVersion: config.porch.kpt.dev/v1alpha1
kind: Repository
metadata:
  name: c1
  labels:
    env: prod
    region: eu
spec:
  deployment: true
  type: git
  git:
    repo: https://git.example.com/clusters.git
    branch: main
    directory: clusters/c1
`,
		"web-app.yaml": `apiVersion: config.porch.kpt.dev/v1alpha2
kind: PackageVariantSet
metadata:
  name: web-app
spec:
  upstream:
    repo: catalog
    package: apps/Web_App
    revision: 2
  targets:
  - repositorySelector:
      matchLabels:
        env: prod
        region: eu
    template:
      adoptionPolicy: adoptExisting
`,
	}
	files, err := start.Files()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, f := range files {
		got[f.Path] = string(f.Data)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	start.Layout, start.Package = LayoutFolders, "repositories"
	if files, err = start.Files(); err != nil || files[2].Path != "set-repositories.yaml" || strings.Contains(string(files[2].Data), "adopt") {
		t.Errorf("%v: %s", err, files[2].Path)
	}
	start.Labels = map[string]string{"not a key": "x"}
	if _, err := start.Files(); err == nil {
		t.Error("a label that is none is written")
	}
}

// What exists is not overwritten, and then nothing else is written.
func TestWriteNew(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "fleet")
	if err := CheckNew(dir); err != nil {
		t.Fatal(err)
	}
	if err := WriteNew(dir, []krm.File{{Path: "web.yaml", Data: []byte("mine")}}); err != nil {
		t.Fatal(err)
	}
	err := WriteNew(dir, []krm.File{{Path: "Kptfile"}, {Path: "web.yaml", Data: []byte("theirs")}})
	if err == nil || !strings.Contains(err.Error(), "web.yaml exists: init only writes a new fleet") {
		t.Error(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "web.yaml"))
	if err != nil || string(text) != "mine" {
		t.Errorf("%s, %v", text, err)
	}
	if err := CheckNew(dir); err != nil { // no Kptfile was left behind
		t.Error(err)
	}
	for _, name := range StartFiles {
		if err := WriteNew(dir, []krm.File{{Path: name}}); err != nil {
			t.Fatal(err)
		}
		if err := CheckNew(dir); err == nil || !strings.Contains(err.Error(), "exists") {
			t.Errorf("%s: %v", name, err)
		}
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestStartAnswers(t *testing.T) {
	for text, want := range map[string]string{"1": LayoutFolders, "repositories": LayoutRepositories, "3": LayoutExisting, "0": "", "4": "", "folder": ""} {
		if got, err := ParseLayout(text); got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v", text, got, err)
		}
	}
	for of, want := range map[string]string{"c001": "c001", "EU_North 1": "eu-north-1", "_x.": "x"} {
		if got := nameFrom(of); got != want {
			t.Errorf("%s: %q", of, got)
		}
	}
	there := []string{"web-app", "ingress"}
	for word, want := range map[string]string{"ingress": "", "web-ap": `there is no package web-ap: did you mean "web-app"?`, "x": "there is no package x: choose one of web-app, ingress"} {
		got := ""
		if err := Known("package", word, there); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %q", word, got)
		}
	}
	repo := Checkout{Repository: repositoryOf("", "https://git.example.com/clusters.git//k8s", nil)}
	for name, tt := range map[string]struct {
		folders []string
		err     string
	}{
		"two":         {folders: []string{"c1", "C2"}},
		"none":        {err: "no cluster is named"},
		"the same":    {[]string{"c1", "C1"}, "two clusters would have the name c1"},
		"the catalog": {[]string{"catalog"}, "a cluster cannot have the name catalog"},
	} {
		got, err := repo.Folders(tt.folders, map[string]string{"env": "prod"})
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil || len(got) != 2 || got[1].Name != "c2" || got[0].Spec.Git.Directory != "k8s/c1" || got[1].Spec.Git.Directory != "k8s/C2" {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}
