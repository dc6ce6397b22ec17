package source

import (
	"testing"
)

// A field's value is replaced where it is written, and no other byte of the file changes.
func TestReplace(t *testing.T) {
	const head, field = "# of the platform team\napiVersion: v1\nkind: X\nmetadata: {name: a}\nspec:\n", "spec.upstream.revision"
	for name, tt := range map[string]struct {
		text, value string
		want, was   string // want "" for an error
	}{
		"plain":             {"  upstream:\n    revision: v1 # the tested one\n    repo: c\n", "v2", "  upstream:\n    revision: v2 # the tested one\n    repo: c\n", "v1"},
		"in a flow":         {"  upstream: {repo: c, revision: v1, package: é}  # x\n", "v2", "  upstream: {repo: c, revision: v2, package: é}  # x\n", "v1"},
		"behind other text": {"  upstream: {repo: é, revision: v1}\n", "v2", "  upstream: {repo: é, revision: v2}\n", "v1"},
		"double quotes":     {"  upstream: {revision: \"v1\"}\n", "v2", "  upstream: {revision: v2}\n", "v1"},
		"single quotes":     {"  upstream: {revision: 'v1' }\n", "v2", "  upstream: {revision: v2 }\n", "v1"},
		"a range":           {"  upstream: {revision: v1}\n", ">=1, <2", "  upstream: {revision: \">=1, <2\"}\n", "v1"},
		"a number's text":   {"  upstream:\n    revision: v1\n", "1.10", "  upstream:\n    revision: \"1.10\"\n", "v1"},
		"a word of YAML":    {"  upstream:\n    revision: v1\n", "on", "  upstream:\n    revision: \"on\"\n", "v1"},
		"a number":          {"  upstream:\n    revision: 3\n", "v2", "  upstream:\n    revision: v2\n", "3"},
		"CRLF":              {"  upstream:\r\n    revision: v1\r\n", "v2", "  upstream:\r\n    revision: v2\r\n", "v1"},
		"not there":         {"  upstream: {repo: c}\n", "v2", "", ""},
		"no map":            {"  upstream: [v1]\n", "v2", "", ""},
		"a map":             {"  upstream: {revision: {a: b}}\n", "v2", "", ""},
		"a block":           {"  upstream:\n    revision: |\n      v1\n", "v2", "", ""},
		"an anchor":         {"  upstream:\n    revision: &v v1\n  other: *v\n", "v2", "", ""},
		"an alias":          {"  other: &v v1\n  upstream:\n    revision: *v\n", "v2", "", ""},
		"an escape":         {"  upstream: {revision: \"v\\x31\"}\n", "v2", "", ""},
	} {
		for place, before := range map[string]string{"the only document": "", "the second": "apiVersion: v1\nkind: X\nmetadata: {name: b}\nspec:\n  upstream: {revision: v1}\n---\n"} {
			d := &Directory{files: []file{{name: "other.yaml"}, {name: "a.yaml", data: []byte(before + head + tt.text)}}}
			at := Origin{"a.yaml", 2}
			if before != "" {
				at.Line = 8
			}
			got, was, err := d.Replace(at, field, tt.value)
			switch {
			case tt.want == "":
				if err == nil {
					t.Errorf("%s, %s: no error, but\n%s", name, place, got)
				}
			case err != nil || string(got) != before+head+tt.want || was != tt.was:
				t.Errorf("%s, %s: %v, was %q\n%s", name, place, err, was, got)
			}
		}
	}
}
