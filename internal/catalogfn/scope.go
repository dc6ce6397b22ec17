package catalogfn

import (
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/yamltree"
)

// namespaced follows the catalogue: Kubernetes' own kinds by what they are,
// others by having a namespace.
func namespaced(r *krm.Resource) bool {
	if namespaced, known := krm.Scope(r.Group(), r.Kind()); known {
		return namespaced
	}
	return yamltree.Path(r.Node().YNode(), "metadata", "namespace") != nil
}
