package source

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseLocation(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{"plain", "at@home", "bare.git/objects", "bare.git/refs", "clone/.git"} {
		if err := os.MkdirAll(filepath.Join(root, filepath.FromSlash(dir)), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "bare.git", "HEAD"), []byte("ref: refs/heads/main\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	t.Chdir(root)

	cases := map[string]struct {
		in   string
		want Location
		text string // Location.String, where it differs from in
	}{
		"Folder":        {in: "plain", want: Location{Folder: "plain"}},
		"FolderSlash":   {in: "./plain/", want: Location{Folder: "plain"}, text: "plain"},
		"FolderAt":      {in: "at@home", want: Location{Folder: "at@home"}},
		"Here":          {in: ".", want: Location{Folder: "."}},
		"Bare":          {in: "bare.git", want: Location{URL: "bare.git"}},
		"BareAll":       {in: "bare.git//fleet@v1", want: Location{URL: "bare.git", Dir: "fleet", Ref: "v1"}},
		"CloneAtRef":    {in: "clone@main", want: Location{URL: "clone", Ref: "main"}},
		"CloneDir":      {in: "clone//a/b", want: Location{URL: "clone", Dir: "a/b"}},
		"Absolute":      {in: root + "/clone//a@b/c", want: Location{URL: root + "/clone", Dir: "a", Ref: "b/c"}},
		"HTTPS":         {in: "https://h/x.git", want: Location{URL: "https://h/x.git"}},
		"HTTPSAll":      {in: "https://h:8443/x.git//d/e/@release/v1", want: Location{URL: "https://h:8443/x.git", Dir: "d/e", Ref: "release/v1"}, text: "https://h:8443/x.git//d/e@release/v1"},
		"HTTPSNoSuffix": {in: "https://h/org/x@main", want: Location{URL: "https://h/org/x", Ref: "main"}},
		"AtInPath":      {in: "https://h/@org/x.git@v1", want: Location{URL: "https://h/@org/x.git", Ref: "v1"}},
		"Password":      {in: "https://u:p@h/x.git", want: Location{URL: "https://u:p@h/x.git"}, text: "https://h/x.git"},
		"Token":         {in: "https://token@h/x.git@v1", want: Location{URL: "https://token@h/x.git", Ref: "v1"}, text: "https://h/x.git@v1"},
		"SSH":           {in: "ssh://git@h:22/x.git//d", want: Location{URL: "ssh://git@h:22/x.git", Dir: "d"}},
		"SCP":           {in: "git@h:org/x.git//d@v2", want: Location{URL: "git@h:org/x.git", Dir: "d", Ref: "v2"}},
		"SCPNoUser":     {in: "host:x.git@v2", want: Location{URL: "host:x.git", Ref: "v2"}},
		"File":          {in: "file:///srv/x.git//d", want: Location{URL: "file:///srv/x.git", Dir: "d"}},
		"DotDir":        {in: "https://h/x.git//./d/.", want: Location{URL: "https://h/x.git", Dir: "d"}, text: "https://h/x.git//d"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := ParseLocation(tc.in)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("ParseLocation(%q) (-want +got):\n%s", tc.in, diff)
			}
			want := tc.text
			if want == "" {
				want = tc.in
			}
			if got.String() != want {
				t.Errorf("String: %q, want %q", got, want)
			}
		})
	}
	for name, in := range map[string]string{
		"Empty": "", "NoFolder": "absent", "NoRef": "https://h/x.git@", "Leaves": "https://h/x.git//a/../../b", "Control": "plain\n", "NoRepository": "//d@v1",
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := ParseLocation(in); !errors.Is(err, ErrLocation) {
				t.Errorf("ParseLocation(%q): want ErrLocation, got %+v, %v", in, got, err)
			}
		})
	}
}

func FuzzParseLocation(f *testing.F) {
	for _, s := range []string{"https://u:hunter2@h/x.git//d@v1", "git@h:x.git", "a//b@c", "://", "ssh://u:hunter2@h"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		loc, err := ParseLocation(s)
		if err != nil {
			return
		}
		if loc.Git() == (loc.Folder != "") {
			t.Errorf("%q is both or neither: %+v", s, loc)
		}
		if strings.HasPrefix(loc.Dir, "/") || strings.Contains("/"+loc.Dir+"/", "/../") {
			t.Errorf("%q has the folder %q", s, loc.Dir)
		}
		if strings.HasPrefix(s, "https://u:hunter2@") && strings.Contains(loc.String(), "hunter2@") {
			t.Errorf("%q shows its password: %s", s, loc)
		}
	})
}
