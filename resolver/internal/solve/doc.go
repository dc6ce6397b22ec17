// Package solve is the search behind the resolver: a finite-domain PubGrub.
//
// A problem is a set of slots. Each slot has an ordered list of candidates, best first, and the value 0,
// which means that nothing is there. A candidate has needs: "slot s must then be one of these values".
// Terms are bit sets over the candidates, so the search knows nothing of versions: whoever builds
// the problem turns a range into a set once. Clauses are learned from conflicts as in PubGrub (and in
// conflict-driven SAT solvers), slots and needs are asked for only when the search gets there.
//
// The answer is complete (a solution is found when there is one) and preferred by a fixed order, which
// [Solver.Solve] documents. It depends on nothing but the problem: no clock, no map order, no chance.
package solve
