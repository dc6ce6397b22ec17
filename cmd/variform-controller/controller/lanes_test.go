package controller_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/variform/variform/cmd/variform-controller/controller"
)

func named(name string) client.ObjectKey { return client.ObjectKey{Namespace: name, Name: "f"} }

// TestLanes: however many Fleets have runs that never end, another begins within the
// patience for a run, and one that is slow and honest comes to its end.
func TestLanes(t *testing.T) {
	for _, evil := range []int{1, 4, 8, 40} {
		t.Run(fmt.Sprint(evil), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const quick = 4
				l := controller.NewLanes(quick)
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error, 1000)
				for n := range evil {
					go func() { // comes back a minute after each end
						for ctx.Err() == nil {
							run, done, ok, err := l.Begin(ctx, named(fmt.Sprint("evil", n)))
							if err == nil && ok {
								<-run.Done()
								ended <- context.Cause(run)
								done()
							}
							select {
							case <-ctx.Done():
							case <-time.After(time.Minute):
							}
						}
					}()
				}
				synctest.Wait()
				for round := range 20 {
					asked := time.Now()
					_, done, ok, err := l.Begin(ctx, named("healthy"))
					if err != nil || !ok {
						t.Fatal(ok, err)
					}
					// The first time each evil one is new: a round of patience for each four before it.
					if waited, most := time.Since(asked), time.Duration(evil/quick+1)*2*time.Second; waited > most {
						t.Errorf("round %d: a healthy Fleet waited for %s, at most %s", round, waited, most)
					} else if round > 2 && waited > 2*time.Second {
						t.Errorf("round %d: once they are known, it waited for %s", round, waited)
					}
					time.Sleep(time.Second)
					done()
					time.Sleep(9 * time.Second)
				}
				finished := false
				for range 100 {
					run, done, ok, err := l.Begin(ctx, named("large"))
					if err != nil {
						t.Fatal(err)
					}
					if ok {
						select {
						case <-run.Done():
						case <-time.After(20 * time.Second):
							finished = true
						}
						done()
					}
					if finished {
						break
					}
					time.Sleep(10 * time.Second)
				}
				if !finished {
					t.Error("a Fleet that takes 20 s never came to its end")
				}
				if n := len(ended); evil <= quick && n > 0 {
					t.Errorf("%d runs were ended though there was room", n)
				}
				cancel()
				synctest.Wait()
				close(ended)
				for cause := range ended {
					if !errors.Is(cause, controller.ErrCrowded) && !errors.Is(cause, context.Canceled) {
						t.Error(cause)
					}
				}
			})
		})
	}
}

// TestLanesOfOneFleet: a Fleet of many shards pays for its own slowness, and is quick again
// once its runs are.
func TestLanesOfOneFleet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := controller.NewLanes(1) // and three slow ones
		begin := func(name string) (context.Context, func()) {
			t.Helper()
			run, done, ok, err := l.Begin(t.Context(), named(name))
			if err != nil || !ok {
				t.Fatalf("%s: %v %v", name, ok, err)
			}
			return run, done
		}
		one, oneDone := begin("honest")
		shards := []context.Context{}
		var shardsDone []func()
		for range 2 {
			run, done := begin("evil") // demotes the one before
			shards, shardsDone = append(shards, run), append(shardsDone, done)
		}
		other, otherDone := begin("other") // three are slow now, two of them evil's
		last, lastDone := begin("last")    // and one is too many
		if shards[0].Err() == nil || one.Err() != nil || shards[1].Err() != nil || other.Err() != nil || last.Err() != nil {
			t.Error("not the longest run of the Fleet that has most was ended")
		}
		if _, _, ok, _ := l.Begin(t.Context(), named("evil")); ok {
			t.Error("a slow Fleet has a place beside three slow runs")
		}
		for _, done := range append(shardsDone, oneDone, otherDone, lastDone) {
			done()
		}
		_, done := begin("evil")
		done() // at once
		blocked, blockedDone := begin("evil")
		time.Sleep(3 * time.Second)
		_, againDone := begin("honest2") // demotes it: it was in the quick lane
		if blocked.Err() != nil {
			t.Error("ended, though there was room")
		}
		blockedDone()
		againDone()
	})
}
