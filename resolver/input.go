package resolver

import (
	"fmt"
	"slices"
	"strings"
)

// Input is all that a resolution depends on.
type Input struct {
	Catalog       *Catalog
	Installations []Installation
	// APIs are those that the cluster serves, Platform the versions of what it runs on by name.
	APIs     []GVK
	Platform map[string]string
	Lock     *Lock
	// Placed is what earlier resolutions of the same requests have put in place. It is no installation that others
	// made: what it needs is worked out again, and it goes where nothing needs it. But it changes only as the
	// requests allow. Nil where nothing is in place.
	Placed *Lock
	// Refresh are packages, "*" for all, that take the newest version that they may, whatever is locked.
	Refresh []string
	// ClusterNamespace is the namespace of new instances of packages with scope cluster; nil is that of the
	// first request.
	ClusterNamespace *string
	// Want are the installations that are asked for. Their order does not matter.
	Want []Request
	// Budget bounds the work of the resolution in steps, which are the same on every machine: the search, the proof that
	// the answer is the preferred one, and the explanation where there is none. 0 is a default.
	Budget int
}

// Request asks for an installation, or, where Upgrade is set, for a change of one.
type Request struct {
	Name      string `json:"name,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Package   string `json:"package,omitempty"`
	// Version is a version, a range, or a digest; empty means the newest. Prereleases admits some that the range leaves out.
	Version     string            `json:"version,omitempty"`
	Prereleases *Prereleases      `json:"prereleases,omitempty"`
	Group       string            `json:"group,omitempty"`
	Mode        string            `json:"mode,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	// Parameters and Credentials are by name, and by "alias.name" for what a dependency leaves unmapped.
	Parameters  map[string]string `json:"parameters,omitempty"`
	Credentials map[string]string `json:"credentials,omitempty"`
	Overrides   []Override        `json:"overrides,omitempty"`

	Upgrade bool `json:"-"`
	// SkipDependencies leaves the dependencies alone altogether.
	SkipDependencies bool `json:"-"`
	// ValidateOnly allows what is there, and creates and changes nothing beside the installation itself.
	ValidateOnly bool `json:"-"`
	// Materialise is "direct" (the installation and its direct dependencies are created now) or "graph", the default.
	Materialise string `json:"materialise,omitempty"`
	// Allow says how existing installations may change where scope leaves no room for another one.
	Allow Changes `json:"-"`
	// SearchProviders lets the catalogue be searched for a provider of an API.
	SearchProviders bool `json:"searchProviders,omitempty"`
}

// Changes of existing installations that are allowed.
type Changes struct{ Upgrade, Downgrade bool }

// name is the name of the installation that is asked for: the package's where none is given.
func (r Request) name() string {
	if r.Name != "" {
		return r.Name
	}
	return baseName(r.Package)
}

// Ref names what is asked for among installations, as [Installation.Ref] does.
func (r Request) Ref() string { return Installation{Name: r.name(), Namespace: r.Namespace}.Ref() }

// contradiction is why an input is not one to resolve, and the requests that make it so.
type contradiction struct {
	text  string
	asked []*Request
}

// contradictions are names that the input gives to two things, and places that two requests take. Taking one of them
// would lose the other.
func (u *universe) contradictions() []contradiction {
	var out []contradiction
	add := func(asked []*Request, format string, args ...any) {
		out = append(out, contradiction{fmt.Sprintf(format, args...), asked})
	}
	for n, w := range u.wants[:max(len(u.wants)-1, 0)] {
		next := u.wants[n+1]
		if w.Namespace == next.Namespace && w.name() == next.name() && w.Package != next.Package && w.Package != "" && next.Package != "" {
			add([]*Request{w, next}, "%s is asked for as %s and as %s; give one of them another name", w.Ref(), w.Package, next.Package)
		}
	}
	place := map[string]*Request{}
	for _, w := range u.wants {
		key := u.scopeKey(w.Package, w.Namespace)
		if key == "" || w.Package == "" {
			continue
		}
		if had := place[key]; had != nil && had.Ref() != w.Ref() {
			what := "one per cluster"
			if u.scope(w.Package) == ScopeNamespace {
				what = "one per namespace"
			}
			add([]*Request{had, w}, "%s is asked for as %s and as %s, and there is %s; leave one of them", w.Package, had.Ref(), w.Ref(), what)
			continue
		}
		place[key] = w
	}
	for n, i := range u.insts[:max(len(u.insts)-1, 0)] {
		if next := u.insts[n+1]; i.Namespace == next.Namespace && i.Name == next.Name {
			add(nil, "%s is installed twice, as %s and as %s; leave one of them", i.Ref(), at(i.Package, i.Version), at(next.Package, next.Version))
		}
	}
	return out
}

// invalid is the error of reasons why an input is not one to resolve, nil where there are none.
func (u *universe) invalid(reasons []contradiction) error {
	if len(reasons) == 0 {
		return nil
	}
	var texts []string
	var asked []*Request
	for _, r := range reasons {
		texts = append(texts, r.text)
		for _, w := range r.asked {
			if !slices.Contains(asked, w) {
				asked = append(asked, w)
			}
		}
	}
	return &ConflictError{Kind: InvalidRequest, Summary: u.summary(asked), Reasons: texts, Asked: refsOf(asked)}
}

// unapplied are the choices that a user made by an alias which nothing has: a slip that would go unnoticed.
func (r *Resolution) unapplied() []contradiction {
	var out []contradiction
	for _, i := range r.Instances {
		w := i.root
		if !i.Requested || w == nil || i.manifest == nil || w.SkipDependencies {
			continue
		}
		own := map[string]bool{}
		addAliases(own, i.manifest.Requires)
		for _, o := range w.Overrides {
			if o.Alias != "" && !own[o.Alias] {
				out = append(out, contradiction{fmt.Sprintf("a choice was made for %s of %s, but %s", o.Alias, at(i.Package, i.Version), itHas(own)), []*Request{w}})
			}
		}
	}
	return out
}

func addAliases(to map[string]bool, rs []Requirement) {
	for _, r := range rs {
		if r.Alias != "" {
			to[r.Alias] = true
		}
		addAliases(to, r.AnyOf)
	}
}

func itHas(aliases map[string]bool) string {
	if len(aliases) == 0 {
		return "there are no dependencies"
	}
	return "the dependencies are " + strings.Join(sortedKeys(aliases), ", ")
}
