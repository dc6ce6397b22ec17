package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/variform/variform/test/gittest"
)

// selectorSet is a set beside the good one; template is indented by 6.
func selectorSet(template string) string {
	return `apiVersion: config.porch.kpt.dev/v1alpha2
kind: PackageVariantSet
metadata:
  name: bad
spec:
  upstream: {repo: catalog, package: web, revision: v1}
  targets:
    - repositorySelector:
        matchLabels: {env: prod}
      template:
` + template
}

// bad variants would be called c1/bad and c2/bad.
const badDownstream = "        downstream: {package: bad}\n"

// badInput is one mistake and what is to be said about it.
type badInput struct {
	files   map[string]string // of the management directory
	catalog gittest.Text      // committed and tagged bad/v1
	want    []string          // in the output: field, remedy
	lacks   []string
	warning bool // exit 0: the run is whole, and says something
	made    []string
}

// place is the file that the message has to name; a warning names its variant.
func (c badInput) place() string {
	if _, ok := c.files["bad.yaml"]; ok && !c.warning {
		return "bad.yaml:"
	}
	return ""
}

// Bad input: each names where it stands and what to do, and the other variants
// of the same run are made.
func TestBadInput(t *testing.T) {
	t.Parallel()
	cases := map[string]badInput{
		"unknown field": {
			files: map[string]string{"bad.yaml": selectorSet(badDownstream + "        lables: {a: b}\n")},
			want:  []string{"bad.yaml:12", "spec.targets[0].template.lables", "labels"},
		},
		"unknown field of a Repository": {
			files: map[string]string{"bad.yaml": strings.Replace(repository("bad", "/nowhere", false, ""), "branch:", "brunch:", 1)},
			want:  []string{"bad.yaml:11", "spec.git.brunch", "branch"},
		},
		"two targets for one downstream": {
			files: map[string]string{"bad.yaml": strings.Replace(selectorSet(badDownstream), "  targets:\n", `  targets:
    - repositories:
        - {name: c1, packageNames: [bad]}
`, 1)},
			want: []string{"c1/bad", "targets[0]", "targets[1]", "packageNames or template.downstream"},
			made: []string{"c2/bad"},
		},
		"two sets for one downstream": {
			files: map[string]string{"bad.yaml": strings.Replace(webSet, "name: web", "name: bad", 1) + `    - repositories:
        - {name: c1, packageNames: [fine]}
`},
			want: []string{"bad.yaml:1: PackageVariantSet default/bad", "sets/web.yaml:1: PackageVariantSet default/web", "c1/web", "packageNames or template.downstream"},
			made: []string{"c1/fine"},
		},
		"CEL that does not compile": {
			files: map[string]string{"bad.yaml": selectorSet(badDownstream + "        labelExprs:\n          - {key: a, valueExpr: \"repository.name +\"}\n")},
			want:  []string{"bad", "spec.targets[0].template.labelExprs[0].valueExpr", "repository.name +", "Syntax error"},
		},
		"CEL that names an unknown variable": {
			files: map[string]string{"bad.yaml": selectorSet(badDownstream + "        labelExprs:\n          - {key: a, valueExpr: repo.name}\n")},
			want:  []string{"labelExprs[0].valueExpr", "repo.name", "undeclared reference"},
		},
		"CEL that returns a number": {
			files: map[string]string{"bad.yaml": selectorSet(badDownstream + "        labelExprs:\n          - {key: a, valueExpr: size(repository.name)}\n")},
			want:  []string{"labelExprs[0].valueExpr", "size(repository.name)", "string"},
		},
		"CEL that costs too much": {
			files: map[string]string{"bad.yaml": selectorSet(badDownstream + "        labelExprs:\n          - key: a\n            valueExpr: \"lists.range(10000).map(x, lists.range(1000).map(y, string(x+y)).join('')).join('')\"\n")},
			want:  []string{"labelExprs[0].valueExpr", "cost"},
		},
		"CEL that names a missing label": {
			files: map[string]string{"bad.yaml": selectorSet(badDownstream + "        labelExprs:\n          - {key: a, valueExpr: \"repository.labels['rigion']\"}\n")},
			want:  []string{"labelExprs[0].valueExpr", "rigion", "c1", "c2"},
		},
		"a label that one target lacks": {
			files: map[string]string{
				"bad.yaml":             selectorSet(badDownstream + "        packageContext:\n          dataExprs:\n          - {key: a, valueExpr: \"repository.labels['zone']\"}\n"),
				"repositories/c1.yaml": "", // filled in below: c1 alone has the label
			},
			want: []string{"dataExprs[0].valueExpr", "zone", "c2"},
			made: []string{"c1/bad"},
		},
		"missing upstream revision": {
			files: map[string]string{"bad.yaml": variantOf("bad", "v9", "c1", "bad", "")},
			want:  []string{"c1/bad", "spec.upstream", "v9", "v1"},
		},
		"missing upstream package": {
			files: map[string]string{"bad.yaml": strings.Replace(variantOf("bad", "v1", "c1", "bad", ""), "package: web", "package: wbe", 1)},
			want:  []string{"c1/bad", "spec.upstream", "wbe", "package web"},
		},
		"a file of a package that cannot be read": {
			files:   map[string]string{"bad.yaml": variantOfPackage("bad")},
			catalog: gittest.Text{"bad/Kptfile": kptfileOf("bad"), "bad/two.yaml": "a: b\n---\na: {b\n"},
			want:    []string{"c1/bad", "two.yaml:3: it is not valid YAML", ".krmignore"},
		},
		"missing upstream Repository": {
			files: map[string]string{"bad.yaml": strings.Replace(variantOf("bad", "v1", "c1", "bad", ""), "repo: catalog", "repo: catalogue", 1)},
			want:  []string{"c1/bad", "spec.upstream", "catalogue", "did you mean"},
		},
		"missing downstream Repository": {
			files: map[string]string{"bad.yaml": variantOf("bad", "v1", "c9", "bad", "")},
			want:  []string{"spec.downstream.repo", "c9", "did you mean"},
		},
		"missing Repository of a set": {
			files: map[string]string{"bad.yaml": listSet("bad", "web", "v1", "c9", "bad")},
			want:  []string{"bad", "c9", "spec.targets[0].repositories[0]"},
		},
		"a Kptfile that is none": {
			files:   map[string]string{"bad.yaml": variantOfPackage("bad")},
			catalog: gittest.Text{"bad/Kptfile": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\n"},
			want:    []string{"c1/bad", "Kptfile"},
		},
		"a Kptfile that is no YAML": {
			files:   map[string]string{"bad.yaml": variantOfPackage("bad")},
			catalog: gittest.Text{"bad/Kptfile": "apiVersion: [\n"},
			want:    []string{"c1/bad", "Kptfile"},
		},
		"no Kptfile": {
			files:   map[string]string{"bad.yaml": variantOfPackage("bad")},
			catalog: gittest.Text{"bad/README.md": "nothing here\n"},
			want:    []string{"c1/bad", "Kptfile"},
		},
		"an invalid injection point": {
			files:   map[string]string{"bad.yaml": variantOfPackage("bad")},
			catalog: gittest.Text{"bad/Kptfile": kptfileOf("bad"), "bad/cm.yaml": injectionPoint("settings", "maybe")},
			want:    []string{"c1/bad", "cm.yaml", "kpt.dev/config-injection", "maybe"},
		},
		"duplicate injection points": {
			files: map[string]string{"bad.yaml": variantOfPackage("bad")},
			catalog: gittest.Text{
				"bad/Kptfile": kptfileOf("bad"), "bad/a.yaml": injectionPoint("settings", "optional"),
				"bad/b.yaml": injectionPoint("settings", "required"),
			},
			want: []string{"c1/bad", "a.yaml", "b.yaml", "config.injection.ConfigMap.settings"},
		},
		"a downstream package with ..": {
			files: map[string]string{"bad.yaml": variantOf("bad", "v1", "c1", "../../etc", "")},
			want:  []string{"bad.yaml", "spec.downstream.package", ".."},
		},
		"an upstream package with ..": {
			files: map[string]string{"bad.yaml": strings.Replace(variantOf("bad", "v1", "c1", "bad", ""), "package: web", "package: ../web", 1)},
			want:  []string{"bad.yaml", "spec.upstream.package", ".."},
		},
		"a directory with ..": {
			files: map[string]string{"bad.yaml": repository("bad", "/nowhere", false, "a/../../b")},
			want:  []string{"bad.yaml", "spec.git.directory", ".."},
		},
		"an expression that gives ..": {
			files: map[string]string{"bad.yaml": selectorSet("        downstream: {packageExpr: \"'../' + packageDefault\"}\n")},
			want:  []string{"spec.targets[0].template.downstream.packageExpr", ".."},
		},
		"a YAML alias bomb in the fleet": {
			files: map[string]string{"bad.yaml": aliasBomb},
			want:  []string{"bad.yaml", "alias"},
		},
		"a YAML alias bomb in a package": {
			files:   map[string]string{"bad.yaml": variantOfPackage("bad")},
			catalog: gittest.Text{"bad/Kptfile": kptfileOf("bad"), "bad/bomb.yaml": strings.Replace(aliasBomb, "metadata:\n", "metadata:\n  annotations: {kpt.dev/config-injection: optional}\n", 1)},
			want:    []string{"c1/bad", "bomb.yaml"},
		},
		"YAML that is none": {
			files: map[string]string{"bad.yaml": "apiVersion: v1\nkind: ConfigMap\n\tmetadata: {\n"},
			want:  []string{"bad.yaml:", "not YAML", ".krmignore"},
		},
		"an empty selection": {
			files:   map[string]string{"bad.yaml": strings.Replace(selectorSet(badDownstream), "env: prod", "env: prd", 1)},
			want:    []string{"bad", "targets[0]"},
			warning: true,
		},
		"an object twice": {
			files: map[string]string{"a.yaml": variantOf("bad", "v1", "c1", "bad", ""), "b.yaml": variantOf("bad", "v1", "c2", "bad", "")},
			want:  []string{"a.yaml", "b.yaml", "keep one of them"},
		},
		"an unreachable repository": {
			files: map[string]string{"repositories/bad.yaml": repository("bad", "file:///nowhere/at/all.git", false, ""), "bad.yaml": variantOf("bad", "v1", "bad", "bad", "")},
			want:  []string{"Repository default/bad", "/nowhere/at/all.git"},
		},
		"a package that is its own upstream": {
			files: map[string]string{"bad.yaml": variantOf("bad", "v1", "catalog", "web", "")},
			want:  []string{"spec.downstream", "its own upstream"},
		},
		"a function that nothing can run": {
			files: map[string]string{"bad.yaml": variantOf("bad", "v1", "c1", "bad", "  pipeline:\n    mutators:\n      - image: registry.example.com/none/such:v1\n")},
			want:  []string{"c1/bad", "registry.example.com/none/such:v1"},
		},
		"an exec function without leave": {
			files:   map[string]string{"bad.yaml": variantOfPackage("bad")},
			catalog: gittest.Text{"bad/Kptfile": kptfileOf("bad") + "pipeline:\n  mutators:\n    - exec: ./steal\n"},
			want:    []string{"c1/bad", "./steal", "--allow-exec"},
		},
		"a Secret to inject": {
			files: map[string]string{
				"bad.yaml":    variantOfPackage("bad") + "  injectors: [{version: v1, kind: Secret, name: key}]\n",
				"secret.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: key}\ndata: {token: c3VwZXItc2VjcmV0}\n",
			},
			catalog: gittest.Text{"bad/Kptfile": kptfileOf("bad"), "bad/s.yaml": "apiVersion: v1\nkind: Secret\nmetadata:\n  name: key\n  annotations: {kpt.dev/config-injection: optional}\n"},
			want:    []string{"config.injection.Secret.key", "injected only where it is allowed"},
			lacks:   []string{"c3VwZXItc2VjcmV0", "super-secret"},
			warning: true, made: []string{"c1/bad"},
		},
		"reserved context keys": {
			files: map[string]string{"bad.yaml": variantOf("bad", "v1", "c1", "bad", "  packageContext: {data: {package-path: x}}\n")},
			want:  []string{"bad.yaml", "spec.packageContext.data", "package-path"},
		},
		"context without its ConfigMap": {
			files:   map[string]string{"bad.yaml": strings.Replace(variantOfPackage("bad"), "repo: c1", "repo: plain", 1) + "  packageContext: {data: {a: b}}\n", "repositories/plain.yaml": "plain"},
			catalog: gittest.Text{"bad/Kptfile": kptfileOf("bad")},
			want:    []string{"plain/bad", "kptfile.kpt.dev", "package-context.yaml"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "c1", "c2")
			w.write("sets/web.yaml", webSet)
			if c.catalog != nil {
				w.repos["catalog"].Tag(t, "bad/v1", w.repos["catalog"].Commit(t, "main", "bad", c.catalog))
			}
			for file, text := range c.files {
				switch {
				case file == "repositories/c1.yaml" && text == "":
					text = strings.Replace(repository("c1", w.url("c1"), true, ""), "env: prod", "env: prod, zone: north", 1)
				case text == "plain":
					w.repo("plain", false)
					w.repos["plain"].Commit(t, "main", "start", gittest.Text{"README.md": "x\n"})
					continue
				}
				w.write(file, text)
			}
			status := 1
			if c.warning {
				status = 0
			}
			// What plan says it will do, apply does.
			planned := w.plan()
			texts := map[string]string{}
			for _, form := range []string{"table", "name"} {
				r := w.run("plan", "-o", form)
				texts[form] = r.out + r.err
			}
			p := w.apply()
			if p.status != status || planned.status != status {
				t.Errorf("plan ended with %d, apply with %d, want %d\n%s", planned.status, p.status, status, p.err)
			}
			// For people, and for machines; and the table is whole with its errors.
			texts["json"] = p.out + p.err
			for form, text := range texts {
				if c.warning && form == "name" {
					continue // names alone, and what failed
				}
				for _, want := range append(c.want, c.place()) {
					if !strings.Contains(text, want) {
						t.Errorf("%s: missing %q in:\n%s", form, want, text)
					}
				}
				w.lacks(text, append(c.lacks, "panic", "runtime error")...)
			}
			made := map[string]bool{}
			for _, v := range p.Variants {
				if v.Action == "create" {
					made[v.Variant] = true
				}
			}
			want := append([]string{"c2/web"}, c.made...)
			if name != "two sets for one downstream" {
				want = append(want, "c1/web")
			} else {
				want = want[1:]
			}
			for _, v := range want {
				if !made[v] {
					t.Errorf("%s was not made\n%s%s", v, p.out, p.err)
				}
			}
			if len(made) != len(want) {
				t.Errorf("made %v, want %v", made, want)
			}
			for v := range made {
				repo, pkg, _ := strings.Cut(v, "/")
				w.repos[repo].Git(t, "rev-parse", "--verify", "drafts/"+pkg+"/packagevariant-1")
			}
		})
	}
}

func kptfileOf(name string) string {
	return "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: " + name + "\n"
}

func variantOfPackage(pkg string) string {
	return strings.Replace(variantOf(pkg, "v1", "c1", pkg, ""), "package: web", "package: "+pkg, 1)
}

func injectionPoint(name, mode string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + name + "\n  annotations:\n    kpt.dev/config-injection: " + mode + "\ndata: {}\n"
}

// aliasBomb is nine levels of nine aliases.
var aliasBomb = func() string {
	var b strings.Builder
	b.WriteString("apiVersion: example.com/v1\nkind: Bomb\nmetadata:\n  name: bomb\nspec:\n  a0: &a0 [x, x, x, x, x, x, x, x, x]\n")
	for i := 1; i < 9; i++ {
		n, p := string(rune('0'+i)), string(rune('0'+i-1))
		b.WriteString("  a" + n + ": &a" + n + " [" + strings.TrimSuffix(strings.Repeat("*a"+p+", ", 9), ", ") + "]\n")
	}
	return b.String()
}()

// Where nothing could be run at all, the status is 2 and the message says why.
func TestCouldNotRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1")
	w.write("sets/web.yaml", webSet)
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"no such command":    {[]string{"plann"}, "plann"},
		"no such flag":       {[]string{"plan", "--prun"}, `did you mean "--prune"`},
		"no flag like it":    {[]string{"plan", "--zzzzzzzz"}, "variform plan --help"},
		"no such format":     {[]string{"plan", "-o", "xml"}, "table, wide, json, yaml, name"},
		"no such variant":    {[]string{"plan", "--only", "c9/web"}, "c9/web"},
		"an argument":        {[]string{"apply", "c1/web"}, "--only c1/web"},
		"a folder":           {[]string{"plan", w.fleet()}, "-f " + w.fleet()},
		"nothing to approve": {[]string{"approve"}, "--class ID"},
		"too much":           {[]string{"approve", "--all", "c1/web"}, "--all"},
		"against":            {[]string{"diff", "--against", "moon"}, "draft or base"},
	} {
		t.Run(name, func(t *testing.T) {
			r := w.run(c.args...)
			if r.status != 2 || !strings.Contains(r.err, c.want) || r.out != "" {
				t.Errorf("status %d, want 2 with %q\nstdout: %s\nstderr: %s", r.status, c.want, r.out, r.err)
			}
		})
	}
	t.Run("an empty folder", func(t *testing.T) {
		r := runIn(t.TempDir(), "plan", "-f", t.TempDir())
		if r.status != 2 || !strings.Contains(r.err, "--fleet") {
			t.Errorf("status %d\n%s", r.status, r.err)
		}
	})
	t.Run("a folder of which nothing can be read", func(t *testing.T) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "set.yaml"), []byte("a: b\nkind: [\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		r := runIn(t.TempDir(), "plan", "-f", dir)
		if r.status != 2 || !strings.Contains(r.err, "set.yaml:2") || !strings.Contains(r.err, "--fleet") {
			t.Errorf("status %d\n%s", r.status, r.err)
		}
	})
	t.Run("a missing folder", func(t *testing.T) {
		r := runIn(t.TempDir(), "plan", "-f", "/nowhere/at/all")
		if r.status != 2 || !strings.Contains(r.err, "/nowhere/at/all") {
			t.Errorf("status %d\n%s", r.status, r.err)
		}
	})
}
