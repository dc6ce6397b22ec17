package count_test

import (
	"fmt"

	"github.com/variform/variform/internal/count"
)

func ExampleOf() {
	fmt.Println(count.Of(1, "file"))
	fmt.Println(count.Of(0, "file"))
	fmt.Println(count.Of(2, "class", "classes"))
	// Output:
	// 1 file
	// 0 files
	// 2 classes
}
