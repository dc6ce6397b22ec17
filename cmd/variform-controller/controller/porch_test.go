package controller_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/internal/source"
	"github.com/variform/variform/variantgen"
)

// porchCase is one case of a table; test/conformance runs the same through packages.
type porchCase struct {
	ID       string
	Input    map[string]any
	Expected map[string]any
}

func porchCases(t *testing.T, suite string) []porchCase {
	t.Helper()
	dir := os.Getenv("CONFORMANCE_DIR")
	if dir == "" {
		dir = "../../../../shared/conformance"
	}
	data, err := os.ReadFile(filepath.Join(dir, "porch", suite+".yaml"))
	if err != nil {
		t.Skipf("skipped: no tables of Porch's (CONFORMANCE_DIR names them): %v", err)
	}
	var file struct{ Cases []porchCase }
	if err := yaml.Unmarshal(data, &file); err != nil || len(file.Cases) == 0 {
		t.Fatalf("%s: %d cases, %v", suite, len(file.Cases), err)
	}
	return file.Cases
}

// ours are the cases where Porch's answer is not ours, as test/conformance lists them.
var ours = map[string]bool{"pvs_validate/missing upstream revision": true}

// stored puts objects into the API server and reads them back as a fleet; the server must
// keep all that it is given.
func (w *world) stored(t *testing.T, objects ...map[string]any) *source.Fleet {
	t.Helper()
	var read []source.Text
	for _, o := range objects {
		u := &unstructured.Unstructured{Object: o}
		u.SetNamespace(w.namespace)
		if u.GroupVersionKind().Version == "" || !strings.Contains(u.GetAPIVersion(), "/") { // as Porch's tests have it
			u.SetGroupVersionKind(schema.GroupVersionKind{Group: u.GetAPIVersion(), Version: map[bool]string{true: "v1alpha2", false: "v1alpha1"}[u.GetKind() == "PackageVariantSet"], Kind: u.GetKind()})
		}
		given := u.DeepCopy()
		if err := w.api.Create(context.Background(), u); err != nil {
			t.Fatalf("%s %s: %v", u.GetKind(), u.GetName(), err)
		}
		live := given.DeepCopy()
		if err := w.api.Get(context.Background(), client.ObjectKeyFromObject(given), live); err != nil {
			t.Fatal(err)
		}
		was, _ := yaml.Marshal(given.Object["spec"])
		kept, _ := yaml.Marshal(live.Object["spec"])
		if d := cmp.Diff(string(was), string(kept)); d != "" {
			t.Errorf("the server keeps another %s %s (-given +kept):\n%s", u.GetKind(), u.GetName(), d)
		}
		read = append(read, source.TextOf(live.Object))
		t.Cleanup(func() { _ = w.api.Delete(context.Background(), given) })
	}
	f, err := source.OfObjects("test", read, source.Options{Manager: "me"}).Fleet(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestPorchValidation: what Porch's tests say of sets and variants the controller says of
// those that it reads from the API.
func TestPorchValidation(t *testing.T) {
	for suite, field := range map[string]string{"pvs_validate": "packageVariantSetYaml", "pv_validate": "packageVariantYaml", "pv_validate_workspacename": "packageVariantYaml"} {
		w := newWorld(t)
		for _, c := range porchCases(t, suite) {
			t.Run(suite+"/"+c.ID, func(t *testing.T) {
				var want []string
				if list, ok := c.Expected["errors"].([]any); ok {
					for _, e := range list {
						want = append(want, e.(string))
					}
				} else if text, _ := c.Expected["combinedError"].(string); text != "" {
					want = strings.Split(text, "; ")
				}
				got := w.stored(t, w.object(c.Input[field].(string)).Object).Problems.Messages()
				missing := slices.DeleteFunc(slices.Clone(want), func(e string) bool { return slices.Contains(got, e) })
				if same := len(missing) == 0 && (len(want) > 0) == (len(got) > 0); same == ours[suite+"/"+c.ID] {
					t.Errorf("want %q, got %q", want, got)
				}
			})
		}
	}
}

// TestPorchSets: sets that the API keeps make the variants that Porch's tests want.
func TestPorchSets(t *testing.T) {
	w := newWorld(t)
	for _, c := range porchCases(t, "pvs_render_spec") {
		t.Run(c.ID, func(t *testing.T) {
			objects := []map[string]any{c.Input["packageVariantSet"].(map[string]any)}
			for _, r := range c.Input["repositories"].(map[string]any)["items"].([]any) {
				repo := r.(map[string]any)
				// Porch's tables leave out what no rule asks for.
				if repo["spec"] == nil {
					repo["spec"] = map[string]any{"type": "git", "git": map[string]any{"repo": "https://git.example.com/" + fmt.Sprint(repo["metadata"].(map[string]any)["name"])}}
				}
				objects = append(objects, repo)
			}
			f := w.stored(t, objects...)
			if len(f.Sets) != 1 || len(f.Problems) > 0 {
				t.Fatalf("%d sets: %v", len(f.Sets), f.Problems)
			}
			var up v1alpha1.PackageRevision
			data, _ := yaml.Marshal(c.Input["upstreamPackageRevision"])
			if err := yaml.Unmarshal(data, &up); err != nil {
				t.Fatal(err)
			}
			res := variantgen.ExpandAll(variantgen.NewEnv(variantgen.Inputs{
				Repositories: f.Repositories,
				Upstreams: variantgen.UpstreamFunc(func(string, v1alpha1.Upstream) (variantgen.Metadata, error) {
					return variantgen.Metadata{Name: up.Name, Namespace: up.Namespace, Labels: up.Labels, Annotations: up.Annotations}, nil
				}),
			}), f.Sets[0])
			if res.Err() != nil || len(res.Variants) != 1 {
				t.Fatalf("%d variants: %v", len(res.Variants), res.Err())
			}
			var got map[string]any
			text, _ := yaml.Marshal(res.Variants[0].Spec)
			if err := yaml.Unmarshal(text, &got); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.Expected["packageVariantSpec"], any(got), cmpopts.EquateEmpty()); d != "" {
				t.Errorf("-Porch +from the API:\n%s", d)
			}
		})
	}
}
