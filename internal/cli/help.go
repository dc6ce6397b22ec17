package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/variform/variform/internal/decide"
)

// groups are the commands as `variform help` lists them: what a person does first
// comes first.
var groups = []struct {
	title    string
	commands []string
}{
	{"Start", []string{"init", "import", "create", "set", "demo"}},
	{"Change", []string{"plan", "apply", "diff", "revert"}},
	{"Review", []string{"status", "review", "approve", "propose", "reject", "discard", "rollout"}},
	{"Understand", []string{"blame", "impact", "edits"}},
	{"Depend", []string{"resolve", "why", "why-not", "graph", "outdated", "explain"}},
	{"Packages", []string{"catalog", "render", "check", "push", "pin"}},
	{"Operate", []string{"hold", "record", "report", "completion", "version"}},
}

// rareFlags are shown by --help-all alone.
var rareFlags = []string{
	"accept-edits", "allow-image", "allow-kind", "cache-dir", "color", "concurrency", "container-memory", "dependencies", "draft-on-failure", "fresh-containers", "function-timeout",
	"git-credentials", "image-pull-policy", "manager", "max-refs-per-push", "max-writes", "no-pager", "no-render", "page-url", "platform", "recreate", "rehydrate",
	"repository-concurrency", "rerender", "retry", "server-timeout", "shard", "timeout", "upgrade",
}

// examples are of the commands that have none of their own.
var examples = map[string]string{
	"plan": `  variform plan -f fleet
  variform plan -f https://git.example.com/platform/fleet.git//prod@main
  variform plan -f fleet --only web-app --prune
  variform plan -f fleet -o json > plan.json
  variform plan -f fleet --exit-code`,
	"apply": `  variform apply -f fleet
  variform apply -f fleet --only c1/web
  variform apply -f fleet --prune --max-delete 12`,
	"diff": `  variform diff -f fleet c1/web
  variform diff -f fleet --against base -l env=prod
  variform diff -f fleet c1/web | git -C clusters/c1/web apply`,
	"review": `  variform review -f fleet
  variform review -f fleet --no-diff
  variform review -f fleet 3adcb560 --all-members
  variform review -f fleet -l env=prod --since 24h
  variform review -f fleet --open`,
	"approve": `  variform approve -f fleet --class 3adcb560@0b23d168
  variform approve -f fleet --class 3adcb560@0b23d168 --max 5
  variform approve -f fleet c1/web c2/web
  variform approve -f fleet --all -l env=staging
  variform approve -f fleet --main c1/web`,
	"propose": `  variform propose -f fleet c1/web
  variform propose -f fleet --all --pull-requests
  variform propose -f fleet --all --pull-requests=variant`,
	"reject": `  variform reject -f fleet c1/web`,
	"status": `  variform status -f fleet
  variform status -f fleet web-app -o wide
  variform status -f fleet -l env=prod --since 7d
  variform status -f fleet --exit-code`,
	"report": `  variform plan -f fleet -o json | variform report > comment.md
  variform report plan.json -o html > report.html`,
	"resolve": `  variform resolve -f fleet
  variform resolve -f fleet --target c1 -o yaml`,
	"why": `  variform why -f fleet cert-manager
  variform why -f fleet cert-manager '<1.14'`,
	"why-not":  `  variform why-not -f fleet cert-manager 1.16.0`,
	"explain":  `  variform explain -f fleet web-app`,
	"graph":    `  variform graph -f fleet c1 -o svg > c1.svg`,
	"outdated": `  variform outdated -f fleet`,
	"set": `  variform set web-app --version v2 -f fleet
  variform set platform/web-app --version '>=1.4 <2' -f fleet`,
	"render": `  variform render packages/web
  variform render packages/web --dry-run`,
	"check": `  variform check packages
  variform check packages --kubernetes 1.34 -o json`,
	"pin":  `  variform pin packages/web --dry-run`,
	"push": `  variform push packages/web registry.example.com/packages/web`,
	"demo": `  variform demo
  variform demo --step
  variform demo --layout --dir demo`,
}

// unknownFlag is what to do about a flag that a command does not have.
func unknownFlag(c *cobra.Command, err error) string {
	see := "see " + strconv.Quote(c.CommandPath()+" --help")
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return see
	}
	var names []string
	add := func(f *pflag.Flag) { names = append(names, "--"+f.Name) }
	c.Flags().VisitAll(add)
	c.InheritedFlags().VisitAll(add)
	return decide.Hint("--"+unknown.GetSpecifiedName(), names, see)
}

// unknownCommand is of a word in the place of a command: cobra prints help instead below
// the root, and several words to choose from.
func unknownCommand(root *cobra.Command, args []string) error {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd(args...)
	root.DisableSuggestions = true
	c, rest, _ := root.Find(args)
	if !c.HasSubCommands() || c.Runnable() {
		return nil
	}
	c.FParseErrWhitelist.UnknownFlags = true // of the command that is meant
	err := c.ParseFlags(rest)
	c.FParseErrWhitelist.UnknownFlags = false
	if err != nil || c.Flags().NArg() == 0 {
		return nil //nolint:nilerr // cobra reports it, or it is --help
	}
	word := c.Flags().Arg(0)
	if strings.HasPrefix(word, cobra.ShellCompRequestCmd) { // is added when it is run
		return nil
	}
	var names []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	return fmt.Errorf("%s has no command %q: %s", c.CommandPath(), word, decide.Hint(word, names, "see "+strconv.Quote(c.CommandPath()+" --help")))
}

const helpAllFlag = "--help-all"

// wholeHelp takes --help-all out of the arguments: it is --help with all flags.
func wholeHelp(a *app, args []string) []string {
	for i, arg := range args {
		if arg == "--" {
			break
		}
		if arg == helpAllFlag {
			a.helpAll = true
			args = slices.Clone(args)
			args[i] = "--help"
		}
	}
	return args
}

// addTemplateFuncs adds what help's templates call: to a table of the whole process, which
// commands that run at once share.
var addTemplateFuncs = sync.OnceFunc(func() {
	cobra.AddTemplateFunc("about", func(c *cobra.Command) string { return reflow(cmp.Or(c.Long, c.Short), width(c.OutOrStdout())) })
	cobra.AddTemplateFunc("flags", func(c *cobra.Command, f *pflag.FlagSet) string { return f.FlagUsagesWrapped(width(c.OutOrStdout())) })
})

// addHelp hides the rare flags, and has help fit the terminal.
func addHelp(a *app, root *cobra.Command) {
	rare := func(f *pflag.Flag) {
		if !a.helpAll && slices.Contains(rareFlags, f.Name) {
			f.Hidden = true
		}
	}
	root.PersistentFlags().VisitAll(rare)
	var hide func(*cobra.Command)
	hide = func(c *cobra.Command) {
		c.Flags().VisitAll(rare)
		if c.Example == "" && c.Parent() == root {
			c.Example = examples[c.Name()]
		}
		for _, sub := range c.Commands() {
			hide(sub)
		}
	}
	hide(root)
	addTemplateFuncs()
	root.SetHelpTemplate("{{about .}}\n\n{{.UsageString}}")
	usage := strings.NewReplacer(".LocalFlags.FlagUsages", "flags . .LocalFlags", ".InheritedFlags.FlagUsages", "flags . .InheritedFlags").Replace(root.UsageTemplate())
	if !a.helpAll {
		usage += "{{if .HasAvailableFlags}}\n" + helpAllFlag + " lists every flag.\n{{end}}"
	}
	root.SetUsageTemplate(usage)
	of := root.HelpFunc()
	root.SetHelpFunc(func(c *cobra.Command, args []string) {
		if c == root && !a.helpAll {
			printGroups(c.OutOrStdout(), root)
			return
		}
		of(c, args)
	})
}

// width is how wide help may be.
func width(out io.Writer) int {
	const narrow, wide = 80, 120
	if f, ok := out.(*os.File); ok {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil {
			return min(max(columns, narrow), wide)
		}
	}
	return narrow
}

// reflow fits the paragraphs of a text to a width. Lines that begin with a space stay
// as they are.
func reflow(text string, width int) string {
	var b strings.Builder
	column := 0
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		if line == "" || line[0] == ' ' {
			if column > 0 {
				b.WriteByte('\n')
			}
			b.WriteString(line + "\n")
			column = 0
			continue
		}
		for word := range strings.FieldsSeq(line) {
			switch n := utf8.RuneCountInString(word); {
			case column == 0:
				column = n
			case column+1+n > width:
				b.WriteByte('\n')
				column = n
			default:
				b.WriteByte(' ')
				column += 1 + n
			}
			b.WriteString(word)
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

func printGroups(w io.Writer, root *cobra.Command) {
	_, _ = fmt.Fprintf(w, "%s\n", root.Long)
	for _, g := range groups {
		title := g.title
		_, _ = fmt.Fprintln(w)
		for _, name := range g.commands {
			if c, _, err := root.Find([]string{name}); err == nil && c != root {
				if name == "completion" { // cobra's own command
					c.Short = "print the completion script for a shell"
				}
				_, _ = fmt.Fprintf(w, "%-12s %-12s %s\n", title, name, c.Short)
				title = ""
			}
		}
	}
	_, _ = fmt.Fprintf(w, "\n%s COMMAND --help explains a command; %s lists every flag.\nStart here: docs/tutorial.md\n", root.CommandPath(), helpAllFlag)
}
