package review

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1" // the names that Git gives to contents
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/variform/variform/internal/krm"
)

// Patch writes the change from before to after as Diff does, for programs: `git
// apply` in the package's folder makes that change. Texts keep every byte; where
// some of them would not show, or would change how the rest is read, a line of
// comment before the file says which and where. Files with Secrets stand in
// comments alone, without their values: they are not to be applied.
func Patch(before, after *krm.Package) (string, error) {
	a, b, err := differing(before, after)
	if err != nil {
		return "", err
	}
	shownA, _, err := differing(redact(before, nil), nil) // all of it
	if err != nil {
		return "", err
	}
	_, shownB, err := differing(nil, redact(after, before))
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	for _, p := range changedPaths(a, b) {
		if a.hides(shownA, p) || b.hides(shownB, p) {
			fmt.Fprintf(&out, "# %s has a Secret: its values are left out, and this part is not to be applied\n", Visible(p))
			out.WriteString(comment(fileDiff(p, shownA, shownB)))
			continue
		}
		x, okX := a.files[p]
		y, okY := b.files[p]
		out.Write(patchOf(p, x, y, okX, okY))
	}
	return out.String(), nil
}

// hides says that a file is not shown as it is.
func (s side) hides(shown side, path string) bool {
	f, ok := s.files[path]
	return ok && !bytes.Equal(f.Data, shown.files[path].Data)
}

// comment makes lines that no patch program reads.
func comment(text []byte) string {
	var b strings.Builder
	for line := range strings.Lines(Visible(string(text))) {
		b.WriteString("# " + line)
	}
	return b.String()
}

// patchOf is one file's part in Git's form.
func patchOf(path string, x, y krm.File, okX, okY bool) []byte {
	if okX && okY && (x.Mode == krm.Symlink) != (y.Mode == krm.Symlink) { // Git has no other way to say it
		return append(patchOf(path, x, krm.File{}, true, false), patchOf(path, krm.File{}, y, false, true)...)
	}
	oldName, newName := quoted("a/"+path), quoted("b/"+path)
	head := fmt.Sprintf("diff --git %s %s\n", oldName, newName)
	switch {
	case !okX:
		oldName = "/dev/null"
		head += fmt.Sprintf("new file mode %s\n", mode(y.Mode))
	case !okY:
		newName = "/dev/null"
		head += fmt.Sprintf("deleted file mode %s\n", mode(x.Mode))
	case x.Mode != y.Mode:
		head += fmt.Sprintf("old mode %s\nnew mode %s\n", mode(x.Mode), mode(y.Mode))
	}
	if bytes.Equal(x.Data, y.Data) {
		return []byte(head)
	}
	if binary(x.Data) || binary(y.Data) {
		said := fmt.Sprintf("# Binary file %s: %s\n", Visible(path), change(sized(x, okX), sized(y, okY)))
		ids := fmt.Sprintf("index %s..%s\n", blobID(x, okX), blobID(y, okY))
		return []byte(said + head + ids + "GIT binary patch\n" + literal(y.Data) + literal(x.Data))
	}
	text := hunks(oldName, x.Data, newName, y.Data)
	said := ""
	if where := hiddenLines(text); len(where) > 0 {
		said = fmt.Sprintf("# %s has characters that do not show: %s\n", Visible(path), strings.Join(where, ", "))
	}
	return append([]byte(said+head), text...)
}

// hiddenLines lists the hidden characters of a unified diff: each with the first
// line of the new file that has it, and how many more lines there are.
func hiddenLines(text []byte) []string {
	var found []rune
	first, lines := map[rune]string{}, map[rune]int{}
	line := 0
	for row := range strings.Lines(string(text)) {
		place := "a line that goes"
		switch row[0] {
		case '@':
			var old string
			_, _ = fmt.Sscanf(row, "@@ -%s +%d", &old, &line) // the library's own form
			line--
			continue
		case '+', ' ':
			line++
			place = fmt.Sprintf("line %d", line)
		}
		seen := map[rune]bool{}
		for _, r := range row {
			if !hidden(r) || seen[r] {
				continue
			}
			seen[r] = true
			if lines[r]++; lines[r] == 1 {
				found, first[r] = append(found, r), place
			}
		}
	}
	out := make([]string, 0, len(found))
	for i, r := range found {
		if i == maxHidden {
			return append(out, "and more")
		}
		said := fmt.Sprintf("U+%04X in %s", r, first[r])
		if lines[r] > 1 {
			said += fmt.Sprintf(" and %d more", lines[r]-1)
		}
		out = append(out, said)
	}
	return out
}

// quoted is a name in a patch's header: as it is, or as a C string where
// something in it would not show or would end it.
func quoted(name string) string {
	if !strings.ContainsFunc(name, func(r rune) bool { return hidden(r) || strings.ContainsRune("\"\\\n\t", r) }) {
		return name
	}
	var b strings.Builder
	b.WriteByte('"')
	for rest := name; rest != ""; {
		r, size := utf8.DecodeRuneInString(rest)
		switch {
		case r == '"', r == '\\':
			b.WriteString("\\" + rest[:size])
		case hidden(r), r == '\n', r == '\t':
			for i := range size {
				fmt.Fprintf(&b, "\\%03o", rest[i])
			}
		default:
			b.WriteString(rest[:size])
		}
		rest = rest[size:]
	}
	b.WriteByte('"')
	return b.String()
}

// blobID is what Git calls a file's content, which a binary patch has to name.
func blobID(f krm.File, ok bool) string {
	if !ok {
		return strings.Repeat("0", 2*sha1.Size)
	}
	return fmt.Sprintf("%x", sha1.Sum(fmt.Appendf(nil, "blob %d\x00%s", len(f.Data), f.Data)))
}

// literal is a whole content in Git's binary patches: compressed, in lines of 52
// bytes that lead with their length.
func literal(data []byte) string {
	var packed bytes.Buffer
	w := zlib.NewWriter(&packed)
	_, _ = w.Write(data) // into memory
	_ = w.Close()
	var b strings.Builder
	fmt.Fprintf(&b, "literal %d\n", len(data))
	for packed.Len() > 0 {
		part := packed.Next(52)
		length := byte('A' + len(part) - 1)
		if len(part) > 26 {
			length = byte('a' + len(part) - 27)
		}
		b.WriteByte(length)
		for len(part) > 0 {
			b.WriteString(base85(part[:min(4, len(part))]))
			part = part[min(4, len(part)):]
		}
		b.WriteByte('\n')
	}
	b.WriteByte('\n')
	return b.String()
}

const base85Digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"

// base85 are the five digits of four bytes; what is missing of them is zero.
func base85(part []byte) string {
	var four [4]byte
	copy(four[:], part)
	n := uint32(four[0])<<24 | uint32(four[1])<<16 | uint32(four[2])<<8 | uint32(four[3])
	var out [5]byte
	for i := len(out) - 1; i >= 0; i-- {
		out[i] = base85Digits[n%85]
		n /= 85
	}
	return string(out[:])
}
