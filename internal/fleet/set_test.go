package fleet

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/variform/variform/internal/source"
)

func TestSetVersion(t *testing.T) {
	dir := t.TempDir()
	text := `apiVersion: config.porch.kpt.dev/v1alpha2
kind: PackageVariantSet
metadata: {name: web, namespace: team}
spec:
  upstream: {repo: catalog, package: web, workspaceName: v1}  # tested
  targets: [{repositories: [{name: c1}]}]
---
apiVersion: config.porch.kpt.dev/v1alpha1
kind: PackageVariant
metadata: {name: db}
spec:
  upstream:
    repo: catalog
    package: db
    revision: 1
  downstream: {repo: c1, package: db}
---
apiVersion: config.porch.kpt.dev/v1alpha1
kind: PackageVariant
metadata: {name: web}
spec:
  upstream: {repo: catalog, package: web}
  downstream: {repo: c1, package: web}
`
	if err := os.WriteFile(filepath.Join(dir, "fleet.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := source.Open(t.Context(), dir, source.Options{})
	if err != nil {
		t.Fatal(err)
	}
	f, err := d.Fleet(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		from, to string // in the text
		at       string
		err      string
	}{
		"team/web": {from: "workspaceName: v1}", to: "workspaceName: v2}", at: "fleet.yaml:5"},
		"db":       {from: "revision: 1", to: "revision: v2", at: "fleet.yaml:15"},
		"web":      {err: "give NAMESPACE/NAME"},
		"other":    {err: "no PackageVariantSet or PackageVariant has that name"},
		// It has none.
		"default/web": {err: "fleet.yaml:18: it has no spec.upstream.revision"},
	} {
		got, err := SetVersion(d, f, name, "v2")
		switch {
		case tt.err != "":
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%s: %v, want %q", name, err, tt.err)
			}
		case err != nil || string(got.Text) != strings.Replace(text, tt.from, tt.to, 1) || got.At.String() != tt.at:
			t.Errorf("%s: %v, at %s\n%s", name, err, got.At, got.Text)
		}
	}
}
