// Package fleet tests dependencies across a fleet from outside: the command
// line over real Git on HTTP, in scripts that read as the seeds' stories do,
// and a fleet of 200 targets whose locks a checker of its own judges.
//
//	go test ./test/fleet -run TestScripts/wordpress
package fleet
