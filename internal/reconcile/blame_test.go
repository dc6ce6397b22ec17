package reconcile_test

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"weak"

	"github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/internal/gitrepo"
	"github.com/variform/variform/internal/gittest"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/observe"
	"github.com/variform/variform/internal/provenance"
	"github.com/variform/variform/internal/reconcile"
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
	server := gittest.NewMemory()
	server.NewRepo("catalog")
	server.NewRepo("c1")
	store := gitrepo.NewStore(gitrepo.Options{Transport: server})
	release(t.Context(), store, "web", "v1")
	fleet := reconcile.Fleet{Repositories: []*v1alpha1.Repository{registered("catalog"), registered("c1")}}
	var want []string
	for i := range variants {
		pv := variant("web", "v1", "c1")
		pv.Name = fmt.Sprintf("web-%02d", i)
		pv.Spec.Downstream.Package = pv.Name
		fleet.Variants = append([]*v1alpha1.PackageVariant{pv}, fleet.Variants...)
		want = append(want, "c1/"+pv.Name+" "+pv.Name)
	}
	e := reconcile.New(reconcile.Config{Git: observe.Git(store), Manager: "fleet", Fleet: fleet, Blame: true, Preview: true, Concurrency: concurrency})
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
