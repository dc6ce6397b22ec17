package cli

import (
	"bytes"
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
