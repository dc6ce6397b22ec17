package api

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/api/variform/v1alpha1"
)

// A lock of an earlier release is read as one of now: strings name dependencies, those beside a package
// before global ones, and prose has who needs it, by which alias.
func TestOldLock(t *testing.T) {
	const head = "apiVersion: variform.dev/v1alpha1\nkind: PackageLock\nmetadata: {name: c1}\nspec:\n  packages:\n"
	read := func(text string) []v1alpha1.LockedPackage {
		obj, report := Parse([]byte(head + text))
		if err := report.Err(); err != nil {
			t.Fatal(err)
		}
		return obj.(*v1alpha1.PackageLock).Spec.Packages
	}
	old := read(`
  - {name: db, version: 1.0.0, why: needed by other as db}
  - {name: db, namespace: shop, version: 1.0.0, why: "asked for, and needed by shop/web as data, shop/web as cache"}
  - {name: log, version: 1.0.0, why: asked for}
  - {name: net, namespace: infra, version: 1.0.0}
  - {name: other, version: 1.0.0, why: asked for, dependencies: [db, infra/net]}
  - {name: web, namespace: shop, version: 1.0.0, why: asked for, dependencies: [db, log]}
`)
	now := read(`
  - {name: db, version: 1.0.0, why: needed by other as db, neededBy: [{alias: db, name: other}]}
  - {name: db, namespace: shop, version: 1.0.0, why: "asked for, and needed by shop/web as data, shop/web as cache", requested: true,
     neededBy: [{alias: data, namespace: shop, name: web}, {alias: cache, namespace: shop, name: web}]}
  - {name: log, version: 1.0.0, why: asked for, requested: true}
  - {name: net, namespace: infra, version: 1.0.0}
  - {name: other, version: 1.0.0, why: asked for, requested: true, dependencies: [{alias: db, name: db}, {namespace: infra, name: net}]}
  - {name: web, namespace: shop, version: 1.0.0, why: asked for, requested: true,
     dependencies: [{name: log}, {alias: cache, namespace: shop, name: db}, {alias: data, namespace: shop, name: db}]}
`)
	if d := cmp.Diff(now, old); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	if d := cmp.Diff([]v1alpha1.LockedEdge{{Name: "db"}}, read("  - {name: db, version: 1.0.0}\n  - {name: db, namespace: a, version: 1.0.0}\n  - {name: web, namespace: a, version: 1.0.0, dependencies: [{name: db}]}\n")[2].Dependencies); d != "" {
		t.Errorf("an edge of now is what it says: -want +got:\n%s", d)
	}
	_, report := Parse([]byte(head + "  - {name: web, version: 1.0.0, dependencies: [gone]}\n"))
	if err := report.Err(); err == nil {
		t.Error("a dependency that is not there is no error")
	}
}
