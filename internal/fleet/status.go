package fleet

import (
	"slices"

	"github.com/variform/variform/internal/pulls"
	"github.com/variform/variform/internal/reconcile"
	"github.com/variform/variform/internal/source"
)

// StatusObjects are a plan's sets and variants with their status: *PackageVariantSet and
// *PackageVariant.
func StatusObjects(f *source.Fleet, plan *reconcile.Plan) []any {
	var out []any
	for _, st := range plan.Sets {
		for _, set := range f.Sets {
			if set.Namespace == st.Namespace && set.Name == st.Name {
				out = append(out, st.WithStatus(set, plan.Items))
			}
		}
	}
	for _, items := range ByVariant(plan.Items) {
		if pv := reconcile.VariantStatus(items...); pv != nil {
			out = append(out, pv)
		}
	}
	return out
}

// ByVariant groups the items of one variant; they follow one another.
func ByVariant(items []*reconcile.Item) [][]*reconcile.Item {
	var out [][]*reconcile.Item
	for k, i := range items {
		if k > 0 && items[k-1].Identity == i.Identity {
			out[len(out)-1] = append(out[len(out)-1], i)
			continue
		}
		out = append(out, []*reconcile.Item{i})
	}
	return out
}

// Quiet says that a run did nothing to requests, and the next has nothing to do.
func Quiet(list []Pulled) bool {
	return !slices.ContainsFunc(list, func(p Pulled) bool {
		return p.Err != nil || p.Action != pulls.ActionNone && p.Action != pulls.ActionKeep
	})
}

// Refused says that something of requests failed.
func Refused(list []Pulled) bool {
	return slices.ContainsFunc(list, func(p Pulled) bool { return p.Err != nil })
}
