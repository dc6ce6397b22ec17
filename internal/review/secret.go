package review

import (
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/krm"
)

// Placeholders that stand for a Secret's values in a diff.
const (
	redacted        = "<redacted>"
	redactedChanged = "<redacted, changed>"
)

// redact returns the package with the values of its Secrets replaced. A value
// that differs from the one in other says so, so that a diff shows that, and
// not what, it became. A package without Secrets is returned as it is.
func redact(p, other *krm.Package) *krm.Package {
	if p == nil {
		return nil
	}
	hasSecret := false
	for _, r := range p.Resources() {
		hasSecret = hasSecret || isSecret(r)
	}
	if !hasSecret {
		return p
	}
	known := map[resourceKey]map[string]string{}
	if other != nil {
		for _, r := range other.Resources() {
			if isSecret(r) {
				known[keyOf(r)] = secretValues(r.Node())
			}
		}
	}
	out := p.Clone()
	for _, r := range out.Resources() {
		if isSecret(r) {
			old, ok := known[keyOf(r)]
			redactValues(r.Edit(), old, ok)
		}
	}
	return out
}

func isSecret(r *krm.Resource) bool { return r.Kind() == "Secret" && r.Group() == "" }

var secretFields = []string{"data", "stringData"}

func secretValues(n *yaml.RNode) map[string]string {
	out := map[string]string{}
	eachSecretValue(n, func(field string, v *yaml.Node) { out[field] = v.Value })
	return out
}

func redactValues(n *yaml.RNode, old map[string]string, known bool) {
	eachSecretValue(n, func(field string, v *yaml.Node) {
		text := redacted
		if was, ok := old[field]; known && (!ok || was != v.Value) {
			text = redactedChanged
		}
		*v = yaml.Node{Kind: yaml.ScalarNode, Tag: yaml.NodeTagString, Value: text, LineComment: v.LineComment, HeadComment: v.HeadComment}
	})
}

func eachSecretValue(n *yaml.RNode, visit func(field string, v *yaml.Node)) {
	root := resolve(n.YNode())
	if root == nil || root.Kind != yaml.MappingNode {
		return
	}
	for _, name := range secretFields {
		m := resolve(entries(root)[name])
		if m == nil || m.Kind != yaml.MappingNode {
			continue
		}
		for i := 0; i+1 < len(m.Content); i += 2 {
			if v := resolve(m.Content[i+1]); v != nil && v.Kind == yaml.ScalarNode {
				visit(name+"."+m.Content[i].Value, v)
			}
		}
	}
}
