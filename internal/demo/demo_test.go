package demo

import (
	"fmt"
	"strings"
	"testing"
)

// TestScreenful: a screen shows how a long output begins and ends, and says what it
// leaves out.
func TestScreenful(t *testing.T) {
	rows := func(n int) (text string) {
		for i := range n {
			text += fmt.Sprintf("row %d\n", i+1)
		}
		return text
	}
	for n, want := range map[int]int{0: 0, 1: 1, screenLines: screenLines, screenLines + 1: screenLines + 1, screenLines + 2: screenLines, 400: screenLines} {
		got := screenful(rows(n))
		if lines := strings.Count(got, "\n"); lines != want || n > 0 && !strings.HasSuffix(got, fmt.Sprintf("row %d\n", n)) {
			t.Errorf("of %d lines %d are shown:\n%s", n, lines, got)
		}
	}
	if got := screenful(rows(40)); !strings.Contains(got, "row 15\n… 11 lines more …\nrow 27\n") {
		t.Errorf("%s", got)
	}
	if got := screenful(strings.Repeat("é", 200) + "\n"); got != strings.Repeat("é", screenColumns-1)+"…\n" {
		t.Errorf("a long line is %q", got)
	}
}
