// Package peers measures the solver against others: a SAT solver, deps.dev's
// port of pip's resolver, and the greedy way. It is a module of its own, so that
// what it compares with is no dependency of the product; make peers tests it.
package peers
