package fleet

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/internal/reconcile"
	"github.com/variform/variform/variantgen"
)

func TestCauses(t *testing.T) {
	of := func(set, entry, field, text string) error {
		description := ""
		if entry != "" {
			description = "spec.targets[0].repositories[0] (" + entry + ")"
		}
		return variantgen.Failure{Origin: variantgen.Origin{Namespace: "default", Set: set, Description: description}, Field: field, Err: errors.New(text)}
	}
	located := func(err error) error { return &locatedError{text: "set.yaml:1: " + err.Error(), err: err} }
	p := &reconcile.Plan{Problems: []error{errors.New("c9 cannot be read"), errors.New("c9 cannot be read")}}
	p.Sets = []*reconcile.SetStatus{{}, {}}
	p.Sets[0].Failures = []error{
		located(of("web", "c1/web", "spec.a", "bad")), located(of("web", "c2/web", "spec.a", "bad")), of("web", "c3/web", "spec.b", "bad"),
		of("web", "c4/web", "spec.a", "worse"), of("web", "c5/web", "spec.a", "bad"), of("web", "", "spec.a", "bad"),
	}
	p.Sets[1].Failures = []error{of("db", "c1/web", "spec.a", "bad"), of("", "c7/web", "spec.a", "bad")}
	for n := 6; n < 10; n++ {
		p.Sets[0].Failures = append(p.Sets[0].Failures, of("web", "c"+string(rune('0'+n))+"/web", "spec.b", "bad"))
	}
	var got []string
	for _, c := range Causes(p) {
		got = append(got, c.With(c.Err.Error()))
	}
	at := "PackageVariantSet default/web: spec.targets[0].repositories[0] "
	if d := cmp.Diff([]string{
		"c9 cannot be read", "c9 cannot be read",
		"set.yaml:1: " + at + "(c1/web): spec.a: bad; the same for 2 more targets: c2/web; c5/web",
		at + "(c3/web): spec.b: bad; the same for 4 more targets: c6/web; c7/web; c8/web; and 1 more",
		at + "(c4/web): spec.a: worse",
		"PackageVariantSet default/web: spec.a: bad",
		"PackageVariantSet default/db: spec.targets[0].repositories[0] (c1/web): spec.a: bad",
		"spec.targets[0].repositories[0] (c7/web): spec.a: bad",
	}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if len(p.Sets[0].Failures) != 10 || len(p.Problems) != 2 {
		t.Error("the plan changed")
	}
}

func TestOncePerText(t *testing.T) {
	got := OncePerText([]string{"a.yaml:3: bad", "no place", "b.yaml:1: worse", "a.yaml:9: bad", "no place", "c.yaml:1: bad", "d.yaml:2: bad", "e.yaml:2: bad"})
	want := []string{"a.yaml:3: bad; the same at a.yaml:9, c.yaml:1, d.yaml:2, and 1 more", "no place", "b.yaml:1: worse", "no place"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
