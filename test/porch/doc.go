// Package porch holds tests of what Variform and Porch share, with readers and
// writers of its own that follow Porch's and kpt's sources and documentation:
// the ResourceList that Porch's pipeline gives a function and what it stores of
// the answer, and a Git repository that both use. It has tests only:
//
//	go test ./test/porch
package porch
