package fnmain

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/variform/variform/internal/function"
)

// All is the main of a binary that is every function: args is its whole command
// line. The function is the program's own name, as of a link to it, or else the
// first argument. It returns the exit code.
func All(args []string, s Streams) int {
	name, rest := "", args
	for _, word := range args[:min(len(args), 2)] {
		rest = rest[1:]
		if name = path.Base(word); function.Builtin[name] != nil {
			return Main(name, rest, s)
		}
	}
	names := strings.Join(slices.Sorted(maps.Keys(function.Builtin)), ", ")
	return complain(s, exitUsage, "variform-functions", fmt.Errorf("%q is no function: give one of %s", name, names))
}
