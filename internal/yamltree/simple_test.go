package yamltree

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// simpleTexts are what simple reads, and what it must leave alone, in one text each.
var simpleTexts = map[string]bool{
	"a: b\n": true, "---\na: b\n": true, "\n\na: b\n\nc: d\n": true, "a:\n  b: c\nd: e\n": true, "a:\n- b\n- c: d\n  e: f\n- g\nh: i\n": true,
	"a:\n  - b\n  - c: d\n    e:\n    - f: 1\n    g: 2\n": true, "- a\n- b: c\n": true, "a: {}\nb: []\nc: {d: e, f: [g, 'h', \"i\"]}\n": true,
	"a: b # line\nc: 'd' # line\n- e\n": false, "a: b # line\nc:\n- 'd' # line\n- e\n": true, "a: words with, more: of\n": false, "a: words with, more of\n": true,
	"a: 1\nb: 0x1f\nc: 1e3\nd: true\ne: null\nf: yes\ng: 2001-01-01\nh: .5\ni: -1\nj: 1_000\n": true,
	"a: b:c\nd: http://e/f#g\nh: i/j:k@sha256\n":                                               true, "a: b\n  c\n": false, "a:\n  b: c\n d: e\n": false, "a:\n": false, "a: \n": false, "a: b": false, "a: b\r\n": false,
	"a: # c\n  b: c\n": false, "# c\na: b\n": true, "# c\n\na: b\n": false, "---\n# c\n# d\na:\n  # e\n  b: c\n# f\nd:\n# g\n- h: i\n  # j\n  k: l\n# m\n- n\n": true,
	"a:\n  b: c\n  # d\ne: f\n": false, "a: b\n # c\nd: e\n": false, "a: b # c\n# d\ne: f\n": true, "a: b\n\n# c\nd: e\n": true, "a: [] # b\nc: {d: e} # f\n": true, "a: b\n# c\n": false, "a:\tb\n": false, "a: &x b\n": false, "a: *x\n": false, "a: !!str b\n": false, "a: |\n  b\n": false,
	"? a\n: b\n": false, "a: b\n---\nc: d\n": false, "a: b\n...\n": false, "a: \"b\\n\"\n": false, "a: 'b''c'\n": false, "a: é\n": false, "- - a\n": false, "-   a\n": false,
	"a: {b: c,d: e}\n": false, "a: [b, c,]\n": false, "a: [b, c ]\n": false, "a: {b: c} # d\n": true, "a: - b\n": false, "- a: b\n  c: d\n-  e: f\n": false, "a\n": false,
	"a:\n  - b\nc:\n- d\ne: f\n": true, "a:\n- b\n  c: d\n": false, "<<: {a: b}\n": false, "a: b #c\n": true, "a: b#c\n": true, "a: \"b\"c\n": false, "a: % b\n": false, "a: b  # c\n": false,
	"a: 'b: c # d'\ne: \"f: g # h\"\n": true, "'a': b\n": false, "a : b\n": false, "a:b\n": false, "a: b\na: c\n": true, "a: b\n\n\nc:\n\n- d\n\n- e\n": true, "a: [{b: c}, {d: [e]}]\n": true,
	"a:\n  b:\n    c: d\n  - e\n": false, "a:\n  b: c\n- d\n": false, "- a\nb: c\n": false, "a: =\n": false, "a: b,]}\n": true, "a: .\nb: /\nc: _\n": true, "a: -b\nc: -\n": false,
}

// TestSimple holds that what simple reads is what the library reads, and which shapes
// it reads at all.
func TestSimple(t *testing.T) {
	long := strings.Repeat("words of ", 400) + "it"
	for _, text := range []string{"a: " + long, "- " + long, "a: '" + long + "'", "- a: \"" + long + "\" # " + long, "# " + long + "\na: b", strings.Repeat("k", simpleKey) + ": " + long} {
		simpleTexts[text+"\n"] = true
	}
	simpleTexts[strings.Repeat("k", simpleKey+1)+": v\n"] = false
	for text, want := range simpleTexts {
		got, ok := Simple([]byte(text))
		if ok != want {
			t.Errorf("%q: read: %t, want %t", text, ok, want)
		}
		if ok {
			if lib, err := library([]byte(text)); err != nil || !Identical(got, lib) {
				t.Errorf("%q: not as the library parses it (%v)", text, err)
			}
		}
	}
}

// What a plain scalar is the library says: of words in all cases, cut short and longer, and of
// numbers and what looks like one.
func TestPlainTag(t *testing.T) {
	values := strings.Fields("~ y n on off yes no none true false null nil inf nan .nan .inf -.inf + - . / _ @ 0 1 9 08 010 0x1f 0b1 0o17 1e3 1E3 1. 1.5 .5 -1 +1 1_000 1:30 100m 10Gi 1.2.3 " +
		"2001-01-01 2001-01-01T00:00:00Z 20010101 999999999999999999 1000000000000000000 9223372036854775807 9223372036854775808 18446744073709551616 1a 12- Zz z [ { ` oFF")
	for _, v := range slices.Clone(values) {
		values = append(values, strings.ToUpper(v), strings.ToUpper(v[:1])+v[1:], v+"e", v+"0", v[:1], "e"+v, "9"+v)
	}
	for _, v := range values {
		n := &yaml.Node{Kind: yaml.ScalarNode, Value: v}
		if got := plainTag(n); got != n.ShortTag() {
			t.Errorf("%q: %s, the library says %s", v, got, n.ShortTag())
		}
	}
}

// TestSimpleShapes holds the same of texts that are put together at random, in all the
// ways in which lines can stand below each other.
func TestSimpleShapes(t *testing.T) {
	lines := []string{
		"a: b", "b:", "c: d # e", "- f", "- g: h", "# i", "", "j: {k: l, m: [n, 'o']}", "p: \"q\" # r", "- 's: t'", "u: v w", "x/y.z: 1", "- -1", "aa: []", "- {bb: c}", "---", "dd: e:f", "- gg:", "hh: 'i", "jj: k\"l",
		"- m # n", "# o # p", "q: r#s", "- [t, u]", "v: null", "w: - x", "y : z", "aa:b", "- # c", "d: # e",
	}
	random := rand.New(rand.NewPCG(1, 2))
	read := 0
	for range 200_000 {
		var b strings.Builder
		indent := 0
		for range 1 + random.IntN(7) {
			switch random.IntN(6) {
			case 0:
				indent = max(0, indent-2)
			case 1, 2:
				indent += 2
			case 3:
				indent = random.IntN(7)
			}
			line := lines[random.IntN(len(lines))]
			if line != "" {
				b.WriteString(strings.Repeat(" ", indent))
			}
			b.WriteString(line + "\n")
		}
		text := []byte(b.String())
		got, ok := Simple(text)
		if !ok {
			continue
		}
		read++
		if lib, err := library(text); err != nil || !Identical(got, lib) {
			t.Fatalf("%q: not as the library parses it (%v)", text, err)
		}
	}
	if read < 5000 {
		t.Errorf("%d of all texts were read: too few to tell", read)
	}
}

// FuzzSimple holds the same of any text, and of any where one line is repeated, moved
// or indented, which is where shapes differ.
func FuzzSimple(f *testing.F) {
	for text := range simpleTexts {
		f.Add([]byte(text), uint8(0), uint8(1), uint8(2))
	}
	f.Fuzz(func(t *testing.T, text []byte, line, to, indent uint8) {
		lines := bytes.SplitAfter(text, []byte("\n"))
		moved := append([]byte(strings.Repeat(" ", int(indent%8))), bytes.TrimLeft(lines[int(line)%len(lines)], " ")...)
		lines[int(to)%len(lines)] = moved
		for _, text := range [][]byte{text, bytes.Join(lines, nil)} {
			got, ok := Simple(text)
			if !ok {
				continue
			}
			if lib, err := library(text); err != nil || !Identical(got, lib) {
				t.Errorf("%q: not as the library parses it (%v)", text, err)
			}
		}
	})
}

// library parses a text that is one document.
func library(text []byte) (*yaml.Node, error) {
	d := yaml.NewDecoder(bytes.NewReader(text))
	var first, second yaml.Node
	if err := d.Decode(&first); err != nil {
		return nil, err
	}
	if err := d.Decode(&second); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("there is more: %w", err)
	}
	return &first, nil
}

// TestSimply holds that a tree whose nodes are used again is the text's own, whatever was
// read before, and that reading leaves little behind.
func TestSimply(t *testing.T) {
	text := func(i int) []byte {
		var b strings.Builder
		fmt.Fprintf(&b, "kind: ConfigMap # %d\nmetadata: {name: n%d}\ndata:\n", i, i)
		for l := range 30 + 7*i {
			fmt.Fprintf(&b, "  # above\n  key-%d: \"value %d\"\n", l, i)
		}
		return []byte(b.String())
	}
	large := bytes.Replace(text(0), []byte("data:\n"), []byte("data:\n"+strings.Repeat("  # more\n", mostPassing)), 1)
	reads := func(text []byte) {
		t.Helper()
		want, err := library(text)
		if err != nil {
			t.Fatal(err)
		}
		if !Simply(text, func(got *yaml.Node) {
			if !Identical(got, want) {
				t.Errorf("not read as it is: %.60q", text)
			}
		}) {
			t.Errorf("not read: %.60q", text)
		}
	}
	for range 3 {
		for i := range 9 {
			reads(text(8 - i))
			reads(text(i))
			for _, bad := range []string{"a: [b", "", "a:\n  b: c\n d: e\n"} {
				if Simply([]byte(bad), func(*yaml.Node) { t.Errorf("%q is read", bad) }) {
					t.Errorf("%q is no simple text", bad)
				}
			}
		}
		reads(large)
	}
	small, before, after := text(0), runtime.MemStats{}, runtime.MemStats{}
	want, err := library(small)
	if err != nil {
		t.Fatal(err)
	}
	p := &simpleParser{passing: true} // one of its own: the race detector drops what is pooled
	runtime.ReadMemStats(&before)
	for range 100 {
		if root, ok := p.parse(small); !ok || !SameValue(root, want) {
			t.Fatal("not read as it is")
		}
		p.forget()
	}
	runtime.ReadMemStats(&after)
	if kib := (after.TotalAlloc - before.TotalAlloc) / 100 >> 10; kib > 5 { // 15 with nodes of its own
		t.Errorf("%d KiB are allocated to read 30 fields", kib)
	}
}

// Sequences at their keys' indent take no more memory than those that are indented: there is no
// room in one for the items of the next.
func TestRoomOfSequences(t *testing.T) {
	takes := func(indent string) uint64 {
		var text bytes.Buffer
		for i := range 10_000 {
			fmt.Fprintf(&text, "a%d:\n%s- x\n", i, indent)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		root, ok := Simple(text.Bytes())
		runtime.ReadMemStats(&after)
		if !ok || len(root.Content[0].Content) != 20_000 {
			t.Fatal("not read")
		}
		return after.TotalAlloc - before.TotalAlloc
	}
	if compact, indented := takes(""), takes("  "); compact > indented+indented/10 {
		t.Errorf("%d bytes, indented %d", compact, indented)
	}
}

// TestLongRows holds that what is read does not grow with the square of a row's length.
func TestLongRows(t *testing.T) {
	for name, row := range map[string]string{
		"words":  "[" + strings.Repeat("b, ", 200_000) + "b]",
		"quoted": "[" + strings.Repeat(`"b", `, 200_000) + "b]",
		"fields": "[" + strings.Repeat("{b: c}, ", 100_000) + "{b: c}]",
	} {
		start := time.Now()
		root, ok := Simple([]byte("a: " + row + "\n"))
		if took := time.Since(start); took > 10*time.Second { // 0.1 s; minutes, where each looks at the rest
			t.Errorf("%s: %v", name, took)
		}
		if !ok || len(Child(root, "a").Content) < 100_000 {
			t.Errorf("%s: not read", name)
		}
	}
}

// Many lines that are no rows cost their bytes, in texts that are simple and in others.
func TestManyLinesThatAreNoRows(t *testing.T) {
	const lines = 200_000
	for name, text := range map[string]string{
		"a comment":             strings.Repeat("#\n", lines) + "a: b\n",
		"a comment, not simple": strings.Repeat("#\n", lines) + "a: |\n  b\n",
		"breaks":                "a: b\n" + strings.Repeat("\n", lines) + "c: d\n",
		"breaks, not simple":    strings.Repeat("\n", lines) + "a: |\n  b\n",
	} {
		start := time.Now()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		root, ok := Simple([]byte(text))
		runtime.ReadMemStats(&after)
		if took := time.Since(start); took > 5*time.Second { // 10 ms; half a minute, where each copies what is above it
			t.Errorf("%s: %v", name, took)
		}
		if kib := (after.TotalAlloc - before.TotalAlloc) >> 10; kib > 4<<10 { // 11 MB, with room for a row a line
			t.Errorf("%s: %d KiB were allocated for %d", name, kib, len(text)>>10)
		}
		if ok == strings.Contains(name, "not") {
			t.Errorf("%s: simple is %t", name, ok)
		}
		if head := strings.Repeat("#\n", lines); name == "a comment" && root.Content[0].Content[0].HeadComment != head[:len(head)-1] {
			t.Errorf("%s: %d bytes of it are there", name, len(root.Content[0].Content[0].HeadComment))
		}
	}
}
