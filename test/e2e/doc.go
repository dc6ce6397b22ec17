// Package e2e tests variform from outside: the command line over real Git
// repositories, local and over HTTP. The scripts are in testdata/script; what
// needs a server with faults, or many repositories compared, is a Go test.
//
//	go test ./test/e2e -run 'TestScripts/render'
package e2e
