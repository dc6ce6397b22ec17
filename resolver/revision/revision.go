// Package revision keeps the revisions of an installed package (Crossplane's packages v2, "PackageRevision"): which one
// is active, how they are numbered, which objects each owns, and which are no longer kept. It is pure: states in,
// states out.
//
//	s := revision.State{Name: "p"}
//	s = s.Observe("sha256:a", nil) // Automatic: a becomes active as revision 1
package revision

import (
	"fmt"
	"slices"
	"strings"
)

// The states of a revision and the policies of activation.
const (
	Active    = "Active"
	Inactive  = "Inactive"
	Automatic = "Automatic"
	Manual    = "Manual"
)

// Revision is one version of a package that is or was there, named by its digest.
type Revision struct {
	Digest   string   `json:"digest"`
	UID      string   `json:"uid,omitempty"`
	State    string   `json:"state"`
	Revision int64    `json:"revision"`
	Objects  []string `json:"objects,omitempty"`
}

// Owner is an owner reference of an object.
type Owner struct {
	Kind       string `json:"kind,omitempty"`
	Name       string `json:"name"`
	UID        string `json:"uid,omitempty"`
	Controller bool   `json:"controller,omitempty"`
}

// Object is something that revisions own.
type Object struct {
	Name   string  `json:"name"`
	Owners []Owner `json:"owners,omitempty"`
}

// Fetch is the last attempt to get a package's content. Secrets are the pull secrets that it used; nil
// means those of the state.
type Fetch struct {
	Error     string   `json:"error,omitempty"`
	Reference string   `json:"reference,omitempty"`
	Secrets   []string `json:"secrets,omitempty"`
}

// State is an installed package and its revisions, in the order in which they came.
type State struct {
	Name string `json:"name"`
	// Reference is what is installed, ImagePullSecrets what it is fetched with.
	Reference        string   `json:"reference,omitempty"`
	ImagePullSecrets []string `json:"imagePullSecrets,omitempty"`
	LastFetch        *Fetch   `json:"lastFetch,omitempty"`
	// Activation is Automatic (the default) or Manual; HistoryLimit the number of inactive revisions
	// that are kept, nil for 1, 0 for all.
	Activation   string     `json:"activation,omitempty"`
	HistoryLimit *int       `json:"historyLimit,omitempty"`
	Revisions    []Revision `json:"revisions,omitempty"`
}

// clone copies what the methods change.
func (s State) clone() State {
	s.Revisions = slices.Clone(s.Revisions)
	return s
}

// Current is the digest of the active revision, empty when there is none.
func (s State) Current() string {
	for _, r := range s.Revisions {
		if r.State == Active {
			return r.Digest
		}
	}
	return ""
}

// next is one more than the greatest revision number.
func (s State) next() int64 {
	n := int64(0)
	for _, r := range s.Revisions {
		n = max(n, r.Revision)
	}
	return n + 1
}

// Observe is the state once a digest with its objects is what the package asks for: it becomes a revision, and,
// unless activation is Manual, the active one. Nothing changes when it is active already.
func (s State) Observe(digest string, objects []string) State {
	s = s.clone()
	at := slices.IndexFunc(s.Revisions, func(r Revision) bool { return r.Digest == digest })
	if at < 0 {
		s.Revisions = append(s.Revisions, Revision{Digest: digest, State: Inactive, Revision: s.next(), Objects: objects})
		if s.Activation == Manual {
			return s
		}
		s.deactivate()
		s.Revisions[len(s.Revisions)-1].State = Active
		return s
	}
	if s.Activation == Manual || s.Revisions[at].State == Active {
		return s
	}
	s.activate(at)
	return s
}

// Activate makes a revision the active one, with the next number. It fails when there is no such revision.
func (s State) Activate(digest string) (State, error) {
	s = s.clone()
	at := slices.IndexFunc(s.Revisions, func(r Revision) bool { return r.Digest == digest })
	if at < 0 {
		return s, fmt.Errorf("package %s has no revision %s to activate; it has %s", s.Name, digest, strings.Join(s.digests(), ", "))
	}
	if s.Revisions[at].State != Active {
		s.activate(at)
	}
	return s, nil
}

func (s State) digests() []string {
	var out []string
	for _, r := range s.Revisions {
		out = append(out, r.Digest)
	}
	return out
}

func (s *State) activate(at int) {
	n := s.next()
	s.deactivate()
	s.Revisions[at].State, s.Revisions[at].Revision = Active, n
}

func (s *State) deactivate() {
	for i := range s.Revisions {
		s.Revisions[i].State = Inactive
	}
}

// Collect drops the inactive revisions beyond the history limit, those with the lowest numbers first, and
// returns the digests that went. The active revision never goes.
func (s State) Collect() (State, []string) {
	limit := 1
	if s.HistoryLimit != nil {
		limit = *s.HistoryLimit
	}
	if limit <= 0 {
		return s, nil
	}
	var inactive []Revision
	for _, r := range s.Revisions {
		if r.State != Active {
			inactive = append(inactive, r)
		}
	}
	if len(inactive) <= limit {
		return s, nil
	}
	slices.SortStableFunc(inactive, func(a, b Revision) int { return int(a.Revision - b.Revision) })
	var gone []string
	for _, r := range inactive[:len(inactive)-limit] {
		gone = append(gone, r.Digest)
	}
	s = s.clone()
	s.Revisions = slices.DeleteFunc(s.Revisions, func(r Revision) bool { return slices.Contains(gone, r.Digest) })
	return s, gone
}

// Own works out the owner references of objects: the active revision controls its objects, the others own
// theirs without control. A reference belongs to a revision by kind and name, whatever UID it carries, so that a
// restored backup works; it gets the present UID. Owners that are no revision of this package stay. An object that
// another controller holds is left to it and named in conflicts. Sorted by name.
func (s State) Own(objects []Object) (out []Object, conflicts []string) {
	byName := map[string]*Object{}
	var names []string
	get := func(name string) *Object {
		if byName[name] == nil {
			byName[name] = &Object{Name: name}
			names = append(names, name)
		}
		return byName[name]
	}
	mine := s.digests()
	for _, o := range objects {
		g := get(o.Name)
		for _, w := range o.Owners {
			if !slices.Contains(mine, w.Name) {
				g.Owners = append(g.Owners, w)
			}
		}
	}
	for _, r := range s.Revisions {
		for _, name := range r.Objects {
			o := get(name)
			w := Owner{Kind: "PackageRevision", Name: r.Digest, UID: r.UID, Controller: r.State == Active}
			if other := slices.IndexFunc(o.Owners, func(x Owner) bool { return x.Controller }); w.Controller && other >= 0 {
				w.Controller = false
				conflicts = append(conflicts, fmt.Sprintf("%s is controlled by %s", name, o.Owners[other].Name))
			}
			o.Owners = append(o.Owners, w)
		}
	}
	slices.Sort(names)
	for _, n := range names {
		slices.SortFunc(byName[n].Owners, func(a, b Owner) int { return strings.Compare(a.Name, b.Name) })
		out = append(out, *byName[n])
	}
	slices.Sort(conflicts)
	return out, conflicts
}

// Orphans are the objects that only revisions which went away owned.
func Orphans(before, after State) []string {
	kept := map[string]bool{}
	for _, r := range after.Revisions {
		for _, o := range r.Objects {
			kept[o] = true
		}
	}
	var out []string
	for _, r := range before.Revisions {
		for _, o := range r.Objects {
			if !kept[o] && !slices.Contains(out, o) {
				out = append(out, o)
			}
		}
	}
	slices.Sort(out)
	return out
}

// NeedsFetch tells whether a package's content is to be fetched: it never was, it is to be another, or
// the last attempt failed and what it is fetched with has changed since.
func (s State) NeedsFetch(reference string, secrets []string) bool {
	switch {
	case s.LastFetch == nil:
		return len(s.Revisions) == 0 || reference != s.Reference
	case s.LastFetch.Reference != "" && s.LastFetch.Reference != reference || s.LastFetch.Reference == "" && reference != s.Reference:
		return true
	}
	used := s.LastFetch.Secrets
	if used == nil {
		used = s.ImagePullSecrets
	}
	return s.LastFetch.Error != "" && !slices.Equal(used, secrets)
}
