package review

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestGroup(t *testing.T) {
	var notes []Note
	for i := range 5 {
		repo := fmt.Sprintf("c%d", i)
		n := Note{Kind: Failure, Message: "no package web in " + repo, Variant: repo + "/web", Aliases: map[string]string{repo: "repository"}, File: "sets/web.yaml", Line: 3}
		if i == 4 {
			n.Line = 9
		}
		notes = append(notes, n, n) // the same of two revisions of one variant
	}
	notes = append(notes, Note{Kind: Deletion, Message: "goes", Variant: "c1/old"}, Note{Kind: Failure, Message: "unreadable"})
	got := Group(notes)
	ids := map[string]bool{}
	for i := range got {
		ids[got[i].ID], got[i].ID = true, ""
	}
	want := []Finding{
		{Kind: Deletion, Message: "goes", Members: []string{"c1/old"}},
		{Kind: Failure, Message: "unreadable"},
		{Kind: Failure, Message: "no package web in c4", Members: []string{"c4/web"}, File: "sets/web.yaml", Line: 9},
		{Kind: Failure, Message: "no package web in ${repository}", Members: []string{"c0/web", "c1/web", "c2/web", "c3/web"}, File: "sets/web.yaml", Line: 3},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(ids) != len(want) {
		t.Errorf("%d findings have %d IDs", len(want), len(ids))
	}
}

// A finding keeps its ID while its members change and its line moves.
func TestFindingID(t *testing.T) {
	id := func(line int, repos ...string) string {
		var notes []Note
		for _, r := range repos {
			notes = append(notes, Note{Kind: Failure, Message: "no web in " + r, Variant: r + "/web", Aliases: map[string]string{r: "repository"}, File: "a.yaml", Line: line})
		}
		return Group(notes)[0].ID
	}
	if a, b := id(3, "c1"), id(7, "c1", "c2"); a != b {
		t.Errorf("%s became %s", a, b)
	}
}

func TestGitHub(t *testing.T) {
	d := &Digest{Command: "plan", Findings: []Finding{
		{Kind: Deletion, Message: "the open Draft goes", Members: []string{"c1/old"}},
		{Kind: Failure, Message: "50% of it\r\nis bad: a, b\n::error::x", Members: []string{"c1/web", "c2/web"}, File: "sets/a,b:c%.yaml", Line: 3},
		{Kind: Notice, Message: "tagged"},
	}}
	want := "::error file=sets/a%2Cb%3Ac%25.yaml,line=3,title=2 variants%3A failure::50%25 of it<U+000D>%0Ais bad: a, b%0A::error::x%0Ac1/web, c2/web\n" +
		"::warning title=1 variant%3A deletion::the open Draft goes%0Ac1/old\n"
	if diff := cmp.Diff(want, GitHub(d)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for i := range 12 {
		d.Findings = append(d.Findings, Finding{Kind: Failure, Message: fmt.Sprint("failure ", i)})
	}
	text := GitHub(d)
	if n := strings.Count(text, "::error "); n != 10 || !strings.Contains(text, "title=4 more classes of findings::") {
		t.Errorf("%d errors of 13:\n%s", n, text)
	}
}

var workflowCommand = regexp.MustCompile(`^::(error|warning) (file=[^,:\r\n]*,(line=\d+,)?)?title=[^,:\r\n]*::[^\r\n]*$`)

// Whatever the content, each line is one command and GitHub shows all of them.
func TestGitHubAnyContent(t *testing.T) {
	for i := range uint64(300) {
		text := GitHub(arbitrary(rand.New(rand.NewPCG(i, 2)).IntN, "x"))
		for line := range strings.Lines(text) {
			if line = strings.TrimSuffix(line, "\n"); !workflowCommand.MatchString(line) {
				t.Errorf("%d: not one command: %q", i, line)
			}
		}
		for _, severity := range []string{"::error ", "::warning "} {
			if n := strings.Count("\n"+text, "\n"+severity); n > maxAnnotations {
				t.Errorf("%d: %d of %s", i, n, severity)
			}
		}
	}
}

func TestGitLab(t *testing.T) {
	d := &Digest{Command: "plan", Fleet: "fleet", Findings: Group([]Note{
		{Kind: Warning, Message: "nothing is selected"},
		{Kind: Failure, Message: "bad \"x\"", Variant: "c1/web", File: "fleet/sets/web.yaml", Line: 3},
		{Kind: Deletion, Message: "goes", Variant: "c1/old"},
		{Kind: Notice, Message: "tagged", Variant: "c1/tagged"},
	})}
	text, err := GitLab(d)
	if err != nil {
		t.Fatal(err)
	}
	var got []map[string]any
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	fingerprints := map[any]bool{}
	for _, q := range got {
		fingerprints[q["fingerprint"]] = true
		delete(q, "fingerprint")
	}
	entry := func(severity, check, description, path string, line float64) map[string]any {
		return map[string]any{
			"severity": severity, "check_name": check, "description": description,
			"location": map[string]any{"path": path, "lines": map[string]any{"begin": line}},
		}
	}
	want := []map[string]any{
		entry("critical", "variform/failure", "1 variant: bad \"x\"\nc1/web", "fleet/sets/web.yaml", 3),
		entry("major", "variform/deletion", "1 variant: goes\nc1/old", "fleet", 1),
		entry("minor", "variform/warning", "the fleet: nothing is selected", "fleet", 1),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(fingerprints) != len(want) {
		t.Errorf("fingerprints: %v", fingerprints)
	}
	if text, err = GitLab(&Digest{}); text != "[]\n" || err != nil {
		t.Errorf("nothing found: %q, %v", text, err)
	}
}
