package yamltree

import (
	"strconv"
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

// ItemID is an item's value of its list's key: of an image what stays when its
// version changes.
func ItemID(n *yaml.Node, key string) string {
	if key == "image" {
		return Repository(Text(n, key))
	}
	return Text(n, key)
}

// Repository is an image without tag and digest.
func Repository(image string) string {
	image, _, _ = strings.Cut(image, "@")
	if i := strings.LastIndexByte(image, ':'); i > strings.LastIndexByte(image, '/') {
		return image[:i]
	}
	return image
}

func keyFits(key string, lists []*yaml.Node) bool {
	items := 0
	for _, l := range lists {
		seen := map[string]bool{}
		for _, n := range l.Content {
			id := ItemID(n, key)
			if id == "" || seen[id] {
				return false
			}
			seen[id] = true
			items++
		}
	}
	return items > 0
}

// Nearest follows a path of JoinField, with list elements as [0] or [name=web], and
// gives what stands there, nil for nothing, and the line of it or of the nearest
// parent that is there.
func Nearest(root *yaml.Node, field string) (at *yaml.Node, line int) {
	at = Deref(root)
	if at != nil {
		line = at.Line
	}
	for field != "" && at != nil {
		var step string
		if rest, ok := strings.CutPrefix(field, "["); ok {
			step, field, _ = strings.Cut(rest, "]")
		} else {
			end := strings.IndexAny(field, ".[")
			if end < 0 {
				end = len(field)
			}
			step, field = field[:end], field[end:]
		}
		field = strings.TrimPrefix(field, ".")
		if at, line = child(at, step, line); at != nil {
			at = Deref(at)
		}
	}
	return at, line
}

// child is one step down, with its line; nil and the line before where it is not
// there.
func child(n *yaml.Node, step string, line int) (*yaml.Node, int) {
	index, err := strconv.Atoi(step)
	switch n.Kind {
	case yaml.MappingNode:
		if i := Index(n, step); i >= 0 {
			return n.Content[i+1], n.Content[i].Line
		}
		if step == "0" {
			return n, n.Line // a single map that stands for a list
		}
	case yaml.SequenceNode:
		key, value, named := strings.Cut(step, "=")
		for i, e := range n.Content {
			if err == nil && i == index || named && Text(e, key) == value {
				return e, e.Line
			}
		}
	}
	return nil, line
}
