package mutate

import (
	"slices"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/yamltree"
)

// decodePlain decodes a Kptfile as the YAML library does, in a tenth of the time, where it
// has nothing but the fields that nearly all have, and strings in them: a fleet's Kptfiles
// are read in every run. It reports false where there is more to it.
func decodePlain(root *yaml.Node) (*kptfilev1.KptFile, bool) {
	k := &kptfilev1.KptFile{}
	return k, eachField(root, func(key string, v *yaml.Node) bool {
		switch key {
		case "apiVersion":
			return plainText(&k.APIVersion, v)
		case "kind":
			return plainText(&k.Kind, v)
		case "metadata":
			return plainMeta(&k.ObjectMeta, v)
		case "upstream":
			k.Upstream = &kptfilev1.Upstream{}
			return plainUpstream(k.Upstream, v)
		case "upstreamLock":
			k.UpstreamLock = &kptfilev1.Locator{}
			return plainLock(k.UpstreamLock, v)
		case "info":
			k.Info = &kptfilev1.PackageInfo{}
			return plainInfo(k.Info, v)
		case "pipeline":
			return v.Decode(&k.Pipeline) == nil
		case "status":
			k.Status = &kptfilev1.Status{}
			return eachField(v, func(key string, v *yaml.Node) bool {
				return key == "conditions" && plainList(&k.Status.Conditions, v, plainCondition)
			})
		}
		return false
	})
}

func plainMeta(m *yaml.ObjectMeta, n *yaml.Node) bool {
	return eachField(n, func(key string, v *yaml.Node) bool {
		switch key {
		case "name":
			return plainText(&m.Name, v)
		case "namespace":
			return plainText(&m.Namespace, v)
		case "labels":
			return plainMap(&m.Labels, v)
		case "annotations":
			return plainMap(&m.Annotations, v)
		}
		return false
	})
}

func plainUpstream(u *kptfilev1.Upstream, n *yaml.Node) bool {
	return eachField(n, func(key string, v *yaml.Node) bool {
		switch key {
		case "type":
			return plainText(&u.Type, v)
		case "updateStrategy":
			return plainText(&u.UpdateStrategy, v)
		case "git":
			u.Git = &kptfilev1.Git{}
			return plainTexts(v, plainField{"repo", &u.Git.Repo}, plainField{"directory", &u.Git.Directory}, plainField{"ref", &u.Git.Ref})
		}
		return false
	})
}

func plainLock(l *kptfilev1.Locator, n *yaml.Node) bool {
	return eachField(n, func(key string, v *yaml.Node) bool {
		switch key {
		case "type":
			return plainText(&l.Type, v)
		case "git":
			l.Git = &kptfilev1.GitLock{}
			return plainTexts(v, plainField{"repo", &l.Git.Repo}, plainField{"directory", &l.Git.Directory}, plainField{"ref", &l.Git.Ref}, plainField{"commit", &l.Git.Commit})
		}
		return false
	})
}

func plainInfo(i *kptfilev1.PackageInfo, n *yaml.Node) bool {
	return eachField(n, func(key string, v *yaml.Node) bool {
		switch key {
		case "description":
			return plainText(&i.Description, v)
		case "readinessGates":
			return plainList(&i.ReadinessGates, v, func(g *kptfilev1.ReadinessGate, n *yaml.Node) bool {
				return plainTexts(n, plainField{"conditionType", &g.ConditionType})
			})
		}
		return false
	})
}

func plainCondition(c *kptfilev1.Condition, n *yaml.Node) bool {
	return plainTexts(n, plainField{"type", &c.Type}, plainField{"status", (*string)(&c.Status)}, plainField{"reason", &c.Reason}, plainField{"message", &c.Message})
}

// eachField hands each field of a mapping to one that decodes it, and reports whether it is
// a mapping, has each key once, and all of them could be decoded.
func eachField(n *yaml.Node, decode func(key string, v *yaml.Node) bool) bool {
	if n.Kind != yaml.MappingNode || yamltree.Repeated(n) != nil {
		return false
	}
	for k, v := range yamltree.Fields(n) {
		var key string
		if !plainText(&key, k) || key == "<<" || !decode(key, v) {
			return false
		}
	}
	return true
}

func plainText[T ~string](to *T, n *yaml.Node) bool {
	if n.Kind != yaml.ScalarNode || n.ShortTag() != yaml.NodeTagString {
		return false
	}
	*to = T(n.Value)
	return true
}

// plainField is a key, and where its text is to go.
type plainField struct {
	key string
	to  *string
}

// plainTexts decodes a mapping that has nothing but texts.
func plainTexts(n *yaml.Node, fields ...plainField) bool {
	return eachField(n, func(key string, v *yaml.Node) bool {
		i := slices.IndexFunc(fields, func(f plainField) bool { return f.key == key })
		return i >= 0 && plainText(fields[i].to, v)
	})
}

func plainMap(to *map[string]string, n *yaml.Node) bool {
	m := make(map[string]string, len(n.Content)/2)
	*to = m
	return eachField(n, func(key string, v *yaml.Node) bool {
		var text string
		ok := plainText(&text, v)
		m[key] = text
		return ok
	})
}

func plainList[T any](to *[]T, n *yaml.Node, item func(*T, *yaml.Node) bool) bool {
	if n.Kind != yaml.SequenceNode {
		return false
	}
	out := make([]T, len(n.Content))
	*to = out
	for i := range out {
		if !item(&out[i], n.Content[i]) {
			return false
		}
	}
	return true
}
