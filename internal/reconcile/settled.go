package reconcile

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"

	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/gitrepo"
)

// Settled remembers the last run that found nothing to do, in a file. What a run does
// follows from the program, its options, the management directory and the refs of
// the repositories: while these are as they were there is nothing to do again, and
// the refs alone are read (docs/design/speed.md#a-settled-fleet). Losing the file
// costs time, never correctness.
type Settled struct {
	// File holds one run; the next one replaces it.
	File string
	// Inputs tells program, options and management directory from any others; ""
	// remembers nothing.
	Inputs string
}

// Printed is what a run printed on both streams. Fleet and Size are for the first line,
// which is not in Out.
type Printed struct{ Fleet, Size, Out, Err string }

type settledRun struct {
	Inputs string
	Seen   gitrepo.Seen
	Printed
}

// Again is what the run before printed, where nothing changed since. It reads the refs
// that were read then.
func (s *Settled) Again(ctx context.Context, git *gitrepo.Store) (p Printed, ok bool) {
	var was settledRun
	data, err := os.ReadFile(s.File)
	if err != nil || s.Inputs == "" || json.Unmarshal(data, &was) != nil || was.Inputs != s.Inputs || len(was.Seen.Refs) == 0 {
		return Printed{}, false
	}
	return was.Printed, git.Sees(ctx, was.Seen)
}

// Put remembers that a run had nothing to do.
func (s *Settled) Put(git *gitrepo.Store, p Printed) {
	seen, ok := git.Seen()
	if !ok || s.Inputs == "" {
		return
	}
	data, err := json.Marshal(settledRun{s.Inputs, seen, p})
	if err != nil || os.MkdirAll(filepath.Dir(s.File), 0o755) != nil {
		return
	}
	// Whole or not at all, for runs side by side.
	f, err := os.CreateTemp(filepath.Dir(s.File), "settled-*")
	if err != nil {
		return
	}
	_, err = f.Write(data)
	if cerr := f.Close(); err != nil || cerr != nil || os.Rename(f.Name(), s.File) != nil {
		_ = os.Remove(f.Name())
	}
}

// Settled says that the whole fleet is up to date.
func (p *Plan) Settled() bool {
	return !p.Failed() && !slices.ContainsFunc(p.Items, func(i *Item) bool {
		return i.Action != decide.ActionNone || i.moves()
	})
}
