package kubeschemas

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// unpacked is the text of the file that the program has.
func unpacked(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "internal", "check", "kubernetes.txt.gz"))
	if err != nil {
		t.Fatal(err)
	}
	if len(data) > 100_000 {
		t.Errorf("the file has %d bytes", len(data))
	}
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := Pack(text); err != nil || !bytes.Equal(again, data) {
		t.Errorf("packing the text again gives other bytes (%v)", err)
	}
	return string(text)
}

// TestProvenance holds that the file names the releases that it is made of.
func TestProvenance(t *testing.T) {
	var want strings.Builder
	for _, r := range Releases {
		fmt.Fprintf(&want, "kubernetes %s %s\n", r.Version, r.Sum)
	}
	if text := unpacked(t); !strings.HasPrefix(text, want.String()+"type ") {
		t.Errorf("the file is not of Releases: run make kube-schemas\n%.800s", text)
	}
}

// TestFileIsFresh makes the file again, from modules that are on this machine.
func TestFileIsFresh(t *testing.T) {
	modules, err := Download("GOPROXY=off")
	if err != nil {
		t.Skipf("needs the source of Kubernetes, which make kube-schemas downloads: %v", err)
	}
	text, err := Text(modules)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(unpacked(t), string(text)); d != "" {
		t.Errorf("the file is stale: run make kube-schemas\n%s", d)
	}
}

// module is a release of two kinds.
func module(schemas, enum string) fstest.MapFS {
	post := func(kind string) string {
		return `{"post": {"x-kubernetes-group-version-kind": {"group": "apps", "version": "v1", "kind": "` + kind + `"},
			"requestBody": {"content": {"*/*": {"schema": {"$ref": "#/components/schemas/io.k8s.api.apps.v1.` + kind + `"}}}}}}`
	}
	return fstest.MapFS{
		"api/openapi-spec/v3/apis__apps__v1_openapi.json": {Data: []byte(`{"paths": {
			"/apis/apps/v1/namespaces/{namespace}/deployments": ` + post("Deployment") + `, "/apis/apps/v1/deployments/{name}/scale": ` + post("Scale") + `},
			"components": {"schemas": {` + schemas + `}}}`)},
		"pkg/generated/openapi/zz_generated.openapi.go": {Data: []byte("package openapi\nfunc schema_k8sio_api_apps_v1_Spec() {\n_ = x{\"mode\": y{Enum: []interface{}{" + enum + "}}}\n}\n")},
	}
}

// TestText has the forms of fields in two releases.
func TestText(t *testing.T) {
	const head = `"io.k8s.api.apps.v1.Deployment": {"type": "object", "properties": {"spec": {"allOf": [{"$ref": "#/components/schemas/io.k8s.api.apps.v1.Spec"}]}, "status": {"type": "object", "properties": {"a": {"type": "string"}}}}},
		"io.k8s.apimachinery.pkg.api.resource.Quantity": {"oneOf": [{"type": "string"}, {"type": "number"}]},
		"io.k8s.api.apps.v1.Scale": {"type": "object"}, `
	first := module(head+`"io.k8s.api.apps.v1.Spec": {"type": "object", "required": ["old", "both", "count"], "properties": {
		"old": {"type": "string"}, "both": {"type": "string"}, "count": {"type": "integer", "format": "int32"}, "mode": {"type": "string"},
		"list": {"type": "array", "items": {"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.api.resource.Quantity"}}}}`, `"A", "B"`)
	second := module(head+`"io.k8s.api.apps.v1.Spec": {"type": "object", "required": ["both", "later", "port"], "properties": {
		"old": {"type": "string"}, "both": {"type": "string"}, "later": {"type": "object", "additionalProperties": {"type": "boolean"}}, "port": {"type": "integer"},
		"mode": {"type": "string"}, "list": {"type": "array", "items": {"type": "object"}}}}`, `"A", "B", "C"`)
	text, err := Text([]fs.FS{first, second})
	if err != nil {
		t.Fatal(err)
	}
	want := `type apps.v1.Deployment
03 spec .apps.v1.Spec
03 status any
type apps.v1.Spec
03! both string
01 count int32
02! later {}boolean
02 list []any
01 list []quantity
01 mode =A|B
02 mode =A|B|C
03 old string
02! port integer
kinds
03 apps/v1 Deployment apps.v1.Deployment
`
	if _, got, _ := strings.Cut(string(text), "type "); "type "+got != want {
		t.Error(cmp.Diff(want, "type "+got))
	}
}
