package publish

import (
	"errors"
	"fmt"
	"testing"

	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/gitrepo"
	"github.com/variform/variform/internal/observe"
)

// What a server has something against is refused alone, where the rest may go; else
// nothing is, and the push fails as it is.
func TestBlame(t *testing.T) {
	rejected := func(refs ...string) error {
		e := &gitrepo.RejectedError{}
		for _, name := range []string{"refs/tags/a/v1", "refs/tags/b/v1", "refs/heads/main"} {
			message := "atomic push failure"
			for _, bad := range refs {
				if bad == name {
					message = "hook declined"
				}
			}
			e.Refs = append(e.Refs, gitrepo.RefMessage{Name: name, Message: message})
		}
		return fmt.Errorf("pushing: %w", e)
	}
	for name, c := range map[string]struct {
		err    error
		failed string // what was refused before
		want   string
	}{
		"one of two":        {rejected("refs/tags/b/v1"), "", "b"},
		"both":              {rejected("refs/tags/a/v1", "refs/tags/b/v1"), "", ""},
		"the branch of all": {rejected("refs/heads/main"), "", ""},
		"none of them":      {rejected(), "", ""},
		"all that is left":  {rejected("refs/tags/b/v1"), "a", ""},
		"another error":     {errors.New("network"), "", ""},
		"a lost race":       {errors.Join(gitrepo.ErrStale, rejected("refs/tags/b/v1")), "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			m := &merger{refs: map[*Verdict][]string{}}
			by := map[string]*Verdict{}
			var list []*Verdict
			before := errors.New("before")
			for _, pkg := range []string{"a", "b"} {
				v := &Verdict{Candidate: &decide.Candidate{}, Repo: &observe.Repo{Repository: &decide.Repository{Branch: "main"}}}
				if pkg == c.failed {
					v.Err = before
				}
				m.refs[v] = []string{"refs/tags/" + pkg + "/v1"}
				by[pkg], list = v, append(list, v)
			}
			if got := m.blame(list, c.err); got != (c.want != "") {
				t.Errorf("some are refused: %t", got)
			}
			for pkg, v := range by {
				switch {
				case pkg == c.failed && !errors.Is(v.Err, before), pkg == c.want && !errors.Is(v.Err, c.err), pkg != c.failed && pkg != c.want && v.Err != nil:
					t.Errorf("%s: %v", pkg, v.Err)
				}
			}
		})
	}
}
