package cli

import (
	"bytes"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func helpOf(t *testing.T, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	if status := Main(t.Context(), args, Streams{Out: &out, Err: &errs, Name: "variform"}); status != 0 || errs.Len() > 0 {
		t.Fatalf("%v: status %d: %s", args, status, errs.String())
	}
	return out.String()
}

// Help lists each command once, in a group.
func TestHelpHasEveryCommand(t *testing.T) {
	help := helpOf(t, "help")
	for _, c := range Commands().Commands() {
		if c.Hidden || c.Name() == "help" {
			continue
		}
		n := 0
		for line := range strings.Lines(help) {
			if strings.HasSuffix(line, " "+c.Short+"\n") && slices.Contains(strings.Fields(line), c.Name()) {
				n++
			}
		}
		if n != 1 {
			t.Errorf("help lists %s %d times", c.Name(), n)
		}
	}
}

// Every help text fits 80 columns, but for words that cannot be broken.
func TestHelpFits(t *testing.T) {
	var of func(c *cobra.Command, path ...string)
	of = func(c *cobra.Command, path ...string) {
		for _, flag := range []string{"--help", "--help-all"} {
			for line := range strings.Lines(helpOf(t, append(slices.Clone(path), flag)...)) {
				if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 96 || n > 80 && !strings.Contains(line, "default") {
					t.Errorf("%v %s: %d columns: %s", path, flag, n, line)
				}
			}
		}
		for _, sub := range c.Commands() {
			if !sub.Hidden && sub.Name() != "help" && sub.Name() != "completion" {
				of(sub, append(slices.Clone(path), sub.Name())...)
			}
		}
	}
	of(Commands())
}

// A rare flag is a flag of a command, and --help-all alone lists it.
func TestRareFlags(t *testing.T) {
	known := map[string]bool{}
	root := Commands()
	root.PersistentFlags().VisitAll(func(f *pflag.Flag) { known[f.Name] = true })
	for _, c := range root.Commands() {
		c.Flags().VisitAll(func(f *pflag.Flag) { known[f.Name] = true })
	}
	for _, name := range rareFlags {
		if !known[name] {
			t.Errorf("no command has --%s", name)
		}
	}
	if help := helpOf(t, "apply", "--help"); strings.Contains(help, "--shard") || !strings.Contains(help, "--prune") || !strings.Contains(help, helpAllFlag) {
		t.Errorf("apply --help:\n%s", help)
	}
	if help := helpOf(t, "apply", "--help-all"); !strings.Contains(help, "--shard I/N") || strings.Contains(help, helpAllFlag+" lists") {
		t.Errorf("apply --help-all:\n%s", help)
	}
}

func TestReflow(t *testing.T) {
	text := "One two three\nfour.\n\n  as it   is\nFive six."
	want := "One two\nthree\nfour.\n\n  as it   is\nFive six."
	if diff := cmp.Diff(want, reflow(text, 9)); diff != "" {
		t.Errorf("reflow (-want +got):\n%s", diff)
	}
}

// Commands of one process may print help at once.
func TestHelpAtOnce(t *testing.T) {
	want := helpOf(t, "apply", "--help")
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			if got := helpOf(t, "apply", "--help"); got != want {
				t.Errorf("got\n%s", got)
			}
		})
	}
	all.Wait()
}

// The flags of every example are flags of its command.
func TestExamplesParse(t *testing.T) {
	n := 0
	var of func(c *cobra.Command)
	of = func(c *cobra.Command) {
		for line := range strings.Lines(strings.ReplaceAll(c.Example, "\\\n", " ")) {
			line, _, _ = strings.Cut(line, " | ")
			line, _, _ = strings.Cut(line, " > ")
			args := strings.Fields(strings.ReplaceAll(line, "'", ""))
			if len(args) == 0 || args[0] != "variform" {
				continue
			}
			n++
			found, rest, err := Commands().Find(args[1:])
			if err == nil {
				err = found.ParseFlags(rest)
			}
			if err != nil || found.CommandPath() == "variform" {
				t.Errorf("%s: %q: %v", c.CommandPath(), line, err)
			}
		}
		for _, sub := range c.Commands() {
			of(sub)
		}
	}
	of(Commands())
	if n < 60 {
		t.Errorf("%d examples", n)
	}
}
