package solve_test

import (
	"fmt"

	"github.com/variform/variform/resolver/internal/solve"
)

func Example() {
	p := solve.NewStatic(3)                // slot 0 is the root, slots 1 and 2 have candidates
	p.Candidates(1, 2)                     // slot 1 has two
	p.Candidates(2, 2)                     // slot 2 as well
	p.Need(0, 1, 1, solve.NewSet(3, 1, 2)) // the root needs slot 1, either candidate
	p.Need(1, 1, 2, solve.NewSet(3, 2))    // its first candidate needs the second one of slot 2
	res, found := solve.New(p).Solve()
	fmt.Println(found, res.Values)
	// Output:
	// true [1 1 2]
}
