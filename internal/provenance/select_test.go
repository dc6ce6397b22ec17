package provenance

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/test/krmtest"
)

// edited are the origins of a package of which a person changed two values.
func edited(t *testing.T) *Origins {
	t.Helper()
	files := map[string]string{"d.yaml": served, "README.md": "a\nb\n", "two.yaml": "# two\napiVersion: v1\nkind: A\nmetadata: {name: a}\n---\napiVersion: x.io/v1\nkind: A\nmetadata:\n  name: b\n"}
	trace := New(krmtest.Package(t, files), "cat/web@v1")
	files["d.yaml"] = strings.NewReplacer("replicas: 1", "replicas: 2", "log:1", "log:2").Replace(served)
	trace.Step(krmtest.Package(t, files), func(v Value) Origin {
		return Origin{Kind: Person, File: "sets.yaml", Line: v.Line}
	})
	return trace.Origins()
}

func TestSelect(t *testing.T) {
	o := edited(t)
	for name, want := range map[string][]string{
		"README.md":                    {""},
		"A/a":                          {"apiVersion", "kind", "metadata.name"},
		"A.x.io":                       {"apiVersion", "kind", "metadata.name"},
		"A/b:kind":                     {"kind"},
		"A:metadata":                   {"metadata.name", "metadata.name"},
		"Deployment/web:spec.replicas": {"spec.replicas"},
		`Deployment/web:spec.template.spec.containers[name="log"].image`: {"spec.template.spec.containers[name=log].image"},
		"B":                   nil,
		"A.y.io":              nil,
		"A/c":                 nil,
		"Deployment/web:spe":  nil,
		"Deployment.apps/www": nil,
	} {
		list, err := o.Select(name)
		var got []string
		for _, l := range list {
			got = append(got, l.Field)
		}
		if d := cmp.Diff(want, got); d != "" || (err != nil) != (want == nil) || err != nil && !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v\n%s", name, err, d)
		}
	}
	if all, err := o.Select(""); err != nil || len(all) != len(o.Leaves()) || len(all) < 15 {
		t.Errorf("all: %d, %v", len(all), err)
	}
}

// A text that is a part of a file keeps all of it.
func TestSelectedAreApart(t *testing.T) {
	o := edited(t)
	all := o.Leaves()
	selected, err := o.Select("")
	if err != nil || len(selected) != len(all) {
		t.Fatal(len(selected), err)
	}
	for i, l := range all {
		s := selected[i]
		for _, text := range [][2]string{{l.Value, s.Value}, {l.ID.Name, s.ID.Name}, {l.ID.Kind, s.ID.Kind}, {l.ID.Group, s.ID.Group}} {
			if text[0] != text[1] || text[0] != "" && unsafe.StringData(text[0]) == unsafe.StringData(text[1]) {
				t.Errorf("%s:%s: %q is that of the package", l.Resource(), l.Field, text[1])
			}
		}
	}
	for _, l := range o.From("d.yaml", 0, 0) {
		if slices.ContainsFunc(all, func(was Leaf) bool { return unsafe.StringData(was.Value) == unsafe.StringData(l.Value) }) {
			t.Errorf("%s:%s: %q is that of the package", l.Resource(), l.Field, l.Value)
		}
	}
}

func TestOwn(t *testing.T) {
	via := Leaf{Origin: Origin{Kind: Upstream, Via: []Via{{Carrier: Function}}}}
	list := []Leaf{{Origin: Origin{Kind: Upstream}}, via, {Origin: Origin{Kind: Machine}}, {Origin: Origin{Kind: Person}}}
	if got := Own(list); len(got) != 2 || got[0].Origin.Kind != Upstream || got[1].Origin.Kind != Person || len(list) != 4 || list[0].Origin.Kind != Upstream {
		t.Errorf("%+v of %+v", got, list)
	}
	many := append(slices.Repeat(list[:1], 100), via)
	if got := Own(many); len(got) != 1 || cap(got) > 8 {
		t.Errorf("%d values in place of %d", len(got), cap(got))
	}
}

func TestFrom(t *testing.T) {
	o := edited(t)
	leaves := o.Leaves()
	for i := range leaves { // people's edits have commits, and no lines
		if leaves[i].Origin.Kind == Person {
			leaves[i].Origin.Kind = Object
		}
	}
	leaves[0].Origin.Also = []Origin{{Kind: Template, File: "also.yaml", Line: 3}}
	leaves[1].Origin = Origin{Kind: Person, File: "sets.yaml", Line: 6}
	o = newOrigins([]part{{leaves: func() []Leaf { return leaves }}}, Origin{}, nil)
	for name, c := range map[string]struct {
		file        string
		first, last int
		want        int
	}{
		"the file": {"sets.yaml", 0, 0, 2}, "a line": {"sets.yaml", 6, 6, 1}, "no line of it": {"sets.yaml", 7, 13, 0}, "both": {"sets.yaml", 6, 14, 2},
		"one of several inputs": {"also.yaml", 3, 3, 1}, "another file": {"set.yaml", 0, 0, 0},
	} {
		if got := o.From(c.file, c.first, c.last); len(got) != c.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestSpreader(t *testing.T) {
	id := krm.ID{Kind: "Deployment", Name: "web"}
	leaf := func(value, object string, line int) []Leaf {
		return []Leaf{{File: "d.yaml", ID: id, Field: "spec.replicas", Value: value, Origin: Origin{Kind: Object, Object: "ConfigMap " + object, Field: "data.n", Line: line}}}
	}
	day := func(n int) time.Time { return time.Date(2026, 1, n, 0, 0, 0, 0, time.UTC) }
	var s Spreader
	s.Add("c1", day(2), leaf("1", "c1", 4))
	s.Add("c2", day(4), leaf("1", "c2", 9))
	s.Add("c3", time.Time{}, leaf("2", "c3", 4))
	s.Add("c4", day(1), []Leaf{{File: "README.md", Origin: Origin{Kind: Upstream}}})
	var got []string
	for _, v := range s.All() {
		got = append(got, v.Field+"="+v.Value+" "+strings.Join(v.Members, ","))
	}
	if d := cmp.Diff([]string{"Deployment/web:spec.replicas=2 c3", "Deployment/web:spec.replicas=1 c1,c2", "README.md= c4"}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}

	both := s.All()[1]
	for name, c := range map[string]struct {
		first, second *Since
		newest        string
		after         int
	}{
		"not known":          {nil, nil, "", 0},
		"before both":        {&Since{Commit: "a", Committed: day(1)}, &Since{Commit: "b", Committed: day(2)}, "b", 0},
		"after one":          {&Since{Commit: "a", Committed: day(3)}, &Since{Commit: "b", Committed: day(3)}, "a", 1},
		"after both":         {&Since{Commit: "a", Committed: day(6)}, &Since{Commit: "b", Committed: day(5)}, "a", 2},
		"at the approval":    {&Since{Commit: "a", Committed: day(2)}, nil, "a", 0},
		"not committed":      {&Since{Commit: "a", Committed: day(9)}, &Since{}, "", 2},
		"not committed here": {&Since{}, &Since{Commit: "b", Committed: day(1)}, "", 1},
	} {
		both.Own[0].Since, both.Own[1].Since = c.first, c.second
		both.Date()
		newest := ""
		if both.Origin.Since != nil {
			newest = both.Origin.Since.Commit
		}
		if newest != c.newest || both.AfterApproval != c.after {
			t.Errorf("%s: %q, after %d", name, newest, both.AfterApproval)
		}
	}
	if (&Since{Commit: "a", Committed: day(3)}).After(time.Time{}) {
		t.Error("after an approval that was not")
	}
}

func TestAnnotate(t *testing.T) {
	o := edited(t)
	annotated := func(path, data string) (out []string) {
		lines, err := o.Annotate(krm.File{Path: path, Data: []byte(data)})
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range lines {
			text := l.Text
			if l.Origin != nil {
				text += " # " + string(l.Origin.Kind)
			}
			out = append(out, text)
		}
		return out
	}
	got := annotated("d.yaml", strings.NewReplacer("replicas: 1", "replicas: 2", "log:1", "log:2").Replace(served))
	if got[5] != "  replicas: 2 # person" || got[9] != "      - name: web # upstream" || got[11] != "        args: [a, b, c] # upstream" || got[4] != "spec:" {
		t.Errorf("%q", got)
	}
	want := []string{"# two", "apiVersion: v1 # upstream", "kind: A # upstream", "metadata: {name: a} # upstream", "---", "apiVersion: x.io/v1 # upstream", "kind: A # upstream", "metadata:", "  name: b # upstream"}
	if d := cmp.Diff(want, annotated("two.yaml", "# two\napiVersion: v1\nkind: A\nmetadata: {name: a}\n---\napiVersion: x.io/v1\nkind: A\nmetadata:\n  name: b\n")); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if got := annotated("README.md", "a\nb\n"); !slices.Equal(got, []string{"a # upstream", "b # upstream"}) {
		t.Errorf("%q", got)
	}
}

func TestNothingIsKnown(t *testing.T) {
	var o *Origins
	if o.Leaves() != nil || o.Under("f", krm.ID{}, "") != nil || o.From("f", 0, 0) != nil {
		t.Error("of nothing something is known")
	}
}
