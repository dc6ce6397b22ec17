package review

import (
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/yamltree"
)

// sensitiveRules are what no class folds: each value of theirs is a class of its
// own, and stands at the head.
var sensitiveRules = []struct {
	why string
	is  func(c *cell, images func() map[string]bool) bool
}{
	{"deleted", func(c *cell, _ func() map[string]bool) bool {
		return c.Op == Remove && (c.whole || c.Resource == "")
	}},
	{"RBAC", ofGroup("rbac.authorization.k8s.io")},
	{"admission webhook", ofGroup("admissionregistration.k8s.io")},
	{"custom resource definition", ofKind(`^CustomResourceDefinition$`)},
	{"namespace", ofKind(`^Namespace$`)},
	{"network policy", ofKind(`NetworkPolicy$`)},
	{"privilege", ofField(`(^|\.)(privileged|allowPrivilegeEscalation|runAsUser|runAsNonRoot)$|(^|[.\]])(capabilities|hostPath)(\.|$)`,
		"privileged", "allowPrivilegeEscalation", "runAs", "capabilities", "hostPath")},
	{"host namespace", ofField(`(^|\.)host(Network|PID|IPC)$`, "host")},
	{"reference to a Secret", ofField(`(^|[.\]])(secretKeyRef|secretRef|secretName|secretNames|imagePullSecrets|secret)([.\[]|$)`, "ecret")},
	{"replicas 0", func(c *cell, _ func() map[string]bool) bool {
		return (leafName(c.Field) == "replicas" || leafName(c.Field) == "minReplicas") && c.after == "0"
	}},
	{"function image", func(c *cell, _ func() map[string]bool) bool {
		return c.id.Kind == "Kptfile" && strings.HasPrefix(c.Field, "pipeline.") && leafName(c.Field) == "image"
	}},
	{"image from elsewhere", func(c *cell, images func() map[string]bool) bool {
		return c.id.Kind != "Kptfile" && c.after != "" && imageField.MatchString(c.Field) && leafName(c.Field) != "newTag" && !images()[yamltree.Repository(c.after)]
	}},
	{"image without a version", func(c *cell, _ func() map[string]bool) bool {
		if c.id.Kind == "Kptfile" || c.after == "" || !imageField.MatchString(c.Field) || leafName(c.Field) == "newName" {
			return false
		}
		return strings.HasSuffix(c.after, ":latest") || c.after == "latest" && leafName(c.Field) == "newTag" ||
			yamltree.Repository(c.after) == c.after && leafName(c.Field) != "newTag"
	}},
	{"mode or link", func(c *cell, _ func() map[string]bool) bool { return c.Op == Mode }},
}

func ofGroup(group string) func(*cell, func() map[string]bool) bool {
	return func(c *cell, _ func() map[string]bool) bool { return c.id.Group == group }
}

func ofKind(kind string) func(*cell, func() map[string]bool) bool {
	re := regexp.MustCompile(kind)
	return func(c *cell, _ func() map[string]bool) bool { return re.MatchString(c.id.Kind) }
}

// ofField is a rule about fields that match; such a one has one of the words.
func ofField(field string, words ...string) func(*cell, func() map[string]bool) bool {
	re := regexp.MustCompile(field)
	return func(c *cell, _ func() map[string]bool) bool {
		has := func(word string) bool { return strings.Contains(c.Field, word) }
		return slices.ContainsFunc(words, has) && re.MatchString(c.Field)
	}
}

// sensitive says why a cell's value is never folded, "" where it may be. images are
// what the package ran before.
func sensitive(c *cell, images func() map[string]bool) string {
	for _, rule := range sensitiveRules {
		if rule.is(c, images) {
			return rule.why
		}
	}
	return ""
}

// itsOwn are fields that name the variant's own place, wherever they stand.
var itsOwn = regexp.MustCompile(`^metadata\.|(^|\.)namespace$`)

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

// imagesOf are the repositories of the images that a package runs, looked for once.
func imagesOf(p *krm.Package) func() map[string]bool {
	var found map[string]bool
	return func() map[string]bool {
		if found != nil || p == nil {
			return found
		}
		found = map[string]bool{}
		for _, r := range p.Resources() {
			if r.Kind() != "Kptfile" {
				images(r.Node().YNode(), found)
			}
		}
		return found
	}
}

func images(n *yaml.Node, found map[string]bool) {
	for k, v := range yamltree.Fields(n) {
		if yamltree.IsScalar(v) && imageField.MatchString(k.Value) {
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
