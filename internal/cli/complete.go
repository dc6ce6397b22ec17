package cli

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/variform/variform/internal/fleet"
	"github.com/variform/variform/internal/source"
)

// named are the commands whose arguments are names of variants.
var named = []string{"diff", "status", "review", "propose", "approve", "reject", "edits", "hold", "discard", "revert"}

// completeNames completes names of variants, of sets, Repositories and packages where
// commands take them.
func (a *app) completeNames(root *cobra.Command) {
	for _, c := range root.Commands() {
		if slices.Contains(named, c.Name()) && c.ValidArgsFunction == nil {
			c.ValidArgsFunction = a.names
		}
		if c.Flags().Lookup("only") != nil {
			_ = c.RegisterFlagCompletionFunc("only", a.names)
		}
	}
}

// names are those that begin with a prefix, by the files of the management directory
// alone: a shell waits for no server.
func (a *app) names(c *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	if c.Name() == "revert" && len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var found []string
	for _, n := range a.localNames(c.Context()) {
		if strings.HasPrefix(n, prefix) && !slices.Contains(args, n) {
			found = append(found, n)
		}
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}

// localNames is empty where the fleet cannot be read.
func (a *app) localNames(ctx context.Context) []string {
	if a.fleet.here() != nil {
		return nil
	}
	if info, err := os.Stat(a.fleet.location); err != nil || !info.IsDir() {
		return nil
	}
	files, err := source.Open(ctx, filepath.Clean(a.fleet.location), source.Options{Manager: a.fleet.manager})
	if err != nil {
		return nil
	}
	read, err := files.Fleet(ctx)
	if err != nil {
		return nil
	}
	wanted, err := fleet.Wanted(read)
	if err != nil {
		return nil
	}
	return wanted.Names()
}
