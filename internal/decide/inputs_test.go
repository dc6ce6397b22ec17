package decide

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/internal/injection"
)

func parts() Parts {
	return Parts{UpstreamTree: "tree", UpstreamRef: "ref", Spec: "{}", Context: "a", Functions: []string{"f"}, Versions: []string{"f@v1"}}
}

func published(n int, commit byte) *Published {
	return &Published{Number: n, Ref: Ref{Commit: Hash{commit}}}
}

func TestInputsRoundTrip(t *testing.T) {
	valued, marked := parts(), parts()
	valued.Values, marked.Points = "0123", "0123456789ab,v1/ConfigMap/more"
	for name, in := range map[string]Inputs{
		"from a revision": parts().Inputs(published(1, 1)), "first": parts().Inputs(nil), "values": valued.Inputs(nil),
		"points": marked.Inputs(nil), "none": {}, "edits are kept": {Digest: "0", Keep: true},
	} {
		t.Run(name, func(t *testing.T) {
			text := in.String()
			if name == "none" {
				text = ""
			}
			if d := cmp.Diff(in, ParseInputs(text)); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
	if got := ParseInputs("rubbish x=y sha256:abc"); got.Digest != "abc" || got.Spec != "" {
		t.Errorf("unknown words: %+v", got)
	}
}

// Each part changes the digest, and its own reason alone.
func TestWhy(t *testing.T) {
	cases := map[string]struct {
		change func(*Parts, *Published)
		want   []string
	}{
		"upstream's content": {func(p *Parts, _ *Published) { p.UpstreamTree = "other" }, []string{"upstream changed: now up"}},
		"upstream's name":    {func(p *Parts, _ *Published) { p.UpstreamRef = "other" }, []string{"upstream changed: now up"}},
		"spec":               {func(p *Parts, _ *Published) { p.Spec = "{a}" }, []string{"variant spec changed"}},
		"context":            {func(p *Parts, _ *Published) { p.Context = "b" }, []string{"injected context objects changed"}},
		"added points":       {func(p *Parts, _ *Published) { p.Points = "0123,v1/A/a" }, []string{"context objects changed that are injected where people asked for it"}},
		"functions":          {func(p *Parts, _ *Published) { p.Functions, p.Versions = nil, nil }, []string{"it has no functions any more"}},
		"other functions":    {func(p *Parts, _ *Published) { p.Functions, p.Versions = []string{"g"}, []string{"g@v1"} }, []string{"functions, or their versions, changed"}},
		"left unrun":         {func(p *Parts, _ *Published) { p.Functions, p.Versions = []string{NotRendered}, []string{NotRendered} }, []string{"its functions are left unrun"}},
		"published":          {func(_ *Parts, p *Published) { p.Number = 2 }, []string{"v2 was published"}},
		"published content":  {func(_ *Parts, p *Published) { p.Ref.Commit = Hash{9} }, []string{"the tag v1 moved, or an earlier version of variform made it"}},
		"two":                {func(p *Parts, _ *Published) { p.Spec, p.Functions, p.Versions = "x", nil, nil }, []string{"variant spec changed", "it has no functions any more"}},
	}
	old := parts().Inputs(published(1, 1))
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			p, from := parts(), published(1, 1)
			c.change(&p, from)
			now := p.Inputs(from)
			if now.Digest == old.Digest && now.Points == old.Points {
				t.Error("the digest is the same")
			}
			if d := cmp.Diff(c.want, Why(old, now, "up")); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
	if got := Why(Inputs{Digest: "abc"}, old, "up"); len(got) != 1 || got[0] != "its inputs changed since, of which only a digest is recorded" {
		t.Errorf("of a digest alone: %q", got)
	}
	gone := old
	gone.Published = ""
	if got := Why(old, gone, "up"); len(got) != 1 || got[0] != "v1, which it started from, has no tag any more" {
		t.Errorf("without its tag: %q", got)
	}
	first := gone
	first.Digest = "other"
	if got := Why(gone, first, "up"); len(got) != 1 || got[0] != "an earlier version of variform made it, and took its inputs otherwise" {
		t.Errorf("of nothing that is known: %q", got)
	}
	none := parts()
	none.Functions, none.Versions = nil, nil
	if got := Why(none.Inputs(published(1, 1)), old, "up"); len(got) != 1 || got[0] != "it has functions now" {
		t.Errorf("of none: %q", got)
	}
	if got := Why(Inputs{}, old, "up"); len(got) != 1 || !strings.Contains(got[0], "no record") {
		t.Errorf("without a record: %q", got)
	}
}

// What is set at creation only is no input.
func TestSpecDigest(t *testing.T) {
	pv := func(change func(*v1alpha1.PackageVariantSpec)) *v1alpha1.PackageVariant {
		v := &v1alpha1.PackageVariant{}
		v.Spec.Upstream = &v1alpha1.Upstream{Repo: "catalog", Package: "web", Revision: "v1"}
		v.Spec.Downstream = &v1alpha1.Downstream{Repo: "c1", Package: "web"}
		change(&v.Spec)
		return v
	}
	text := func(v *v1alpha1.PackageVariant, set, owner string) string {
		t.Helper()
		s, err := SpecDigest(v, owner, set, "")
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

// Points that people added are known from the trailer alone: nothing is read for them.
func TestAdded(t *testing.T) {
	points := []injection.Point{
		{APIVersion: "x.io/v1", Group: "x.io", Version: "v1", Kind: "E", Name: "e", ConditionType: "config.injection.E.e"},
		{APIVersion: "v1", Version: "v1", Kind: "ConfigMap", Name: "a, b/c", ConditionType: "config.injection.ConfigMap.a, b/c"},
	}
	selected := func(points []injection.Point) *injection.Report { return injection.Select(points, injection.Request{}) }
	p := parts()
	p.Points = PointsOf(selected(points))
	in := ParseInputs(p.Inputs(nil).String())
	if d := cmp.Diff([]injection.Point{points[1], points[0]}, in.Added(), cmpopts.IgnoreUnexported(injection.Point{})); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	if got := PointsOf(selected(in.Added())); got != p.Points {
		t.Errorf("%s becomes %s", p.Points, got)
	}
	if in.Digest != parts().Inputs(nil).Digest {
		t.Error("they are known when it is built, after the digest")
	}
	if got := PointsOf(selected(nil)); got != "" {
		t.Error(got)
	}
	if got := (Inputs{Points: "0123,v1/ConfigMap,v1/A/%zz"}).Added(); got != nil {
		t.Error(got)
	}
}

// TestDigestCosts counts: of a digest its text alone is allocated.
func TestDigestCosts(t *testing.T) {
	spec := strings.Repeat("s", 600)
	if n := testing.AllocsPerRun(10, func() { Digest("1", spec, "2") }); n > 1 {
		t.Errorf("%.0f objects", n)
	}
}
