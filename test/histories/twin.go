package histories

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/test/gittest"
)

// Twin is another way than the command's to bring the fleet of a history up to date.
type Twin interface {
	// Apply does what `variform apply` does, and says whether all went well, as the
	// command's exit status would. An error is of the whole.
	Apply(ctx context.Context, run Run) (ok bool, err error)
	// Differs says what the twin's status of sets and variants has other than the
	// command's, which is JSON; "" for nothing.
	Differs(status string) string
}

// Run is what a twin is asked to do.
type Run struct {
	// Fleet is the management directory: a folder, or the address of a repository that has
	// it on its branch main.
	Fleet string
	Prune bool
	// MaxDelete is how many deletions there may be; -1 is for who says nothing.
	MaxDelete int
	// Moved are the addresses of repositories that moved since the twin's last run began,
	// its own pushes among them: forges tell of every push. Asked are those whose pull
	// requests moved since its last whole run.
	Moved, Asked []string
}

// PlayBy plays histories whose fleets a twin brings up to date. What it does is judged as
// what the command does is; and the command, which then does the same on the repositories
// as they were, has to come to the same refs, commit for commit, the same pull requests and
// the same status. A run that is raced or killed is the twin's alone. In every third history
// the management directory is in Git, and two of five have pull requests. begin makes the
// twin of a history's seed, and end ends it; there is one at a time.
func PlayBy(t *testing.T, c Choice, begin func(seed uint64) (twin Twin, end func())) {
	t.Helper()
	gittest.RequireGit(t)
	t.Cleanup(prepare())
	p := newPlayer(t, c)
	p.twin = begin
	p.generate = func(seed uint64, steps int) history {
		if seed%5%2 == 1 {
			return generateRequests(seed, steps)
		}
		return generate(seed, steps, operations)
	}
	p.run(t)
}

// twinned is what a world knows of its twin.
type twinned struct {
	twin       Twin
	management *repository                // nil where it is a folder
	managed    bool                       // it has moved since the twin's last run
	busy       bool                       // a run of the twin goes on
	disturbed  bool                       // something happens at a request of a run
	stood      map[string]map[string]hash // before the last run of the twin
	asked      map[string]string          // pull requests before its last whole run
	// machine is whose cache a command has: people share one, "", and the twin's likeness has
	// its own, for what is known of main depends on what was read before.
	machine string
}

// asTwin reads the arguments of a command that a twin can do.
func asTwin(args []string) (run Run, ok bool) {
	run.MaxDelete = -1
	for _, a := range args {
		switch a {
		case "apply", "-o", "json":
		case "--prune":
			run.Prune = true
		case "--max-delete=99":
			run.MaxDelete = 99
		default:
			return run, false
		}
	}
	return run, args[0] == "apply"
}

// runBoth has the twin do what a command is to do, where there is one that can, and the
// command after it on what was there before.
func (w *world) runBoth(ctx context.Context, folder string, args ...string) result {
	if w.management != nil {
		folder = w.manage(folder)
	}
	if w.twin != nil && !w.busy && args[0] == "plan" { // the twin's run is held to it
		w.machine = "-twin"
		defer func() { w.machine = "" }()
	}
	run, ok := asTwin(args)
	if w.twin == nil || w.busy || !ok {
		return w.runOn(ctx, folder, args...)
	}
	before, asked, undo := w.snapshot(), w.door.says(), w.door.keep()
	run.Fleet = folder
	for _, repo := range slices.Sorted(maps.Keys(before)) {
		if !maps.Equal(before[repo], w.stood[repo]) {
			run.Moved = append(run.Moved, w.forge.url(w.address(repo)))
		}
		if asked[repo] != w.asked[repo] {
			run.Asked = append(run.Asked, w.forge.url(w.address(repo)))
		}
	}
	if w.managed {
		run.Moved = append(run.Moved, folder)
	}
	w.busy, w.managed = true, false
	fine, err := w.twin.Apply(ctx, run)
	w.busy = false
	w.stood = before
	w.log("the twin: %t, %v", fine, err)
	if w.disturbed { // what the command would meet is another world
		return result{args: args, status: map[bool]int{false: 1}[fine]}
	}
	if err == nil {
		w.asked = asked
	}
	after, asks := w.snapshot(), w.door.says()
	w.restore(before)
	undo()
	w.machine = "-twin"
	defer func() { w.machine = "" }()
	r := w.runOn(ctx, folder, args...)
	asking := cmp.Diff(w.door.says(), asks)
	switch d := w.differing(w.snapshot(), after); {
	case err != nil && r.status == 0:
		w.violate("the twin does as the command", place{}, "it fails: %s", firstLine(err.Error()))
	case d != "":
		w.violate("the twin does as the command", place{}, "other refs (-command +twin):\n%s", d)
	case asking != "":
		w.violate("the twin does as the command", place{}, "other pull requests (-command +twin):\n%s", asking)
	case fine != (r.status == 0):
		w.violate("the twin does as the command", place{}, "it says %t, and the command ends with %d", fine, r.status)
	default:
		if d := w.twin.Differs(w.command(ctx, folder, "status", "-o", "json").out); d != "" {
			w.violate("the twin does as the command", place{}, "other status (-command +twin):\n%s", d)
		}
	}
	return r
}

// differing are the refs that two left elsewhere, and how their files differ.
func (w *world) differing(command, twin map[string]map[string]hash) string {
	var out strings.Builder
	for _, m := range refsMoved(command, twin) {
		r := w.repos[m.repo]
		fmt.Fprintf(&out, "%s %s: %s %s\n", m.repo, m.ref, m.before, m.after)
		was, is := r.files(m.before), r.files(m.after)
		for _, p := range slices.Sorted(maps.Keys(union(was, is))) {
			if d := differ(r.text(is, p), r.text(was, p)); d != "" {
				fmt.Fprintf(&out, "  %s:%s\n", p, d)
			}
		}
	}
	return out.String()
}

// restore moves refs back to where they were.
func (w *world) restore(to map[string]map[string]hash) {
	for name, is := range w.snapshot() {
		for ref := range is {
			if _, was := to[name][ref]; !was {
				w.repos[name].set(ref, hash{})
			}
		}
		for ref, h := range to[name] {
			if is[ref] != h {
				w.repos[name].set(ref, h)
			}
		}
	}
}

// manage brings the management directory to its repository, whose address it returns.
func (w *world) manage(folder string) string {
	f := files{}
	for _, e := range must(os.ReadDir(folder)) {
		f[e.Name()] = w.management.put(string(must(os.ReadFile(filepath.Join(folder, e.Name())))))
	}
	tip := w.management.ref(mainRef)
	if !maps.Equal(f, w.management.files(tip)) {
		var parents []hash
		if !tip.IsZero() {
			parents = append(parents, tip)
		}
		w.management.set(mainRef, w.management.make(0, "fleet", f, parents...))
		w.managed = true
	}
	return w.forge.url(w.management.name)
}
