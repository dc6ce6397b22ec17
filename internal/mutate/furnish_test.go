package mutate

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestFurnish: a copied folder without a Kptfile gets what makes it a package, and
// nothing else.
func TestFurnish(t *testing.T) {
	const (
		local  = "  annotations:\n    config.kubernetes.io/local-config: \"true\"\n"
		head   = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: web\n"
		runs   = head + "pipeline:\n  mutators:\n  - image: a:v1\n    configPath: fn.yaml\n"
		object = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: "
	)
	for name, tc := range map[string]struct {
		folder, upstream, want map[string]string
		reason                 string
	}{
		"a Kptfile": {
			map[string]string{"a.yaml": object + "b\n"},
			map[string]string{"Kptfile": head, "a.yaml": object + "a\n", "gone.yaml": object + "gone\n", "gone.txt": "x"},
			map[string]string{"Kptfile": head, "a.yaml": object + "b\n"},
			"what the folder lacks somebody took away",
		},
		"what its pipeline names": {
			map[string]string{"a.yaml": object + "a\n"},
			map[string]string{"Kptfile": runs, "fn.yaml": object + "fn\n"},
			map[string]string{"Kptfile": runs, "fn.yaml": object + "fn\n", "a.yaml": object + "a\n"},
			"the pipeline fails without it",
		},
		"what its pipeline reads": {
			map[string]string{"a.yaml": object + "a\n"},
			map[string]string{"Kptfile": head, "p.yaml": object + "params\n" + local},
			map[string]string{"Kptfile": head, "p.yaml": object + "params\n" + local, "a.yaml": object + "a\n"},
			"local-config is nothing but the pipeline's",
		},
		"what is there already": {
			map[string]string{"all.yaml": object + "params\n"},
			map[string]string{"Kptfile": head, "p.yaml": object + "params\n" + local},
			map[string]string{"Kptfile": head, "all.yaml": object + "params\n"},
			"it would be there twice",
		},
		"a file with more in it": {
			map[string]string{"x.txt": ""},
			map[string]string{"Kptfile": head, "p.yaml": object + "params\n" + local + "---\n" + object + "a\n"},
			map[string]string{"Kptfile": head, "x.txt": ""},
			"the other resource was taken away",
		},
		"the package context": {
			map[string]string{"x.txt": ""},
			map[string]string{"Kptfile": head, "package-context.yaml": context},
			map[string]string{"Kptfile": head, "x.txt": ""},
			"the adoption brings it",
		},
		"subpackages": {
			map[string]string{"s/a.yaml": object + "a\n"},
			map[string]string{"Kptfile": head, "s/Kptfile": runs, "s/fn.yaml": object + "fn\n", "gone/Kptfile": runs, "gone/fn.yaml": object + "fn2\n"},
			map[string]string{"Kptfile": head, "s/Kptfile": runs, "s/fn.yaml": object + "fn\n", "s/a.yaml": object + "a\n"},
			"a subpackage that the folder has is one again",
		},
		"a subpackage's Kptfile is there": {
			map[string]string{"s/Kptfile": head},
			map[string]string{"Kptfile": head, "s/Kptfile": runs},
			map[string]string{"Kptfile": head, "s/Kptfile": head},
			"no file of the folder changes",
		},
	} {
		t.Run(name, func(t *testing.T) {
			folder := pkg(t, tc.folder)
			got, err := Furnish(folder, pkg(t, tc.upstream))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, texts(t, got)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.folder, texts(t, folder)); diff != "" {
				t.Errorf("the folder was changed:\n%s", diff)
			}
		})
	}
}
