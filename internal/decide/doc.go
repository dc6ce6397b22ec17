// Package decide is the pure heart of a run: it says what moves in Git and why,
// from what is wanted and what is there, and reaches for nothing itself. The
// rooms around it read (observe), build packages and push (publish); between
// them go the values of this package. See docs/design/heart.md.
//
// [Select] says which revisions a wanted package goes on with, [Intend] whether
// one is to be built, [Activation.Rule] what becomes of it then; [Remove] and
// [Pruning] decide about what nobody wants, [Candidates] and what follows it
// about what a person said. A [Decision] is all that publish applies. The
// examples decide one package alone.
//
// Every function is deterministic; lists are sorted where their order is shown.
package decide
