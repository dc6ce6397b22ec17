package boundary

import "testing"

func TestInert(t *testing.T) {
	for in, want := range map[string]string{
		"":                                "",
		"ConfigMap c: data.v 1 to 2":      "ConfigMap c: data.v 1 to 2",
		"containers[name=web].image":      "containers[name=web].image",
		"nginx@sha256:0123 and a@b.c":     "nginx@sha256:0123 and a@b.c",
		"x [skip ci] y":                   "x ［skip ci］ y",
		"[CI SKIP]":                       "［CI SKIP］",
		"[ci-skip] [skip_ci]":             "［ci‐skip］ ［skip_ci］",
		"[no ci]":                         "［no ci］",
		"[skip netlify][actions skip]":    "［skip netlify］［actions skip］",
		"***no_ci***":                     "＊＊＊no_ci＊＊＊",
		"skip-checks: true":               "skip‐checks： true",
		"closes #7":                       "closes ＃7",
		"a/b#7 and !12":                   "a/b＃7 and ！12",
		"fixes GH-7":                      "fixes GH‐7",
		"Resolves: ABC-12":                "Resolves： ABC‐12",
		"us-east-1 and ABC-12":            "us-east-1 and ABC-12",
		"https://x.example/a/b/issues/7":  "https://x.example/a/b／issues／7",
		"/merge_requests/7":               "／merge_requests／7",
		"@org/all":                        "＠org/all",
		"for @ann, (@bob)":                "for ＠ann, (＠bob)",
		"a key of \"@everyone\" is added": "a key of \"＠everyone\" is added",
	} {
		got := Inert(in)
		if got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
		if again := Inert(got); again != got {
			t.Errorf("%q became %q, and then %q", in, got, again)
		}
	}
}

func TestLog(t *testing.T) {
	for in, want := range map[string]string{
		"a.yaml: b::c":                  "a.yaml: b::c",
		"::error::x":                    "> ::error::x",
		"a\n  ::stop-commands::x: y\nb": "a\n>   ::stop-commands::x: y\nb",
		"\u2003::error::x":              "> \u2003::error::x",
		"a ##vso[task.complete] b":      "a ## vso[task.complete] b",
		"##[error]x":                    "## [error]x",
		"## heading":                    "## heading",
	} {
		if got := Log(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}

func FuzzInert(f *testing.F) {
	f.Add("x [skip ci] closes #7 @org/all")
	f.Add("[[no ci]] fixes: ABC-1")
	f.Fuzz(func(t *testing.T, text string) {
		got := Inert(text)
		if steering.MatchString(got) {
			t.Errorf("%q still steers: %q", text, got)
		}
		if again := Inert(got); again != got {
			t.Errorf("%q became %q, and then %q", text, got, again)
		}
	})
}
