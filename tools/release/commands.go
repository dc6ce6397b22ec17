package release

//go:generate go run ./mkcommands -out ../../docs/commands.md

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/variform/variform/internal/cli"
)

// CommandsPage is the page of every command with its flags, as --help has them.
func CommandsPage() ([]byte, error) {
	if err := plainDefaults(); err != nil {
		return nil, err
	}
	root := cli.Commands()
	root.InitDefaultCompletionCmd()
	var b bytes.Buffer
	b.WriteString("# Commands\n\nWhat `variform COMMAND --help` prints, on one page; a release has the same as man pages. Generated: `go generate ./tools/release`.\n" +
		"Exit codes are in the [reference](reference.md#exit-codes).\n\n## Flags of all commands\n\n")
	flagTable(&b, root.PersistentFlags())
	for _, c := range root.Commands() {
		commandSection(&b, c)
	}
	return b.Bytes(), nil
}

func commandSection(b *bytes.Buffer, c *cobra.Command) {
	if c.Hidden || c.Name() == "help" || c.Parent().Name() == "completion" {
		return
	}
	c.InitDefaultHelpFlag()
	fmt.Fprintf(b, "\n## %s\n\n%s.\n\n```text\n%s\n```\n", c.CommandPath(), c.Short, c.UseLine())
	if c.Long != "" {
		fmt.Fprintf(b, "\n```text\n%s\n```\n", strings.TrimSpace(c.Long))
	}
	if c.Example != "" {
		fmt.Fprintf(b, "\n```text\n%s\n```\n", strings.TrimRight(c.Example, "\n"))
	}
	if c.LocalNonPersistentFlags().HasAvailableFlags() {
		b.WriteString("\n")
		flagTable(b, c.LocalNonPersistentFlags())
	}
	for _, sub := range c.Commands() {
		commandSection(b, sub)
	}
}

func flagTable(b *bytes.Buffer, flags *pflag.FlagSet) {
	b.WriteString("| flag | meaning | default |\n|---|---|---|\n")
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		kind, usage := pflag.UnquoteUsage(f)
		name := "`--" + f.Name
		if f.Shorthand != "" {
			name = "`-" + f.Shorthand + "`, " + name
		}
		given := ""
		if f.DefValue != "" && f.DefValue != "[]" && f.DefValue != "false" && f.DefValue != "0s" {
			given = "`" + f.DefValue + "`"
		}
		fmt.Fprintf(b, "| %s | %s | %s |\n", strings.TrimSuffix(name+" "+kind, " ")+"`", strings.NewReplacer("|", `\|`, "<", "&lt;", "*", `\*`).Replace(usage), given)
	})
}
