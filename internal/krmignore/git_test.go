package krmignore

import (
	"bytes"
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/internal/krm"
)

// gitKeeps asks Git itself about trees by name, each in a folder of one
// repository, with the .krmignore files under Git's own name.
func gitKeeps(t *testing.T, trees map[string][]krm.File) map[string][]string {
	t.Helper()
	dir := t.TempDir()
	git(t, dir, "init", "-q", "--template=")
	for tree, files := range trees {
		for _, f := range files {
			name := filepath.Join(dir, tree, strings.ReplaceAll(f.Path, Name, ".gitignore"))
			if err := os.MkdirAll(filepath.Dir(name), 0o750); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, f.Data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	kept := map[string][]string{}
	for name := range strings.SplitSeq(git(t, dir, "ls-files", "-z", "--others", "--exclude-per-directory=.gitignore"), "\x00") {
		if tree, rel, ok := strings.Cut(name, "/"); ok {
			kept[tree] = append(kept[tree], strings.ReplaceAll(rel, ".gitignore", Name))
		}
	}
	return kept
}

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	program, err := exec.LookPath("git")
	if err != nil {
		t.Skip("there is no git")
	}
	cmd := exec.Command(program, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git %s: %v: %s", strings.Join(args, " "), err, errs.String())
	}
	return string(out)
}

// compare says where Kept and Git differ.
func compare(t *testing.T, trees map[string][]krm.File) {
	t.Helper()
	want := gitKeeps(t, trees)
	for tree, files := range trees {
		if diff := cmp.Diff(sorted(want[tree]), paths(Kept(files))); diff != "" {
			t.Errorf("%s: kept (-git +krmignore):\n%s", tree, diff)
		}
	}
}

func paths(files []krm.File) []string {
	var out []string
	for _, f := range files {
		out = append(out, f.Path)
	}
	return sorted(out)
}

func sorted(s []string) []string {
	slices.Sort(s)
	return s
}

// treeOf gives a tree of the ignore files and the paths, all sorted.
func treeOf(ignores map[string]string, names ...string) []krm.File {
	var out []krm.File
	for dir, text := range ignores {
		out = append(out, krm.File{Path: path.Join(dir, Name), Data: []byte(text)})
	}
	for _, n := range names {
		out = append(out, krm.File{Path: n})
	}
	slices.SortFunc(out, func(a, b krm.File) int { return strings.Compare(a.Path, b.Path) })
	return out
}

// TestAsGit compares with Git where readers of this syntax commonly differ.
func TestAsGit(t *testing.T) {
	names := []string{
		"a.yaml", "b.yaml", "dir/a.yaml", "dir/b.yaml", "x/dir/a.yaml", "secrets/key.yaml", "secrets/prod/key.yaml", "secrets/prod/eu/key.yaml",
		"foo/bar", "foox/bar", "foox/y/bar", "foo/y/bar", "tail ", "tail", "tail  ", "#hash", "!bang", "a]b", "a-b", "a\\b", "ä.yaml", "gone/keep.yaml", "gone/in/keep.yaml", "!x/c.yaml", "é", "A1", "{a,b}",
	}
	trees := map[string][]krm.File{}
	for name, ignores := range map[string]map[string]string{
		"StarsBetween":        {".": "secrets/**/key.yaml\ndir/*.yaml\n"},
		"StarsFirst":          {".": "**/dir\n"},
		"StarsLast":           {".": "secrets/**\n!secrets/prod\n"},
		"StarsInAName":        {".": "foo**/bar\n"},
		"StarsInATail":        {".": "f?o**/bar\n"},
		"EscapedSlash":        {".": "secrets/**\\/key.yaml\n"},
		"AnchoredByHead":      {".": "/a.yaml\n"},
		"AnchoredInside":      {".": "dir/a.yaml\n"},
		"FoldersOnly":         {".": "dir/\nkey.yaml/\n"},
		"TwoSlashes":          {".": "dir//\n//a.yaml\n"},
		"NothingBelow":        {".": "gone/\n!gone/keep.yaml\n!keep.yaml\n"},
		"BackIn":              {".": "gone/*\n!gone/in\n"},
		"LastDecides":         {".": "*.yaml\n!a.yaml\n/a.yaml\n"},
		"DeeperDecides":       {".": "*.yaml\n", "dir": "!a.yaml\n"},
		"RootBeforeAll":       {".": "*.yaml\n", "!x": "!c.yaml\n"},
		"DeeperNotRead":       {".": "dir\n", "dir": "!a.yaml\n"},
		"Spaces":              {".": "tail \n"},
		"SpacesKept":          {".": "tail\\ \n"},
		"SpacesTwo":           {".": "tail\\  \n"},
		"Hash":                {".": "#hash\n"},
		"HashEscaped":         {".": "\\#hash\n"},
		"BangEscaped":         {".": "\\!bang\n"},
		"BangTwice":           {".": "*\n!!bang\n"},
		"CRLF":                {".": "a.yaml\r\n\r\nb.yaml\r\n"},
		"ByteOrderMark":       {".": "\ufeffa.yaml\n"},
		"NoLastNewline":       {".": "a.yaml\nb.yaml"},
		"Class":               {".": "[ab].yaml\n"},
		"ClassNot":            {".": "[!a].yaml\n"},
		"ClassNotCaret":       {".": "[^a].yaml\n"},
		"ClassBracket":        {".": "a[]]b\n"},
		"ClassDash":           {".": "a[x-]b\n"},
		"ClassRange":          {".": "[[-a]*\n"},
		"ClassEscape":         {".": "a[\\]-]b\n"},
		"ClassSlash":          {".": "dir[/]a.yaml\n"},
		"ClassNotSlash":       {".": "dir[!x]a.yaml\n"},
		"ClassNamed":          {".": "[[:upper:]][[:digit:]]\n"},
		"ClassNamedWrong":     {".": "*\n!*\n[[:no:]]*\n"},
		"ClassNamedHalf":      {".": "[[:a]*\n"},
		"ClassOpen":           {".": "[ab\n*\n![a\n"},
		"BackslashLast":       {".": "a.yaml\\\n"},
		"BackslashInside":     {".": "a\\\\b\n"},
		"QuestionIsAByte":     {".": "?\n?.yaml\n"},
		"QuestionTwice":       {".": "??\n??.yaml\n"},
		"BracesAreThemselves": {".": "{a,b}\n"},
		"Nothing":             {".": "\n \n/\n!\n"},
		"All":                 {".": "*\n!dir/\n"},
	} {
		trees[name] = treeOf(ignores, names...)
	}
	compare(t, trees)
}

// TestAsGitAtRandom lets chance write the patterns; the seeds are fixed, so that
// a failure comes again.
func TestAsGitAtRandom(t *testing.T) {
	tokens := []string{"*", "**", "/", "a", "b", "ab", "?", "[ab]", "[!a]", "\\", "-", "[", "]", "!", " ", "**/", "/**", "\\*", "[a-b]", "#"}
	var names []string
	for _, a := range []string{"a", "b", "*"} {
		names = append(names, a+"/f")
		for _, b := range []string{"a", "b", "ba", "a]"} {
			names = append(names, path.Join(a, b, "a"), path.Join(a, b, "b", "a"), path.Join(a, b, "ab"))
		}
	}
	trees := map[string][]krm.File{}
	for seed := range 40 {
		r := rand.New(rand.NewSource(int64(seed)))
		text := func() string {
			var b strings.Builder
			for range 1 + r.Intn(4) {
				for range 1 + r.Intn(5) {
					b.WriteString(tokens[r.Intn(len(tokens))])
				}
				b.WriteByte('\n')
			}
			return b.String()
		}
		trees[fmt.Sprint("seed ", seed)] = treeOf(map[string]string{".": text(), "a": text(), "b/a": text()}, names...)
	}
	compare(t, trees)
}
