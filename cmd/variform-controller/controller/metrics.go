package controller

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/variform/variform/internal/fleet"
	"github.com/variform/variform/internal/reconcile"
)

// What Prometheus is told, beside controller-runtime's own of queues and requests.
var (
	runs = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "variform_fleet_runs_total", Help: "Runs of a Fleet or of a shard of it, by what they came to: ready, notready, stalled or error.",
	}, []string{"namespace", "name", "shard", "result"})
	durations = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "variform_fleet_run_duration_seconds", Help: "Time that runs of a Fleet or of a shard of it took.", Buckets: prometheus.ExponentialBuckets(0.05, 3, 10),
	}, []string{"namespace", "name", "shard"})
	variants = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "variform_fleet_package_variants", Help: "Package variants of a Fleet or of a shard of it, by state: a phase such as Draft, Failed, or None.",
	}, []string{"namespace", "name", "shard", "state"})
)

func init() { metrics.Registry.MustRegister(runs, durations, variants) }

// measure tells of a run.
func measure(req Request, began time.Time, o outcome, err error) {
	part := req.Shard.String()
	result := "notready"
	switch {
	case err != nil:
		result = "error"
	case o.stalled:
		result = "stalled"
	case o.ready:
		result = "ready"
	}
	runs.WithLabelValues(req.Namespace, req.Name, part, result).Inc()
	durations.WithLabelValues(req.Namespace, req.Name, part).Observe(time.Since(began).Seconds())
	if o.states == nil { // nothing is known of them
		return
	}
	variants.DeletePartialMatch(prometheus.Labels{"namespace": req.Namespace, "name": req.Name, "shard": part})
	for state, n := range o.states {
		variants.WithLabelValues(req.Namespace, req.Name, part, state).Set(float64(n))
	}
}

// unmeasure forgets a Fleet that is not run here: another replica tells of it, or nobody.
func unmeasure(fleet client.ObjectKey) {
	of := prometheus.Labels{"namespace": fleet.Namespace, "name": fleet.Name}
	runs.DeletePartialMatch(of)
	durations.DeletePartialMatch(of)
	variants.DeletePartialMatch(of)
}

// statesOf counts variants by the state of what is worked on.
func statesOf(plan *reconcile.Plan) map[string]int {
	out := map[string]int{}
	for _, items := range fleet.ByVariant(plan.Items) {
		switch i := items[0]; {
		case i.Variant == nil: // it has gone
		case i.Err != nil:
			out["Failed"]++
		case i.Phase == "":
			out["None"]++
		default:
			out[string(i.Phase)]++
		}
	}
	return out
}
