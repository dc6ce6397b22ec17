package review

import (
	"strings"

	"github.com/variform/variform/internal/krm"
)

// isForm reports whether an operation changes how something is written, or where,
// and not what it says.
func (o Op) isForm() bool { return o == Mode || o == Move || o == Comment || o == Format }

// isWritten reports whether an edit is of a form or of a whole file's text.
func (e Edit) isWritten() bool {
	return e.Op.isForm() || e.Resource == "" && e.Op == Update
}

func (c *cell) isWritten() bool { return Edit{Op: c.Op, Resource: c.Resource}.isWritten() }

// forms tells the deviations of form that a package had before from those that a
// change makes. A package deviates where it is other than the machine made it.
type forms struct {
	before, machine, after *krm.Package
	changed                []found // forms that differ between before and after
	compared               bool
}

// had reports whether before deviates in the way that an edit says of after: the
// edit is one between machine and after.
func (f *forms) had(e Edit) (bool, error) {
	if f.before == nil {
		return false, nil
	}
	if e.Resource == "" && e.Op != Mode {
		return f.hadText(e), nil
	}
	if !f.compared {
		d := &differ{norm: newNormaliser(nil), forms: true}
		if err := d.packages(f.before, f.after); err != nil {
			return false, err
		}
		f.changed, f.compared = d.edits, true
	}
	for i := range f.changed {
		// What is new has no form of before.
		if c := &f.changed[i]; c.Op == e.Op && c.Within(e) && c.Field == e.Field || c.Op == Add && c.Within(e) && len(c.Field) <= len(e.Field) {
			return false, nil
		}
	}
	_, ok := f.before.Read(e.File)
	return ok, nil
}

// hadText reports whether a file's text is made of what before and the machine have.
func (f *forms) hadText(e Edit) bool {
	was, okB := f.before.Read(e.File)
	made, okM := f.machine.Read(e.File)
	is, okA := f.after.Read(e.File)
	if !okB || !okM || !okA {
		return false
	}
	if e.Op != Update {
		return sameForm(string(was.Data), string(made.Data), string(is.Data))
	}
	return sameLines(string(was.Data), string(made.Data), string(is.Data))
}

// sameLines reports whether a text brings no line of its own, and lacks none that
// both others have.
func sameLines(before, machine, after string) bool {
	b, m, a := lineSet(before, same), lineSet(machine, same), lineSet(after, same)
	for line := range a {
		if !b[line] && !m[line] {
			return false
		}
	}
	return hasShared(a, b, m)
}

// sameForm reports whether a YAML file that says what the machine's says is written as
// before: a line that is in neither is the machine's in another indentation, or one
// of before with another value, and the order of lines is that of either.
func sameForm(before, machine, after string) bool {
	if ends := func(s string) bool { return strings.Contains(s, "\r\n") }; ends(after) != ends(before) && ends(after) != ends(machine) {
		return false
	}
	b, m := lineSet(before, withoutEnd), lineSet(machine, withoutEnd)
	looseB, looseM, looseA := lineSet(before, strings.TrimSpace), lineSet(machine, strings.TrimSpace), lineSet(after, strings.TrimSpace)
	spelled := lineSet(before, spelling)
	for line := range lineSet(after, withoutEnd) {
		brought := looseM[strings.TrimSpace(line)] && !looseB[strings.TrimSpace(line)]
		if !b[line] && !m[line] && !brought && !spelled[spelling(line)] {
			return false
		}
	}
	trimmed := func(line string) string { return strings.TrimSpace(spelling(line)) }
	return hasShared(looseA, looseB, looseM) && inOrder(before, machine, after, strings.TrimSpace) && inOrder(before, machine, after, trimmed)
}

// hasShared reports whether a text has all lines that two others share.
func hasShared(a, b, m map[string]bool) bool {
	for line := range b {
		if m[line] && !a[line] {
			return false
		}
	}
	return true
}

// inOrder reports whether any two neighbours among the lines that three texts have
// once each follow one another as in one of the first two.
func inOrder(before, machine, after string, of func(string) string) bool {
	b, m, a := places(before, of), places(machine, of), places(after, of)
	last := ""
	for line := range strings.Lines(after) {
		line = of(line)
		if b[line] == 0 || m[line] == 0 || a[line] == 0 {
			continue
		}
		if last != "" && b[last] > b[line] && m[last] > m[line] {
			return false
		}
		last = line
	}
	return true
}

// places are the numbers of the lines that a text has once, from 1.
func places(text string, of func(string) string) map[string]int {
	out := map[string]int{}
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = of(line)
		if _, twice := out[line]; twice {
			out[line] = 0
			continue
		}
		out[line] = n
	}
	return out
}

func lineSet(text string, of func(string) string) map[string]bool {
	out := map[string]bool{}
	for line := range strings.Lines(text) {
		out[of(line)] = true
	}
	return out
}

func same(line string) string { return line }

func withoutEnd(line string) string { return strings.TrimRight(line, "\r\n") }

// spelling is a line of YAML without its value: indentation, key, the sign that the
// value begins with, and the comment.
func spelling(line string) string {
	line = withoutEnd(line)
	key, value, ok := strings.Cut(line, ": ")
	sep := ": "
	if !ok {
		if key, value, ok = strings.Cut(line, "- "); !ok {
			return line
		}
		sep = "- "
	}
	_, comment, _ := strings.Cut(value, " #")
	spaces := len(value) - len(strings.TrimLeft(value, " "))
	sign := "·"
	if spaces < len(value) && strings.ContainsRune(`"'{[|>&*!`, rune(value[spaces])) {
		sign = value[spaces : spaces+1]
	}
	return key + sep + value[:spaces] + sign + " #" + comment
}
