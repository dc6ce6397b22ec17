package function

import (
	"github.com/kptdev/krm-functions-sdk/go/fn"

	"github.com/variform/variform/internal/krm"
)

// place is where a ResourceList says that an item stands.
type place struct{ pkg, path, index string }

// CheckPlaces reports, as error results, items of a ResourceList whose path
// annotation leads out of their package, and two at one place: kpt writes
// neither. Resources that were read from files have no such annotations.
func CheckPlaces(c *Call) {
	taken := map[place]*krm.Resource{}
	for _, r := range c.Resources() {
		c.checkPlace(r, taken)
	}
}

func (c *Call) checkPlace(r *krm.Resource, taken map[place]*krm.Resource) {
	p, field, ok := "", "", false
	for _, key := range []string{krm.PathAnnotation, krm.LegacyPathAnnotation} {
		if p, ok = r.Annotation(key); ok {
			field = "metadata.annotations[" + key + "]"
			break
		}
	}
	if !ok {
		return
	}
	if unsafePath(p) {
		c.add(fn.Error, r, field, "path %q is not a clean path inside the package; use a relative one without \"..\"", p)
		return
	}
	index, ok := r.Annotation(krm.IndexAnnotation)
	if !ok {
		index, _ = r.Annotation(krm.LegacyIndexAnnotation)
	}
	pkg, _ := r.Annotation("internal.config.kubernetes.io/package-path")
	key := place{pkg, p, index}
	first := taken[key]
	if first == nil {
		taken[key] = r
		return
	}
	if index != "" || first.Name() == r.Name() && first.Kind() == r.Kind() {
		c.add(fn.Error, r, field, "two items have the path %q and the index %q: %s %s and %s %s; give each a place of its own",
			p, index, first.Kind(), first.Name(), r.Kind(), r.Name())
	}
}
