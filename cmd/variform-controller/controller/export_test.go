package controller

import (
	"context"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/variform/variform/internal/ocirepo"
)

// Again is when what failed is tried again.
var Again = again

// QueueTo has a reconciler without a manager wake itself by a queue.
func (r *Reconciler) QueueTo(q workqueue.TypedRateLimitingInterface[Request]) { r.wakes.queue = q }

// AsMap is a status as the API has it.
var AsMap = asMap

// Registries opens registries by the logins of a Secret.
func Registries(name string, data map[string][]byte) (*ocirepo.Store, error) {
	l, err := loginsIn(name, data)
	return l.registries(""), err
}

// NewLanes makes lanes with so many quick places.
func NewLanes(quick int) *lanes { return newLanes(quick) }

// Begin waits for a place.
func (l *lanes) Begin(ctx context.Context, fleet client.ObjectKey) (run context.Context, done func(), ok bool, err error) {
	return l.begin(ctx, fleet)
}

// ErrCrowded is why a run ended that others had no place beside.
var ErrCrowded = errCrowded

// Keep is a round of the keeper.
func (r *Reconciler) Keep(ctx context.Context, fleets client.Reader) error {
	return (&keeper{r, fleets}).round(ctx)
}

// Probes are what the probes of readiness and of life say.
func (r *Reconciler) Probes() (ready, alive error) { return r.ready(nil), r.alive(nil) }

// Began and Ended note a run; the next is due after a while.
func (r *Reconciler) Began(req Request)                      { r.beats.begin(req, r.Now()) }
func (r *Reconciler) Ended(req Request, after time.Duration) { r.beats.end(req, r.Now(), after) }

// Crowded notes that a shard had no place among slow ones.
func (r *Reconciler) Crowded(req Request) { r.beats.wait(req, r.Now()) }
