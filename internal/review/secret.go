package review

import (
	"fmt"
	"slices"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/count"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/yamltree"
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
		hasSecret = hasSecret || r.ID().IsSecret()
	}
	if !hasSecret {
		return p
	}
	known := map[resourceKey]map[string]string{}
	if other != nil {
		for _, r := range other.Resources() {
			if r.ID().IsSecret() {
				known[keyOf(r)] = secretValues(r.Node())
			}
		}
	}
	out := p.Clone()
	for _, r := range out.Resources() {
		if r.ID().IsSecret() {
			old, ok := known[keyOf(r)]
			redactValues(r.Edit(), old, ok)
		}
	}
	return out
}

var secretFields = []string{"data", "stringData"}

func secretValues(n *yaml.RNode) map[string]string {
	out := map[string]string{}
	eachSecretValue(n, func(field string, v *yaml.Node) { out[field] = valueText(v) })
	return out
}

func redactValues(n *yaml.RNode, old map[string]string, known bool) {
	eachSecretValue(n, func(field string, v *yaml.Node) {
		text := redacted
		if was, ok := old[field]; known && (!ok || was != valueText(v)) {
			text = redactedChanged
		}
		*v = yaml.Node{Kind: yaml.ScalarNode, Tag: yaml.NodeTagString, Value: text, LineComment: v.LineComment, HeadComment: v.HeadComment}
	})
}

// eachSecretValue visits all that a Secret holds, also where it is no Secret that
// a cluster would take: a field twice, a map or a merge key for a value.
func eachSecretValue(n *yaml.RNode, visit func(field string, v *yaml.Node)) {
	for name, m := range yamltree.Fields(n.YNode()) {
		if !slices.Contains(secretFields, name.Value) {
			continue
		}
		for k, v := range yamltree.Fields(m) {
			if v = yamltree.Deref(v); v != nil {
				visit(name.Value+"."+k.Value, v)
			}
		}
	}
}

// PlainSecrets says of each Secret with values in plain text where it is, in order
// of files. What SOPS encrypted is none, nor a value that is empty.
func PlainSecrets(p *krm.Package) []string {
	var out []string
	for _, r := range p.Resources() {
		if !r.ID().IsSecret() || r.Encrypted() {
			continue
		}
		n := 0
		eachSecretValue(r.Node(), func(_ string, v *yaml.Node) {
			if v.Value != "" || len(v.Content) > 0 {
				n++
			}
		})
		if n > 0 {
			out = append(out, fmt.Sprintf("%s: Secret %s holds %s in plain text: who reads the repository reads them; encrypt the file with SOPS, or let the cluster fetch them from a secret store",
				r.Path(), r.Name(), count.Of(n, "value")))
		}
	}
	return out
}
