package review

import (
	"strings"

	"github.com/variform/variform/internal/krm"
)

// A first Draft is compared with what it is made from, and its pipeline may give
// resources other namespaces and names. Nothing of it was there before, so nothing is
// deleted, and what upstream has is no news.

// rename is what a namespace or a name of a resource became.
type rename struct{ was, is string }

// rendered pairs what is left of a first Draft's resources with what is left of its
// upstream's, by what a pipeline leaves alone: group, kind and name, then the file and a
// part of the name, then the place among as many of a kind in a file. It notes in d what
// became of namespaces and names.
func (d *differ) rendered(before, after side, old pairs, paired map[*krm.Resource]*krm.Resource) {
	left := map[fileKind]int{} // upstream's less the Draft's
	for _, r := range after.resources {
		if paired[r] == nil {
			left[fileKindOf(r)]--
		}
	}
	for _, o := range before.resources {
		if old.has(o) {
			left[fileKindOf(o)]++
		}
	}
	for _, fits := range []func(o, r *krm.Resource) bool{
		func(o, r *krm.Resource) bool { return o.Name() == r.Name() && o.Path() == r.Path() },
		func(o, r *krm.Resource) bool { return o.Name() == r.Name() },
		func(o, r *krm.Resource) bool {
			return o.Path() == r.Path() && (strings.Contains(r.Name(), o.Name()) || strings.Contains(o.Name(), r.Name()))
		},
		func(o, r *krm.Resource) bool { return o.Path() == r.Path() && left[fileKindOf(r)] == 0 },
	} {
		for _, r := range after.resources {
			for _, o := range before.resources {
				if paired[r] == nil && o.Group() == r.Group() && o.Kind() == r.Kind() && fits(o, r) && old.remove(o) {
					paired[r] = o
				}
			}
		}
	}
	d.renames = map[rename]bool{}
	for r, o := range paired {
		if o != nil && r.Kind() != "Kptfile" {
			d.renames[rename{o.Namespace(), r.Namespace()}] = true
			d.renames[rename{o.Name(), r.Name()}] = true
		}
	}
}

// fileKind is a kind in a file.
type fileKind struct{ file, group, kind string }

func fileKindOf(r *krm.Resource) fileKind { return fileKind{r.Path(), r.Group(), r.Kind()} }

// isNews reports whether a sensitive cell of a first Draft is to be looked at: what the
// pipeline leaves out deletes nothing, a reference follows what it names, and labels of
// the fleet say nothing to the API server.
func (c *cell) isNews(renames map[rename]bool) bool {
	switch {
	case c.byHand || c.Op != Remove && c.whole:
		return true
	case c.Op == Remove && (c.whole || c.Resource == ""):
		return false
	case c.kindIsSensitive() || c.sensitive == "namespace":
		return !follows(c.before, c.after, renames) && !isOwnLabel(c.Field)
	}
	return true
}

// follows reports whether values changed as resources were renamed.
func follows(before, after string, renames map[rename]bool) bool {
	was, is := strings.Split(before, ", "), strings.Split(after, ", ") // of a list's items
	for i := range is {
		of := ""
		if len(was) == len(is) {
			of = was[i]
		} else if before != "" {
			return false
		}
		if of != is[i] && !renames[rename{of, is[i]}] {
			return false
		}
	}
	return true
}

// isOwnLabel reports whether a field is a label or an annotation that Kubernetes reads
// nothing from.
func isOwnLabel(field string) bool {
	key, found := strings.CutPrefix(field, "metadata.labels")
	if !found {
		if key, found = strings.CutPrefix(field, "metadata.annotations"); !found {
			return false
		}
	}
	key = strings.Trim(key, ".[]")
	domain, _, _ := strings.Cut(key, "/")
	return key != "" && (domain == "app.kubernetes.io" || !strings.HasSuffix(domain, "k8s.io") && !strings.HasSuffix(domain, "kubernetes.io"))
}
