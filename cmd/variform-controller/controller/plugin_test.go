package controller_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// kubectlOf are the commands of a page that need nothing of the web, in its order.
func kubectlOf(t *testing.T, page string) (out []string) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("(?m)^    (kubectl .*)$|`(kubectl [a-z]+ [^`]*)`").FindAllStringSubmatch(string(text), -1) {
		line := m[1] + m[2]
		if strings.Contains(line, "https://") || strings.Contains(line, " -k ") || line == "kubectl create secret docker-registry" {
			continue // another test installs; the last is the name of a command
		}
		out = append(out, line)
	}
	return out
}

// TestPlugin: what the page of the controller shows of kubectl does what it says, kubectl variform
// among it: a fleet of objects is approved from what kubectl get prints, and the controller
// goes on from there.
func TestPlugin(t *testing.T) {
	w := newWorld(t)
	if _, err := exec.LookPath("kubectl"); err != nil {
		t.Skip("skipped: kubectl is not on the PATH: run make controller")
	}
	w.pkg(w.repo("catalog"), "web")
	c1 := w.repo("c1")
	site := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: site}\ndata: {region: north}\n"
	set, fleet := fmt.Sprintf(webSet, "{name: c1}"), fmt.Sprintf(objectsFleet, "1s")
	w.apply(site, repository("catalog", w.git.RepoURL("catalog"), false), repository("c1", w.git.RepoURL("c1"), true), set, fleet)
	w.replica(2 * time.Second)
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
		"contexts": []any{map[string]any{"name": "x", "context": map[string]any{"cluster": "x", "user": "x", "namespace": w.namespace}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	run := func(line string) string {
		t.Helper()
		cmd := exec.Command("sh", "-c", line)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "PATH="+dir+string(filepath.ListSeparator)+os.Getenv("PATH"), "KUBECONFIG="+filepath.Join(dir, "config"), "VARIFORM_CACHE_DIR="+filepath.Join(dir, "cache"),
			"GIT_AUTHOR_NAME=Robin", "GIT_AUTHOR_EMAIL=robin@example.com", "GIT_COMMITTER_NAME=Robin", "GIT_COMMITTER_EMAIL=robin@example.com")
		var refused strings.Builder
		cmd.Stderr = &refused
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v\n%s%s", line, err, out, refused.String())
		}
		return string(out)
	}
	if err := os.WriteFile(filepath.Join(dir, "config"), config, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "prod"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, f := range []string{"secret", "credentials"} {
		if err := os.WriteFile(filepath.Join(dir, f), []byte("not one\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	system := w.namespace + "-system"
	w.apply("apiVersion: v1\nkind: Namespace\nmetadata: {name: " + system + "}\n")
	said := map[string]string{}
	for _, line := range kubectlOf(t, "../../../docs/controller.md") {
		said[line] = run(strings.NewReplacer("-n fleets ", "-n "+w.namespace+" ", "-n variform-system ", "-n "+system+" ").Replace(line))
	}
	if got := said["kubectl get leases -l variform.dev/lease=shard"]; strings.Count(got, "\n") != 2 || !strings.Contains(got, "-1-of-1 ") {
		t.Errorf("Leases of shards, one of the fleet:\n%s", got)
	}
	if len(said) != 6 {
		t.Errorf("the page has %d commands of kubectl that need no web: %v", len(said), said)
	}
	refs := c1.Refs(t)
	if len(branches(c1, t)) != 0 || refs["refs/tags/web/v1"] == "" {
		t.Fatalf("approved: %v", refs)
	}
	if got := c1.Show(t, "main", "web/site.yaml"); !strings.Contains(got, "region: north") {
		t.Errorf("on main:\n%s", got)
	}
	if got := run("kubectl variform plan -f prod --manager me -o name"); strings.TrimSpace(got) != "" {
		t.Errorf("left to do: %s", got)
	}
}
