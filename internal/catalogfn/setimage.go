package catalogfn

import (
	"context"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/function"
	"github.com/variform/variform/internal/krm"
)

// podImageFields are where images stand in the kinds that SetImage knows.
var podImageFields = []fieldSpec{
	{Kind: "Pod", Path: "spec/initContainers/image"},
	{Kind: "Pod", Path: "spec/containers/image"},
	{Kind: "Deployment", Path: "spec/template/spec/initContainers/image"},
	{Kind: "Deployment", Path: "spec/template/spec/containers/image"},
	{Kind: "StatefulSet", Path: "spec/template/spec/initContainers/image"},
	{Kind: "StatefulSet", Path: "spec/template/spec/containers/image"},
	{Kind: "ReplicaSet", Path: "spec/template/spec/initContainers/image"},
	{Kind: "ReplicaSet", Path: "spec/template/spec/containers/image"},
	{Kind: "DaemonSet", Path: "spec/template/spec/initContainers/image"},
	{Kind: "DaemonSet", Path: "spec/template/spec/containers/image"},
	{Kind: "PodTemplate", Path: "template/spec/initContainers/image"},
	{Kind: "PodTemplate", Path: "template/spec/containers/image"},
}

// SetImage changes the images of one name: newName, newTag or digest, of the
// containers of pods and of what makes pods, and of `additionalImageFields`.
// Config: a ConfigMap, or a SetImage with `image`.
func SetImage(_ context.Context, c *function.Call) error {
	s, ok := newImageSetter(c)
	if !ok {
		return nil
	}
	extra, ok := extraFields(c, "additionalImageFields")
	if !ok {
		return nil
	}
	total := 0
	for _, r := range c.Resources() {
		total += edit(c, r, func(root *yaml.Node, write bool) int { return s.resource(r, root, extra, write) })
	}
	c.Results.Infof("summary: updated a total of %d image(s)", total)
	return nil
}

type imageSetter struct {
	name, newName, newTag, digest string
	pattern                       *pattern
}

func newImageSetter(c *function.Call) (*imageSetter, bool) {
	cfg := config(c)
	var m map[string]string
	switch {
	case isConfigMap(cfg):
		m = stringMap(cfg, "data")
	case isConfigKind(cfg, "SetImage"):
		m = stringMap(cfg, "image")
	default:
		wrongConfig(c, cfg, "a v1 ConfigMap", "a "+configAPIVersion+" SetImage")
		return nil, false
	}
	for _, k := range sortedKeys(m) {
		switch k {
		case "name", "newName", "newTag", "digest":
		default:
			c.Results.Errorf("functionConfig: %q is no field of an image; there are name, newName, newTag and digest", k)
		}
	}
	s := &imageSetter{name: m["name"], newName: m["newName"], newTag: m["newTag"], digest: m["digest"]}
	if s.name == "" {
		c.Results.Errorf("functionConfig: name is missing; give the image's name without a tag")
	}
	if s.newName == "" && s.newTag == "" && s.digest == "" {
		c.Results.Errorf("functionConfig: nothing to set; give one of newName, newTag and digest")
	}
	re, err := compile(c, "^(?:"+s.name+`)(:[a-zA-Z0-9_.{}-]*)?(@sha256:[a-zA-Z0-9_.{}-]*)?$`)
	if err != nil {
		c.Results.Errorf("functionConfig: name %q: %v", s.name, err)
	}
	s.pattern = re
	return s, c.Results.ExitCode() == 0
}

func (s *imageSetter) resource(r *krm.Resource, root *yaml.Node, extra []fieldSpec, write bool) int {
	n := 0
	set := func(v *yaml.Node) {
		if v == nil || v.Kind != yaml.ScalarNode {
			return
		}
		next, ok := s.image(v.Value)
		if !ok || next == v.Value {
			return
		}
		n++
		if write {
			setText(v, next)
		}
	}
	for _, f := range podImageFields {
		if f.applies(r) {
			f.visit(root, write, set)
		}
	}
	for _, f := range extra {
		if f.applies(r) && r.Kind() != "CustomResourceDefinition" {
			f.Create = false
			f.visit(root, write, set)
		}
	}
	return n
}

// image is what an image becomes; false where it has another name.
func (s *imageSetter) image(old string) (string, bool) {
	if !s.pattern.matches(old) {
		return "", false
	}
	name, suffix := splitImage(old)
	if s.newName != "" {
		name = s.newName
	}
	switch {
	case s.digest != "":
		suffix = "@" + s.digest
	case s.newTag != "":
		suffix = ":" + s.newTag
	}
	s.pattern.c.Spend(len(name) + len(suffix))
	return name + suffix, true
}

// splitImage splits an image into its name and what follows: tag, digest, both.
func splitImage(image string) (name, suffix string) {
	from := strings.Index(image, "/") + 1
	if i := strings.IndexAny(image[from:], ":@"); i >= 0 {
		return image[:from+i], image[from+i:]
	}
	return image, ""
}
