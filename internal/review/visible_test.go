package review

import (
	"strings"
	"testing"

	"github.com/variform/variform/internal/krm"
)

func pkgOf(t *testing.T, files ...krm.File) *krm.Package {
	t.Helper()
	p, err := krm.Parse(files)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// What is shown is all that is approved: modes, links, binary files.
func TestModesLinksAndBinariesShow(t *testing.T) {
	script := []byte("#!/bin/sh\n")
	cm := []byte("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\n")
	file := func(p string, m krm.Mode, data []byte) krm.File { return krm.File{Path: p, Mode: m, Data: data} }
	for title, test := range map[string]struct {
		before, after krm.File
		want          []string // in the diff
	}{
		"made executable":          {file("run.sh", krm.Regular, script), file("run.sh", krm.Executable, script), []string{"diff --git a/run.sh b/run.sh\nold mode 100644\nnew mode 100755\n"}},
		"no longer executable":     {file("run.sh", krm.Executable, script), file("run.sh", krm.Regular, script), []string{"old mode 100755\nnew mode 100644\n"}},
		"an executable resource":   {file("c.yaml", krm.Regular, cm), file("c.yaml", krm.Executable, cm), []string{"old mode 100644\nnew mode 100755\n"}},
		"new executable":           {krm.File{}, file("run.sh", krm.Executable, script), []string{"new file mode 100755\n", "+#!/bin/sh"}},
		"new link":                 {krm.File{}, file("l", krm.Symlink, []byte("../shadow")), []string{"new file mode 120000\n", "+../shadow"}},
		"link to another":          {file("l", krm.Symlink, []byte("a")), file("l", krm.Symlink, []byte("b")), []string{"mode 120000\n", "-a", "+b"}},
		"file becomes a link":      {file("l", krm.Regular, []byte("a\n")), file("l", krm.Symlink, []byte("b")), []string{"old mode 100644\nnew mode 120000\n", "+b"}},
		"link goes":                {file("l", krm.Symlink, []byte("a")), krm.File{}, []string{"deleted file mode 120000\n"}},
		"binary":                   {file("b", krm.Regular, []byte("\x00a")), file("b", krm.Regular, []byte("\x00bc")), []string{"Binary file b: 3 bytes, sha256 ", "; it was 2 bytes, sha256 "}},
		"new binary":               {krm.File{}, file("b", krm.Regular, []byte("\xff\xfe")), []string{"Binary file b: new, 2 bytes, sha256 "}},
		"an executable new binary": {krm.File{}, file("b", krm.Executable, []byte("\x7fELF\x00")), []string{"new file mode 100755\nBinary file b: new, 5 bytes"}},
	} {
		side := func(f krm.File) *krm.Package {
			kptfile := file("Kptfile", krm.Regular, []byte("apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: p\n"))
			if f.Path == "" {
				return pkgOf(t, kptfile)
			}
			return pkgOf(t, kptfile, f)
		}
		change := Change{Variant: "c1/p", Before: side(test.before), After: side(test.after)}
		report, err := Classify([]Change{change})
		if err != nil || len(report.Classes) != 1 {
			t.Fatalf("%s: %+v, %v", title, report, err)
		}
		c := report.Classes[0]
		for _, want := range test.want {
			if !strings.Contains(c.Diff, want) {
				t.Errorf("%s: the diff lacks %q:\n%s", title, want, c.Diff)
			}
			if md := Markdown(&Digest{Command: "plan", Changes: report}, 0); !strings.Contains(md, strings.TrimSpace(want)) {
				t.Errorf("%s: the comment lacks %q:\n%s", title, want, md)
			}
		}
		if test.before.Mode != test.after.Mode && len(c.Edits) == 0 {
			t.Errorf("%s: no edit tells it from other changes", title)
		}
	}
}

// Links with two targets are two changes, and so are two modes.
func TestModesMakeClasses(t *testing.T) {
	before := pkgOf(t, krm.File{Path: "x", Data: []byte("a\n")})
	var changes []Change
	for name, f := range map[string]krm.File{
		"plain": {Path: "x", Data: []byte("b")}, "run": {Path: "x", Mode: krm.Executable, Data: []byte("b")},
		"link": {Path: "x", Mode: krm.Symlink, Data: []byte("b")}, "other": {Path: "x", Mode: krm.Symlink, Data: []byte("c")},
	} {
		changes = append(changes, Change{Variant: name, Before: before, After: pkgOf(t, f)})
	}
	report, err := Classify(changes)
	if err != nil || len(report.Classes) != 4 {
		t.Errorf("%d classes, %v", len(report.Classes), err)
	}
}

func TestHiddenCharactersShow(t *testing.T) {
	for text, want := range map[string]string{
		"plain ä 日本 😀\n\ttext": "plain ä 日本 😀\n\ttext",
		"a\u202eb":             "a<U+202E>b",
		"a\u2066b\u2069":       "a<U+2066>b<U+2069>",
		"\u009b31m":            "<U+009B>31m",
		"\x1b[2J":              "<U+001B>[2J",
		"a\r\n":                "a<U+000D>\n",
		"\xff":                 "<U+FFFD>",
		"zero\u200bwidth":      "zero<U+200B>width",
	} {
		if got := Visible(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
	before := pkgOf(t, krm.File{Path: "x", Data: []byte("a\n")})
	report, err := Classify([]Change{{Variant: "v", Before: before, After: pkgOf(t, krm.File{Path: "x", Data: []byte("a\nif admin\u202e { // b\n")})}})
	if err != nil {
		t.Fatal(err)
	}
	c := report.Classes[0]
	if len(c.Hidden) != 1 || !strings.HasPrefix(c.Hidden[0], "U+202E in line ") || !strings.Contains(c.Diff, "\u202e") {
		t.Errorf("flagged %q in %q", c.Hidden, c.Diff)
	}
	if md := Markdown(&Digest{Command: "plan", Changes: report}, 0); strings.Contains(md, "\u202e") || !strings.Contains(md, "<U+202E>") {
		t.Errorf("the comment is %q", md)
	}
}
