package controller

import (
	"context"
	"errors"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// lanes bound how many runs are under way, so that no Fleet waits for another whose servers
// are slow. A run that others wait for leaves its place to them after lanePatience, and goes
// on in the slow lane; a Fleet whose last run was slow begins there. Where the slow lane is
// full, the longest run of the Fleet that has most of them ends.
type lanes struct {
	quick, slow int // places

	mu      sync.Mutex
	running map[*lap]bool
	late    map[client.ObjectKey]bool // Fleets whose last run was slow
	changed chan struct{}             // is closed when a place is free
}

const (
	lanePatience = 2 * time.Second
	// slowLanes is how many slow runs there may be for each quick one: they wait for
	// servers and take little.
	slowLanes = 3
)

// lap is one run.
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

// workers is how many runs may be under way, and one that waits for a place.
func (l *lanes) workers() int { return l.quick + l.slow + 1 }

// errCrowded is why a run ended that others had no place beside.
var errCrowded = errors.New("it was slow, and others waited")

// begin waits for a place. The run is to end with its context; done is to be called after
// it. ok is false where the Fleet's last run was slow and the slow lane is full.
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

// wait is called with the lock, which it lets go meanwhile.
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

// leave is called with the lock.
func (l *lanes) leave(one *lap) {
	delete(l.running, one)
	close(l.changed)
	l.changed = make(chan struct{})
}

// demote has a run go on in the slow lane.
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

// underWay is how many runs there are in a lane.
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

// forget drops what is known of a Fleet that is not run here.
func (l *lanes) forget(fleet client.ObjectKey) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.late, fleet)
}
