package function

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	repository = "apiVersion: config.porch.kpt.dev/v1alpha1\nkind: Repository\nmetadata: {name: r%d, resourceVersion: \"1\", labels: {env: p}}\nspec: {content: Package, type: git, git: {repo: https://git.example.com/r, branch: main, secretRef: {name: x}}}\nstatus: {conditions: []}\n"
	set        = "apiVersion: config.porch.kpt.dev/v1alpha2\nkind: PackageVariantSet\nmetadata: {name: s}\nspec:\n  upstream: {repo: catalog, package: web, revision: 1}\n  targets: [{repositorySelector: {matchLabels: {env: p}}}]\n"
)

func repositories(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "-- r%d.yaml --\n"+repository, i, i)
	}
	return b.String()
}

// TestGenerateReports holds that what a live cluster's Repositories have in common is
// one note, and that a run reports what it did.
func TestGenerateReports(t *testing.T) {
	c, p := call(t, GenerateVariants, "-- s.yaml --\n"+set+repositories(5), "")
	if diff := cmp.Diff([]string{"5 PackageVariants of 1 PackageVariantSet: 5 added, 0 changed, 0 unchanged, 0 removed"}, summary(c)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	wantSaid(t, []string{"warning r0.yaml#0 <Repository/r0> spec.git.secretRef: spec.git.secretRef has no effect here (hint: credentials come from your own Git credential helper or Docker keychain) (the same for 4 other resources: Repository r1, Repository r2, Repository r3 and 1 more)"}, said(c))

	c, _ = call(t, GenerateVariants, text(t, p), "")
	if diff := cmp.Diff([]string{"5 PackageVariants of 1 PackageVariantSet: 0 added, 0 changed, 5 unchanged, 0 removed"}, summary(c)); diff != "" {
		t.Errorf("again (-want +got):\n%s", diff)
	}
}

// TestLists holds that a function does not pass over resources in a List.
func TestLists(t *testing.T) {
	list := "-- l.yaml --\napiVersion: v1\nkind: List\nmetadata: {name: l}\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: c}}\n"
	generated := "-- v.yaml --\napiVersion: config.porch.kpt.dev/v1alpha1\nkind: PackageVariant\nmetadata: {name: v, labels: {config.porch.kpt.dev/packagevariantset: s}}\nspec: {upstream: {repo: a, package: b, revision: 1}, downstream: {repo: c, package: d}}\n"
	for name, f := range map[string]Processor{"generate-variants": GenerateVariants, "resolve-dependencies": ResolveDependencies} {
		c, p := call(t, f, list+generated, map[string]string{"generate-variants": configMap("prune: 'true'")}[name])
		if got := said(c); len(got) != 1 || !strings.HasPrefix(got[0], "error l.yaml#0 <List/l> items: a function does not read what a List contains (1 resource)") {
			t.Errorf("%s: got %q", name, got)
		}
		if len(p.Resources()) != 2 {
			t.Errorf("%s: a List hides what the PackageVariants are of, and they were removed", name)
		}
	}
}

// TestPlatform holds which versions of a platform are given.
func TestPlatform(t *testing.T) {
	for text, want := range map[string]string{
		"kubernetes=1.31":                     `"1.31" is no version; write it such as kubernetes=1.31.0`,
		"kubernetes=v1.31.0":                  "",
		"kubernetes=1.31.0, crossplane=2.0.0": "",
		"kubernetes=x":                        `"x" is no version`,
		"kubernetes=1.31.0,kubernetes=1.32.0": "names kubernetes twice",
		"kubernetes":                          "must be name=version",
	} {
		c, _ := call(t, ResolveDependencies, "", configMap("platform: '"+text+"'"))
		if got := strings.Join(said(c), "\n"); want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s: want %q, got %q", text, want, got)
		}
	}
}
