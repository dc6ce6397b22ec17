package gitrepo

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/variform/variform/internal/boundary"
	"github.com/variform/variform/internal/lazyregexp"
	"github.com/variform/variform/internal/lifecycle"
)

// What errors of this package are; test with errors.Is.
var (
	// ErrStale: refs are not where the caller planned; see *StaleError.
	ErrStale = errors.New("refs have moved")
	// ErrRejected: the server said no; see *RejectedError.
	ErrRejected = errors.New("the server refused the push")
	// ErrUnknownOutcome: the answer to a push was lost; see *UnknownOutcomeError.
	ErrUnknownOutcome = errors.New("the outcome of the push is not known")
	// ErrNotFound: no revision fits a query; see *NotFoundError.
	ErrNotFound = errors.New("revision not found")
	// ErrNoRepository: there is no Git repository at the address.
	ErrNoRepository = errors.New("no Git repository there")
	// ErrAuth: the server wants other credentials, or refuses these.
	ErrAuth = errors.New("access refused")
	// ErrMissingObject: the repository does not have, or does not give out, an object.
	ErrMissingObject = errors.New("Git object not available")
	// ErrDoubtful: an answer that is not believed, for what it would do.
	ErrDoubtful = errors.New("not believed")
	// ErrUnsupported: something that this package does not do, such as SHA-256 repositories.
	ErrUnsupported = errors.New("not supported")
	// ErrLimit: a package is larger than Limits allow.
	ErrLimit = boundary.ErrLimit
)

// StaleError names the refs that were not where the caller planned. With an
// atomic server nothing of that push has moved: read again and plan again.
type StaleError struct {
	URL  string
	Refs []StaleRef // by name
}

// StaleRef is one moved ref; a zero Hash means that the ref does not exist.
type StaleRef struct {
	Name             string
	Expected, Actual Hash
}

// Error lists the first refs and counts the rest.
func (e *StaleError) Error() string {
	parts := make([]string, 0, len(e.Refs))
	for _, r := range e.Refs {
		parts = append(parts, fmt.Sprintf("%s is %s, planned with %s", r.Name, hashOrNone(r.Actual), hashOrNone(r.Expected)))
	}
	return fmt.Sprintf("pushing to %s: someone else has moved %d ref(s) since they were read; nothing was overwritten, run again: %s",
		e.URL, len(e.Refs), some(parts))
}

// Is matches ErrStale.
func (e *StaleError) Is(target error) bool { return target == ErrStale }

// RejectedError is a refusal by the server: a hook, a protected branch, a
// conflict of names. With an atomic server nothing of that push has moved.
type RejectedError struct {
	URL     string
	Refs    []RefMessage // by name
	Message string       // what the server's hooks printed
}

// RefMessage is what the server said of one ref.
type RefMessage struct{ Name, Message string }

// Error gives the server's reasons.
func (e *RejectedError) Error() string {
	parts := make([]string, 0, len(e.Refs))
	for _, r := range e.Refs {
		parts = append(parts, r.Name+": "+r.Message)
	}
	s := fmt.Sprintf("pushing to %s: the server refused: %s", e.URL, some(parts))
	if e.Message != "" {
		s += "\nthe server says:\n  " + strings.ReplaceAll(e.Message, "\n", "\n  ")
	}
	return s
}

// Is matches ErrRejected.
func (e *RejectedError) Is(target error) bool { return target == ErrRejected }

// Held reports that another push was at refs of this one, and held their locks: git waits
// for those a tenth of a second.
func (e *RejectedError) Held() bool {
	return strings.Contains(e.Message, ".lock': File exists")
}

// Blames reports whether one of some refs is among those for which the server
// refused the push: those that its hooks name, else those of which it says more than
// that they share the others' fate.
func (e *RejectedError) Blames(names ...string) bool {
	byHook := slices.ContainsFunc(e.Refs, func(r RefMessage) bool { return e.named(r.Name) })
	return slices.ContainsFunc(e.Refs, func(r RefMessage) bool {
		switch {
		case !slices.Contains(names, r.Name):
			return false
		case byHook:
			return e.named(r.Name)
		}
		return !strings.Contains(r.Message, "atomic") // what git says of refs that it has nothing against
	})
}

func (e *RejectedError) named(ref string) bool {
	_, rest, found := strings.Cut(e.Message, ref)
	return found && !inName.MatchString(rest)
}

// inName begins what would make a ref's name that of another.
var inName = lazyregexp.New(`^[\w/-]|^\.\w`)

// UnknownOutcomeError is a push whose answer was lost. The refs were read again
// where that was possible; each update is conditional, so running again is safe.
type UnknownOutcomeError struct {
	URL            string
	Moved, Unmoved []string // ref names as read afterwards; both empty where that failed too
	Err            error
}

// Error says what is known.
func (e *UnknownOutcomeError) Error() string {
	known := "and the refs could not be read again"
	if len(e.Moved)+len(e.Unmoved) > 0 {
		known = fmt.Sprintf("and when read again %d ref(s) had moved, %d had not", len(e.Moved), len(e.Unmoved))
	}
	return fmt.Sprintf("pushing to %s: the server's answer was lost (%v), %s; run again to complete", e.URL, e.Err, known)
}

// Is matches ErrUnknownOutcome.
func (e *UnknownOutcomeError) Is(target error) bool { return target == ErrUnknownOutcome }

// Unwrap is what broke.
func (e *UnknownOutcomeError) Unwrap() error { return e.Err }

// NotFoundError says that no revision fits a query.
type NotFoundError struct {
	Query     Query
	URL       string
	Reason    string
	Available []string // what exists, nearest first
}

// Error says what was looked for and what exists.
func (e *NotFoundError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "package %q", lifecycle.PackagePath(e.Query.Directory, e.Query.Package))
	switch {
	case e.Query.Revision != "":
		fmt.Fprintf(&b, ", revision %q", e.Query.Revision)
	case e.Query.Workspace != "":
		fmt.Fprintf(&b, ", workspace %q", e.Query.Workspace)
	}
	fmt.Fprintf(&b, " in %s: %s", e.URL, e.Reason)
	if len(e.Available) > 0 {
		fmt.Fprintf(&b, "; there is: %s", some(e.Available))
	}
	return b.String()
}

// Is matches ErrNotFound.
func (e *NotFoundError) Is(target error) bool { return target == ErrNotFound }

func hashOrNone(h Hash) string {
	if h.IsZero() {
		return "absent"
	}
	return h.String()[:12]
}

// some joins at most ten parts.
func some(parts []string) string {
	const most = 10
	if len(parts) <= most {
		return strings.Join(parts, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(parts[:most], ", "), len(parts)-most)
}

// kindError is an error of one of the kinds above with its own text.
type kindError struct {
	kind error
	text string
}

func (e *kindError) Error() string { return e.text }
func (e *kindError) Unwrap() error { return e.kind }

func errKind(kind error, format string, args ...any) error {
	return &kindError{kind: kind, text: fmt.Sprintf(format, args...)}
}
