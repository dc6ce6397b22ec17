// Package fnmain is the main of Variform's KRM functions: a ResourceList in on
// stdin, the processor of internal/function, a ResourceList out on stdout
// (docs/design/functions.md).
//
//	func main() { os.Exit(fnmain.Main("inject-config", os.Args[1:], fnmain.Std())) }
//
// The list is written whatever happens, and the exit code is 1 where a result
// has severity error or the function broke. Bytes and items are bounded before
// anything is parsed.
package fnmain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"github.com/kptdev/krm-functions-sdk/go/fn"

	"github.com/variform/variform/internal/function"
)

// Exit codes: done, failed with results, could not run.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

// Streams are where a function reads and writes.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
	// ReadFile reads the functionConfig named on the command line.
	ReadFile func(string) ([]byte, error)
	// Limit bounds the function's time; zero is MaxTime.
	Limit time.Duration
}

// softMemory is what the collector keeps the process to where it can: all lists
// within the bounds then fit into a container of 1 GiB.
const softMemory = 640 << 20

// Std are the process's own streams and files. It bounds the process's memory,
// where the environment does not (GOMEMLIMIT).
func Std() Streams {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(softMemory)
	}
	return Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, ReadFile: os.ReadFile}
}

// Main runs the function of that name in function.Builtin with the command
// line's arguments and returns the exit code.
func Main(name string, args []string, s Streams) int {
	process, doc := function.Builtin[name], function.Docs[name]
	if process == nil {
		return complain(s, exitUsage, name, fmt.Errorf("there is no function of this name"))
	}
	cmd, err := parse(args)
	if err != nil {
		return complain(s, exitUsage, name, err)
	}
	switch {
	case cmd.help:
		err = writeHelp(s.Out, name, doc)
	case cmd.doc:
		err = writeDoc(s.Out, name, doc)
	default:
		return run(context.Background(), name, process, cmd.config, s)
	}
	if err != nil {
		return complain(s, exitFailed, name, err)
	}
	return exitDone
}

type command struct {
	help, doc bool
	config    string // file with the functionConfig, "" for that of the list
}

func parse(args []string) (command, error) {
	var c command
	var errs []error
	for _, a := range args {
		switch {
		case a == "--help" || a == "-h":
			c.help = true
		case a == "--doc":
			c.doc = true
		case strings.HasPrefix(a, "-") && a != "-":
			errs = append(errs, fmt.Errorf("unknown flag %q; see --help", a))
		case c.config != "":
			errs = append(errs, fmt.Errorf("unexpected argument %q: one functionConfig FILE at most; see --help", a))
		default:
			c.config = a
		}
	}
	if c.help || c.doc {
		c.config = ""
	}
	return c, errors.Join(errs...)
}

func complain(s Streams, code int, name string, err error) int {
	_, _ = fmt.Fprintf(s.Err, "%s: %v\n", name, err)
	return code
}

// run does one ResourceList.
func run(ctx context.Context, name string, process function.Processor, configFile string, s Streams) int {
	l, err := read(s, configFile)
	if err != nil {
		l = &list{results: fn.Results{fn.ErrorResult(err)}}
	} else if err := l.call(ctx, process, cmp.Or(s.Limit, MaxTime)); err != nil {
		l.results = append(l.results, fn.ErrorResult(fmt.Errorf("%s: %w", name, err)))
	}
	out, err := l.encode()
	if err != nil {
		return complain(s, exitFailed, name, fmt.Errorf("writing the ResourceList: %w", err))
	}
	if _, err := s.Out.Write(out); err != nil {
		return complain(s, exitFailed, name, fmt.Errorf("writing the ResourceList: %w", err))
	}
	for _, r := range l.results {
		if r.Severity == fn.Error {
			_, _ = fmt.Fprintf(s.Err, "%s: %s\n", name, describe(r))
		}
	}
	return l.results.ExitCode()
}

// describe is a result in one line, with its file.
func describe(r *fn.Result) string {
	text := strings.TrimPrefix(r.String(), "[error]")
	text = strings.TrimSpace(strings.TrimPrefix(text, ":"))
	if r.File != nil && r.File.Path != "" {
		return r.File.Path + ": " + text
	}
	return text
}
