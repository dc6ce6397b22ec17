package fault

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/variform/variform/test/gittest"
)

// step is a command of variform's, or something that a person does.
type step []string

// stages lead to a fleet that wants web v2 and has made something of v1.
var stages = map[string][]step{
	"nothing":   {{"want", "2"}},
	"Drafts":    {{"want", "1"}, {"apply"}, {"want", "2"}},
	"Proposed":  {{"want", "1"}, {"apply"}, {"propose", "--all"}, {"want", "2"}},
	"Published": {{"want", "1"}, {"apply"}, {"approve", "--all"}, {"want", "2"}},
}

// commands that have something to do at a stage.
var commands = map[string][]step{
	"nothing":   {{"apply"}},
	"Drafts":    {{"apply"}, {"approve", "--all"}, {"propose", "--all"}},
	"Proposed":  {{"apply"}, {"approve", "--all"}, {"reject", "--all"}},
	"Published": {{"apply"}},
}

// others come to do this meanwhile.
var others = [][]step{
	{{"edit"}},
	{{"apply"}, {"edit"}},
	{{"apply"}, {"propose", "--all"}},
	{{"apply"}, {"propose", "--all"}, {"edit"}, {"reject", "--all"}},
	{{"apply"}, {"approve", "--all"}},
	{{"approve", "--all"}},
	{{"apply"}, {"approve", "--all"}, {"want", "3"}, {"apply"}, {"edit"}},
}

// withdrawing are others whose fleet is newer: what the command makes of its own
// is not theirs, and it takes that back.
var withdrawing = [][]step{
	{{"want", "3"}, {"apply"}, {"propose", "--all"}},
	{{"want", "3"}, {"apply"}, {"approve", "--all"}},
	{{"want", "3"}, {"apply"}, {"propose", "--all"}, {"edit"}},
}

// overtaking is a command, and what others do while its first request of a kind
// is at the server.
type overtaking struct {
	stage   string
	command step
	kind    string
	others  []step
	killed  bool // before the request is answered

	withdraws bool // the command takes its own commits back
}

func (o overtaking) String() string {
	end := ""
	if o.killed {
		end = ", and killed"
	}
	return fmt.Sprintf("%s, %s at its %s by %s%s", o.stage, o.command[0], o.kind, o.others, end)
}

// overtakings are all, those of pushes apart: most can go wrong there.
func overtakings() (pushes, rest []overtaking) {
	for _, stage := range slices.Sorted(maps.Keys(stages)) {
		for _, command := range commands[stage] {
			for _, what := range others {
				o := overtaking{stage: stage, command: command, others: what}
				for _, o.kind = range []string{gittest.ReadRefs, gittest.Fetch, gittest.WriteRefs} {
					rest = append(rest, o)
				}
				o.kind = gittest.Push
				pushes = append(pushes, o)
				o.killed = true
				pushes = append(pushes, o)
			}
			for _, what := range withdrawing {
				pushes = append(pushes, overtaking{stage: stage, command: command, others: what, kind: gittest.Push, withdraws: true})
			}
		}
	}
	return pushes, rest
}

// Whatever others do while a request of a command is on its way, what TestRace
// asks for holds.
func TestOvertaken(t *testing.T) {
	t.Parallel()
	r := newRace(t, map[string][]string{"one": numbered(0, 2)})
	for n := range 3 {
		r.publish(n + 1)
	}
	r.keep()
	n := max(4, amount(t, "FAULT_POINTS", 25, 6)/2)
	cases, hits := 0, 0
	pushes, rest := overtakings()
	for _, list := range [][]overtaking{pushes, rest} {
		most := min(len(list), n/2)
		for i := range most {
			o := list[len(list)*i/most]
			t.Run(o.String(), func(t *testing.T) {
				r.within(t)
				cases++
				if r.overtaken(o, fmt.Sprint("overtaken-", cases)) {
					hits++
				}
			})
		}
	}
	t.Logf("%d of %d commands were overtaken", hits, cases)
	if hits <= cases/2 {
		t.Error("too few commands made the request to overtake them at")
	}
}

// overtaken reports whether the command made a request of that kind at all.
func (r *race) overtaken(o overtaking, cache string) bool {
	r.t.Helper()
	r.restore()
	r.edits, r.seen, r.withdraws = nil, map[string]int{}, o.withdraws
	r.do(stages[o.stage]...)
	victim := make(chan *child, 1)
	var done atomic.Bool
	r.srv.Before(func(kind, repo string) {
		if kind != o.kind || repo != "one" || !done.CompareAndSwap(false, true) {
			return
		}
		r.do(o.others...)
		if o.killed {
			answer := gittest.Stream{Kind: kind, Answer: true}
			r.srv.StopAt(answer, r.srv.Passed()[answer], func() { (<-victim).kill() })
		}
	})
	c := r.variform("rae", cache, o.command...)
	victim <- c
	c.status()
	r.srv.Wait()
	r.srv.Before(nil)
	r.srv.ResetCounts()
	if !o.killed {
		r.judge(c)
		r.check("after the race")
	}
	r.must(cache, "apply")
	r.check("after a quiet apply")
	r.nothingToDo(cache, nil)
	if r.t.Failed() {
		r.t.Logf("%s\n%s%s", c, &c.out, r.repos["one"].Git(r.t, "log", "--all", "--graph", "--oneline", "--decorate"))
	}
	return done.Load()
}

// do does steps one after the other. Decisions may find nothing to decide.
func (r *race) do(steps ...step) {
	for i, s := range steps {
		switch s[0] {
		case "want":
			var n int
			_, _ = fmt.Sscan(s[1], &n)
			r.want(n, r.packages)
		case "edit":
			w := r.clones["one"]
			w.must("fetch", "-q", "--prune", "origin")
			for _, branch := range strings.Fields(w.must("for-each-ref", "--format=%(refname:lstrip=3)", "refs/remotes/origin/drafts", "refs/remotes/origin/proposed")) {
				r.edit(w, "one", branch, fmt.Sprintf("hand-%d.yaml", i))
			}
		default:
			r.judge(r.variform("ann", "ann", s...))
		}
	}
}
