package merge

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/internal/krm"
)

// The tests of this file are the known defects of kpt's own update, one each:
// what is described in their comments does not happen here.

// kpt: a container deleted locally comes back as {env: [], image, name} when
// upstream touches it; a field likewise.
func TestDefectDeletedThingComesBackAsFragment(t *testing.T) {
	runCases(t, map[string]mergeCase{
		"container": {
			reason:    "a container that local deleted stays deleted, and upstream's change is told",
			base:      deployment("      containers:\n      - name: app\n        image: app:1\n      - name: side\n        image: side:1\n        env:\n        - name: A\n          value: b\n"),
			upstream:  deployment("      containers:\n      - name: app\n        image: app:1\n      - name: side\n        image: side:2\n        env:\n        - name: A\n          value: b\n"),
			local:     deployment("      containers:\n      - name: app\n        image: app:1\n"),
			want:      deployment("      containers:\n      - name: app\n        image: app:1\n"),
			conflicts: []string{`r.yaml: Deployment.apps/web: spec.template.spec.containers[name=side]: local wins with (deleted); upstream was {name: side, image: 'side:2', env: [{name: A, value: b}]}`},
		},
		"field": {
			reason:    "a field that local deleted and upstream changed is whole again",
			base:      deployment("      containers:\n      - name: app\n        image: app:1\n        resources:\n          limits:\n            cpu: 1\n            memory: 1Gi\n"),
			upstream:  deployment("      containers:\n      - name: app\n        image: app:1\n        resources:\n          limits:\n            cpu: 2\n            memory: 1Gi\n"),
			local:     deployment("      containers:\n      - name: app\n        image: app:9\n"),
			want:      deployment("      containers:\n      - name: app\n        image: app:9\n        resources:\n          limits:\n            cpu: 2\n            memory: 1Gi\n"),
			conflicts: []string{`r.yaml: Deployment.apps/web: spec.template.spec.containers[name=app].resources: upstream wins with {limits: {cpu: 2, memory: 1Gi}}; local was (deleted)`},
		},
		"only additions": {
			reason:   "what upstream adds to a field that local deleted is no reason to bring the rest back",
			base:     "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  labels:\n    x: y\ndata:\n  k: v\n",
			upstream: "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  labels:\n    x: y\n    z: new\ndata:\n  k: v\n",
			local:    "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  k: v2\n",
			want:     "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  labels:\n    z: new\ndata:\n  k: v2\n",
		},
	})
}

const kptfileHead = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: app\n"

// kpt: editing a function that upstream removed leaves "- {}" in mutators.
func TestDefectRemovedFunctionLeavesEmptyItem(t *testing.T) {
	kf := func(fns string) string { return "-- Kptfile --\n" + kptfileHead + "pipeline:\n  mutators:\n" + fns }
	runCases(t, map[string]mergeCase{
		"edited locally": {
			base:      kf("  - image: set-labels:v1\n    configMap:\n      a: b\n  - image: set-namespace:v1\n    configMap:\n      namespace: x\n"),
			upstream:  kf("  - image: set-labels:v1\n    configMap:\n      a: b\n"),
			local:     kf("  - image: set-labels:v1\n    configMap:\n      a: b\n  - image: set-namespace:v1\n    configMap:\n      namespace: mine\n"),
			want:      kf("  - image: set-labels:v1\n    configMap:\n      a: b\n"),
			conflicts: []string{`Kptfile: Kptfile.kpt.dev/app: pipeline.mutators[image=set-namespace]: upstream wins with (deleted); local was {image: 'set-namespace:v1', configMap: {namespace: mine}}`},
		},
	})
}

// kpt: containerPort 80 is there twice when upstream adds its protocol;
// service ports likewise.
func TestDefectPortsAreDoubledByProtocol(t *testing.T) {
	ports := func(p string) string {
		return deployment("      containers:\n      - name: a\n        ports:\n" + p)
	}
	service := func(p string) string {
		return "apiVersion: v1\nkind: Service\nmetadata:\n  name: s\nspec:\n  ports:\n" + p
	}
	runCases(t, map[string]mergeCase{
		"container, TCP": {
			base:     ports("        - containerPort: 80\n"),
			upstream: ports("        - containerPort: 80\n          protocol: TCP\n"),
			local:    ports("        - containerPort: 80\n          name: http\n"),
			want:     ports("        - containerPort: 80\n          name: http\n          protocol: TCP\n"),
		},
		"container, UDP": {
			base:     ports("        - containerPort: 80\n"),
			upstream: ports("        - containerPort: 80\n          protocol: UDP\n"),
			local:    ports("        - containerPort: 80\n          name: http\n"),
			want:     ports("        - containerPort: 80\n          name: http\n          protocol: UDP\n"),
		},
		"service": {
			base:     service("  - port: 80\n    targetPort: 8080\n"),
			upstream: service("  - port: 80\n    targetPort: 8080\n    protocol: TCP\n"),
			local:    service("  - port: 80\n    targetPort: web\n"),
			want:     service("  - port: 80\n    targetPort: web\n    protocol: TCP\n"),
		},
		"service, number changed": {
			reason:   "a named port keeps its identity",
			base:     service("  - name: http\n    port: 80\n    targetPort: 8080\n  - name: tls\n    port: 443\n"),
			upstream: service("  - name: http\n    port: 8000\n    targetPort: 8080\n  - name: tls\n    port: 443\n"),
			local:    service("  - name: http\n    port: 80\n    targetPort: web\n  - name: tls\n    port: 443\n"),
			want:     service("  - name: http\n    port: 8000\n    targetPort: web\n  - name: tls\n    port: 443\n"),
		},
		"added on both sides": {
			base:     service("  - port: 1\n"),
			upstream: service("  - port: 1\n  - port: 80\n    protocol: TCP\n"),
			local:    service("  - port: 1\n  - port: 80\n"),
			want:     service("  - port: 1\n  - port: 80\n    protocol: TCP\n"),
		},
	})
}

// kpt: a file moved locally loses the upstream's edits; a file moved upstream
// and edited locally doubles the resource.
func TestDefectMovedFiles(t *testing.T) {
	a, x := configMap("a", "k: 1", "l: 1"), "-- x.yaml --\n"+configMap("x", "k: 1")
	runCases(t, map[string]mergeCase{
		"moved locally, edited upstream": {
			base:     "-- a.yaml --\n" + a + x,
			upstream: "-- a.yaml --\n" + configMap("a", "k: 2", "l: 1") + x,
			local:    "-- dir/mine.yaml --\n" + configMap("a", "k: 1", "l: 1 # mine") + x,
			want:     "-- dir/mine.yaml --\n" + configMap("a", "k: 2", "l: 1 # mine") + x,
		},
		"moved upstream, edited locally": {
			base:     "-- a.yaml --\n" + a + x,
			upstream: "-- dir/theirs.yaml --\n" + configMap("a", "k: 2", "l: 1") + x,
			local:    "-- a.yaml --\n" + configMap("a", "k: 1", "l: mine") + x,
			want:     "-- dir/theirs.yaml --\n" + configMap("a", "k: 2", "l: mine") + x,
		},
		"moved upstream into a file that local edited": {
			base:     "-- a.yaml --\n" + a + x,
			upstream: x + "---\n" + configMap("a", "k: 2", "l: 1"),
			local:    "-- a.yaml --\n" + configMap("a", "k: 1", "l: mine # here") + "-- x.yaml --\n" + configMap("x", "k: 9"),
			want:     "-- x.yaml --\n" + configMap("x", "k: 9") + "---\n" + configMap("a", "k: 2", "l: mine # here"),
		},
		"moved on both sides": {
			base:      "-- a.yaml --\n" + a + x,
			upstream:  "-- theirs.yaml --\n" + configMap("a", "k: 2", "l: 1") + x,
			local:     "-- mine.yaml --\n" + a + x,
			want:      "-- mine.yaml --\n" + configMap("a", "k: 2", "l: 1") + x,
			conflicts: []string{"mine.yaml: ConfigMap/a: (file): local wins with mine.yaml; upstream was theirs.yaml"},
		},
		"moved upstream, deleted locally": {
			base:     "-- a.yaml --\n" + a + x,
			upstream: "-- theirs.yaml --\n" + a + x,
			local:    x,
			want:     x,
		},
		"split upstream": {
			base:     "-- a.yaml --\n" + a + "---\n" + configMap("b", "k: 1"),
			upstream: "-- a.yaml --\n" + a + "-- b.yaml --\n" + configMap("b", "k: 1"),
			local:    "-- a.yaml --\n" + a + "---\n" + configMap("b", "k: mine"),
			want:     "-- a.yaml --\n" + a + "-- b.yaml --\n" + configMap("b", "k: mine"),
		},
	})
}

// kpt: in lists of custom resources without a schema, local edits are lost
// without a word.
func TestDefectListsOfCustomResources(t *testing.T) {
	runCases(t, map[string]mergeCase{
		"by name": {
			base:     custom("  users:\n  - name: a\n    role: r\n  - name: b\n    role: r\n"),
			upstream: custom("  users:\n  - name: a\n    role: w\n  - name: b\n    role: r\n  - name: c\n    role: r\n"),
			local:    custom("  users:\n  - name: a\n    role: r\n  - name: b\n    role: admin\n  - name: mine\n    role: r\n"),
			want:     custom("  users:\n  - name: a\n    role: w\n  - name: b\n    role: admin\n  - name: mine\n    role: r\n  - name: c\n    role: r\n"),
		},
		"by place": {
			base:     custom("  steps:\n  - run: a\n    on: x\n  - run: b\n    on: x\n"),
			upstream: custom("  steps:\n  - run: a2\n    on: x\n  - run: b\n    on: x\n"),
			local:    custom("  steps:\n  - run: a\n    on: 'mine'\n  - run: b\n    on: x\n  - run: mine\n    on: x\n"),
			want:     custom("  steps:\n  - run: a2\n    on: 'mine'\n  - run: b\n    on: x\n  - run: mine\n    on: x\n"),
		},
		"in conflict": {
			reason:    "what cannot be kept is told",
			base:      custom("  steps:\n  - run: a\n"),
			upstream:  custom("  steps:\n  - run: theirs\n"),
			local:     custom("  steps:\n  - run: mine\n"),
			want:      custom("  steps:\n  - run: theirs\n"),
			conflicts: []string{`r.yaml: Thing.example.com/a: spec.steps[0]: upstream wins with [{run: theirs}]; local was [{run: mine}]`},
		},
	})
}

// kpt: an untouched "name: Y" becomes "name: "Y"".
func TestDefectUntouchedScalarsAreQuoted(t *testing.T) {
	runCases(t, map[string]mergeCase{
		"Y": {
			base:     configMap("Y", "no: yes", "k: v", "on: 0o7"),
			upstream: configMap("Y", "no: yes", "k: w", "on: 0o7"),
			local:    configMap("Y", "no: yes", "k: v", "on: 0o7", "mine: off"),
			want:     configMap("Y", "no: yes", "k: w", "on: 0o7", "mine: off"),
		},
	})
}

// kpt: a failed update leaves the Kptfile's ref changed.
func TestDefectFailedUpdateChangesKptfile(t *testing.T) {
	kf := "-- Kptfile --\n" + kptfileHead
	local := kf + "upstream:\n  git:\n    ref: v1\n-- r.yaml --\n" + configMap("a", "x: 1") + "---\n" + configMap("a", "x: 3")
	l := pkg(t, local)
	res, err := Packages(pkg(t, kf+"-- r.yaml --\n"+configMap("a", "x: 1")),
		pkg(t, kf+"info:\n  description: new\n-- r.yaml --\n"+configMap("a", "x: 2")), l, Options{})
	if res != nil || err == nil {
		t.Fatalf("got %v, %v, want an error alone", res, err)
	}
	if diff := cmp.Diff(local, textOf(t, l)); diff != "" {
		t.Errorf("a failed merge changed local:\n%s", diff)
	}
}

// kpt: upstream's change beats a local change to the same field without a
// word.
func TestDefectConflictsAreSilent(t *testing.T) {
	runCases(t, map[string]mergeCase{
		"each of them is told": {
			base:     deployment("      replicas: 1\n      paused: false\n      minReadySeconds: 1\n"),
			upstream: deployment("      replicas: 2\n      minReadySeconds: 1\n"),
			local:    deployment("      replicas: 3\n      paused: true\n      minReadySeconds: 1\n"),
			want:     deployment("      replicas: 2\n      minReadySeconds: 1\n"),
			conflicts: []string{
				`r.yaml: Deployment.apps/web: spec.template.spec.replicas: upstream wins with 2; local was 3`,
				`r.yaml: Deployment.apps/web: spec.template.spec.paused: upstream wins with (deleted); local was true`,
			},
		},
	})
}

// kpt: the cost grows with the square of the resources. Allocations tell it
// without a clock.
func TestDefectCostIsQuadratic(t *testing.T) {
	allocs := func(n int) float64 {
		b, u, l := synthetic(t, n, ""), synthetic(t, n, "u"), synthetic(t, n, "l")
		return testing.AllocsPerRun(1, func() {
			if _, err := Packages(b, u, l, Options{}); err != nil {
				t.Fatal(err)
			}
		})
	}
	small, large := allocs(50), allocs(400)
	if large > 10*small {
		t.Errorf("8 times the resources take %.1f times the allocations (%.0f, %.0f)", large/small, small, large)
	}
}

// synthetic is a package of n resources, a few to a file. With side "u" each
// has another image, with "l" another label.
func synthetic(t testing.TB, n int, side string) *krm.Package {
	t.Helper()
	var files []krm.File
	for i := 0; i < n; i += 4 {
		var b strings.Builder
		for j := i; j < min(i+4, n); j++ {
			image, label := "app:1", "base"
			switch side {
			case "u":
				image = "app:2"
			case "l":
				label = "mine"
			}
			fmt.Fprintf(&b, "---\napiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: app-%d # the name\n  labels:\n    side: %s\nspec:\n  replicas: 1\n  selector:\n    matchLabels:\n      app: a%d\n"+
				"  template:\n    metadata:\n      labels:\n        app: a%d\n    spec:\n      containers:\n      - name: app\n        image: %s\n        ports:\n        - containerPort: 80\n        env:\n"+
				"        - name: A\n          value: \"1\"\n        - name: B\n          value: \"2\"\n        resources:\n          limits:\n            cpu: 100m\n            memory: 64Mi\n", j, label, j, j, image)
		}
		files = append(files, krm.File{Path: fmt.Sprintf("dir-%d/f-%05d.yaml", i%7, i), Data: []byte(strings.TrimPrefix(b.String(), "---\n"))})
	}
	p, err := krm.Parse(files)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
