package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/variform/variform/internal/demo"
	"github.com/variform/variform/internal/gitrepo"
)

func newDemo(a *app) *cobra.Command {
	var dir string
	var layOut, large, step bool
	c := &cobra.Command{
		Use:   "demo",
		Short: "see the main job on local repositories",
		Long: `Demo creates a catalog, 12 cluster repositories and a management repository in a
temporary folder (or --dir). It runs plan, apply, review, an approval and an update,
while people commit a hotfix, squash a merge and approve a part. Then it does the same
for a second fleet, whose packages need other packages.

--step waits for a key after each step. --large shows one update of 300 clusters, after
people fixed, reverted, emptied or held some of them. --layout stops after it created the
repositories, so that you can continue by hand. Demo needs Git; it needs no network,
container engine or cluster.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if dir == "" {
				var err error
				if dir, err = os.MkdirTemp("", "variform-demo-"); err != nil {
					return fmt.Errorf("making a folder for the demo: %w", err)
				}
			}
			if err := nameApprover(c.Context()); err != nil {
				return err
			}
			var wait func() error
			if step {
				wait = func() error { return a.waitForKey(c.Context()) }
			}
			return demo.Run(c.Context(), demo.Config{
				Dir: dir, Out: a.Out, LayOut: layOut, Large: large, Wait: wait,
				Variform: func(ctx context.Context, out, errs io.Writer, args ...string) int {
					return Main(ctx, args, Streams{In: a.In, Out: out, Err: errs, State: a.State})
				},
			})
		},
	}
	c.Flags().StringVar(&dir, "dir", os.Getenv("DEMO_DIR"), "empty or new folder (default: a temporary one)")
	c.Flags().BoolVar(&layOut, "layout", false, "only create the repositories")
	c.Flags().BoolVar(&large, "large", false, "use a fleet of 300 clusters")
	c.Flags().BoolVar(&step, "step", false, "wait for a key after each step")
	return c
}

// nameApprover gives the one who approves in the demo a name where git knows none: a
// first look asks for no configuration.
func nameApprover(ctx context.Context) error {
	if _, err := gitrepo.UserSignature(ctx, time.Time{}); err == nil {
		return nil
	}
	for _, role := range []string{"AUTHOR", "COMMITTER"} {
		if err := errors.Join(os.Setenv("GIT_"+role+"_NAME", "You"), os.Setenv("GIT_"+role+"_EMAIL", "you@example.com")); err != nil {
			return err
		}
	}
	return nil
}

// waitForKey returns when a key is pressed, on a terminal any, else when a line ends or
// the input does.
func (a *app) waitForKey(ctx context.Context) error {
	a.fail("-- a key goes on, Ctrl-C ends")
	f, ok := a.In.(*os.File)
	terminal := ok && term.IsTerminal(int(f.Fd()))
	if terminal {
		old, err := term.MakeRaw(int(f.Fd()))
		if err != nil {
			return err
		}
		defer func() { _ = term.Restore(int(f.Fd()), old) }()
	}
	key := make([]byte, 1)
	pressed := make(chan error, 1)
	go func() {
		for {
			_, err := a.In.Read(key)
			if err != nil || terminal || key[0] == '\n' {
				pressed <- err
				return
			}
		}
	}()
	const interrupt = 3
	select {
	case <-ctx.Done():
		return ctx.Err()
	case err := <-pressed:
		switch {
		case terminal && key[0] == interrupt:
			return context.Canceled
		case errors.Is(err, io.EOF):
			return nil
		}
		return err
	}
}
