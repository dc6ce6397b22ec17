package merge

import (
	"fmt"
	"path"
	"slices"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"

	"github.com/variform/variform/internal/krm"
)

// KeepIdentities gives the resources that a pipeline renamed the comment
// "# kpt-merge: namespace/name" with what they were called, so that a later
// merge with their upstream knows them. before is the package as it went into
// the pipeline, after as it came out; the result is after, or a copy with the
// comments. A namespace alone needs none: see [Packages]. One that has such a
// comment keeps it.
func KeepIdentities(before, after *krm.Package) (*krm.Package, error) {
	renamed := renames(before, after)
	if len(renamed) == 0 {
		return after, nil
	}
	files, err := after.Files()
	if err != nil {
		return nil, err
	}
	out, err := krm.Parse(files) // places in the text as it is now
	if err != nil {
		return nil, fmt.Errorf("marking renamed resources: %w", err)
	}
	byFile := map[string][]*krm.Resource{}
	names := map[*krm.Resource]krm.ID{}
	for _, r := range out.Resources() {
		if was, ok := renamed[place{r.Path(), r.ID()}]; ok {
			byFile[r.Path()] = append(byFile[r.Path()], r)
			names[r] = was
		}
	}
	for file, rs := range byFile {
		f, _ := out.Read(file)
		f.Data = addComments(f.Data, rs, func(r *krm.Resource) (string, string) { return names[r].Namespace, names[r].Name })
		out.Write(f)
	}
	return out, nil
}

// renames are the resources of after that have another name than in before, by
// where they are now: of each kind in a file as many went as came, in order.
func renames(before, after *krm.Package) map[place]krm.ID {
	if slices.EqualFunc(before.Resources(), after.Resources(), func(a, b *krm.Resource) bool {
		return a.Name() == b.Name() && a.Kind() == b.Kind() && a.Group() == b.Group() && a.Path() == b.Path()
	}) {
		return nil // mostly
	}
	type kind struct{ path, group, kind string }
	group := func(p *krm.Package) (map[kind][]*krm.Resource, []kind) {
		out := map[kind][]*krm.Resource{}
		var order []kind
		for _, r := range p.Resources() {
			if path.Base(r.Path()) == kptfilev1.KptFileName || r.Name() == "" {
				continue
			}
			k := kind{r.Path(), r.Group(), r.Kind()}
			if out[k] == nil {
				order = append(order, k)
			}
			out[k] = append(out[k], r)
		}
		return out, order
	}
	was, order := group(before)
	now, _ := group(after)
	var out map[place]krm.ID
	for _, k := range order {
		gone, come := apart(was[k], now[k]), apart(now[k], was[k])
		if len(gone) != len(come) || len(was[k]) != len(now[k]) {
			continue
		}
		for i, r := range gone {
			if _, _, marked := mergeIdentity(r.Node().YNode()); marked {
				continue
			}
			if out == nil {
				out = map[place]krm.ID{}
			}
			out[place{k.path, come[i].ID()}] = r.ID()
		}
	}
	return out
}

// apart are the resources of a whose name none of b has.
func apart(a, b []*krm.Resource) []*krm.Resource {
	names := map[string]bool{}
	for _, r := range b {
		names[r.Name()] = true
	}
	var out []*krm.Resource
	for _, r := range a {
		if !names[r.Name()] {
			out = append(out, r)
		}
	}
	return out
}
