package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

const operatePage = "../../docs/operate-controller.md"

// composed is config/ with components of it, as a kustomization of one's own has them.
func composed(t testing.TB, components ...string) (out []*unstructured.Unstructured) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at, err := filepath.Abs(config)
	if err == nil {
		at, err = filepath.Rel(dir, at)
	}
	if err != nil {
		t.Fatal(err)
	}
	text := "resources: [" + at + "]\ncomponents:\n"
	for _, c := range components {
		text += "- " + filepath.Join(at, c) + "\n"
	}
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
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

// monitoring reads an object of the Prometheus Operator as strictly as its API.
func monitoring(t testing.TB, kind string, into any) {
	t.Helper()
	for _, u := range composed(t, "monitoring") {
		if u.GetKind() != kind {
			continue
		}
		data, err := yaml.Marshal(u.Object)
		if err == nil {
			err = yaml.UnmarshalStrict(data, into)
		}
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Fatalf("no %s", kind)
}

// TestAlerts: each alert asks for metrics that the controller has, and is explained where
// it points to; the page explains no other.
func TestAlerts(t *testing.T) {
	source, err := os.ReadFile("controller/metrics.go")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(operatePage)
	if err != nil {
		t.Fatal(err)
	}
	metric := regexp.MustCompile(`variform_[a-z_]+`)
	has := metric.FindAllString(string(source), -1)
	rules := &monitoringv1.PrometheusRule{}
	monitoring(t, "PrometheusRule", rules)
	var alerts []string
	for _, g := range rules.Spec.Groups {
		for _, r := range g.Rules {
			alerts = append(alerts, r.Alert)
			used := metric.FindAllString(r.Expr.String(), -1)
			if len(used) == 0 {
				t.Errorf("%s asks for no metric: %s", r.Alert, r.Expr.String())
			}
			for _, name := range used {
				if !slices.Contains(has, name) {
					t.Errorf("%s asks for %s, which nobody has", r.Alert, name)
				}
			}
			if _, anchor, _ := strings.Cut(r.Annotations["runbook_url"], filepath.Base(operatePage)+"#"); anchor != strings.ToLower(r.Alert) || r.Annotations["summary"] == "" || r.Labels["severity"] == "" || r.For == nil {
				t.Errorf("%s: %+v", r.Alert, r)
			}
		}
	}
	var explained []string
	for _, m := range regexp.MustCompile(`(?m)^### (Variform\w+)$`).FindAllStringSubmatch(string(page), -1) {
		explained = append(explained, m[1])
	}
	if !slices.Equal(alerts, explained) {
		t.Errorf("alerts are %v, explained are %v", alerts, explained)
	}
	for _, name := range has {
		if !strings.Contains(string(page), name) {
			t.Errorf("%s is not on the page", name)
		}
	}
	for _, name := range metric.FindAllString(string(page), -1) {
		if !slices.Contains(has, name) {
			t.Errorf("the page has %s, which nobody has", name)
		}
	}
	watched := &monitoringv1.ServiceMonitor{}
	monitoring(t, "ServiceMonitor", watched)
	if len(watched.Spec.Endpoints) != 1 || !watched.Spec.Endpoints[0].HonorLabels {
		t.Errorf("labels of metrics would be renamed: %+v", watched.Spec)
	}
}

// TestOperate: a real API server takes all that config/ has for operators, and the
// controller that runs by it answers probes and is measured.
func TestOperate(t *testing.T) {
	c := newCluster(t)
	for _, kind := range []string{"ServiceMonitor", "PrometheusRule"} {
		c.apply("", strings.NewReplacer("variform.dev", "monitoring.coreos.com", "v1alpha1", "v1").Replace(kindOfOurs(kind)))
	}
	c.install("porch")
	c.install("")
	for _, u := range composed(t, "monitoring", "webhooks") {
		if group := u.GroupVersionKind().Group; group == "monitoring.coreos.com" { // its kind is new
			c.until("there is a kind "+u.GetKind(), func() bool {
				return c.api.Apply(context.Background(), client.ApplyConfigurationFromUnstructured(u.DeepCopy()), client.FieldOwner("kubectl"), client.ForceOwnership) == nil
			})
			continue
		}
		c.applyObject(u)
	}
	for _, kind := range []string{"policy/v1 PodDisruptionBudget", "networking.k8s.io/v1 NetworkPolicy", "monitoring.coreos.com/v1 ServiceMonitor", "monitoring.coreos.com/v1 PrometheusRule", "apps/v1 Deployment"} {
		u := &unstructured.Unstructured{}
		version, kind, _ := strings.Cut(kind, " ")
		u.SetAPIVersion(version)
		u.SetKind(kind)
		if err := c.api.Get(context.Background(), client.ObjectKey{Namespace: system, Name: account}, u); err != nil {
			t.Error(err)
		}
		if kind == "Deployment" {
			text, _ := yaml.Marshal(u.Object["spec"])
			for _, want := range []string{"topologySpreadConstraints", "sizeLimit: 8Gi", "-zap-log-level=info"} {
				if !strings.Contains(string(text), want) {
					t.Errorf("the Deployment has no %s", want)
				}
			}
		}
	}
	metrics, probes := freeAddress(t), freeAddress(t)
	hooks := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(hooks, []byte("s"), 0o600); err != nil {
		t.Fatal(err)
	}
	c.start("-metrics-bind-address="+metrics, "-health-probe-bind-address="+probes, "-webhook-bind-address="+freeAddress(t), "-webhook-secret-file="+hooks, "-zap-log-level=debug", "-server-timeout=5s", "-run-deadline=2m")
	for _, probe := range []string{"/readyz", "/healthz"} {
		c.until(probe+" passes", func() bool { code, _ := fetched("http://" + probes + probe); return code == http.StatusOK })
	}
	missing := ""
	c.Cleanup(func() {
		if t.Failed() {
			t.Logf("metrics lack %q", missing)
		}
	})
	c.until("metrics are told", func() bool {
		_, text := fetched("http://" + metrics + "/metrics")
		for _, missing = range []string{"variform_run_deadline_seconds 120\n", "variform_runs{lane=\"quick\"} 0\n", "variform_runs{lane=\"slow\"} 0\n", "variform_runs_overdue 0\n", "variform_shards_held 0\n"} {
			if !strings.Contains(text, missing) {
				return false
			}
		}
		return true
	})
}

func fetched(url string) (code int, text string) {
	resp, err := http.Get(url)
	if err != nil {
		return 0, ""
	}
	defer func() { _ = resp.Body.Close() }()
	data, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(data)
}

// freeAddress is one that nobody listens at.
func freeAddress(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return fmt.Sprint(l.Addr())
}
