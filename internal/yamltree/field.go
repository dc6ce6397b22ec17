package yamltree

import (
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// JoinField is the path of a mapping's field for people and for what is compared:
// spec.replicas, metadata.annotations[example.com/team].
func JoinField(field, key string) string {
	if strings.ContainsAny(key, "./ ") {
		return field + "[" + key + "]"
	}
	if field == "" {
		return key
	}
	return field + "." + key
}

// ListKey finds a key by which the mappings of lists are told apart, "" for none:
// spec.containers[name=web] stays the same wherever it stands.
func ListKey(lists ...*yaml.Node) string {
	for _, key := range []string{"name", "type", "conditionType", "image", "key", "mountPath", "containerPort", "port", "ip"} {
		if keyFits(key, lists) {
			return key
		}
	}
	return ""
}

func keyFits(key string, lists []*yaml.Node) bool {
	items := 0
	for _, l := range lists {
		seen := map[string]bool{}
		for _, n := range l.Content {
			id := Text(n, key)
			if id == "" || seen[id] {
				return false
			}
			seen[id] = true
			items++
		}
	}
	return items > 0
}
