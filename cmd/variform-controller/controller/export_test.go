package controller

import "k8s.io/client-go/util/workqueue"

// Again is when what failed is tried again.
var Again = again

// QueueTo has a reconciler without a manager wake itself by a queue.
func (r *Reconciler) QueueTo(q workqueue.TypedRateLimitingInterface[Request]) { r.wakes.queue = q }

// AsMap is a status as the API has it.
var AsMap = asMap
