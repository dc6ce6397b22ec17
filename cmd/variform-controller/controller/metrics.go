package controller

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"

	variformv1alpha1 "github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/internal/fleet"
	"github.com/variform/variform/internal/reconcile"
	"github.com/variform/variform/internal/shard"
)

// Metrics are what Prometheus is told of one replica, beside controller-runtime's own of
// queues and requests. A nil one tells nothing.
type Metrics struct {
	registry  prometheus.Registerer
	runs      *prometheus.CounterVec
	durations *prometheus.HistogramVec
	builds    *prometheus.CounterVec
	variants  *prometheus.GaugeVec
}

// NewMetrics registers a replica's metrics: one replica a registry.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	m := &Metrics{
		registry: registry,
		runs: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "variform_fleet_runs_total", Help: "Runs of a Fleet or of a shard of it, by what they came to: ready, notready, stalled or error.",
		}, []string{"namespace", "name", "shard", "result"}),
		durations: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "variform_fleet_run_duration_seconds", Help: "Time that runs of a Fleet or of a shard of it took.", Buckets: prometheus.ExponentialBuckets(0.05, 3, 10),
		}, []string{"namespace", "name", "shard"}),
		builds: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "variform_fleet_packages_built_total", Help: "Packages that runs of a Fleet or of a shard of it made and rendered, for what they were to be compared with.",
		}, []string{"namespace", "name", "shard"}),
		variants: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "variform_fleet_package_variants", Help: "Package variants of a Fleet or of a shard of it, by state: a phase such as Draft, Failed, or None.",
		}, []string{"namespace", "name", "shard", "state"}),
	}
	registry.MustRegister(m.runs, m.durations, m.builds, m.variants)
	return m
}

// shards tells how many shards of Fleets a replica holds.
func (m *Metrics) shards(l *Leases) {
	if m == nil {
		return
	}
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "variform_shards_held", Help: "Shards of Fleets that this replica has by Leases; a Fleet without shards is one.",
	}, func() float64 { return float64(len(l.holds())) }))
}

// measure tells of a run.
func (m *Metrics) measure(req Request, began time.Time, o outcome, err error) {
	if m == nil {
		return
	}
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
	m.runs.WithLabelValues(req.Namespace, req.Name, part, result).Inc()
	m.durations.WithLabelValues(req.Namespace, req.Name, part).Observe(time.Since(began).Seconds())
	if o.states == nil { // nothing is known of them
		return
	}
	m.variants.DeletePartialMatch(prometheus.Labels{"namespace": req.Namespace, "name": req.Name, "shard": part})
	for state, n := range o.states {
		m.variants.WithLabelValues(req.Namespace, req.Name, part, state).Set(float64(n))
	}
}

// forget lets go what was told of a Fleet that is not run here: another replica tells of
// it, or nobody.
func (m *Metrics) forget(fleet client.ObjectKey) {
	if m == nil {
		return
	}
	of := prometheus.Labels{"namespace": fleet.Namespace, "name": fleet.Name}
	m.runs.DeletePartialMatch(of)
	m.durations.DeletePartialMatch(of)
	m.builds.DeletePartialMatch(of)
	m.variants.DeletePartialMatch(of)
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

// built counts packages that a run makes.
func (m *Metrics) built(f *variformv1alpha1.Fleet, part shard.Shard) func(reconcile.Progress) {
	if m == nil {
		return nil
	}
	counter := m.builds.WithLabelValues(f.Namespace, f.Name, part.String())
	return func(p reconcile.Progress) {
		if p.Stage == "variants" {
			counter.Inc()
		}
	}
}
