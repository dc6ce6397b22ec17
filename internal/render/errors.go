package render

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/kptdev/krm-functions-sdk/go/fn"

	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/krmignore"
)

// ErrNotMine is what a Runtime's Resolve returns for functions of another sort.
var ErrNotMine = errors.New("another runtime's function")

// UnavailableError says that a runtime knows a function's sort but cannot or
// may not run it here, and what to do about it.
type UnavailableError struct {
	Reason string // why it does not run
	Hint   string // what to install or allow
	// Passing says that another try may do: it is not for what is written in the
	// package, or allowed here.
	Passing bool
}

func (e *UnavailableError) Error() string {
	if e.Hint == "" {
		return e.Reason
	}
	return e.Reason + "; " + e.Hint
}

// PipelineError is a Kptfile or a pipeline that cannot be read.
type PipelineError struct {
	Package string // directory of the package, "" for the root
	Field   string // e.g. pipeline.mutators[0].configPath, "" where unknown
	Line    int    // in the Kptfile, 0 where unknown
	Err     error
}

func (e *PipelineError) Error() string {
	where := "Kptfile of " + dirName(e.Package)
	if e.Line > 0 {
		where += fmt.Sprintf(", line %d", e.Line)
	}
	if e.Field != "" {
		where += ": " + e.Field
	}
	return fmt.Sprintf("%s: %v", where, e.Err)
}

func (e *PipelineError) Unwrap() error { return e.Err }

// UnreadableError is a file of a package that is YAML by its name and cannot be
// read as such: no function would see what is in it.
type UnreadableError struct {
	krm.Problem
}

func (e *UnreadableError) Error() string {
	return fmt.Sprintf("%v; no function can see what is in it: repair it, or name it in %s", e.Problem, krmignore.Name)
}

// FunctionError is a function that cannot run or that failed.
type FunctionError struct {
	Package  string // directory of the package, "" for the root
	Type     string // "mutators" or "validators"
	Index    int    // place in its list, from 0
	Name     string // the function's name in the Kptfile, may be empty
	Function string // image or command
	Results  fn.Results
	Stderr   string
	ExitCode int // 0 where the function never ran
	Err      error
}

func (e *FunctionError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "package %s: pipeline.%s[%d] %s", dirName(e.Package), e.Type, e.Index, e.Function)
	if e.Name != "" {
		fmt.Fprintf(&b, " (%s)", e.Name)
	}
	if e.Err != nil {
		fmt.Fprintf(&b, ": %s", plainly(e.Err.Error()))
	}
	said, more := 0, 0
	for _, r := range e.Results {
		switch {
		case r.Severity != fn.Error:
		case said == maxSaid:
			more++
		default:
			said++
			fmt.Fprintf(&b, "\n  %s", plainly(resultLine(r)))
		}
	}
	if more > 0 {
		fmt.Fprintf(&b, "\n  and %d more", more)
	}
	if s := strings.TrimSpace(e.Stderr); s != "" {
		fmt.Fprintf(&b, "\n  stderr: %s", plainly(firstLines(s, 4)))
	}
	return b.String()
}

// What an error repeats of a function's own words.
const (
	maxSaid  = 20   // results
	maxWords = 2000 // bytes of one
)

// plainly is a function's text without what would steer a terminal, and no more
// of it than a reader wants.
func plainly(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\t' && r != '\n' || unicode.Is(unicode.Bidi_Control, r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, ""))
	if len(s) > maxWords {
		return strings.ToValidUTF8(s[:maxWords], "") + "…"
	}
	return s
}

func (e *FunctionError) Unwrap() error { return e.Err }

// Brief is the message without the results and the standard error, for where
// Result.WriteSummary has printed them.
func (e *FunctionError) Brief() string {
	b := *e
	b.Results, b.Stderr = nil, ""
	return b.Error()
}

func dirName(dir string) string {
	if dir == "" {
		return `"."`
	}
	return fmt.Sprintf("%q", dir)
}

func resultLine(r *fn.Result) string {
	line := strings.ReplaceAll(r.String(), "\n", " ")
	if r.File != nil && r.File.Path != "" {
		line += " (" + r.File.Path + ")"
	}
	return line
}

func firstLines(s string, n int) string {
	lines := strings.Split(s, "\n")
	if len(lines) <= n {
		return strings.Join(lines, "\n          ")
	}
	return fmt.Sprintf("%s\n          … %d more line(s)", strings.Join(lines[:n], "\n          "), len(lines)-n)
}
