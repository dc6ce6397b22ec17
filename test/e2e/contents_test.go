package e2e

import (
	"strings"
	"testing"

	"github.com/variform/variform/test/gittest"
)

// definition is a CustomResourceDefinition of Foos in x.io that serves versions.
func definition(versions ...string) string {
	text := "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: foos.x.io}\nspec:\n  group: x.io\n  names: {kind: Foo, plural: foos}\n  scope: Namespaced\n  versions:\n"
	for _, v := range versions {
		text += "  - {name: " + v + ", served: true, storage: true}\n"
	}
	return text
}

// What a package's definitions serve it provides, in every version of it, whatever
// its manifest says.
func TestProvidesByContent(t *testing.T) {
	t.Parallel()
	w := needing(t)
	w.offer("op", "1.0.0", "", gittest.Text{"crds/crd.yaml": definition("v1beta1")})
	w.offer("op", "2.0.0", "", gittest.Text{"crds/crd.yaml": definition("v1")})
	w.offer("op", "3.0.0", "", gittest.Text{"crds/crd.yaml": definition("v2")})
	w.offer("app", "1.0.0", "  requires: [{alias: o, package: op}, {alias: a, gvk: {apiVersion: x.io/v1, kind: Foo}}]\n", nil)
	w.needs("app", "1.0.0")
	p := w.mustApply()
	if up := p.variant(t, "c1/op").Upstream; !strings.Contains(up, "op@op/v2.0.0") {
		t.Errorf("op comes as %s\n%s", up, p.out)
	}
	w.contains(w.mustRun(0, "resolve").out, "op")

	w.offer("alone", "1.0.0", "  requires: [{alias: a, gvk: {apiVersion: x.io/v3, kind: Foo}}]\n", nil)
	w.needs("alone", "1.0.0")
	w.contains(w.mustRun(1, "plan").err, "needs the API x.io/v3 Foo, which is not served here")
	w.offer("odd", "1.0.0", "  provides: [{gvk: {apiVersion: x.io/v3, kind: Foo}}, {gvk: {apiVersion: y.io/v1, kind: Bar}}]\n", gittest.Text{"crd.yaml": definition("v1", "v2")})
	w.write("app.yaml", "")
	w.write("alone.yaml", "")
	w.needs("odd", "1.0.0")
	r := w.mustRun(0, "plan")
	w.contains(r.err, "upstream catalog/odd@odd/v1.0.0: package.yaml: spec.provides has x.io/v3 Foo, and the definition in the package serves v1, v2 alone")
	w.lacks(r.err, "y.io/v1 Bar")
}

// service is a Service of a namespace.
func service(name string) string {
	return "apiVersion: v1\nkind: Service\nmetadata: {name: " + name + ", namespace: db}\n"
}

// Two instances that are one object of the cluster: what comes last is refused, with
// what needs it, and all else goes on.
func TestOneObjectInTwoInstances(t *testing.T) {
	t.Parallel()
	w := needing(t)
	w.offer("mysql", "8.0.0", "  parameters: [{name: ns, required: false, to: {fieldPath: 'Service/mysql:metadata.namespace'}}]\n", gittest.Text{"s.yaml": service("mysql")})
	for _, x := range []string{"x1", "x2"} {
		w.offer(x, "1.0.0", "  requires: [{alias: db, package: mysql, share: {mode: none}}]\n", nil)
		w.needs(x, "1.0.0")
	}
	p := w.apply()
	const twice = "packages mysql and x2-db both bring Service/db/mysql (mysql/s.yaml:1, x2-db/s.yaml:1): a cluster has one of it"
	if p.status != 1 {
		t.Fatal(p.out)
	}
	w.contains(p.variant(t, "c1/x2").Error, twice, "another namespace or other names", "share of the requirement")
	r := w.run("status")
	w.contains(r.out+r.err, "packages mysql and x2-db both bring Service/db/mysql")
	before := w.refs()
	w.apply()
	w.unchanged(before)
	r = w.run("approve", "--all")
	for _, pkg := range []string{"mysql", "x1", "variform-lock"} {
		if !w.on("main", pkg) {
			t.Errorf("%s was not published:\n%s%s", pkg, r.out, r.err)
		}
	}
	if w.on("main", "x2-db") || w.on("main", "x2") {
		t.Errorf("what is one object twice was published:\n%s", r.out)
	}
	// With a namespace of its own it is another object, as it is rendered.
	w.offer("x2", "1.1.0", "  requires: [{alias: db, package: mysql, share: {mode: none}, parameters: {ns: two}}]\n", nil)
	w.needs("x2", "1.1.0")
	w.mustApply()
	w.mustRun(0, "approve", "--all")
	w.contains(w.show("c1", "main", "x2-db/s.yaml"), "namespace: two")
	before = w.refs()
	w.mustApply()
	w.unchanged(before)
}

// Packages that take no part in dependencies are warned of, once for all clusters that
// are alike.
func TestOneObjectInTwoPackages(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1", "c2")
	catalogue := w.repos["catalog"]
	text := gittest.Text{}
	for _, name := range []string{"a", "b", "web"} {
		text[name+"/Kptfile"] = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: " + name + "\n"
		text[name+"/s.yaml"] = service(strings.Replace(name, "b", "a", 1))
		text[name+"/ns.yaml"] = "apiVersion: v1\nkind: Namespace\nmetadata: {name: db}\n"
	}
	commit := catalogue.Commit(t, "main", "all", text)
	for _, name := range []string{"a", "b", "web"} {
		catalogue.Tag(t, name+"/v1", commit)
		for _, c := range []string{"c1", "c2"} {
			w.write(c+name+".yaml", strings.ReplaceAll(variantOf(c+name, "v1", c, name, ""), "package: web", "package: "+name))
		}
	}
	p := w.mustApply()
	const twice = "target c1, c2: packages a and b both bring Service/db/a (a/s.yaml:1, b/s.yaml:1): in one cluster"
	if len(p.Warnings) != 1 {
		t.Errorf("warnings: %q", p.Warnings)
	}
	w.contains(p.Warnings[0], twice)
	w.mustRun(0, "approve", "--all")
	if p = w.mustApply(); len(p.Warnings) != 0 { // nothing changes
		t.Errorf("warnings: %q", p.Warnings)
	}
	text["b/s.yaml"] = service("a") + "spec: {type: NodePort}\n"
	catalogue.Tag(t, "b/v2", catalogue.Commit(t, "main", "b", text))
	w.write("c1b.yaml", strings.ReplaceAll(variantOf("c1b", "v2", "c1", "b", ""), "package: web", "package: b"))
	p = w.mustApply()
	if len(p.Warnings) != 1 || !strings.HasPrefix(p.Warnings[0], "target c1: packages a and b") {
		t.Errorf("warnings: %q", p.Warnings)
	}
}

// Two packages that bring one definition fail nothing where no package takes part in
// dependencies; where one does, of the two the one that comes.
func TestOneDefinitionInTwoPackages(t *testing.T) {
	t.Parallel()
	w := needing(t)
	catalogue := w.repos["catalog"]
	text := gittest.Text{}
	for _, name := range []string{"a", "b", "plain"} {
		text[name+"/Kptfile"] = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: " + name + "\n"
		if name != "plain" {
			text[name+"/crd.yaml"] = definition("v1")
		}
	}
	commit := catalogue.Commit(t, "main", "all", text)
	for _, name := range []string{"a", "b", "plain"} {
		catalogue.Tag(t, name+"/v1.0.0", commit)
		w.needs(name, "1.0.0")
	}
	const both = "packages a and b both bring the API x.io/Foo"
	p := w.plan("--dependencies=false")
	w.wantActions(p, all("create", "c1/a", "c1/b", "c1/plain"))
	p = w.plan()
	w.wantActions(p, all("create", "c1/a", "c1/b", "c1/plain"))
	w.contains(strings.Join(p.Warnings, "\n"), both)

	w.write("b.yaml", "")
	w.offer("db", "1.0.0", "", nil)
	w.offer("app", "1.0.0", "  requires: [{alias: db, package: db}]\n", nil)
	w.needs("app", "1.0.0")
	w.mustApply()
	w.mustRun(0, "approve", "--all")
	w.needs("b", "1.0.0")
	p = w.plan()
	w.wantActions(p, all("fail", "c1/b"))
	w.contains(p.variant(t, "c1/b").Error, both)
}

// What stands on a target's branch without a revision, or with one that says nothing
// of its version, is what the target has: nothing is made beside it in silence.
func TestWhatStandsThere(t *testing.T) {
	t.Parallel()
	kptfile := "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: cm\n"
	lock := func(ref string) string {
		return kptfile + "upstreamLock:\n  type: git\n  git: {repo: https://example.com/x.git, directory: /lib/cm, ref: " + ref + ", commit: 0123456789012345678901234567890123456789}\n"
	}
	version := func(v string) string { return packageWith("cm", "  version: "+v+"\n")["cm/package.yaml"] }
	const range14 = "  requires: [{alias: c, package: cm, version: '>=1.14'}]\n"
	for name, tc := range map[string]struct {
		folder, needs string
		there         gittest.Text
		tag           bool
		scope         string
		fails         string // "" where what stands there does
	}{
		"no version, no tag":              {folder: "infra/cm", needs: range14, there: gittest.Text{"Kptfile": kptfile}, scope: "Cluster", fails: "nothing tells its version"},
		"the number of a revision":        {folder: "infra/cm", needs: range14, there: gittest.Text{"Kptfile": kptfile}, tag: true, scope: "Cluster", fails: "nothing tells its version"},
		"no version is needed":            {folder: "infra/cm", needs: "  requires: [{alias: c, package: cm}]\n", there: gittest.Text{"Kptfile": kptfile}, scope: "Cluster"},
		"a manifest, no tag":              {folder: "cm", needs: range14, there: gittest.Text{"Kptfile": kptfile, "package.yaml": version("1.15.0")}, scope: "Cluster"},
		"an upstreamLock, no tag":         {folder: "infra/certs", needs: range14, there: gittest.Text{"Kptfile": lock("lib/cm/v1.14.2")}, scope: "Cluster"},
		"an upstreamLock that is too old": {folder: "infra/certs", needs: range14, there: gittest.Text{"Kptfile": lock("lib/cm/v1.13.0")}, scope: "Cluster", fails: "cm 1.13.0 is installed as infra/certs"},
		"another name, the same API":      {folder: "other", needs: range14, there: gittest.Text{"Kptfile": strings.Replace(kptfile, "cm", "other", 1)}, fails: "x.io/Foo"},
		"its API is what is needed":       {folder: "other", needs: "  requires: [{alias: c, gvk: {apiVersion: x.io/v1, kind: Foo}}]\n", there: gittest.Text{"Kptfile": kptfile}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := needing(t)
			scope := ""
			if tc.scope != "" {
				scope = "  scope: " + tc.scope + "\n"
			}
			w.offer("cm", "1.16.1", scope, gittest.Text{"crd.yaml": definition("v1")})
			w.offer("app", "1.0.0", tc.needs, nil)
			w.needs("app", "1.0.0")
			text := gittest.Text{tc.folder + "/crd.yaml": definition("v1")}
			for file, data := range tc.there {
				text[tc.folder+"/"+file] = data
			}
			commit := w.repos["c1"].Commit(t, "main", "by hand", text)
			if tc.tag {
				w.repos["c1"].Tag(t, tc.folder+"/v1", commit)
			}
			p := w.apply()
			if tc.fails != "" {
				w.contains(p.variant(t, "c1/app").Error, tc.fails)
				if p.status != 1 {
					t.Errorf("status %d", p.status)
				}
			} else if p.variant(t, "c1/app").Action != "create" {
				t.Errorf("app: %s", p.variant(t, "c1/app").Error)
			}
			if len(w.repos["c1"].Git(t, "for-each-ref", "refs/heads/drafts/cm")) > 0 {
				t.Errorf("a second cm was drafted:\n%s", p.out)
			}
			before := w.refs()
			w.repos["c1"].Commit(t, "main", "something else", merged(text, gittest.Text{"README.md": "x\n"}))
			w.apply()
			after := w.refs()
			for ref := range before {
				if strings.Contains(ref, "drafts/") && before[ref] != after[ref] {
					t.Errorf("%s has moved for nothing", ref)
				}
			}
		})
	}
}

// An object of an API that its target does not serve is warned of, where the target
// takes part in dependencies.
func TestUnservedAPI(t *testing.T) {
	t.Parallel()
	w := needing(t)
	w.offer("op", "1.0.0", "", gittest.Text{"crd.yaml": definition("v1")})
	foo := "apiVersion: x.io/v1beta1\nkind: Foo\nmetadata: {name: f, namespace: n}\n"
	w.offer("app", "1.0.0", "  requires: [{alias: o, package: op}]\n", gittest.Text{"foo.yaml": foo, "ok.yaml": strings.Replace(foo, "v1beta1", "v1", 1)})
	w.needs("app", "1.0.0")
	p := w.mustApply()
	if len(p.Warnings) != 1 {
		t.Fatalf("warnings: %q", p.Warnings)
	}
	w.contains(p.Warnings[0], "target c1: package app: Foo.x.io/n/f (app/foo.yaml:1) is of the API x.io/v1beta1 Foo, and v1 is served here")
	if p = w.mustApply("--dependencies=false"); len(p.Warnings) != 0 {
		t.Errorf("warnings: %q", p.Warnings)
	}
}

// What an update takes from those who have objects of a definition is seen by a person
// first, also where activation is Automatic.
func TestDefinitionThatBreaks(t *testing.T) {
	t.Parallel()
	w := needing(t)
	w.offer("op", "1.0.0", "", gittest.Text{"crd.yaml": definition("v1beta1")})
	w.offer("op", "1.1.0", "", gittest.Text{"crd.yaml": strings.Replace(definition("v1beta1", "v1"), "storage: true", "storage: false", 1)})
	w.offer("op", "2.0.0", "", gittest.Text{"crd.yaml": definition("v1")})
	w.write("automatic.yaml", "apiVersion: variform.dev/v1alpha1\nkind: Installation\nmetadata: {name: op}\nspec: {target: c1, package: op, activation: Automatic}\n")
	for _, version := range []string{"1.0.0", "1.1.0"} { // a first one, and one that takes nothing
		w.needs("op", version)
		if v := w.mustApply().variant(t, "c1/op"); len(v.Warnings) > 0 || v.Lifecycle != "Published" {
			t.Fatalf("%s: %+v", version, v)
		}
	}
	w.needs("op", "2.0.0")
	const gone = "foos.x.io does not serve v1beta1 any more"
	v := w.mustApply().variant(t, "c1/op")
	w.contains(strings.Join(v.Warnings, "\n"), gone+": move what reads or writes objects as v1beta1 to another version before",
		"activation is Automatic, but a person is to see first: "+gone+": review and approve it")
	w.contains(w.mustRun(0, "review").out, gone)
	w.contains(w.mustRun(0, "status", "-v").out, gone)
	w.mustRun(0, "approve", "op")
	w.wantActions(w.mustApply(), map[string]string{})
}

// So is what its schema admits no more.
func TestSchemaThatBreaks(t *testing.T) {
	t.Parallel()
	w := needing(t)
	with := func(schema string) gittest.Text {
		return gittest.Text{"crd.yaml": strings.Replace(definition("v1"), "storage: true", "storage: true, schema: {openAPIV3Schema: "+schema+"}", 1)}
	}
	w.offer("op", "1.0.0", "", with("{type: object, properties: {size: {type: integer}}}"))
	w.offer("op", "1.1.0", "", with("{type: object, properties: {size: {type: integer}, mode: {type: string}}}"))
	w.offer("op", "1.2.0", "", with("{type: object, properties: {size: {type: integer, maximum: 9}}}"))
	w.write("automatic.yaml", "apiVersion: variform.dev/v1alpha1\nkind: Installation\nmetadata: {name: op}\nspec: {target: c1, package: op, activation: Automatic}\n")
	for _, version := range []string{"1.0.0", "1.1.0"} { // a first one, and one that admits more
		w.needs("op", version)
		if v := w.mustApply().variant(t, "c1/op"); len(v.Warnings) > 0 || v.Lifecycle != "Published" {
			t.Fatalf("%s: %+v", version, v)
		}
	}
	w.needs("op", "1.2.0")
	v := w.mustApply().variant(t, "c1/op")
	w.contains(strings.Join(v.Warnings, "\n"), "foos.x.io v1: mode: gone: an API server drops that", "activation is Automatic, but a person is to see first: ")
	for _, told := range []string{"foos.x.io v1: mode: gone", "foos.x.io v1: size: maximum 9"} {
		w.contains(w.mustRun(0, "review").out, told)
	}
	w.mustRun(0, "approve", "op")
	w.wantActions(w.mustApply(), map[string]string{})
}

// An object in a namespace that nobody makes is warned of in a target that makes its own,
// once it is known what all its packages make.
func TestUnmadeNamespace(t *testing.T) {
	t.Parallel()
	w := needing(t)
	w.offer("base", "1.0.0", "", gittest.Text{"ns.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n"})
	for _, ns := range []string{"shop", "shpo"} {
		w.offer(ns, "1.0.0", "  requires: [{alias: b, package: base}]\n", gittest.Text{"cm.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: " + ns + "}\n"})
		w.needs(ns, "1.0.0")
	}
	w.offer("other", "1.0.0", "", nil)
	w.needs("other", "1.0.0")
	if p := w.plan("--only", "shop,shpo"); len(p.Warnings) != 0 {
		t.Errorf("it is not known what other makes: %q", p.Warnings)
	}
	p := w.plan()
	if len(p.Warnings) != 1 {
		t.Fatalf("warnings: %q", p.Warnings)
	}
	w.contains(p.Warnings[0], "target c1: package shpo: ConfigMap/shpo/c (shpo/cm.yaml:1) is in namespace shpo, which nothing here makes: ")
}
