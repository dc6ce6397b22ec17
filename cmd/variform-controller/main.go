// Command variform-controller keeps fleets up to date that objects of kind Fleet name.
package main

import (
	"bytes"
	"cmp"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"
	// The image has no certificates of its own: these count where the system has none.
	_ "golang.org/x/crypto/x509roots/fallback"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/variform/variform/api"
	"github.com/variform/variform/cmd/variform-controller/controller"
	"github.com/variform/variform/internal/gitrepo"
	"github.com/variform/variform/internal/render"
	"github.com/variform/variform/internal/wire"
)

// gcPercent keeps garbage at four tenths of what is held, or less: a pod's memory is taken for
// good, and the processor is idle for most of an interval.
const gcPercent = 40

func main() {
	if len(os.Args) > 2 && os.Args[1] == render.WorkerCommand { // of scripts, within bounds
		if err := render.Work(os.Args[2], os.Stdin, os.Stdout); err != nil {
			fail(err)
		}
		return
	}
	if err := run(); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "variform-controller:", err)
	os.Exit(1)
}

func run() error {
	cacheDir := flag.String("cache-dir", cmp.Or(os.Getenv("VARIFORM_CACHE_DIR"), filepath.Join(os.TempDir(), "variform")), "folder for what is kept between runs; it may be lost")
	credentials := flag.String("git-credentials", "", "file of Git's logins, a URL with user and password a line (default: Git's credential helpers)")
	namespaces := flag.String("namespaces", "", "namespaces of Fleets, with commas between (default: all)")
	metricsAddress := flag.String("metrics-bind-address", ":8080", "address of metrics for Prometheus, 0 for none")
	probes := flag.String("health-probe-bind-address", ":8081", "address of /healthz and /readyz")
	webhooks := flag.String("webhook-bind-address", "", "address where forges tell that a repository has moved (default: none, it polls)")
	secret := flag.String("webhook-secret-file", "", "file of the secret that forges sign with, which a Secret can be mounted as")
	profile := flag.String("pprof-bind-address", "", "address of profiles (default: none)")
	leases := flag.String("lease-namespace", podNamespace(), "namespace of the Leases by which replicas share the work (default: that of the pod; outside of a cluster it works alone)")
	lease := flag.Duration("lease-duration", 15*time.Second, "time after which a replica that says nothing counts as gone, a second or more")
	concurrency := flag.Int("max-concurrent-reconciles", 4, "Fleets, or shards of them, that one replica runs at once; those whose servers are slow go on beside them, three times as many at most")
	serverTimeout := flag.Duration("server-timeout", 30*time.Second, "give up on a Git repository or a registry that is silent for this long; twice as long before an answer begins, six times for one to a push")
	deadline := flag.Duration("run-deadline", 15*time.Minute, "end a run that takes longer; one answer of a server may take half of it")
	serviceAccount := flag.String("default-service-account", "", "ServiceAccount, of the Fleet's namespace, as which Fleets are read that name none (default: this program's own rights)")
	var logs zap.Options
	logs.BindFlags(flag.CommandLine)
	flag.Parse()
	wire.PaceMemory(gcPercent)
	workers := wire.ShareMemory(memlimit.FromCgroup, render.WorkerMemory, runtime.GOMAXPROCS(0))
	ctrl.SetLogger(zap.New(zap.UseFlagOptions(&logs)))
	restConfig, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	if *lease < time.Second {
		return fmt.Errorf("-lease-duration %s: give a second or more", *lease)
	}
	if *serverTimeout < time.Second || *deadline < time.Second {
		return errors.New("-server-timeout and -run-deadline: give a second or more")
	}
	if *serviceAccount != "" {
		if err := api.CheckName(*serviceAccount); err != nil {
			return fmt.Errorf("-default-service-account: %w", err)
		}
	}
	options := ctrl.Options{Metrics: server.Options{BindAddress: *metricsAddress}, HealthProbeBindAddress: *probes, PprofBindAddress: *profile}
	options.Cache.DefaultTransform = cache.TransformStripManagedFields() // nobody asks the watches for them
	if *namespaces != "" {
		options.Cache.DefaultNamespaces = map[string]cache.Config{}
		for _, n := range strings.Split(*namespaces, ",") {
			options.Cache.DefaultNamespaces[n] = cache.Config{}
		}
	}
	m, err := ctrl.NewManager(restConfig, options)
	if err != nil {
		return err
	}
	if err := m.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return err
	}
	if err := m.AddReadyzCheck("ping", healthz.Ping); err != nil {
		return err
	}
	worker, _ := os.Executable() // without it, scripts of packages run in this process
	r := &controller.Reconciler{
		Client: m.GetClient(), Reader: m.GetAPIReader(), Mapper: m.GetRESTMapper(), Cache: *cacheDir, Worker: worker, Workers: render.NewWorkerPool(workers), Now: time.Now,
		ServerTimeout: *serverTimeout, RunDeadline: *deadline,
		Concurrency: *concurrency, DefaultServiceAccount: *serviceAccount, Metrics: controller.NewMetrics(metrics.Registry),
	}
	if *leases != "" {
		r.Leases = controller.NewLeases(m.GetClient(), m.GetAPIReader(), m.GetCache(), *leases, *lease)
	}
	if *credentials != "" {
		r.Credentials = gitrepo.StoredCredentials(*credentials)
	}
	if err := controller.Setup(m, r); err != nil {
		return err
	}
	if *webhooks != "" {
		if *secret == "" {
			return errors.New("-webhook-bind-address: name a -webhook-secret-file, too: nobody is believed without")
		}
		err := m.Add(&controller.Webhooks{Address: *webhooks, Wake: r.Wake, Secret: func() ([]byte, error) {
			data, err := os.ReadFile(*secret)
			return bytes.TrimSpace(data), err
		}})
		if err != nil {
			return err
		}
	}
	return m.Start(ctrl.SetupSignalHandler())
}

// podNamespace is that of the pod that this runs in, "" outside of a cluster.
func podNamespace() string {
	data, _ := os.ReadFile("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
	return strings.TrimSpace(string(data))
}
