package controller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/variform/variform/internal/shard"
)

// Request is one shard of a Fleet's repositories. A Fleet that is made anew is another.
type Request struct {
	types.NamespacedName
	UID   types.UID
	Shard shard.Shard
}

// lease is the name of the shard's Lease.
func (r Request) lease() string {
	return fmt.Sprintf("variform-%s-%d-of-%d", r.UID, r.Shard.Index, r.Shard.Of)
}

// Leases share the shards of all Fleets among replicas. Each replica renews one Lease
// that says that it lives; a Lease a shard says who has it, and is written only when the
// shard changes hands. A shard belongs to one of the replicas that live (shard.Assign);
// it is handed over when its run has ended, and taken from one that lives no more.
//
// Two replicas never believe that they have one shard: a replica stops what it does
// before others may think it gone, and comes back under a new name, so that what it had
// is free. What a clock or a machine that stands still breaks of that, the conditional
// push holds.
type Leases struct {
	// Client writes Leases; Reader asks the API server itself.
	Client client.Client
	Reader client.Reader
	// Fleets lists Fleets, from a cache.
	Fleets client.Reader
	// Namespace is where the Leases are.
	Namespace string
	// Duration is how long a replica counts as alive that says nothing.
	Duration time.Duration
	// Woken, where set, hears what other replicas tell: they alone may have been told
	// that a repository moved.
	Woken func(keys []string)
	// Taken, where set, hears of a shard that comes here: others may have run it.
	Taken func(r Request)

	ended chan struct{} // a run has ended, which others may wait for, or there is something to tell

	// These are the loop's own.
	me   string
	mine *coordinationv1.Lease // nil before the first, and after a lapse
	seen map[string]sighting   // of replicas' Leases, by name
	read map[string]int        // of what they told, by name

	mu      sync.Mutex
	queue   workqueue.TypedRateLimitingInterface[Request] // nil before the controller starts
	until   time.Time                                     // till then nobody thinks this replica gone
	held    map[Request]*holding
	rounded time.Time // when the loop last came round, whatever it came to; zero before it starts
	closing bool
	told    []string // the last of what all replicas are told, each "<number>:<key>"
	number  int
}

// holding is a shard that this replica has.
type holding struct {
	stop    context.CancelFunc // of its run; nil where there is none
	leaving bool               // another is to have it: no run begins
}

// sighting is when a Lease was first seen as it is: clocks of replicas may differ.
type sighting struct {
	version string
	at      time.Time
}

// The labels of Leases say what they are, and of which Fleet.
const (
	leaseLabel = "variform.dev/lease"
	fleetLabel = "variform.dev/fleet"
	// toldAnnotation is what a replica tells the others.
	toldAnnotation = "variform.dev/moved"
)

// NewLeases makes a replica's part of the work that those share whose Leases are in a
// namespace.
func NewLeases(c client.Client, reader, fleets client.Reader, namespace string, duration time.Duration) *Leases {
	return &Leases{
		Client: c, Reader: reader, Fleets: fleets, Namespace: namespace, Duration: duration,
		ended: make(chan struct{}, 1), held: map[Request]*holding{}, seen: map[string]sighting{}, read: map[string]int{},
	}
}

// mostTold is how much a replica tells at once: what is more, polling finds.
const mostTold = 200

// Tell tells other replicas, along with this one's Lease.
func (l *Leases) Tell(keys []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, k := range keys {
		l.number++
		l.told = append(l.told, fmt.Sprintf("%d:%s", l.number, k))
	}
	l.told = l.told[max(0, len(l.told)-mostTold):]
	l.signal()
}

// hear passes on what other replicas told since the last time.
func (l *Leases) hear(list []coordinationv1.Lease) {
	read := map[string]int{}
	var keys []string
	for _, lease := range list {
		text := lease.Annotations[toldAnnotation]
		if text == "" || holderOf(&lease) == l.me {
			continue
		}
		last := l.read[lease.Name]
		for _, word := range strings.Fields(text) {
			number, key, _ := strings.Cut(word, ":")
			if n, err := strconv.Atoi(number); err == nil && n > last {
				read[lease.Name], keys = n, append(keys, key)
			}
		}
		read[lease.Name] = max(read[lease.Name], last)
	}
	if l.read = read; l.Woken != nil && len(keys) > 0 {
		l.Woken(keys)
	}
}

// signal has the next round begin; the lock is held.
func (l *Leases) signal() {
	select {
	case l.ended <- struct{}{}:
	default:
	}
}

// Begin says whether a shard may be run now. The run is to end with its context; done is
// to be called after it.
func (l *Leases) Begin(ctx context.Context, r Request) (run context.Context, done func(), ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.held[r]
	if h == nil || h.leaving || h.stop != nil || l.closing || !time.Now().Before(l.until) {
		return ctx, func() {}, false
	}
	run, stop := context.WithCancel(ctx)
	h.stop = stop
	return run, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		stop()
		h.stop = nil
		l.signal()
	}, true
}

// Has says whether this replica has any shard of a Fleet.
func (l *Leases) Has(fleet types.NamespacedName) bool {
	return slices.ContainsFunc(l.holds(), func(r Request) bool { return r.NamespacedName == fleet })
}

// holds are the shards that this replica has.
func (l *Leases) holds() []Request {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Collect(maps.Keys(l.held))
}

// holding reports whether this replica has a shard.
func (l *Leases) holding(r Request) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.held[r] != nil
}

// renewed is nil while no other replica may think this one gone.
func (l *Leases) renewed() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Now().Before(l.until) {
		return nil
	}
	return fmt.Errorf("the Lease of this replica in namespace %s is not renewed, so that nothing runs here: see that the API server answers, and that the ServiceAccount may write Leases", l.Namespace)
}

// alive is nil while Leases are looked at, if only in vain.
func (l *Leases) alive() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.rounded.IsZero() || time.Since(l.rounded) < stuckGrace {
		return nil
	}
	return fmt.Errorf("nothing has looked at the Leases in namespace %s since %s", l.Namespace, l.rounded.UTC().Format(time.RFC3339))
}

// take has a shard run here from now on.
func (l *Leases) take(r Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held[r] = &holding{}
	if l.Taken != nil {
		l.Taken(r)
	}
	if l.queue != nil {
		l.queue.Add(r)
	}
}

// QueueTo has shards run that come here, and those that are here.
func (l *Leases) QueueTo(q workqueue.TypedRateLimitingInterface[Request]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queue = q
	for r := range l.held {
		q.Add(r)
	}
}

// stays says that this replica has a shard, and keeps it.
func (l *Leases) stays(r Request) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.held[r]
	if h != nil {
		h.leaving = false
	}
	return h != nil
}

// gives lets a shard go once its run has ended; free says that it has gone.
func (l *Leases) gives(r Request) (free bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.held[r]
	if h != nil && h.stop != nil {
		h.leaving = true
		return false
	}
	delete(l.held, r)
	return true
}

// stop ends a shard's run, whose shard is another's.
func (l *Leases) stop(r Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if h := l.held[r]; h != nil && h.stop != nil {
		h.stop()
	}
	delete(l.held, r)
}

// running says whether a run has not ended yet.
func (l *Leases) running() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, h := range l.held {
		if h.stop != nil && time.Now().Before(l.until) {
			return true
		}
	}
	return false
}

// NeedLeaderElection implements manager.LeaderElectionRunnable: all replicas work.
func (l *Leases) NeedLeaderElection() bool { return false }

// Start implements manager.Runnable. In the end it waits for the runs and says that this
// replica has gone: others need not wait until it counts as gone.
func (l *Leases) Start(ctx context.Context) error {
	log := ctrl.Log.WithName("leases")
	tick := time.NewTicker(l.Duration / 5)
	defer tick.Stop()
	for {
		round, cancel := context.WithTimeout(ctx, l.Duration)
		if err := l.round(round); err != nil && ctx.Err() == nil {
			log.Error(err, "sharing the work failed, and is tried again")
		}
		cancel()
		l.mu.Lock()
		l.rounded = time.Now()
		l.mu.Unlock()
		select {
		case <-ctx.Done():
			l.leave()
			return nil
		case <-tick.C:
		case <-l.ended:
		}
	}
}

func (l *Leases) leave() {
	l.mu.Lock()
	l.closing = true
	l.mu.Unlock()
	for l.running() { // their contexts have ended
		select {
		case <-l.ended:
		case <-time.After(l.Duration / 10):
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), l.Duration)
	defer cancel()
	l.lapse(ctx)
}

// lapse forgets all that this replica had, and its name: under the next it asks anew.
func (l *Leases) lapse(ctx context.Context) {
	for _, r := range l.holds() {
		l.stop(r)
	}
	if l.mine != nil {
		_ = l.Client.Delete(ctx, l.mine) // else it expires
	}
	l.mine = nil
}

// round renews this replica's Lease and looks who has what.
func (l *Leases) round(ctx context.Context) error {
	if err := l.renew(ctx); err != nil {
		return fmt.Errorf("renewing this replica's Lease in namespace %s: %w", l.Namespace, err)
	}
	fleets, err := listFleets(ctx, l.Fleets)
	if err != nil {
		return err
	}
	asked := time.Now() // what is read is no older
	list := &coordinationv1.LeaseList{}
	if err := l.Reader.List(ctx, list, client.InNamespace(l.Namespace), client.HasLabels{leaseLabel}); err != nil {
		return fmt.Errorf("listing Leases in namespace %s: %w", l.Namespace, err)
	}
	l.hear(list.Items)
	var all []Request
	for n := range fleets.Items {
		all = append(all, requestOf(&fleets.Items[n]))
	}
	d := &dealing{Leases: l, of: map[string]*coordinationv1.Lease{}, live: l.live(list.Items, asked)}
	for n := range list.Items {
		d.of[list.Items[n].Name] = &list.Items[n]
	}
	return d.deal(ctx, all)
}

// renew says that this replica lives. Where that comes too late, others may have thought
// it gone: it begins anew.
func (l *Leases) renew(ctx context.Context) error {
	now := time.Now()
	l.mu.Lock()
	late := !now.Before(l.until)
	l.mu.Unlock()
	if late && l.mine != nil {
		l.lapse(ctx)
	}
	if l.mine == nil {
		host, _ := os.Hostname()
		id := string(uuid.NewUUID())
		l.me = host + "_" + id
		lease := l.lease("variform-replica-"+id, "replica", l.me)
		if err := l.Client.Create(ctx, lease); err != nil {
			return err
		}
		l.mine = lease
	} else {
		next := l.mine.DeepCopy()
		next.Spec.RenewTime = &metav1.MicroTime{Time: now}
		l.mu.Lock()
		if len(l.told) > 0 {
			next.Annotations = map[string]string{toldAnnotation: strings.Join(l.told, " ")}
		}
		l.mu.Unlock()
		if err := l.Client.Update(ctx, next); err != nil {
			if apierrors.IsNotFound(err) || apierrors.IsConflict(err) { // others took it for gone
				l.lapse(ctx)
			}
			return err
		}
		l.mine = next
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.until = now.Add(l.Duration * 2 / 3)
	time.AfterFunc(time.Until(l.until), l.expire)
	return nil
}

// expire stops what runs where no renewal came in time.
func (l *Leases) expire() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Now().Before(l.until) {
		return
	}
	for _, h := range l.held {
		if h.stop != nil {
			h.stop()
		}
	}
}

func (l *Leases) lease(name, kind, holder string) *coordinationv1.Lease {
	seconds, at := int32(max(1, l.Duration/time.Second)), metav1.NowMicro()
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: l.Namespace, Name: name, Labels: map[string]string{leaseLabel: kind}},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &seconds, AcquireTime: &at, RenewTime: &at},
	}
}

// live are the replicas that live, each for the time that it gives itself.
func (l *Leases) live(list []coordinationv1.Lease, asked time.Time) map[string]bool {
	out, seen, now := map[string]bool{}, map[string]sighting{}, time.Now()
	for _, lease := range list {
		if lease.Labels[leaseLabel] != "replica" {
			continue
		}
		was := l.seen[lease.Name]
		if was.version != lease.ResourceVersion {
			was = sighting{lease.ResourceVersion, now}
		}
		seen[lease.Name] = was
		duration := l.Duration
		if s := lease.Spec.LeaseDurationSeconds; s != nil {
			duration = max(duration, time.Duration(*s)*time.Second)
		}
		if holder := holderOf(&lease); asked.Sub(was.at) <= duration {
			out[holder] = true
		}
	}
	l.seen = seen
	return out
}

func holderOf(lease *coordinationv1.Lease) string {
	if lease == nil || lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}

// dealing is one look at who has what.
type dealing struct {
	*Leases
	of   map[string]*coordinationv1.Lease
	live map[string]bool
}

// deal brings each shard to who is to have it.
func (d *dealing) deal(ctx context.Context, fleets []Request) error {
	members := slices.Sorted(maps.Keys(d.live))
	wanted := map[string]bool{}
	var failed []error
	for _, f := range fleets {
		var keys []string
		for _, r := range eachShard(f) {
			keys = append(keys, r.lease())
		}
		to := shard.Assign(keys, members)
		for n, r := range eachShard(f) {
			wanted[keys[n]] = true
			failed = append(failed, d.settle(ctx, r, to[keys[n]]))
		}
	}
	for _, r := range d.holds() {
		if !wanted[r.lease()] && !d.gives(r) {
			wanted[r.lease()] = true // until its run has ended
		}
	}
	for name, lease := range d.of {
		failed = append(failed, d.sweep(ctx, lease, wanted[name]))
	}
	return errors.Join(failed...)
}

// settle brings one shard to who is to have it.
func (d *dealing) settle(ctx context.Context, r Request, to string) error {
	lease := d.of[r.lease()]
	switch holder := holderOf(lease); {
	case holder == d.me && to == d.me:
		if !d.stays(r) { // it was handed over
			d.take(r)
		}
	case holder == d.me:
		if d.gives(r) {
			_, err := d.hand(ctx, lease, to)
			return err
		}
	case slices.Contains(d.holds(), r): // who has it now thought this replica gone
		d.stop(r)
	case to == d.me && !d.live[holder] && !d.overlaps(r):
		if ok, err := d.claim(ctx, r, lease); !ok {
			return err
		}
		d.take(r)
	}
	return nil
}

// claim takes a shard that nobody has who lives; not ok is that another was faster.
func (d *dealing) claim(ctx context.Context, r Request, lease *coordinationv1.Lease) (ok bool, err error) {
	if lease != nil {
		return d.hand(ctx, lease, d.me)
	}
	lease = d.lease(r.lease(), "shard", d.me)
	lease.Labels[fleetLabel] = string(r.UID)
	lease.Annotations = map[string]string{fleetLabel: r.String()}
	if err := d.Client.Create(ctx, lease); err != nil {
		if apierrors.IsAlreadyExists(err) {
			err = nil
		}
		return false, err
	}
	return true, nil
}

// hand writes who has a shard, unless somebody wrote it meanwhile.
func (d *dealing) hand(ctx context.Context, lease *coordinationv1.Lease, to string) (ok bool, err error) {
	next := lease.DeepCopy()
	now, transitions := metav1.NowMicro(), int32(1)
	if n := lease.Spec.LeaseTransitions; n != nil {
		transitions += *n
	}
	next.Spec.HolderIdentity, next.Spec.AcquireTime, next.Spec.RenewTime, next.Spec.LeaseTransitions = &to, &now, &now, &transitions
	if err := d.Client.Update(ctx, next); err != nil {
		if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
			err = nil
		}
		return false, err
	}
	return true, nil
}

// overlaps says that a replica still has a shard of the same Fleet of when it had
// another number of them: they have repositories in common.
func (d *dealing) overlaps(r Request) bool {
	for _, lease := range d.of {
		var index, of int
		if lease.Labels[fleetLabel] != string(r.UID) || !d.live[holderOf(lease)] {
			continue
		}
		if _, err := fmt.Sscanf(strings.TrimPrefix(lease.Name, "variform-"+string(r.UID)+"-"), "%d-of-%d", &index, &of); err != nil || of != r.Shard.Of {
			return true
		}
	}
	return false
}

// sweep deletes a Lease that means nothing any more: of a replica that has long gone, of
// a shard that there is no more.
func (d *dealing) sweep(ctx context.Context, lease *coordinationv1.Lease, wanted bool) error {
	holder := holderOf(lease)
	switch lease.Labels[leaseLabel] {
	case "replica":
		if d.live[holder] || time.Since(d.seen[lease.Name].at) < 10*d.Duration {
			return nil
		}
	case "shard":
		if wanted || d.live[holder] && holder != d.me {
			return nil
		}
	default:
		return nil
	}
	err := d.Client.Delete(ctx, lease, client.Preconditions{UID: &lease.UID, ResourceVersion: &lease.ResourceVersion})
	if apierrors.IsConflict(err) {
		return nil
	}
	return client.IgnoreNotFound(err)
}
