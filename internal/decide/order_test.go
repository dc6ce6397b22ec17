package decide

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	variformv1alpha1 "github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/internal/lifecycle"
	"github.com/variform/variform/resolver"
)

func TestDeployers(t *testing.T) {
	for text, want := range map[string]Deployers{
		"":                    {},
		"argocd":              {ArgoCD: true},
		"kpt, argocd":         {ArgoCD: true, Kpt: true},
		"flux":                {Flux: FluxSource{"flux-system", "flux-system"}},
		"flux=team/fleet,kpt": {Kpt: true, Flux: FluxSource{"team", "fleet"}},
	} {
		r := repository()
		r.Annotations = map[string]string{variformv1alpha1.OrderAnnotation: text}
		tg := NewTarget(r, "")
		if err := tg.Annotate(); err != nil || tg.Deployers != want {
			t.Errorf("%q: %+v, %v", text, tg.Deployers, err)
		}
		if tg.Asks() != (want.Flux.Name != "") {
			t.Errorf("%q: with nothing to resolve it asks: %t", text, tg.Asks())
		}
	}
	r := repository()
	r.Annotations = map[string]string{variformv1alpha1.OrderAnnotation: "argo flux= flux=a flux=/a flux=a/ flux=a/b/c kpt=x"}
	err := NewTarget(r, "").Annotate()
	for _, word := range strings.Fields(r.Annotations[variformv1alpha1.OrderAnnotation]) {
		if bad := saying(err, `"`+word+`" must be argocd, kpt, flux or flux=`); bad != "" {
			t.Error(bad)
		}
	}
}

// placing is a target where shop needs db and cache, and has db read what cache gives;
// log stands beside them.
func placing(t *testing.T, deployers Deployers, more ...string) (*Target, map[string]*resolver.Package) {
	t.Helper()
	have := map[string]*resolver.Package{
		"shop": {Requires: []resolver.Requirement{
			{Alias: "db", Package: "db", Parameters: map[string]string{"host": "${bundle.dependencies.cache.outputs.host}"}},
			{Alias: "cache", Package: "cache"},
		}},
		"db":    {Parameters: []resolver.Field{{Name: "host"}}},
		"cache": {Outputs: []resolver.Field{{Name: "host"}}},
		"log":   {},
		"top":   {Requires: []resolver.Requirement{{Alias: "log", Package: "log"}}},
	}
	for name, p := range have {
		p.Package, p.Version, p.Digest, p.Tag = name, "1.0.0", "git:"+name, "v1.0.0"
	}
	tg := resolved(t, have, append([]string{"shop", "log"}, more...)...)
	tg.Deployers = deployers
	return tg, have
}

// Places follow from what is needed and read, and from nothing beside that.
func TestPlaced(t *testing.T) {
	waves := func(deployers Deployers, more ...string) map[string]int {
		tg, have := placing(t, deployers, more...)
		if _, failed, err := tg.Conclude(upstreams(have)); err != nil || failed != nil {
			t.Fatal(err, failed)
		}
		out := map[string]int{}
		for ref, w := range tg.Wants {
			out[ref] = w.Wave
		}
		return out
	}
	want := map[string]int{"shop": 2, "db": 1, "cache": 0, "log": 0}
	if d := cmp.Diff(want, waves(Deployers{ArgoCD: true})); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	want["top"] = 1
	if d := cmp.Diff(want, waves(Deployers{ArgoCD: true}, "top")); d != "" {
		t.Errorf("with top: -want +got:\n%s", d)
	}
	for ref, wave := range waves(Deployers{}) {
		if wave != 0 {
			t.Errorf("%s has wave %d, and nobody is told", ref, wave)
		}
	}
	tg, have := placing(t, Deployers{Kpt: true}, "top")
	if _, _, err := tg.Conclude(upstreams(have)); err != nil {
		t.Fatal(err)
	}
	if top, log := tg.Wants["top"], tg.Wants["log"]; !slices.Equal(top.After, []string{"log"}) || top.Level != 1 || !log.Read {
		t.Errorf("kpt waits for resources of log, of level %d, read %t", top.Level, log.Read)
	}
}

func TestKustomizations(t *testing.T) {
	tg, have := placing(t, Deployers{Flux: bootstrapped})
	at := func(p string, phase lifecycle.Phase) {
		r := &Revision{Number: 1, Phase: phase}
		tg.Repo.Packages[p] = &Package{Path: p, Latest: r}
		tg.Paths = append(tg.Paths, p)
	}
	tg.Repo.Packages, tg.Repo.Dir = map[string]*Package{}, "c1"
	tg.LockPath = tg.Path("variform-lock")
	at("c1/variform-lock", lifecycle.Published)
	at("c1/old", lifecycle.DeletionProposed)
	at("c1/Team_a/b", lifecycle.Published)
	at("c1/Team/a-b", lifecycle.Published)
	tg.Repo.Packages["c1/new"] = &Package{Path: "c1/new"}
	tg.Paths = append(tg.Paths, "c1/new")
	lock, _, err := tg.Conclude(upstreams(have))
	if err != nil {
		t.Fatal(err)
	}
	want := []Kustomization{
		{"team-a-b-" + Digest("Team/a-b")[:8], "./c1/Team/a-b", nil},
		{"team-a-b-" + Digest("Team_a/b")[:8], "./c1/Team_a/b", nil},
		{"cache", "./c1/cache", nil},
		{"db", "./c1/db", []string{"cache"}},
		{"log", "./c1/log", nil},
		{"old", "./c1/old", nil},
		{"shop", "./c1/shop", []string{"cache", "db"}},
	}
	if d := cmp.Diff(want, lock.Lock().Flux); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	digest := lock.Lock().Digest
	tg.Deployers = Deployers{}
	other, err := NewLock(tg, lock.Lock().Document, lock.Lock().When)
	if err != nil || other.Flux != nil || other.Digest == digest {
		t.Errorf("without Flux: %v, %v", other, err)
	}
	from := draftOf(1, 1)
	other.Newest = &other.Document.Spec
	if got := other.reasons(from); len(got) != 1 || !strings.Contains(got[0], "another variform.dev/order of its Repository") {
		t.Errorf("reasons %v", got)
	}
}
