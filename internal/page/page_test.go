package page

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"html"
	"regexp"
	"strings"
	"testing"

	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/review"
)

func written(t *testing.T, d *review.Digest, limit int) string {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b, d, limit); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// fleet is a review of n variants in classes, each with a table and an example.
func fleet(n, classes int) *review.Digest {
	r := &review.Report{Summary: "a fleet"}
	for k := range classes {
		c := review.Class{Package: fmt.Sprintf("catalog/p%d", k%7), Key: fmt.Sprintf("%012x", k), Says: fmt.Sprintf("sets spec.ip of E e%d", k), Lines: 1}
		c.ID = c.Key + "@" + c.Key
		for i := k; i < n; i += classes {
			c.Members = append(c.Members, fmt.Sprintf("cluster-%05d/web", i))
		}
		c.Example = c.Members[0]
		c.Diff = "--- a/e.yaml\n+++ b/e.yaml\n@@ -1,5 +1,5 @@\n" + " a: 1\n b: 2\n spec:\n-  ip: old\n+  ip: new\n last: line\n"
		c.Values = []review.Values{{File: "e.yaml", Resource: "E e", Op: review.Update, Field: "spec.ip", Values: len(c.Members), Patterns: []review.Pattern{{Pattern: "10.0.0.#", Variants: len(c.Members), Example: "10.0.0.1"}}}}
		r.Classes = append(r.Classes, c)
		r.Variants += len(c.Members)
	}
	return &review.Digest{Command: "review", Summary: "a fleet", Changes: r}
}

// Ten thousand variants are a page that a browser opens: in few classes with all that
// there is, in many with what each of them does.
func TestSize(t *testing.T) {
	for classes, whole := range map[int]bool{1: true, 40: true, 400: true, 2000: false} {
		d := fleet(10000, classes)
		text := written(t, d, Limit)
		if len(text) > Limit {
			t.Errorf("%d classes: %d bytes", classes, len(text))
		}
		for i := range d.Changes.Classes {
			if c := &d.Changes.Classes[i]; !strings.Contains(text, c.Says+"</summary>") || !strings.Contains(text, c.ID) {
				t.Fatalf("%d classes: %s is not named", classes, c.ID)
			}
		}
		if got := strings.Count(text, `class="diff"`) == classes; got != whole {
			t.Errorf("%d classes: all examples %t, want %t", classes, got, whole)
		}
	}
	few := written(t, fleet(10000, 1), Limit)
	if !strings.Contains(few, "cluster-[00000-09999]/web") {
		t.Error("members are no range")
	}
}

// What does not fit goes from the classes that are read last, and is said.
func TestWhatDoesNotFit(t *testing.T) {
	d := fleet(300, 30)
	d.Changes.Classes[29].Marks = []review.Mark{{Kind: review.ByHand, Text: "edited by hand", Members: []string{"cluster-00029/web"}}}
	limit := len(written(t, d, 1)) + 4000
	text := written(t, d, limit)
	if len(text) > limit || !strings.Contains(text, "stand here without members and values") {
		t.Errorf("%d bytes", len(text))
	}
	marked := text[strings.Index(text, `id="c-`+d.Changes.Classes[29].Key):]
	if !strings.Contains(marked[:strings.Index(marked, "</section>")], `class="values"`) {
		t.Error("a class with a mark lost its table before others")
	}
}

var element = regexp.MustCompile(`(?s)<(script|style)>(.*?)</(?:script|style)>`)

// The policy names the page's own program and style, and nothing else: no element asks
// for anything.
func TestPolicy(t *testing.T) {
	text := written(t, fleet(10, 2), Limit)
	policy := html.UnescapeString(regexp.MustCompile(`http-equiv="Content-Security-Policy" content="([^"]*)"`).FindStringSubmatch(text)[1])
	found := element.FindAllStringSubmatch(text, -1)
	if len(found) != 2 {
		t.Fatalf("%d programs and styles", len(found))
	}
	for _, m := range found {
		sum := sha256.Sum256([]byte(m[2]))
		if want := m[1] + "-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"; !strings.Contains(policy, want) {
			t.Errorf("%s does not name %s", policy, want)
		}
	}
	if !strings.HasPrefix(policy, "default-src 'none'; base-uri 'none'; form-action 'none'; ") || strings.Contains(policy, "unsafe") {
		t.Error(policy)
	}
	if m := regexp.MustCompile(`(?i)<[^>]*\s(src|srcset|style|on[a-z]+|action)\s*=|<(link|img|iframe|object|embed|base)\b|https?://|@import|url\(`).FindString(text); m != "" {
		t.Errorf("the page has %q", m)
	}
}

// Whatever names, values and messages hold is text.
func TestHostileValuesAreText(t *testing.T) {
	evil := `"'><script>alert(1)</script><img src=x onerror=alert(2)>{{.}}` + "</style></script>\u202e"
	c := review.Class{
		Package: evil, Key: "aaaaaaaaaaaa", ID: evil, Says: evil, Members: []string{evil, "c1/web"}, Example: evil, Lines: 1, Hidden: []string{evil}, Attention: evil,
		Marks:   []review.Mark{{Kind: review.ByHand, Text: evil, Members: []string{evil}}},
		Values:  []review.Values{{File: evil, Resource: evil, Field: evil, Values: 2, From: evil, Patterns: []review.Pattern{{Pattern: evil, Variants: 1, Example: evil, Members: []string{evil}}}}},
		Diff:    "--- a/" + evil + "\n+++ b/" + evil + "\n@@ -1 +1 @@\n-" + evil + "\n+" + evil + "\n",
		Origins: map[string]string{review.LineOf(evil, 1): evil},
	}
	text := written(t, &review.Digest{
		Command: "review", Summary: evil, Source: review.Source{Name: evil, Commit: evil}, Findings: []review.Finding{{Kind: review.Failure, Message: evil, Members: []string{evil}, File: evil}},
		Changes: &review.Report{Marks: []review.Mark{{Kind: review.ByHand, Text: evil, Members: []string{evil}, Classes: []string{evil}}}, Packages: []review.Summary{{Package: evil, Summary: evil}}, Classes: []review.Class{c}},
	}, Limit)
	if n := strings.Count(text, "<script"); n != 1 {
		t.Errorf("%d programs", n)
	}
	if i := strings.Index(text, "\u202e"); i >= 0 {
		t.Error(text[i-200 : i])
	}
	if strings.Contains(text, "<img") || strings.Contains(text, "\u202e") || strings.Count(text, "</style>") != 1 {
		t.Error("a value is no text")
	}
	if n := strings.Count(text, "alert(1)"); n < 15 || strings.Count(text, "&lt;script&gt;alert(1)") < n-3 { // the rest is in addresses
		t.Errorf("the value stands there %d times", n)
	}
}

// Without its program the page has all that it has with it.
func TestContentWithoutJavaScript(t *testing.T) {
	text := element.ReplaceAllString(written(t, fleet(30, 3), Limit), "")
	for _, want := range []string{
		"<h1>Variform review</h1>", "a fleet", `<form id="controls" hidden>`, "variform approve --class 000000000002@000000000002",
		"<code>10.0.0.#</code> × 10", "<del>  ip: old</del>", "<ins>  ip: new</ins>", "cluster-00000/web",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q", want)
		}
	}
	if strings.Count(text, "<details") != strings.Count(text, "<summary>") {
		t.Error("something opens by the program alone")
	}
}

func TestSideBySide(t *testing.T) {
	pack := func(files ...krm.File) *krm.Package {
		p, err := krm.Parse(files)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	file := func(path, text string) krm.File { return krm.File{Path: path, Data: []byte(text)} }
	diff, err := review.Diff(
		pack(file("a.txt", "1\n-- a/x\n3\n"), file("gone.txt", "x\n"), file("run.sh", "x\n")),
		pack(file("a.txt", "1\n++ b/x\nmore\n3"), file("new.txt", "y\n"), krm.File{Path: "run.sh", Data: []byte("x\n"), Mode: krm.Executable}),
	)
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, f := range sideBySide(&review.Class{Diff: diff, Origins: map[string]string{"a.txt:2": "set.yaml:4"}}) {
		fmt.Fprintf(&got, "%s\n", f.Name)
		for _, r := range f.Rows {
			fmt.Fprintf(&got, " %s %d %q %d %q %s\n", r.Kind, r.L, r.Left, r.R, r.Right, r.From)
		}
	}
	want := `a.txt
 same 1 "1" 1 "1" 
 both 2 "-- a/x" 2 "++ b/x" set.yaml:4
 both 3 "3" 3 "more" 
 new 0 "" 4 "3" 
gone.txt (removed)
 old 1 "x" 0 "" 
new.txt (new)
 new 0 "" 1 "y" 
run.sh
 part 0 "old mode 100644" 0 "" 
 part 0 "new mode 100755" 0 "" 
`
	if got.String() != want {
		t.Errorf("got\n%s\nof\n%s", got.String(), diff)
	}
}
