package pulls

import "errors"

// Content is what a request is opened with.
type Content struct {
	Title, Body string
	Draft       bool // nobody is to merge it yet
	Labels      []string
	Assignees   []string
	Reviewers   []string // people, and teams as organisation/team
}

// ErrNothing says that a head has nothing that the registered branch lacks.
var ErrNothing = errors.New("there is nothing to merge: its branch has no commit that the registered branch lacks")
