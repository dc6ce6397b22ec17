package forge

import (
	"errors"
	"strings"
	"testing"
)

// Who owns a file is what each forge says of the same text.
func TestOwners(t *testing.T) {
	for title, c := range map[string]struct {
		text, path            string
		github, gitlab, gitea string // owners; what one forge does not say is as GitHub's with "="
	}{
		"nobody":                     {"docs/ @d\n", "shop/Kptfile", "", "", ""},
		"everything":                 {"* @all", "a/b/Kptfile", "@all", "@all", "@all"},
		"everything, as expressions": {".* @all", "a/b/Kptfile", "", "", "@all"},
		"the last counts":            {"* @all\nshop/ @s @t # theirs", "shop/Kptfile", "@s @t", "@s @t", "@all"},
		"each counts on Gitea":       {"shop/.* @s\n.*/Kptfile @k\n", "shop/Kptfile", "", "", "@k @s"},
		"taken back":                 {"* @all\n/shop/", "shop/Kptfile", "", "", "@all"},
		"a folder anywhere":          {"shop/ @s", "a/shop/b/Kptfile", "@s", "@s", ""},
		"a folder at the root":       {"/shop/ @s", "a/shop/Kptfile", "", "", ""},
		"a folder below another":     {"a/shop/ @s", "x/a/shop/Kptfile", "", "@s", ""},
		"a folder without a slash":   {"/shop @s", "shop/b/Kptfile", "@s", "", ""},
		"not nested":                 {"/shop/* @s", "shop/b/Kptfile", "", "", ""},
		"directly below":             {"/shop/* @s", "shop/Kptfile", "@s", "@s", ""},
		"folders between":            {"/shop/**/Kptfile @s", "shop/a/b/Kptfile", "@s", "@s", ""},
		"no folder between":          {"/shop/**/Kptfile @s", "shop/Kptfile", "@s", "@s", ""},
		"all below":                  {"/shop/** @s", "shop/a/Kptfile", "@s", "@s", ""},
		"a name":                     {"Kptfile @k", "shop/Kptfile", "@k", "@k", ""},
		"a kind of name":             {"*.yaml @y", "shop/a.yaml", "@y", "@y", "@y"},
		"a character":                {"/sho?/ @s", "shop/a.yaml", "@s", "@s", ""},
		"no character":               {"/shop.yaml @s", "shopxyaml", "", "", "@s"},
		"letter case":                {"/Shop/ @s", "shop/Kptfile", "", "", ""},
		"a space":                    {`/my\ shop/ @s`, "my shop/Kptfile", "@s", "@s", ""},
		"a hash":                     {`\#shop/ @s`, "#shop/Kptfile", "@s", "@s", ""},
		"by mail":                    {"shop/ ann@example.com", "shop/Kptfile", "ann@example.com", "ann@example.com", ""},
		"words":                      {"shop/ @s and others", "shop/Kptfile", "@s and others", "@s", ""},
		"an exclusion":               {"* @all\n!/shop/\n/shop/Kptfile @s", "shop/Kptfile", "@s", "", "@all @s"},
		"what does not match":        {"!a/.* @s", "shop/Kptfile", "", "", "@s"},
		"what does":                  {"!shop/.* @s", "shop/Kptfile", "", "", ""},
		"from the root":              {"/shop/.* @s", "shop/Kptfile", "", "", "@s"},
		"no expression":              {"sh( @a\nshop/K.* @s", "shop/Kptfile", "", "", "@s"},
		"a part of a path":           {"shop @s", "shop/Kptfile", "@s", "", ""},
		"sections":                   {"* @all\n[One]\nshop/ @a\n/shop/ @s\n^[Two][2] @b @c\n/shop/\n/other/ @o\n[Three] @d\n/other/", "shop/Kptfile", "", "@all @b @c @s", "@all"},
		"a section again":            {"[Shop One]\n* @a\n[Two]\n* @b\n[shop one]\nshop/ @c", "shop/Kptfile", "@c", "@b @c", "@a @b"},
		"a section's exclusion":      {"[One] @a\n*\n!shop/\n[Two] @b\n*", "shop/Kptfile", "", "@b", ""},
	} {
		for kind, want := range map[string]string{GitHub: c.github, GitLab: c.gitlab, Gitea: c.gitea} {
			o, err := CodeOwners("https://git.example.com/a/b", kind, func(path string) ([]byte, bool, error) { return []byte(c.text), path == "CODEOWNERS", nil })
			if got := strings.Join(o.Of(c.path), " "); err != nil || got != want {
				t.Errorf("%s, %s: %q, want %q, %v", title, kind, got, want, err)
			}
		}
	}
}

// The file is the first of those that a forge looks for.
func TestOwnersFiles(t *testing.T) {
	for kind, want := range map[string]string{
		GitHub: ".github/CODEOWNERS CODEOWNERS docs/CODEOWNERS", GitLab: "CODEOWNERS docs/CODEOWNERS .gitlab/CODEOWNERS",
		Gitea: "CODEOWNERS docs/CODEOWNERS .gitea/CODEOWNERS .forgejo/CODEOWNERS",
	} {
		var asked []string
		o, err := CodeOwners("https://git.example.com/a/b", kind, func(path string) ([]byte, bool, error) {
			asked = append(asked, path)
			return nil, false, nil
		})
		if o != nil || err != nil || strings.Join(asked, " ") != want || o.Of("a") != nil {
			t.Errorf("%s: %v, %v", kind, asked, err)
		}
	}
	broken := errors.New("broken")
	fails := func(string) ([]byte, bool, error) { return nil, false, broken }
	if _, err := CodeOwners("https://github.com/a/b", "", fails); !errors.Is(err, broken) {
		t.Error(err)
	}
	if o, err := CodeOwners("/srv/git/b", "", fails); o != nil || err != nil {
		t.Error(o, err)
	}
}
