// Package ci runs the recipes of docs/ci as a CI system would: their scripts,
// as they stand there, against a fleet on a real Git server that wants a login,
// with the real command. Only the platforms are played: their comments are a
// server's or a file's here. The root Kptfile is rendered here too, by a real
// kpt and by the command. It has tests only:
//
//	go test ./test/ci
package ci
