package install

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/variform/variform/internal/cli"
	"github.com/variform/variform/test/programs"
)

const root = "../.."

// copied is config/ in a folder of its own.
func copied(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "config")
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(root, "config"))); err != nil {
		t.Fatal(err)
	}
	return dir
}

func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(p string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(p)
		out[strings.TrimPrefix(filepath.ToSlash(p), filepath.ToSlash(dir)+"/")] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func variform(t *testing.T, args ...string) {
	t.Helper()
	var said bytes.Buffer
	if code := cli.Main(context.Background(), args, cli.Streams{In: strings.NewReader(""), Out: &said, Err: &said}); code != 0 {
		t.Fatalf("variform %v: %d\n%s", args, code, said.String())
	}
}

// TestRender: the package is rendered as it lies there, by functions that are built in,
// and its setters reach all places.
func TestRender(t *testing.T) {
	dir := copied(t)
	before := files(t, dir)
	variform(t, "render", dir)
	if d := cmp.Diff(before, files(t, dir)); d != "" {
		t.Errorf("config/ is not rendered (-there +rendered):\n%s", d)
	}
	file := filepath.Join(dir, "Kptfile")
	text := strings.Replace(before["Kptfile"], "pipeline:\n", `pipeline:
  mutators:
    - image: ghcr.io/kptdev/krm-functions-catalog/apply-setters:v0.2
      configMap: {namespace: fleet-system, image: registry.example.com/c, version: v9.9.9, replicas: "1", log-level: debug}
`, 1)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	variform(t, "render", dir)
	var all strings.Builder
	for name, text := range files(t, dir) {
		if strings.HasPrefix(name, "controller/") || strings.HasPrefix(name, "crd/") {
			all.WriteString(text)
		}
	}
	for _, old := range []string{"variform-system", "ghcr.io/variform", "v0.1.0"} {
		if strings.Contains(all.String(), old) {
			t.Errorf("%s stands in what was rendered with another", old)
		}
	}
	for _, want := range []string{"image: registry.example.com/c:v9.9.9 #", "replicas: 1 #", "- -zap-log-level=debug #"} {
		if !strings.Contains(all.String(), want) {
			t.Errorf("%s is nowhere", want)
		}
	}
}

// TestKpt: kpt reads and renders the package, too, and takes neither Porch's kinds nor
// the overlay for parts of it.
func TestKpt(t *testing.T) {
	if _, err := exec.LookPath("kpt"); err != nil {
		t.Skip("SKIPPED: kpt is not on the PATH")
	}
	validate := filepath.Join(programs.Functions(t), "validate-package")
	dir := copied(t)
	before := files(t, dir)
	text := regexp.MustCompile(`(?s)  validators:\n.*`).ReplaceAllString(before["Kptfile"], "  validators:\n    - exec: "+validate+"\n")
	if text == before["Kptfile"] {
		t.Fatal("the pipeline of config/Kptfile looks otherwise")
	}
	if err := os.WriteFile(filepath.Join(dir, "Kptfile"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	said, err := exec.Command("kpt", "fn", "render", dir, "--allow-exec").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	out, err := exec.Command("kpt", "fn", "source", dir).Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"kind: Deployment", "name: fleets.variform.dev"} {
		if !bytes.Contains(out, []byte(kind)) {
			t.Errorf("without %s", kind)
		}
	}
	for _, other := range []string{"repositories.config.porch.kpt.dev", "namespace: fleets"} {
		if bytes.Contains(out, []byte(other)) {
			t.Errorf("%s is no part of the package", other)
		}
	}
}

func kustomized(t *testing.T, dir string) string {
	t.Helper()
	options := krusty.MakeDefaultOptions()
	options.Reorder = krusty.ReorderOptionLegacy // as kubectl has it
	m, err := krusty.MakeKustomizer(options).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		t.Fatal(err)
	}
	text, err := m.AsYaml()
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestKustomize: which objects each folder is.
func TestKustomize(t *testing.T) {
	controller := []string{"Namespace", "CustomResourceDefinition", "ServiceAccount", "Role", "ClusterRole", "ClusterRole", "RoleBinding"}
	deployed := []string{"Service", "Deployment", "PodDisruptionBudget", "NetworkPolicy"}
	for folder, want := range map[string][]string{
		"":           slices.Concat(controller, []string{"ClusterRoleBinding", "ClusterRoleBinding"}, deployed),
		"namespaced": slices.Concat([]string{"Namespace"}, controller, []string{"RoleBinding", "RoleBinding"}, deployed),
		"porch":      {"CustomResourceDefinition", "CustomResourceDefinition", "CustomResourceDefinition"},
	} {
		text := kustomized(t, filepath.Join(root, "config", folder))
		var got []string
		for _, m := range regexp.MustCompile(`(?m)^kind: (.*)$`).FindAllStringSubmatch(text, -1) {
			got = append(got, m[1])
		}
		slices.Sort(got)
		slices.Sort(want)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("config/%s (-want +got):\n%s", folder, d)
		}
		kubectl, err := exec.LookPath("kubectl")
		if err != nil {
			t.Log("kubectl is not there: it was not asked")
			continue
		}
		out, err := exec.Command(kubectl, "kustomize", filepath.Join(root, "config", folder)).Output()
		if err != nil || string(out) != text {
			t.Errorf("kubectl kustomize config/%s: %v; it differs from the library:\n%s", folder, err, cmp.Diff(text, string(out)))
		}
	}
}

// TestWebhooks: the component adds to the controller of a kustomization what forges need
// to reach it, and no secret that is not there keeps the pod back.
func TestWebhooks(t *testing.T) {
	dir := t.TempDir()
	config, err := filepath.Abs(filepath.Join(root, "config"))
	if err != nil {
		t.Fatal(err)
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		t.Fatal(err)
	}
	at := func(folder string) string {
		rel, err := filepath.Rel(dir, filepath.Join(config, folder))
		if err != nil {
			t.Fatal(err)
		}
		return filepath.ToSlash(rel)
	}
	mine := fmt.Sprintf("resources: [%s]\ncomponents: [%s]\n", at(""), at("webhooks"))
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(mine), 0o644); err != nil {
		t.Fatal(err)
	}
	plain, text := kustomized(t, config), kustomized(t, dir)
	for _, want := range []string{
		"- -webhook-bind-address=:9443\n", "- -webhook-secret-file=/etc/variform/webhooks/secret\n", "name: variform-controller-webhooks\n",
		"targetPort: webhooks\n", "- port: webhooks\n", "containerPort: 9443\n          name: webhooks\n", "mountPath: /etc/variform/webhooks\n",
		"secret:\n          optional: true\n          secretName: variform-webhooks\n",
	} {
		if !strings.Contains(text, want) || strings.Contains(plain, want) {
			t.Errorf("%q is not what the component adds to\n%s", want, text)
		}
	}
}

func TestMain(m *testing.M) { os.Exit(programs.Main(m)) }
