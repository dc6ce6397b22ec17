package review

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/variform/variform/internal/count"
	"github.com/variform/variform/internal/krm"
)

// describe writes Says of each class, a Summary of each package and the
// report's own.
func describe(r *Report) {
	r.Packages = []Summary{}
	for start := 0; start < len(r.Classes); {
		end := start
		for end < len(r.Classes) && r.Classes[end].Package == r.Classes[start].Package {
			end++
		}
		r.Packages = append(r.Packages, describePackage(r.Classes[start:end]))
		start = end
	}
	switch len(r.Packages) {
	case 0:
		r.Summary = count.Of(r.Unchanged, "variant") + ", no changes"
		return
	case 1:
		r.Summary = r.Packages[0].Summary
	default:
		r.Summary = fmt.Sprintf("%s of %s in %s", count.Of(r.Variants, "variant"), count.Of(len(r.Packages), "package"), count.Of(len(r.Classes), "class", "classes"))
	}
	if r.Unchanged > 0 {
		r.Summary += fmt.Sprintf("; %d unchanged", r.Unchanged)
	}
}

// describePackage tells how the classes of one package differ: the largest,
// which is last, first.
func describePackage(classes []Class) Summary {
	largest := &classes[len(classes)-1]
	common := keys(largest.Edits)
	out := Summary{Package: largest.Package, Classes: len(classes)}
	var parts []string
	for i := len(classes) - 1; i >= 0; i-- {
		c := &classes[i]
		out.Variants += len(c.Members)
		one := len(c.Members) == 1
		if c == largest {
			c.Says = say(c.Edits, one) + " (" + count.Of(c.Lines, "line") + ")"
			parts = append(parts, fmt.Sprintf("%d %s", len(c.Members), headline(c, one)))
		} else {
			c.Says = compare(c.Edits, common, one)
			parts = append(parts, fmt.Sprintf("%d %s", len(c.Members), c.Says))
		}
		if c.Attention != "" {
			c.Says = c.Attention + ": " + c.Says
		}
	}
	const most = 5
	if len(parts) > most {
		rest := 0
		for _, c := range classes[:len(classes)-most] {
			rest += len(c.Members)
		}
		parts = append(parts[:most], fmt.Sprintf("%d in %d more classes", rest, len(classes)-most))
	}
	out.Summary = count.Of(out.Variants, "variant") + ": " + strings.Join(parts, "; ")
	return out
}

func headline(c *Class, one bool) string {
	verb := "change the same "
	if one {
		verb = "changes "
	}
	return verb + count.Of(c.Lines, "line") + " (" + say(c.Edits, false) + ")"
}

// compare tells what edits do beside the common ones.
func compare(edits []Edit, common map[string]bool, one bool) string {
	if len(edits) == 0 || len(common) == 0 {
		return say(edits, one)
	}
	var extra []Edit
	shared := 0
	for _, e := range edits {
		if common[editKey(e)] {
			shared++
		} else {
			extra = append(extra, e)
		}
	}
	switch {
	case len(extra) == 0:
		return fmt.Sprintf("%s only %d of these %d fields", verb(Update, one), shared, len(common))
	case shared == len(common):
		return "also " + say(extra, one)
	case shared == 0:
		return say(extra, one)
	default:
		return fmt.Sprintf("%s, and %s only %d of these %d fields", say(extra, one), verb(Update, one), shared, len(common))
	}
}

// say names the edits: field by field where they are few, else by resource.
func say(edits []Edit, one bool) string {
	const fields, resources = 2, 4
	if len(edits) == 0 {
		return verb(Update, one) + " nothing but the record of where it comes from"
	}
	var parts []string
	if len(edits) <= fields {
		for _, e := range edits {
			parts = append(parts, verb(e.Op, one)+" "+e.what())
		}
		return strings.Join(parts, ", ")
	}
	groups := byResource(edits)
	for i, g := range groups {
		if i == resources {
			parts = append(parts, fmt.Sprintf("and %d more", len(groups)-resources))
			break
		}
		parts = append(parts, g.String(one))
	}
	return strings.Join(parts, ", ")
}

// touch is what edits do to one resource or file.
type touch struct {
	op     Op
	what   string
	fields int
}

func (t touch) String(one bool) string {
	text := verb(t.op, one) + " " + t.what
	if t.fields > 0 {
		text += " (" + count.Of(t.fields, "field") + ")"
	}
	return text
}

// byResource folds field edits, resources proper before Kptfiles.
func byResource(edits []Edit) []touch {
	var out []touch
	at := map[string]int{}
	for _, e := range edits {
		t := touch{op: e.Op, what: e.what()}
		if e.Field != "" {
			t.op, t.what, t.fields = Update, e.Resource, 1
		}
		key := string(t.op) + t.what
		if i, ok := at[key]; ok {
			out[i].fields += t.fields
			continue
		}
		at[key] = len(out)
		out = append(out, t)
	}
	sort.SliceStable(out, func(i, j int) bool { return !isKptfile(out[i].what) && isKptfile(out[j].what) })
	return out
}

func isKptfile(what string) bool { return strings.HasPrefix(what, "Kptfile ") }

// verb conjugates: "1 variant adds", "2 variants add".
func verb(op Op, one bool) string {
	if one {
		return string(op) + "s"
	}
	return string(op)
}

func keys(edits []Edit) map[string]bool {
	m := make(map[string]bool, len(edits))
	for _, e := range edits {
		m[editKey(e)] = true
	}
	return m
}

func editKey(e Edit) string {
	return strings.Join([]string{e.File, e.Resource, string(e.Op), e.Field, e.Digest, e.After}, "\x00")
}

// Diff writes the change from before to after as a unified diff, files in
// order; either may be nil. The values of Secrets are replaced by a word that
// says whether they changed.
func Diff(before, after *krm.Package) (string, error) {
	before, after = redact(before, nil), redact(after, before)
	a, err := index(before)
	if err != nil {
		return "", err
	}
	b, err := index(after)
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	for _, p := range changedPaths(a, b) {
		out.Write(fileDiff(p, a, b))
	}
	return out.String(), nil
}

// changedPaths are the files that differ, in order.
func changedPaths(a, b side) []string {
	paths := map[string]bool{}
	for _, s := range []side{a, b} {
		for p := range s.files {
			paths[p] = !a.same(b, p)
		}
	}
	maps.DeleteFunc(paths, func(_ string, changed bool) bool { return !changed })
	return slices.Sorted(maps.Keys(paths))
}

func fileDiff(path string, a, b side) []byte {
	x, okX := a.files[path]
	y, okY := b.files[path]
	oldName, newName := "a/"+path, "b/"+path
	if !okX {
		oldName = "/dev/null"
	}
	if !okY {
		newName = "/dev/null"
	}
	head := modes(path, x, y, okX, okY)
	if bytes.Equal(x.Data, y.Data) && okX && okY {
		return head
	}
	if binary(x.Data) || binary(y.Data) {
		return fmt.Appendf(head, "Binary file %s: %s\n", path, change(sized(x, okX), sized(y, okY)))
	}
	return append(head, hunks(oldName, x.Data, newName, y.Data)...)
}

// hunks is a unified diff with its two names, nothing where the texts are equal.
func hunks(oldName string, old []byte, newName string, now []byte) []byte {
	out := diff.Diff(oldName, old, newName, now)
	// The library leads with a line of its own ("diff a b"); a patch needs none.
	if _, rest, ok := bytes.Cut(out, []byte("\n")); ok && bytes.HasPrefix(out, []byte("diff ")) {
		out = rest
	}
	return out
}

// modes are the lines of git's patches that say what kind of file it is, where it
// is not an ordinary one or no longer is.
func modes(path string, x, y krm.File, okX, okY bool) []byte {
	old, now := mode(x.Mode), mode(y.Mode)
	head := fmt.Appendf(nil, "diff --git a/%s b/%s\n", path, path)
	switch {
	case okX && okY && old != now:
		return fmt.Appendf(head, "old mode %s\nnew mode %s\n", old, now)
	case !okX && (y.Mode != krm.Regular || len(y.Data) == 0): // of an empty file nothing else would show
		return fmt.Appendf(head, "new file mode %s\n", now)
	case !okY && (x.Mode != krm.Regular || len(x.Data) == 0):
		return fmt.Appendf(head, "deleted file mode %s\n", old)
	case okX && okY && x.Mode == krm.Symlink:
		return fmt.Appendf(head, "index of a symbolic link, mode %s\n", now)
	}
	return nil
}

// mode is a file's mode as git writes it.
func mode(m krm.Mode) string {
	switch m {
	case krm.Executable:
		return "100755"
	case krm.Symlink:
		return "120000"
	default:
		return "100644"
	}
}

// binary content is not shown: it has a zero byte, or is no text at all.
func binary(data []byte) bool {
	return bytes.IndexByte(data, 0) >= 0 || !utf8.Valid(data)
}

// sized says what a file holds without showing it.
func sized(f krm.File, ok bool) string {
	if !ok {
		return ""
	}
	return fmt.Sprintf("%d bytes, sha256 %x", len(f.Data), sha256.Sum256(f.Data))
}

func change(from, to string) string {
	switch {
	case from == "":
		return "new, " + to
	case to == "":
		return "removed, " + from
	}
	return to + "; it was " + from
}

// unified is the example diff of a class and how many lines it changes.
func unified(c *Change) (text string, lines int, err error) {
	text, err = Diff(c.Before, c.After)
	if err != nil {
		return "", 0, err
	}
	return text, countLines(text), nil
}

// countLines counts changed lines: a replaced line is one, not two.
func countLines(text string) int {
	total, added, removed := 0, 0, 0
	flush := func() { total += max(added, removed); added, removed = 0, 0 }
	for line := range strings.Lines(text) {
		switch {
		case strings.HasPrefix(line, "+++ "), strings.HasPrefix(line, "--- "):
		case strings.HasPrefix(line, "+"):
			added++
		case strings.HasPrefix(line, "-"):
			removed++
		default:
			flush()
		}
	}
	flush()
	return total
}
