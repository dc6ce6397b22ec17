package review

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestMarkdown(t *testing.T) {
	d := &Digest{
		Command: "plan", Summary: "300 variants: 297 to update, 1 failed",
		Findings: []Finding{
			{Kind: Deletion, Message: "the open Draft goes: its variant has gone", Members: []string{"c1/old"}},
			{Kind: Failure, Message: "rendering web\n  ```\n  see @ann, #12", Members: []string{"c1/web", "c2/web"}, File: "sets/web.yaml", Line: 3},
			{Kind: Warning, Message: "nothing is selected"},
		},
		Changes: &Report{
			Marks:    []Mark{{Kind: ByHand, Text: "edited by hand", Members: []string{"c3/web"}}},
			Packages: []Summary{{Package: "catalog/web"}, {Package: "catalog/db"}},
			Classes: []Class{
				{Package: "catalog/db", Members: []string{"c1/db", "c2/db"}, Says: "also adds Service <b>", Example: "c1/db", Lines: 1, Diff: "-a\n+b\n"},
				{Package: "catalog/web", Members: []string{"c3/web"}, Says: "changes x", Example: "c3/web", Lines: 1, Diff: "-`````\n+b"},
			},
		},
	}
	want := "### Variform plan\n\n300 variants: 297 to update, 1 failed\n" +
		"\n#### Deletions\n\n**1 variant**: the open Draft goes: its variant has gone\n\n`c1/old`\n" +
		"\n#### Failures\n\n**2 variants**: rendering web, see `sets/web.yaml:3`\n\n`c1/web`, `c2/web`\n" +
		"\n````text\nrendering web\n  ```\n  see @ann, #12\n````\n" +
		"\n#### To look at first\n\n**1 variant**: by hand: edited by hand\n\n`c3/web`\n" +
		"\n#### Changes\n\n**1 variant** of `catalog/web`: changes x\n\n`c3/web`\n" +
		"\n``````diff\n-`````\n+b\n``````\n" +
		"\n**2 variants** of `catalog/db`: `also adds Service <b>`\n\n`c1/db`, `c2/db`\n" +
		"\n`c1/db` for example:\n\n```diff\n-a\n+b\n```\n" +
		"\n#### Warnings\n\n**the fleet**: nothing is selected\n"
	if diff := cmp.Diff(want, Markdown(d, 0)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// large is a digest of n classes, of 1 to n members.
func large(n, diffLines int) *Digest {
	d := &Digest{Command: "plan", Summary: "many", Changes: &Report{}}
	for i := range n {
		c := Class{ID: fmt.Sprintf("%012d", i), Says: fmt.Sprintf("changes field %d", i), Lines: diffLines}
		for m := range i + 1 {
			c.Members = append(c.Members, fmt.Sprintf("cluster-%03d/p%d", m, i))
		}
		c.Example = c.Members[0]
		c.Diff = strings.Repeat(fmt.Sprintf("+line of class %d\n", i), diffLines)
		d.Changes.Classes = append(d.Changes.Classes, c)
	}
	return d
}

// The largest classes lose their diffs first, and what is missing is named.
func TestMarkdownIsCutFromTheLargestClass(t *testing.T) {
	d := large(40, 100)
	text := Markdown(d, 0)
	check(t, text, MarkdownLimit)
	cut := false
	for i, c := range d.Changes.Classes {
		shown := strings.Contains(text, c.Diff)
		if shown && cut {
			t.Errorf("class %d is shown though a smaller one is not", i)
		}
		cut = cut || !shown
		if says := strings.Contains(text, fmt.Sprintf("The diff (100 lines) is left out here; `variform diff %s` shows it.", c.Example)); says == shown {
			t.Errorf("class %d: shown %t, said to be left out %t", i, shown, says)
		}
		if !strings.Contains(text, inline(c.Says)) {
			t.Errorf("class %d is not named", i)
		}
	}
	if !cut {
		t.Error("all fits, so that this test shows nothing")
	}
}

// All classes are named before any has its members, and with more classes than lines of text the rest is counted.
func TestMarkdownCountsWhatIsLeftOut(t *testing.T) {
	for _, name := range []string{"", " of a resource with a name that takes a lot of room"} {
		d := large(1000, 1)
		for i := range d.Changes.Classes { // one member each
			c := &d.Changes.Classes[i]
			c.Says += name
			c.Members, c.Example = c.Members[i:], c.Members[i]
		}
		text := Markdown(d, 0)
		check(t, text, MarkdownLimit)
		shown := strings.Count(text, "\n**1 variant**: ")
		want := fmt.Sprintf("**%d more classes (%d variants) left out here**", 1000-shown, 1000-shown)
		if all := shown == 1000; shown == 0 || all != (name == "") || strings.Contains(text, want) == all {
			t.Errorf("%d classes are shown, and is there %q in:\n%s", shown, want, text[len(text)-500:])
		}
		if !strings.Contains(text, " classes above stand without members, for want of room") {
			t.Errorf("that members are missing is not said:\n%s", text[len(text)-500:])
		}
	}
}

// Members are ranges, where that is shorter.
func TestMarkdownMembers(t *testing.T) {
	d := large(300, 1)
	for _, want := range []string{"\n`cluster-[000-299]/p299`\n", "\n`cluster-000/p0`\n", "`cluster-000/p1`, `cluster-001/p1`\n"} {
		if text := Markdown(d, 0); !strings.Contains(text, want) {
			t.Errorf("there is no %q", want)
		}
	}
}

// One diff, or one message, that is too long takes nothing from the others.
func TestMarkdownOnePartTooLong(t *testing.T) {
	for _, lines := range []int{MarkdownLimit/3/4 + 1, MarkdownLimit} {
		d := large(3, 1)
		d.Changes.Classes[0].Diff = strings.Repeat("+x\n", lines)
		d.Findings = []Finding{{Kind: Failure, Message: strings.Repeat("y\n\n", lines)}}
		text := Markdown(d, 0)
		check(t, text, MarkdownLimit)
		if strings.Contains(text, "y\n\ny") || !strings.Contains(text, "\nThe rest of the message is left out here; `variform plan -o wide` shows it.\n") {
			t.Errorf("a message of %d lines:\n%s", lines, text[:1000])
		}
		for i, c := range d.Changes.Classes {
			if got := strings.Contains(text, c.Diff); got != (i > 0) {
				t.Errorf("class %d: shown %t", i, got)
			}
		}
	}
}

var (
	openFence = regexp.MustCompile("^(`{3,})(diff|text)$")
	// outside is all that may stand outside code.
	outside = regexp.MustCompile(`^(#{3,4} [A-Za-z ]+|[A-Za-z0-9 ,.:;*()–]*|</details>)$`)
	folds   = regexp.MustCompile(`^<details><summary>[a-z0-9 ]*(<code>[^<>]*</code> \([0-9]+ lines?\))?</summary>$`)
)

// check reads a summary by CommonMark's rules for code, and fails where
// anything else than our own words stands outside it.
func check(t *testing.T, text string, limit int) {
	t.Helper()
	if len(text) > limit {
		t.Errorf("%d bytes, limit %d", len(text), limit)
	}
	if i := strings.IndexFunc(text, func(r rune) bool { return r != '\n' && r != '\t' && !unicode.IsGraphic(r) }); i >= 0 || !utf8.ValidString(text) {
		t.Errorf("what cannot be seen, at byte %d of %d", i, len(text))
	}
	fence, details := "", 0
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "/") {
			t.Errorf("line %d would be a quick action: %q", i, line)
		}
		if fence != "" {
			if end := strings.TrimLeft(strings.TrimRight(line, " \t"), " "); strings.Trim(end, "`") == "" && len(end) >= len(fence) {
				if line != fence {
					t.Errorf("line %d ends the block of %q: %q", i, fence, line)
				}
				fence = ""
			}
			continue
		}
		if m := openFence.FindStringSubmatch(line); m != nil {
			if fence = m[1]; lines[i-1] != "" {
				t.Errorf("line %d: a block with no blank line before it", i)
			}
			continue
		}
		rest, ok := withoutCode(line)
		if folds.MatchString(line) { // Markdown is not read there
			rest, ok = "", true
		}
		if !ok || !outside.MatchString(rest) || strings.Contains(rest, "```") {
			t.Errorf("line %d: %q stands outside code in %q", i, rest, line)
		}
		switch {
		case strings.HasPrefix(line, "<details>"):
			if details++; lines[i+1] != "" {
				t.Errorf("line %d: no blank line ends the HTML", i)
			}
		case line == "</details>":
			if details--; lines[i-1] != "" {
				t.Errorf("line %d: no blank line before the HTML", i)
			}
		}
	}
	if fence != "" || details != 0 {
		t.Errorf("open at the end: fence %q, details %d", fence, details)
	}
}

// withoutCode takes code spans out of a line: a run of backticks ends at the
// next run of that length.
func withoutCode(line string) (string, bool) {
	var b strings.Builder
	for {
		start := strings.IndexByte(line, '`')
		if start < 0 {
			b.WriteString(line)
			return b.String(), true
		}
		b.WriteString(line[:start])
		line = line[start:]
		n := len(line) - len(strings.TrimLeft(line, "`"))
		rest, found := line[n:], false
		for at := strings.IndexByte(rest, '`'); at >= 0; at = strings.IndexByte(rest, '`') {
			rest = rest[at:]
			m := len(rest) - len(strings.TrimLeft(rest, "`"))
			if rest = rest[m:]; m == n {
				found = true
				break
			}
		}
		if !found {
			return line, false
		}
		line = rest
	}
}

// nasty are pieces that end blocks, begin others, call people or hide.
var nasty = []string{
	"```", "````\n", "\n```diff\n", "~~~", "`", "``", "\n", "\r", "\r\n", "\t", " ", "    ", "<script>", "</details>", "</summary>", "<!--", "-->",
	"@everyone", "#1", "GH-1", "https://example.com/a", "&lt;", "&#64;", "\n/merge\n", "/close", "\x00", "\x1b[31m", "\xff", "\u202e", "\u2028", "é", "世",
	"\\", "*", "_", "[a](b)", "![a](b)", "|", "::error::", "%0A", ",", ":", "=", "\n\n", "\n- ", "\n> ", "\n# ", "web", "1",
}

// arbitrary makes a digest of what a source of numbers chooses.
func arbitrary(next func(n int) int, extra string) *Digest {
	text := func(most int) string {
		var b strings.Builder
		for range next(most) {
			if next(8) == 0 {
				b.WriteString(extra)
			} else {
				b.WriteString(strings.Repeat(nasty[next(len(nasty))], 1+next(3)))
			}
		}
		return b.String()
	}
	members := func() []string {
		var out []string
		for range next(40) {
			out = append(out, text(6))
		}
		return out
	}
	d := &Digest{Command: text(2), Summary: text(6), Changes: &Report{Packages: make([]Summary, next(3))}}
	for range next(12) {
		d.Findings = append(d.Findings, Finding{Kind: Kinds[next(len(Kinds))], Message: text(30), Members: members(), File: text(4), Line: next(3)})
	}
	for range next(20) {
		d.Changes.Marks = append(d.Changes.Marks, Mark{Kind: MarkKind(text(2)), Text: text(5), Members: members()})
	}
	for range next(30) {
		d.Changes.Classes = append(d.Changes.Classes, Class{
			Package: text(3), ID: text(3), Members: members(), Says: text(10), Example: text(4), Lines: next(9), Diff: text(200),
		})
	}
	return d
}

func FuzzMarkdown(f *testing.F) {
	for i := range uint64(40) {
		f.Add(i, 2000+int(i)*1500, nasty[int(i)%len(nasty)])
	}
	f.Fuzz(func(t *testing.T, seed uint64, limit int, extra string) {
		limit = max(minLimit, limit%100000)
		d := arbitrary(rand.New(rand.NewPCG(seed, 1)).IntN, extra)
		text := Markdown(d, limit)
		check(t, text, limit)
		if text != Markdown(d, limit) {
			t.Error("a second time it is another text")
		}
	})
}

// Members that are a whole set are told by its name, and no others are.
func TestAllOf(t *testing.T) {
	for name, c := range map[string]struct {
		sets  []string // of the members
		twice bool     // the first one has two revisions
		sizes map[string]int
		want  string
	}{
		"all":                        {[]string{"d/web", "d/web", "d/web"}, false, map[string]int{"d/web": 3}, "all of set `web`"},
		"all, and a second Draft":    {[]string{"d/web", "d/web"}, true, map[string]int{"d/web": 2}, "all of set `web`"},
		"but one":                    {[]string{"d/web", "d/web"}, false, map[string]int{"d/web": 3}, ""},
		"but one, a second Draft":    {[]string{"d/web", "d/web"}, true, map[string]int{"d/web": 3}, ""},
		"with one of no set":         {[]string{"d/web", "d/web", ""}, false, map[string]int{"d/web": 2}, ""},
		"two sets":                   {[]string{"d/web", "d/db"}, false, map[string]int{"d/web": 1, "d/db": 1}, ""},
		"of another namespace":       {[]string{"d/web", "e/web"}, false, map[string]int{"d/web": 2}, ""},
		"of no set":                  {[]string{"", ""}, false, map[string]int{}, ""},
		"one that is all of its set": {[]string{"d/web"}, false, map[string]int{"d/web": 1}, ""},
		"of which is not known":      {[]string{"d/web", "d/web"}, false, nil, ""},
	} {
		of := Classifier{Sets: c.sizes}
		for i, set := range c.sets {
			variant := fmt.Sprintf("c%d/web", i)
			change := Change{Variant: variant, Set: set, Before: pkg(t, map[string]string{"a": "x"}), After: pkg(t, map[string]string{"a": "y"})}
			change.Machine, change.Marks = change.After, []Mark{{Kind: Unmet, Text: "gates not met: a"}}
			compared, err := Compare(change)
			if err != nil {
				t.Fatal(err)
			}
			if of.Add(variant, compared); c.twice && i == 0 {
				of.Add(variant+"/second", compared)
			}
		}
		report, err := of.Report()
		if err != nil {
			t.Fatal(err)
		}
		text := Markdown(&Digest{Command: "review", Changes: report}, 0)
		if c.want == "" && strings.Contains(text, "all of set") || !strings.Contains(text, c.want) || c.want != "" && strings.Contains(text, "c1/web") {
			t.Errorf("%s: want %q:\n%s", name, c.want, text)
		}
	}
}

// A mark of several classes says which set it is about, whole, and says it of a part of
// the classes only where it is the same.
func TestMarksOfASet(t *testing.T) {
	of := Classifier{Sets: map[string]int{"d/web": 3}}
	for i, text := range []string{"x", "y", "y"} {
		variant := fmt.Sprintf("c%d/web", i)
		change := Change{Variant: variant, Set: "d/web", Before: pkg(t, map[string]string{"a": "v"}), After: pkg(t, map[string]string{"a": text})}
		change.Marks = []Mark{{Kind: Unmet, Text: "gates not met: a"}}
		if i > 0 {
			change.Marks = append(change.Marks, Mark{Kind: Moved, Text: "on main"})
		}
		compared, err := Compare(change)
		if err != nil {
			t.Fatal(err)
		}
		of.Add(variant, compared)
	}
	report, err := of.Report()
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Classes) != 2 {
		t.Fatalf("%d classes", len(report.Classes))
	}
	said := func(r *Report) string {
		var out []string
		for _, m := range r.Marks {
			out = append(out, fmt.Sprintf("%s %d %s", m.Kind, len(m.Members), m.AllOf))
		}
		return strings.Join(out, "; ")
	}
	for name, c := range map[string]struct {
		of   *Report
		want string
	}{
		"all":             {report, "unmet 3 d/web; moved 2 "},
		"all, once more":  {report.Of(report.Classes), "unmet 3 d/web; moved 2 "},
		"the first class": {report.Of(report.Classes[:1]), "unmet 1 "},
		"the other":       {report.Of(report.Classes[1:]), "unmet 2 ; moved 2 "},
	} {
		var got []string
		for _, part := range strings.Split(said(c.of), "; ") {
			if !strings.HasPrefix(part, "by hand") {
				got = append(got, part)
			}
		}
		if text := strings.Join(got, "; "); text != c.want {
			t.Errorf("%s: %q, want %q", name, text, c.want)
		}
	}
	if m := report.Classes[0].Marks; m[len(m)-1].AllOf != "" {
		t.Errorf("one of three: %+v", m)
	}
}
