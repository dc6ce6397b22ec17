package controller_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestPlugin: a fleet of objects is approved by kubectl variform, the command, from what
// kubectl get prints; the controller goes on from there.
func TestPlugin(t *testing.T) {
	w := newWorld(t)
	kubectl, err := exec.LookPath("kubectl")
	if err != nil {
		t.Skip("skipped: kubectl is not on the PATH")
	}
	w.pkg(w.repo("catalog"), "web")
	c1 := w.repo("c1")
	site := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: site}\ndata: {region: north}\n"
	set, fleet := fmt.Sprintf(webSet, "{name: c1}"), fmt.Sprintf(objectsFleet, "1s")
	w.apply(site, repository("catalog", w.git.RepoURL("catalog"), false), repository("c1", w.git.RepoURL("c1"), true), set, fleet)
	w.start()
	w.says(fleet, "Ready", "True Reconciled")
	w.says(set, "Ready", "True")

	dir := t.TempDir()
	plugin := exec.Command("go", "build", "-o", filepath.Join(dir, "kubectl-variform"), "./cmd/variform")
	plugin.Dir = "../../.."
	if said, err := plugin.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	config, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Config", "current-context": "x",
		"clusters": []any{map[string]any{"name": "x", "cluster": map[string]any{"server": apiServer.Host, "certificate-authority-data": apiServer.CAData}}},
		"users":    []any{map[string]any{"name": "x", "user": map[string]any{"client-certificate-data": apiServer.CertData, "client-key-data": apiServer.KeyData}}},
		"contexts": []any{map[string]any{"name": "x", "context": map[string]any{"cluster": "x", "user": "x"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.Command(kubectl, args...)
		cmd.Env = append(os.Environ(), "PATH="+dir+string(filepath.ListSeparator)+os.Getenv("PATH"), "KUBECONFIG="+filepath.Join(dir, "config"), "VARIFORM_CACHE_DIR="+filepath.Join(dir, "cache"),
			"GIT_AUTHOR_NAME=Robin", "GIT_AUTHOR_EMAIL=robin@example.com", "GIT_COMMITTER_NAME=Robin", "GIT_COMMITTER_EMAIL=robin@example.com")
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	objects := filepath.Join(dir, "prod", "objects.yaml")
	if err := os.MkdirAll(filepath.Dir(objects), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "config"), config, 0o600); err != nil {
		t.Fatal(err)
	}
	text := run("get", "packagevariantsets,packagevariants,repositories,configmaps", "-n", w.namespace, "-o", "yaml")
	if err := os.WriteFile(objects, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	run("variform", "approve", "--all", "-f", filepath.Dir(objects), "--manager", "me")
	refs := c1.Refs(t)
	if len(branches(c1, t)) != 0 || refs["refs/tags/web/v1"] == "" {
		t.Fatalf("approved: %v", refs)
	}
	if got := c1.Show(t, "main", "web/site.yaml"); !strings.Contains(got, "region: north") {
		t.Errorf("on main:\n%s", got)
	}
	if got := run("variform", "plan", "-f", filepath.Dir(objects), "--manager", "me", "-o", "name"); strings.TrimSpace(got) != "" {
		t.Errorf("left to do: %s", got)
	}
}
