package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// The names that config/ gives.
const (
	system  = "variform-system"
	account = "variform-controller"
	config  = "../../config"
)

// cluster is a real API server with rights by role, whose audit log says who asked for
// what. Nothing runs pods or fills aggregated roles: tests do that.
type cluster struct {
	testing.TB
	api   client.Client
	admin string // kubeconfig
	audit string // file
	token string // of the controller's ServiceAccount
	host  string
	ca    []byte

	patience time.Duration // for what is waited for; 0 is enough for a few variants
	pid      int           // of the controller that was started last
}

const auditPolicy = "apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived, ResponseStarted]\nrules:\n- level: Metadata\n  users: [system:serviceaccount:" + system + ":" + account + "]\n- level: None\n"

func newCluster(t *testing.T) *cluster {
	t.Helper()
	if os.Getenv("TEST_ASSET_KUBE_APISERVER") == "" {
		t.Skip("skipped: TEST_ASSET_KUBE_APISERVER and TEST_ASSET_ETCD name no API server and etcd: run make controller")
	}
	dir := t.TempDir()
	policy, audit := filepath.Join(dir, "policy.yaml"), filepath.Join(dir, "audit.log")
	if err := os.WriteFile(policy, []byte(auditPolicy), 0o600); err != nil {
		t.Fatal(err)
	}
	env := &envtest.Environment{}
	env.ControlPlane.GetAPIServer().Configure().Set("audit-policy-file", policy).Set("audit-log-path", audit)
	cfg, err := env.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := env.Stop(); err != nil {
			t.Error(err)
		}
	})
	api, err := client.New(cfg, client.Options{Scheme: clientgoscheme.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	admin, err := env.AddUser(envtest.User{Name: "admin", Groups: []string{"system:masters"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig, err := admin.KubeConfig()
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{TB: t, api: api, audit: audit, admin: filepath.Join(dir, "admin"), host: cfg.Host, ca: cfg.CAData}
	if err := os.WriteFile(c.admin, kubeconfig, 0o600); err != nil {
		t.Fatal(err)
	}
	return c
}

// built is what kustomize makes of a folder of config/.
func built(t testing.TB, folder string) (out []*unstructured.Unstructured) {
	t.Helper()
	m, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), filepath.Join(config, folder))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range m.Resources() {
		data, err := r.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		u := &unstructured.Unstructured{}
		if err := u.UnmarshalJSON(data); err != nil {
			t.Fatal(err)
		}
		out = append(out, u)
	}
	return out
}

// install applies a folder of config/ as kubectl apply --server-side -k does, with kubectl
// where that is, and brings the pod's rights up to date.
func (c *cluster) install(folder string) {
	c.Helper()
	if kubectl, err := exec.LookPath("kubectl"); err == nil {
		out, err := exec.Command(kubectl, "--kubeconfig", c.admin, "apply", "--server-side", "-k", filepath.Join(config, folder)).CombinedOutput()
		if err != nil {
			c.Fatalf("%v\n%s", err, out)
		}
	} else {
		c.Log("kubectl is not there: kustomize's library and server-side apply do its part")
	}
	for _, u := range built(c, folder) {
		c.applyObject(u)
	}
	c.aggregate()
	for _, u := range built(c, folder) {
		if u.GetKind() == "CustomResourceDefinition" {
			c.until("established "+u.GetName(), func() bool {
				live := u.DeepCopy()
				if err := c.api.Get(context.Background(), client.ObjectKeyFromObject(u), live); err != nil {
					c.Fatal(err)
				}
				return says(live, "Established") == "True InitialNamesAccepted"
			})
		}
	}
}

func (c *cluster) applyObject(u *unstructured.Unstructured) {
	c.Helper()
	// The field manager is kubectl's own: both do the same.
	if err := c.api.Apply(context.Background(), client.ApplyConfigurationFromUnstructured(u), client.FieldOwner("kubectl")); err != nil {
		c.Fatalf("%s %s: %v", u.GetKind(), u.GetName(), err)
	}
}

// apply applies documents, into a namespace where they name none.
func (c *cluster) apply(namespace string, docs ...string) {
	c.Helper()
	for _, doc := range docs {
		c.applyObject(c.object(namespace, doc))
	}
}

func (c *cluster) object(namespace, doc string) *unstructured.Unstructured {
	c.Helper()
	u := &unstructured.Unstructured{}
	data, err := yaml.YAMLToJSON([]byte(doc))
	if err == nil {
		err = u.UnmarshalJSON(data)
	}
	if err != nil {
		c.Fatalf("%v in\n%s", err, doc)
	}
	if u.GetNamespace() == "" && namespace != "" {
		u.SetNamespace(namespace)
	}
	return u
}

func (c *cluster) get(namespace, doc string) *unstructured.Unstructured {
	c.Helper()
	u := c.object(namespace, doc)
	if err := c.api.Get(context.Background(), client.ObjectKeyFromObject(u), u); err != nil {
		c.Fatal(err)
	}
	return u
}

// aggregate does what kube-controller-manager does for aggregated roles.
func (c *cluster) aggregate() {
	c.Helper()
	list := &rbacv1.ClusterRoleList{}
	if err := c.api.List(context.Background(), list); err != nil {
		c.Fatal(err)
	}
	for n := range list.Items {
		role := &list.Items[n]
		if role.AggregationRule == nil || !strings.HasPrefix(role.Name, account) {
			continue
		}
		role.Rules = nil
		for _, s := range role.AggregationRule.ClusterRoleSelectors {
			found := &rbacv1.ClusterRoleList{}
			if err := c.api.List(context.Background(), found, client.MatchingLabels(s.MatchLabels)); err != nil {
				c.Fatal(err)
			}
			for _, from := range found.Items {
				role.Rules = append(role.Rules, from.Rules...)
			}
		}
		if err := c.api.Update(context.Background(), role); err != nil {
			c.Fatal(err)
		}
	}
}

// says is "Status Reason" of a condition.
func says(u *unstructured.Unstructured, kind string) string {
	list, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	for _, c := range list {
		if c := c.(map[string]any); c["type"] == kind {
			return fmt.Sprintf("%s %s", c["status"], c["reason"])
		}
	}
	return ""
}

func (c *cluster) wait() time.Duration { return cmp.Or(c.patience, 90*time.Second) }

func (c *cluster) until(what string, ok func() bool) {
	c.Helper()
	for end := time.Now().Add(c.wait()); !ok(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			c.Fatalf("never %s", what)
		}
	}
}

// waitFor waits for a condition of an object's present generation.
func (c *cluster) waitFor(namespace, doc, kind, want string) {
	c.Helper()
	got := ""
	for end := time.Now().Add(c.wait()); ; time.Sleep(100 * time.Millisecond) {
		u := c.get(namespace, doc)
		list, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
		for _, e := range list {
			if e := e.(map[string]any); e["type"] == kind && e["observedGeneration"] == u.GetGeneration() {
				got = fmt.Sprintf("%s %s: %s", e["status"], e["reason"], e["message"])
			}
		}
		if strings.HasPrefix(got, want) {
			return
		}
		if time.Now().After(end) {
			c.Fatalf("%s of %s is %q, want %q", kind, u.GetName(), got, want)
		}
	}
}

// program is the controller's binary, built once.
var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "variform-controller-")
	if err != nil {
		return "", err
	}
	to := filepath.Join(dir, account)
	if said, err := exec.Command("go", "build", "-o", to, ".").CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, said)
	}
	return to, nil
})

func TestMain(m *testing.M) {
	log.SetLogger(zap.New(zap.WriteTo(io.Discard))) // envtest's
	status := m.Run()
	if os.Getenv("TEST_ASSET_KUBE_APISERVER") != "" {
		if p, err := program(); err == nil {
			_ = os.RemoveAll(filepath.Dir(p))
		}
	}
	os.Exit(status)
}

// start runs the program as the installed ServiceAccount, with the arguments of the
// installed Deployment and more, until the test ends or stop is called.
func (c *cluster) start(more ...string) (stop func(), said *bytes.Buffer) {
	c.Helper()
	exe, err := program()
	if err != nil {
		c.Fatal(err)
	}
	dir := c.TempDir()
	if c.token == "" {
		request := &authenticationv1.TokenRequest{}
		who := &corev1.ServiceAccount{}
		who.Namespace, who.Name = system, account
		if err := c.api.SubResource("token").Create(context.Background(), who, request); err != nil {
			c.Fatal(err)
		}
		c.token = request.Status.Token
	}
	kubeconfig, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Config", "current-context": "x",
		"clusters": []any{map[string]any{"name": "x", "cluster": map[string]any{"server": c.host, "certificate-authority-data": c.ca}}},
		"users":    []any{map[string]any{"name": "x", "user": map[string]any{"token": c.token}}},
		"contexts": []any{map[string]any{"name": "x", "context": map[string]any{"cluster": "x", "user": "x"}}},
	})
	if err != nil {
		c.Fatal(err)
	}
	file := filepath.Join(dir, "kubeconfig")
	if err := os.WriteFile(file, kubeconfig, 0o600); err != nil {
		c.Fatal(err)
	}
	args := append(deployed(c, c.api), "-lease-namespace="+system, "-metrics-bind-address=0", "-health-probe-bind-address=0")
	cmd := exec.Command(exe, append(args, more...)...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+file, "TMPDIR="+dir, "PATH=/nothing") // as in its image: no Git
	said = &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		c.Fatal(err)
	}
	c.pid = cmd.Process.Pid
	var once sync.Once
	stop = func() {
		once.Do(func() {
			_ = cmd.Process.Signal(os.Interrupt)
			if err := cmd.Wait(); err != nil {
				c.Errorf("the controller: %v\n%s", err, said)
			}
			if c.Failed() {
				c.Logf("%s", said)
			}
		})
	}
	c.Cleanup(stop)
	return stop, said
}

// deployed are the arguments of the Deployment in the API.
func deployed(t testing.TB, api client.Client) []string {
	t.Helper()
	u := &unstructured.Unstructured{}
	u.SetAPIVersion("apps/v1")
	u.SetKind("Deployment")
	if err := api.Get(context.Background(), client.ObjectKey{Namespace: system, Name: account}, u); err != nil {
		t.Fatal(err)
	}
	containers, _, _ := unstructured.NestedSlice(u.Object, "spec", "template", "spec", "containers")
	args, _, _ := unstructured.NestedStringSlice(containers[0].(map[string]any), "args")
	return args
}

// request is one that the controller made, as a rule would allow it.
type request struct {
	group, resource, verb string
	namespace             string // "" is all
	as                    string // the user whose rights counted, "" for the controller's own
	forbidden             bool
}

// requests are those of the audit log.
func (c *cluster) requests() (out []request) {
	c.Helper()
	f, err := os.Open(c.audit)
	if err != nil {
		c.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var e struct {
			Verb        string
			Annotations map[string]string
			ObjectRef   *struct{ APIGroup, Resource, Subresource, Namespace string }

			ImpersonatedUser struct{ Username string }
			ResponseStatus   struct{ Code int }
		}
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			c.Fatal(err)
		}
		if e.ObjectRef == nil {
			continue // discovery, which everybody may do
		}
		r := request{group: e.ObjectRef.APIGroup, resource: e.ObjectRef.Resource, verb: e.Verb, namespace: e.ObjectRef.Namespace, as: e.ImpersonatedUser.Username}
		if e.ObjectRef.Subresource != "" {
			r.resource += "/" + e.ObjectRef.Subresource
		}
		r.forbidden = e.Annotations["authorization.k8s.io/decision"] == "forbid" || e.ResponseStatus.Code == http.StatusForbidden
		out = append(out, r)
	}
	return out
}
