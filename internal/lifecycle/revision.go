package lifecycle

import (
	"regexp"
	"strconv"
	"strings"
)

// rangeForm: an operator, a star, or an x in the place of a number.
var rangeForm = regexp.MustCompile(`[<>=!~^|,*]|\s-\s|(?:^|[.v\s])[xX](?:$|[.\s])`)

// IsRange says whether an upstream's revision is to be read as a range of
// semantic versions: only where it cannot be a name (design section 3).
func IsRange(revision string) bool { return rangeForm.MatchString(revision) }

// Number is N of a revision written as N or vN, without leading zeros. Porch
// numbers the registered branch's own content -1.
func Number(revision string) (int, bool) {
	digits := strings.TrimPrefix(revision, "v")
	n, err := strconv.Atoi(digits)
	return n, err == nil && strconv.Itoa(n) == digits
}
