package wiring_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/internal/mutate"
	"github.com/variform/variform/internal/wiring"
)

const gated = `apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: web # mine
info:
  readinessGates:
  - conditionType: config.injection.ConfigMap.site
  - conditionType: config.wiring.old
  - conditionType: later # not ours
pipeline: {}
status:
  conditions:
  - type: config.injection.ConfigMap.site
    status: "True"
    message: injected
    reason: ConfigInjected
  - type: config.wiring.old
    status: "False"
    reason: ValueWaits
`

const gatedAfter = `apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: web # mine
info:
  readinessGates:
  - conditionType: config.injection.ConfigMap.site
  - conditionType: config.wiring.host
  - conditionType: config.wiring.port
  - conditionType: later # not ours
pipeline: {}
status:
  conditions:
  - type: config.injection.ConfigMap.site
    status: "True"
    message: injected
    reason: ConfigInjected
  - type: config.wiring.host
    status: "False"
    message: waits for ConfigMap default/db-runtime
    reason: ValueWaits
  - type: config.wiring.port
    status: "True"
    reason: Given
`

func TestSetGates(t *testing.T) {
	gates := []wiring.Gate{
		{Name: "port", Met: true, Reason: "Given"},
		{Name: "host", Message: "waits for ConfigMap default/db-runtime"},
	}
	for name, c := range map[string]struct {
		before string
		gates  []wiring.Gate
		want   string
	}{
		"among others": {gated, gates, gatedAfter},
		"again":        {gatedAfter, gates, gatedAfter},
		"nothing":      {kptfile, nil, kptfile},
		"first": {kptfile, gates[:1], kptfile + "info:\n  readinessGates:\n  - conditionType: config.wiring.port\n" +
			"status:\n  conditions:\n  - type: config.wiring.port\n    status: \"True\"\n    reason: Given\n"},
		"met": {
			kptfile + "info:\n  readinessGates:\n  - conditionType: config.wiring.a\nstatus:\n  conditions:\n  - type: config.wiring.a\n    status: \"False\"\n    message: waits # long\n    reason: ValueWaits\n",
			[]wiring.Gate{{Name: "a", Met: true}},
			kptfile + "info:\n  readinessGates:\n  - conditionType: config.wiring.a\nstatus:\n  conditions:\n  - type: config.wiring.a\n    status: \"True\"\n    reason: ValueWired\n",
		},
		"gone": {
			kptfile + "info:\n  readinessGates:\n  - conditionType: config.wiring.a\nstatus:\n  conditions:\n  - type: config.wiring.a\n    status: \"False\"\n    reason: ValueWaits\n",
			nil, kptfile,
		},
		"of a person": {
			kptfile + "info:\n  description: d\n  readinessGates: []\nstatus:\n  conditions: []\n", nil,
			kptfile + "info:\n  description: d\n  readinessGates: []\nstatus:\n  conditions: []\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := pkg(t, map[string]string{"Kptfile": c.before})
			for range 2 {
				if err := wiring.SetGates(p, c.gates); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(c.want, texts(t, p)["Kptfile"]); diff != "" {
					t.Fatal(diff)
				}
			}
			k, err := mutate.Read(p, "")
			if err != nil {
				t.Fatal(err)
			}
			unmet := map[string]bool{}
			for _, u := range mutate.Unmet(k) {
				unmet[u.Type] = true
			}
			for _, g := range c.gates {
				if unmet[wiring.ConditionPrefix+g.Name] == g.Met {
					t.Errorf("gate %s: unmet %t", g.Name, !g.Met)
				}
			}
		})
	}
}

func TestSetGatesErrors(t *testing.T) {
	one := []wiring.Gate{{Name: "a"}}
	for name, c := range map[string]struct {
		files map[string]string
		gates []wiring.Gate
		want  string
	}{
		"no Kptfile": {map[string]string{"x.yaml": "a: b\n"}, one, "no usable Kptfile"},
		"twice":      {map[string]string{"Kptfile": kptfile}, []wiring.Gate{{Name: "a"}, {Name: "a"}, {}}, "gate a is there twice\ngate 2 has no name"},
		"shapes":     {map[string]string{"Kptfile": kptfile + "info: x\nstatus: {conditions: {}}\n"}, one, "info must be a map\nstatus.conditions must be a list"},
	} {
		t.Run(name, func(t *testing.T) {
			p := pkg(t, c.files)
			err := wiring.SetGates(p, c.gates)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v", err)
			}
			if diff := cmp.Diff(c.files, texts(t, p)); diff != "" {
				t.Error(diff)
			}
			if name == "no Kptfile" && !errors.Is(err, mutate.ErrNoKptfile) {
				t.Error(err)
			}
		})
	}
}
