package catalogfn

import (
	"context"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/function"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/lazyregexp"
	"github.com/variform/variform/internal/yamltree"
)

const (
	projectIDKey        = "project-id"
	projectIDAnnotation = "cnrm.cloud.google.com/project-id"
)

// connectorAPIVersion matches resources of Config Connector; the group of its own is core.
var connectorAPIVersion = lazyregexp.New(`^(\w+)\.cnrm\.cloud\.google\.com/\w+$`)

// SetProjectID sets the setter project-id where it is not set: in the configuration of the
// first apply-setters of each Kptfile, which gets that function where it has none. It
// annotates resources of Config Connector that have no project. Config: a ConfigMap with
// `project-id`.
func SetProjectID(_ context.Context, c *function.Call) error {
	id := stringMap(config(c), "data")[projectIDKey]
	if id == "" {
		c.Results.Errorf("functionConfig: data.%s is empty; give the project", projectIDKey)
		return nil
	}
	kptfiles := 0
	for _, r := range c.Resources() {
		c.Spend(0)
		if r.Kind() == "Kptfile" {
			kptfiles++
			setProjectSetter(c, r, id)
		}
	}
	if kptfiles == 0 {
		c.Results.Errorf("there is no Kptfile among the resources; select it too")
	}
	if c.Results.ExitCode() != 0 {
		return nil
	}
	for _, r := range c.Resources() {
		if m := connectorAPIVersion.FindStringSubmatch(r.APIVersion()); m == nil || m[1] == "core" {
			continue
		}
		edit(c, r, func(root *yaml.Node, write bool) int {
			return putMissing(root, write, id, func(string) bool { return false }, "metadata", "annotations", projectIDAnnotation)
		})
	}
	return nil
}

// setProjectSetter sets the setter of one Kptfile.
func setProjectSetter(c *function.Call, kptfile *krm.Resource, id string) {
	empty := func(old string) bool { return old == "" }
	at := -1
	mutators := yamltree.Items(kptfile.Node().YNode(), "pipeline", "mutators")
	for i, e := range mutators {
		if strings.Contains(yamltree.Text(e, "image"), "apply-setters") {
			at = i
			break
		}
	}
	if at < 0 {
		edit(c, kptfile, func(root *yaml.Node, write bool) int {
			if write {
				addSetters(root, id)
			}
			return 1
		})
		return
	}
	if given := yamltree.Path(yamltree.Deref(mutators[at]), "configMap"); given != nil && given.Kind == yaml.MappingNode {
		edit(c, kptfile, func(root *yaml.Node, write bool) int {
			return putMissing(yamltree.Deref(yamltree.Items(root, "pipeline", "mutators")[at]), write, id, empty, "configMap", projectIDKey)
		})
		return
	}
	file := yamltree.Text(mutators[at], "configPath")
	if file == "" {
		say(c, kptfile, "error", "pipeline.mutators", "apply-setters has neither configMap nor configPath; give it one")
		return
	}
	for _, r := range c.Resources() {
		if r.Path() == file { // also for the Kptfile of a subpackage: the path is the package's
			edit(c, r, func(root *yaml.Node, write bool) int { return putMissing(root, write, id, empty, "data", projectIDKey) })
			return
		}
	}
	say(c, kptfile, "error", "pipeline.mutators", "there is no file "+file+", which apply-setters has as its configPath; add it, or select it too")
}

// putMissing sets the text at keys where there is none, or one that replace takes, and
// returns how many it set.
func putMissing(root *yaml.Node, write bool, value string, replace func(old string) bool, keys ...string) int {
	last := len(keys) - 1
	if old := yamltree.Path(root, keys...); old != nil && !replace(old.Value) {
		return 0
	}
	if write {
		if m := ensureMap(root, keys[:last]...); m != nil {
			putText(m, keys[last], value)
		}
	}
	return 1
}

// addSetters appends apply-setters to the pipeline's mutators.
func addSetters(root *yaml.Node, id string) {
	pipeline := ensureMap(root, "pipeline")
	if pipeline == nil {
		return
	}
	list := yamltree.Path(pipeline, "mutators")
	if list == nil || list.Kind != yaml.SequenceNode {
		list = yamltree.Seq()
		yamltree.Set(pipeline, nil, "mutators", list)
	}
	setters := &yaml.Node{Kind: yaml.MappingNode, Tag: yaml.NodeTagMap}
	putText(setters, "image", "gcr.io/kpt-fn/apply-setters:v0.2")
	if m := ensureMap(setters, "configMap"); m != nil {
		putText(m, projectIDKey, id)
	}
	list.Content = append(list.Content, setters)
}
