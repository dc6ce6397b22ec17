package solve

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/variform/variform/test/oracletest"
)

// ron is a value in Rusty Object Notation, as far as pubgrub-rs' published cases use it: a number, or a sequence,
// tuple, map, structure or variant (Some(1), None, Included(1)). Keys are those of a map, or a structure's fields.
type ron struct {
	name   string // of a variant
	number int
	keys   []ron
	items  []ron
}

// ronReader reads a document from its start; the first mistake is kept.
type ronReader struct {
	text string
	at   int
	err  error
}

func parseRON(text string) (ron, error) {
	r := &ronReader{text: text}
	v := r.value()
	if r.peek(); r.err == nil && r.at < len(r.text) {
		r.fail("the end")
	}
	return v, r.err
}

func (r *ronReader) fail(want string) {
	if r.err == nil {
		line := 1 + strings.Count(r.text[:min(r.at, len(r.text))], "\n")
		r.err = fmt.Errorf("line %d: want %s", line, want)
	}
	r.at = len(r.text)
}

// peek is the next byte that is no space or comment, 0 at the end.
func (r *ronReader) peek() byte {
	for r.at < len(r.text) {
		switch {
		case strings.HasPrefix(r.text[r.at:], "//"):
			end := strings.IndexByte(r.text[r.at:], '\n')
			if end < 0 {
				end = len(r.text) - r.at
			}
			r.at += end
		case strings.IndexByte(" \t\r\n", r.text[r.at]) >= 0:
			r.at++
		default:
			return r.text[r.at]
		}
	}
	return 0
}

// word is the name or number at the reader's place.
func (r *ronReader) word() string {
	from := r.at
	for r.at < len(r.text) && (r.text[r.at] == '_' || r.text[r.at] >= '0' && r.text[r.at] <= '9' || r.text[r.at]|32 >= 'a' && r.text[r.at]|32 <= 'z') {
		r.at++
	}
	return r.text[from:r.at]
}

func (r *ronReader) value() ron {
	switch c := r.peek(); c {
	case '{':
		return r.list('}')
	case '[':
		return r.list(']')
	case '(':
		return r.list(')')
	}
	w := r.word()
	if n, err := strconv.Atoi(w); err == nil {
		return ron{number: n}
	}
	if w == "" {
		r.fail("a value")
		return ron{}
	}
	v := ron{}
	if r.peek() == '(' {
		v = r.list(')')
	}
	v.name = w
	return v
}

// list reads values, or keys with values, up to a closing bracket.
func (r *ronReader) list(end byte) ron {
	var v ron
	r.at++
	for r.peek() != end {
		item := r.value()
		if r.peek() == ':' {
			r.at++
			v.keys = append(v.keys, item)
			item = r.value()
		}
		v.items = append(v.items, item)
		switch r.peek() {
		case ',':
			r.at++
		case end:
		default:
			r.fail(fmt.Sprintf("',' or '%c'", end))
			return v
		}
	}
	r.at++
	if len(v.keys) > 0 && len(v.keys) != len(v.items) {
		r.fail("a key for each value")
	}
	return v
}

// ronProblem is a case of pubgrub-rs: packages, their versions (numbers) and what each depends on. Its roots are
// all versions of all packages.
type ronProblem struct {
	*Static
	packages []int   // by slot - 1
	versions [][]int // by slot - 1, newest first
}

// readRON reads a case in any of the forms in which they were published: the map of packages alone or as the
// field "dependencies", ranges as segments from an included number to an excluded one or with named bounds.
func readRON(text string) (*ronProblem, error) {
	doc, err := parseRON(text)
	if err != nil {
		return nil, err
	}
	for len(doc.items) == 1 && len(doc.keys) == 1 && doc.keys[0].name != "" {
		doc = doc.items[0]
	}
	p := &ronProblem{Static: NewStatic(1 + len(doc.keys))}
	slots := map[int]int32{}
	for i, k := range doc.keys {
		slots[k.number] = int32(i + 1)
		var vs []int
		for _, v := range doc.items[i].keys {
			vs = append(vs, v.number)
		}
		slices.SortFunc(vs, func(a, b int) int { return b - a })
		if len(vs) == 0 {
			return nil, fmt.Errorf("package %d has no version", k.number)
		}
		p.packages, p.versions = append(p.packages, k.number), append(p.versions, vs)
		p.Candidates(int32(i+1), len(vs))
	}
	for i := range doc.keys {
		if err := p.depend(int32(i+1), doc.items[i], slots); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// depend adds the needs of a package's versions.
func (p *ronProblem) depend(slot int32, versions ron, slots map[int]int32) error {
	for j, deps := range versions.items {
		version := versions.keys[j].number
		value := int32(slices.Index(p.versions[slot-1], version) + 1)
		for k, on := range deps.keys {
			to, ok := slots[on.number]
			if !ok {
				p.Need(slot, value, Impossible, nil)
				continue
			}
			set := NewSet(p.Size(to) + 1)
			for n, v := range p.versions[to-1] {
				in, err := within(deps.items[k], v)
				if err != nil {
					return fmt.Errorf("package %d version %d: dependency on %d: %w", p.packages[slot-1], version, on.number, err)
				}
				if in {
					set.Add(n + 1)
				}
			}
			p.Need(slot, value, to, set)
		}
	}
	return nil
}

// within tells whether a version is in one of a range's segments.
func within(segments ron, v int) (bool, error) {
	for len(segments.keys) == 1 && segments.keys[0].name == "segments" {
		segments = segments.items[0]
	}
	for _, s := range segments.items {
		if len(s.items) != 2 {
			return false, fmt.Errorf("a segment has %d bounds, not 2", len(s.items))
		}
		lo, err := bound(s.items[0], 1, math.MinInt)
		if err != nil {
			return false, err
		}
		hi, err := bound(s.items[1], -1, math.MaxInt)
		if err != nil {
			return false, err
		}
		if lo <= v && v <= hi {
			return true, nil
		}
	}
	return false, nil
}

// bound is the last version within a bound; inward is the step from an excluded number to it.
func bound(b ron, inward, open int) (int, error) {
	switch b.name {
	case "None", "Unbounded":
		return open, nil
	case "":
		return b.number, nil
	}
	if len(b.items) != 1 {
		return 0, fmt.Errorf("bound %s has %d values, not 1", b.name, len(b.items))
	}
	switch b.name {
	case "Included":
		return b.items[0].number, nil
	case "Excluded", "Some":
		return b.items[0].number + inward, nil
	}
	return 0, fmt.Errorf("unknown bound %q", b.name)
}

// rooted is a problem with another root: one candidate of one slot.
type rooted struct {
	*Static
	need []Need
}

// Needs implements [Source].
func (r rooted) Needs(slot, value int32) []Need {
	if slot == Root {
		return r.need
	}
	return r.Static.Needs(slot, value)
}

// solveAll solves a case for each version of each package, and returns how many have an answer.
func (p *ronProblem) solveAll(opts ...Option) (solved, roots int) {
	for slot := int32(1); int(slot) < p.Slots(); slot++ {
		for v := 1; v <= p.Size(slot); v++ {
			roots++
			need := []Need{{slot, NewSet(p.Size(slot)+1, v)}}
			s := New(rooted{p.Static, need})
			if _, ok := s.Solve(opts...); ok {
				solved++
			}
			s.Release()
		}
	}
	return solved, roots
}

// The same small case in the forms in which cases are published.
var ronForms = map[string]string{
	"numbers": `{
		7: { 1: { 8: [(0, Some(2)), (5, None)] }, 2: { 8: [(2, Some(3))], 9: [(0, None)] } },
		8: { 0: {}, 2: { 9: [(1, None)] }, 5: { 7: [(2, None)] } },
		9: { 0: {}, 1: { 10: [(0, None)] }, },
	}`,
	"field": `( // a comment
		dependencies: {
		7: { 1: { 8: [(0, Some(2)), (5, None)] }, 2: { 8: [(2, Some(3))], 9: [(0, None)] } },
		8: { 0: {}, 2: { 9: [(1, None)] }, 5: { 7: [(2, None)] } },
		9: { 0: {}, 1: { 10: [(0, None)] } },
	})`,
	"bounds": `(dependencies: {
		7: { 1: { 8: (segments: [(Unbounded, Excluded(2)), (Included(5), Unbounded)]) }, 2: { 8: (segments: [(Excluded(0), Included(2))]), 9: (segments: [(Unbounded, Unbounded)]) } },
		8: { 0: {}, 2: { 9: (segments: [(Included(1), Unbounded)]) }, 5: { 7: (segments: [(Included(2), Unbounded)]) } },
		9: { 0: {}, 1: { 10: (segments: [(Unbounded, Unbounded)]) } },
	})`,
}

func TestReadRON(t *testing.T) {
	for name, text := range ronForms {
		t.Run(name, func(t *testing.T) {
			p, err := readRON(text)
			if err != nil {
				t.Fatal(err)
			}
			// 7 1 has 8 0. 7 2 needs 8 2, which needs 9 1, which needs what is not there; so does 8 2, and 8 5 needs 7 2.
			want := map[[2]int]bool{{7, 1}: true, {7, 2}: false, {8, 0}: true, {8, 2}: false, {8, 5}: false, {9, 0}: true, {9, 1}: false}
			n := 0
			for i, pkg := range p.packages {
				for k, version := range p.versions[i] {
					n++
					slot := int32(i + 1)
					_, ok := New(rooted{p.Static, []Need{{slot, NewSet(p.Size(slot)+1, k+1)}}}).Solve()
					if w, known := want[[2]int{pkg, version}]; !known || ok != w {
						t.Errorf("package %d version %d: solved %v, want %v", pkg, version, ok, w)
					}
				}
			}
			if solved, roots := p.solveAll(); solved != 3 || roots != len(want) || n != len(want) {
				t.Errorf("solved %d of %d, want 3 of %d", solved, roots, len(want))
			}
		})
	}
}

func TestReadRONErrors(t *testing.T) {
	for text, want := range map[string]string{
		"{1: {2: {}}":                  "want ',' or '}'",
		"{1:\n{2: {3: [(0; 1)]}}}":     "line 2: want ','",
		"{1: {2: {}}} 3":               "want the end",
		"{1: {2: {}}, 3}":              "want a key for each value",
		"{1: {}}":                      "package 1 has no version",
		"{1: {2: {1: [(0)]}}}":         "package 1 version 2: dependency on 1: a segment has 1 bounds",
		"{1: {2: {1: [(0, Any(1))]}}}": `unknown bound "Any"`,
	} {
		if _, err := readRON(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}

// BenchmarkRON solves all roots of the case of pubgrub-rs that PUBGRUB_RON names, as its own benchmark does; that
// one takes the first answer, as "first" here.
func BenchmarkRON(b *testing.B) {
	file := os.Getenv("PUBGRUB_RON")
	if file == "" {
		b.Skip("PUBGRUB_RON names no file (test-examples/large_case_*_NumberVersion.ron of pubgrub-rs)")
	}
	data, err := os.ReadFile(file)
	if err != nil {
		b.Fatal(err)
	}
	p, err := readRON(string(data))
	if err != nil {
		b.Fatalf("%s: %v", file, err)
	}
	for _, way := range []struct {
		name string
		opts []Option
	}{{"preferred", nil}, {"first", []Option{WithAny()}}} {
		b.Run(way.name, func(b *testing.B) {
			var c oracletest.Cost
			solved, roots := 0, 0
			for b.Loop() {
				c.Measure(func() { solved, roots = p.solveAll(way.opts...) })
			}
			b.ReportMetric(0, "ns/op")
			c.Report(b, "ours")
			b.ReportMetric(float64(roots), "roots")
			b.ReportMetric(float64(solved), "solved")
		})
	}
}
