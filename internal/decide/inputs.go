package decide

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/internal/injection"
)

// engineVersion goes into the digest: a change in how packages are built that
// should reach every variant raises it.
const engineVersion = "1"

// Inputs are the digests of all that goes into a wanted package (docs/design/git.md).
// The Draft's own content is none of them, so that hand edits trigger nothing.
type Inputs struct {
	Digest    string // of all the others
	Upstream  string // upstream package tree, or image
	Published string // vN started from, "" for none
	Spec      string
	Context   string
	Functions string // with versions of built-in functions, which Digest is without
	Values    string // that other packages give, "" for none
	// Main is the short tree of the package on the registered branch, where that
	// held something else than Published; "" for most.
	Main string
	// Points are the injection points that people added, and what they get: see
	// [PointsOf]. They are not in Digest, for they are known when it is built. "" for
	// most.
	Points string
	// Keep says that edits by hand stood where the update changed the same
	// ([Want.KeepEdits]). It is not in Digest: it matters to who has edits.
	Keep bool
}

// On are inputs of a package that starts from what the registered branch holds
// beside the Published revision: main is Inputs.Main.
func (i Inputs) On(main string) Inputs {
	if i.Main = main; main != "" {
		i.Digest = Digest(i.Digest, main)
	}
	return i
}

// Fits reports whether two are of the same inputs. Versions of functions are left
// out: alone they make what was built no other, only older. So is Keep.
func (i Inputs) Fits(o Inputs) bool {
	i.Digest, o.Digest, i.Functions, o.Functions, i.Keep, o.Keep = "", "", "", "", false, false
	return i == o
}

// part is how much of a part's digest is kept to tell which one changed.
const part = 12

// String is the value of the Variform-Inputs trailer: the digest, then its
// parts, so that the next run can say which of them changed.
func (i Inputs) String() string {
	s := "sha256:" + i.Digest + " upstream=" + i.Upstream + " spec=" + i.Spec + " context=" + i.Context + " functions=" + i.Functions
	if i.Values != "" {
		s += " values=" + i.Values
	}
	if i.Published != "" {
		s += " published=" + i.Published
	}
	if i.Main != "" {
		s += " main=" + i.Main
	}
	if i.Points != "" {
		s += " points=" + i.Points
	}
	if i.Keep {
		s += " edits=" + keep
	}
	return s
}

// keep is Inputs.Keep in a trailer.
const keep = "keep"

// ParseInputs reads a trailer; words that it does not know are left out.
func ParseInputs(trailer string) Inputs {
	var i Inputs
	for _, f := range strings.Fields(trailer) {
		if d, ok := strings.CutPrefix(f, "sha256:"); ok {
			i.Digest = d
			continue
		}
		k, v, _ := strings.Cut(f, "=")
		switch k {
		case "upstream":
			i.Upstream = v
		case "published":
			i.Published = v
		case "main":
			i.Main = v
		case "spec":
			i.Spec = v
		case "context":
			i.Context = v
		case "functions":
			i.Functions = v
		case "points":
			i.Points = v
		case "values":
			i.Values = v
		case "edits":
			i.Keep = v == keep
		}
	}
	return i
}

// Parts are the whole values behind Inputs.
type Parts struct {
	UpstreamTree string // or the digest of its image
	UpstreamRef  string // repository, path and ref, as the Kptfile names them
	Spec         string // see SpecDigest
	Context      string // digest of the injected objects
	// Functions are what renders it. Versions names those of built-in functions,
	// too: they come with this program, and make no Draft by themselves.
	Functions, Versions []string
	Values              string // short digest of what other packages give, "" for nothing
	Points              string // see Inputs
}

// PointsOf is the short digest of what injection points that people added get, and
// their words, so that the next run can tell without reading the package; "" for none.
func PointsOf(r *injection.Report) string {
	var words []string
	for i := range r.Outcomes {
		words = append(words, r.Outcomes[i].Word())
	}
	if len(words) == 0 {
		return ""
	}
	slices.Sort(words)
	return short(Digest(r.Digest())) + "," + strings.Join(slices.Compact(words), ",")
}

// Added are the injection points that people had added to what was built.
func (i Inputs) Added() (out []injection.Point) {
	_, words, _ := strings.Cut(i.Points, ",")
	for word := range strings.SplitSeq(words, ",") {
		if p, ok := injection.Named(word); ok {
			out = append(out, p)
		}
	}
	return out
}

// NotRendered stands for the functions of a package whose pipelines were left unrun.
const NotRendered = "not rendered"

// unrendered says that a revision was made with its pipelines left unrun.
func (i Inputs) unrendered() bool { return i.Functions == short(Digest(NotRendered)) }

// Started returns the number of the Published revision started from, 0 for none.
func (i Inputs) Started() int {
	n, err := strconv.Atoi(strings.TrimPrefix(i.Published, "v"))
	if err != nil {
		return 0
	}
	return n
}

// Inputs digests the parts together with the Published revision that the
// package starts from, nil for none.
func (p Parts) Inputs(published *Published) Inputs {
	var name, at string // what a revision holds, without reading it
	if published != nil {
		name, at = RevisionName(published.Number), published.Ref.Commit.String()
	}
	upstream, functions := Digest(p.UpstreamTree, p.UpstreamRef), Digest(p.Functions...)
	all := []string{engineVersion, upstream, name, at, p.Spec, p.Context, functions}
	if p.Values != "" {
		all = append(all, p.Values)
	}
	return Inputs{
		Digest: Digest(all...), Upstream: short(upstream), Published: name, Spec: short(p.Spec),
		Context: short(Digest(p.Context)), Functions: short(Digest(p.Versions...)), Values: p.Values, Points: p.Points,
	}
}

// Digest is a digest of a list of values, in hexadecimal digits.
func Digest(values ...string) string {
	var few [1 << 10]byte // a run makes digests by the hundred thousand
	b := few[:0]
	for _, v := range values {
		b = append(strconv.AppendInt(b, int64(len(v)), 10), ':')
		b = append(b, v...)
	}
	sum := sha256.Sum256(b)
	var text [2 * sha256.Size]byte
	hex.Encode(text[:], sum[:])
	return string(text[:])
}

// ValuesDigest is the short digest of what other packages give, "" for nothing.
func ValuesDigest(text []string) string {
	if len(text) == 0 {
		return ""
	}
	return short(Digest(text...))
}

// short is the part of a digest that tells whether something changed.
func short(digest string) string { return strings.Clone(digest[:min(part, len(digest))]) }

// SpecDigest is the digest of what of a PackageVariant goes into its package again and
// again. Labels and annotations are left out: they are set at creation only
// (Porch's PackageVariant design, "Basic Spec Fields"), and so is the upstream,
// which is an input of its own.
func SpecDigest(pv *v1alpha1.PackageVariant, owner, set, madeFor string) (string, error) {
	s := pv.Spec
	s.Labels, s.Annotations = nil, nil
	s.Upstream = nil
	s.AdoptionPolicy = ""
	b, err := json.Marshal(struct {
		Owner, Set string
		Spec       v1alpha1.PackageVariantSpec
		For        string `json:",omitempty"`
	}{owner, set, s, madeFor})
	if err != nil {
		return "", fmt.Errorf("PackageVariant %s/%s: %w", pv.Namespace, pv.Name, err)
	}
	return Digest(string(b)), nil
}

// noFunctions is Inputs.Functions of a package without functions.
var noFunctions = short(Digest())

// unnamedReason is the reason where all parts are the same and the digest is not: the
// commit of the Published revision is in the digest alone.
func unnamedReason(old Inputs) string {
	if old.Published != "" {
		return "the tag " + old.Published + " moved, or an earlier version of variform made it"
	}
	return "an earlier version of variform made it, and took its inputs otherwise"
}

// Why compares recorded inputs with present ones, one line for each change.
func Why(old, now Inputs, upstream string) []string {
	switch {
	case old.Digest == "":
		return []string{"no record of the inputs"}
	case old.Upstream == "": // the record has no more of what others merged
		return []string{"its inputs changed since, of which only a digest is recorded"}
	}
	var out []string
	if old.Upstream != now.Upstream {
		out = append(out, "upstream changed: now "+upstream)
	}
	if old.Spec != now.Spec {
		out = append(out, "variant spec changed")
	}
	if old.Context != now.Context {
		out = append(out, "injected context objects changed")
	}
	if old.Points != now.Points {
		out = append(out, "context objects changed that are injected where people asked for it")
	}
	if old.Values != now.Values {
		out = append(out, "values of other packages changed")
	}
	switch {
	case old.Functions == now.Functions:
	case old.unrendered():
		out = append(out, "its functions were left unrun")
	case now.unrendered():
		out = append(out, "its functions are left unrun")
	case now.Functions == noFunctions:
		out = append(out, "it has no functions any more")
	case old.Functions == noFunctions:
		out = append(out, "it has functions now")
	default:
		out = append(out, "functions, or their versions, changed")
	}
	switch {
	case old.Published == now.Published:
	case now.Published == "":
		out = append(out, old.Published+", which it started from, has no tag any more")
	default:
		out = append(out, now.Published+" was published")
	}
	if old.Main != now.Main {
		out = append(out, "what stands on the registered branch changed")
	}
	if len(out) == 0 {
		out = append(out, unnamedReason(old))
	}
	return out
}
