package e2e

import (
	"strings"
	"testing"

	"github.com/variform/variform/test/gittest"
)

// Mistakes that people make, and what they are told of them.
func TestMistakes(t *testing.T) {
	t.Parallel()
	broken := "apiVersion: config.porch.kpt.dev/v1alpha2\nkind: PackageVariantSet\nmetadata: {name: x}\nspec:\n  bogus: 1\n"
	for name, tc := range map[string]struct {
		reason string
		do     func(w *world)
		args   []string
		status int
		want   []string
	}{
		"OnlyOfABrokenSet": {
			"a name that means nothing may be that of what could not be read",
			func(w *world) { w.write("x.yaml", broken) },
			[]string{"plan", "--only", "x"},
			2,
			[]string{`nothing is called "x"`, "x.yaml:5: unknown field spec.bogus"},
		},
		"NoKptfile": {
			"the upstream, not only the file",
			func(w *world) {
				c := w.repos["catalog"].CommitFrom(w.t, "bare", "", "no package", gittest.Text{"web/a.yaml": "a: b\n"})
				w.repos["catalog"].Tag(w.t, "web/v7", c)
				w.write("v.yaml", variantOf("web", "v7", "c1", "web", ""))
			},
			[]string{"plan"},
			1,
			[]string{"v.yaml:1: upstream catalog/web@web/v7: Kptfile: no usable Kptfile", "kpt pkg init"},
		},
		"Misspelt": {
			"a field's line and name, and no type of ours",
			func(w *world) {
				w.publishWeb(merged(web("1", "1", "info"), gittest.Text{"web/Kptfile": "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: web\npipeline:\n  mutators:\n  - imge: a\n"}), "v7")
				w.write("v.yaml", variantOf("web", "v7", "c1", "web", ""))
			},
			[]string{"plan"},
			1,
			[]string{`line 7: pipeline.mutators[0]: there is no field "imge"; there are image,`},
		},
		"TwoRevisions": {
			"what each of the two readers takes, once for all variants",
			func(w *world) {
				for _, name := range []string{"one", "two"} {
					w.write(name+".yaml", strings.Replace(variantOf(name, "v1", "c1", name, ""), `revision: "v1"`, "revision: 1, workspaceName: v2", 1))
				}
			},
			[]string{"plan"},
			0,
			[]string{"upstream catalog/web: revision 1 and workspaceName v2 are not the same: this is made of the revision, Porch takes the workspace"},
		},
		"WrongLabel": {
			"the labels that there are",
			func(w *world) {
				w.write("s.yaml", "apiVersion: config.porch.kpt.dev/v1alpha2\nkind: PackageVariantSet\nmetadata: {name: s}\nspec:\n  upstream: {repo: catalog, package: web, revision: v1}\n  targets:\n  - repositorySelector: {matchLabels: {evn: prod}}\n")
			},
			[]string{"plan"},
			0,
			[]string{"matches no Repository in namespace", "have the labels env=none, env=prod"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "c1")
			tc.do(w)
			r := w.mustRun(tc.status, tc.args...)
			w.contains(r.err, tc.want...)
			w.lacks(r.err, "render.", "functionDoc")
		})
	}
}

// The folder above a management directory holds it as a package of its own.
func TestFolderAbove(t *testing.T) {
	w := newWorld(t, "c1")
	w.write("Kptfile", kptfileOf("fleet"))
	r := runIn(w.dir, "plan", "-f", w.dir)
	if r.status != 2 {
		t.Errorf("status %d", r.status)
	}
	w.contains(r.err, "holds no Repository", "(fleet: not looked into, as a folder with a Kptfile below is a package of its own)")
}
