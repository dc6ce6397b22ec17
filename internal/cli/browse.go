package cli

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
)

// browse writes what is shown to a temporary file and opens it in the browser. Where
// there is none, the file's path is all.
func (a *app) browse(ctx context.Context, show func() error) error {
	f, err := os.CreateTemp("", "variform-*.html")
	if err != nil {
		return fmt.Errorf("writing the page: %w", err)
	}
	out := a.Out
	a.Out = f
	err = show()
	a.Out = out
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return fmt.Errorf("writing the page %s: %w", f.Name(), err)
	}
	if _, err := fmt.Fprintln(a.Out, f.Name()); err != nil {
		return err
	}
	program := map[string]string{"darwin": "open", "windows": "explorer"}[runtime.GOOS]
	if program == "" {
		program = "xdg-open"
	}
	if err := exec.CommandContext(ctx, program, f.Name()).Run(); err != nil {
		a.note("note: no browser could be opened (%s: %v): open the file yourself", program, err)
	}
	return nil
}
