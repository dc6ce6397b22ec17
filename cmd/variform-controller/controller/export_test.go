package controller

import (
	"k8s.io/client-go/util/workqueue"

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
