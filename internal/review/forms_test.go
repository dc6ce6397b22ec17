package review

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/internal/krm"
)

// A deviation of form that a package had before is no edit of a later change: its
// variant is in the class of the others. One that comes with the change is, but for the
// layout, which formatters and other tools write.
func TestForms(t *testing.T) {
	const head = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: site\n"
	plain := map[string]string{"a.yaml": head + "data:\n  a: x\n  b: two\n  c: three\n", "run.sh": "one\ntwo\nthree\n", "f.yaml": head + "data:\n  conf: |\n    one\n    two\n    three\n"}
	type edit func(p *krm.Package)
	file := func(name string, change func(string) string) edit {
		return func(p *krm.Package) {
			f, ok := p.Read(name)
			if !ok {
				t.Fatalf("no %s", name)
			}
			f.Data = []byte(change(string(f.Data)))
			p.Write(f)
		}
	}
	replace := func(name string, oldnew ...string) edit {
		return file(name, strings.NewReplacer(oldnew...).Replace)
	}
	mode := func(name string, m krm.Mode) edit {
		return func(p *krm.Package) {
			f, _ := p.Read(name)
			f.Mode = m
			p.Write(f)
		}
	}
	// update is what upstream changes, and what the merge makes of it in a file that deviates.
	update := []edit{replace("a.yaml", "a: x", "a: z", "a: \"x\"", "a: \"z\""), replace("run.sh", "three", "3"), replace("f.yaml", "three", "3")}
	many := []edit{replace("a.yaml", "a: x", "a: z", "c: three", "c: three\n  d: four", "kind: ConfigMap", "# the site\nkind: ConfigMap")}
	layout := []string{"another order", "another order, much changes", "quotes", "quotes elsewhere", "indentation", "lines of Windows"}
	for name, tc := range map[string]struct {
		deviates []edit
		update   []edit
	}{
		"an executable":                {[]edit{mode("a.yaml", krm.Executable)}, update},
		"an executable script":         {[]edit{mode("run.sh", krm.Executable)}, update},
		"another order":                {[]edit{replace("a.yaml", "  b: two\n  c: three\n", "  c: three\n  b: two\n")}, update},
		"another order, much changes":  {[]edit{replace("a.yaml", "  a: x\n  b: two\n  c: three\n", "  b: two\n  a: x\n  c: three\n")}, many},
		"quotes":                       {[]edit{replace("a.yaml", "a: x", `a: "x"`)}, update},
		"quotes elsewhere":             {[]edit{replace("a.yaml", "b: two", "b: 'two'")}, many},
		"indentation":                  {[]edit{replace("a.yaml", "  a:", "    a:", "  b:", "    b:", "  c:", "    c:")}, update},
		"lines at the end":             {[]edit{file("a.yaml", func(s string) string { return s + "\n\n# end\n" })}, update},
		"lines of Windows":             {[]edit{file("a.yaml", func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") })}, update},
		"a comment above":              {[]edit{file("a.yaml", func(s string) string { return "# mine\n\n" + s })}, update},
		"a comment at a value":         {[]edit{replace("a.yaml", "b: two", "b: two # mine")}, update},
		"a comment at what changes":    {[]edit{replace("a.yaml", "a: x\n", "a: x # mine\n")}, []edit{replace("a.yaml", "a: x", "a: z")}},
		"a comment at a key":           {[]edit{replace("a.yaml", "\ndata:", "\n# mine\ndata:")}, update},
		"a comment that went":          {[]edit{replace("a.yaml", "# theirs\n", "")}, update},
		"lines of a file without kind": {[]edit{replace("run.sh", "one", "one\nmine")}, update},
		"lines of a text in a field":   {[]edit{replace("f.yaml", "    one", "    one\n    mine")}, update},
		"another file":                 {[]edit{func(p *krm.Package) { f, _ := p.Read("a.yaml"); p.Remove("a.yaml"); f.Path = "z.yaml"; p.Write(f) }}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			of := func(edits ...[]edit) *krm.Package {
				files := map[string]string{}
				for k, v := range plain {
					files[k] = v
				}
				if name == "a comment that went" {
					files["a.yaml"] = "# theirs\n" + files["a.yaml"]
				}
				p := pkg(t, files)
				for _, list := range edits {
					for _, e := range list {
						e(p)
					}
				}
				all, err := p.Files()
				if err != nil {
					t.Fatal(err)
				}
				if p, err = krm.Parse(all); err != nil {
					t.Fatal(err)
				}
				return p
			}
			changes := []edit{replace("run.sh", "three", "3")}
			if tc.update != nil {
				changes = tc.update
			}
			made := of(changes)
			deviating, clean := of(tc.deviates, changes), of(changes)
			before := of(tc.deviates)
			report, err := Classify([]Change{
				{Variant: "a", Before: of(), After: clean, Machine: clean},
				{Variant: "b", Before: before, After: deviating, Machine: made},
			})
			if err != nil {
				t.Fatal(err)
			}
			if len(report.Classes) != 1 {
				t.Errorf("a deviation that was there splits the class: %v", report.Marks)
			}
			for _, m := range report.Marks {
				if m.Kind == ByHand {
					t.Errorf("a deviation that was there counts as an edit: %v", m)
				}
			}
			// The same, made on the Draft.
			report, err = Classify([]Change{
				{Variant: "a", Before: of(), After: clean, Machine: clean},
				{Variant: "b", Before: of(), After: deviating, Machine: made},
			})
			if err != nil {
				t.Fatal(err)
			}
			if split := len(report.Classes) == 2; split == slices.Contains(layout, name) {
				t.Errorf("a deviation that the change makes splits the class: %t", split)
			}
		})
	}
}

// TestSameForm: a file is written as before, or as the machine writes it.
func TestSameForm(t *testing.T) {
	for name, tc := range map[string]struct {
		before, machine, after string
		want                   bool
	}{
		"as before":                       {"a: 1\n# mine\n", "a: 1\n", "a: 1\n# mine\n", true},
		"as the machine":                  {"a: 1\n# mine\n", "a: 1\n", "a: 1\n", true},
		"a line of its own":               {"a: 1\n", "a: 1\n", "a: 1\n# mine\n", false},
		"a shared line went":              {"# c\na: 1\n", "# c\na: 1\n", "a: 1\n", false},
		"another value in its quotes":     {"a: '1'\n", "a: 2\n", "a: '2'\n", true},
		"other quotes":                    {"a: 1\n", "a: 2\n", "a: '2'\n", false},
		"another value with a comment":    {"a: 1 # mine\n", "a: 2\n", "a: 2 # mine\n", true},
		"what comes, indented as before":  {"a:\n    b: 1\n", "a:\n  b: 1\n  c: 2\n", "a:\n    b: 1\n    c: 2\n", true},
		"other indentation":               {"a:\n  b: 1\n", "a:\n  b: 1\n", "a:\n    b: 1\n", false},
		"the order of before":             {"b: 1\na: 1\nc: 1\n", "a: 1\nb: 1\nc: 2\n", "b: 1\na: 1\nc: 2\n", true},
		"another order":                   {"a: 1\nb: 1\nc: 1\n", "a: 1\nb: 1\nc: 1\n", "b: 1\na: 1\nc: 1\n", false},
		"two orders, of each a part":      {"b: 1\na: 1\nc: 1\nd: 1\n", "a: 1\nb: 1\nd: 1\nc: 1\n", "b: 1\na: 1\nd: 1\nc: 1\n", true},
		"lines of Windows, as before":     {"a: 1\r\n", "a: 2\n", "a: 2\r\n", true},
		"lines of Windows, now":           {"a: 1\n", "a: 2\n", "a: 2\r\n", false},
		"an item of a list in its quotes": {"- 'a'\n", "- b\n", "- 'b'\n", true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := sameForm(tc.before, tc.machine, tc.after); got != tc.want {
				t.Errorf("got %t", got)
			}
		})
	}
}

// TestMergeCommentIsNoEdit: what says what the upstream calls a resource says nothing
// else.
func TestMergeCommentIsNoEdit(t *testing.T) {
	text := config("a: x")
	with := strings.Replace(text, "metadata:", "metadata: # kpt-merge: ns/other", 1)
	for name, tc := range map[string]struct{ before, after string }{
		"one that comes":                {text, with},
		"one that goes":                 {with, text},
		"one that changes":              {with, strings.Replace(with, "other", "third", 1)},
		"one that goes before a change": {with, strings.Replace(text, "a: x", "a: z", 1)},
	} {
		t.Run(name, func(t *testing.T) {
			edits, err := Edits(pkg(t, map[string]string{"a.yaml": tc.before}), pkg(t, map[string]string{"a.yaml": tc.after}))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, e := range edits {
				got = append(got, e.String())
			}
			want := []string(nil)
			if strings.Contains(tc.after, "a: z") {
				want = []string{"data.a of ConfigMap site x → z"}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
