package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// open is what stands for something else in the messages of the page, and in
// those of the code.
var open = regexp.MustCompile(`…|\bvN\b|\bmain\b|%[-+#]?[a-z]`)

// TestMessages: what docs/how-to/troubleshooting.md says of a message is said of
// one that there is.
func TestMessages(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs", "how-to", "troubleshooting.md"))
	if err != nil {
		t.Fatal(err)
	}
	var code strings.Builder
	for file, text := range sources(t) {
		if strings.HasSuffix(file, ".go") && !strings.HasSuffix(file, "_test.go") && !strings.HasPrefix(file, "test/") {
			code.WriteString(text)
		}
	}
	found := 0
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(line, " | ")
		if !strings.HasPrefix(line, "| ") || len(cells) != 3 || found == 0 && cells[1] == "that is" {
			continue
		}
		found++
		for _, part := range open.Split(strings.TrimPrefix(cells[0], "| "), -1) {
			if part = strings.Trim(part, " ,:"); part != "" && !strings.Contains(code.String(), part) {
				t.Errorf("nothing says %q, of %q", part, cells[0])
			}
		}
	}
	if found < 10 {
		t.Errorf("only %d messages were found: the table is not recognised", found)
	}
}
