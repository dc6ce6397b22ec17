package review

import (
	"time"
)

// Source is the fleet that a result is about.
type Source struct {
	// Name is the fleet's, or its location where it has none.
	Name string `json:"name,omitempty"`
	// Commit is that of the fleet's files; "" where they are not in Git.
	Commit string `json:"commit,omitempty"`
	// Modified reports whether the files differ from Commit.
	Modified bool `json:"modified,omitempty"`
	// Read is when the fleet was read, for the page, which people keep; zero for what was
	// joined. It is no part of a result: the same input gives the same bytes.
	Read time.Time `json:"-"`
}

// shortCommit is how many digits of a commit people see.
const shortCommit = 7

// At returns the commit as people see it, with a + where files differ from it.
func (s Source) At() string {
	if s.Commit == "" {
		return ""
	}
	at := s.Commit[:min(shortCommit, len(s.Commit))]
	if s.Modified {
		at += "+"
	}
	return at
}

// String is the beginning of a screen's first line: "fleet NAME @ COMMIT".
func (s Source) String() string {
	text := "fleet " + oneLine(s.Name)
	if at := s.At(); at != "" {
		text += " @ " + at
	}
	return text
}

// heading is what follows "Variform COMMAND" in the heading of a comment.
func (s Source) heading() string {
	text := ""
	if s.Name != "" {
		text = " · " + inline(s.Name)
	}
	if at := s.At(); at != "" {
		text += " · " + code(at)
	}
	return text
}
