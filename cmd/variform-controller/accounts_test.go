package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/variform/variform/test/gittest"
)

// documented are the objects that the page of the controller has people write for a Fleet
// that is read as an account.
func documented(t *testing.T) []string {
	t.Helper()
	page, err := os.ReadFile("../../docs/controller.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "\n### As a ServiceAccount\n")
	_, rest, _ = strings.Cut(rest, "```yaml\n")
	text, _, found := strings.Cut(rest, "```\n")
	if !found {
		t.Fatal("docs/controller.md#as-a-serviceaccount has no objects")
	}
	return strings.Split(text, "---\n")
}

// TestServiceAccounts: with what the documentation says, and no right of the controller on
// what is injected, two teams' Fleets are read as two accounts. Each rule is used, and none
// is missing.
func TestServiceAccounts(t *testing.T) {
	c := newCluster(t)
	git := gittest.NewServer(t)
	repos := example(t, git)
	git.RequireLogin("me", "hunter2")
	c.install("")
	c.install("porch")
	for _, kind := range []string{"Installation", "Catalog", "PackageLock"} {
		c.apply("", kindOfOurs(kind))
	}
	endpoints := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: endpoints}\ndata: {CATALOG_URL: https://%s.example.com}\n"
	login := "apiVersion: v1\nkind: Secret\nmetadata: {name: git}\nstringData: {credentials: '" + strings.Replace(git.URL, "://", "://me:hunter2@", 1) + "'}\n"
	fleet := strings.Replace(apiFleet, "prune: true", "secretRef: {name: git}", 1)
	cluster := map[string]string{"one": "cluster-01", "two": "cluster-02"}
	for ns, to := range cluster {
		c.apply("", fmt.Sprintf(namespaceOf, ns))
		for _, name := range []string{"catalog", to} {
			c.apply(ns, repositoryOf(name, git.RepoURL(name)))
		}
		set := strings.Replace(webSet, "[{name: cluster-01}, {name: cluster-02}]", "[{name: "+to+"}]", 1)
		c.apply(ns, login, fmt.Sprintf(endpoints, ns), set)
	}
	c.apply("one", fleet) // which names no account
	c.apply("two", strings.Replace(fleet, "spec: {", "spec: {serviceAccountName: other, ", 1))
	stop, _ := c.start("-default-service-account=tenant")

	const secret = "False Error: spec.secretRef: reading Secret "
	c.waitFor("one", fleet, "Ready", secret+`one/git: the controller may not read as ServiceAccount one/tenant: grant the controller's own {apiGroups: [""], resources: [serviceaccounts], resourceNames: [tenant], verbs: [impersonate]} by a Role of namespace one `)
	c.waitFor("two", fleet, "Ready", secret+"two/git: the controller may not read as ServiceAccount two/other: ")
	for _, doc := range documented(t) {
		c.apply("", strings.ReplaceAll(doc, "namespace: fleets", "namespace: one"))
		if other := strings.NewReplacer("namespace: fleets", "namespace: two", "tenant", "other").Replace(doc); !strings.Contains(doc, "kind: Role\n") || strings.Contains(doc, "impersonate") {
			c.apply("", other)
		} else {
			c.apply("", strings.Replace(other, `- {apiGroups: [""], resources: [configmaps], verbs: [list, watch]}`+"\n", "", 1))
		}
	}
	c.waitFor("one", fleet, "Ready", "True Reconciled: ")
	c.waitFor("two", fleet, "Ready", "False Error: ServiceAccount two/other may not list kind ConfigMap of v1: ")
	injected := func(ns, url string) bool {
		for name := range repos[cluster[ns]].Refs(t) {
			if strings.Contains(name, "drafts/") {
				return strings.Contains(repos[cluster[ns]].Show(t, name, "shop/endpoints.yaml"), url)
			}
		}
		return false
	}
	if !injected("one", "https://one.") {
		t.Error("one has no Draft with what it injects")
	}
	if n := drafts(t, map[string]*gittest.Repo{"": repos[cluster["two"]]}); n > 0 {
		t.Errorf("two, which may not read what it injects, has %d Drafts", n)
	}
	c.apply("one", fmt.Sprintf(endpoints, "moved"))
	c.until("injected anew", func() bool { return injected("one", "https://moved.") })
	for _, doc := range documented(t) {
		c.apply("", strings.NewReplacer("namespace: fleets", "namespace: two", "tenant", "other").Replace(doc))
	}
	c.waitFor("two", fleet, "Ready", "True Reconciled: ")
	if !injected("two", "https://two.") {
		t.Error("two has no Draft with what it injects")
	}
	c.apply("two", fmt.Sprintf(endpoints, "moved"))
	c.until("injected anew", func() bool { return injected("two", "https://moved.") })
	ended := func() (n int) { // watches: the log has one when it has ended
		for _, r := range c.requests() {
			if r.verb == "watch" && r.as == "system:serviceaccount:two:other" {
				n++
			}
		}
		return n
	}
	before := ended()
	if err := c.api.Delete(context.Background(), c.object("two", fleet)); err != nil {
		t.Fatal(err)
	}
	c.until("watched no more", func() bool { return ended() > before })
	stop()

	used := map[request]bool{}
	for _, r := range c.requests() {
		switch account := strings.TrimPrefix(r.as, "system:serviceaccount:"); {
		case r.as == "" && (r.resource == "configmaps" || r.resource == "secrets" && !r.forbidden):
			t.Errorf("with the controller's own rights: %+v", r)
		case r.as == "" && r.forbidden && r.resource != "secrets":
			t.Errorf("refused: %+v", r)
		case r.as != "" && account != r.namespace+":"+map[string]string{"one": "tenant", "two": "other"}[r.namespace]:
			t.Errorf("as an account of elsewhere: %+v", r)
		case r.as != "":
			used[request{group: r.group, resource: r.resource, verb: r.verb}] = true
		}
	}
	var role rbacv1.Role
	for _, doc := range documented(t) {
		if strings.Contains(doc, "kind: Role\n") && !strings.Contains(doc, "impersonate") {
			if err := yaml.UnmarshalStrict([]byte(doc), &role); err != nil {
				t.Fatal(err)
			}
		}
	}
	for n := range role.Rules {
		role.Rules[n].ResourceNames = nil
	}
	if d := gocmp.Diff(role.Rules, rules(used)); d != "" {
		t.Errorf("docs/controller.md#as-a-serviceaccount (-documented +used):\n%s", d)
	}
}
