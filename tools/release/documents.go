package release

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/variform/variform/internal/cli"
)

// documents are the completions and man pages of the command.
func documents(created time.Time) ([]entry, error) {
	if err := plainDefaults(); err != nil {
		return nil, err
	}
	root := cli.Commands()
	root.DisableAutoGenTag = true
	var out []entry
	for name, write := range map[string]func(io.Writer) error{
		"variform.bash": func(w io.Writer) error { return root.GenBashCompletionV2(w, true) },
		"_variform":     root.GenZshCompletion,
		"variform.fish": func(w io.Writer) error { return root.GenFishCompletion(w, true) },
		"variform.ps1":  root.GenPowerShellCompletionWithDesc,
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			return nil, fmt.Errorf("completion %s: %w", name, err)
		}
		out = append(out, entry{name: "completions/" + name, data: b.Bytes()})
	}
	pages, err := manPages(root, created)
	return append(out, pages...), err
}

// plainDefaults takes away the variables that are defaults of flags.
func plainDefaults() error {
	for _, name := range []string{"VARIFORM_FLEET", "VARIFORM_CACHE_DIR", "DEMO_DIR"} {
		if err := os.Unsetenv(name); err != nil {
			return err
		}
	}
	return nil
}

func manPages(root *cobra.Command, created time.Time) ([]entry, error) {
	dir, err := os.MkdirTemp("", "variform-man-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	date := created.UTC()
	if err := doc.GenManTree(root, &doc.GenManHeader{Section: "1", Date: &date, Source: "Variform", Manual: "Variform"}, dir); err != nil {
		return nil, fmt.Errorf("man pages: %w", err)
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var out []entry
	for _, f := range files {
		data, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			return nil, err
		}
		out = append(out, entry{name: "man/man1/" + f.Name(), data: data})
	}
	return out, nil
}
