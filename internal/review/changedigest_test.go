package review

import (
	"strings"
	"testing"

	"github.com/variform/variform/internal/krm"
)

// The digest of a change has the new values, and nothing of the old ones.
func TestChangeDigest(t *testing.T) {
	const config = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {level: info, size: small}\n"
	parse := func(files map[string]string) *krm.Package {
		var list []krm.File
		for name, text := range files {
			list = append(list, krm.File{Path: name, Data: []byte(text), Mode: krm.Regular})
		}
		p, err := krm.Parse(list)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	digest := func(before, after map[string]string) string {
		d, err := ChangeDigest(parse(before), parse(after))
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	set := func(from, to string) map[string]string {
		return map[string]string{"a.yaml": strings.Replace(config, from, to, 1), "notes.txt": "one\n"}
	}
	approved := digest(set("", ""), set("info", "warn"))
	long := strings.Repeat("x", 5000)
	for name, c := range map[string]struct {
		before, after map[string]string
		same          bool
	}{
		"the same":                        {set("", ""), set("info", "warn"), true},
		"upon another value of the field": {set("info", "debug"), set("info", "warn"), true},
		"beside a hotfix that stays":      {set("small", "large"), map[string]string{"a.yaml": strings.NewReplacer("info", "warn", "small", "large").Replace(config), "notes.txt": "one\n"}, true},
		"another value":                   {set("", ""), set("info", "error"), false},
		"another field":                   {set("", ""), set("small", "warn"), false},
		"a hotfix that goes":              {set("small", "large"), set("info", "warn"), false},
		"another resource":                {set("", ""), set("name: a", "name: b"), false},
		"one file more":                   {set("", ""), map[string]string{"a.yaml": strings.Replace(config, "info", "warn", 1), "notes.txt": "one\n", "more.txt": "x"}, false},
		"another file":                    {set("", ""), map[string]string{"a.yaml": strings.Replace(config, "info", "warn", 1), "notes.txt": "two\n"}, false},
		"nothing":                         {set("", ""), set("", ""), false},
	} {
		if got := digest(c.before, c.after); (got == approved) != c.same {
			t.Errorf("%s: %s", name, got)
		}
	}
	if digest(set("", ""), set("info", long+"a")) == digest(set("", ""), set("info", long+"b")) {
		t.Error("long values are cut")
	}
	if d, err := ChangeDigest(nil, parse(set("", ""))); err != nil || !strings.HasPrefix(d, "sha256:") || d == digest(set("", ""), set("", "")) {
		t.Error(d, err)
	}
}
