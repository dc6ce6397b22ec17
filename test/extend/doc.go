// Package extend adds to a scratch copy of the repository what CONTRIBUTING.md
// says how to add, and builds, checks and runs that there. It has tests only:
//
//	go test ./test/extend
//
// Each file of testdata is one addition: new files, and edits of files that are
// there. An addition that takes more edits than CONTRIBUTING.md names is a reason
// to look at the code.
package extend
