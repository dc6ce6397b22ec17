// Package count writes numbers of things as every report does: "1 file",
// "3 classes".
package count

import "strconv"

// Of is a number and a noun, whose plural ends in s unless it is given.
func Of(n int, noun string, plural ...string) string {
	switch {
	case n == 1:
	case len(plural) > 0:
		noun = plural[0]
	default:
		noun += "s"
	}
	return strconv.Itoa(n) + " " + noun
}
