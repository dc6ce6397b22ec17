package review

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/provenance"
)

// What two packages have in common is on neither side; a mode alone makes a difference.
func TestDiffering(t *testing.T) {
	before := pkg(t, map[string]string{"a.yaml": resource("A", "a", ""), "b.yaml": resource("B", "b", ""), "gone.yaml": resource("C", "c", ""), "m.sh": "x", "same.txt": "x"})
	after := pkg(t, map[string]string{"a.yaml": resource("A", "a", ""), "b.yaml": resource("B", "b", "spec: {}\n"), "m.sh": "x", "new.yaml": resource("D", "d", ""), "same.txt": "x"})
	after.Write(krm.File{Path: "m.sh", Mode: krm.Executable, Data: []byte("x")})
	of := func(s side) (all []string) {
		all = slices.Sorted(maps.Keys(s.files))
		for _, r := range s.resources {
			all = append(all, r.Kind())
		}
		for _, path := range slices.Sorted(maps.Keys(s.byPath)) {
			all = append(all, fmt.Sprint(path, " ", len(s.byPath[path])))
		}
		return all
	}
	for _, c := range []struct {
		was, now *krm.Package
		a, b     []string
	}{
		{before, after, []string{"b.yaml", "gone.yaml", "m.sh", "B", "C", "b.yaml 1", "gone.yaml 1"}, []string{"b.yaml", "m.sh", "new.yaml", "B", "D", "b.yaml 1", "new.yaml 1"}},
		{before, before.Clone(), nil, nil},
		{nil, pkg(t, map[string]string{"z.yaml": resource("Z", "z", "")}), nil, []string{"z.yaml", "Z", "z.yaml 1"}},
		{pkg(t, map[string]string{"z.yaml": resource("Z", "z", "")}), nil, []string{"z.yaml", "Z", "z.yaml 1"}, nil},
	} {
		a, b, err := differing(c.was, c.now)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([][]string{c.a, c.b}, [][]string{of(a), of(b)}); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// A comment is an edit wherever it is, and one beside a value can be taken back.
func TestCommentEdits(t *testing.T) {
	const text = "spec:\n  list: [x]\n  keyed:\n  - name: a\n    v: 1\n  map:\n    k: 1\n"
	for name, tc := range map[string]struct {
		old, now, field string
		taken           bool
	}{
		"of a scalar":        {"v: 1", "v: 1 # mine", "spec.keyed[name=a].v", true},
		"of a list":          {"list: [x]", "list: [x] # mine", "spec.list", true},
		"of an item":         {"- name: a", "# mine\n  - name: a", "spec.keyed[name=a]", false},
		"of a map's key":     {"map:", "map: # mine", "spec.map", true},
		"above a key":        {"  map:", "  # mine\n  map:", "spec.map", false},
		"below the last key": {"k: 1\n", "k: 1\n    # mine\n", "spec.map.k", false},
	} {
		t.Run(name, func(t *testing.T) {
			of := func(spec string) *krm.Package {
				return pkg(t, map[string]string{"x.yaml": resource("A", "a", spec), "y.yaml": resource("B", "b", "")})
			}
			before, after := of(text), of(strings.Replace(text, tc.old, tc.now, 1)+"other: 1\n")
			edits, err := Edits(before, after)
			if err != nil || len(edits) != 2 || edits[1].Field != tc.field || edits[1].Op != Comment {
				t.Fatalf("%v %v", edits, err)
			}
			out, err := Without(before, after, edits[1])
			if (err == nil) != tc.taken {
				t.Fatal(err)
			}
			if !tc.taken {
				return
			}
			if f, _ := out.Read("x.yaml"); string(f.Data) != resource("A", "a", text+"other: 1\n") {
				t.Errorf("%s", f.Data)
			}
		})
	}
}

// A file that cannot be parsed is one edit with its line: nothing in it was removed, and
// nothing in it is new once it is corrected.
func TestBrokenFiles(t *testing.T) {
	good := resource("A", "a", "") + "---\n" + resource("B", "b", "")
	broken := strings.Replace(good, "---\n", "<<<<<<< HEAD\n", 1)
	line := strings.Count(broken[:strings.Index(broken, "<<<")], "\n") + 1
	of := func(text string) *krm.Package {
		if text == "" {
			return pkg(t, nil)
		}
		return pkg(t, map[string]string{"x.yaml": text})
	}
	for name, tc := range map[string]struct {
		before, after string
		want          []string
	}{
		"broken by hand":   {good, broken, []string{fmt.Sprintf("x.yaml:%d cannot be parsed: it is not valid YAML: conflict marker <<<<<<<", line)}},
		"new and broken":   {"", broken, []string{fmt.Sprintf("x.yaml:%d cannot be parsed: it is not valid YAML: conflict marker <<<<<<<", line)}},
		"another encoding": {good, "\xff\xfea\x00", []string{"x.yaml:1 cannot be parsed: it is UTF-16 text; save it as UTF-8"}},
		"corrected":        {broken, good, []string{"x.yaml"}},
		"removed":          {broken, "", []string{"removed x.yaml"}},
		"as it was":        {broken, broken, nil},
	} {
		t.Run(name, func(t *testing.T) {
			edits, err := Edits(of(tc.before), of(tc.after))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, e := range edits {
				got = append(got, e.String())
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if len(edits) == 0 {
				return
			}
			back, err := Without(of(tc.before), of(tc.after), edits...)
			if err != nil {
				t.Fatal(err)
			}
			if same, err := samePackage(of(tc.before), back); err != nil || !same {
				t.Errorf("taken back it is not as it was: %v", err)
			}
		})
	}
}

// Many resources are compared side by side: their edits and cells are those of each.
func TestManyResources(t *testing.T) {
	files := func(n int, value string) *krm.Package {
		var all []string
		for i := range n {
			all = append(all, resource("ConfigMap", fmt.Sprintf("c%03d", i), "data:\n  k: "+value+"\n"))
		}
		return pkg(t, map[string]string{"all.yaml": strings.Join(all, "---\n")})
	}
	for _, n := range []int{1, resourcesPerCore, resourcesPerCore + 1, 3 * resourcesPerCore} {
		c := Change{Before: files(n, "a"), After: files(n, "b"), Origins: provenance.New(files(n, "b"), "up").Origins()}
		edits, err := diffPackages(&c)
		if err != nil {
			t.Fatal(err)
		}
		s, err := shapeOf(&c)
		if err != nil || len(edits) != n || len(s.edits) != n || len(s.cells) != n || s.cells[n-1].after != "b" {
			t.Fatalf("%d resources: %d edits, %d edits and %d cells of a shape, %v", n, len(edits), len(s.edits), len(s.cells), err)
		}
		for i, e := range edits {
			want := fmt.Sprintf("ConfigMap c%03d", i)
			if of := s.cells[i]; e.Resource != want || of.Resource != want || of.origin == "" {
				t.Errorf("%d of %d: %s and %s by %q, want %s", i, n, e.Resource, of.Resource, of.origin, want)
			}
		}
	}
}

// A change is compared without its edits being told; told later they are the same.
func TestEditsAreToldLate(t *testing.T) {
	c := Change{
		Before: pkg(t, map[string]string{"x.yaml": resource("X", "x", "spec:\n  list: [a]\n  map: {k: v}\n  n: 1\n"), "y.yaml": resource("Y", "y", "")}),
		After:  pkg(t, map[string]string{"x.yaml": resource("X", "x", "spec:\n  list: {a: b}\n  n: 2\n"), "z.yaml": resource("Z", "eu", "")}), Aliases: map[string]string{"eu": "repository"},
	}
	want, err := diffPackages(&c)
	if err != nil || len(want) != 5 {
		t.Fatal(err, want)
	}
	s, err := shapeOf(&c)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range s.edits {
		if e.Before+e.After+e.Digest != "" {
			t.Errorf("told already: %+v", e.Edit)
		}
	}
	got := s.norm.edits(s.edits)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, e := range got {
		if e.Digest == "" || e.Field != "" && e.Before+e.After == "" {
			t.Errorf("not told: %+v", e)
		}
	}
}
