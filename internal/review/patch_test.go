package review

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/test/gittest"
)

// applied is what `git apply` makes of the files and a patch.
func applied(t *testing.T, before []krm.File, patch string) map[string]krm.File {
	t.Helper()
	gittest.RequireGit(t)
	dir := t.TempDir()
	for _, f := range before {
		name := filepath.Join(dir, f.Path)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		switch f.Mode {
		case krm.Symlink:
			err = os.Symlink(string(f.Data), name)
		case krm.Executable:
			err = os.WriteFile(name, f.Data, 0o755)
		default:
			err = os.WriteFile(name, f.Data, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	where := filepath.Join(t.TempDir(), "p.patch")
	if err := os.WriteFile(where, []byte(patch), 0o600); err != nil {
		t.Fatal(err)
	}
	gittest.Run(t, dir, nil, "init", "--quiet")
	gittest.Run(t, dir, nil, "apply", "--whitespace=nowarn", "--allow-empty", where)
	if err := os.RemoveAll(filepath.Join(dir, ".git")); err != nil {
		t.Fatal(err)
	}
	out := map[string]krm.File{}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(dir, p)
		f := krm.File{Path: filepath.ToSlash(rel)}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			f.Mode = krm.Symlink
			target, err := os.Readlink(p)
			f.Data = []byte(target)
			out[f.Path] = f
			return err
		}
		if info.Mode()&0o111 != 0 {
			f.Mode = krm.Executable
		}
		f.Data, err = os.ReadFile(p)
		out[f.Path] = f
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// checkPatch holds that git makes after of before by the patch.
func checkPatch(t *testing.T, before, after []krm.File) string {
	t.Helper()
	text, err := Patch(pkgOf(t, before...), pkgOf(t, after...))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]krm.File{}
	for _, f := range after {
		want[f.Path] = f
	}
	if diff := cmp.Diff(want, applied(t, before, text), cmp.Comparer(func(a, b krm.File) bool {
		return a.Path == b.Path && a.Mode == b.Mode && string(a.Data) == string(b.Data)
	})); diff != "" {
		t.Errorf("git made something else of it (-want +got):\n%s\n%s", diff, text)
	}
	return text
}

func fileOf(path, data string) krm.File { return krm.File{Path: path, Data: []byte(data)} }

func modeOf(f krm.File, m krm.Mode) krm.File { f.Mode = m; return f }

// TestPatchApplies holds what a patch says to a person, and that git takes it.
func TestPatchApplies(t *testing.T) {
	none := []krm.File(nil)
	long := strings.Repeat("line\n", 40)
	cases := map[string]struct {
		before, after []krm.File
		want          []string // comments
	}{
		"Changed":         {[]krm.File{fileOf("a.txt", long+"x\n")}, []krm.File{fileOf("a.txt", "first\n"+long+"y\n")}, nil},
		"CRLF":            {[]krm.File{fileOf("a.txt", "one\r\ntwo\r\n")}, []krm.File{fileOf("a.txt", "one\r\n2\r\n")}, []string{"# a.txt has characters that do not show: U+000D in line 1 and 2 more\n"}},
		"LFToCRLF":        {[]krm.File{fileOf("a.txt", "one\n")}, []krm.File{fileOf("a.txt", "one\r\n")}, []string{"U+000D in line 1\n"}},
		"Directions":      {[]krm.File{fileOf("a.txt", "x\n")}, []krm.File{fileOf("a.txt", "x\ny \u202e z\u2066\n")}, []string{"# a.txt has characters that do not show: U+202E in line 2, U+2066 in line 2\n"}},
		"DirectionsLeave": {[]krm.File{fileOf("a.txt", "x\u202e\n")}, []krm.File{fileOf("a.txt", "x\n")}, []string{"U+202E in a line that goes\n"}},
		"Escape":          {none, []krm.File{fileOf("a.txt", "\x1b[2J\n")}, []string{"U+001B in line 1\n"}},
		"Context":         {[]krm.File{fileOf("a.txt", "x\u202e\ny\n")}, []krm.File{fileOf("a.txt", "x\u202e\nz\n")}, []string{"U+202E in line 1\n"}},
		"New":             {none, []krm.File{fileOf("d/a.txt", "x\n")}, nil},
		"NewEmpty":        {none, []krm.File{fileOf("a", "")}, nil},
		"Emptied":         {[]krm.File{fileOf("a", "x\n")}, []krm.File{fileOf("a", "")}, nil},
		"EmptyGoes":       {[]krm.File{fileOf("a", ""), fileOf("b", "")}, []krm.File{fileOf("b", "")}, nil},
		"Goes":            {[]krm.File{fileOf("a", "x\n"), fileOf("b", "x")}, []krm.File{fileOf("b", "x")}, nil},
		"NoLastLineEnd":   {[]krm.File{fileOf("a", "x\ny")}, []krm.File{fileOf("a", "x\nz")}, nil},
		"Spaces":          {[]krm.File{fileOf("a b.txt", "x\n")}, []krm.File{fileOf("a b.txt", "y\n"), fileOf("c d.txt", "z\n")}, nil},
		"OddNames":        {[]krm.File{fileOf("q\"\\.txt", "x\n")}, []krm.File{fileOf("q\"\\.txt", "y\n"), fileOf("grün.txt", "z\n"), fileOf("l\u202er.txt", "z\n")}, []string{`diff --git "a/l\342\200\256r.txt" "b/l\342\200\256r.txt"`}},
		"Executable":      {[]krm.File{fileOf("r", "x\n")}, []krm.File{modeOf(fileOf("r", "x\n"), krm.Executable)}, []string{"old mode 100644\nnew mode 100755\n"}},
		"ExecutableToo":   {[]krm.File{modeOf(fileOf("r", "x\n"), krm.Executable)}, []krm.File{fileOf("r", "y\n")}, nil},
		"NewExecutable":   {none, []krm.File{modeOf(fileOf("r", "x\n"), krm.Executable)}, nil},
		"NewLink":         {none, []krm.File{modeOf(fileOf("l", "a"), krm.Symlink)}, nil},
		"OtherLink":       {[]krm.File{modeOf(fileOf("l", "a"), krm.Symlink)}, []krm.File{modeOf(fileOf("l", "b"), krm.Symlink)}, nil},
		"LinkGoes":        {[]krm.File{modeOf(fileOf("l", "a"), krm.Symlink)}, none, nil},
		"FileToLink":      {[]krm.File{fileOf("l", "a\n")}, []krm.File{modeOf(fileOf("l", "a\n"), krm.Symlink)}, nil},
		"LinkToFile":      {[]krm.File{modeOf(fileOf("l", "a"), krm.Symlink)}, []krm.File{modeOf(fileOf("l", "a"), krm.Executable)}, nil},
		"NewBinary":       {none, []krm.File{fileOf("b", "\x00\x01"+strings.Repeat("ab", 500))}, []string{"# Binary file b: new, 1002 bytes, sha256 "}},
		"Binary":          {[]krm.File{fileOf("b", "\xff"+long)}, []krm.File{modeOf(fileOf("b", long+"\xfe\x00"), krm.Executable)}, []string{"; it was 201 bytes"}},
		"BinaryGoes":      {[]krm.File{fileOf("b", "\x00")}, none, []string{"# Binary file b: removed, 1 bytes"}},
		"BinaryEmptied":   {[]krm.File{fileOf("b", "\x00")}, []krm.File{fileOf("b", "")}, nil},
		"LooksLikeAPatch": {[]krm.File{fileOf("a", "-- a/x\n")}, []krm.File{fileOf("a", "++ b/x\n@@ -1 +1 @@\n")}, nil},
		"Nothing":         {[]krm.File{fileOf("a", "x")}, []krm.File{fileOf("a", "x")}, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			text := checkPatch(t, tc.before, tc.after)
			for _, want := range tc.want {
				if !strings.Contains(text, want) {
					t.Errorf("%q is missing:\n%s", want, text)
				}
			}
			if len(tc.want) == 0 && strings.Contains(text, "do not show") {
				t.Errorf("a warning without a reason:\n%s", text)
			}
		})
	}
}

// TestPatchesOfAnyBytes applies patches between random contents.
func TestPatchesOfAnyBytes(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	alphabet := []string{"a", "b", "\n", "\n", "\r\n", "\t", " ", "\\", "+", "-", "@@ ", "\u202e", "é"}
	text := func() string {
		var b strings.Builder
		for range rnd.IntN(60) {
			b.WriteString(alphabet[rnd.IntN(len(alphabet))])
		}
		if rnd.IntN(4) == 0 {
			for range rnd.IntN(200) {
				b.WriteByte(byte(rnd.IntN(256)))
			}
		}
		return b.String()
	}
	var before, after []krm.File
	for i := range 300 {
		old, now := fileOf(fmt.Sprint("f", i), text()), fileOf(fmt.Sprint("f", i), text())
		if rnd.IntN(3) == 0 {
			now.Mode = krm.Executable
		}
		if rnd.IntN(5) > 0 {
			before = append(before, old)
		}
		if rnd.IntN(5) > 0 {
			after = append(after, now)
		}
	}
	checkPatch(t, before, after)
}

// TestPatchLeavesSecretsOut: no value is printed, and none is taken for another.
func TestPatchLeavesSecretsOut(t *testing.T) {
	secret := func(v string) krm.File {
		return fileOf("s.yaml", "apiVersion: v1\nkind: Secret\nmetadata:\n  name: s\nstringData:\n  password: "+v+"\n")
	}
	before := []krm.File{fileOf("a.txt", "x\n"), secret("hunter1")}
	text, err := Patch(pkgOf(t, before...), pkgOf(t, fileOf("a.txt", "y\n"), secret("hunter2")))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(text, "hunter") || !strings.Contains(text, "# s.yaml has a Secret") || !strings.Contains(text, "# +  password: ") {
		t.Errorf("got:\n%s", text)
	}
	got := applied(t, before, text)
	if string(got["a.txt"].Data) != "y\n" || string(got["s.yaml"].Data) != string(secret("hunter1").Data) {
		t.Errorf("applied: %q", got)
	}
}

// A Secret that comes, goes or is written otherwise is a comment, too.
func TestPatchOfOneSecret(t *testing.T) {
	const head = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: s\nstringData:\n  password: "
	none, plain, quoted := pkgOf(t), pkgOf(t, fileOf("s.yaml", head+"hunter1\n")), pkgOf(t, fileOf("s.yaml", head+"\"hunter1\"\n"))
	for title, c := range map[string]struct {
		before, after *krm.Package
		says          string
	}{
		"added":             {none, plain, "# +++ b/s.yaml\n"},
		"removed":           {plain, none, "# --- a/s.yaml\n"},
		"written otherwise": {plain, quoted, "# s.yaml has a Secret"},
	} {
		text, err := Patch(c.before, c.after)
		if err != nil || strings.Contains(text, "hunter") || !strings.Contains(text, c.says) {
			t.Errorf("%s: %v\n%s", title, err, text)
		}
		for line := range strings.Lines(text) {
			if !strings.HasPrefix(line, "# ") {
				t.Errorf("%s: %q is no comment", title, line)
			}
		}
	}
	if text, err := Patch(plain, quoted); err != nil || strings.Contains(text, "/dev/null") {
		t.Errorf("%v\n%s", err, text)
	}
}
