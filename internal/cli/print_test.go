package cli

import (
	"strings"
	"testing"
)

// Lines of a message stand below each other, in its column.
func TestTableOfLines(t *testing.T) {
	var b strings.Builder
	if err := table(&b, []string{"NAME", "WHY"}, [][]string{{"web", "refused: a\nb\tc\n"}, {"db", ""}}); err != nil {
		t.Fatal(err)
	}
	if want := "NAME   WHY\nweb    refused: a\n       b c\ndb     -\n"; b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
}
