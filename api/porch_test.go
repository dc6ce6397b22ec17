package api_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"

	"github.com/variform/variform/api"
	"github.com/variform/variform/api/config/v1alpha1"
)

// TestPipelineExample reads the PackageVariant of Porch's PackageVariant design,
// "Kptfile Function Pipeline Editing", which leaves upstream and downstream out.
func TestPipelineExample(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "porch-pipeline.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	obj, report := api.Parse(data)
	if len(report.Errors)+len(report.Warnings) > 0 {
		t.Fatal(report)
	}
	want := &kptfilev1.Pipeline{Mutators: []kptfilev1.Function{
		{Image: "gcr.io/kpt-fn/set-namespace:v0.1", ConfigMap: map[string]string{"namespace": "my-ns"}, Name: "my-func"},
		{Image: "gcr.io/kpt-fn/set-labels:v0.1", ConfigMap: map[string]string{"app": "foo"}},
	}}
	if diff := cmp.Diff(want, obj.(*v1alpha1.PackageVariant).Spec.Pipeline); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	again, err := api.Encode(obj)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Count(string(data), "\n"), strings.Count(string(again), "\n")); diff != "" {
		t.Errorf("written with other lines:\n%s", again)
	}
}
