// Package bench measures the main job whole, from the management directory to
// the pushed Drafts, against what git itself needs for the same objects. None of
// it asserts a time. Every yardstick runs in the same
// run as what it is compared with, and the result is their ratio:
//
//	go test ./test/bench -run '^$' -bench . -benchtime 5x
//
// docs/performance.md says what the yardsticks are and has the figures: `make
// bench-table` writes its tables.
package bench
