package controller_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/variform/variform/test/gittest"
)

// porchSays writes a status as Porch's controllers do: by an update of the whole.
func (w *world) porchSays(doc, message string) {
	w.Helper()
	live := w.get(doc)
	live.Object["status"] = map[string]any{"conditions": []any{
		map[string]any{"type": "Stalled", "status": "False", "reason": "Valid", "message": "all validation checks passed", "lastTransitionTime": "2026-01-01T00:00:00Z"},
		map[string]any{"type": "Ready", "status": "True", "reason": "NoErrors", "message": message, "lastTransitionTime": "2026-01-01T00:00:00Z"},
	}}
	if err := w.api.Status().Update(context.Background(), live, client.FieldOwner("porch-controllers")); err != nil {
		w.Fatal(err)
	}
}

// TestMoving: a fleet that Porch's controllers made goes on here, with their Draft and
// their variant, and back to them.
func TestMoving(t *testing.T) {
	w := newWorld(t)
	w.pkg(w.repo("catalog"), "web")
	c1 := w.repo("c1")
	w.apply(repository("catalog", w.git.RepoURL("catalog"), false), repository("c1", w.git.RepoURL("c1"), true))
	set := strings.Replace(fmt.Sprintf(webSet, "{name: c1}"), "deletionPolicy: delete", "adoptionPolicy: adoptExisting", 1)
	w.apply(set)
	// What Porch's controllers leave: the set's variant, with a finalizer, both with a
	// status, and a Draft that carries no mark of ours.
	made := w.object("apiVersion: config.porch.kpt.dev/v1alpha1\nkind: PackageVariant\nmetadata: {name: web-c1-web, finalizers: [config.porch.kpt.dev/packagevariants]}\nspec:\n  upstream: {repo: catalog, package: web, revision: 1}\n  downstream: {repo: c1, package: web}\n  adoptionPolicy: adoptExisting\n  injectors: [{group: \"\", version: v1, kind: ConfigMap, name: site}]\n")
	owner := w.get(set)
	made.Object["metadata"].(map[string]any)["ownerReferences"] = []any{map[string]any{
		"apiVersion": owner.GetAPIVersion(), "kind": owner.GetKind(), "name": owner.GetName(), "uid": string(owner.GetUID()), "controller": true,
	}}
	if err := w.api.Create(context.Background(), made.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	variant := "apiVersion: config.porch.kpt.dev/v1alpha1\nkind: PackageVariant\nmetadata: {name: web-c1-web}\n"
	w.porchSays(set, "of Porch")
	w.porchSays(variant, "of Porch")
	c1.CommitFrom(t, "drafts/web/packagevariant-1", "main", "kpt:{\"package\":\"web\",\"workspaceName\":\"packagevariant-1\",\"task\":{\"type\":\"clone\"}}", gittest.Text{
		"README.md": "c1\n", "web/Kptfile": "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: web\n",
		"web/app.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: app\ndata:\n  a: b\n",
	})
	before := c1.Refs(t)

	w.start()
	fleet := fmt.Sprintf(objectsFleet, "5m")
	w.apply(fleet)
	w.says(fleet, "Stalled", "True OwnedByAnother: another controller drives PackageVariantSet web (porch-controllers), PackageVariant web-c1-web (porch-controllers)")
	if after := c1.Refs(t); len(after) != len(before) || after["refs/heads/drafts/web/packagevariant-1"] != before["refs/heads/drafts/web/packagevariant-1"] {
		t.Fatalf("it wrote: %v", after)
	}

	// Porch's controllers stop, and the Fleet takes over.
	w.apply(strings.Replace(fleet, "{objects: {}}", "{objects: {takeOver: true}}", 1))
	w.says(fleet, "Ready", "True Reconciled")
	w.says(set, "Ready", "True")
	w.says(variant, "Ready", "True")
	list := branches(c1, t)
	if len(list) != 1 || !strings.HasSuffix(list[0], "drafts/web/packagevariant-1") {
		t.Fatalf("of one Draft became %v", list)
	}
	if got := c1.Show(t, list[0], "web/Kptfile"); !strings.Contains(got, "variform.dev/variant: me/") {
		t.Errorf("not adopted:\n%s", got)
	}

	// And back: suspended, it leaves alone what Porch's controllers write.
	w.apply(strings.NewReplacer("{objects: {}}", "{objects: {takeOver: true}}", "prune: true", "suspend: true").Replace(fleet))
	w.says(fleet, "Ready", "False Suspended")
	w.porchSays(set, "of Porch again")
	w.porchSays(variant, "of Porch again")
	time.Sleep(2 * time.Second)
	for _, doc := range []string{set, variant} {
		if u := w.get(doc); !strings.Contains(fmt.Sprint(u.Object["status"]), "of Porch again") {
			t.Errorf("%s: %v", u.GetName(), u.Object["status"])
		}
	}
	// Taken up again without takeOver it sees whose they are.
	w.apply(strings.Replace(fleet, "{objects: {}}", "{objects: {takeOver: false}}", 1))
	w.says(fleet, "Stalled", "True OwnedByAnother")
	// Nobody is there who would take the finalizer away.
	free := &unstructured.Unstructured{Object: map[string]any{}}
	free.SetGroupVersionKind(made.GroupVersionKind())
	free.SetNamespace(w.namespace)
	free.SetName("web-c1-web")
	if err := w.api.Patch(context.Background(), free, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))); err != nil {
		t.Fatal(err)
	}
}
