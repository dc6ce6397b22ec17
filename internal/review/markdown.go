package review

import (
	"fmt"
	"html"
	"slices"
	"strings"

	"github.com/variform/variform/internal/count"
	"github.com/variform/variform/internal/lazyregexp"
)

// MarkdownLimit is how long a summary may be: a comment on GitHub holds 65,536
// characters, and the difference is for what a workflow puts around it. Bytes
// are counted, of which there are at least as many.
const MarkdownLimit = 65000

// Bounds of a part of the summary, so that no single one uses up the whole.
const (
	maxInline  = 300 // bytes of a name, or of a message in a line
	fewMembers = 5   // variants that are named in the line itself
	openLines  = 25  // lines of a diff that is not folded away
	tailRoom   = 400 // for the sentence on what is left out
	minLimit   = 2000
)

// Markdown writes a digest as a comment on a change: deletions, lost edits and
// failures first, then each class of change once, smallest first. It is never
// longer than limit (at least 2,000 bytes; 0 is MarkdownLimit). All are named before
// any has its members, and all have those before any is spelled out. What does not
// fit is left out, the largest classes first, and the text says so and
// names the command that shows it. Content cannot leave its code block, is no
// HTML, mentions nobody, refers to nothing and gives GitLab no quick action.
func Markdown(d *Digest, limit int) string {
	if limit == 0 {
		limit = MarkdownLimit
	}
	limit = max(limit, minLimit)
	command := d.command()
	head := fmt.Sprintf("### Variform %s%s\n\n%s\n", command, d.Source.heading(), inline(d.Summary))
	blocks := d.blocks(command, limit/4)
	room := limit - len(head) - tailRoom
	shown := 0
	for shown < len(blocks) && room >= len(blocks[shown].head()) {
		room -= len(blocks[shown].head())
		shown++
	}
	blocks, rest := blocks[:shown], blocks[shown:]
	membered := 0
	for membered < shown && room >= blocks[membered].membership() {
		room -= blocks[membered].membership()
		membered++
	}
	var b strings.Builder
	b.WriteString(head)
	for i := range blocks {
		if i >= membered {
			b.WriteString(blocks[i].head())
			continue
		}
		text, used := blocks[i].fit(room)
		room -= used
		b.WriteString(text)
	}
	if n := shown - membered; n > 0 {
		fmt.Fprintf(&b, "\n%s above stand without members, for want of room; %s shows them.\n", count.Of(n, "class", "classes"), code(advice(command)))
	}
	b.WriteString(leftOut(command, rest))
	return b.String()
}

// command is what ran, in the one word that goes into headings and advice.
func (d *Digest) command() string {
	if slices.Contains([]string{"plan", "apply", "review"}, d.Command) {
		return d.Command
	}
	return "plan"
}

// block is one finding or one class: what is always shown, and what may go.
type block struct {
	title   string // of the section that begins here, else ""
	line    string // who and what
	members []string
	allOf   string // the set that they are, whole
	body    string // the example's diff, or a message of several lines
	instead string // what is said where there is no room for the body
}

func (b *block) head() string {
	if b.title == "" {
		return "\n" + b.line + "\n"
	}
	return "\n#### " + b.title + "\n\n" + b.line + "\n"
}

// folded names the first few members, whole all of them.
func (b *block) folded() string {
	if len(b.members) == 0 {
		return ""
	}
	if b.allOf != "" {
		return "\nall of set " + code(b.allOf) + "\n"
	}
	if all := Ranges(b.members); len(all) <= fewMembers {
		return "\n" + codes(all) + "\n"
	}
	names := codes(b.members[:min(fewMembers, len(b.members))])
	if rest := len(b.members) - fewMembers; rest > 0 {
		return "\n" + names + fmt.Sprintf(" and %d more\n", rest)
	}
	return "\n" + names + "\n"
}

func (b *block) whole() string {
	if b.allOf != "" || len(Ranges(b.members)) <= fewMembers {
		return b.folded()
	}
	return fold(fmt.Sprintf("all %d variants", len(b.members)), codes(Ranges(b.members))+"\n")
}

// membership is by how much short is longer than head.
func (b *block) membership() int { return len(b.short()) - len(b.head()) }

func (b *block) short() string { return b.head() + b.folded() + b.instead }

// fit is as much of the block as has room, and by how much it is longer than
// short: the body goes before the names, which commands list as well.
func (b *block) fit(room int) (text string, used int) {
	short := len(b.short())
	for _, try := range []string{b.head() + b.whole() + b.body, b.head() + b.folded() + b.body, b.head() + b.whole() + b.instead} {
		if used := len(try) - short; used <= room {
			return try, used
		}
	}
	return b.short(), 0
}

func leftOut(command string, rest []block) string {
	if len(rest) == 0 {
		return ""
	}
	variants := 0
	for i := range rest {
		variants += len(rest[i].members)
	}
	return fmt.Sprintf("\n**%s (%s) left out here**, for this is as long as a comment may be; %s shows them.\n",
		count.Of(len(rest), "more class", "more classes"), count.Of(variants, "variant"), code(advice(command)))
}

// advice is the command that shows everything; apply has been done.
func advice(command string) string {
	if command == "apply" {
		command = "status"
	}
	return "variform " + command + " -o wide"
}

var sections = map[Kind]string{
	Deletion: "Deletions", Conflict: "Lost edits", Failure: "Failures", Waiting: "Waiting for a person", Warning: "Warnings", Notice: "Also",
}

// Title heads the findings of a kind.
func (k Kind) Title() string { return sections[k] }

// blocks are in reading order; no body is longer than most.
func (d *Digest) blocks(command string, most int) []block {
	var before, after, changes []block
	for i := range d.Findings {
		f := &d.Findings[i]
		b := f.block(command, most)
		if i == 0 || d.Findings[i-1].Kind != f.Kind {
			b.title = f.Kind.Title()
		}
		if slices.Index(Kinds, f.Kind) <= slices.Index(Kinds, Failure) {
			before = append(before, b)
		} else {
			after = append(after, b)
		}
	}
	if d.Changes != nil {
		changes = marked(d.Changes.Marks)
		classes := make([]*Class, 0, len(d.Changes.Classes))
		for i := range d.Changes.Classes {
			classes = append(classes, &d.Changes.Classes[i])
		}
		// Outliers of all packages come first here, not those of each.
		slices.SortStableFunc(classes, (*Class).Compare)
		for i, c := range classes {
			b := c.block(command, len(d.Changes.Packages) > 1, most)
			if i == 0 {
				b.title = "Changes"
			}
			changes = append(changes, b)
		}
	}
	return slices.Concat(before, changes, after)
}

// mostMarks is how many marks stand at the head; classes with the others come first.
const mostMarks = 15

// marked are what to look at first.
func marked(marks []Mark) (out []block) {
	for i, m := range marks {
		if i == mostMarks && len(marks) > mostMarks+1 {
			return append(out, block{line: fmt.Sprintf("and %d more", len(marks)-i)})
		}
		b := block{members: m.Members, allOf: AllOfSet(m.Members, m.AllOf), line: fmt.Sprintf("**%s**: %s: %s", count.Of(len(m.Members), "variant"), inline(string(m.Kind)), inline(m.Text))}
		if i == 0 {
			b.title = "To look at first"
		}
		out = append(out, b)
	}
	return out
}

func (f *Finding) block(command string, most int) block {
	first, rest, _ := strings.Cut(strings.TrimSpace(f.Message), "\n")
	b := block{members: f.Members, line: fmt.Sprintf("**%s**: %s", f.who(), inline(first))}
	if f.File != "" {
		b.line += ", see " + code(f.place())
	}
	if rest == "" && len(first) <= maxInline {
		return b
	}
	b.instead = fmt.Sprintf("\nThe rest of the message is left out here; %s shows it.\n", code(advice(command)))
	if b.body = fenced("text", f.Message); len(b.body) > most {
		b.body = b.instead
	}
	return b
}

func (f *Finding) place() string {
	if f.Line == 0 {
		return f.File
	}
	return fmt.Sprintf("%s:%d", f.File, f.Line)
}

func (c *Class) block(command string, several bool, most int) block {
	b := block{members: c.Members, allOf: AllOfSet(c.Members, c.AllOf), line: fmt.Sprintf("**%s**", count.Of(len(c.Members), "variant"))}
	if several && c.Package != "" {
		b.line += " of " + code(c.Package)
	}
	if c.Versions != "" {
		b.line += " " + inline(c.Versions)
	}
	b.line += ": " + inline(c.Says)
	show := "variform diff " + c.Example
	if command == "review" {
		show = "variform review " + c.ID
		b.line += ", class " + code(c.ID)
	}
	if c.Diff == "" {
		return b
	}
	b.instead = fmt.Sprintf("\nThe diff (%s) is left out here; %s shows it.\n", count.Of(c.Lines, "line"), code(show))
	diff := fenced("diff", c.Diff)
	switch {
	case len(diff) > most:
		b.body = b.instead
	case strings.Count(c.Diff, "\n") > openLines:
		b.body = fold(fmt.Sprintf("diff of %s (%s)", htmlCode(c.Example), count.Of(c.Lines, "line")), diff)
	case len(c.Members) > 1:
		b.body = "\n" + code(c.Example) + " for example:\n" + diff
	default:
		b.body = diff
	}
	return b
}

// fold hides Markdown behind a line of HTML. The blank lines end the HTML.
func fold(summary, text string) string {
	return "\n<details><summary>" + summary + "</summary>\n\n" + strings.TrimPrefix(text, "\n") + "\n</details>\n"
}

// fenced is a block of code that nothing in the text can end: the fence is
// longer than any run of its character there.
func fenced(language, text string) string {
	text = Visible(text)
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i, line := range lines {
		// GitLab looks for quick actions with an eye of its own for code.
		if strings.HasPrefix(line, "/") {
			lines[i] = " " + line
		}
	}
	fence := strings.Repeat("`", max(3, longestRun(text, '`')+1))
	return "\n" + fence + language + "\n" + strings.Join(lines, "\n") + "\n" + fence + "\n"
}

// simple is text that means nothing to Markdown, HTML or a forge.
var simple = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9 ,:;]*$`)

// inline is text in a sentence: as it is where that is safe, else as code.
func inline(s string) string {
	if len(s) <= maxInline && simple.MatchString(s) && !strings.Contains(s, "::") {
		return s
	}
	return code(s)
}

// oneLine is a text of any content as it stands in a line.
func oneLine(s string) string { return strings.Join(strings.Fields(clip(Visible(s))), " ") }

// htmlCode is code where Markdown is not read.
func htmlCode(s string) string { return "<code>" + html.EscapeString(oneLine(s)) + "</code>" }

// code is a span of code.
func code(s string) string {
	if s = oneLine(s); s == "" {
		return "–"
	}
	if !strings.Contains(s, "`") {
		return "`" + s + "`"
	}
	fence := strings.Repeat("`", longestRun(s, '`')+1)
	return fence + " " + s + " " + fence
}

func codes(names []string) string {
	out := make([]string, 0, len(names))
	for _, n := range names {
		out = append(out, code(n))
	}
	return strings.Join(out, ", ")
}

// clip bounds a text that stands in a line.
func clip(s string) string {
	if len(s) <= maxInline {
		return s
	}
	cut := maxInline
	for cut > 0 && s[cut]&0xC0 == 0x80 { // in the middle of a rune
		cut--
	}
	return s[:cut] + "…"
}

func longestRun(s string, of byte) int {
	longest, run := 0, 0
	for i := range len(s) {
		if s[i] != of {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}
