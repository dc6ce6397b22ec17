package api_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/api"
	"github.com/variform/variform/api/variform/v1alpha1"
)

const head = "apiVersion: variform.dev/v1alpha1\nkind: "

// TestPackageKinds reads one good document of each kind, and writes it back to the same object.
func TestPackageKinds(t *testing.T) {
	for kind, body := range map[string]string{
		"PackageManifest": `
metadata: {name: app}
spec:
  version: v1.2.0
  scope: Namespace
  parameters: [{name: size, default: "3", to: {setter: size}}, {name: port, type: integer, default: 0x50}, {name: on, default: true}]
  credentials: [{name: kubeconfig}]
  outputs: [{name: url, valueFrom: status.url}]
  provides: [{gvk: {apiVersion: x.org/v1, kind: Thing}}, {interface: {id: web, version: 1.0.0}}, {object: {group: x.org, kind: Policy, name: p}}]
  requires:
  - {alias: db, package: registry.example.org/db, version: ">=1 <3", share: {mode: none}, parameters: {flag: on, answer: yes}}
  - {alias: any, anyOf: [{gvk: {apiVersion: v1, kind: Thing}}, {interface: {id: web}}]}
  - {alias: host, platform: {name: kubernetes, version: ">=1.30"}}`,
		"Installation": `
metadata: {name: app, namespace: on}
spec:
  package: app
  constraints: 1.x
  historyLimit: 0
  credentials: {kubeconfig: {name: kube}}
  dependencies: {allowChanges: [Upgrade, Downgrade], searchProviders: true, overrides: [{alias: db, installation: shared}]}
status: {currentRevision: "sha256:a"}`,
		"Catalog": `
metadata: {name: all}
spec: {sources: [{git: {repo: file, directory: /packages/}}, {oci: {repository: registry.example.org/p}}], defaults: {web: app}}`,
		"PackageLock": `
metadata: {name: edge}
spec:
  packages: [{name: app, namespace: n, version: 1.0.0, dependencies: [db]}, {name: db, namespace: n, version: 2.0.0}]
  customResourceDefinitions: {x.org/Thing: db}
  plan: [[n/db], [n/app]]`,
	} {
		t.Run(kind, func(t *testing.T) {
			obj, report := api.Parse([]byte(head + kind + body))
			if len(report.Errors)+len(report.Warnings) > 0 {
				t.Fatal(report)
			}
			text, err := api.Encode(obj)
			if err != nil {
				t.Fatal(err)
			}
			again, report := api.Parse(text)
			if diff := cmp.Diff(obj, again); diff != "" || report.Err() != nil {
				t.Errorf("%v\n%s\n%s", report.Err(), diff, text)
			}
		})
	}
}

const (
	credentialHint = "write ${bundle.credentials.<name>} with that name in spec.credentials; its Installation says credentials: {<name>: {name: <a Secret>, key: <its key>}}"
	noLiteral      = " must be a reference to a credential of this package: a literal or an output would stand in Git (hint: " + credentialHint + ")"
)

// TestPackageKindErrors holds that all that is wrong is said at once, each with field, line and what to do.
func TestPackageKindErrors(t *testing.T) {
	for name, c := range map[string]struct {
		reason, doc string
		want        []string
	}{
		"numbers for versions": {
			"YAML takes 1.20 for a number, and 1.2 is not 1.20 any more",
			"PackageManifest\nmetadata: {name: a}\nspec:\n  version: 1.20\n  requires:\n  - {package: db, version: 1.10}\n",
			[]string{
				`line 5: spec.version must be a string, not the number 1.20 (hint: quote it: "1.20")`,
				`line 7: spec.requires[0].version must be a string, not the number 1.10 (hint: quote it: "1.10")`,
			},
		},
		"words of YAML 1.1": {
			"on and yes stay the words that they are: no versions",
			"PackageManifest\nmetadata: {name: a}\nspec: {version: on, requires: [{package: db, version: yes}]}\n",
			[]string{
				`line 4: spec.version: "on" is not a full semantic version (hint: write three numbers, such as 1.2.0)`,
				`line 4: spec.requires[0].version: "yes" is neither a range of versions nor a digest (hint: write one such as ">=1.2 <2", 1.x or ^1.2.3, or sha256: and the hash)`,
			},
		},
		"manifest": {
			"every part of a manifest is checked",
			"PackageManifest\nmetadata: {name: a}\nversion: 1.0.0\nspec:\n" +
				"  scope: cluster\n" +
				"  parameters: [{name: p, to: {setter: x, fieldPath: y}}, {name: p}]\n" +
				"  credentials: [{name: c, default: hush}]\n" +
				"  provides: [{}]\n" +
				"  requires:\n" +
				"  - {alias: x, package: a, gvk: {apiVersion: v1}}\n" +
				"  - {alias: x, packages: a}\n" +
				"  - {interface: {reference: a, document: {outputs: [{type: string}]}}}\n" +
				"  - {interface: {id: a}, version: 1.x, labels: {a b: c, ok: '${installation.name} x'}}\n" +
				"  - {interface: {version: 1.x}}\n",
			[]string{
				`line 4: unknown field version (hint: it belongs into spec)`,
				`line 12: unknown field spec.requires[1].packages (hint: did you mean "package"?)`,
				`line 6: spec.scope can only be "Cluster", "Namespace" or "Any" (hint: did you mean "Cluster"?)`,
				`line 11: spec.requires[0].gvk.kind is a required field`,
				`line 7: spec.parameters[0].to has fieldPath and setter, which exclude each other (hint: leave one of them)`,
				`line 7: spec.parameters[1].name: "p" is there twice, first in spec.parameters[0]`,
				`line 8: spec.credentials[0].default would be a secret in clear (hint: credentials are given as references to secrets; remove the default)`,
				`line 9: spec.provides[0] needs one of gvk, interface, object`,
				`line 11: spec.requires[0] has gvk and package or interface, which exclude each other (hint: leave one of them)`,
				`line 12: spec.requires[1] needs one of anyOf, gvk, package or interface, platform`,
				`line 13: spec.requires[2].interface has reference and document, which exclude each other (hint: leave one of them)`,
				`line 13: spec.requires[2].interface.document.outputs[0].name is a required field (hint: or an id, or both)`,
				`line 14: spec.requires[3].version and default are of a package, and none is named (hint: versions of an interface or a platform stand in it)`,
				`line 14: spec.requires[3].labels[a b]: key "a b" is not valid…`,
				`line 15: spec.requires[4].interface says nothing (hint: name an id, a reference or a document)`,
				`line 12: spec.requires[1].alias: "x" is there twice, first in spec.requires[0]`,
			},
		},
		"credentials": {
			"what may be a secret is refused where it stands, and not repeated",
			"PackageManifest\nmetadata: {name: a}\nspec:\n  credentials: [{name: own}]\n  requires:\n" +
				"  - {package: a, credentials: {c: '${bundle.credentials.own}'}}\n" +
				"  - {package: a, credentials: {c: ' ${ bundle.credentials.own } '}}\n" +
				"  - {package: a, credentials: {c: hunter2}}\n" +
				"  - {package: a, credentials: {c: 4711}}\n" +
				"  - {package: a, credentials: {c: ''}}\n" +
				"  - {package: a, credentials: {c: '${bundle.dependencies.b.outputs.hunter2}'}}\n" +
				"  - {package: a, credentials: {c: 'hunter2-${bundle.credentials.own}'}}\n" +
				"  - {package: a, credentials: {c: '${bundle.credentials.own}${bundle.parameters.hunter2}'}}\n" +
				"  - {package: a, credentials: {c: '${bundle.credentials.own'}}\n" +
				"  - {anyOf: [{package: a, credentials: {c: '${bundle.parameters.hunter2}'}}]}\n" +
				"  - {package: a, credentials: {c: '${bundle.credentials.other}'}}\n",
			[]string{
				"line 10: spec.requires[3].credentials[c] must be a string, not integer",
				"line 9: spec.requires[2].credentials[c]" + noLiteral, "line 11: spec.requires[4].credentials[c]" + noLiteral,
				"line 12: spec.requires[5].credentials[c]" + noLiteral, "line 13: spec.requires[6].credentials[c]" + noLiteral,
				"line 14: spec.requires[7].credentials[c]" + noLiteral, "line 15: spec.requires[8].credentials[c]" + noLiteral,
				"line 16: spec.requires[9].anyOf[0].credentials[c]" + noLiteral,
				`line 17: spec.requires[10].credentials[c] reads a credential "other" that spec.credentials does not have (hint: ` + credentialHint + `)`,
			},
		},
		"secrets of an installation": {
			"a password in the place of a Secret's name is refused, and not repeated",
			"Installation\nmetadata: {name: a}\nspec:\n  package: a\n  credentials:\n    a: {name: shop, key: pass.word}\n    b: {name: 'Hunter2!', key: 'hunter 2'}\n    c: hunter2\n    d: {value: hunter2}\n",
			[]string{
				"line 9: spec.credentials[c] must be a map, not a string",
				"line 10: unknown field spec.credentials[d].value (hint: the fields here are key, name)",
				"line 9: spec.credentials[c].name is a required field",
				"line 10: spec.credentials[d].name is a required field",
				"line 8: spec.credentials[b].name cannot be the name of a Secret (hint: write the Secret's name, not what it holds)",
				"line 8: spec.credentials[b].key cannot be a key of a Secret (hint: write the key's name, not what it holds)",
			},
		},
		"installation": {
			"decisions that decide nothing are mistakes",
			"Installation\nmetadata: {name: a}\nspec:\n  historyLimit: -1\n  activation: Sometimes\n  credentials: {c: {key: k}}\n  pull: {imagePullSecrets: [regcred]}\n" +
				"  dependencies:\n    allowChanges: [upgrade]\n    overrides: [{alias: db}, {installation: x}, {alias: db, install: true}, {alias: c, installation: i, reference: r}]\n    values: [{secretRef: {name: v}}]\n",
			[]string{
				`line 8: unknown field spec.pull (hint: nothing is run for it: set image pull secrets, their policy and annotations of a ServiceAccount in the package, or by the pipeline of its variant)`,
				`line 12: unknown field spec.dependencies.values (hint: a Secret is given to a credential of the dependency: write spec.credentials: {<alias>.<credential>: {name: <a Secret>, key: <its key>}})`,
				`line 4: spec.package is a required field`,
				`line 6: spec.activation can only be "Automatic" or "Manual" (hint: it is "Sometimes")`,
				`line 5: spec.historyLimit must be at least 0, not -1`,
				`line 7: spec.credentials[c].name is a required field`,
				`line 10: spec.dependencies.allowChanges[0] can only be "Upgrade" or "Downgrade" (hint: did you mean "Upgrade"?)`,
				`line 11: spec.dependencies.overrides[0] overrides nothing (hint: name an installation, a reference, constraints, prereleases or install)`,
				`line 11: spec.dependencies.overrides[1] is for no dependency (hint: name its alias or its package)`,
				`line 11: spec.dependencies.overrides[3] has an installation and a reference or constraints, which exclude each other (hint: leave one of them)`,
				`line 11: spec.dependencies.overrides[2].alias: "db" is there twice, first in spec.dependencies.overrides[0]`,
			},
		},
		"installed": {
			"what is there has outputs with names, and provides one thing each",
			"Installation\nmetadata: {name: a}\nspec: {package: p}\nstatus:\n  currentRevision: prod\n  outputs: [{id: x}]\n  provides: [{}]\n",
			[]string{`line 7: status.outputs[0].name is a required field`, `line 8: status.provides[0] needs one of gvk, interface, object`},
		},
		"catalogue": {
			"a source is one thing",
			"Catalog\nmetadata: {name: a}\nspec: {sources: [{git: {repo: r, directory: ../up}, oci: {}}, {}], defaults: {web: \"\"}}\n",
			[]string{
				`line 4: spec.sources[0].oci.repository is a required field`,
				`line 4: spec.sources[0] has git and oci, which exclude each other (hint: leave one of them)`,
				"line 4: spec.sources[0].git.directory: \"../up\" is not a valid package path: it leaves the repository with `..`",
				`line 4: spec.sources[1] needs one of git, oci`,
				`line 4: spec.defaults[web] names no package`,
			},
		},
		"lock": {
			"a lock that was edited by hand",
			"PackageLock\nmetadata: {name: a}\nspec:\n  packages:\n  - {name: app, version: 1.0, dependencies: [gone]}\n  - {name: app, version: 1.0.0}\n" +
				"  compositions: {x: nobody}\n  plan: [[app, later]]\n",
			[]string{
				`line 6: spec.packages[0].version must be a string, not the number 1.0 (hint: quote it: "1.0")`,
				`line 7: spec.packages[1].name: "app" is there twice, first in spec.packages[0]`,
				`line 6: spec.packages[0].dependencies[0]: "gone" is not among spec.packages (hint: resolve again to repair the lock)`,
				`line 8: spec.compositions[x]: "nobody" is not among spec.packages (hint: resolve again to repair the lock)`,
				`line 9: spec.plan[0][1]: "later" is not among spec.packages (hint: resolve again to repair the lock)`,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, report := api.Parse([]byte(head + c.doc))
			got := strings.Split(report.Errors.Error(), "\n")
			for n := range min(len(got), len(c.want)) { // Kubernetes' own texts are cut
				if start, ok := strings.CutSuffix(c.want[n], "…"); ok && strings.HasPrefix(got[n], start) {
					got[n] = c.want[n]
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s:\n%s", c.reason, diff)
			}
		})
	}
}

// TestPasswordInCatalog holds that a password in an address is warned of and never shown.
func TestPasswordInCatalog(t *testing.T) {
	obj, report := api.Parse([]byte(head + "Catalog\nmetadata: {name: a}\nspec: {sources: [{git: {repo: 'https://me:hush@git.example.org/r'}}]}\n"))
	if len(report.Warnings) != 1 || strings.Contains(report.Warnings.Error(), "hush") || len(obj.(*v1alpha1.Catalog).Spec.Sources) != 1 {
		t.Error(report)
	}
}

// TestParameterDefaults: a default is what is written, whatever YAML takes it for.
func TestParameterDefaults(t *testing.T) {
	for text, want := range map[string]string{"3": "3", "1.10": "1.10", "true": "true", "on": "on", "'3'": "3", "-0.5": "-0.5", "x": "x"} {
		obj, report := api.Parse([]byte(head + "PackageManifest\nmetadata: {name: a}\nspec: {parameters: [{name: p, default: " + text + "}]}\n"))
		if report.Err() != nil {
			t.Fatal(report)
		}
		if d := obj.(*v1alpha1.PackageManifest).Spec.Parameters[0].Default; d == nil || *d != want {
			t.Errorf("%s is read as %v", text, d)
		}
	}
	for _, text := range []string{"null", "{a: b}", "[3]"} {
		obj, report := api.Parse([]byte(head + "PackageManifest\nmetadata: {name: a}\nspec: {parameters: [{name: p, default: " + text + "}]}\n"))
		if d := obj.(*v1alpha1.PackageManifest).Spec.Parameters[0].Default; d != nil && *d != "" || (report.Err() == nil) != (text == "null") {
			t.Errorf("%s: %v", text, report)
		}
	}
}

// The name is what others need the package by, a path or a reference.
func TestManifestNames(t *testing.T) {
	for name, good := range map[string]bool{
		"app": true, "team/app": true, "registry.example.com:5000/org/app": true,
		"a//b": false, "a/": false, "../a": false, "registry.example.com:x/app": false, "org/app:5000/b": false, "App": false, "org/App": false,
	} {
		_, report := api.Parse([]byte("apiVersion: variform.dev/v1alpha1\nkind: PackageManifest\nmetadata: {name: '" + name + "'}\nspec: {}\n"))
		if err := report.Err(); (err == nil) != good {
			t.Errorf("%s: %v", name, err)
		}
	}
}
