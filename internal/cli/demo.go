package cli

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/variform/variform/internal/demo"
)

func newDemo(a *app) *cobra.Command {
	var dir string
	var layOut, large bool
	c := &cobra.Command{
		Use:   "demo",
		Short: "Walk through the main job on example fleets of local Git repositories",
		Long: `Demo makes a catalogue, 12 cluster repositories and a management repository in a
temporary folder (or --dir), and runs plan, apply, review, an approval and an
update over them; then the same for a second fleet, whose packages need others.
With --large it walks through one update of 300 clusters instead, some of which
were fixed, set back, emptied or held by people since the last.
With --layout it stops when the repositories are there, for you to go on by hand.
It needs Git, and no network, container engine or cluster.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if dir == "" {
				var err error
				if dir, err = os.MkdirTemp("", "variform-demo-"); err != nil {
					return fmt.Errorf("making a folder for the demo: %w", err)
				}
			}
			return demo.Run(c.Context(), demo.Config{
				Dir: dir, Out: a.Out, LayOut: layOut, Large: large,
				Variform: func(ctx context.Context, out io.Writer, args ...string) int {
					return Main(ctx, args, Streams{In: a.In, Out: out, Err: a.Err})
				},
			})
		},
	}
	c.Flags().StringVar(&dir, "dir", os.Getenv("DEMO_DIR"), "empty or new folder to use (default: a temporary one)")
	c.Flags().BoolVar(&layOut, "layout", false, "only lay out the repositories")
	c.Flags().BoolVar(&large, "large", false, "a fleet of 300 clusters, and what people did there")
	return c
}
