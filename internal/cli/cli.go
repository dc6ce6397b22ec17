// Package cli is the command line: it parses flags, calls internal/reconcile
// and the packages below it, and prints (docs/design/heart.md#doors). Decisions
// are made there, not here.
//
// Rules of output: data goes to stdout, progress and messages to stderr. Exit
// status 0 is done, 1 is findings or a failure in part, 2 could not run, 3 (with
// --exit-code) changes are pending and nothing failed. Colour and bars only on a terminal; NO_COLOR, CI and TERM=dumb are honoured.
package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/spf13/cobra"

	"github.com/variform/variform/internal/boundary"
	"github.com/variform/variform/internal/gitrepo"
	"github.com/variform/variform/internal/review"
	"github.com/variform/variform/internal/session"
	"github.com/variform/variform/internal/version"
	"github.com/variform/variform/internal/wire"
)

// Streams are a command's standard streams, and the program that it is.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
	// Program is the path of a program whose main function is Main: what a
	// package's scripts say runs in a process of it, within bounds. Empty: in this one.
	Program string
	// State is the folder for what this machine states of its builds (StateDir); "" is none.
	State string
	// Now is the clock of what people do and of rollouts; nil is the machine's.
	Now func() time.Time
	// Name is what it was called as: kubectl runs a program kubectl-variform.
	Name string
}

// The exit statuses.
const (
	exitDone     = 0
	exitFindings = 1
	exitFailed   = 2
	exitPending  = 3
)

// errPending ends a command with status 3: nothing failed, and something is to be
// applied.
var errPending = errors.New("changes are pending")

// findings ends a command with status 1: it ran, and what it found is printed.
type findings struct{ message string }

func (f findings) Error() string { return f.message }

// stopGrace is how long a command that was stopped may take to say what became
// of it: a prompt and a call that hangs have no end of their own.
const stopGrace = 800 * time.Millisecond

// gcPercent lets a run collect seldom while it holds little: most of what it makes
// lives for one package.
const gcPercent = 400

// Main runs the command line and returns the exit status, soon after ctx ends.
func Main(ctx context.Context, args []string, s Streams) int {
	wire.PaceMemory(gcPercent)
	wire.BoundMemory(memlimit.FromCgroup)
	wire.TrustBundle()
	ctx, stop := context.WithCancelCause(ctx)
	a := &app{Streams: s, stop: stop}
	defer a.end()
	args = wholeHelp(a, args)
	cmd := a.root()
	cmd.SetArgs(args)
	done := make(chan error, 1)
	go func() {
		err := unknownCommand(cmd, args)
		if err == nil {
			err = cmd.ExecuteContext(ctx)
		}
		for _, s := range a.stores {
			s.Close()
		}
		done <- err
	}()
	var err error
	select {
	case err = <-done:
	case <-ctx.Done():
		select {
		case err = <-done:
		case <-time.After(stopGrace):
			err = context.Cause(ctx)
		}
	}
	if late := (timeoutError{}); err != nil && ctx.Err() != nil {
		// Whatever it found, it is not all.
		if err = context.Canceled; errors.As(context.Cause(ctx), &late) {
			err = late
		}
	}
	return a.exit(err)
}

// timeoutError is the end of a run that took longer than its user allows.
type timeoutError struct{ after time.Duration }

func (e timeoutError) Error() string {
	return fmt.Sprintf("the %s of --timeout are over; what was pushed stays whole, run it again to go on", e.after)
}

// exit says how a command ended.
func (a *app) exit(err error) int {
	var found findings
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &found):
		if found.message != "" {
			a.fail("variform: %s", found.message)
		}
		return exitFindings
	case errors.Is(err, errPending), errors.Is(err, errWaiting):
		a.fail("variform: %v", err)
		return exitPending
	case errors.Is(err, context.Canceled):
		_, _ = fmt.Fprintln(a.Err, "variform: interrupted; what was pushed stays whole, run it again to go on")
	default:
		a.fail("variform: %s", strings.TrimSpace(err.Error()))
	}
	return exitFailed
}

// app is what the commands share.
type app struct {
	Streams
	fleet    fleetFlags
	output   string
	quiet    bool
	verbose  bool
	colour   string
	noPager  bool
	helpAll  bool          // help lists every flag
	timeout  time.Duration // of the run; 0 is none
	patience time.Duration // with a silent server
	// gitCredentials is a file with logins; "" asks Git's helpers.
	gitCredentials string
	// app is a GitHub App of the environment; nil is none.
	app *session.App
	// repositories are talked to at once.
	repositories int

	stop   func(error)      // ends the run
	stores []*gitrepo.Store // closed when a command has ended by itself

	mu   sync.Mutex
	ends []func() // what runs when the command is over
}

func (a *app) atEnd(f func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ends = append(a.ends, f)
}

func (a *app) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, f := range a.ends {
		f()
	}
}

// start bounds the run; the flags are read by now.
func (a *app) start() error {
	if err := a.checkTerminal(); err != nil {
		return err
	}
	if a.timeout < 0 || a.patience <= 0 {
		return errors.New("--timeout and --server-timeout: give a time such as 90s or 10m")
	}
	if a.repositories < 1 {
		return fmt.Errorf("--repository-concurrency %d: give 1 or more", a.repositories)
	}
	var err error
	if a.app, err = session.AppOf(os.Getenv, a.budget()); err != nil {
		return err
	}
	if a.timeout > 0 {
		late := timeoutError{a.timeout}
		timer := time.AfterFunc(late.after, func() { a.stop(late) })
		a.atEnd(func() { timer.Stop() })
	}
	return nil
}

// budget is what a Git server or a registry may cost.
func (a *app) budget() wire.Budget {
	b := wire.Patience(a.patience)
	b.Repositories = a.repositories
	return b
}

// root returns the root command.
func (a *app) root() *cobra.Command {
	s := a.Streams
	root := &cobra.Command{
		Use:          "variform",
		Short:        "Keep one reviewed copy of a package for each cluster, in Git",
		Long:         "Variform keeps one reviewed copy of a package for each cluster, in Git.",
		SilenceUsage: true, SilenceErrors: true,
		Version:           version.Current().Version,
		PersistentPreRunE: func(*cobra.Command, []string) error { return a.start() },
	}
	if plugin, _, _ := strings.Cut(filepath.Base(s.Name), "."); plugin == "kubectl-variform" {
		root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl variform"}
	}
	root.SetIn(s.In)
	root.SetOut(s.Out)
	root.SetErr(s.Err)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return fmt.Errorf("%w: %s", err, unknownFlag(c, err))
	})
	flags := root.PersistentFlags()
	flags.BoolVarP(&a.quiet, "quiet", "q", false, "print no progress and no notes")
	flags.BoolVarP(&a.verbose, "verbose", "v", false, "print more on stderr")
	flags.DurationVar(&a.timeout, "timeout", 0, "end the run after this time (default: no limit)")
	flags.IntVar(&a.repositories, "repository-concurrency", wire.Repositories, "number of Git repositories to read and write at once")
	flags.DurationVar(&a.patience, "server-timeout", 30*time.Second, "give up on a server that sends nothing for this long; twice as long before an answer begins, six times for the answer to a push")
	flags.StringVar(&a.gitCredentials, "git-credentials", os.Getenv("VARIFORM_GIT_CREDENTIALS"), "file with logins of Git servers, one https://USER:PASSWORD@HOST/PATH per line, for machines without Git (default: ask Git's credential helpers)")
	_ = root.MarkPersistentFlagFilename("git-credentials")
	root.AddCommand(
		newPlan(a), newApply(a), newDiff(a), newReview(a),
		newPropose(a), newApprove(a), newReject(a), newStatus(a), newReport(a), newRecord(a), newEdits(a), newBlame(a), newImpact(a), newHold(a), newDiscard(a), newRevert(a), newRollout(a),
		newResolve(a), newWhy(a), newWhyNot(a), newExplain(a), newGraph(a), newOutdated(a), newInit(a), newImport(a), newCreate(a), newSet(a), newCatalog(a),
		newRender(a), newCheck(a), newPin(a), newPush(a), newDemo(a), newVersion(a), newContainerHelper(a), newFunctionWorker(a),
	)
	a.completeNames(root)
	a.addTerminal(root)
	addHelp(a, root)
	return root
}

// outputs lists the formats of -o.
var outputs = []string{"table", "wide", "json", "yaml", "name"}

// addOutput adds -o with the outputs, and more formats where a command has them.
func (a *app) addOutput(c *cobra.Command, more ...string) {
	a.addFormats(c, outputs[0], slices.Concat(outputs, more))
}

// addFormats adds -o with these formats.
func (a *app) addFormats(c *cobra.Command, usual string, formats []string) {
	c.Flags().StringVarP(&a.output, "output", "o", usual, "output format: "+strings.Join(formats, ", "))
	_ = c.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
	inner := c.PreRunE
	c.PreRunE = func(c *cobra.Command, args []string) error {
		if !c.Flags().Changed("output") { // the variable is all commands' own
			a.output = usual
		}
		if !slices.Contains(formats, a.output) {
			return fmt.Errorf("--output %q: choose one of %s", a.output, strings.Join(formats, ", "))
		}
		if inner != nil {
			return inner(c, args)
		}
		return nil
	}
}

func (a *app) note(format string, args ...any) {
	if !a.quiet {
		a.fail(format, args...)
	}
}

// fail writes to stderr what went wrong. No line begins with text of packages or servers.
func (a *app) fail(format string, args ...any) {
	a.tell(strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", "\n  ") + "\n")
}

// tell writes lines to stderr. Text of packages and servers in them steers neither the
// terminal nor a CI system.
func (s Streams) tell(lines string) {
	_, _ = io.WriteString(s.Err, boundary.Log(review.Visible(lines))) // there is nobody left to tell
}

func newVersion(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "version", Short: "print the version, commit, Go version and platform", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			v := version.Current()
			if a.output != "table" {
				return encodeAs(a.Out, a.output, "Version", v)
			}
			w := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
			for _, line := range [][2]string{{"variform", v.Version}, {"commit", cmp.Or(v.Commit, "not recorded")}, {"go", v.Go}, {"platform", v.Platform}} {
				_, _ = fmt.Fprintf(w, "%s\t%s\n", line[0], line[1])
			}
			return w.Flush()
		},
	}
	a.addFormats(c, "table", []string{"table", "json", "yaml"})
	return c
}

// Commands is the command line as documents list it.
func Commands() *cobra.Command { return (&app{helpAll: true}).root() }

// noNames refuses arguments with a hint at what was probably meant.
func noNames(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if info, err := os.Stat(args[0]); err == nil && info.IsDir() {
		return fmt.Errorf("%s takes no arguments: for the management directory write %q", c.CommandPath(), c.CommandPath()+" -f "+args[0])
	}
	if c.Flags().Lookup("only") == nil {
		return fmt.Errorf("%s takes no arguments, not %q: see %q", c.CommandPath(), args[0], c.CommandPath()+" --help")
	}
	return fmt.Errorf("%s takes no arguments, not %q: to restrict the run write %q", c.CommandPath(), args[0], c.CommandPath()+" --only "+args[0])
}
