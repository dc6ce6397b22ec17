package cli

import (
	"strings"
	"testing"

	"github.com/variform/variform/internal/review"
)

// TestMarksNameMembers: a whole set by its name, few by theirs, and of many the first,
// save where each is a case of its own.
func TestMarksNameMembers(t *testing.T) {
	six := []string{"c1/web", "c2/web", "c3/web", "c4/web", "c5/web", "c6/web"}
	others := []string{"east/web", "lab/web", "north/web", "paris/web", "rome/web", "west/web"}
	for name, c := range map[string]struct {
		mark review.Mark
		want string
	}{
		"a set":                    {review.Mark{Kind: review.Outlier, Text: "x is 0", Members: six, AllOf: "default/web"}, "! outlier: x is 0: all of set web\n"},
		"a set of one":             {review.Mark{Kind: review.Unmet, Text: "gates", Members: six[:1], AllOf: "default/web"}, "! gates: c1/web\n"},
		"few":                      {review.Mark{Kind: review.Unmet, Text: "gates", Members: six[:2]}, "! gates: c1/web, c2/web\n"},
		"many":                     {review.Mark{Kind: review.Unmet, Text: "gates", Members: six}, "! gates: c[1-6]/web\n"},
		"many without numbers":     {review.Mark{Kind: review.Unmet, Text: "gates", Members: others}, "! gates: east/web, lab/web, north/web, paris/web, rome/web, and 1 more\n"},
		"many, by hand":            {review.Mark{Kind: review.ByHand, Text: "edited", Members: six}, "! edited: c1/web, c2/web, c3/web, c4/web, c5/web, c6/web\n"},
		"a set, all of it by hand": {review.Mark{Kind: review.ByHand, Text: "edited", Members: six, AllOf: "default/web"}, "! edited: all of set web\n"},
	} {
		var b strings.Builder
		if printMarks(&b, []review.Mark{c.mark}); b.String() != c.want {
			t.Errorf("%s: %q, want %q", name, b.String(), c.want)
		}
	}
}
