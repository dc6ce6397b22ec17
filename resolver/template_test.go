package resolver

import (
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// expression is what an expression looks like.
var expression = regexp.MustCompile(`\$\{\s*([^}]*?)\s*\}|\{\{\s*([^}]*?)\s*\}\}`)

// FuzzExpressions compares the reader of templates with a regular expression.
func FuzzExpressions(f *testing.F) {
	for _, text := range []string{
		"", "plain", "${a.b}", "x${ a }y${b}", "{{ a }}{{b}}", "{{a}", "${a", "${{a}}", "{{{a}}}", "$${a}", "${}", "{{}}", "{${a}}", "{{a}b}} ${c}", "${\n a\tb }", "{{${x}}}",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var want []string
		for _, m := range expression.FindAllStringSubmatch(text, -1) {
			want = append(want, m[1]+m[2])
		}
		if got := paths(text); !slices.Equal(want, got) {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
		out, done := expand(text, func(path string) (string, bool) { return "<" + path + ">", len(path)%2 == 0 })
		wantOut := expression.ReplaceAllStringFunc(text, func(m string) string {
			if sub := expression.FindStringSubmatch(m); len(sub[1]+sub[2])%2 == 0 {
				return "<" + sub[1] + sub[2] + ">"
			}
			return m
		})
		if diff := cmp.Diff(wantOut, out); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
		if odd := slices.ContainsFunc(want, func(p string) bool { return len(p)%2 == 1 }); done == odd {
			t.Errorf("%q: done is %v", text, done)
		}
	})
}
