package controller_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/variform/variform/api/config/v1alpha1"
	variformv1alpha1 "github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/cmd/variform-controller/controller"
)

// TestStatusAsTheAPIHasIt: whole numbers are what a client reads them as, wherever they
// stand, or each run would find a difference and write; a time that nobody knows is none.
func TestStatusAsTheAPIHasIt(t *testing.T) {
	got, err := controller.AsMap(variformv1alpha1.FleetStatus{
		ObservedGeneration: 7,
		Conditions: []metav1.Condition{
			{Type: "Ready", Status: metav1.ConditionTrue, ObservedGeneration: 7, LastTransitionTime: metav1.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Reason: "Reconciled"},
			{Type: "Stalled", Status: metav1.ConditionFalse, Reason: "Valid"},
		},
		Shards: []variformv1alpha1.FleetShardStatus{{Shard: "1/2", ObservedGeneration: 6, Ready: true, Reason: "Reconciled"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"observedGeneration": int64(7),
		"conditions": []any{
			map[string]any{"type": "Ready", "status": "True", "observedGeneration": int64(7), "lastTransitionTime": "2026-01-02T03:04:05Z", "reason": "Reconciled", "message": ""},
			map[string]any{"type": "Stalled", "status": "False", "reason": "Valid", "message": ""},
		},
		"shards": []any{map[string]any{"shard": "1/2", "observedGeneration": int64(6), "ready": true, "reason": "Reconciled"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// TestStatusCostsLittle: each variant's status is compared at each look at the whole, which
// is of thousands.
func TestStatusCostsLittle(t *testing.T) {
	at := metav1.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	status := v1alpha1.PackageVariantStatus{Conditions: []metav1.Condition{
		{Type: "Stalled", Status: metav1.ConditionFalse, ObservedGeneration: 1, LastTransitionTime: at, Reason: "Valid", Message: "all validation checks passed"},
		{Type: "Ready", Status: metav1.ConditionTrue, ObservedGeneration: 1, LastTransitionTime: at, Reason: "NoErrors", Message: "successfully ensured downstream package variant"},
	}}
	n := testing.AllocsPerRun(100, func() {
		if _, err := controller.AsMap(status); err != nil {
			t.Fatal(err)
		}
	})
	if n > 100 {
		t.Errorf("a status of two conditions takes %.0f allocated objects, want at most 100", n)
	}
	t.Logf("%.0f allocated objects", n)
}

// TestStatusesAreWrittenSideBySide: thousands follow the first run, each written once, and each
// write waits for the server's disk.
func TestStatusesAreWrittenSideBySide(t *testing.T) {
	const variants = 12
	w := newWorld(t)
	w.pkg(w.repo("catalog"), "web")
	w.repo("c1")
	w.apply(repository("catalog", w.git.RepoURL("catalog"), false), repository("c1", w.git.RepoURL("c1"), true))
	for n := range variants {
		name := fmt.Sprintf("v%d", n)
		w.apply(ownSite(name, "north"), fmt.Sprintf(ownVariant, name, "c1", 1, "a"))
	}
	var mu sync.Mutex
	now, most, wrote := 0, 0, map[string]int{}
	second := make(chan struct{})
	w.writing = func(r *http.Request) func() {
		if !strings.Contains(r.URL.Path, "/packagevariants/") {
			return func() {}
		}
		mu.Lock()
		now++
		most = max(most, now)
		if wrote[r.URL.Path]++; len(wrote) == 2 && wrote[r.URL.Path] == 1 {
			close(second)
		}
		mu.Unlock()
		select { // the first waits for another one
		case <-second:
		case <-r.Context().Done():
		}
		return func() {
			mu.Lock()
			defer mu.Unlock()
			now--
		}
	}
	fleet := fmt.Sprintf(objectsFleet, "1h")
	w.apply(fleet)
	w.start()
	w.says(fleet, "Ready", fmt.Sprintf("True Reconciled: %d package variants", variants))
	mu.Lock()
	defer mu.Unlock()
	if len(wrote) != variants || most > 8 {
		t.Errorf("%d statuses are written, %d at once: want %d, 8 at most", len(wrote), most, variants)
	}
	for path, n := range wrote {
		if n != 1 {
			t.Errorf("%s is written %d times", path, n)
		}
	}
}
