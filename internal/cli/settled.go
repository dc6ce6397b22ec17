package cli

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/variform/variform/internal/gitrepo"
	"github.com/variform/variform/internal/reconcile"
	"github.com/variform/variform/internal/review"
	"github.com/variform/variform/internal/version"
)

// settled is where this run, or one just like it, remembers that it had nothing to do: in the
// machine's state folder, for anybody who writes the cache could say that of any fleet.
func (a *app) settled(in inputs) *reconcile.Settled {
	folder, _ := os.Getwd() // addresses may be relative to it
	clone, dir := gitrepo.CloneOf(a.fleet.location)
	options := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %t %+v", folder, clone, dir, a.quiet, a.fleet))
	s := &reconcile.Settled{File: filepath.Join(a.State, "settled", fmt.Sprintf("%x.json", options[:6]))}
	digest, program := in.files.Digest(), program()
	if a.State != "" && digest != "" && program != "" && a.output == outputs[0] && !a.verbose && len(a.fleet.invoke) == 0 {
		s.Inputs = fmt.Sprintf("%x", sha256.Sum256(fmt.Appendf(nil, "%x %s %s", options, program, digest)))
	}
	return s
}

// program tells this build from any other, "" where that cannot be told.
func program() string {
	path, err := os.Executable()
	if err != nil {
		return ""
	}
	st, err := os.Stat(path)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%s %d %d", version.Program(), st.Size(), st.ModTime().UnixNano())
}

// printed is all that a run prints of a plan that came to nothing, but its first line: the
// fleet's commit may be another one the next time.
func (a *app) printed(s *opening, plan *reconcile.Plan) (reconcile.Printed, error) {
	var out, errs bytes.Buffer
	b := &app{Streams: Streams{Out: &out, Err: &errs, State: a.State}, fleet: a.fleet, output: a.output, quiet: a.quiet}
	b.warnOf(s.fleet)
	err := printTable(b, s, plan, true)
	return reconcile.Printed{Fleet: s.fleet.Manager, Size: size(plan), Out: out.String(), Err: errs.String()}, err
}

func (a *app) replay(from review.Source, p reconcile.Printed) error {
	if err := printHead(a, from, p.Size); err != nil {
		return err
	}
	_, err := io.WriteString(a.Out, p.Out)
	_, eerr := io.WriteString(a.Err, p.Err)
	return errors.Join(err, eerr)
}
