package controller

import (
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	variformv1alpha1 "github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/internal/fleet"
	"github.com/variform/variform/internal/reconcile"
	"github.com/variform/variform/internal/shard"
	"github.com/variform/variform/internal/wire"
)

// Metrics are what Prometheus is told of one replica, beside controller-runtime's own of
// queues and requests. A nil one tells nothing.
type Metrics struct {
	registry  prometheus.Registerer
	runs      *prometheus.CounterVec
	durations *prometheus.HistogramVec
	builds    *prometheus.CounterVec
	variants  *prometheus.GaugeVec
	success   *prometheus.GaugeVec
	overdue   prometheus.Gauge
	errors    *prometheus.CounterVec
	waits     *prometheus.CounterVec

	mu     sync.Mutex
	shards map[[3]string]bool // that metrics tell of: namespace, name and shard
	hosts  map[string]bool    // of servers
}

// mostHosts bounds how many servers have metrics of their own: who writes Fleets names them.
const mostHosts = 100

// NewMetrics registers a replica's metrics: one replica a registry.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	of := []string{"namespace", "name", "shard"}
	m := &Metrics{
		registry: registry, shards: map[[3]string]bool{}, hosts: map[string]bool{},
		runs: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "variform_fleet_runs_total", Help: "Runs of a Fleet or of a shard of it, by what they came to: ready, notready, stalled, ended (early) or error.",
		}, append(of, "result")),
		durations: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "variform_fleet_run_duration_seconds", Help: "Time that runs of a Fleet or of a shard of it took.", Buckets: prometheus.ExponentialBuckets(0.05, 3, 10),
		}, of),
		builds: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "variform_fleet_packages_built_total", Help: "Packages that runs of a Fleet or of a shard of it made and rendered, for what they were to be compared with.",
		}, of),
		variants: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "variform_fleet_package_variants", Help: "Package variants of a Fleet or of a shard of it, by state: a phase such as Draft, Failed, or None.",
		}, append(of, "state")),
		success: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "variform_fleet_last_success_timestamp_seconds", Help: "When a run of a Fleet or of a shard of it last came to ready.",
		}, of),
		overdue: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "variform_runs_overdue", Help: "Fleets, or shards of them, of this replica whose last run ended too long ago.",
		}),
		errors: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "variform_server_errors_total", Help: "Requests to Git servers, registries and forges that failed, by host and reason: unreachable, slow, failed or limited.",
		}, []string{"host", "reason"}),
		waits: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "variform_server_wait_seconds_total", Help: "Time that servers asked this replica to wait for, as it had asked too much, by host.",
		}, []string{"host"}),
	}
	registry.MustRegister(m.runs, m.durations, m.builds, m.variants, m.success, m.overdue, m.errors, m.waits)
	return m
}

// watch adds metrics of a reconciler: what it has under way, and its bounds.
func (m *Metrics) watch(r *Reconciler) {
	if m == nil {
		return
	}
	gauge := func(name, help string, labels prometheus.Labels, f func() float64) {
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help, ConstLabels: labels}, f))
	}
	gauge("variform_run_deadline_seconds", "How long a run may take.", nil, func() float64 { return r.RunDeadline.Seconds() })
	for lane, slow := range map[string]bool{"quick": false, "slow": true} {
		gauge("variform_runs", "Runs under way, by lane: slow ones no longer keep others waiting.", prometheus.Labels{"lane": lane}, func() float64 { return float64(r.lanes.underWay(slow)) })
	}
	if r.Leases != nil {
		gauge("variform_shards_held", "Shards of Fleets that this replica has by Leases; a Fleet without shards is one.", nil, func() float64 { return float64(len(r.Leases.holds())) })
	}
}

// late sets how many shards are overdue.
func (m *Metrics) late(n int) {
	if m != nil {
		m.overdue.Set(float64(n))
	}
}

// measure counts a run.
func (m *Metrics) measure(req Request, began time.Time, o outcome, err error) {
	if m == nil {
		return
	}
	result := "notready"
	switch {
	case o.reason == reasonEnded:
		result = "ended"
	case err != nil:
		result = "error"
	case o.stalled:
		result = "stalled"
	case o.ready:
		result = "ready"
	}
	of := m.of(req.NamespacedName, req.Shard)
	m.runs.WithLabelValues(append(of, result)...).Inc()
	m.durations.WithLabelValues(of...).Observe(time.Since(began).Seconds())
	if result == "ready" {
		m.success.WithLabelValues(of...).SetToCurrentTime()
	}
	if o.states == nil { // nothing is known of them
		return
	}
	m.variants.DeletePartialMatch(labels([3]string(of)))
	for state, n := range o.states {
		m.variants.WithLabelValues(append(of, state)...).Set(float64(n))
	}
}

// of are the labels of a shard, which has metrics from now on.
func (m *Metrics) of(fleet client.ObjectKey, part shard.Shard) []string {
	of := [3]string{fleet.Namespace, fleet.Name, part.String()}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.shards[of] = true
	return slices.Clip(of[:])
}

func labels(of [3]string) prometheus.Labels {
	return prometheus.Labels{"namespace": of[0], "name": of[1], "shard": of[2]}
}

// keep drops what was told of shards other than these: another replica tells of them, or
// nobody.
func (m *Metrics) keep(held sets.Set[Request]) {
	if m == nil {
		return
	}
	here := map[[3]string]bool{}
	for r := range held {
		here[[3]string{r.Namespace, r.Name, r.Shard.String()}] = true
	}
	m.drop(func(of [3]string) bool { return !here[of] })
}

// forget drops what was told of a Fleet.
func (m *Metrics) forget(fleet client.ObjectKey) {
	if m != nil {
		m.drop(func(of [3]string) bool { return of[0] == fleet.Namespace && of[1] == fleet.Name })
	}
}

func (m *Metrics) drop(which func(of [3]string) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for of := range m.shards {
		if !which(of) {
			continue
		}
		delete(m.shards, of)
		for _, vec := range []interface{ DeletePartialMatch(prometheus.Labels) int }{m.runs, m.durations, m.builds, m.variants, m.success} {
			vec.DeletePartialMatch(labels(of))
		}
	}
}

// trouble counts what went wrong with a server; it is a wire.Budget's Notice.
func (m *Metrics) trouble(host string, what wire.Trouble, waited time.Duration) {
	if m == nil {
		return
	}
	m.mu.Lock()
	if !m.hosts[host] && len(m.hosts) >= mostHosts {
		host = "others"
	} else {
		m.hosts[host] = true
	}
	m.mu.Unlock()
	if what == wire.Waited {
		m.waits.WithLabelValues(host).Add(waited.Seconds())
		return
	}
	m.errors.WithLabelValues(host, string(what)).Inc()
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
	counter := m.builds.WithLabelValues(m.of(client.ObjectKey{Namespace: f.Namespace, Name: f.Name}, part)...)
	return func(p reconcile.Progress) {
		if p.Stage == "variants" {
			counter.Inc()
		}
	}
}
