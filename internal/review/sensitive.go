package review

import (
	"strings"
	"sync"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/lazyregexp"
	"github.com/variform/variform/internal/yamltree"
)

// sensitiveRules are what no class folds: each value of theirs is a class of its
// own, and stands at the head.
var sensitiveRules = []struct {
	why string
	is  func(c *judged) bool
}{
	{"deleted", func(c *judged) bool { return c.Op == Remove && (c.whole || c.Resource == "") }},
	{"RBAC", func(c *judged) bool { return c.id.Group == "rbac.authorization.k8s.io" }},
	{"admission webhook", func(c *judged) bool { return c.id.Group == "admissionregistration.k8s.io" }},
	{"custom resource definition", func(c *judged) bool { return c.id.Kind == "CustomResourceDefinition" }},
	{"namespace", func(c *judged) bool { return c.id.Kind == "Namespace" }},
	{"network policy", func(c *judged) bool { return strings.HasSuffix(c.id.Kind, "NetworkPolicy") }},
	{"privilege", func(c *judged) bool { return c.field.privilege }},
	{"host namespace", func(c *judged) bool { return c.field.host }},
	{"reference to a Secret", func(c *judged) bool { return c.field.secret }},
	{"replicas 0", func(c *judged) bool {
		return (leafName(c.Field) == "replicas" || leafName(c.Field) == "minReplicas") && c.after == "0"
	}},
	{"function image", func(c *judged) bool {
		return c.id.Kind == "Kptfile" && strings.HasPrefix(c.Field, "pipeline.") && leafName(c.Field) == "image"
	}},
	{"image from elsewhere", func(c *judged) bool {
		return c.id.Kind != "Kptfile" && c.after != "" && c.field.image && leafName(c.Field) != "newTag" && !c.images()[yamltree.Repository(c.after)]
	}},
	{"image without a version", func(c *judged) bool {
		if c.id.Kind == "Kptfile" || c.after == "" || !c.field.image || leafName(c.Field) == "newName" {
			return false
		}
		return strings.HasSuffix(c.after, ":latest") || c.after == "latest" && leafName(c.Field) == "newTag" ||
			yamltree.Repository(c.after) == c.after && leafName(c.Field) != "newTag"
	}},
	{"mode or link", func(c *judged) bool { return c.Op == Mode }},
}

// judged is a cell with what rules go by.
type judged struct {
	*cell
	field  fieldFacts
	images func() map[string]bool // that the package ran before
}

// sensitive says why a cell's value is never folded, "" where it may be. images are
// what the package ran before.
func sensitive(c *cell, images func() map[string]bool) string {
	j := judged{c, fields.of(c.Field), images}
	for _, rule := range sensitiveRules {
		if rule.is(&j) {
			return rule.why
		}
	}
	return ""
}

// fieldFacts are what a field is about, whatever stands there.
type fieldFacts struct{ privilege, host, secret, image bool }

var (
	privilegeField = lazyregexp.New(`(^|\.)(privileged|allowPrivilegeEscalation|runAsUser|runAsNonRoot)$|(^|[.\]])(capabilities|hostPath)(\.|$)`)
	hostNamespace  = lazyregexp.New(`(^|\.)host(Network|PID|IPC)$`)
	secretField    = lazyregexp.New(`(^|[.\]])(secretKeyRef|secretRef|secretName|secretNames|imagePullSecrets|secret)([.\[]|$)`)
)

// knownFields remember what patterns say of fields, for all variants of a fleet have the
// same few. The zero value is ready; it is safe for concurrent use.
type knownFields struct {
	mu    sync.RWMutex
	facts map[string]fieldFacts
}

var fields knownFields

// maxFields bounds what is remembered: keys of maps are names of fields, too.
const maxFields = 10_000

func (k *knownFields) of(field string) fieldFacts {
	k.mu.RLock()
	f, ok := k.facts[field]
	k.mu.RUnlock()
	if ok {
		return f
	}
	f = fieldFacts{privilegeField.MatchString(field), hostNamespace.MatchString(field), secretField.MatchString(field), imageField.MatchString(field)}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.facts == nil || len(k.facts) >= maxFields {
		k.facts = map[string]fieldFacts{}
	}
	k.facts[field] = f
	return f
}

// itsOwn are fields that name the variant's own place, wherever they stand.
var itsOwn = lazyregexp.New(`^metadata\.|(^|\.)namespace$`)

// exactly is what a sensitive cell is told apart by: own names are no excuse but
// where they name its place.
func (c *cell) exactly() string {
	switch {
	case c.secret, c.before+c.after == "":
		return c.digest
	case c.after != "" && itsOwn.MatchString(c.Field):
		return c.masked
	}
	return c.after
}

// leafName is the last part of a field's path.
func leafName(field string) string {
	if i := strings.LastIndexByte(field, '.'); i >= 0 {
		return field[i+1:]
	}
	return field
}

// imagesKey names what imagesOf keeps of a tree.
// imagesOf are the repositories of the images that a package runs, looked for once.
func imagesOf(p *krm.Package) func() map[string]bool {
	var found map[string]bool
	return func() map[string]bool {
		if found != nil || p == nil {
			return found
		}
		found = map[string]bool{}
		for _, r := range p.Resources() {
			if r.Kind() == "Kptfile" {
				continue
			}
			images(r.Node().YNode(), found)
		}
		return found
	}
}

func images(n *yaml.Node, found map[string]bool) {
	for k, v := range yamltree.Fields(n) {
		if yamltree.IsScalar(v) && fields.of(k.Value).image {
			found[yamltree.Repository(yamltree.Deref(v).Value)] = true
			continue
		}
		if v.Kind != yaml.AliasNode { // it is walked where it stands
			images(v, found)
		}
	}
	for _, item := range yamltree.Items(n) {
		if item.Kind != yaml.AliasNode {
			images(item, found)
		}
	}
}
