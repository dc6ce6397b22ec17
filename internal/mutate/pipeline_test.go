package mutate

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"

	"github.com/variform/variform/internal/krm"
)

// TestPipelineLists holds which lists a Kptfile has, and in which order, after a
// variant's functions came and went.
func TestPipelineLists(t *testing.T) {
	const head = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: p\n"
	const mine = "  - name: PackageVariant.v.f.0\n    image: f:v1\n"
	f := []kptfilev1.Function{{Name: "f", Image: "f:v1"}}
	cases := map[string]struct {
		before, after string
		want          *kptfilev1.Pipeline
	}{
		"new":               {"", "pipeline:\n  mutators:\n" + mine + "  validators:\n" + mine, &kptfilev1.Pipeline{Mutators: f, Validators: f}},
		"before validators": {"pipeline:\n  validators:\n  - image: x\n", "pipeline:\n  mutators:\n" + mine + "  validators:\n  - image: x\n", &kptfilev1.Pipeline{Mutators: f}},
		"first of the list": {"pipeline:\n  mutators:\n  - image: x\n", "pipeline:\n  mutators:\n" + mine + "  - image: x\n", &kptfilev1.Pipeline{Mutators: f}},
		"all go":            {"pipeline:\n  mutators:\n" + mine + "  validators:\n" + mine, "", nil},
		"a list goes":       {"pipeline:\n  mutators:\n" + mine + "  validators:\n  - image: x\n", "pipeline:\n  validators:\n  - image: x\n", nil},
		"others stay":       {"pipeline:\n  mutators:\n" + mine + "  - image: x\n", "pipeline:\n  mutators:\n  - image: x\n", nil},
		"empty before":      {"pipeline:\n  mutators: []\n", "pipeline:\n  mutators: []\n", nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p, err := krm.Parse([]krm.File{{Path: "Kptfile", Data: []byte(head + tc.before)}})
			if err != nil {
				t.Fatal(err)
			}
			if err := applyPipeline(p, "", "v", tc.want); err != nil {
				t.Fatal(err)
			}
			files, err := p.Files()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(head+tc.after, string(files[0].Data)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	err := applyPipeline(nil, "", "", nil)
	if err == nil || !strings.Contains(err.Error(), "the variant needs a name") {
		t.Errorf("got %v", err)
	}
}
