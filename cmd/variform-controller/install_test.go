package main

import (
	"bytes"
	"cmp"
	"context"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/variform/variform/examples"
	"github.com/variform/variform/test/gittest"
)

var update = flag.Bool("update", false, "write config/controller/rights.yaml from what the controller asked for")

// example lays the example fleet out on a Git server; its management directory is the
// repository fleet.
func example(t testing.TB, s *gittest.Server) map[string]*gittest.Repo {
	t.Helper()
	repos := map[string]*gittest.Repo{}
	repo := func(name string) *gittest.Repo {
		repos[name] = s.NewRepo(t, name)
		repos[name].Commit(t, "main", "begin", gittest.Text{"README.md": name + "\n"})
		return repos[name]
	}
	for n := range 12 {
		repo(fmt.Sprintf("cluster-%02d", n+1))
	}
	repo("tenants")
	files := func(dir string) gittest.Text {
		out := gittest.Text{}
		err := fs.WalkDir(examples.FS, dir, func(p string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			data, err := fs.ReadFile(examples.FS, p)
			out[strings.TrimPrefix(p, dir+"/")] = strings.ReplaceAll(string(data), examples.ReposPlaceholder, s.URL)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	repo("fleet").Commit(t, "main", "describe the fleet", files(examples.Fleet))
	catalog := repo("catalog")
	commit := catalog.Commit(t, "main", "publish", files(examples.Catalog))
	for _, name := range []string{"edge-gateway", "namespace-base", "web-app"} {
		catalog.Tag(t, name+"/v1", commit)
	}
	return repos
}

func drafts(t testing.TB, repos map[string]*gittest.Repo) (n int) {
	t.Helper()
	for _, r := range repos {
		for name := range r.Refs(t) {
			if strings.Contains(name, "drafts/") {
				n++
			}
		}
	}
	return n
}

const (
	gitFleet = "apiVersion: variform.dev/v1alpha1\nkind: Fleet\nmetadata: {name: example}\nspec: {source: {git: {repo: %s}}, interval: 5m}\n"
	apiFleet = "apiVersion: variform.dev/v1alpha1\nkind: Fleet\nmetadata: {name: objects}\nspec: {source: {objects: {}}, manager: me, interval: 5m, prune: true}\n"
	webSet   = `apiVersion: config.porch.kpt.dev/v1alpha2
kind: PackageVariantSet
metadata: {name: web}
spec:
  upstream: {repo: catalog, package: web-app, workspaceName: v1}
  targets:
  - repositories: [{name: cluster-01}, {name: cluster-02}]
    template:
      downstream: {package: shop}
      injectors: [{group: "", version: v1, kind: ConfigMap, name: endpoints}]
`
	variant = "apiVersion: config.porch.kpt.dev/v1alpha1\nkind: PackageVariant\nmetadata: {name: own}\nspec:\n  upstream: {repo: catalog, package: web-app, workspaceName: v1}\n  downstream: {repo: cluster-01, package: own}\n"
	// contextRole is what the documentation has people write.
	contextRole = `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: fleets-context
  labels: {variform.dev/aggregate-to-context: "true"}
rules:
- {apiGroups: [""], resources: [configmaps], verbs: [list, watch]}
`
	namespaceOf = "apiVersion: v1\nkind: Namespace\nmetadata: {name: %s}\n"
)

func repositoryOf(name, url string) string {
	return fmt.Sprintf("apiVersion: config.porch.kpt.dev/v1alpha1\nkind: Repository\nmetadata: {name: %s}\nspec: {type: git, deployment: %t, git: {repo: %s, branch: main}}\n", name, name != "catalog", url)
}

// kindOfOurs is a definition of a kind that a cluster may have for fleets of objects.
func kindOfOurs(kind string) string {
	plural := strings.ToLower(kind) + "s"
	return fmt.Sprintf(`apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %s.variform.dev}
spec:
  group: variform.dev
  scope: Namespaced
  names: {kind: %s, listKind: %sList, plural: %s, singular: %s}
  versions:
  - {name: v1alpha1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`, plural, kind, kind, plural, strings.ToLower(kind))
}

// TestInstall installs what config/ says on a new cluster and runs fleets with no right
// but what that gives: each rule is used, and nothing else is asked for.
func TestInstall(t *testing.T) {
	c := newCluster(t)
	git := gittest.NewServer(t)
	repos := example(t, git)

	c.install("namespaced")
	if *update { // what is asked for is to be seen, whatever is granted today
		c.apply("", "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: everything}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}\nsubjects: [{kind: ServiceAccount, name: "+account+", namespace: "+system+"}]\n")
	}
	c.apply("", fmt.Sprintf(namespaceOf, "others"))
	c.apply("others", fmt.Sprintf(gitFleet, git.RepoURL("fleet")))
	stop, said := c.start()
	c.apply("fleets", fmt.Sprintf(gitFleet, git.RepoURL("fleet")))
	c.waitFor("fleets", fmt.Sprintf(gitFleet, "x"), "Ready", "True Reconciled: ")
	if n := drafts(t, repos); n < 20 {
		t.Errorf("the example has %d Drafts", n)
	}
	stop()
	if got := says(c.get("others", fmt.Sprintf(gitFleet, "x")), "Ready"); got != "" {
		t.Errorf("a Fleet of another namespace: %s", got)
	}
	for _, r := range c.requests() {
		if r.forbidden || r.namespace == "" {
			t.Errorf("in one namespace: %+v\n%s", r, said)
		}
	}

	c.install("")
	c.install("porch")
	for _, kind := range []string{"Installation", "Catalog", "PackageLock"} {
		c.apply("", kindOfOurs(kind))
	}
	c.objectsFleet(git)
	c.noOtherRights()
	c.podIsRestricted()
}

// objectsFleet runs a Fleet of objects through what a fleet may meet.
func (c *cluster) objectsFleet(git *gittest.Server) {
	c.Helper()
	stop, _ := c.start()
	for _, name := range []string{"catalog", "cluster-01", "cluster-02"} {
		c.apply("others", repositoryOf(name, git.RepoURL(name)))
	}
	endpoints := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: endpoints}\ndata: {CATALOG_URL: https://%s.example.com}\n"
	c.apply("others", fmt.Sprintf(endpoints, "one"), webSet, variant, apiFleet)
	if !*update {
		c.waitFor("others", apiFleet, "Ready", "False Error: kind ConfigMap of v1 may not be listed: grant ")
	}
	c.apply("", contextRole)
	c.aggregate()
	c.waitFor("others", apiFleet, "Ready", "True Reconciled: ")
	c.waitFor("others", webSet, "Ready", "True")
	c.waitFor("others", variant, "Ready", "True")
	c.waitFor("others", repositoryOf("catalog", "x"), "Ready", "True Read")
	bad := strings.NewReplacer("name: own", "name: bad", "upstream", "upstrem").Replace(variant)
	c.apply("others", bad)
	c.waitFor("others", bad, "Stalled", "True ValidationError")
	if err := c.api.Delete(context.Background(), c.object("others", bad)); err != nil {
		c.Fatal(err)
	}
	c.waitFor("others", apiFleet, "Ready", "True Reconciled: ")
	c.apply("others", strings.Replace(apiFleet, "prune: true", "suspend: true", 1))
	c.waitFor("others", apiFleet, "Ready", "False Suspended")
	events := &unstructured.UnstructuredList{}
	events.SetAPIVersion("events.k8s.io/v1")
	events.SetKind("EventList")
	if err := c.api.List(context.Background(), events, client.InNamespace("others")); err != nil || len(events.Items) == 0 {
		c.Errorf("%d Events: %v", len(events.Items), err)
	}
	stop()
	// Another one takes its place, and both are there for a while.
	stop, _ = c.start()
	other, _ := c.start()
	c.apply("others", apiFleet)
	c.waitFor("others", apiFleet, "Ready", "True Reconciled: ")
	stop()
	other()
}

// noOtherRights compares what was asked for with what config/ grants.
func (c *cluster) noOtherRights() {
	c.Helper()
	own, all, ofContext := map[request]bool{}, map[request]bool{}, map[request]bool{}
	for _, r := range c.requests() {
		if r.forbidden && r.resource != "configmaps" { // that was tried before it was granted
			c.Errorf("refused: %+v", r)
		}
		into := all
		switch {
		case r.namespace == system:
			into = own
		case r.group == "" && r.resource == "configmaps":
			into = ofContext
		}
		r.namespace, r.forbidden = "", false
		into[r] = true
	}
	want := map[request]bool{{resource: "configmaps", verb: "list"}: true, {resource: "configmaps", verb: "watch"}: true}
	if d := gocmp.Diff(want, ofContext, gocmp.AllowUnexported(request{})); d != "" {
		c.Errorf("of what is injected (-documented +asked):\n%s", d)
	}
	text := rights(all, own)
	file := filepath.Join(config, "controller", "rights.yaml")
	if *update {
		if err := os.WriteFile(file, text, 0o644); err != nil {
			c.Fatal(err)
		}
		return
	}
	was, err := os.ReadFile(file)
	if err != nil {
		c.Fatal(err)
	}
	if d := gocmp.Diff(string(was), string(text)); d != "" {
		c.Errorf("config/controller/rights.yaml is not what is used: go test -C cmd/variform-controller -run TestInstall -update . (-granted +used)\n%s", d)
	}
}

const rightsHead = "# Generated from what the controller asks for: go test -C cmd/variform-controller -run TestInstall -update .\n"

// rights are the roles for what was asked for: all is of any namespace, own of the
// controller's.
func rights(all, own map[request]bool) []byte {
	labels := map[string]string{"app.kubernetes.io/name": account}
	cluster := rbacv1.ClusterRole{
		TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRole"},
		ObjectMeta: metav1.ObjectMeta{Name: account, Labels: labels}, Rules: rules(all),
	}
	role := rbacv1.Role{
		TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "Role"},
		ObjectMeta: metav1.ObjectMeta{Name: account, Namespace: system, Labels: labels}, Rules: rules(own),
	}
	one, _ := yaml.Marshal(cluster)
	two, _ := yaml.Marshal(role)
	two = bytes.Replace(two, []byte("namespace: "+system), []byte("namespace: "+system+" # kpt-set: ${namespace}"), 1)
	return slices.Concat([]byte(rightsHead), one, []byte("---\n"), two)
}

// rules are one for each group and set of verbs, sorted.
func rules(asked map[request]bool) (out []rbacv1.PolicyRule) {
	verbs := map[[2]string][]string{}
	for r := range asked {
		k := [2]string{r.group, r.resource}
		verbs[k] = append(verbs[k], r.verb)
	}
	byVerbs := map[[2]string][]string{}
	for k, v := range verbs {
		slices.Sort(v)
		g := [2]string{k[0], strings.Join(v, " ")}
		byVerbs[g] = append(byVerbs[g], k[1])
	}
	for g, resources := range byVerbs {
		slices.Sort(resources)
		out = append(out, rbacv1.PolicyRule{APIGroups: []string{g[0]}, Resources: resources, Verbs: strings.Fields(g[1])})
	}
	slices.SortFunc(out, func(a, b rbacv1.PolicyRule) int {
		return cmp.Or(cmp.Compare(a.APIGroups[0], b.APIGroups[0]), cmp.Compare(a.Resources[0], b.Resources[0]))
	})
	return out
}

// podIsRestricted has the API server judge a pod of the Deployment by the namespace's own
// level, which is the strictest.
func (c *cluster) podIsRestricted() {
	c.Helper()
	for _, u := range built(c, "") {
		if u.GetKind() != "Deployment" {
			continue
		}
		template, _, _ := unstructured.NestedMap(u.Object, "spec", "template")
		pod := &corev1.Pod{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(template, pod); err != nil {
			c.Fatal(err)
		}
		pod.Namespace, pod.Name = system, "judged"
		if err := c.api.Create(context.Background(), pod, client.DryRunAll); err != nil {
			c.Error(err)
		}
		container := &pod.Spec.Containers[0]
		if !*container.SecurityContext.ReadOnlyRootFilesystem {
			c.Error("the root is written to")
		}
		container.SecurityContext.Capabilities = nil
		pod.ResourceVersion = ""
		if err := c.api.Create(context.Background(), pod, client.DryRunAll); err == nil || !strings.Contains(err.Error(), "restricted") {
			c.Errorf("a pod with capabilities: %v", err)
		}
	}
}

// TestRightsAreNarrow: nobody gets more than names of kinds and verbs.
func TestRightsAreNarrow(t *testing.T) {
	for _, folder := range []string{"", "namespaced"} {
		for _, u := range built(t, folder) {
			bound := strings.HasSuffix(u.GetKind(), "Binding")
			if folder != "" && u.GetKind() == "ClusterRoleBinding" {
				t.Errorf("%s: %s is bound for all namespaces", folder, u.GetName())
			}
			if to, _, _ := unstructured.NestedString(u.Object, "roleRef", "name"); bound && !strings.HasPrefix(to, account) {
				t.Errorf("%q: %s binds %s", folder, u.GetName(), to)
			}
			list, _, _ := unstructured.NestedSlice(u.Object, "rules")
			for _, r := range list {
				if text, _ := yaml.Marshal(r); strings.Contains(string(text), "*") || strings.Contains(string(text), "secrets") {
					t.Errorf("%s %s:\n%s", u.GetKind(), u.GetName(), text)
				}
			}
		}
	}
}
