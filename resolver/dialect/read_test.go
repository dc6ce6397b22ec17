package dialect

import (
	"fmt"
	"strings"
	"testing"
)

// TestBounds holds that aliases, depth and size exhaust nothing.
func TestBounds(t *testing.T) {
	var laughs strings.Builder
	laughs.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := 1; i < 12; i++ {
		fmt.Fprintf(&laughs, "a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 10), ", "))
	}
	for name, doc := range map[string]string{
		"aliases": laughs.String(),
		"cycle":   "a: &a {b: *a}\n",
		"depth":   "a: " + strings.Repeat("[", maxDepth+1) + strings.Repeat("]", maxDepth+1),
	} {
		visited := 0
		_, err := Read([]byte(doc), func(_ *Reader, root Node) bool {
			root.Walk(func(Node) { visited++ })
			return true
		})
		if err == nil || !strings.Contains(err.Error(), "too large or too deep") || strings.Count(err.Error(), "\n") > 0 {
			t.Errorf("%s: %v", name, err)
		}
		if visited > maxNodes {
			t.Errorf("%s: %d visits", name, visited)
		}
	}
	if _, err := Read(make([]byte, maxBytes+1), nil); err == nil {
		t.Error("a file of any size is read")
	}
}

// TestText holds that a value is read as it is written, whatever a YAML version takes it for.
func TestText(t *testing.T) {
	for _, word := range []string{"1.20", "on", "yes", "0o14", "1e3", "2024-01-01", "0x1F", "NO", "1_000", ".5"} {
		_, err := Read([]byte("v: "+word+"\nlist: ["+word+"]\n"), func(_ *Reader, root Node) bool {
			if got := root.Get("v").Text(); got != word || root.Get("list").Texts()[0] != word {
				t.Errorf("%s is read as %s", word, got)
			}
			return true
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// TestMerge holds that merged fields stand behind a map's own.
func TestMerge(t *testing.T) {
	_, err := Read([]byte("base: &b {x: 1, y: 2}\nmap: {<<: *b, x: 3}\n"), func(_ *Reader, root Node) bool {
		if m := root.Get("map").TextMap(); m["x"] != "3" || m["y"] != "2" || len(m) != 2 {
			t.Error(m)
		}
		return true
	})
	if err != nil {
		t.Error(err)
	}
}

// TestSurplus passes over brackets that close nothing of their indentation, names their lines, and leaves
// other mistakes alone.
func TestSurplus(t *testing.T) {
	const doc = "{\n  \"a\": {\n    \"b\": \"}\\\"{\"\n      }\n  },\n  \"c\": [\n    1\n      ]\n  ]\n}\n"
	docs, err := Read([]byte(doc), func(_ *Reader, root Node) bool {
		return root.Get("a", "b").Text() == `}"{` && root.Get("c").Texts()[0] == "1"
	})
	if err != nil || len(docs.Warnings) != 2 || docs.Warnings[0].Line != 4 || docs.Warnings[1].Line != 8 {
		t.Error(docs, err)
	}
	for _, bad := range []string{"{\n  \"a\": {\n}\n", "{\n  \"a\": [1}\n}\n"} {
		if _, err := Read([]byte(bad), func(*Reader, Node) bool { return true }); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}

func TestReference(t *testing.T) {
	for text, want := range map[string][3]string{
		"org/a": {"org/a", "", ""}, "org/a:v1": {"org/a", "v1", ""}, "host:5000/a": {"host:5000/a", "", ""},
		"host:5000/a:v1@sha256:x": {"host:5000/a", "v1", "sha256:x"}, "": {"", "", ""},
	} {
		if name, tag, digest := Reference(text); [3]string{name, tag, digest} != want {
			t.Errorf("%s: %s, %s, %s", text, name, tag, digest)
		}
	}
}
