package e2e

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/variform/variform/test/gittest"
)

// carvelPackage is a version of a package as a PackageRepository has it.
func carvelPackage(name, version, spec string) string {
	return "apiVersion: data.packaging.carvel.dev/v1alpha1\nkind: Package\nmetadata:\n  name: " + name + "." + version +
		"\nspec:\n  refName: " + name + "\n  version: " + version + "\n" + spec +
		"  template:\n    spec:\n      fetch:\n      - imgpkgBundle: {image: registry.example.com/" + name + "@sha256:" + strings.Repeat("a", 64) + "}\n      template: [{ytt: {}}]\n      deploy: [{kapp: {}}]\n"
}

const packageInstall = `apiVersion: packaging.carvel.dev/v1alpha1
kind: PackageInstall
metadata: {name: shop, namespace: apps}
spec:
  serviceAccountName: shop-sa
  packageRef:
    refName: shop.example.org
    versionSelection: {constraints: 1.x}
  values:
  - secretRef: {name: shop-values}
`

// A folder of a PackageRepository, at a branch, is a source of a Catalog, and a
// PackageInstall asks for what is in it: without any document of ours but the Catalog.
func TestCarvel(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	needsDB := "  dependencies:\n  - package: {refName: db.example.org, version: \">=14\"}\n"
	w.repos["catalog"].Commit(t, "main", "packages", gittest.Text{
		"packages/shop.example.org/1.0.0.yml": carvelPackage("shop.example.org", "1.0.0", ""),
		"packages/shop.example.org/1.2.0.yml": carvelPackage("shop.example.org", "1.2.0", needsDB),
		"packages/shop.example.org/2.0.0.yml": carvelPackage("shop.example.org", "2.0.0", ""),
		"packages/db.example.org/all.yaml":    carvelPackage("db.example.org", "13.0.0", "") + "---\n" + carvelPackage("db.example.org", "14.1.0", "  kubernetesVersionSelection: {constraints: \">=1.28\"}\n"),
		"packages/db.example.org/bad.yaml":    "apiVersion: data.packaging.carvel.dev/v1alpha1\nkind: Package\nmetadata: {name: x}\nspec:\n  refName: db.example.org\n",
		"packages/README.md":                  "# data.packaging.carvel.dev/v1alpha1: a\n- b: c: d\n",
	})
	w.write("catalog.yaml", "apiVersion: variform.dev/v1alpha1\nkind: Catalog\nmetadata: {name: main}\nspec:\n  sources:\n  - git: {repo: "+w.url("catalog")+", directory: packages, ref: main}\n")
	w.write("install.yaml", packageInstall)

	r := w.mustRun(1, "catalog", "list", "-o", "name")
	w.contains(r.out, "db.example.org@13.0.0\ndb.example.org@14.1.0\nshop.example.org@1.0.0\nshop.example.org@1.2.0\nshop.example.org@2.0.0\n")
	w.lacks(r.err, "README.md")
	w.contains(r.err, "db.example.org/bad.yaml", "a Package needs spec.refName and spec.version")

	r = w.mustRun(0, "resolve", "--platform", "kubernetes=1.31.0")
	w.contains(r.out, "shop.example.org   1.2.0     shop", "db.example.org     14.1.0")
	w.contains(r.err, "install.yaml:9: spec.values has no part in what is resolved")
	w.contains(w.mustRun(0, "resolve", "--platform", "kubernetes=1.27.0").out, "shop.example.org   1.0.0     shop") // db 14 needs >=1.28

	// The documents themselves will do, too.
	w.write("catalog.yaml", "")
	w.write("packages.yaml", carvelPackage("shop.example.org", "1.0.0", "")+"---\n"+carvelPackage("shop.example.org", "1.1.0", needsDB))
	w.contains(w.mustRun(0, "why-not", "shop.example.org", "1.1.0").out, "db.example.org")
	w.write("db.yaml", carvelPackage("db.example.org", "14.0.0", ""))
	r = w.mustRun(0, "resolve", "-o", "name")
	if r.out != "db.example.org@14.0.0\nshop.example.org@1.1.0\n" {
		t.Errorf("resolved %q\n%s", r.out, r.err)
	}
}

// A Carvel Package is drafted as the PackageInstall that installs it, with its service account and its values, and so is what
// it needs: from a folder of a PackageRepository, whatever its files are called, and from tagged folders.
func TestCarvelInstall(t *testing.T) {
	t.Parallel()
	w := newHTTPWorld(t, "c1")
	catalog := w.repos["catalog"]
	needsDB := "  dependencies:\n  - package: {refName: db.example.org, version: \">=14\"}\n"
	catalog.Commit(t, "main", "packages", gittest.Text{
		"packages/all.yaml":                   carvelPackage("db.example.org", "13.0.0", "") + "---\n" + carvelPackage("db.example.org", "14.1.0-rc.1", "") + "---\n" + carvelPackage("db.example.org", "14.1.0", ""),
		"packages/shop.example.org/1.0.0.yml": carvelPackage("shop.example.org", "1.0.0", needsDB),
	})
	source := func(git string) {
		w.write("catalog.yaml", "apiVersion: variform.dev/v1alpha1\nkind: Catalog\nmetadata: {name: main}\nspec:\n  sources:\n  - git: {repo: "+w.url("catalog")+git+"}\n")
	}
	source(", directory: packages, ref: main")
	w.write("shop.yaml", "apiVersion: variform.dev/v1alpha1\nkind: Installation\nmetadata: {name: shop}\nspec:\n  target: c1\n  package: shop.example.org\n  parameters: {valuesSecret: sealed, db.example.org.serviceAccountName: platform}\n")
	w.wantActions(w.mustApply(), all("create", "c1/db.example.org", "c1/shop", "c1/variform-lock"))
	w.mustRun(0, "approve", "c1")
	show := func(file string) string { return w.repos["c1"].Git(t, "show", "main:"+file) + "\n" }
	w.contains(show("shop/packageinstall.yaml"), "kind: PackageInstall\n", "refName: shop.example.org\n", "constraints: 1.0.0\n", "serviceAccountName: shop.example.org-sa\n", "name: sealed\n")
	w.lacks(show("shop/packageinstall.yaml"), "prereleases")
	w.contains(show("shop/serviceaccount.yaml"), "kind: ServiceAccount\n", "name: shop.example.org-sa\n")
	w.contains(show("shop/values.yaml"), "kind: Secret\n", "name: shop.example.org-values\n", "stringData: {}\n")
	w.contains(show("db.example.org/packageinstall.yaml"), "constraints: 14.1.0\n", "serviceAccountName: platform\n")
	w.contains(show("variform-lock/lock.yaml"), "version: 14.1.0\n")

	// What is beside the document changes nothing, a newer version is an update that keeps edits.
	catalog.Commit(t, "main", "other", gittest.Text{"README.md": "x\n"})
	if p := w.apply(); len(p.actions()) > 0 {
		t.Errorf("a commit beside the documents does something: %v\n%s%s", p.actions(), p.out, p.err)
	}
	w.repos["c1"].Commit(t, "main", "hotfix", gittest.Text{"shop/serviceaccount.yaml": show("shop/serviceaccount.yaml") + "automountServiceAccountToken: false\n"})
	catalog.Commit(t, "main", "1.1.0", gittest.Text{"packages/shop.example.org/1.1.0-rc.1.yml": carvelPackage("shop.example.org", "1.1.0-rc.1", needsDB)})
	w.write("shop.yaml", "apiVersion: variform.dev/v1alpha1\nkind: Installation\nmetadata: {name: shop}\nspec:\n  target: c1\n  package: shop.example.org\n  constraints: \">=1.1.0-0\"\n")
	w.mustApply()
	w.mustRun(0, "approve", "c1")
	w.contains(show("shop/packageinstall.yaml"), "constraints: 1.1.0-rc.1\n", "prereleases: {}\n")
	w.contains(show("shop/serviceaccount.yaml"), "automountServiceAccountToken: false\n")
	w.contains(w.mustRun(0, "apply").out, "up to date")
	catalog.Commit(t, "main", "gone", gittest.Files{{Path: "packages/shop.example.org/1.1.0-rc.1.yml", Mode: gittest.Deleted}})
	p := w.apply()
	w.contains(p.out+p.err, "shop.example.org 1.1.0-rc.1")
	if len(p.actions()) > 0 {
		t.Errorf("a version that is locked and gone does not stay: %v", p.actions())
	}

	// A folder that a tag has.
	catalog.Tag(t, "mail/v2.0.0", catalog.Commit(t, "main", "mail", gittest.Text{"mail/package.yaml": carvelPackage("mail.example.org", "2.0.0", ""), "mail/bundle/x.yaml": "a: b\n"}))
	source("")
	w.write("shop.yaml", "")
	w.write("mail.yaml", "apiVersion: variform.dev/v1alpha1\nkind: Installation\nmetadata: {name: mail}\nspec: {target: c1, package: mail}\n")
	w.mustApply()
	w.mustRun(0, "approve", "c1/mail")
	w.contains(show("mail/packageinstall.yaml"), "refName: mail.example.org\n", "name: mail\n")
	if w.on("main", "mail/bundle") {
		t.Error("the bundle's files were copied")
	}
}

// Of a document of another system no variant can be made; who says what to do instead.
func TestForeignIsNoVariant(t *testing.T) {
	t.Parallel()
	w := needing(t)
	w.offer("app", "1.0.0", "  requires: [{alias: db, package: db.example.org}]\n", nil)
	w.write("db.yaml", carvelPackage("db.example.org", "14.0.0", ""))
	w.needs("app", "1.0.0")
	p := w.plan()
	w.contains(p.out+p.err, "db.example.org 14.0.0: a Carvel Package (registry.example.com/db.example.org) is all that there is of it", "publish a kpt package of that name, with a tag db.example.org/v14.0.0")
}

// In a kpt package a document of another system says what it needs, to a variant as
// to a catalogue.
func TestForeignManifest(t *testing.T) {
	t.Parallel()
	w := needing(t)
	w.offer("db", "14.1.0", "", nil)
	catalogue := w.repos["catalog"]
	app := packageWith("app", "")
	app["app/porter.yaml"] = "schemaVersion: 1.0.1\nname: app\nversion: 1.0.0\nregistry: example.com\nmixins: [exec]\ndependencies:\n  requires:\n  - name: db\n    bundle: {reference: db, version: 14.x}\n"
	catalogue.Tag(t, "app/v1.0.0", catalogue.Commit(t, "main", "app", app))
	w.needs("app", "1.0.0")
	w.mustApply()
	w.mustRun(0, "approve", "c1")
	for _, pkg := range []string{"app", "db"} {
		if !w.on("main", pkg) {
			t.Errorf("%s is not there", pkg)
		}
	}
	w.contains(w.mustRun(0, "why", "db").out, "app 1.0.0 needs db 14.x")
}

// Import writes what is lacking, once, and what it writes a catalogue can be made of.
func TestCatalogImport(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dir := filepath.Join(w.dir, "packages")
	put := func(name, text string) {
		t.Helper()
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	run := func(status int, args ...string) result {
		t.Helper()
		r := runIn(filepath.Join(w.dir, "cache"), append([]string{"catalog", "import"}, args...)...)
		if r.status != status {
			t.Fatalf("import %q: status %d\n%s%s", args, r.status, r.out, r.err)
		}
		return r
	}
	for name, text := range packageWith("operator", "") {
		put(name, text)
	}
	put("operator/crd.yaml", "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: dbs.x.io}\nspec: {group: x.io, scope: Namespaced, names: {kind: DB, plural: dbs}, versions: [{name: v1, served: true, storage: true}]}\n")
	for name, text := range packageWith("app", "") {
		put(name, text)
	}
	put("app/db.yaml", "apiVersion: x.io/v1\nkind: DB\nmetadata: {name: db}\n")
	put("bundle/porter.yaml", "name: wordpress\nregistry: example.com/bundles\nversion: 0.1.2\ncredentials: [{name: kubeconfig, path: /root/.kube/config}]\nparameters: [{name: size, type: integer, default: 3}]\noutputs: [{name: url, type: string}]\n"+
		"dependencies:\n  requires:\n  - name: mysql\n    bundle: {reference: example.com/bundles/mysql, version: 5.7.x}\n    credentials: {kubeconfig: \"${ bundle.credentials.kubeconfig }\"}\n")

	if got := run(0, "--dry-run", dir).out; got != "app/package.yaml\nbundle/package.yaml\noperator/package.yaml\n" {
		t.Errorf("it would write %q", got)
	}
	printed := run(0, "-o", "yaml", dir).out
	if _, err := os.Stat(filepath.Join(dir, "app/package.yaml")); err == nil {
		t.Fatal("a file was written")
	}
	w.contains(printed, "name: example.com/bundles/wordpress", "default: \"3\"", "version: 5.7.x", "kind: DB")
	run(0, dir)
	w.contains(run(0, dir).err, "package app has a manifest already", "no manifest is lacking")
	if got := run(0, "--force", dir).out; got != "" {
		t.Errorf("the same once more, and written: %q", got)
	}

	// As versions of a catalogue: what app needs is found in operator.
	files := gittest.Text{}
	for _, name := range []string{"app/Kptfile", "app/package.yaml", "app/db.yaml", "operator/Kptfile", "operator/package.yaml", "operator/crd.yaml"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		files[name] = string(data)
	}
	at := w.repos["catalog"].Commit(t, "main", "packages", files)
	w.repos["catalog"].Tag(t, "app/v1.0.0", at)
	w.repos["catalog"].Tag(t, "operator/v1.0.0", at)
	w.write("catalog.yaml", "apiVersion: variform.dev/v1alpha1\nkind: Catalog\nmetadata: {name: main}\nspec:\n  sources:\n  - git: {repo: "+w.url("catalog")+"}\n")
	w.write("app.yaml", "apiVersion: variform.dev/v1alpha1\nkind: Installation\nmetadata: {name: app}\nspec: {package: app, dependencies: {searchProviders: true}}\n")
	w.contains(w.mustRun(0, "resolve").out, "operator   1.0.0")

	// In Git nothing can be written.
	w.contains(run(0, w.url("catalog")+"//operator@operator/v1.0.0").err, "has a manifest already")
	w.contains(run(0, "--force", w.url("catalog")+"@operator/v1.0.0").out, "name: operator", "kind: DB")
}

// xpkg publishes a Crossplane package as Crossplane builds it.
func xpkg(t *testing.T, ref, stream string) (digest string) {
	t.Helper()
	var buf bytes.Buffer
	tw := tar.NewWriter(&buf)
	err := errors.Join(tw.WriteHeader(&tar.Header{Name: "package.yaml", Mode: 0o644, Size: int64(len(stream))}), second(tw.Write([]byte(stream))), tw.Close())
	img, appendErr := mutate.Append(mutate.MediaType(empty.Image, types.OCIManifestSchema1), mutate.Addendum{
		Layer: static.NewLayer(buf.Bytes(), types.OCIUncompressedLayer), Annotations: map[string]string{"io.crossplane.xpkg": "base"},
	})
	tag, tagErr := name.NewTag(ref)
	if err := errors.Join(err, appendErr, tagErr); err != nil {
		t.Fatal(err)
	}
	hash, err := img.Digest()
	if err := errors.Join(err, remote.Write(tag, img)); err != nil {
		t.Fatal(err)
	}
	return hash.String()
}

func second(_ int, err error) error { return err }

// A Configuration and the Provider that it needs by full reference come from a
// mirror, and what is reviewed are the objects that install them, by digest.
func TestCrossplane(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(registry.New(registry.WithReferrersSupport(true), registry.Logger(log.New(io.Discard, "", 0))))
	defer srv.Close()
	mirror := strings.TrimPrefix(srv.URL, "http://") + "/mirror"
	provider := func(version, more string) string {
		return xpkg(t, mirror+"/crossplane-contrib/provider-nop:"+version, "apiVersion: meta.pkg.crossplane.io/v1\nkind: Provider\nmetadata: {name: provider-nop}\nspec:\n  controller: {image: example.com/nop}\n"+more+
			"---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: nopresources.nop.crossplane.io}\nspec: {group: nop.crossplane.io, names: {kind: NopResource, plural: nopresources}, versions: [{name: v1alpha1, served: true}]}\n")
	}
	first := provider("v0.2.0", "")
	provider("v0.3.0", "  crossplane: {version: \">=v2.0.0\"}\n")
	provider("v0.1.0", "")
	configuration := func(version string) {
		xpkg(t, mirror+"/acme/configuration-db:"+version, "apiVersion: meta.pkg.crossplane.io/v1\nkind: Configuration\nmetadata: {name: configuration-db}\nspec:\n  dependsOn:\n  - provider: xpkg.upbound.io/crossplane-contrib/provider-nop\n    version: \">=v0.2.0\"\n"+
			"---\napiVersion: apiextensions.crossplane.io/v1\nkind: CompositeResourceDefinition\nmetadata: {name: xdbs.acme.io}\nspec: {group: acme.io, names: {kind: XDB, plural: xdbs}, versions: [{name: v1, served: true, referenceable: true}]}\n")
	}
	configuration("v1.0.0")

	w := newHTTPWorld(t, "c1")
	w.write("catalog.yaml", "apiVersion: variform.dev/v1alpha1\nkind: Catalog\nmetadata: {name: main}\nspec:\n  sources:\n  - oci: {repository: "+mirror+", mirrorOf: xpkg.upbound.io}\n")
	w.write("registry.yaml", "apiVersion: config.porch.kpt.dev/v1alpha1\nkind: Repository\nmetadata: {name: mirror}\nspec: {type: oci, oci: {registry: "+mirror+"}}\n")
	w.write("db.yaml", "apiVersion: variform.dev/v1alpha1\nkind: Installation\nmetadata: {name: db}\nspec: {target: c1, package: xpkg.upbound.io/acme/configuration-db}\n")
	w.contains(w.mustRun(0, "catalog", "list", "-o", "name").out, "xpkg.upbound.io/acme/configuration-db@1.0.0\nxpkg.upbound.io/crossplane-contrib/provider-nop@0.1.0\n")

	// What a cluster's own lock has stays.
	alone := newWorld(t)
	for file, text := range map[string]string{
		"catalog.yaml": "apiVersion: variform.dev/v1alpha1\nkind: Catalog\nmetadata: {name: main}\nspec:\n  sources:\n  - oci: {repository: " + mirror + ", mirrorOf: xpkg.upbound.io}\n",
		"nop.yaml":     "apiVersion: pkg.crossplane.io/v1\nkind: Provider\nmetadata: {name: nop}\nspec: {package: xpkg.upbound.io/crossplane-contrib/provider-nop}\n",
		"lock.yaml":    "apiVersion: pkg.crossplane.io/v1beta1\nkind: Lock\nmetadata: {name: lock}\npackages:\n- {name: provider-nop-1, type: Provider, source: xpkg.upbound.io/crossplane-contrib/provider-nop, version: v0.1.0}\n",
	} {
		alone.write(file, text)
	}
	w.contains(alone.mustRun(0, "resolve", "-o", "name").out, "provider-nop@0.1.0")
	alone.write("lock.yaml", "")
	w.contains(alone.mustRun(0, "resolve", "-o", "name").out, "provider-nop@0.2.0")

	platform := []string{"--platform", "crossplane=1.20.0"}
	w.contains(w.mustRun(0, append([]string{"resolve"}, platform...)...).out, "xpkg.upbound.io/crossplane-contrib/provider-nop   0.2.0     provider-nop")
	w.mustApply(platform...)
	w.mustRun(0, append([]string{"approve", "c1"}, platform...)...)
	show := func(file string) string { return w.repos["c1"].Git(t, "show", "main:"+file) }
	w.contains(show("provider-nop/provider.yaml"), "apiVersion: pkg.crossplane.io/v1\nkind: Provider\n", "name: provider-nop\n", "package: "+mirror+"/crossplane-contrib/provider-nop@"+first, "skipDependencyResolution: true")
	w.contains(show("provider-nop/package.yaml"), "name: xpkg.upbound.io/crossplane-contrib/provider-nop\n", "kind: NopResource")
	w.contains(show("db/configuration.yaml"), "kind: Configuration\n")
	if p := w.apply(platform...); p.status != 0 || len(p.actions()) > 0 {
		t.Errorf("a second run does something: %v\n%s%s", p.actions(), p.out, p.err)
	}
	// What stands is known for what it is, and an update is a change of the digest.
	configuration("v1.1.0")
	p := w.mustApply("--upgrade", "*", "--platform", "crossplane=2.0.0")
	if len(p.actions()) == 0 {
		t.Errorf("nothing was updated\n%s", p.out)
	}
	w.mustRun(0, "approve", "c1", "--platform", "crossplane=2.0.0")
	w.lacks(show("provider-nop/provider.yaml"), first)
}

// Only one package of a cluster brings a Composition, as only one brings a definition:
// of two, also where one is a kpt package, none is drafted, and both are named.
func TestOneCompositionInTwoPackages(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(registry.New(registry.WithReferrersSupport(true), registry.Logger(log.New(io.Discard, "", 0))))
	defer srv.Close()
	mirror := strings.TrimPrefix(srv.URL, "http://") + "/mirror"
	const composition = "apiVersion: apiextensions.crossplane.io/v1\nkind: Composition\nmetadata: {name: xbuckets.x.io}\nspec: {compositeTypeRef: {apiVersion: x.io/v1, kind: XBucket}}\n"
	for _, name := range []string{"ref", "other"} {
		xpkg(t, mirror+"/acme/"+name+":v1.0.0", "apiVersion: meta.pkg.crossplane.io/v1\nkind: Configuration\nmetadata: {name: "+name+"}\nspec: {}\n---\n"+composition)
	}
	w := newHTTPWorld(t, "c1")
	w.write("catalog.yaml", "apiVersion: variform.dev/v1alpha1\nkind: Catalog\nmetadata: {name: main}\nspec:\n  sources:\n  - oci: {repository: "+mirror+", mirrorOf: xpkg.upbound.io}\n  - git: {repo: "+w.url("catalog")+"}\n")
	w.write("registry.yaml", "apiVersion: config.porch.kpt.dev/v1alpha1\nkind: Repository\nmetadata: {name: mirror}\nspec: {type: oci, oci: {registry: "+mirror+"}}\n")
	asked := func(name, pkg string) {
		w.write(name+".yaml", "apiVersion: variform.dev/v1alpha1\nkind: Installation\nmetadata: {name: "+name+"}\nspec: {target: c1, package: "+pkg+"}\n")
	}
	asked("ref", "xpkg.upbound.io/acme/ref")
	asked("other", "xpkg.upbound.io/acme/other")
	p := w.apply()
	w.contains(p.out, "both xpkg.upbound.io/acme/other and xpkg.upbound.io/acme/ref would own Composition.apiextensions.crossplane.io/xbuckets.x.io")
	if refs := w.repos["c1"].Git(t, "for-each-ref", "refs/heads/drafts"); p.status != 1 || refs != "" {
		t.Errorf("status %d, Drafts %s", p.status, refs)
	}

	w.write("other.yaml", "")
	w.mustApply()
	w.mustRun(0, "approve", "c1")
	w.offer("plain", "1.0.0", "", gittest.Text{"c.yaml": composition})
	asked("plain", "plain")
	p = w.apply()
	w.contains(p.out, "packages ref and plain both bring Composition.apiextensions.crossplane.io/xbuckets.x.io (ref/package.yaml:", "plain/c.yaml:1")
	if refs := w.repos["c1"].Git(t, "for-each-ref", "refs/heads/drafts"); p.status != 1 || refs != "" {
		t.Errorf("status %d, Drafts %s", p.status, refs)
	}
}

// Bundles of Porter's, as people write them and as they are built, are versions in a
// source, and what they take and need is answered; a literal credential is refused
// where it stands, and what it says is not told.
func TestPorter(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.repos["catalog"].Commit(t, "main", "bundles", gittest.Text{
		"bundles/wordpress/porter.yaml": "schemaVersion: 1.0.1\nname: wordpress\nversion: 1.2.0\nregistry: ghcr.io/example\nmixins: [exec, helm3]\n" +
			"credentials:\n- {name: kubeconfig, path: /home/nonroot/.kube/config}\nparameters:\n- {name: title, type: string}\n" +
			"dependencies:\n  requires:\n  - name: db\n    bundle: {reference: \"ghcr.io/example/mysql:v0.1.0\", version: 0.x}\n    parameters: {database: wordpress}\n" +
			"install:\n- exec: {command: ./install.sh, arguments: [\"${ bundle.dependencies.db.outputs.connstr }\"]}\n",
		"bundles/mysql/.cnab/bundle.json": `{"schemaVersion": "1.2.0", "name": "ghcr.io/example/mysql", "version": "0.1.4", "invocationImages": [{"imageType": "docker", "image": "ghcr.io/example/mysql-installer:v0.1.4"}],
 "definitions": {"db": {"type": "string"}, "out": {"type": "string"}}, "parameters": {"database": {"definition": "db", "destination": {"env": "DB"}}, "size": {"definition": "db", "required": true, "destination": {"env": "SIZE"}}},
 "outputs": {"connstr": {"definition": "out", "path": "/cnab/app/outputs/connstr"}}}`,
		"bundles/old/porter.yaml": "name: mysql\nversion: 0.2.0\nregistry: ghcr.io/example\n", // no output connstr
	})
	w.write("catalog.yaml", "apiVersion: variform.dev/v1alpha1\nkind: Catalog\nmetadata: {name: main}\nspec:\n  sources:\n  - git: {repo: "+w.url("catalog")+", directory: bundles, ref: main}\n")
	w.write("blog.yaml", "apiVersion: variform.dev/v1alpha1\nkind: Installation\nmetadata: {name: blog}\nspec: {package: ghcr.io/example/wordpress}\n")
	w.contains(w.mustRun(0, "catalog", "list", "-o", "name").out, "ghcr.io/example/mysql@0.1.4\nghcr.io/example/mysql@0.2.0\nghcr.io/example/wordpress@1.2.0\n")
	r := w.mustRun(0, "resolve")
	w.contains(r.out, "ghcr.io/example/mysql       0.1.4", "needed by blog as db")
	w.contains(r.err, "db needs values that nothing sets: parameter size")
	w.contains(w.mustRun(0, "explain", "blog").out, "credential   kubeconfig", "parameter    title")

	w.write("porter.yaml", "name: mine\nversion: 1.0.0\ndependencies:\n  requires:\n  - name: db\n    bundle:\n      reference: ghcr.io/example/mysql\n      credentials:\n        token: hunter2\n")
	r = w.mustRun(1, "resolve")
	w.contains(r.err, "porter.yaml:9: dependencies.requires[0].bundle.credentials.token must be a reference")
	w.lacks(r.err+r.out, "hunter2")
}
