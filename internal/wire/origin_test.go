package wire

import (
	"net/url"
	"testing"
)

func TestOriginOf(t *testing.T) {
	for raw, want := range map[string]struct {
		origin  Origin
		shown   string
		exposed bool
	}{
		"https://Git.Example.com/a.git":  {"https://git.example.com:443", "https://git.example.com", false},
		"https://git.example.com:0443/b": {"https://git.example.com:443", "https://git.example.com", false},
		"http://git.example.com":         {"http://git.example.com:80", "http://git.example.com", true},
		"http://git.example.com:443":     {"http://git.example.com:443", "http://git.example.com:443", true},
		"http://127.0.0.1:3000/x":        {"http://127.0.0.1:3000", "http://127.0.0.1:3000", false},
		"http://[::1]/x":                 {"http://[::1]:80", "http://[::1]", false},
		"http://LOCALHOST/x":             {"http://localhost:80", "http://localhost", false},
		"http://127.0.0.1.example.com/":  {"http://127.0.0.1.example.com:80", "http://127.0.0.1.example.com", true},
		"http://10.0.0.1/":               {"http://10.0.0.1:80", "http://10.0.0.1", true},
	} {
		u, err := url.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		o := OriginOf(u)
		if o != want.origin || o.Shown() != want.shown || o.Exposed() != want.exposed {
			t.Errorf("%s: got %s, %s, exposed %t", raw, o, o.Shown(), o.Exposed())
		}
	}
}
