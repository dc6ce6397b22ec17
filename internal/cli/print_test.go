package cli

import (
	"bytes"
	"strings"
	"testing"
)

// Lines of a message stand below each other, in its column.
func TestTableOfLines(t *testing.T) {
	for name, c := range map[string]struct {
		header []string
		rows   [][]string
		want   string
	}{
		"lines":       {[]string{"NAME", "WHY"}, [][]string{{"web", "refused: a\nb\tc\n"}, {"db", ""}}, "NAME   WHY\nweb    refused: a\n       b c\ndb     -\n"},
		"no rows":     {[]string{"NAME", "WHY"}, nil, ""},
		"an end":      {[]string{"NAME", "A", "WHY"}, [][]string{{"é\x1b", "", "a\n\nb"}}, "NAME   A   WHY\né      -   a\n\n           b\n"},
		"one column":  {[]string{"NAME"}, [][]string{{"web"}, {"longer "}}, "NAME\nweb\nlonger\n"},
		"all of them": {[]string{"A", "B"}, [][]string{{"a", "x"}, {"long", "y"}, {"b", "z"}}, "A      B\na      x\nlong   y\nb      z\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			err := table(func(line string) error {
				b.WriteString(line)
				return nil
			}, c.header, c.rows)
			if err != nil || b.String() != c.want {
				t.Errorf("%v: %q, want %q", err, b.String(), c.want)
			}
		})
	}
}

func TestEncodeAs(t *testing.T) {
	for format, want := range map[string]string{
		"json": "{\n  \"apiVersion\": \"cli.variform.dev/v1alpha1\",\n  \"kind\": \"Plan\",\n  \"a\": \"\\u003cb\\u003e\"\n}\n",
		"yaml": "a: <b>\napiVersion: cli.variform.dev/v1alpha1\nkind: Plan\n",
	} {
		var b bytes.Buffer
		if err := encodeAs(&b, format, "Plan", map[string]string{"a": "<b>"}); err != nil || b.String() != want {
			t.Errorf("%s: %v, got\n%s", format, err, b.String())
		}
	}
	var b bytes.Buffer
	if err := encodeAs(&b, "json", "Plan", struct{}{}); err != nil || !strings.HasSuffix(b.String(), "\"Plan\"\n}\n") {
		t.Errorf("%v, got\n%s", err, b.String())
	}
}
