// Package observe is the first room of a run: it reads what a fleet wants and
// what its repositories hold, and gives that as a Snapshot to the pure room
// (internal/decide). It writes nothing anywhere. See docs/design/heart.md.
//
// What could not be read is a Problem, or the error of what needed it; the rest
// goes on.
package observe
