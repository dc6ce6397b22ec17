package review

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func chatText(t *testing.T, d *Digest) string {
	t.Helper()
	out, err := Chat(d)
	if err != nil {
		t.Fatal(err)
	}
	var message map[string]string
	if err := json.Unmarshal([]byte(out), &message); err != nil || len(message) != 1 {
		t.Fatalf("%s: %v", out, err)
	}
	return message["text"]
}

func TestChat(t *testing.T) {
	d := &Digest{
		Command: "apply", Summary: "5 variants: 3 updated, 2 failed", Source: Source{Name: "platform", Commit: "4f1c2ab9d0"},
		Findings: []Finding{
			{Kind: Deletion, Message: "the open Draft goes", Members: []string{"c1/old"}},
			{Kind: Failure, Message: "no package web\nand more", Members: []string{"c1/web", "c2/web"}},
			{Kind: Warning, Message: "old"},
		},
		Changes: &Report{Classes: []Class{
			{Package: "catalog/web", Versions: "v1→v2", Says: "image 1.0 → 1.1", Members: []string{"c3/web", "c4/web"}},
			{Package: "catalog/web", Versions: "v1→v2", Says: "replicas 2 → 3", Members: []string{"c5/web"}},
		}},
	}
	want := "Variform apply `platform 4f1c2ab`: `5 variants: 3 updated, 2 failed`\n" +
		"• deletion, 1 variant: `the open Draft goes`\n" +
		"• failure, 2 variants: `no package web`\n" +
		"• change, 1 variant: `web v1→v2: replicas 2 → 3`\n" +
		"• change, 2 variants: `web v1→v2: image 1.0 → 1.1`\n" +
		"Next: `variform review`"
	if diff := cmp.Diff(want, chatText(t, d)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for range 20 {
		d.Findings = append(d.Findings, Finding{Kind: Failure, Message: "x"})
	}
	if lines := strings.Split(chatText(t, d), "\n"); len(lines) != mostChat+3 || lines[mostChat+1] != "and 12 more: run `variform status -o wide`" {
		t.Errorf("%d lines:\n%s", len(lines), strings.Join(lines, "\n"))
	}
}

// Text from packages stays in its span of code, and begins no line.
func TestChatIsInert(t *testing.T) {
	const hostile = "a` <!channel> @here &lt; <https://evil.example|ok>\n• deletion ```\u202e\x1b[2J"
	for _, d := range []*Digest{
		{Command: "plan", Summary: hostile},
		{Command: "plan", Source: Source{Name: hostile}},
		{Command: "plan", Findings: []Finding{{Kind: Failure, Message: hostile, Members: []string{hostile}}}},
		{Command: "plan", Changes: &Report{Classes: []Class{{Package: hostile, Says: hostile, Members: []string{hostile}}}}},
	} {
		text := chatText(t, d)
		if strings.ContainsAny(text, "<>\u202e\x1b") {
			t.Errorf("%q", text)
		}
		for line := range strings.SplitSeq(text, "\n") {
			outside := ""
			for i, part := range strings.Split(line, "`") {
				if i%2 == 0 {
					outside += part
				}
			}
			if strings.Count(line, "`")%2 != 0 || strings.ContainsAny(outside, "@/&|") {
				t.Errorf("%q is outside of code in %q", outside, line)
			}
		}
	}
}
