package histories

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/variform/variform/internal/cli"
)

// TestHistoriesOnTwoMachines plays histories in which another machine applies first: with its
// own cache it comes to the same commits as the machine of the people.
func TestHistoriesOnTwoMachines(t *testing.T) {
	c := *choice
	switch {
	case c.Histories == 0 && testing.Short():
		c.Histories = 4
	case c.Histories == 0:
		c.Histories = 30
	}
	PlayBy(t, c, func(uint64) (Twin, func()) { return machine{scratch(t)}, func() {} })
}

// machine is the command with a cache and a state folder of its own.
type machine struct{ folder string }

// Apply implements Twin.
func (m machine) Apply(ctx context.Context, run Run) (bool, error) {
	args := []string{"apply", "-f", run.Fleet, "--cache-dir", filepath.Join(m.folder, "cache")}
	if len(run.Asked) > 0 { // what is settled asks no forge unless a report is asked for
		args = append(args, "-o", "json")
	}
	if run.Prune {
		args = append(args, "--prune")
	}
	if run.MaxDelete >= 0 {
		args = append(args, fmt.Sprintf("--max-delete=%d", run.MaxDelete))
	}
	return cli.Main(ctx, args, cli.Streams{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard, State: filepath.Join(m.folder, "state")}) == 0, nil
}

// Differs implements Twin: its status is the command's.
func (machine) Differs(string) string { return "" }
