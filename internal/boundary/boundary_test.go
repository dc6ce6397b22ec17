package boundary

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"testing"

	"github.com/variform/variform/internal/krm"
)

func TestPath(t *testing.T) {
	for p, want := range map[string]error{
		"Kptfile": nil, "a/b.yaml": nil, "dir with space/ü.yaml": nil, "..a/b..": nil, ".github/x": nil,
		strings.Repeat("d/", MaxDepth) + "f":   nil,
		"":                                     ErrUnsafe,
		"/etc/passwd":                          ErrUnsafe,
		"..":                                   ErrUnsafe,
		"../x":                                 ErrUnsafe,
		"a/../../x":                            ErrUnsafe,
		"a/../b":                               ErrUnsafe,
		"a//b":                                 ErrUnsafe,
		"a/":                                   ErrUnsafe,
		"./a":                                  ErrUnsafe,
		`a\b`:                                  ErrUnsafe,
		"a\nb":                                 ErrUnsafe,
		"a\x00b":                               ErrUnsafe,
		"a\u009bb":                             ErrUnsafe,
		"a\u202eb":                             ErrUnsafe,
		"a\xffb":                               ErrUnsafe,
		".git/config":                          ErrUnsafe,
		"a/.GIT /hooks":                        ErrUnsafe,
		"a/git~1/x":                            ErrUnsafe,
		strings.Repeat("d/", MaxDepth+1) + "f": ErrLimit,
		strings.Repeat("x", MaxName+1):         ErrLimit,
		strings.Repeat(strings.Repeat("x", 200)+"/", 30) + "f": ErrLimit,
	} {
		err := Path(p)
		if !errors.Is(err, want) || (want == nil) != (err == nil) {
			t.Errorf("%.40q: got %v, want %v", p, err, want)
		}
		if err != nil && (len(err.Error()) > 400 || strings.ContainsAny(err.Error(), "\x00\n\u009b\u202e")) {
			t.Errorf("%.40q: the error is %q", p, err)
		}
	}
}

func link(p, target string) krm.File {
	return krm.File{Path: p, Mode: krm.Symlink, Data: []byte(target)}
}

func TestFiles(t *testing.T) {
	file := func(p string, n int) krm.File { return krm.File{Path: p, Data: make([]byte, n)} }
	for title, test := range map[string]struct {
		files []krm.File
		kind  error
		names string // what the error names
	}{
		"links inside":       {[]krm.File{link("a/l", "../b/f"), link("l", "a"), link("m", "b/"), file("b/f", 1)}, nil, ""},
		"absolute link":      {[]krm.File{link("l", "/etc")}, ErrUnsafe, "l "},
		"link up":            {[]krm.File{link("l", "../x")}, ErrUnsafe, "../x"},
		"link up, deeper":    {[]krm.File{link("a/b/l", "../../../x")}, ErrUnsafe, "a/b/l"},
		"link to the parent": {[]krm.File{link("l", "..")}, ErrUnsafe, "l "},
		"through a link":     {[]krm.File{link("a/l", "../a/../../x")}, ErrUnsafe, "a/l"},
		"down and up":        {[]krm.File{link("l", "d/../../x"), link("d", "e/f/g")}, ErrUnsafe, "l "},
		"below a link":       {[]krm.File{link("d", "e"), file("d/f", 1)}, ErrUnsafe, "d/f"},
		"link to .git":       {[]krm.File{link("l", ".git/config")}, ErrUnsafe, ".git"},
		"empty link":         {[]krm.File{link("l", "")}, ErrUnsafe, "l "},
		"large file":         {[]krm.File{file("f", 101)}, ErrLimit, "f has 101 bytes, more than 100"},
		"large package":      {[]krm.File{file("f", 100), file("g", 100), file("h", 1)}, ErrLimit, "more than 200 bytes"},
		"many files":         {[]krm.File{file("a", 0), file("b", 0), file("c", 0), file("d", 0), file("e", 0)}, ErrLimit, "more than 4 files"},
		"bad path":           {[]krm.File{file("../f", 1)}, ErrUnsafe, "../f"},
	} {
		err := Files(test.files, Limits{FileBytes: 100, PackageBytes: 200, Files: 4})
		if !errors.Is(err, test.kind) || (test.kind == nil) != (err == nil) || err != nil && !strings.Contains(err.Error(), test.names) {
			t.Errorf("%s: got %v", title, err)
		}
	}
}

// Whatever Files lets pass stays inside: links are followed as a file system would.
func FuzzLinks(f *testing.F) {
	f.Add("l", "a/b", "a", "../x", "d/e/l")
	f.Add("a/l", "../b", "b", "c/../..", "b/x")
	f.Fuzz(func(t *testing.T, p1, t1, p2, t2, walk string) {
		files := []krm.File{link(p1, t1), link(p2, t2)}
		if p1 == p2 || Files(files, Limits{}) != nil {
			return
		}
		targets := map[string]string{p1: t1, p2: t2}
		for _, start := range []string{p1, p2} {
			if at, ok := follow(start, targets); !ok {
				t.Errorf("%s leads to %s by %v", start, at, fmt.Sprint(targets))
			}
		}
	})
}

// follow resolves a path part by part; false where it leaves the root.
func follow(p string, links map[string]string) (string, bool) {
	todo, at := strings.Split(p, "/"), "."
	for steps := 0; len(todo) > 0 && steps < 200; steps++ {
		part := todo[0]
		todo = todo[1:]
		if part == "" || part == "." {
			continue
		}
		if part == ".." {
			if at == "." {
				return "..", false
			}
			at = path.Dir(at)
			continue
		}
		next := path.Join(at, part)
		if target, ok := links[next]; ok {
			if path.IsAbs(target) {
				return target, false
			}
			todo = append(strings.Split(target, "/"), todo...)
			continue
		}
		at = next
	}
	return at, true
}
