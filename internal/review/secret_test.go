package review

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPlainSecrets holds which Secrets anybody reads who reads the repository.
func TestPlainSecrets(t *testing.T) {
	head := "apiVersion: v1\nkind: Secret\nmetadata:\n  name: s\n"
	said := func(file, n string) string {
		return file + ": Secret s holds " + n + " in plain text: who reads the repository reads them; encrypt the file with SOPS, or let the cluster fetch them from a secret store"
	}
	cases := map[string]struct {
		text string
		want string
	}{
		"data":            {head + "data:\n  a: aHVudGVyMg==\n", "1 value"},
		"both":            {head + "data:\n  a: YQ==\nstringData:\n  b: x\n  c: y\n", "3 values"},
		"odd":             {head + "stringData:\n  a: {b: c}\n", "1 value"},
		"SOPS":            {head + "stringData:\n  a: ENC[AES256_GCM,data:abc]\nsops:\n  mac: ENC[x]\n", ""},
		"no SOPS":         {head + "stringData:\n  a: x\nsops: no\n", "1 value"},
		"empty":           {head + "data: {}\nstringData:\n  a: \"\"\n", ""},
		"none":            {head, ""},
		"sealed":          {"apiVersion: bitnami.com/v1alpha1\nkind: SealedSecret\nmetadata:\n  name: s\nspec:\n  encryptedData:\n    a: x\n", ""},
		"another's":       {"apiVersion: example.com/v1\nkind: Secret\nmetadata:\n  name: s\ndata:\n  a: x\n", ""},
		"ConfigMap":       {"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: s\ndata:\n  a: x\n", ""},
		"second document": {"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\n---\n" + head + "data:\n  a: YQ==\n", "1 value"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var want []string
			if tc.want != "" {
				want = []string{said("d/s.yaml", tc.want)}
			}
			if diff := cmp.Diff(want, PlainSecrets(pkg(t, map[string]string{"d/s.yaml": tc.text}))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
