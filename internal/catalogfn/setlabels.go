package catalogfn

import (
	"context"
	"fmt"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/function"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/yamltree"
)

// SetLabels adds and updates labels: in metadata, in selectors and in the
// templates of what makes pods. Selectors of Jobs, PodDisruptionBudgets and
// NetworkPolicies, and of affinities, are updated only where they name the key
// already. Local configuration is left alone. Config: a ConfigMap whose data are
// the labels, or a SetLabels with `labels`.
func SetLabels(_ context.Context, c *function.Call) error {
	labels, ok := mapConfig(c, "labels", "SetLabels", "SetLabelConfig")
	if !ok {
		return nil
	}
	total := 0
	for _, r := range c.Resources() {
		if isLocal(r.Node().YNode()) {
			continue
		}
		total += edit(c, r, func(root *yaml.Node, write bool) int {
			s := labelSetter{labels: labels, keys: sortedKeys(labels), write: write}
			s.resource(r, root)
			return s.changed
		})
	}
	c.Results.Infof("set %d labels in total", total)
	return nil
}

// labelFields are where v0.1.5 of set-labels sets labels: kustomize's commonLabels.
var labelFields = buildLabelFields()

func buildLabelFields() []fieldSpec {
	const labels, selector, pods = "metadata/labels", "spec/selector/matchLabels", "spec/template/"
	fields := []fieldSpec{
		{Path: labels, Create: true},
		{Path: "spec/selector", Create: true, Version: "v1", Kind: "Service"},
		{Path: "spec/selector", Create: true, Version: "v1", Kind: "ReplicationController"},
		{Path: pods + labels, Create: true, Version: "v1", Kind: "ReplicationController"},
		{Path: selector, Create: true, Kind: "Deployment"},
		{Path: pods + labels, Create: true, Kind: "Deployment"},
		{Path: selector, Create: true, Kind: "ReplicaSet"},
		{Path: pods + labels, Create: true, Kind: "ReplicaSet"},
		{Path: selector, Create: true, Kind: "DaemonSet"},
		{Path: pods + labels, Create: true, Kind: "DaemonSet"},
		{Path: selector, Create: true, Group: "apps", Kind: "StatefulSet"},
		{Path: pods + labels, Create: true, Group: "apps", Kind: "StatefulSet"},
		{Path: "spec/volumeClaimTemplates[]/" + labels, Create: true, Group: "apps", Kind: "StatefulSet"},
		{Path: selector, Group: "batch", Kind: "Job"},
		{Path: pods + labels, Create: true, Group: "batch", Kind: "Job"},
		{Path: "spec/jobTemplate/" + selector, Group: "batch", Kind: "CronJob"},
		{Path: "spec/jobTemplate/" + labels, Create: true, Group: "batch", Kind: "CronJob"},
		{Path: "spec/jobTemplate/" + pods + labels, Create: true, Group: "batch", Kind: "CronJob"},
		{Path: selector, Group: "policy", Kind: "PodDisruptionBudget"},
		{Path: "spec/podSelector/matchLabels", Group: "networking.k8s.io", Kind: "NetworkPolicy"},
		{Path: "spec/ingress/from/podSelector/matchLabels", Group: "networking.k8s.io", Kind: "NetworkPolicy"},
		{Path: "spec/egress/to/podSelector/matchLabels", Group: "networking.k8s.io", Kind: "NetworkPolicy"},
	}
	for _, kind := range []string{"Deployment", "StatefulSet"} {
		for _, path := range []string{
			"topologySpreadConstraints/labelSelector/matchLabels",
			"affinity/podAffinity/preferredDuringSchedulingIgnoredDuringExecution/podAffinityTerm/labelSelector/matchLabels",
			"affinity/podAffinity/requiredDuringSchedulingIgnoredDuringExecution/labelSelector/matchLabels",
			"affinity/podAntiAffinity/preferredDuringSchedulingIgnoredDuringExecution/podAffinityTerm/labelSelector/matchLabels",
			"affinity/podAntiAffinity/requiredDuringSchedulingIgnoredDuringExecution/labelSelector/matchLabels",
		} {
			fields = append(fields, fieldSpec{Path: pods + "spec/" + path, Group: "apps", Kind: kind})
		}
	}
	return fields
}

// setLabelFields is v0.1.5: it sets labels in each of the fields of every resource, local
// configuration and the Kptfile included, and adds keys to selectors that exist. Config:
// as SetLabels, and a SetLabels with `additionalLabelFields`.
func setLabelFields(_ context.Context, c *function.Call) error {
	values, ok := mapConfig(c, "labels", "SetLabels", "SetLabelConfig")
	if !ok {
		return nil
	}
	fields, ok := extraFields(c, "additionalLabelFields")
	if !ok || !distinct(c, "metadata.name") {
		return nil
	}
	fields = append(fields, labelFields...)
	total, keys := 0, sortedKeys(values)
	for _, r := range c.Resources() {
		total += edit(c, r, func(root *yaml.Node, write bool) int { return setEntries(r, root, fields, keys, values, write) })
	}
	c.Results.Infof("set %d labels in total", total)
	return nil
}

// mapConfig reads a ConfigMap's data, or a field of the function's own kind.
func mapConfig(c *function.Call, field string, kinds ...string) (map[string]string, bool) {
	cfg := config(c)
	var values map[string]string
	switch {
	case isConfigMap(cfg):
		values, field = stringMap(cfg, "data"), "data"
	case isConfigKind(cfg, kinds...):
		values = stringMap(cfg, field)
	default:
		wrongConfig(c, cfg, "a v1 ConfigMap", fmt.Sprintf("a %s %s", configAPIVersion, kinds[0]))
		return nil, false
	}
	if len(values) == 0 {
		c.Results.Errorf("functionConfig: %s is empty; give at least one entry", field)
		return nil, false
	}
	return values, true
}

type labelSetter struct {
	labels  map[string]string
	keys    []string
	write   bool
	changed int
}

// at sets the labels in the mapping below parent; create makes it, and keys
// that it lacks.
func (s *labelSetter) at(parent *yaml.Node, create bool, keys ...string) {
	if parent = yamltree.Deref(parent); parent == nil || parent.Kind != yaml.MappingNode {
		return
	}
	m := yamltree.Path(parent, keys...)
	for _, k := range s.keys {
		old := yamltree.Path(m, k)
		if old == nil && !create || old != nil && old.Value == s.labels[k] && old.ShortTag() == yaml.NodeTagString {
			continue
		}
		if m != nil && m.Kind != yaml.MappingNode && m.ShortTag() != yaml.NodeTagNull {
			return
		}
		s.changed++
		if s.write {
			if m = ensureMap(parent, keys...); m == nil {
				return
			}
			putText(m, k, s.labels[k])
		}
	}
}

func (s *labelSetter) meta(n *yaml.Node) { s.at(n, true, "metadata", "labels") }

func (s *labelSetter) resource(r *krm.Resource, root *yaml.Node) {
	s.meta(root)
	g := gvkOf(r)
	spec := yamltree.Path(root, "spec")
	s.selectors(g, root)
	if spec == nil {
		return
	}
	if makesPods(g) {
		s.pod(yamltree.Path(spec, "template"))
	}
	switch {
	case g.is("batch", "CronJob"):
		s.job(yamltree.Path(spec, "jobTemplate"))
	case g.is("apps", "StatefulSet"):
		for _, volume := range yamltree.Items(spec, "volumeClaimTemplates") {
			s.meta(yamltree.Deref(volume))
			s.at(volume, false, "spec", "selector", "matchLabels")
		}
	case g.is("networking.k8s.io", "NetworkPolicy"):
		s.networkPolicy(spec)
	}
}

func makesPods(g gvk) bool {
	switch g.kind {
	case "Deployment", "ReplicaSet", "DaemonSet":
		return true
	}
	return g.is(coreGroup, "ReplicationController") || g.is("apps", "StatefulSet") || g.is("batch", "Job")
}

func (s *labelSetter) selectors(g gvk, root *yaml.Node) {
	switch {
	case g.is(coreGroup, "Service"), g.is(coreGroup, "ReplicationController"):
		s.at(root, true, "spec", "selector")
	case g.is("", "Deployment"), g.is("", "ReplicaSet"), g.is("", "DaemonSet"), g.is("apps", "StatefulSet"):
		s.at(root, true, "spec", "selector", "matchLabels")
	case g.is("batch", "Job"), g.is("policy", "PodDisruptionBudget"):
		s.at(root, false, "spec", "selector", "matchLabels")
	case g.is("networking.k8s.io", "NetworkPolicy"):
		s.at(root, false, "spec", "podSelector", "matchLabels")
	}
}

func (s *labelSetter) job(job *yaml.Node) {
	if job == nil {
		return
	}
	s.meta(job)
	s.at(job, false, "spec", "selector", "matchLabels")
	s.pod(yamltree.Path(job, "spec", "template"))
}

func (s *labelSetter) pod(pod *yaml.Node) {
	if pod == nil {
		return
	}
	s.meta(pod)
	spec := yamltree.Path(pod, "spec")
	for _, e := range yamltree.Items(spec, "topologySpreadConstraints") {
		s.at(e, false, "labelSelector", "matchLabels")
	}
	for _, kind := range []string{"podAffinity", "podAntiAffinity"} {
		terms := yamltree.Path(spec, "affinity", kind)
		for _, e := range yamltree.Items(terms, "preferredDuringSchedulingIgnoredDuringExecution") {
			s.at(yamltree.Path(e, "podAffinityTerm"), false, "labelSelector", "matchLabels")
		}
		for _, e := range yamltree.Items(terms, "requiredDuringSchedulingIgnoredDuringExecution") {
			s.at(e, false, "labelSelector", "matchLabels")
		}
	}
}

func (s *labelSetter) networkPolicy(spec *yaml.Node) {
	for _, dir := range [][2]string{{"ingress", "from"}, {"egress", "to"}} {
		for _, rule := range yamltree.Items(spec, dir[0]) {
			for _, peer := range yamltree.Items(rule, dir[1]) {
				s.at(peer, false, "podSelector", "matchLabels")
			}
		}
	}
}
