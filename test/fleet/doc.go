// Package fleet tests dependencies across a fleet from outside: the command
// line over real Git on HTTP, in scripts that read as the stories of Porter,
// Carvel and Crossplane do, and a fleet of 200 targets whose locks a checker of
// its own judges.
//
//	go test ./test/fleet -run TestScripts/wordpress
package fleet
