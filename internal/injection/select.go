package injection

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/variform/variform/api"
	"github.com/variform/variform/api/config/v1alpha1"
)

// Request says what to inject.
type Request struct {
	// Namespace is the variant's; only objects of it are candidates.
	Namespace string
	// Dir is the folder of the package whose Kptfile gets the conditions, ""
	// for the root.
	Dir string
	// Injectors are the variant's selectors, tried in order.
	Injectors []v1alpha1.InjectionSelector
	// Context holds the candidates; nil holds none.
	Context *Context
	// AllowKinds names kinds that are injected only by leave: "Secret". No
	// other kind needs it.
	AllowKinds []string
	// DropStale removes conditions, and the gates on them, that an injection
	// wrote for points that the package no longer has. Only for callers that see
	// the whole package.
	DropStale bool
	// KeepInjected leaves a point's condition alone where this request selects
	// nothing and an earlier injection filled it. It is for injections beside
	// the variant's own, such as a function of the package's pipeline: they
	// speak for the points that they fill, and for no others.
	KeepInjected bool
}

// Ref is a context object that was used.
type Ref struct {
	Group, Version, Kind, Namespace, Name string

	Digest string // "sha256:…" of the injected field's content, styles and key order apart
	Origin string // where the Object is from
}

// Outcome is what became of one point.
type Outcome struct {
	Point
	Object   *Ref // nil where nothing was injected
	Selector int  // which injector chose it, from 0; -1 where none did
	Named    bool // whether an injector selects the point, with or without an object
	Reason   string
	Message  string // of the condition
	Changed  bool   // whether Inject changed the resource; false from Select
}

// Injected says whether the point got an object.
func (o *Outcome) Injected() bool { return o.Object != nil }

// Report is what an injection did, one outcome per point in the order of the points.
type Report struct {
	Outcomes []Outcome
}

// Used lists the objects that were injected, each once, sorted.
func (r *Report) Used() []Ref {
	seen := map[Ref]bool{}
	var out []Ref
	for i := range r.Outcomes {
		if o := r.Outcomes[i].Object; o != nil && !seen[*o] {
			seen[*o] = true
			out = append(out, *o)
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].String() < out[j].String() })
	return out
}

// String is the object's identity: group/version kind namespace/name.
func (r Ref) String() string {
	return fmt.Sprintf("%s/%s %s %s/%s", r.Group, r.Version, r.Kind, r.Namespace, r.Name)
}

// Digest is "sha256:…" over which point got which content from which object.
// It changes whenever the injected result can change, and never with order,
// comments, labels or status of the objects.
func (r *Report) Digest() string {
	if len(r.Outcomes) == 0 {
		return noDigest
	}
	lines := make([]string, 0, len(r.Outcomes))
	for i := range r.Outcomes {
		o := &r.Outcomes[i]
		line := strconv.Quote(o.ConditionType) + " "
		if o.Object != nil {
			line += strconv.Quote(o.Object.String()) + " " + o.Object.Digest
		} else {
			line += strconv.Quote(o.Message)
		}
		lines = append(lines, line+"\n")
	}
	sort.Strings(lines)
	return digest(strings.Join(lines, ""))
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// noDigest is that of nothing, which most packages get.
var noDigest = digest("")

// Select chooses an object for each point and changes nothing. Points should
// have passed Validate.
func Select(points []Point, req Request) *Report {
	out := &Report{Outcomes: make([]Outcome, 0, len(points))}
	for _, p := range points {
		o := Outcome{Point: p, Selector: -1, Reason: ReasonNotSelected}
		o.Named = slices.ContainsFunc(req.Injectors, func(s v1alpha1.InjectionSelector) bool { return matches(s, p) })
		if e, reason := choose(p, &req, &o.Selector); e != nil {
			o.inject(e)
		} else {
			o.Message = reason
		}
		out.Outcomes = append(out.Outcomes, o)
	}
	return out
}

// choose returns the object for a point, or why there is none.
func choose(p Point, req *Request, selector *int) (*entry, string) {
	if len(req.Injectors) == 0 {
		return nil, "no injectors defined"
	}
	k := key{api.NamespaceOr(req.Namespace), p.Group, p.Version, p.Kind, ""}
	if k.isSecret() && !slices.Contains(req.AllowKinds, k.kind) {
		return nil, "kind Secret is injected only where it is allowed by name"
	}
	if !req.Context.has(k) {
		return nil, fmt.Sprintf("no in-cluster resources of type %s.%s", p.APIVersion, p.Kind)
	}
	for i, s := range req.Injectors {
		if !matches(s, p) {
			continue
		}
		k.name = s.Name
		if e := req.Context.get(k); e != nil {
			*selector = i
			return e, ""
		}
	}
	return nil, "no resource matched any injection selector for this injection point"
}

// matches says whether a selector's group, version, kind and point, those given,
// are the point's; the object's are the point's by construction.
func matches(s v1alpha1.InjectionSelector, p Point) bool {
	return (s.Point == "" || s.Point == p.Name) &&
		(s.Group == nil || *s.Group == p.Group) &&
		(s.Version == nil || *s.Version == p.Version) &&
		(s.Kind == nil || *s.Kind == p.Kind)
}

func (o *Outcome) inject(e *entry) {
	b := e.read()
	if b.err != nil {
		o.Message = b.err.Error()
		return
	}
	o.Object = &Ref{
		Group: e.key.group, Version: e.key.version, Kind: e.key.kind, Namespace: e.key.namespace, Name: e.key.name,
		Digest: b.digest, Origin: e.From(),
	}
	o.Reason = ReasonInjected
	o.Message = fmt.Sprintf("injected resource %q from cluster", e.key.name)
}
