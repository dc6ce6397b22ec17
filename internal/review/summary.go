package review

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
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

// describePackage sums up the classes of one package, the largest first.
func describePackage(classes []Class) Summary {
	out := Summary{Package: classes[0].Package, Classes: len(classes)}
	bySize := make([]*Class, 0, len(classes))
	for i := range classes {
		out.Variants += len(classes[i].Members)
		bySize = append(bySize, &classes[i])
	}
	slices.SortStableFunc(bySize, func(a, b *Class) int { return len(b.Members) - len(a.Members) })
	const most = 5
	var parts []string
	rest := out.Variants
	for i, c := range bySize {
		if i == most {
			parts = append(parts, fmt.Sprintf("%d in %s", rest, count.Of(len(classes)-most, "more class", "more classes")))
			break
		}
		rest -= len(c.Members)
		if len(classes) == 1 {
			parts = append(parts, c.Says)
			break
		}
		parts = append(parts, fmt.Sprintf("%d × %s", len(c.Members), c.Says))
	}
	out.Summary = count.Of(out.Variants, "variant") + ": " + strings.Join(parts, "; ")
	return out
}

// Diff writes the change from before to after as a unified diff, files in
// order; either may be nil. The values of Secrets are replaced by a word that
// says whether they changed.
func Diff(before, after *krm.Package) (string, error) {
	a, b, err := differing(redact(before, nil), redact(after, before))
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	for _, p := range changedPaths(a, b) {
		out.Write(fileDiff(p, a, b))
	}
	return out.String(), nil
}

// changedPaths are the files of both sides, in order.
func changedPaths(a, b side) []string {
	paths := slices.AppendSeq(slices.Collect(maps.Keys(a.files)), maps.Keys(b.files))
	slices.Sort(paths)
	return slices.Compact(paths)
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
