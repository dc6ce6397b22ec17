package e2e

import (
	"context"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"

	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/ocirepo"
	"github.com/variform/variform/test/gittest"
)

const certificates = "https://example.com/interfaces/certificates"

// packageWith is a catalogue package: a Kptfile and, unless spec is empty, a manifest.
func packageWith(name, spec string) gittest.Text {
	out := gittest.Text{name + "/Kptfile": "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: " + name +
		"\ninfo:\n  description: The " + name + "\n  keywords: [" + name + ", shared]\n"}
	if spec != "" {
		out[name+"/package.yaml"] = "apiVersion: variform.dev/v1alpha1\nkind: PackageManifest\nmetadata:\n  name: " + name +
			"\n  labels: {tier: " + name + "}\nspec:\n" + spec
	}
	return out
}

// resolving has a catalogue of four packages, two of which provide certificates,
// and two targets.
func resolving(t *testing.T) *world {
	w := newWorld(t, "c1")
	catalogue := w.repos["catalog"]
	publish := func(tag string, files gittest.Text) {
		catalogue.Tag(t, tag, catalogue.Commit(t, "main", tag, files))
	}
	publish("shop/v1", packageWith("shop", "  requires:\n  - {alias: db, package: postgres, version: \">=14\"}\n  - {alias: certs, interface: {id: \""+certificates+"\"}}\n"))
	publish("postgres/v14.9.0", packageWith("postgres", ""))
	publish("postgres/v15.4.0", packageWith("postgres", "  parameters:\n  - {name: size, type: string, required: true}\n"))
	publish("postgres/v16.0.0", packageWith("postgres", "  requires:\n  - {alias: k8s, platform: {name: kubernetes, version: \">=1.30\"}}\n"))
	provides := "  provides:\n  - interface: {id: \"" + certificates + "\", version: 1.0.0}\n"
	publish("cert-manager/v1.15.1", packageWith("cert-manager", provides))
	publish("issuer/v0.3.0", packageWith("issuer", provides))
	publish("postgres/stable", packageWith("postgres", "")) // no version
	w.write("catalog.yaml", "apiVersion: variform.dev/v1alpha1\nkind: Catalog\nmetadata:\n  name: main\nspec:\n  sources:\n  - git: {repo: "+
		w.url("catalog")+"} # ours\n  defaults:\n    \""+certificates+"\": cert-manager\n")
	w.write("shop.yaml", "apiVersion: variform.dev/v1alpha1\nkind: Installation\nmetadata: {name: shop}\nspec: {target: one/prod, package: shop}\n")
	w.write("db.yaml", "apiVersion: variform.dev/v1alpha1\nkind: Installation\nmetadata: {name: db}\nspec: {target: two/prod, package: postgres, constraints: 14.x}\n")
	return w
}

func TestResolve(t *testing.T) {
	t.Parallel()
	w := resolving(t)
	r := w.mustRun(0, "resolve", "--platform", "kubernetes=1.29.0")
	w.contains(r.out, "TARGET", "one      cert-manager   1.15.1", "one      postgres       15.4.0", "needed by prod/shop as db", "two      postgres       14.9.0")
	w.lacks(r.out, "issuer", "16.0.0")
	w.contains(r.err, "target one: db needs values that nothing sets: parameter size")
	w.contains(w.mustRun(0, "resolve", "--platform", "kubernetes=1.31.0", "--target", "one").out, "16.0.0")

	lock := w.mustRun(0, "resolve", "--platform", "kubernetes=1.29.0", "--target", "one", "-o", "yaml").out
	w.contains(lock, "kind: PackageLock", "digest: git:", "source: ")
	// The lock holds: the newer version that another platform admits waits.
	w.write("lock.yaml", lock)
	w.contains(w.mustRun(0, "resolve", "--platform", "kubernetes=1.31.0", "--target", "one").out, "15.4.0")
	w.contains(w.mustRun(0, "outdated", "--platform", "kubernetes=1.31.0").out, "one      postgres   prod/postgres   15.4.0    15.4.0     16.0.0")
	if again := w.mustRun(0, "resolve", "--platform", "kubernetes=1.29.0", "--target", "one", "-o", "yaml").out; again != lock {
		t.Errorf("a second answer differs:\n%s\nfirst:\n%s", again, lock)
	}

	w.contains(w.mustRun(0, "why", "postgres", "--platform", "kubernetes=1.29.0").out, "shop 1.0.0 needs postgres >=14", "two\n  postgres 14.9.0 was asked for")
	w.contains(w.mustRun(1, "why", "nothing").err, "no target has nothing")
	w.contains(w.mustRun(0, "why-not", "postgres", "16.0.0", "--target", "one", "--platform", "kubernetes=1.29.0").out, "needs postgres >=14", "postgres 16.0.0 needs kubernetes >=1.30")
	w.contains(w.mustRun(0, "explain", "shop", "--platform", "kubernetes=1.29.0").out, "one      shop           db   parameter   size")
	w.contains(w.mustRun(0, "graph", "one", "--platform", "kubernetes=1.29.0").out, "flowchart LR", `-- "certs" -->`)
	w.contains(w.mustRun(0, "graph", "one", "-o", "dot").out, "digraph variform", `label="db"`)
	if _, err := exec.LookPath("dot"); err == nil {
		w.contains(w.mustRun(0, "graph", "one", "-o", "svg").out, "<svg ", "prod/shop")
	} else {
		w.contains(w.mustRun(2, "graph", "one", "-o", "svg").err, "install graphviz")
	}
	w.contains(w.mustRun(2, "resolve", "--target", "three").err, `no Installation names the target "three"`, "one", "two")
}

// A conflict is that of what takes part in it; a choice without a default lists the
// choices.
func TestResolveConflict(t *testing.T) {
	t.Parallel()
	w := resolving(t)
	w.write("old.yaml", "apiVersion: variform.dev/v1alpha1\nkind: Installation\nmetadata: {name: old}\nspec: {target: two/prod, package: postgres, constraints: \">=99\"}\n")
	r := w.mustRun(1, "resolve", "--platform", "kubernetes=1.29.0")
	w.contains(r.err, "target two: cannot resolve", ">=99")
	w.contains(r.out, "one      postgres", "two      postgres       14.9.0    prod/db")
	w.lacks(r.out, "prod/old")

	file := filepath.Join(w.fleet(), "catalog.yaml")
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	edit := func(args ...string) {
		t.Helper()
		if r := runIn(w.dir, append([]string{"catalog"}, args...)...); r.status != 0 {
			t.Fatalf("catalog %q: %s", args, r.err)
		}
	}
	edit("remove", "--file", file, "--interface", certificates)
	r = w.mustRun(1, "resolve", "--target", "one", "--platform", "kubernetes=1.29.0")
	w.contains(r.err, "cert-manager", "issuer")
	edit("add", "--file", file, "--interface", certificates, "--package", "issuer")
	w.contains(w.mustRun(0, "resolve", "--target", "one", "--platform", "kubernetes=1.29.0").out, "one      issuer")
	edit("add", "--file", file, "--interface", certificates, "--package", "cert-manager")
	after, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	w.contains(string(after), "# ours")
	if strings.Count(string(after), "\n") != strings.Count(string(before), "\n") {
		t.Errorf("the file is\n%s\nand was\n%s", after, before)
	}
}

func TestCatalogList(t *testing.T) {
	t.Parallel()
	w := resolving(t)
	r := w.mustRun(0, "catalog", "list")
	w.contains(r.out, "cert-manager   1.15.1    "+certificates+" (default)   The cert-manager", "issuer         0.3.0     "+certificates+" ", "shop           1.0.0")
	for flag, want := range map[string]string{
		"--name=gres":                 "postgres@14.9.0\npostgres@15.4.0\npostgres@16.0.0\n",
		"--label=tier=shop":           "shop@1.0.0\n",
		"--keyword=issuer":            "issuer@0.3.0\n",
		"--interface=" + certificates: "cert-manager@1.15.1\nissuer@0.3.0\n",
		"--keyword=none":              "",
	} {
		if got := w.mustRun(0, "catalog", "list", "-o", "name", flag).out; got != want {
			t.Errorf("%s: %q, want %q", flag, got, want)
		}
	}
	// What cannot be read is said, and the rest is listed.
	w.repos["catalog"].Tag(t, "shop/v2", w.repos["catalog"].Commit(t, "main", "bad", packageWith("shop", "  requires:\n  - {alais: db, package: postgres}\n")))
	r = w.mustRun(1, "catalog", "list", "-o", "name")
	w.contains(r.err, "error: source ", "tag shop/v2", "alais", `did you mean "alias"`)
	w.contains(r.out, "shop@1.0.0")
	w.lacks(r.out, "shop@2.0.0")
}

// Versions come from a registry as they come from Git, by digest.
func TestResolveFromRegistry(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(registry.New(registry.WithReferrersSupport(true), registry.Logger(log.New(io.Discard, "", 0))))
	defer srv.Close()
	address := strings.TrimPrefix(srv.URL, "http://") + "/packages"
	store := ocirepo.NewStore(ocirepo.Options{})
	push := func(name, tag, spec string, apis ...string) string {
		t.Helper()
		files := []krm.File{{Path: "crds/foo.yaml", Data: []byte(definition(apis...))}}
		for file, data := range packageWith(name, spec) {
			files = append(files, krm.File{Path: strings.TrimPrefix(file, name+"/"), Data: []byte(data)})
		}
		p, err := krm.Parse(files)
		if err != nil {
			t.Fatal(err)
		}
		pushed, err := store.Push(context.Background(), address+"/"+name+":"+tag, p, ocirepo.PushOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return pushed.Digest
	}
	push("shop", "v1", "  requires:\n  - {alias: db, package: postgres, version: \">=15 <17\"}\n  - {alias: foo, gvk: {apiVersion: x.io/v1, kind: Foo}}\n")
	push("postgres", "14.9.0", "", "v1")
	digest := push("postgres", "v16.1.0", "", "v1")
	push("postgres", "v16.2.0", "", "v2")
	push("postgres", "v17.0.0", "")

	w := newWorld(t, "c1")
	w.write("catalog.yaml", "apiVersion: variform.dev/v1alpha1\nkind: Catalog\nmetadata:\n  name: registry\nspec:\n  sources:\n  - oci: {repository: "+address+"}\n")
	w.write("shop.yaml", "apiVersion: variform.dev/v1alpha1\nkind: Installation\nmetadata: {name: shop}\nspec: {package: shop}\n")
	w.contains(w.mustRun(0, "resolve", "-o", "yaml").out, "version: 16.1.0", "digest: "+digest, "source: "+address+"/postgres")
	w.contains(w.mustRun(0, "catalog", "list", "-o", "name").out, "postgres@17.0.0", "shop@1.0.0")
	srv.Close()
	r := w.mustRun(1, "catalog", "list")
	w.contains(r.err, "Catalog registry", address)
}
