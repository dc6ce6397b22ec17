package reconcile_test

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"weak"

	"github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/internal/gitrepo"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/observe"
	"github.com/variform/variform/internal/provenance"
	"github.com/variform/variform/internal/reconcile"
	"github.com/variform/variform/test/gittest"
)

// held counts what was handed out and is still there.
type held struct {
	mu       sync.Mutex
	packages []weak.Pointer[krm.Package]
	origins  []weak.Pointer[provenance.Origins]
	most     int // packages at once, and origins
}

func (h *held) take(p *krm.Package, from *provenance.Origins) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.packages, h.origins = append(h.packages, weak.Make(p)), append(h.origins, weak.Make(from))
	runtime.GC()
	h.packages = slices.DeleteFunc(h.packages, func(p weak.Pointer[krm.Package]) bool { return p.Value() == nil })
	h.origins = slices.DeleteFunc(h.origins, func(o weak.Pointer[provenance.Origins]) bool { return o.Value() == nil })
	h.most = max(h.most, len(h.packages), len(h.origins))
	return p.Kptfile("").Name()
}

// A package lives while it is made and looked at: of a fleet there are no more at once than
// are built at once. What was taken is in order, whatever came first.
func TestBlameLetsGo(t *testing.T) {
	const variants, concurrency = 40, 4
	e, want := someFleet(t, variants, concurrency)
	var h held
	list, problems, err := reconcile.Blame(t.Context(), e, nil, h.take)
	if err != nil || problems != nil {
		t.Fatal(err, problems)
	}
	var got []string
	for _, b := range list {
		got = append(got, b.Identity.String()+" "+b.Taken)
	}
	if !slices.Equal(got, want) {
		t.Errorf("took %v, want %v", got, want)
	}
	if most := 2 * concurrency; h.most > most {
		t.Errorf("%d packages or their origins at once of %d, want %d at most", h.most, variants, most)
	}
}

// Names cost as much as there are, not all packages each.
func TestBlameOfManyNames(t *testing.T) {
	const variants, often = 40, 500
	e, want := someFleet(t, variants, 1)
	var once, many []string
	for _, both := range want {
		_, name, _ := strings.Cut(both, " ")
		once = append(once, name)
		many = append(many, slices.Repeat([]string{name}, often)...)
	}
	allocated := func(names []string) uint64 {
		t.Helper()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		list, problems, err := reconcile.Blame(t.Context(), e, names, func(*krm.Package, *provenance.Origins) bool { return true })
		runtime.ReadMemStats(&after)
		if err != nil || problems != nil || len(list) != variants {
			t.Errorf("%d of %d: %v, %v", len(list), variants, problems, err)
		}
		return after.TotalAlloc - before.TotalAlloc
	}
	allocated(once) // what is read once
	if few, all := allocated(once), allocated(many); all > few+16<<20 {
		t.Errorf("%d names take %d bytes, %d take %d", len(many), all, len(once), few)
	}
}

// someFleet wants one package so often in one repository, and says what is to be taken: what
// each is and what its Kptfile calls it.
func someFleet(t *testing.T, variants, concurrency int) (e *reconcile.Engine, want []string) {
	t.Helper()
	server := gittest.NewMemory()
	server.NewRepo("catalog")
	server.NewRepo("c1")
	store := gitrepo.NewStore(gitrepo.Options{Transport: server})
	release(t.Context(), store, "web", "v1")
	fleet := reconcile.Fleet{Repositories: []*v1alpha1.Repository{registered("catalog"), registered("c1")}}
	for i := range variants {
		pv := variant("web", "v1", "c1")
		pv.Name = fmt.Sprintf("web-%02d", i)
		pv.Spec.Downstream.Package = pv.Name
		fleet.Variants = append([]*v1alpha1.PackageVariant{pv}, fleet.Variants...)
		want = append(want, "c1/"+pv.Name+" "+pv.Name)
	}
	return reconcile.New(reconcile.Config{Git: observe.Git(store), Manager: "fleet", Fleet: fleet, Blame: true, Preview: true, Concurrency: concurrency}), want
}
