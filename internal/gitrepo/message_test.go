package gitrepo

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/google/go-cmp/cmp"
)

func TestMessage(t *testing.T) {
	tests := map[string]struct {
		text     string
		a        *Annotation
		trailers Trailers
		want     string
	}{
		"Clone": {
			text: "Create app\n\nfrom upstream",
			a: &Annotation{Package: "dir/app", WorkspaceName: "packagevariant-1", Revision: "0", Task: &Task{Type: TaskClone, Clone: &CloneTask{
				Upstream: UpstreamPackage{Type: "git", Git: &GitPackage{Repo: "https://x/<y>&z", Ref: "v1", Directory: "app"}},
			}}},
			trailers: Trailers{Variant: "m/default/v", Inputs: "sha256:ab"},
			want: "Create app\n\nfrom upstream\n\n" +
				`kpt:{"package":"dir/app","workspaceName":"packagevariant-1","revision":"0","task":{"type":"clone","clone":{"upstreamRef":{"type":"git","git":{"repo":"https://x/\u003cy\u003e\u0026z","ref":"v1","directory":"app","secretRef":{"name":""}}}}}}` +
				"\n\nVariform-Variant: m/default/v\nVariform-Inputs: sha256:ab\n",
		},
		"Upgrade": {
			text: "Upgrade",
			a:    &Annotation{Package: "app", Task: &Task{Type: TaskUpgrade, Upgrade: &UpgradeTask{OldUpstream: RevisionRef{"a"}, NewUpstream: RevisionRef{"b"}, Strategy: "resource-merge"}}},
			want: "Upgrade\n\n" + `kpt:{"package":"app","task":{"type":"upgrade","upgrade":{"oldUpstreamRef":{"name":"a"},"newUpstreamRef":{"name":"b"},"localPackageRevisionRef":{"name":""},"strategy":"resource-merge"}}}` + "\n",
		},
		"TextOnly":     {text: "Reject\n\n", want: "Reject\n"},
		"Class":        {text: "x", trailers: Trailers{Class: "2d61dd31df83"}, want: "x\n\nVariform-Class: 2d61dd31df83\n"},
		"Exempt":       {text: "x", trailers: Trailers{Exempt: "type: Ann knows"}, want: "x\n\nVariform-Exempt: type: Ann knows\n"},
		"Invalid":      {text: "x", trailers: Trailers{Invalid: "a | b"}, want: "x\n\nVariform-Invalid: a | b\n"},
		"Reverts":      {text: "x", trailers: Trailers{Reverts: "v1 by Ann"}, want: "x\n\nVariform-Reverts: v1 by Ann\n"},
		"TrailersOnly": {text: "x", trailers: Trailers{Inputs: "sha256:1"}, want: "x\n\nVariform-Inputs: sha256:1\n"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := FormatMessage(tc.text, tc.a, tc.trailers)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Error(d)
			}
			as, trailers := ParseMessage(got)
			if trailers != tc.trailers {
				t.Errorf("trailers %+v", trailers)
			}
			var want []Annotation
			if tc.a != nil {
				want = []Annotation{*tc.a}
			}
			if d := cmp.Diff(want, as); d != "" {
				t.Error(d)
			}
		})
	}
}

// What is remembered of a variant's commit is what is asked of it: not its text, unless
// that lists lost edits, and nothing that holds on to it. People's commits and the
// record's keep theirs.
func TestCommitsOfVariantsAreSmall(t *testing.T) {
	for name, c := range map[string]struct {
		variant, review string
		kept            bool
	}{
		"a variant's":              {variant: "m/default/v"},
		"a variant's, to review":   {variant: "m/default/v", review: "needed", kept: true},
		"one that no variant made": {kept: true},
	} {
		a := Annotation{Package: "app", WorkspaceName: "w", Revision: "0", Task: &Task{Type: TaskClone, Clone: &CloneTask{}}}
		want := Trailers{Variant: c.variant, Inputs: "sha256:ab", Review: c.review, Hydrated: "12", Reverts: "v1 by Ann", Class: "c"}
		text, err := FormatMessage("Create app", &a, want)
		if err != nil {
			t.Fatal(err)
		}
		raw := encodeCommit(Hash{1}, nil, machine, machine, text)
		got, err := parseCommit(hashObject(plumbing.CommitObject, raw), raw)
		if err != nil {
			t.Fatal(err)
		}
		a.Task = nil
		if d := cmp.Diff([]Annotation{a}, got.Annotations); d != "" || got.Trailers != want {
			t.Errorf("%s: %s, %+v", name, d, got.Trailers)
		}
		if message := map[bool]string{true: text}[c.kept]; got.Message != message {
			t.Errorf("%s: message %q, want %q", name, got.Message, message)
		}
	}
}

func TestMessageIsNotFooled(t *testing.T) {
	got, err := FormatMessage("lost: x\n  kpt:{\"package\":\"other\",\"workspaceName\":\"w\"}\n\nVariform-Inputs: sha256:evil", &Annotation{Package: "app"}, Trailers{Inputs: "sha256:good"})
	if err != nil {
		t.Fatal(err)
	}
	as, tr := ParseMessage(got)
	if len(as) != 1 || as[0].Package != "app" || tr.Inputs != "sha256:good" {
		t.Errorf("text was read as data: %+v %+v\n%s", as, tr, got)
	}
	if _, err := FormatMessage("x", nil, Trailers{Variant: "a\nVariform-Inputs: b"}); err == nil {
		t.Error("a trailer with a line break was accepted")
	}
	as, _ = ParseMessage("x\nkpt:{broken\nkpt:{\"package\":\"p\",\"task\":{\"type\":\"patch\",\"patch\":{}}}\n")
	if len(as) != 1 || as[0].Package != "p" {
		t.Errorf("old and broken annotations: %+v", as)
	}
}

// Where several messages are one, as after a squash, each annotation has the trailers of its
// own; what a person wrote or quoted, and no trailers end, gives none.
func TestMessagesInOne(t *testing.T) {
	message := func(pkg, inputs string) string {
		text, err := FormatMessage("Update "+pkg, &Annotation{Package: pkg}, Trailers{Inputs: inputs})
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	a, b := message("a", "1"), message("b", "2")
	for name, c := range map[string]struct {
		text string
		want []string // of each annotation, "-" for none
		last string
	}{
		"one":                       {a, []string{"-"}, "1"},
		"two":                       {a + "\n" + b, []string{"1", "2"}, "2"},
		"in the other order":        {b + "\n" + a, []string{"2", "1"}, "1"},
		"with what a forge puts on": {"* " + a + "\n* " + b, []string{"1", "2"}, "2"},
		"a person's word after it":  {a + "\n" + b + "\nand more", []string{"-", "-"}, ""},
		"a line of its own":         {"kpt:{\"package\":\"a\"}\n" + b, []string{"-", "2"}, "2"},
		"words between":             {strings.Replace(a, "\n\nVariform", "\n\nsaid\n\nVariform", 1) + "\n" + b, []string{"-", "2"}, "2"},
		"no line between":           {strings.Replace(a, "\n\nVariform", "\nVariform", 1) + "\n" + b, []string{"-", "2"}, "2"},
	} {
		as, last := ParseMessage(c.text)
		var got []string
		for _, a := range as {
			if a.Trailers == nil {
				a.Trailers = &Trailers{Inputs: "-"}
			}
			got = append(got, a.Trailers.Inputs)
		}
		if d := cmp.Diff(c.want, got); d != "" || last.Inputs != c.last {
			t.Errorf("%s: at the end %q; -want +got:\n%s", name, last.Inputs, d)
		}
	}
}

// The trailers about a revision are of the last message that is, by what tells most surely.
func TestTrailersOf(t *testing.T) {
	in := func(inputs string) *Trailers { return &Trailers{Inputs: inputs} }
	c := &Commit{
		Annotations: []Annotation{{Package: "a", Trailers: in("1")}, {Package: "b", Trailers: in("2")}, {Package: "b", Trailers: in("3")}, {Package: "a"}},
		Trailers:    Trailers{Inputs: "4"},
	}
	of := func(pkg, inputs string) func(Annotation) bool {
		return func(a Annotation) bool { return a.Package == pkg && (inputs == "" || a.Trailers.Inputs == inputs) }
	}
	for want, of := range map[string][]func(Annotation) bool{
		"1": {of("a", "")},
		"2": {of("b", "2"), of("b", "")},
		"3": {of("b", "5"), of("b", "")},
		"4": {of("c", "")},
	} {
		if got := c.TrailersOf(of...).Inputs; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestPlainAnnotation holds what is read without the JSON library to what that reads.
func TestPlainAnnotation(t *testing.T) {
	clone := Task{Type: TaskClone, Clone: &CloneTask{Upstream: UpstreamPackage{UpstreamRef: &RevisionRef{Name: "catalog.app.v1"}}}}
	var lines []string
	for _, a := range []Annotation{
		{Package: "a/b", WorkspaceName: "w", Task: &clone},
		{Package: "c", WorkspaceName: "w", Revision: "0", Task: &clone},
		{Package: "c", Task: &clone},
		{Package: "é", WorkspaceName: "w", Task: &clone},
		{Package: `a"b`, Task: &clone},
		{Package: "a<b", Task: &clone},
		{WorkspaceName: "w", Task: &clone},
		{Package: "a"},
		{Package: "a", Task: &Task{Type: TaskEdit, Edit: &EditTask{Source: &RevisionRef{Name: "x"}}}},
		{Package: "a", Task: &Task{Type: TaskInit, Init: &InitTask{Site: strings.Repeat("s", maxTaskText)}}},
	} {
		line, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, string(line))
	}
	task := `{"type":"edit"}`
	lines = append(lines,
		`{"package":"a","task":`+task+`,"package":"b"}`, `{"package":"a","task":`+task+`,"task":{"type":"init"}}`, `{"package":"a","Task":`+task+`}`, `{"package":"a","task":null}`,
		`{"package":"a","task":`+task+`}}`, `{"package":"a","task":`+task, `{"package":"a","task":{"type":1}}`, `{"package":"a", "task":`+task+`}`, `{"package":"a\u0062","task":`+task+`}`,
		`{"package":"","task":`+task+`}`, `{"workspaceName":"w","package":"a","task":`+task+`}`, `{"package":"a","other":1,"task":`+task+`}`, `{"package":"a`, `{"package":"a","task":`, "{\"package\":\"a\x01\",\"task\":"+task+"}",
	)
	for _, line := range lines {
		var want Annotation
		wantErr := json.Unmarshal([]byte(line), &want)
		for range 2 { // the second time its task is known
			got, ok := parseAnnotation("kpt:" + line)
			if ok != (wantErr == nil) {
				t.Errorf("%s: taken %v, want %v", line, ok, wantErr)
			} else if d := cmp.Diff(want, got); ok && d != "" {
				t.Errorf("%s: %s", line, d)
			}
		}
	}
	for line, want := range map[string]bool{lines[0]: true, lines[1]: true, lines[2]: true, lines[3]: false, lines[7]: false} {
		if _, ok := plainAnnotation(line); ok != want {
			t.Errorf("%s: plain %v, want %v", line, ok, want)
		}
	}
	var few knownTasks
	for i := range maxTasks + 1 {
		if few.of(fmt.Sprintf(`{"type":"t%d"}`, i)) == nil {
			t.Fatal("a task is none")
		}
	}
	if len(few.known) != 1 {
		t.Errorf("%d tasks are remembered, after %d", len(few.known), maxTasks+1)
	}
}

func FuzzParseMessage(f *testing.F) {
	f.Add("x\n\nkpt:{\"package\":\"a\"}\n\nVariform-Inputs: 1\n")
	f.Add("kpt:\n\n\n:")
	f.Fuzz(func(t *testing.T, s string) {
		as, tr := ParseMessage(s)
		if strings.ContainsAny(tr.Inputs+tr.Variant, "\r\n\x00") {
			return
		}
		var a *Annotation
		if len(as) > 0 {
			a = &as[0]
		}
		out, err := FormatMessage("text\n"+s, a, tr)
		if err != nil {
			t.Fatal(err)
		}
		as2, tr2 := ParseMessage(out)
		if tr2 != tr && (tr2.Inputs != tr.Inputs || tr2.Variant != tr.Variant) && tr != (Trailers{}) {
			t.Fatalf("%+v became %+v", tr, tr2)
		}
		if a != nil && (len(as2) != 1 || as2[0].Package != a.Package) {
			t.Fatalf("%+v became %+v", as, as2)
		}
	})
}

// What a head says of its Drafts is read again, also from what a forge squashed it into.
func TestHead(t *testing.T) {
	a, b := plumbing.NewHash(strings.Repeat("a", 40)), plumbing.NewHash(strings.Repeat("b", 40))
	drafts := []Place{{Commit: a, Path: "dir/app"}, {Commit: b, Path: "db"}}
	text := FormatHead("2 packages: image 1 → 2", drafts)
	for name, c := range map[string]struct {
		text string
		want []Place
	}{
		"itself":   {text, drafts},
		"squashed": {"Update (#1)\n\n* " + text + "\n* by hand\n\nSee " + a.String() + " and more\n", drafts},
		"a title":  {"db " + b.String(), nil},
		"no hash":  {"x\n\ndb " + b.String()[1:] + "\ndb " + strings.Repeat("0", 40) + "\ndb\n", nil},
	} {
		if d := cmp.Diff(c.want, ParseHead(c.text)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// Words of packages in a message skip no checks, close nothing and mention nobody.
func TestMessagesAreInert(t *testing.T) {
	text := "Update foo\n\n- data.\"a [skip ci] closes #7\" of @org/all"
	got, err := FormatMessage(text, &Annotation{Package: "foo"}, Trailers{Variant: "v"})
	if err != nil || !strings.HasPrefix(got, "Update foo\n\n- data.\"a ［skip ci］ closes ＃7\" of ＠org/all\n\nkpt:{") {
		t.Errorf("%v: %q", err, got)
	}
	if head := FormatHead("x [skip ci]", nil); head != "x ［skip ci］\n\n" {
		t.Errorf("%q", head)
	}
}

// What a finding has of a package's text steers no forge.
func TestInvalidIsInert(t *testing.T) {
	got, err := FormatMessage("x", nil, Trailers{Invalid: "ConfigMap: unknown field [skip ci] closes #7"})
	if want := "x\n\nVariform-Invalid: ConfigMap: unknown field ［skip ci］ closes ＃7\n"; got != want || err != nil {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
}
