package wire

import (
	"net/url"
	"strings"
	"testing"
)

func TestRedact(t *testing.T) {
	for raw, want := range map[string]string{
		"https://h/x":                "https://h/x",
		"https://u:pw@h:8443/x@v1":   "https://h:8443/x@v1",
		"https://token@h/x":          "https://h/x",
		"HTTPS://token@h":            "HTTPS://h",
		"https://u:p/w@h/x":          "https://h/x",
		"https://u:p@w@h/x":          "https://h/x",
		"http://[::1]:80/a@b":        "http://[::1]:80/a@b",
		"https://h:80/a:b@c":         "https://h:80/a:b@c",
		"ssh://git@h:22/x":           "ssh://git@h:22/x",
		"ssh://git:pw@h/x":           "ssh://git@h/x",
		"SSH://git:pw@h/x":           "SSH://git@h/x",
		"git+ssh://git:pw@h/x":       "git+ssh://git@h/x",
		"ssh://git%3Apw@h/x":         "ssh://h/x",
		"ssh://:pw@h/x":              "ssh://h/x",
		"git@h:team/a.git":           "git@h:team/a.git",
		"/srv/a@b":                   "/srv/a@b",
		"https://u:pw@h/%zz no url":  "https://h/%zz no url",
		"https://u:pw@":              "https://",
		"file:///srv/with:colon/a@b": "file:///srv/with:colon/a@b",
	} {
		if got := Redact(raw); got != want {
			t.Errorf("Redact(%q) = %q, want %q", raw, got, want)
		}
	}
}

func FuzzRedact(f *testing.F) {
	for _, s := range []string{"h/x", "ss/w@h/x", "[::1]:80/x", "b", ""} {
		f.Add("https", s)
		f.Add("ssh", s)
	}
	f.Fuzz(func(t *testing.T, scheme, rest string) {
		raw := scheme + "://user:s3cret-word@" + rest
		if u, err := url.Parse(raw); err != nil || u.User == nil {
			return
		}
		if out := Redact(raw); strings.Contains(out, "s3cret-word") {
			t.Errorf("%q became %q", raw, out)
		}
	})
}
