package depend

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/resolver"
)

// TestPoolShares asks a pool the same for many targets at once: each gets a lock
// that is its own, and what differs is answered by itself.
func TestPoolShares(t *testing.T) {
	pool, err := NewPool([]resolver.Package{
		{Package: "app", Version: "1.0.0", Requires: []resolver.Requirement{{Alias: "db", Package: "db", Version: "*"}}},
		{Package: "db", Version: "1.0.0", Digest: "git:1", Provides: []resolver.Provide{{GVK: &resolver.GVK{APIVersion: "example.com/v1", Kind: "Database"}}}},
		{Package: "db", Version: "2.0.0", Digest: "git:2", Requires: []resolver.Requirement{{Alias: "k", Platform: "kubernetes", Version: ">=1.30"}}},
	}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	const targets = 2 * maxAnswers
	answers := make([]*resolver.Resolution, targets)
	var wg sync.WaitGroup
	for n := range targets {
		wg.Go(func() {
			in := resolver.Input{
				Catalog: pool.catalog, Want: []resolver.Request{{Package: "app"}}, Lock: &resolver.Lock{Target: fmt.Sprint(n)},
				Platform: map[string]string{"kubernetes": "1.29.0"},
			}
			if n%2 == 1 {
				in.Platform["kubernetes"] = "1.30.0"
			}
			res, err := pool.resolve(t.Context(), in)
			if err != nil {
				t.Error(err)
				return
			}
			for i := range res.Lock.Packages {
				res.Lock.Packages[i].Owner = fmt.Sprint(n)
			}
			res.Lock.CustomResourceDefinitions["mine"] = fmt.Sprint(n)
			answers[n] = res
		})
	}
	wg.Wait()
	for n, res := range answers {
		want := []string{"1.0.0", "2.0.0"}[n%2]
		if db := res.Find("db"); db == nil || db.Version != want {
			t.Errorf("target %d got db %v, want %s", n, db, want)
		}
		for _, p := range res.Lock.Packages {
			if p.Owner != fmt.Sprint(n) {
				t.Errorf("the lock of target %d was changed for target %s", n, p.Owner)
			}
		}
		if o := res.Lock.CustomResourceDefinitions["mine"]; o != fmt.Sprint(n) {
			t.Errorf("the owners of target %d were changed for target %s", n, o)
		}
	}
	if n := len(pool.answers); n < 2 || n > maxAnswers {
		t.Errorf("%d answers are kept, want 2 to %d", n, maxAnswers)
	}
}

// TestPoolOfManyKinds: alike targets need not follow each other, and read locks that are
// equal are held once.
func TestPoolOfManyKinds(t *testing.T) {
	catalogue := []resolver.Package{needs("app", "1.0.0", "db"), needs("db", "1.0.0")}
	p := pool(t, catalogue)
	const kinds = 40
	answer := func(kind int) *Answer {
		tg := target(catalogue, "app")
		tg.Platform = map[string]string{"kubernetes": fmt.Sprintf("1.%d.0", kind)}
		tg.Lock = &resolver.Lock{Packages: p.locks.Of([]resolver.LockedPackage{{Name: "db", Version: "1.0.0", Digest: catalogue[1].Digest}})}
		return tg.Resolve(t.Context(), p)
	}
	var first [kinds]*Answer
	for n := range 2 * kinds {
		a := answer(n % kinds)
		if a.Err != nil {
			t.Fatal(a.Err)
		}
		was := first[n%kinds]
		if first[n%kinds] = a; was == nil {
			continue
		}
		if was.Resolution.Instances[0] != a.Resolution.Instances[0] {
			t.Fatalf("kind %d was resolved twice", n%kinds)
		}
		if &was.Input.Lock.Packages[0] != &a.Input.Lock.Packages[0] {
			t.Fatal("equal locks are held twice")
		}
	}
}

// TestPoolRefuses holds that what cannot be resolved is searched once for all that
// ask the same, and that a run which is told to stop leaves nothing behind.
func TestPoolRefuses(t *testing.T) {
	pool, err := NewPool(nil, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(ctx context.Context, pkg string) error {
		_, err := pool.resolve(ctx, resolver.Input{Catalog: pool.catalog, Want: []resolver.Request{{Package: pkg}}})
		return err
	}
	refused := func(pkg string) *resolver.ConflictError {
		c, _ := errors.AsType[*resolver.ConflictError](ask(t.Context(), pkg))
		return c
	}
	if first, again, other := refused("none"), refused("none"), refused("other"); first == nil || again != first || other == first {
		t.Errorf("refused as %v, %v and %v", first, again, other)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := ask(ctx, "late"); !errors.Is(err, context.Canceled) || len(pool.answers) != 2 {
		t.Errorf("stopped with %v, and %d answers are kept", err, len(pool.answers))
	}
	// Who waits for one that is stopped asks again.
	in := resolver.Input{Catalog: pool.catalog, Want: []resolver.Request{{Package: "waiting"}}}
	k, _ := pool.asked(in)
	done := make(chan error)
	go func() { done <- ask(t.Context(), "waiting") }()
	pool.forget(k)
	k.err = context.Canceled
	close(k.known)
	if err := <-done; !errors.As(err, new(*resolver.ConflictError)) {
		t.Errorf("who waited got %v", err)
	}
}

// TestAlikeCosts counts: 200 alike targets ask the resolver once.
func TestAlikeCosts(t *testing.T) {
	pool, err := NewPool([]resolver.Package{
		{Package: "app", Version: "1.0.0", Requires: []resolver.Requirement{{Alias: "db", Package: "db", Version: "*"}}},
		{Package: "db", Version: "1.0.0", Digest: "git:1"},
	}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for n := range 200 {
		target := &Target{Repository: fmt.Sprint("c", n), Installations: []*v1alpha1.Installation{{Spec: v1alpha1.InstallationSpec{Package: "app", Target: fmt.Sprint("c", n)}}}}
		target.Installations[0].Name = "app"
		if a := target.Resolve(t.Context(), pool); a.Err != nil || len(a.Lock.Spec.Packages) != 2 {
			t.Fatalf("%v %+v", a.Err, a.Lock)
		}
	}
	if len(pool.answers) != 1 {
		t.Errorf("%d questions were asked", len(pool.answers))
	}
}
