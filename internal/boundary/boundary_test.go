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
		".g\u200cit/config":                    ErrUnsafe,
		".git::$INDEX_ALLOCATION/config":       ErrUnsafe,
		".git:x":                               ErrUnsafe,
		".gitmodules":                          ErrUnsafe,
		"a/.GitModules .":                      ErrUnsafe,
		"GITMOD~1":                             ErrUnsafe,
		"gi7eba~1":                             ErrUnsafe,
		".gitmodules2":                         nil,
		"gitmod~5":                             nil,
		".gitattributes":                       nil,
		"a:b":                                  nil,
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
		"case":               {[]krm.File{file("a/x", 1), file("A/x", 1)}, ErrUnsafe, "a/x and A/x differ only in case"},
		"case of a file":     {[]krm.File{file("x.yaml", 1), file("X.yaml", 1)}, ErrUnsafe, "x.yaml and X.yaml differ"},
		"one letter":         {[]krm.File{file("\u212a", 1), file("k", 1)}, ErrUnsafe, "differ only in case"},
		"form":               {[]krm.File{file("\u00e9", 1), file("e\u0301", 1)}, ErrUnsafe, "Unicode form"},
		"one folder":         {[]krm.File{file("a/x", 1), file("a/y", 1), file("a/b/x", 1), file("b", 1)}, nil, ""},
		"twice":              {[]krm.File{file("x", 1), file("x", 1)}, ErrUnsafe, "x is there twice"},
		"file and folder":    {[]krm.File{file("a/x", 1), file("a", 1)}, ErrUnsafe, "a is there twice, or as a file and as a folder"},
		"attributes":         {[]krm.File{{Path: ".gitattributes", Data: []byte(strings.Repeat("a\n", 40))}}, nil, ""},
		"bad path":           {[]krm.File{file("../f", 1)}, ErrUnsafe, "../f"},
	} {
		err := Files(test.files, Limits{FileBytes: 100, PackageBytes: 200, Files: 4})
		if !errors.Is(err, test.kind) || (test.kind == nil) != (err == nil) || err != nil && !strings.Contains(err.Error(), test.names) {
			t.Errorf("%s: got %v", title, err)
		}
	}
}

// What servers that check objects would refuse, and what takes more memory than
// there is, by the package's whole content.
func TestContent(t *testing.T) {
	list := []byte("a:\n" + strings.Repeat("- a\n", MaxValues/2))
	long := []byte("a text\n" + strings.Repeat("a", maxAttribute) + " text\n")
	for title, test := range map[string]struct {
		files []krm.File
		names string
	}{
		"as many values as may be": {[]krm.File{{Path: "a.yaml", Data: list}}, ""},
		"too many in two files":    {[]krm.File{{Path: "a.yaml", Data: list}, {Path: "b.yaml", Data: list}}, "values in its YAML files as far as b.yaml, more than 1000000"},
		"no YAML":                  {[]krm.File{{Path: "a.yaml", Data: list}, {Path: "b.txt", Data: list}}, ""},
		"a long line":              {[]krm.File{{Path: "d/.gitattributes", Data: long}}, "d/.gitattributes has a line of 2054 bytes"},
		"a long line of a file":    {[]krm.File{{Path: "gitattributes", Data: long}}, ""},
	} {
		err := Files(test.files, Limits{})
		if test.names == "" && err != nil || test.names != "" && (!errors.Is(err, ErrLimit) || !strings.Contains(err.Error(), test.names)) {
			t.Errorf("%s: got %v", title, err)
		}
	}
}

// Files of many packages are parsed one by one.
func TestContentApart(t *testing.T) {
	list := []byte("a:\n" + strings.Repeat("- a\n", MaxValues/2))
	if err := Files([]krm.File{{Path: "a.yaml", Data: list}, {Path: "b.yaml", Data: list}}, Limits{Apart: true}); err != nil {
		t.Error(err)
	}
	more := append(list, list...)
	if err := Files([]krm.File{{Path: "a.yaml", Data: list}, {Path: "b.yaml", Data: more}}, Limits{Apart: true}); !errors.Is(err, ErrLimit) || !strings.Contains(err.Error(), "as far as b.yaml") {
		t.Error(err)
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

// Paths that were sound once are so again, and only those.
func TestSoundPathsAreRemembered(t *testing.T) {
	list := []krm.File{{Path: "Kptfile"}, {Path: "sub/a.yaml"}}
	if sound.has(pathsOf(list)) {
		t.Fatal("known before")
	}
	for range 2 {
		if err := Files(list, Limits{}); err != nil || !sound.has(pathsOf(list)) {
			t.Fatalf("%v; remembered: %t", err, sound.has(pathsOf(list)))
		}
	}
	for name, bad := range map[string][]krm.File{
		"two paths as one": {{Path: "Kptfile\x00sub/a.yaml"}},
		"with their sizes": {{Path: "Kptfile\x0asub/a.yaml"}},
		"one more":         append(list[:2:2], krm.File{Path: "SUB/a.yaml"}),
		"twice":            append(list[:2:2], list[1]),
		"a link":           {list[0], {Path: list[1].Path, Mode: krm.Symlink, Data: []byte("../../out")}},
		"too large":        {list[0], {Path: list[1].Path, Data: make([]byte, 17<<20)}},
	} {
		if Files(bad, Limits{}) == nil {
			t.Errorf("%s: no error", name)
		}
		if strings.Contains(name, "link") || name == "too large" {
			continue // its paths are sound
		}
		if sound.has(pathsOf(bad)) {
			t.Errorf("%s: remembered as sound", name)
		}
	}
	for i := range soundLists + 10 {
		if err := Files([]krm.File{{Path: fmt.Sprint("f", i)}}, Limits{}); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(sound.lists); n > soundLists {
		t.Errorf("%d lists are kept", n)
	}
	if long := pathsOf([]krm.File{{Path: strings.Repeat("x", soundBytes)}}); long != "" {
		t.Errorf("a list of %d bytes is kept", len(long))
	}
}
