// Package docs runs what the documentation shows: each command of the READMEs
// and of docs/ as a user would type it, and each piece of YAML through the
// reader of its kind. It follows the links between pages, and what comments
// cite: documents that a clone has not got are no source. It has tests only:
//
//	go test ./test/docs
//
// A command that no rule of docs_test.go knows fails the test, so that the
// documentation cannot grow unrun.
package docs
