package depend

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/variform/variform/api"
	configv1alpha1 "github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/resolver"
)

// Documents are what a folder, or a function's input, says of targets by itself:
// where no Git is asked what stands there.
type Documents struct {
	// Repositories say which of their folders are targets; one that is not among
	// them is a target as a whole.
	Repositories  []*configv1alpha1.Repository
	Installations []*v1alpha1.Installation
	// Locks are previous answers.
	Locks []*v1alpha1.PackageLock
	// APIs are those that every target serves, Platform what it runs on.
	APIs     []resolver.GVK
	Platform map[string]string
}

// Targets are those that Installations name, sorted by name; where none does and
// there are some, the one without a name. An Installation that names none is
// about each target of its namespace. A target's previous answer is the lock that
// names it.
func (d *Documents) Targets() []*Target {
	byID := map[string]*Target{}
	var out []*Target
	for _, i := range d.Installations {
		if t := d.target(i); i.Spec.Target != "" && byID[t.ID()] == nil {
			byID[t.ID()] = t
			out = append(out, t)
		}
	}
	if len(out) == 0 && len(d.Installations) > 0 {
		out = append(out, &Target{Namespace: api.NamespaceOr(d.Installations[0].Namespace)})
	}
	slices.SortFunc(out, func(a, b *Target) int {
		return cmp.Or(cmp.Compare(a.Name(), b.Name()), cmp.Compare(a.Namespace, b.Namespace))
	})
	locks := map[string][]*v1alpha1.PackageLock{}
	for _, l := range d.Locks {
		locks[l.Spec.Target] = append(locks[l.Spec.Target], l)
	}
	first := map[string]*Target{}
	for _, t := range out {
		t.APIs, t.Platform = d.APIs, d.Platform
		for _, i := range d.Installations {
			if _, here := t.Place(i); here && (t.Name() == "" || t.Namespace == api.NamespaceOr(i.Namespace)) {
				t.Installations = append(t.Installations, i)
			}
		}
		switch l := locks[t.Name()]; len(l) {
		case 0:
		case 1:
			if t.Lock = &l[0].Spec; d.Repository(t) == nil { // nothing else tells what is there
				t.Placed, t.Published = t.Lock, map[string]bool{}
				for n := range t.Lock.Packages {
					t.Published[lockedRef(&t.Lock.Packages[n])] = true
				}
			}
		default:
			t.unclear = fmt.Errorf("target %q has %d PackageLocks (%s, %s): keep one", t.Name(), len(l), l[0].Name, l[1].Name)
		}
		if o := first[t.Name()]; o != nil {
			t.unclear = fmt.Errorf("Installations of the namespaces %s and %s name one target, which is in one of them: give them one metadata.namespace (a folder of the target is named in spec.target: %s/%s)",
				o.Namespace, t.Namespace, t.Name(), t.Namespace)
			o.unclear = t.unclear
			continue
		}
		first[t.Name()] = t
	}
	return out
}

// target is what an Installation names: a Repository, or that of its folders
// which is a target.
func (d *Documents) target(i *v1alpha1.Installation) *Target {
	t := &Target{Namespace: api.NamespaceOr(i.Namespace)}
	var folder string
	t.Repository, folder, _ = strings.Cut(strings.Trim(i.Spec.Target, "/"), "/")
	if r := d.Repository(t); r != nil {
		t.Directory = In(r.Annotations[v1alpha1.TargetsAnnotation], folder+"/x")
	}
	return t
}

// Repository is the target's, nil where there is none.
func (d *Documents) Repository(t *Target) *configv1alpha1.Repository {
	for _, r := range d.Repositories {
		if r.Name == t.Repository && api.NamespaceOr(r.Namespace) == t.Namespace {
			return r
		}
	}
	return nil
}
