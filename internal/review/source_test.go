package review

import (
	"strings"
	"testing"
	"time"
)

func TestSource(t *testing.T) {
	commit := "4f1c2ab" + strings.Repeat("0", 33)
	for reason, tt := range map[string]struct {
		source        Source
		text, heading string
	}{
		"nothing is known": {Source{}, "fleet", ""},
		"no Git":           {Source{Name: "platform", Read: time.Unix(1, 0)}, "fleet platform", " · platform"},
		"at a commit":      {Source{Name: "platform", Commit: commit}, "fleet platform @ 4f1c2ab", " · platform · `4f1c2ab`"},
		"with changes":     {Source{Name: "platform", Commit: commit, Modified: true}, "fleet platform @ 4f1c2ab+", " · platform · `4f1c2ab+`"},
		"a hostile name":   {Source{Name: "a\n# b @me\u202e"}, "fleet a # b @me<U+202E>", " · `a # b @me<U+202E>`"},
	} {
		if got := strings.TrimSpace(tt.source.String()); got != tt.text {
			t.Errorf("%s: got %q, want %q", reason, got, tt.text)
		}
		if got := tt.source.heading(); got != tt.heading {
			t.Errorf("%s: got heading %q, want %q", reason, got, tt.heading)
		}
	}
}
