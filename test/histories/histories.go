package histories

import (
	"context"
	_ "embed"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/yaml"

	"github.com/variform/variform/internal/cli"
	"github.com/variform/variform/test/gittest"
)

// Choice says which histories are played.
type Choice struct {
	// Histories is how many, 0 for those of every day; Steps is how many steps each has.
	Histories, Steps int
	// Seed is that of the first; the others follow.
	Seed uint64
	// First stops at the first failure, and shows it as it is.
	First bool
	// Survey counts violations that are not on the list by their shapes, instead of failing.
	Survey bool
	// Script is a file with a history to play, as a failure prints it.
	Script string

	prefix string // of its flags
}

// Flags are a Choice by flags, whose names have a prefix.
func Flags(prefix string) *Choice {
	c := &Choice{prefix: prefix}
	flag.IntVar(&c.Histories, prefix+"histories", 0, "how many histories (0: those of every day)")
	flag.IntVar(&c.Steps, prefix+"steps", 15, "steps of a history")
	flag.Uint64Var(&c.Seed, prefix+"seed", 1, "seed of the first history; the others follow")
	flag.BoolVar(&c.First, prefix+"first", false, "stop at the first failure, and show it as it is")
	flag.BoolVar(&c.Survey, prefix+"survey", false, "count violations that are not on the list by their shapes, instead of failing")
	flag.StringVar(&c.Script, prefix+"script", "", "`file` with a history to play, as a failure prints it")
	return c
}

// history is a world and what happens to it.
type history struct {
	seed          uint64
	targets, pkgs int
	// requests are the forge and the mode of requests, "" for none.
	requests string
	steps    []operation
}

// generate makes the history of a seed.
func generate(seed uint64, steps int, operations []kindOfOperation) history {
	r := rand.New(rand.NewPCG(seed, 5))
	total := 0
	for _, o := range operations {
		total += o.weight
	}
	h := history{seed: seed, targets: 1 + r.IntN(3), pkgs: 1 + r.IntN(2), steps: []operation{{name: "apply"}}}
	for range steps - 1 {
		n := r.IntN(total)
		for _, o := range operations {
			if n -= o.weight; n < 0 {
				h.steps = append(h.steps, operation{o.name, r.IntN(100), r.IntN(100), r.IntN(100)})
				break
			}
		}
	}
	return h
}

// String is the history as -script reads it.
func (h history) String() string {
	lines := []string{fmt.Sprintf("world %d %d %d", h.targets, h.pkgs, h.seed)}
	if h.requests != "" {
		lines = append(lines, "requests "+h.requests)
	}
	for _, o := range h.steps {
		lines = append(lines, o.String())
	}
	return strings.Join(lines, "\n") + "\n"
}

func parseHistory(text string) (history, error) {
	var h history
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if _, err := fmt.Sscanf(line, "world %d %d %d", &h.targets, &h.pkgs, &h.seed); err == nil {
			continue
		}
		if requests, ok := strings.CutPrefix(line, "requests "); ok {
			h.requests = requests
			continue
		}
		var o operation
		if _, err := fmt.Sscanf(line, "%s %d %d %d", &o.name, &o.a, &o.b, &o.c); err != nil {
			return h, fmt.Errorf("%q is no step: %w", line, err)
		}
		h.steps = append(h.steps, o)
	}
	return h, nil
}

// outcome is what playing a history found.
type outcome struct {
	known   map[string]int // violations on the list, by their entry
	failure *violation     // the first that is not on it
	step    int            // at which; the last is the end's checks
}

// player plays histories.
type player struct {
	Choice
	known []*knownViolation
	// shapes, where set, is told of violations that are not on the list, and none is a failure.
	shapes func(h history, v violation)
	// whole has entries of the list that are not met fail.
	whole bool
	forge func(seed uint64) (context.Context, forge)
	// generate makes the history of a seed.
	generate func(seed uint64, steps int) history
	dir      func() string
	// twin, where set, begins the twin of a history.
	twin  func(seed uint64) (twin Twin, end func())
	later string // the program of a next version, "" for none
	log   func(format string, args ...any)
}

// play plays one history in a world of its own.
func (p *player) play(h history) (out outcome) {
	out.known = map[string]int{}
	ctx, f := p.forge(h.seed)
	if h.requests != "" {
		ctx, f = withRequests(ctx, f, h.requests)
	}
	dir := p.dir()
	defer func() { _ = os.RemoveAll(dir) }()
	defer func() {
		if v := recover(); v != nil {
			out.failure = &violation{"nothing panics", place{}, fmt.Sprintf("%v\n%s", v, debug.Stack())}
		}
	}()
	w := newWorld(ctx, f, dir, h.targets, h.pkgs)
	w.later = p.later
	if p.twin != nil {
		twin, end := p.twin(h.seed)
		defer end()
		w.twin = twin
		if h.seed%3 == 0 {
			w.management = f.make("management")
		}
	}
	if p.log != nil {
		w.log = p.log
	}
	for i, o := range h.steps {
		out.step = i
		w.takeTurns(o)
		w.log("---- %d: %s%s", i+1, o, map[bool]string{true: ", by the next version"}[w.byLater])
		w.do(o)
		if out.failure = p.settle(h, w, out.known); out.failure != nil {
			return out
		}
	}
	out.step = len(h.steps)
	w.log("---- the end")
	w.byLater = false
	w.finish()
	out.failure = p.settle(h, w, out.known)
	return out
}

// settle takes known violations off what a step found: what happens to their
// packages from now on is no news.
func (p *player) settle(h history, w *world, known map[string]int) *violation {
	found := w.found
	w.found = nil
	for i, v := range found {
		if w.tainted[v.place] {
			continue
		}
		k := slices.IndexFunc(p.known, func(k *knownViolation) bool { return k.matches(v) })
		switch {
		case k < 0 && p.shapes == nil:
			return &found[i]
		case k < 0:
			p.shapes(h, v)
			w.tainted[v.place] = v.place != place{}
			continue
		}
		known[p.known[k].ID]++
		w.log("known: %s: %s", p.known[k].ID, v)
		if v.place != (place{}) {
			w.tainted[v.place] = true
		}
	}
	return nil
}

// knownViolation is an entry of testdata/known.yaml: a promise that is not kept
// today. The list only shrinks.
type knownViolation struct {
	ID      string // in words
	Promise string
	Text    string // a regular expression, of the whole text
	Reason  string

	pattern *regexp.Regexp
}

func (k *knownViolation) matches(v violation) bool {
	return k.Promise == v.promise && k.pattern.MatchString(v.text)
}

//go:embed testdata/known.yaml
var knownYAML []byte

func readKnown(t testing.TB) []*knownViolation {
	t.Helper()
	var out []*knownViolation
	if err := yaml.Unmarshal(knownYAML, &out); err != nil {
		t.Fatal(err)
	}
	for _, k := range out {
		if k.ID == "" || k.Promise == "" || k.Reason == "" {
			t.Fatalf("known.yaml: %+v says too little", *k)
		}
		k.pattern = regexp.MustCompile("^(?s:" + k.Text + ")$")
	}
	return out
}

// renders runs render on a folder.
func (w *world) renders(dir string) result {
	var out, errs strings.Builder
	status := cli.Main(w.ctx, []string{"render", dir}, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs})
	return result{args: []string{"render"}, status: status, out: out.String(), err: errs.String()}
}

// inMemory is a server as over HTTP; for every fourth history, as over ssh.
func inMemory(seed uint64) (context.Context, forge) {
	m := memoryForge{gittest.NewMemory()}
	m.TipsOnly = seed%4 == 0
	return withServer(context.Background(), m.Memory), m
}

// scratch is a folder for a test: in memory where the machine has such a place,
// for the cache writes many small files.
func scratch(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "histories-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// newPlayer plays against servers in memory, in folders below one.
func newPlayer(t testing.TB, c Choice) *player {
	base := scratch(t)
	plain := func(seed uint64, steps int) history { return generate(seed, steps, operations) }
	return &player{Choice: c, known: readKnown(t), forge: inMemory, generate: plain, dir: func() string { return must(os.MkdirTemp(base, "")) }}
}

// run plays the histories of its choice.
func (p *player) run(t *testing.T) {
	t.Helper()
	if p.Script != "" {
		p.playScript(t, p.Script)
		return
	}
	p.playAll(t)
}

// playScript plays one history, and says all that happens.
func (p *player) playScript(t *testing.T, file string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	h, err := parseHistory(string(data))
	if err != nil {
		t.Fatal(err)
	}
	p.log = t.Logf
	if out := p.play(h); out.failure != nil {
		t.Errorf("step %d: %s", out.step+1, out.failure)
	}
}

// playAll plays many histories; the first of each shape of failure is made
// small and shown. A full run also says which entries of the list are not met.
func (p *player) playAll(t *testing.T) {
	t.Helper()
	var mu sync.Mutex
	known, failed, first := map[string]int{}, map[string]history{}, map[string]*violation{}
	shapes := map[string][]uint64{}
	if p.Survey {
		p.shapes = func(h history, v violation) {
			mu.Lock()
			defer mu.Unlock()
			shapes[v.shape()] = append(shapes[v.shape()], h.seed)
		}
	}
	played := 0
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	if p.twin != nil {
		g.SetLimit(1)
	}
	for i := range p.Histories {
		g.Go(func() error {
			mu.Lock()
			enough := p.First && len(failed) > 0
			mu.Unlock()
			if enough {
				return nil
			}
			h := p.generate(p.Seed+uint64(i), p.Steps)
			out := p.play(h)
			mu.Lock()
			defer mu.Unlock()
			for id, k := range out.known {
				known[id] += k
			}
			if f := out.failure; f != nil {
				if old, ok := failed[f.shape()]; !ok || h.seed < old.seed {
					failed[f.shape()], first[f.shape()] = h, f
				}
				t.Logf("seed %d fails: it is made smaller at the end", h.seed)
			}
			if played++; played%100 == 0 { // a thousand take an hour
				t.Logf("%d of %d played", played, p.Histories)
			}
			return nil
		})
	}
	_ = g.Wait()
	if p.Survey {
		for shape, seeds := range shapes {
			t.Logf("%4d × %s (seeds %v)", len(seeds), shape, seeds[:min(3, len(seeds))])
		}
		return
	}
	for _, k := range p.known {
		if known[k.ID] > 0 {
			t.Logf("known: %4d × %s", known[k.ID], k.ID)
		}
		if p.whole && known[k.ID] == 0 {
			t.Errorf("known.yaml: %q was not met in %d histories: take it off the list", k.ID, p.Histories)
		}
	}
	for shape, h := range failed {
		small := h
		if !p.First {
			small = p.shrink(h, shape)
		}
		t.Errorf("seed %d: %s\nto see it happen, save this and run this package's tests with -run '%s$' -v -%sscript FILE\n%s", h.seed, first[shape], t.Name(), p.prefix, small)
	}
}

// shrink leaves out steps as long as the same failure comes.
func (p *player) shrink(h history, shape string) history {
	fails := func(h history) bool {
		out := p.play(h)
		return out.failure != nil && out.failure.shape() == shape
	}
	out := p.play(h)
	if short := h; out.step+1 < len(h.steps) {
		short.steps = h.steps[:out.step+1]
		if fails(short) {
			h = short
		}
	}
	for size := len(h.steps) / 2; size > 0; size /= 2 {
		for i := 0; i+size <= len(h.steps); {
			less := h
			less.steps = slices.Concat(h.steps[:i], h.steps[i+size:])
			if fails(less) {
				h = less
			} else {
				i += size
			}
		}
	}
	for h.targets > 1 {
		less := h
		less.targets--
		if !fails(less) {
			break
		}
		h = less
	}
	if less := h; h.pkgs > 1 {
		less.pkgs--
		if fails(less) {
			h = less
		}
	}
	return h
}
