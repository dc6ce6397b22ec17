package reconcile

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/variform/variform/api/config/v1alpha1"
)

// engineVersion goes into the digest: a change in how packages are built that
// should reach every variant raises it.
const engineVersion = "1"

// released stands in the Variform-Variant trailer of a package that no variant
// owns any more.
const released = "-"

// inputs are the digests of all that goes into a variant's package (design
// section 7). The Draft's own content is none of them, so that hand edits
// trigger nothing.
type inputs struct {
	Digest    string // of all the others
	Upstream  string // upstream package tree, or image
	Published string // vN started from, "" for none
	Spec      string
	Context   string
	Functions string
	Values    string // that other packages give, "" for none
}

// part is how much of a part's digest is kept to tell which one changed.
const part = 12

// String is the value of the Variform-Inputs trailer: the digest, then its
// parts, so that the next run can say which of them changed.
func (i inputs) String() string {
	s := "sha256:" + i.Digest + " upstream=" + i.Upstream + " spec=" + i.Spec + " context=" + i.Context + " functions=" + i.Functions
	if i.Values != "" {
		s += " values=" + i.Values
	}
	if i.Published != "" {
		s += " published=" + i.Published
	}
	return s
}

func parseInputs(trailer string) inputs {
	var i inputs
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
		case "spec":
			i.Spec = v
		case "context":
			i.Context = v
		case "functions":
			i.Functions = v
		case "values":
			i.Values = v
		}
	}
	return i
}

// inputParts are the whole values behind an inputs.
type inputParts struct {
	upstreamTree string // or the digest of its image
	upstreamRef  string // repository, path and ref, as the Kptfile names them
	published    string // vN
	publishedAt  string // its commit: what it holds, without reading it
	spec         string // canonical JSON
	context      string // digest of the injected objects
	functions    []string
	values       string // short digest of what other packages give, "" for nothing
}

// from adds the Published revision that the variant starts from, nil for none.
func (p inputParts) from(published *head) inputParts {
	if published != nil {
		p.published, p.publishedAt = revisionName(published.Number), published.Ref.Commit.String()
	}
	return p
}

func (p inputParts) digest() inputs {
	upstream, spec, functions := hash(p.upstreamTree, p.upstreamRef), hash(p.spec), hash(p.functions...)
	all := []string{engineVersion, upstream, p.published, p.publishedAt, spec, p.context, functions}
	if p.values != "" {
		all = append(all, p.values)
	}
	return inputs{
		Digest: hash(all...), Upstream: short(upstream), Published: p.published, Spec: short(spec),
		Context: short(hash(p.context)), Functions: short(functions), Values: p.values,
	}
}

// functions names what a variant's package is rendered with: the upstream's
// pipelines and what the variant adds to them.
func (e *Engine) functions(w *work) []string {
	if e.cfg.Renderer == nil {
		return []string{"not rendered"}
	}
	p := w.pv.Spec.Pipeline
	if p == nil {
		return w.up.functions
	}
	out := slices.Clone(w.up.functions)
	for _, f := range slices.Concat(p.Mutators, p.Validators) {
		k := functionKey{f.Image, f.Exec, f.Tag}
		out = append(out, "variant "+e.versions.get(k, func() string { return e.cfg.Renderer.Version(k.image, k.exec, k.tag) }))
	}
	return out
}

type functionKey struct{ image, exec, tag string }

func hash(values ...string) string {
	var b []byte
	for _, v := range values {
		b = append(strconv.AppendInt(b, int64(len(v)), 10), ':')
		b = append(b, v...)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func short(digest string) string { return digest[:part] }

// canonicalSpec is what of a variant goes into its package again and again.
// Labels and annotations are left out: they are set at creation only (seed
// 002, "Basic Spec Fields"), and so is the upstream, which is an input of its own.
func canonicalSpec(v *variant, owner string) (string, error) {
	pv := v.pv
	s := pv.Spec
	s.Labels, s.Annotations = nil, nil
	s.Upstream = nil
	s.AdoptionPolicy = ""
	b, err := json.Marshal(struct {
		Owner, Set string
		Spec       v1alpha1.PackageVariantSpec
		For        string `json:",omitempty"`
	}{owner, v.set, s, v.madeFor()})
	if err != nil {
		return "", fmt.Errorf("PackageVariant %s/%s: %w", pv.Namespace, pv.Name, err)
	}
	return string(b), nil
}

// why compares recorded inputs with present ones, one line for each change.
func why(old, now inputs, upstream string) []string {
	if old.Digest == "" {
		return []string{"no record of the inputs"}
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
	if old.Values != now.Values {
		out = append(out, "values of other packages changed")
	}
	if old.Functions != now.Functions {
		out = append(out, "functions changed version")
	}
	if old.Published != now.Published {
		out = append(out, fmt.Sprintf("%s was published", now.Published))
	}
	if len(out) == 0 {
		out = append(out, "built by another version of variform")
	}
	return out
}
