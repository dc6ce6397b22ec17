package controller_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// tenantRole has one rule, and is bound to the account tenant.
func (w *world) tenantRole(name, rule string) (binding string) {
	w.Helper()
	binding = "apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: " + name + "}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: " + name + "}\nsubjects: [{kind: ServiceAccount, name: tenant, namespace: " + w.namespace + "}]\n"
	w.apply("apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: "+name+"}\nrules: ["+rule+"]\n", binding)
	return binding
}

// TestFleetAsServiceAccount: of a Fleet with an account nothing is read that the account
// may not read, whatever the controller may, which is everything here. Each refusal has the
// rule to add, and what is granted counts without a restart.
func TestFleetAsServiceAccount(t *testing.T) {
	w := newWorld(t)
	w.pkg(w.repo("catalog"), "web")
	c1 := w.repo("c1")
	set := fmt.Sprintf(webSet, "{name: c1}")
	fleet := strings.Replace(fmt.Sprintf(objectsFleet, "1h"), "prune: true", "prune: true, serviceAccountName: tenant", 1)
	w.apply(repository("catalog", w.git.RepoURL("catalog"), false), repository("c1", w.git.RepoURL("c1"), true), siteOf(0), set)
	w.apply("apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: tenant}\n", fleet)
	w.start()
	who := "ServiceAccount " + w.namespace + "/tenant"
	last := ""
	for n, want := range []string{
		`kind Repository of config.porch.kpt.dev/v1alpha1: grant it {apiGroups: ["config.porch.kpt.dev"], resources: [repositories], verbs: [list]}`,
		`kind PackageVariantSet of config.porch.kpt.dev/v1alpha2: grant it {apiGroups: ["config.porch.kpt.dev"], resources: [packagevariantsets], verbs: [list]}`,
		`kind PackageVariant of config.porch.kpt.dev/v1alpha1: grant it {apiGroups: ["config.porch.kpt.dev"], resources: [packagevariants], verbs: [list]}`,
		`kind ConfigMap of v1: grant it {apiGroups: [""], resources: [configmaps], verbs: [list, watch]}`,
	} {
		w.says(fleet, "Ready", "False Error: "+who+" may not list "+want+" by a Role of namespace "+w.namespace+" (docs/controller.md#as-a-serviceaccount)")
		if got := branches(c1, t); len(got) > 0 {
			t.Fatalf("%v though %s", got, condition(w.get(fleet), "Ready"))
		}
		last = w.tenantRole(fmt.Sprint("rule-", n), regexp.MustCompile(`\{.*?\}`).FindString(condition(w.get(fleet), "Ready")))
	}
	draft := func(region string) bool {
		b := branches(c1, t)
		return len(b) == 1 && strings.Contains(c1.Show(t, b[0], "web/site.yaml"), "region: "+region)
	}
	w.says(fleet, "Ready", "True Reconciled")
	if !draft("r0") {
		t.Errorf("%v", branches(c1, t))
	}
	w.apply(siteOf(1)) // which is watched, for the interval is long
	w.until("injected anew", func() bool { return draft("r1") })

	// What it may no longer read comes into no Draft, and none is taken back.
	if err := w.api.Delete(context.Background(), w.object(last)); err != nil {
		t.Fatal(err)
	}
	w.apply(siteOf(2), strings.Replace(set, "{name: web}", "{name: web, labels: {again: a}}", 1))
	w.says(fleet, "Ready", "False Error: "+who+" may not list kind ConfigMap of v1: ")
	if !draft("r1") {
		t.Error("a Draft has what its account may not read")
	}

	w.apply(last)
	w.until("injected again", func() bool { return draft("r2") })

	// A kind of no namespace is granted for all.
	w.apply(strings.Replace(fleet, "{objects: {}}", "{objects: {context: [{apiVersion: v1, kind: Namespace}]}}", 1))
	w.says(fleet, "Ready", "False Error: "+who+` may not list kind Namespace of v1: grant it {apiGroups: [""], resources: [namespaces], verbs: [list, watch]} by a ClusterRole and a ClusterRoleBinding`)
}

// TestSecretAsServiceAccount: the logins of a Fleet with an account are those that the
// account may read.
func TestSecretAsServiceAccount(t *testing.T) {
	w := newWorld(t)
	fleet := "apiVersion: variform.dev/v1alpha1\nkind: Fleet\nmetadata: {name: prod}\nspec: {source: {git: {repo: " + w.git.RepoURL("management") + "}}, serviceAccountName: tenant, secretRef: {name: git}}\n"
	w.apply("apiVersion: v1\nkind: Secret\nmetadata: {name: git}\nstringData: {password: hunter2}\n", fleet)
	w.start()
	const rule = `{apiGroups: [""], resources: [secrets], resourceNames: [git], verbs: [get]}`
	w.says(fleet, "Ready", "False Error: spec.secretRef: reading Secret "+w.namespace+"/git: ServiceAccount "+w.namespace+"/tenant may not get it: grant it "+rule+" by a Role of namespace "+w.namespace)
	w.tenantRole("git", rule)
	w.says(fleet, "Ready", "False Error: spec.secretRef: Secret "+w.namespace+"/git has no key credentials")
}

// TestAccountsShareNothing: two Fleets of one namespace and one kind have each what its own
// account may read, and one that is refused holds the other up no more than it gains by it.
func TestAccountsShareNothing(t *testing.T) {
	w := newWorld(t)
	w.pkg(w.repo("catalog"), "web")
	w.apply(repository("catalog", w.git.RepoURL("catalog"), false), siteOf(0))
	fleetOf := func(name, account string) string {
		return "apiVersion: variform.dev/v1alpha1\nkind: Fleet\nmetadata: {name: " + name + "}\nspec: {source: {objects: {selector: {fleet: " + name + "}}}, manager: " + name + ", interval: 1h, serviceAccountName: " + account + "}\n"
	}
	repos := map[string]string{"trusted": "c1", "curious": "c2"}
	for name, repo := range repos {
		w.repo(repo)
		w.apply(repository(repo, w.git.RepoURL(repo), true), "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: "+name+"}\n")
		w.apply(strings.Replace(fmt.Sprintf(webSet, "{name: "+repo+"}"), "{name: web}", "{name: "+name+", labels: {fleet: "+name+"}}", 1))
	}
	const role = "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: %[1]s}\nrules: [{apiGroups: [config.porch.kpt.dev], resources: ['*'], verbs: [list]}, %[2]s]\n"
	const binding = "apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: %[1]s}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: %[1]s}\nsubjects: [{kind: ServiceAccount, name: %[1]s, namespace: %[2]s}]\n"
	w.apply(fmt.Sprintf(role, "trusted", `{apiGroups: [""], resources: [configmaps], verbs: [list, watch]}`), fmt.Sprintf(role, "curious", ""))
	w.start()
	for name := range repos {
		w.apply(fmt.Sprintf(binding, name, w.namespace), fleetOf(name, name))
	}
	w.says(fleetOf("trusted", ""), "Ready", "True Reconciled")
	w.says(fleetOf("curious", ""), "Ready", "False Error: ServiceAccount "+w.namespace+"/curious may not list kind ConfigMap of v1: ")
	for n := range 3 { // what wakes both
		w.apply(siteOf(n + 1))
		w.until("injected", func() bool {
			b := branches(w.repos["c1"], t)
			return len(b) == 1 && strings.Contains(w.repos["c1"].Show(t, b[0], "web/site.yaml"), fmt.Sprint("region: r", n+1))
		})
	}
	w.says(fleetOf("curious", ""), "Ready", "False Error: ServiceAccount "+w.namespace+"/curious may not list kind ConfigMap of v1: ")
	if got := branches(w.repos["c2"], t); len(got) > 0 {
		t.Error(got)
	}
}
