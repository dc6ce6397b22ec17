package render

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestEncryptedFilesPass holds that a file of SOPS keeps its bytes, whatever the
// pipelines around it do: one value that differs, and it cannot be decrypted.
func TestEncryptedFilesPass(t *testing.T) {
	files := map[string]string{
		"secret.yaml": "apiVersion: v1\nkind: Secret\nmetadata:\n    name: s\n    namespace: old\nstringData:\n    key: ENC[AES256_GCM,data:abc,type:str]\nsops:\n    mac: ENC[AES256_GCM,data:def,type:str]\n    version: 3.9.0\n",
		"cm.yaml":     configMap("cm", "  namespace: old\n"),
		"Kptfile": kptfileOf("p", "pipeline:\n  mutators:\n  - image: set-namespace:v0.4\n    configMap: {namespace: new}\n"+
			"  - image: set-labels:v0.2\n    configMap: {a: b}\n    selectors: [{kind: Secret}, {kind: ConfigMap}]\n"+
			"  - image: starlark:v0.5\n    configMap: {source: 'ctx.resource_list[\"items\"] = []'}\n    selectors: [{kind: Secret}]\n"),
	}
	got := contents(t, mustRender(t, testOptions(), pkg(t, files)).Package)
	want := maps.Clone(files)
	want["cm.yaml"] = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: cm\n  namespace: new\n  labels:\n    a: b\n"
	delete(want, "Kptfile")
	delete(got, "Kptfile")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
