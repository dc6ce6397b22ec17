package bench

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/variform/variform/test/gittest"
)

var (
	tableWanted = flag.Bool("table", false, "TestTable makes the tables, which takes half an hour")
	tablePage   = flag.String("table.page", "", "the Markdown page whose tables are to be written, between their markers; without it they are only printed")
	tableFleets = flag.String("table.fleets", "", "the fleets to be measured, a regular expression: of http/500, http/500/50ms, http/10000/over-300, http/300/over-300/50ms/elsewhere and the like, and of refs")
	tableRefs   = flag.Int("table.refs", 20_000, "how many refs the repository of many refs has")
)

// gitWrites is up to how many variants git itself writes a fleet of one repository: each
// Draft has a root tree of all of them, and for 10,000 it takes a quarter of an hour.
const gitWrites = 2000

// tabled are the fleets of the table. One in a hundred of each is edited by hand.
func tabled() (list []scenario) {
	for _, delay := range []time.Duration{0, 50 * time.Millisecond} {
		for _, n := range []int{500, 2000, 10_000} {
			list = append(list, scenario{variants: n, http: true, delay: delay, edited: 0.01})
		}
		for _, n := range []int{300, 1000} {
			list = append(list, scenario{variants: 10_000, repositories: n, http: true, delay: delay, edited: 0.01})
		}
	}
	return append(list, scenario{variants: gitWrites, edited: 0.01})
}

// TestTable makes the tables of docs/performance.md.
func TestTable(t *testing.T) {
	if !*tableWanted {
		t.Skip("-table makes them")
	}
	only, err := regexp.Compile(*tableFleets)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOMEMLIMIT", "400MiB") // what a small machine has; this process has begun without
	head := machine(t)
	var lines []measured
	for _, s := range tabled() {
		if only.MatchString(s.String()) {
			t.Run(s.String(), func(t *testing.T) { // what it leaves goes with it
				lines = append(lines, measure(t, s)...)
			})
		}
	}
	if t.Failed() {
		return
	}
	if len(lines) > 0 {
		publishTable(t, "fleets", head, fleetTable(lines))
	}
	var away []measured
	for _, s := range tabledElsewhere() {
		if only.MatchString(s.String()) {
			t.Run(s.String(), func(t *testing.T) { away = append(away, measure(t, s)...) })
		}
	}
	if t.Failed() {
		return
	}
	if len(away) > 0 {
		publishTable(t, "elsewhere", head, elsewhereTable(away))
	}
	if only.MatchString("refs") {
		publishTable(t, "refs", head, refsTable(measureRefs(t, *tableRefs)))
	}
}

// publishTable writes a table to the page, and prints it.
func publishTable(t *testing.T, name, head string, table []string) {
	t.Helper()
	text := fmt.Sprintf("%s; load average %s before, %s after.\n\n%s", head, startLoad, load(), strings.Join(table, "\n")+"\n")
	t.Logf("%s:\n%s", name, text)
	if *tablePage == "" {
		return
	}
	page, err := os.ReadFile(*tablePage)
	if err != nil {
		t.Fatal(err)
	}
	page, err = between(page, name, text)
	if err != nil {
		t.Fatalf("%s: %v", *tablePage, err)
	}
	if err := os.WriteFile(*tablePage, page, 0o644); err != nil {
		t.Fatal(err)
	}
}

// between replaces what stands between the markers of a table.
func between(page []byte, name, text string) ([]byte, error) {
	begin, end := "<!-- begin table "+name+" -->\n", "<!-- end table "+name+" -->\n"
	before, rest, ok := bytes.Cut(page, []byte(begin))
	_, after, ended := bytes.Cut(rest, []byte(end))
	if !ok || !ended {
		return nil, fmt.Errorf("it has no lines %q and %q, one after the other", strings.TrimSpace(begin), strings.TrimSpace(end))
	}
	return slices.Concat(before, []byte(begin+"\n"+text+"\n"+end), after), nil // blank lines, for Markdown
}

// startLoad is of before anything was measured.
var startLoad = load()

// load is the load average of a minute, where the system says it.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	one, _, _ := strings.Cut(string(text), " ")
	return one
}

// patience is for a server on the same cores: it is silent while it packs 10,000 root trees.
const patience = "--server-timeout=10m"

// machine says what the figures are of.
func machine(t testing.TB) string {
	t.Helper()
	cpu := "unknown processor"
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(text)) {
			if key, value, _ := strings.Cut(line, ":"); strings.TrimSpace(key) == "model name" {
				cpu = strings.TrimSpace(value)
				break
			}
		}
	}
	commit := "unknown commit"
	if out, err := exec.Command("git", "describe", "--always", "--dirty").Output(); err == nil {
		commit = strings.TrimSpace(string(out))
	}
	disk := "unknown file system"
	if out, err := exec.Command("stat", "--file-system", "--format=%T", os.TempDir()).Output(); err == nil {
		disk = "repositories on " + strings.TrimSpace(string(out))
	}
	return fmt.Sprintf("%s, %d cores, %s/%s; %s, %s; %s; commit %s; %s", cpu, runtime.NumCPU(), runtime.GOOS, runtime.GOARCH,
		runtime.Version(), gittest.Run(t, "", nil, "version"), disk, commit, time.Now().UTC().Format(time.DateOnly))
}

// measured is a line of the table.
type measured struct {
	scenario
	step      string
	child     childCost
	server    time.Duration // user and system, of the server's programs
	yardstick string
	floor     cost
	requests  float64   // a repository; of what packages go to
	away      childCost // with a server elsewhere; zero where none was measured
}

// title is what a step of a fleet's life is called in a table.
type title struct{ step, text string }

// titles are the commands of the table, in its order.
var titles = []title{
	{"first apply", "first `apply`"},
	{"again", "`apply` with nothing to do, the first time"},
	{"nothing to do", "`apply` with nothing to do"},
	{"review", "`review` of the first Drafts"},
	{"approve", "`approve --all` of them"},
	{"update", "`apply` of a new upstream revision"},
	{"review update", "`review` of that"},
	{"approve update", "`approve --all` of that"},
	{"cold again", "`apply` with nothing to do, an empty cache folder"},
}

// measure takes a fleet through its life, each command a process of its own and beside
// its yardstick.
func measure(t testing.TB, s scenario) (lines []measured) {
	t.Helper()
	w := newWorld(t, s)
	w.live(t, s, func(st step) {
		t.Helper()
		if !slices.ContainsFunc(titles, func(c title) bool { return c.step == st.name }) {
			return
		}
		line := measured{scenario: s, step: st.name}
		before := w.allRefs(t)
		var floor func() cost
		line.yardstick, floor = w.yardstick(t, s, st)
		cache := ""
		if s.elsewhere {
			cache = w.copyCache(t)
		}
		settleDisk(t)
		line.server = w.line.serving(func() cost {
			line.child = runSelf(t, append(w.args(st.command...), patience)...)
			return cost{cpu: line.child.cpu}
		}).server
		if w.line != nil {
			line.requests = float64(w.line.requests()) / float64(len(w.fleets))
		}
		if moved := !maps.Equal(before, w.allRefs(t)); moved != st.writes {
			t.Fatalf("%s, %s: refs moved: %t, want %t: the measurement is void", s, st.name, moved, st.writes)
		}
		settleDisk(t)
		line.floor = floor()
		if s.elsewhere {
			line.away = w.againElsewhere(t, cache, append(st.command, patience)...)
		}
		lines = append(lines, line)
		t.Logf("%s | %s", st.name, strings.Join(line.cells(), " | "))
	})
	return lines
}

// settleDisk has what was written before on the disk, where the system has a program for
// that: servers that make sure of what they are given wait for all of it, and a copy of
// all repositories is made just before a step. Tests that compare no times do without.
func settleDisk(b testing.TB) {
	if _, compares := b.(*testing.B); compares || *tableWanted {
		_ = exec.Command("sync").Run()
	}
}

// allRefs are the refs of all repositories, each below its repository's name.
func (w *world) allRefs(b testing.TB) map[string]string {
	b.Helper()
	all := map[string]string{}
	for _, r := range w.fleets {
		for name, hash := range r.Refs(b) {
			all[filepath.Base(r.Dir)+"/"+name] = hash
		}
	}
	return all
}

// yardstick is called before a step. What it returns is called after it, and takes what
// git needs for the same, and where there are many repositories, or more is written than git
// is asked to, what the requests of the step take.
func (w *world) yardstick(b testing.TB, s scenario, st step) (name string, floor func() cost) {
	b.Helper()
	if len(w.fleets) > 1 || st.writes && s.variants > gitWrites {
		return "the same requests", w.bare(b, s, st)
	}
	if st.writes {
		t, f, name := newTwin(b, w), (*twin).floor, "`git fast-import` and `push`"
		if strings.HasPrefix(st.name, "approve") {
			f, name = (*twin).mirror, "`git push`"
		}
		if w.line != nil {
			w.line.forget()
		}
		return name, func() cost { return f(t, b, w) }
	}
	if w.line != nil {
		w.line.forget()
	}
	switch st.name {
	case "again", "nothing to do":
		return "`git ls-remote`", func() cost {
			return w.line.serving(func() cost { return git(b, "", nil, "ls-remote", w.fleetURL) })
		}
	case "cold again":
		return "`git ls-remote` and the commits", func() cost { return w.line.serving(func() cost { return readHeads(b, w) }) }
	}
	return "`git log -p` of the Drafts", func() cost { // on the server
		tips := strings.Join(slices.Collect(maps.Values(w.drafts(b))), "\n")
		return git(b, w.fleet.Dir, []byte(tips), "log", "-p", "--no-walk", "--stdin")
	}
}

// columns are those of the table behind the command.
var columns = []string{"variants", "repositories", "round trip", "time", "yardstick", "÷", "CPU", "MB", "collecting", "server's CPU", "÷ Git's", "requests a repository"}

func (m measured) cells() []string {
	trip, requests, server, its := "a path", "none", "none", "none"
	if m.http {
		trip, requests = fmt.Sprintf("%d ms", m.delay.Milliseconds()), fmt.Sprintf("%.2g", m.requests)
		server, its = seconds(m.server), "little"
		if m.floor.server >= 100*time.Millisecond { // less is that of beginning programs
			its = ratio(m.server, m.floor.server)
		}
	}
	return []string{
		grouped(m.variants), grouped(cmp.Or(m.repositories, 1)), trip, seconds(m.child.wall), m.yardstick, ratio(m.child.wall, m.floor.wall),
		seconds(m.child.cpu), fmt.Sprint(m.child.Peak / 1e6), fmt.Sprintf("%.0f %%", 100*m.child.GC), server, its, requests,
	}
}

// grouped is 10,000 of 10000.
func grouped(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", grouped(n/1000), n%1000)
}

// seconds has two figures, and what is before the point.
func seconds(d time.Duration) string {
	switch s := d.Seconds(); {
	case s < 0.995:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case s < 9.95:
		return fmt.Sprintf("%.1f s", s)
	default:
		return fmt.Sprintf("%.0f s", s)
	}
}

func ratio(a, b time.Duration) string {
	r := float64(a) / float64(b)
	if r >= 9.95 {
		return fmt.Sprintf("%.0f", r)
	}
	return fmt.Sprintf("%.2g", r)
}

// fleetTable is the table of fleets, by command, so that those of one stand below each other.
func fleetTable(lines []measured) []string {
	return byCommand(columns, titles, lines, func(m measured) (string, []string) { return m.step, m.cells() })
}

// byCommand is a table of lines, those of one command together.
func byCommand[L any](columns []string, titles []title, lines []L, row func(L) (step string, cells []string)) []string {
	table := tableHead(columns)
	for _, c := range titles {
		for _, l := range lines {
			if step, cells := row(l); step == c.step {
				table = append(table, markdownRow(append([]string{c.text}, cells...)))
				c.text = "" // said once
			}
		}
	}
	return table
}

// tableHead aligns what is counted to the right, text to the left.
func tableHead(columns []string) []string {
	rule := []string{"---"}
	for _, c := range columns {
		if slices.Contains([]string{"yardstick", "refs are", "by"}, c) {
			rule = append(rule, "---")
		} else {
			rule = append(rule, "---:")
		}
	}
	return []string{markdownRow(append([]string{"command"}, columns...)), markdownRow(rule)}
}

func markdownRow(cells []string) string { return "| " + strings.Join(cells, " | ") + " |" }

// TestTableIsWhole makes the table of small fleets: each command measures something, and
// each line has all columns.
func TestTableIsWhole(t *testing.T) {
	fleets := []scenario{
		{variants: 6, repositories: 3, http: true, edited: 0.5},
		{variants: 2, http: true, delay: time.Millisecond, edited: 0.5, files: 8, fileBytes: 2000},
		{variants: 2, edited: 0.5},
	}
	var lines []measured
	for _, s := range fleets {
		lines = append(lines, measure(t, s)...)
	}
	for _, m := range lines {
		if m.child.wall <= 0 || m.child.cpu <= 0 || m.child.Peak <= 0 || m.floor.wall <= 0 || m.http && m.requests < 1 {
			t.Errorf("%s, %s: something was not measured: %+v", m.scenario, m.step, m)
		}
	}
	wholeTable(t, fleetTable(lines), columns, len(titles)*len(fleets))
	if head := machine(t); strings.Contains(head, "unknown") && runtime.GOOS == "linux" {
		t.Errorf("the head lacks something: %s", head)
	}
}

// wholeTable fails unless a table has so many lines and each of them all columns.
func wholeTable(t *testing.T, table, columns []string, lines int) {
	t.Helper()
	if len(table) != 2+lines {
		t.Errorf("the table has %d lines below its head, want %d:\n%s", len(table)-2, lines, strings.Join(table, "\n"))
	}
	for i, line := range table {
		cells := strings.Split(strings.Trim(line, "|"), "|")
		if len(cells) != 1+len(columns) || slices.ContainsFunc(cells[1:], func(c string) bool { return strings.TrimSpace(c) == "" }) {
			t.Errorf("line %d lacks a column: %s", i, line)
		}
	}
}

// The page is made by the command: what stands around its tables stays.
func TestTableGoesToItsPage(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "performance.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"fleets", "elsewhere", "refs"} {
		once, err := between(page, name, "new\n")
		if err != nil {
			t.Fatal(err)
		}
		twice, err := between(once, name, "new\n")
		if err != nil || !bytes.Equal(once, twice) || bytes.Equal(once, page) {
			t.Errorf("%s: the page is another one when it is written again: %v", name, err)
		}
		for _, line := range []string{"# Performance\n", "## Dependencies of a fleet\n"} {
			if bytes.Count(once, []byte(line)) != 1 {
				t.Errorf("%s: the page has lost %q", name, line)
			}
		}
	}
	if _, err := between([]byte("# Nothing\n"), "fleets", ""); err == nil {
		t.Error("a page without markers was written")
	}
}
