package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// isTerminal reports whether a stream is a terminal with a person before it.
func isTerminal(stream any) bool {
	return os.Getenv("CI") == "" && os.Getenv("TERM") != "dumb" && onTerminal(stream)
}

// onTerminal reports whether what is written to a stream steers a terminal.
func onTerminal(stream any) bool {
	switch s := stream.(type) {
	case *os.File:
		return term.IsTerminal(int(s.Fd()))
	case *pager, heldBack:
		return true
	}
	return false
}

// colours are the values of --color.
var colours = []string{"auto", "always", "never"}

// addTerminal adds the flags of what a person sees.
func (a *app) addTerminal(root *cobra.Command) {
	root.PersistentFlags().StringVar(&a.colour, "color", colours[0], "colour headlines and diffs: auto (on a terminal, without NO_COLOR), always or never")
	root.PersistentFlags().BoolVar(&a.noPager, "no-pager", false, "do not show review, diff, explain and blame in a pager ($PAGER, less) on a terminal")
	_ = root.RegisterFlagCompletionFunc("color", cobra.FixedCompletions(colours, cobra.ShellCompDirectiveNoFileComp))
	for _, c := range root.Commands() {
		if slices.Contains([]string{"review", "diff", "explain", "blame"}, c.Name()) {
			run := c.RunE
			c.RunE = func(c *cobra.Command, args []string) error {
				return a.paged(func() error { return run(c, args) })
			}
		}
	}
}

func (a *app) checkTerminal() error {
	if !slices.Contains(colours, a.colour) {
		return fmt.Errorf("--color %q: choose one of %s", a.colour, strings.Join(colours, ", "))
	}
	return nil
}

// coloured says that what is shown is painted.
func (a *app) coloured() bool {
	return a.colour == "always" || a.colour == "auto" && os.Getenv("NO_COLOR") == "" && isTerminal(a.Out)
}

// Ways to paint a line.
const (
	bold   = "\x1b[1m"
	red    = "\x1b[31m"
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
	cyan   = "\x1b[36m"
	plain  = "\x1b[0m"
)

// paint colours the lines of a text that is safe to show, where colours are shown.
func (a *app) paint(text string, of func(line string) string) string {
	if !a.coloured() {
		return text
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		words := strings.TrimRight(line, "\n")
		if how := of(words); how != "" && words != "" {
			b.WriteString(how + words + plain + line[len(words):])
			continue
		}
		b.WriteString(line)
	}
	return b.String()
}

// diffColour is that of a line of a diff, or of what stands between diffs.
func diffColour(line string) string {
	for _, c := range []struct{ prefix, how string }{
		{"--- ", bold}, {"+++ ", bold}, {"diff ", bold}, {"# ", bold}, {"@@", cyan}, {"+", green}, {"-", red},
	} {
		if strings.HasPrefix(line, c.prefix) {
			return c.how
		}
	}
	return ""
}

// reviewColour is that of a line of a review, whose diffs are indented.
func reviewColour(line string) string {
	if diff, ok := strings.CutPrefix(line, "    "); ok {
		return diffColour(diff)
	}
	switch {
	case strings.HasPrefix(line, "! "):
		return yellow
	case strings.HasPrefix(line, "class "):
		return bold
	}
	return ""
}

// table writes rows in aligned columns, below a headline. On a terminal the last column
// is wrapped to its width.
func (a *app) table(header []string, rows [][]string) error {
	var b bytes.Buffer
	if f, ok := a.Out.(*os.File); ok && onTerminal(a.Out) {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil && columns > minColumn { // 0 where nobody set it
			rows = fitted(header, rows, columns)
		}
	}
	if err := table(&b, header, rows); err != nil {
		return err
	}
	first := len(rows) > 0
	return a.write(b.String(), func(string) string {
		if first {
			first = false
			return bold
		}
		return ""
	})
}

// minColumn is how narrow the last column of a table may become.
const minColumn = 24

// fitted wraps the last column of rows, between words, so that a table has at most that
// many columns of text.
func fitted(header []string, rows [][]string, columns int) [][]string {
	widths := map[int]int{}
	for _, r := range append([][]string{header}, rows...) {
		for i := range len(r) - 1 {
			widths[i] = max(widths[i], utf8.RuneCountInString(oneLine(r[i])))
		}
	}
	for _, width := range widths {
		columns -= width + tablePadding
	}
	out := make([][]string, len(rows))
	for i, r := range rows {
		out[i] = slices.Clone(r)
		last := &out[i][len(r)-1]
		lines := strings.Split(strings.TrimSpace(*last), "\n")
		for j, line := range lines {
			lines[j] = reflow(oneLine(line), max(columns, minColumn))
		}
		*last = strings.Join(lines, "\n")
	}
	return out
}

// pager shows what is written to it a screen at a time. It starts with the first
// write, so that a run that has nothing to show shows no pager.
type pager struct {
	out   io.Writer // the terminal
	start func(stdin io.Reader) (wait func() error, err error)

	mu   sync.Mutex
	pipe *io.PipeWriter // nil where no program shows it
	wait func() error
	said bytes.Buffer // on the same terminal
}

// Write never fails: who leaves a pager has seen enough.
func (p *pager) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.wait == nil {
		r, w := io.Pipe()
		if wait, err := p.start(r); err == nil {
			p.pipe, p.wait = w, wait
		} else {
			p.wait = func() error { return nil }
		}
	}
	if p.pipe == nil {
		return p.out.Write(text)
	}
	_, _ = p.pipe.Write(text)
	return len(text), nil
}

// close shows the end, and waits until the person has left.
func (p *pager) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pipe != nil {
		_ = p.pipe.Close()
		_ = p.wait()
		p.pipe = nil
	}
}

// pagerProgram is what shows a text a screen at a time, "" for nothing.
func pagerProgram() string {
	if named, ok := os.LookupEnv("PAGER"); ok {
		if named == "cat" {
			return ""
		}
		return named
	}
	if _, err := exec.LookPath("less"); err != nil {
		return ""
	}
	return "less"
}

// startPager runs a program as Git runs its pager: by the shell, and less such that it
// ends where all is on one screen, and shows colours.
func startPager(program string, out *os.File) func(io.Reader) (func() error, error) {
	return func(stdin io.Reader) (func() error, error) {
		cmd := exec.Command("sh", "-c", program)
		cmd.Stdout, cmd.Stderr = out, out
		cmd.Env = os.Environ()
		if _, ok := os.LookupEnv("LESS"); !ok {
			cmd.Env = append(cmd.Env, "LESS=FRX")
		}
		in, err := cmd.StdinPipe()
		if err != nil {
			return nil, err
		}
		if err := cmd.Start(); err != nil {
			return nil, err
		}
		copied := make(chan struct{})
		go func() {
			defer close(copied)
			_, _ = io.Copy(in, stdin)
			_ = in.Close()
			_, _ = io.Copy(io.Discard, stdin) // the person has left: nobody waits for the rest
		}()
		return func() error {
			<-copied
			return cmd.Wait()
		}, nil
	}
}

// paged runs what prints much, in a pager where a person sees it. What it says on the
// same terminal meanwhile comes after.
func (a *app) paged(run func() error) error {
	out, isFile := a.Out.(*os.File)
	program := pagerProgram()
	if a.noPager || program == "" || !isFile || !isTerminal(out) {
		return run()
	}
	errs, p := a.Err, &pager{out: out, start: startPager(program, out)}
	end := sync.OnceFunc(func() {
		p.close()
		_, _ = p.said.WriteTo(errs)
	})
	a.atEnd(end) // also where the run is stopped
	if a.Out = p; isTerminal(errs) {
		a.Err = heldBack{p, errs}
	}
	err := run()
	a.Out, a.Err = out, errs
	end()
	return err
}

// heldBack is what stands beside a pager on its terminal.
type heldBack struct {
	pager *pager
	to    io.Writer
}

func (h heldBack) Write(text []byte) (int, error) {
	h.pager.mu.Lock()
	defer h.pager.mu.Unlock()
	if h.pager.pipe == nil {
		return h.to.Write(text)
	}
	return h.pager.said.Write(text)
}
