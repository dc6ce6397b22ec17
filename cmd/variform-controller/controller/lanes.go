package controller

import (
	"context"
	"errors"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// lanes bounds the number of concurrent runs so that no Fleet waits for another Fleet's slow
// servers. If others wait, a run moves to the slow lane after lanePatience. A Fleet whose
// last run was slow begins there. If the slow lane is full, lanes ends the longest run of the
// Fleet with the most runs in it.
type lanes struct {
	quick, slow int // places

	mu      sync.Mutex
	running map[*lap]bool
	late    map[client.ObjectKey]bool // Fleets whose last run was slow
	changed chan struct{}             // closed when a place becomes free
}

const (
	lanePatience = 2 * time.Second
	// slowLanes is the number of slow runs per quick run. Slow runs wait for servers and
	// use few resources.
	slowLanes = 3
)

// lap is one run in a lane.
type lap struct {
	fleet client.ObjectKey
	began time.Time
	slow  bool
	stop  context.CancelCauseFunc
}

func newLanes(quick int) *lanes {
	return &lanes{
		quick: quick, slow: slowLanes * quick,
		running: map[*lap]bool{}, late: map[client.ObjectKey]bool{}, changed: make(chan struct{}),
	}
}

// workers returns how many runs may be concurrent, with one that waits for a place.
func (l *lanes) workers() int { return l.quick + l.slow + 1 }

// errCrowded is the cause of a run that lanes ended to make room.
var errCrowded = errors.New("it was slow, and others waited")

// begin waits for a place. The caller runs within the returned context and calls done at the
// end. ok is false if the Fleet's last run was slow and the slow lane is full.
func (l *lanes) begin(ctx context.Context, fleet client.ObjectKey) (run context.Context, done func(), ok bool, err error) {
	if l == nil {
		return ctx, func() {}, true, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := &lap{fleet: fleet, slow: l.late[fleet]}
	for {
		if n := l.count(now.slow); now.slow && n >= l.slow {
			return ctx, func() {}, false, nil
		} else if now.slow || n < l.quick {
			break
		}
		oldest := l.oldest(func(o *lap) bool { return !o.slow })
		wait := lanePatience - time.Since(oldest.began)
		if wait <= 0 {
			l.demote(oldest)
			continue
		}
		if err := l.wait(ctx, wait); err != nil {
			return ctx, func() {}, false, err
		}
		now.slow = l.late[fleet]
	}
	run, now.stop = context.WithCancelCause(ctx)
	now.began = time.Now()
	l.running[now] = true
	return run, func() { l.end(now) }, true, nil
}

// wait releases the lock, which the caller holds, while it waits.
func (l *lanes) wait(ctx context.Context, d time.Duration) error {
	changed, timer := l.changed, time.NewTimer(d)
	l.mu.Unlock()
	defer l.mu.Lock()
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-changed:
	case <-timer.C:
	}
	return nil
}

func (l *lanes) end(one *lap) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if one.stop(nil); time.Since(one.began) < lanePatience {
		delete(l.late, one.fleet)
	}
	l.leave(one)
}

// leave removes a run. The caller holds the lock.
func (l *lanes) leave(one *lap) {
	delete(l.running, one)
	close(l.changed)
	l.changed = make(chan struct{})
}

// demote moves a run to the slow lane.
func (l *lanes) demote(one *lap) {
	one.slow, l.late[one.fleet] = true, true
	if l.count(true) <= l.slow {
		return
	}
	of := map[client.ObjectKey]int{}
	most := 0
	for o := range l.running {
		if o.slow {
			of[o.fleet]++
			most = max(most, of[o.fleet])
		}
	}
	last := l.oldest(func(o *lap) bool { return o.slow && of[o.fleet] == most })
	last.stop(errCrowded)
	l.leave(last)
}

// underWay returns the number of runs in a lane.
func (l *lanes) underWay(slow bool) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.count(slow)
}

func (l *lanes) count(slow bool) (n int) {
	for o := range l.running {
		if o.slow == slow {
			n++
		}
	}
	return n
}

func (l *lanes) oldest(which func(*lap) bool) (out *lap) {
	for o := range l.running {
		if which(o) && (out == nil || o.began.Before(out.began)) {
			out = o
		}
	}
	return out
}

// forget drops a Fleet that this replica does not run.
func (l *lanes) forget(fleet client.ObjectKey) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.late, fleet)
}
