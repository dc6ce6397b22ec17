package gitrepo

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"
	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/test/gittest"
)

var one, two, three = Hash{1}, Hash{2}, Hash{3}

// TestChunks: groups stay together, in the order of their names.
func TestChunks(t *testing.T) {
	of := func(names ...string) (g group) {
		for _, n := range names {
			g.updates = append(g.updates, RefUpdate{Name: n})
		}
		return g
	}
	groups := []group{of("d", "x"), of("a"), of("c", "b"), of("e")}
	cases := map[string]struct {
		most int
		want []string
	}{
		"all in one":        {0, []string{"a c b d x e"}},
		"as many as fit":    {3, []string{"a c b", "d x e"}},
		"exactly":           {6, []string{"a c b d x e"}},
		"groups are whole":  {1, []string{"a", "c b", "d x", "e"}},
		"two":               {2, []string{"a", "c b", "d x", "e"}},
		"one less than all": {5, []string{"a c b d x", "e"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := &Batch{groups: groups}
			var got []string
			for _, c := range b.chunks(tc.most) {
				var names []string
				for _, u := range c.updates {
					names = append(names, u.Name)
				}
				got = append(got, strings.Join(names, " "))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if got := (&Batch{}).chunks(1); got != nil {
		t.Errorf("nothing gives %v", got)
	}
}

// TestStaleRefs: each ref that is not where the update says, by name.
func TestStaleRefs(t *testing.T) {
	now := map[string]plumbing.Hash{"a": one, "b": two}
	updates := []RefUpdate{
		{Name: "new", New: one}, {Name: "gone", Old: three}, {Name: "b", Old: one, New: three}, {Name: "a", Old: one, New: two}, {Name: "b2", New: one},
	}
	want := []StaleRef{{Name: "b", Expected: one, Actual: two}, {Name: "gone", Expected: three}}
	if diff := cmp.Diff(want, staleRefs(updates, now)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	created := []RefUpdate{{Name: "a", New: two}}
	if diff := cmp.Diff([]StaleRef{{Name: "a", Actual: one}}, staleRefs(created, now)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestClashes: a ref cannot be a folder of another one.
func TestClashes(t *testing.T) {
	const h = "refs/heads/"
	beside := func(name, other string) RefMessage {
		return RefMessage{name, "Git cannot hold it beside " + other + ": rename the package or the workspace"}
	}
	cases := map[string]struct {
		now     []string
		updates []RefUpdate
		want    []RefMessage
	}{
		"a new one beside others":           {[]string{h + "a/b"}, []RefUpdate{{Name: h + "a/c", New: one}}, nil},
		"below one that is there":           {[]string{h + "a"}, []RefUpdate{{Name: h + "a/b", New: one}}, []RefMessage{beside(h+"a/b", h+"a")}},
		"far below one that is there":       {[]string{h + "a"}, []RefUpdate{{Name: h + "a/b/c", New: one}}, []RefMessage{beside(h+"a/b/c", h+"a")}},
		"above one that is there":           {[]string{h + "a/b/c"}, []RefUpdate{{Name: h + "a", New: one}}, []RefMessage{beside(h+"a", h+"a/b/c")}},
		"above several, the first is named": {[]string{h + "a/z", h + "a/b"}, []RefUpdate{{Name: h + "a", New: one}}, []RefMessage{beside(h+"a", h+"a/b")}},
		"two new ones":                      {nil, []RefUpdate{{Name: h + "a/b", New: one}, {Name: h + "a", New: one}}, []RefMessage{beside(h+"a/b", h+"a"), beside(h+"a", h+"a/b")}},
		"in the place of one that goes":     {[]string{h + "a"}, []RefUpdate{{Name: h + "a", Old: one}, {Name: h + "a/b", New: one}}, nil},
		"above one that goes":               {[]string{h + "a/b"}, []RefUpdate{{Name: h + "a/b", Old: one}, {Name: h + "a", New: one}}, nil},
		"one that moves is no new one":      {[]string{h + "a"}, []RefUpdate{{Name: h + "a", Old: one, New: two}}, nil},
		"a part of a name is no folder":     {[]string{h + "a"}, []RefUpdate{{Name: h + "ab", New: one}}, nil},
		"once each":                         {[]string{h + "a", h + "a/b"}, []RefUpdate{{Name: h + "a/b/c", New: one}}, []RefMessage{beside(h+"a/b/c", h+"a/b")}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			now := map[string]plumbing.Hash{}
			for _, n := range tc.now {
				now[n] = one
			}
			if diff := cmp.Diff(tc.want, clashes(tc.updates, now)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// statuses is a server's answer: refs and what it says of them.
func statuses(unpack string, said ...string) *packp.ReportStatus {
	s := packp.NewReportStatus()
	s.UnpackStatus = unpack
	for i := 0; i+1 < len(said); i += 2 {
		s.CommandStatuses = append(s.CommandStatuses, &packp.CommandStatus{ReferenceName: plumbing.ReferenceName(said[i]), Status: said[i+1]})
	}
	return s
}

// TestIncomplete: when a thin pack is sent again in full.
func TestIncomplete(t *testing.T) {
	pack := []*newObject{{}}
	cases := map[string]struct {
		a    attempt
		want bool
	}{
		"all well":                {attempt{status: statuses("ok", "a", "ok"), pack: pack}, false},
		"no answer":               {attempt{pack: pack}, false},
		"not unpacked":            {attempt{status: statuses("index-pack abnormal exit"), pack: pack}, true},
		"nothing was sent":        {attempt{status: statuses("index-pack abnormal exit")}, false},
		"objects are missing":     {attempt{status: statuses("ok", "a", "ok", "b", "missing necessary objects"), pack: pack}, true},
		"refused for another why": {attempt{status: statuses("ok", "a", "hook declined"), pack: pack}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tc.a.incomplete(); got != tc.want {
				t.Errorf("incomplete() = %v", got)
			}
		})
	}
}

// judged is a pusher on a repository with the branches a, b and c, each at a
// commit of its own, and the updates of some that one attempt made.
type judged struct {
	*pusher
	site *site
	at   map[string]Hash // by branch
}

func newJudged(t *testing.T) *judged {
	t.Helper()
	s := newSite(t)
	at := map[string]Hash{}
	for _, name := range []string{"a", "b", "c"} {
		at[name] = plumbing.NewHash(s.repo.Commit(t, name, name, gittest.Text{name + "/Kptfile": kptfile(name)}))
	}
	r := open(t, s.urls["http"])
	p := &pusher{batch: r.NewBatch(), repo: r, sent: map[Hash]bool{}, report: &PushReport{Atomic: true}}
	return &judged{pusher: p, site: s, at: at}
}

func branch(name string) string { return "refs/heads/" + name }

// verdict is what judge makes of an attempt.
func (j *judged) verdict(t *testing.T, a *attempt, updates []RefUpdate) ([]Outcome, []RefResult, error) {
	t.Helper()
	a.lines = &progress{pusher: j.pusher}
	results := make([]RefResult, len(updates))
	for i, u := range updates {
		results[i] = RefResult{RefUpdate: u, Outcome: NotTried}
	}
	err := j.judge(context.Background(), a, updates, results)
	var outcomes []Outcome
	for _, r := range results {
		outcomes = append(outcomes, r.Outcome)
	}
	return outcomes, results, err
}

// TestJudgeAnswers: what an answer means for each ref, and for the Repo's own
// view of the refs.
func TestJudgeAnswers(t *testing.T) {
	cases := map[string]struct {
		atomic   bool
		status   *packp.ReportStatus
		stale    []string // branches whose update expects another commit
		want     []Outcome
		messages []string
		rejected []string
		staled   []string
		known    []string // branches that the Repo knows to be moved
	}{
		"all moved":     {status: statuses("ok", branch("a"), "ok", branch("b"), "ok"), want: []Outcome{Moved, Moved}, messages: []string{"", ""}, known: []string{"a", "b"}},
		"one refused":   {status: statuses("ok", branch("a"), "no", branch("b"), "ok"), want: []Outcome{Unmoved, Moved}, messages: []string{"no", ""}, rejected: []string{"a no"}, known: []string{"b"}},
		"both refused":  {status: statuses("ok", branch("b"), "no b", branch("a"), "no a"), want: []Outcome{Unmoved, Unmoved}, messages: []string{"no a", "no b"}, rejected: []string{"a no a", "b no b"}},
		"one not said":  {status: statuses("ok", branch("a"), "ok"), want: []Outcome{Moved, Unmoved}, messages: []string{"", "the server did not say"}, rejected: []string{"b the server did not say"}, known: []string{"a"}},
		"not unpacked":  {status: statuses("full disk", branch("a"), "ok", branch("b"), "ok"), want: []Outcome{Unmoved, Unmoved}, messages: []string{"unpack failed: full disk", "unpack failed: full disk"}, rejected: []string{"a unpack failed: full disk", "b unpack failed: full disk"}},
		"one had moved": {status: statuses("ok", branch("a"), "no", branch("b"), "ok"), stale: []string{"a"}, want: []Outcome{Unmoved, Moved}, messages: []string{"no", ""}, staled: []string{"a"}, known: []string{"b"}},
		"one had moved, the other is refused too": {
			status: statuses("ok", branch("a"), "no", branch("b"), "no"), stale: []string{"a"}, want: []Outcome{Unmoved, Unmoved}, messages: []string{"no", "no"}, staled: []string{"a"}, rejected: []string{"a no", "b no"},
		},
		"one had moved, an atomic server blames both": {
			atomic: true, status: statuses("ok", branch("a"), "no", branch("b"), "no"), stale: []string{"a"}, want: []Outcome{Unmoved, Unmoved}, messages: []string{"no", "no"}, staled: []string{"a"},
		},
		"both had moved": {status: statuses("ok", branch("a"), "no", branch("b"), "no"), stale: []string{"a", "b"}, want: []Outcome{Unmoved, Unmoved}, messages: []string{"no", "no"}, staled: []string{"a", "b"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			j := newJudged(t)
			updates := []RefUpdate{{Name: branch("a"), Old: j.at["a"], New: j.at["c"]}, {Name: branch("b"), Old: j.at["b"], New: j.at["c"]}}
			for i := range updates {
				for _, s := range tc.stale {
					if updates[i].Name == branch(s) {
						updates[i].Old = three
					}
				}
			}
			outcomes, results, err := j.verdict(t, &attempt{sent: true, atomic: tc.atomic, status: tc.status}, updates)
			var messages []string
			for _, r := range results {
				messages = append(messages, r.Message)
			}
			if diff := cmp.Diff(tc.want, outcomes) + cmp.Diff(tc.messages, messages); diff != "" {
				t.Errorf("outcomes and messages (-want +got):\n%s", diff)
			}
			var rejected, staled []string
			var re *RejectedError
			if errors.As(err, &re) {
				for _, m := range re.Refs {
					rejected = append(rejected, strings.TrimPrefix(m.Name, branch(""))+" "+m.Message)
				}
			}
			var se *StaleError
			if errors.As(err, &se) {
				for _, r := range se.Refs {
					staled = append(staled, strings.TrimPrefix(r.Name, branch("")))
				}
			}
			if diff := cmp.Diff(tc.rejected, rejected) + cmp.Diff(tc.staled, staled); diff != "" || (err == nil) != (rejected == nil && staled == nil) {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
			if len(tc.known) == len(updates) || err == nil { // else the refs were read again
				for _, name := range tc.known {
					if at, _ := j.repo.Refs().Branch(name); at.Hash != j.at["c"] {
						t.Errorf("the Repo has %s at %s", name, at.Hash)
					}
				}
			}
		})
	}
}

// TestJudgeBeforeSending: what was seen in the server's refs moves nothing.
func TestJudgeBeforeSending(t *testing.T) {
	j := newJudged(t)
	updates := []RefUpdate{{Name: branch("a"), Old: j.at["a"], New: one}, {Name: branch("b"), Old: j.at["b"], New: one}}
	outcomes, _, err := j.verdict(t, &attempt{stale: []StaleRef{{Name: branch("a")}}}, updates)
	var stale *StaleError
	if diff := cmp.Diff([]Outcome{Unmoved, Unmoved}, outcomes); diff != "" || !errors.As(err, &stale) || len(stale.Refs) != 1 || stale.URL != j.repo.URL() {
		t.Errorf("stale: %v %s", err, diff)
	}
	outcomes, _, err = j.verdict(t, &attempt{clash: []RefMessage{{branch("a"), "no"}}}, updates)
	var rejected *RejectedError
	if diff := cmp.Diff([]Outcome{Unmoved, Unmoved}, outcomes); diff != "" || !errors.As(err, &rejected) || len(rejected.Refs) != 1 || rejected.URL != j.repo.URL() {
		t.Errorf("clash: %v %s", err, diff)
	}
}

// TestLostAnswers: a push without an answer is decided by what the refs are now.
func TestLostAnswers(t *testing.T) {
	answer := func(code int) error {
		return plumbing.NewUnexpectedError(&githttp.Err{Response: &http.Response{StatusCode: code, Request: &http.Request{}}})
	}
	lost := errors.New("connection reset")
	type state string // of a branch: done, old, other
	cases := map[string]struct {
		err            error
		a, b           state
		dead           bool
		want           []Outcome
		moved, unmoved []string
		fails, unknown bool
	}{
		"all done":                       {err: lost, a: "done", b: "done", want: []Outcome{Moved, Moved}},
		"no error, no answer":            {a: "done", b: "done", want: []Outcome{Moved, Moved}},
		"none done":                      {err: lost, a: "old", b: "old", want: []Outcome{Unmoved, Unmoved}, unmoved: []string{"a", "b"}, fails: true, unknown: true},
		"half done":                      {err: lost, a: "done", b: "old", want: []Outcome{Moved, Unmoved}, moved: []string{"a"}, unmoved: []string{"b"}, fails: true, unknown: true},
		"somebody else was there":        {err: lost, a: "other", b: "done", want: []Outcome{Unknown, Moved}, moved: []string{"b"}, fails: true, unknown: true},
		"the server is gone":             {err: lost, a: "old", b: "old", dead: true, want: []Outcome{Unknown, Unknown}, fails: true, unknown: true},
		"refused at the door":            {err: answer(403), a: "old", b: "old", want: []Outcome{Unmoved, Unmoved}, fails: true},
		"refused at the door, not found": {err: answer(404), a: "old", b: "old", want: []Outcome{Unmoved, Unmoved}, fails: true},
		"a bad request":                  {err: answer(400), a: "old", b: "old", want: []Outcome{Unmoved, Unmoved}, fails: true},
		"the server took too long":       {err: answer(408), a: "done", b: "done", want: []Outcome{Moved, Moved}},
		"the server failed":              {err: answer(500), a: "done", b: "done", want: []Outcome{Moved, Moved}},
		"a redirect":                     {err: answer(399), a: "done", b: "done", want: []Outcome{Moved, Moved}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			j := newJudged(t)
			update := func(name string, s state) RefUpdate {
				switch u := (RefUpdate{Name: branch(name), Old: three, New: two}); s {
				case "done":
					u.New = j.at[name]
					return u
				case "old":
					u.Old = j.at[name]
					return u
				default:
					return u
				}
			}
			if tc.dead {
				if err := os.RemoveAll(j.site.repo.Dir); err != nil {
					t.Fatal(err)
				}
			}
			outcomes, _, err := j.verdict(t, &attempt{sent: true, err: tc.err}, []RefUpdate{update("a", tc.a), update("b", tc.b)})
			if diff := cmp.Diff(tc.want, outcomes); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			var unknown *UnknownOutcomeError
			if (err != nil) != tc.fails || errors.As(err, &unknown) != tc.unknown {
				t.Fatalf("got %v", err)
			}
			if unknown == nil {
				return
			}
			short := func(names []string) (out []string) {
				for _, n := range names {
					out = append(out, strings.TrimPrefix(n, branch("")))
				}
				return out
			}
			if diff := cmp.Diff(tc.moved, short(unknown.Moved)) + cmp.Diff(tc.unmoved, short(unknown.Unmoved)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestRemoteMessages: what a server prints is cut into lines, without what could
// steer a terminal, and within bounds.
func TestRemoteMessages(t *testing.T) {
	many := strings.Repeat("line\n", 250)
	cases := map[string]struct {
		writes []string
		want   []string
	}{
		"lines":              {[]string{"one\ntwo\r", "three\r\n"}, []string{"one", "two", "three"}},
		"parts of a line":    {[]string{"o", "ne\ntw", "o"}, []string{"one", "two"}},
		"blank ones":         {[]string{"\n  \n one \n"}, []string{"one"}},
		"control characters": {[]string{"\x1b[31mred\x7f\tblue\n"}, []string{"[31mred\tblue"}},
		"no end of it":       {[]string{strings.Repeat("x", 65<<10), "rest\n"}, []string{"rest"}},
		"almost":             {[]string{strings.Repeat("x", 64<<10), "\n"}, []string{strings.Repeat("x", 64<<10)}},
		"more than enough":   {[]string{many}, strings.Split(strings.TrimSpace(many), "\n")[:200]},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := &pusher{repo: open(t, newSite(t).urls["path"]), report: &PushReport{}}
			w := &progress{pusher: p}
			for _, s := range tc.writes {
				if n, err := w.Write([]byte(s)); n != len(s) || err != nil {
					t.Fatalf("Write: %d, %v", n, err)
				}
			}
			w.flush()
			w.flush()
			if diff := cmp.Diff(tc.want, p.report.Messages); diff != "" {
				t.Errorf("report (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(strings.Join(tc.want, "\n"), w.text()); diff != "" {
				t.Errorf("text (-want +got):\n%s", diff)
			}
		})
	}
}

// TestRequests: what is asked of a server by what it can do.
func TestRequests(t *testing.T) {
	all := []capability.Capability{capability.Atomic, capability.Quiet, capability.Sideband64k, capability.ReportStatus, capability.DeleteRefs}
	without := func(not capability.Capability) *capability.List {
		caps := capability.NewList()
		for _, c := range all {
			if c != not {
				_ = caps.Set(c)
			}
		}
		return caps
	}
	deletes := []RefUpdate{{Name: branch("a"), Old: one}, {Name: branch("b"), Old: two}}
	cases := map[string]struct {
		not          capability.Capability
		updates      []RefUpdate
		require      bool
		want         error
		atomic       bool // of the report
		asked, never []capability.Capability
	}{
		"all there":            {updates: deletes, require: true, atomic: true, asked: all[:3]},
		"not atomic":           {not: capability.Atomic, updates: deletes, atomic: false, never: all[:1]},
		"not atomic, but must": {not: capability.Atomic, updates: deletes, require: true, want: ErrUnsupported, atomic: true},
		"not atomic, one ref":  {not: capability.Atomic, updates: deletes[:1], require: true, atomic: true},
		"no report":            {not: capability.ReportStatus, updates: deletes, want: ErrUnsupported, atomic: true},
		"no deletes":           {not: capability.DeleteRefs, updates: deletes, want: ErrUnsupported, atomic: true},
		"not quiet":            {not: capability.Quiet, updates: deletes, atomic: true, never: []capability.Capability{capability.Quiet}},
		"one stream":           {not: capability.Sideband64k, updates: deletes, atomic: true, never: []capability.Capability{capability.Sideband64k}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := open(t, newSite(t).urls["path"])
			p := &pusher{batch: r.NewBatch(), repo: r, opts: PushOptions{RequireAtomic: tc.require}, sent: map[Hash]bool{}, report: &PushReport{Atomic: true}}
			a := &attempt{can: without(tc.not)}
			req, err := p.request(a, tc.updates, false)
			if !errors.Is(err, tc.want) || p.report.Atomic != tc.atomic {
				t.Fatalf("got %v, atomic %v", err, p.report.Atomic)
			}
			if err != nil {
				return
			}
			if req.Packfile != nil || len(req.Commands) != len(tc.updates) || a.atomic != (tc.not != capability.Atomic) {
				t.Errorf("request: %+v, atomic %v", req, a.atomic)
			}
			for i, c := range req.Commands {
				if string(c.Name) != tc.updates[i].Name || c.Old != tc.updates[i].Old || c.New != tc.updates[i].New {
					t.Errorf("command %d: %+v", i, c)
				}
			}
			for _, c := range tc.asked {
				if !req.Capabilities.Supports(c) {
					t.Errorf("%s is not asked for", c)
				}
			}
			for _, c := range tc.never {
				if req.Capabilities.Supports(c) {
					t.Errorf("%s is asked for, which the server has not", c)
				}
			}
		})
	}
}

// TestReportOfPushes: objects, bytes and pushes are counted over all of them,
// and what comes behind a failure is not tried.
func TestReportOfPushes(t *testing.T) {
	s := newSite(t)
	s.repo.Commit(t, "main", "base", gittest.Text{"a/Kptfile": kptfile("a")})
	r := open(t, s.urls["http"])
	b := r.NewBatch()
	base := head(t, r, "main")
	for i := range 3 {
		p := fmt.Sprintf("app-%d", i)
		draft(t, b, p, "w", base, files(p, 3))
	}
	s.repo.Hook(t, "update", `case "$1" in */app-1/*) echo not this one >&2; exit 1;; esac`)
	rep, err := b.Push(context.Background(), PushOptions{MaxRefsPerPush: 1})
	if !errors.Is(err, ErrRejected) {
		t.Fatalf("got %v", err)
	}
	var outcomes []Outcome
	for _, r := range rep.Refs {
		outcomes = append(outcomes, r.Outcome)
	}
	if diff := cmp.Diff([]Outcome{Moved, Unmoved, NotTried}, outcomes); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if rep.Objects < 6 || rep.Bytes < 100 || !rep.Atomic || !strings.Contains(strings.Join(rep.Messages, " "), "not this one") {
		t.Errorf("report: %+v", rep)
	}
	if at, ok := r.Refs().Branch("drafts/app-0/w"); !ok || at.Hash != rep.Refs[0].New {
		t.Errorf("the Repo does not know what moved: %v", r.Refs().All())
	}
}
