package build

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/internal/injection"
)

// TestUnfilled: a required point that nothing fills is always a warning, an optional one
// only if an injector selects it.
func TestUnfilled(t *testing.T) {
	point := func(name string, required bool) injection.Point {
		return injection.Point{ConditionType: "config.injection.ConfigMap." + name, Required: required}
	}
	got := Unfilled(&injection.Report{Outcomes: []injection.Outcome{
		{Point: point("required", true), Message: "no injectors defined"},
		{Point: point("selected", false), Named: true, Message: "no resource matched"},
		{Point: point("left", false), Message: "no injectors defined"},
		{Point: point("filled", true), Named: true, Object: &injection.Ref{Name: "o"}},
	}})
	want := []string{"config.injection.ConfigMap.required: no injectors defined", "config.injection.ConfigMap.selected: no resource matched"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Unfilled (-want +got):\n%s", diff)
	}
}
