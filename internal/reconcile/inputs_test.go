package reconcile

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/api/config/v1alpha1"
)

func parts() inputParts {
	return inputParts{
		upstreamTree: "tree", upstreamRef: "ref", published: "v1", publishedAt: "published",
		spec: "{}", context: "a", functions: []string{"f@v1"},
	}
}

func TestInputsRoundTrip(t *testing.T) {
	full := parts().digest()
	first := parts()
	first.published, first.publishedAt = "", ""
	for name, in := range map[string]inputs{"from a revision": full, "first": first.digest(), "none": {}} {
		t.Run(name, func(t *testing.T) {
			text := in.String()
			if name == "none" {
				text = ""
			}
			if d := cmp.Diff(in, parseInputs(text)); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
	if got := parseInputs("rubbish x=y sha256:abc"); got.Digest != "abc" || got.Spec != "" {
		t.Errorf("unknown words: %+v", got)
	}
}

// Each part changes the digest, and its own reason alone.
func TestWhy(t *testing.T) {
	cases := map[string]struct {
		change func(*inputParts)
		want   []string
	}{
		"upstream's content": {func(p *inputParts) { p.upstreamTree = "other" }, []string{"upstream changed: now up"}},
		"upstream's name":    {func(p *inputParts) { p.upstreamRef = "other" }, []string{"upstream changed: now up"}},
		"spec":               {func(p *inputParts) { p.spec = "{a}" }, []string{"variant spec changed"}},
		"context":            {func(p *inputParts) { p.context = "b" }, []string{"injected context objects changed"}},
		"functions":          {func(p *inputParts) { p.functions = nil }, []string{"functions changed version"}},
		"published":          {func(p *inputParts) { p.published = "v2" }, []string{"v2 was published"}},
		"published content":  {func(p *inputParts) { p.publishedAt = "x" }, []string{"built by another version of variform"}},
		"two":                {func(p *inputParts) { p.spec, p.functions = "x", nil }, []string{"variant spec changed", "functions changed version"}},
	}
	old := parts().digest()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			p := parts()
			c.change(&p)
			now := p.digest()
			if now.Digest == old.Digest {
				t.Error("the digest is the same")
			}
			if d := cmp.Diff(c.want, why(old, now, "up")); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
	if got := why(inputs{}, old, "up"); len(got) != 1 || !strings.Contains(got[0], "no record") {
		t.Errorf("without a record: %q", got)
	}
}

// What is set at creation only is no input.
func TestCanonicalSpec(t *testing.T) {
	pv := func(change func(*v1alpha1.PackageVariantSpec)) *v1alpha1.PackageVariant {
		v := &v1alpha1.PackageVariant{}
		v.Spec.Upstream = &v1alpha1.Upstream{Repo: "catalog", Package: "web", Revision: "v1"}
		v.Spec.Downstream = &v1alpha1.Downstream{Repo: "c1", Package: "web"}
		change(&v.Spec)
		return v
	}
	text := func(v *v1alpha1.PackageVariant, set, owner string) string {
		t.Helper()
		s, err := canonicalSpec(&variant{pv: v, set: set}, owner)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	base := text(pv(func(*v1alpha1.PackageVariantSpec) {}), "s", "o")
	same := map[string]func(*v1alpha1.PackageVariantSpec){
		"labels":      func(s *v1alpha1.PackageVariantSpec) { s.Labels = map[string]string{"a": "b"} },
		"annotations": func(s *v1alpha1.PackageVariantSpec) { s.Annotations = map[string]string{"a": "b"} },
		"upstream":    func(s *v1alpha1.PackageVariantSpec) { s.Upstream.Revision = "v2" },
		"adoption":    func(s *v1alpha1.PackageVariantSpec) { s.AdoptionPolicy = v1alpha1.AdoptExisting },
	}
	for name, change := range same {
		if got := text(pv(change), "s", "o"); got != base {
			t.Errorf("%s changes the digest: %s", name, got)
		}
	}
	other := map[string]string{
		"set":    text(pv(func(*v1alpha1.PackageVariantSpec) {}), "t", "o"),
		"owner":  text(pv(func(*v1alpha1.PackageVariantSpec) {}), "s", "p"),
		"policy": text(pv(func(s *v1alpha1.PackageVariantSpec) { s.DeletionPolicy = v1alpha1.DeletionOrphan }), "s", "o"),
	}
	for name, got := range other {
		if got == base {
			t.Errorf("%s does not change the digest", name)
		}
	}
	v := pv(func(s *v1alpha1.PackageVariantSpec) { s.Labels = map[string]string{"a": "b"} })
	_ = text(v, "s", "o")
	if v.Spec.Labels == nil || v.Spec.Upstream == nil {
		t.Error("the variant itself was changed")
	}
}
