package merge

import (
	"strings"
	"testing"
)

// TestPlainScalars: a plain scalar of upstream arrives with its text, wherever it
// stands and whatever stood there, in a file that was edited.
func TestPlainScalars(t *testing.T) {
	cases := map[string]mergeCase{}
	for _, s := range []string{
		"yes", "No", "ON", "off", "y", "N", "true", "~", "null", "0o7", "010", "0x1F", "0b11", "1_000", "1e3", "1.50", ".inf", "-.INF", ".nan",
		"12:30:45", "2001-01-02", "2001-01-02T03:04:05Z", "=",
	} {
		object := func(mine, rest string) string {
			return "apiVersion: x.io/v1\nkind: X\nmetadata:\n  name: a\n  annotations:\n    mine: \"" + mine + "\"\nspec:\n" + rest
		}
		for old, v := range map[string]string{"plain": "old", "quoted": `"old"`, "single": "'old'", "a number": "99", "a block": "|\n    old", "a list": "[old]", "a map": "{old: old}"} {
			cases[s+" for "+old] = mergeCase{
				base: object("1", "  v: "+v+"\n"), upstream: object("1", "  v: "+s+"\n"), local: object("9", "  v: "+v+"\n"), want: object("9", "  v: "+s+"\n"),
			}
		}
		cases[s+", new"] = mergeCase{
			base: object("1", "  a: 1\n"), upstream: object("1", "  a: 1\n  v: "+s+"\n  m:\n    k: "+s+"\n  l:\n  - "+s+"\n"),
			local: object("9", "  a: 1\n"), want: object("9", "  a: 1\n  v: "+s+"\n  m:\n    k: "+s+"\n  l:\n  - "+s+"\n"),
		}
		cases[s+", in lists"] = mergeCase{
			base: object("1", "  f: [a, b]\n  b:\n  - a\n  - b\n"), upstream: object("1", "  f: [a, "+s+"]\n  b:\n  - "+s+"\n  - b\n"),
			local: object("9", "  f: [a, b]\n  b:\n  - a\n  - b\n"), want: object("9", "  f: [a, "+s+"]\n  b:\n  - "+s+"\n  - b\n"),
		}
		if s != "~" && s != "null" { // another reader's null
			cases[s+", a key"] = mergeCase{
				base: object("1", "  a: 1\n"), upstream: object("1", "  a: 1\n  "+s+": 2\n"), local: object("9", "  a: 1\n"), want: object("9", "  a: 1\n  "+s+": 2\n"),
			}
		}
		cases[s+", unquoted upstream"] = mergeCase{
			base: object("1", "  v: \""+s+"\"\n"), upstream: object("1", "  v: "+s+"\n"), local: object("9", "  v: \""+s+"\"\n"), want: object("9", "  v: "+s+"\n"),
		}
		if strings.ContainsAny(s, "=:-") {
			delete(cases, s+", unquoted upstream") // strings both: only the quotes differ
		}
	}
	runCases(t, cases)
}
