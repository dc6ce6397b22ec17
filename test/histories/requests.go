package histories

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"

	"github.com/variform/variform/test/forgetest"
)

// door is a forge that has pull requests, which apply keeps: people review and merge
// there.
type door struct {
	forge
	kind, mode string
	servers    map[string]*forgetest.Server // by repository
	repos      map[string]*repository
	// no are Drafts that people turned down, as they were then.
	no map[place]hash
}

// requestsURL is where the forge is, whose repositories are a team's.
const requestsURL, team = "https://forge.test", "team/"

type doorKey struct{}

// withRequests puts requests before a forge, "gitea class".
func withRequests(ctx context.Context, f forge, what string) (context.Context, *door) {
	kind, mode, _ := strings.Cut(what, " ")
	d := &door{f, kind, mode, map[string]*forgetest.Server{}, map[string]*repository{}, map[place]hash{}}
	return context.WithValue(ctx, doorKey{}, d), d
}

func (d *door) url(name string) string { return d.forge.url(team + name) }

func (d *door) make(name string) *repository {
	r := d.forge.make(team + name)
	s := forgetest.New(d.kind, team+name)
	s.URL = requestsURL
	s.Tip = func(branch string) string {
		if tip := r.ref("refs/heads/" + branch); !tip.IsZero() {
			return tip.String()
		}
		return ""
	}
	s.Has = func(commit string) bool {
		return slices.ContainsFunc(slices.Collect(maps.Values(r.refs())), func(h hash) bool { return h.String() == commit })
	}
	r.name = name
	d.servers[name], d.repos[name] = s, r
	return r
}

// Before implements forge.
func (d *door) Before(f func(kind, repo string)) {
	if f == nil {
		d.forge.Before(nil)
		return
	}
	d.forge.Before(func(kind, repo string) { f(kind, strings.TrimPrefix(repo, team)) })
}

// answerOf has the forge of the context answer.
func answerOf(r *http.Request) (*http.Response, error) {
	d, ok := r.Context().Value(doorKey{}).(*door)
	if !ok {
		return nil, errors.New("no forge in the context of a request to " + r.URL.String())
	}
	if r.Body == nil {
		r.Body = io.NopCloser(strings.NewReader(""))
	}
	path, err := url.PathUnescape(r.URL.EscapedPath())
	if err != nil {
		return nil, err
	}
	_, rest, _ := strings.Cut(path, team)
	name, _, _ := strings.Cut(rest, "/")
	s := d.servers[name]
	if s == nil {
		return nil, fmt.Errorf("%s %s is of no repository", r.Method, r.URL)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	d.sweep()
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	return w.Result(), nil
}

// annotations are a Repository's; a fresh fleet's have none.
func (d *door) annotations(prefix string) string {
	if d == nil || prefix != "" {
		return ""
	}
	return fmt.Sprintf("  annotations: {variform.dev/forge: '%s %s', variform.dev/review: %s}\n", d.kind, requestsURL, d.mode)
}

// calls forgets what was asked for, and returns what changed something.
func (d *door) calls() (out []string) {
	if d == nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(d.servers)) {
		for _, call := range d.servers[name].Calls() {
			if !strings.HasPrefix(call, "GET ") {
				out = append(out, name+": "+call)
			}
		}
	}
	return out
}

// sweep closes requests whose branch is gone, as a forge does.
func (d *door) sweep() {
	for _, s := range d.servers {
		for _, r := range s.All() {
			if r.State == "open" && s.Tip(r.Branch) == "" {
				s.Change(r.Number, func(r *forgetest.Request) { r.State = "closed" })
			}
		}
	}
}

// request is one on the forge, with the packages that it changes.
type request struct {
	repo string
	forgetest.Request
	tip   hash
	holds []string
}

func (q request) ref() string { return "refs/heads/" + q.Branch }

// requests are those in a state.
func (w *world) requests(state string) (out []request) {
	if w.door == nil {
		return nil
	}
	w.door.sweep()
	for _, t := range w.targets {
		r := w.repos[t.name]
		for _, q := range w.door.servers[t.name].All() {
			tip := r.ref("refs/heads/" + q.Branch)
			if q.State != state || tip.IsZero() {
				continue
			}
			is := request{repo: t.name, Request: q, tip: tip}
			was, has := r.files(r.base(r.ref(mainRef), tip)), r.files(tip)
			for _, u := range w.pkgs {
				if !sameFiles(was.below(u.name), has.below(u.name)) {
					is.holds = append(is.holds, u.name)
				}
			}
			out = append(out, is)
		}
	}
	return out
}

// change is what a person does to a request.
func (w *world) change(q request, what string, do func(*forgetest.Request)) {
	w.door.servers[q.repo].Change(q.Number, do)
	w.log("person: %s %s#%d of %s, which holds %v", what, q.repo, q.Number, q.Branch, q.holds)
}

// requestOperations are what people do on a forge.
var requestOperations = []kindOfOperation{
	{"request-merge", 16, (*world).mergeRequest},
	{"request-close", 5, (*world).closeRequest},
	{"request-reopen", 3, (*world).reopenRequest},
	{"request-commit", 8, (*world).commitToRequest},
	{"request-branch", 2, (*world).deleteHead},
	{"request-base", 2, (*world).retarget},
	{"request-title", 2, (*world).retitle},
	{"request-ask", 3, (*world).askAgain},
	{"request-few", 3, func(w *world, o operation) { w.few(o) }},
}

// generateRequests makes the history of a seed in which people work on a forge.
func generateRequests(seed uint64, steps int) history {
	return onForge(generate(seed, steps, slices.Concat(operations, requestOperations)))
}

// onForge gives a history requests.
func onForge(h history) history {
	kinds, modes := []string{"gitea", "github", "gitlab"}, []string{"class", "class", "repository", "variant"}
	h.requests = kinds[h.seed%3] + " " + modes[h.seed%4]
	return h
}

// keep remembers the requests of all repositories; undo has them as they were then.
func (d *door) keep() (undo func()) {
	var all []func()
	if d != nil {
		for _, s := range d.servers {
			all = append(all, s.Keep())
		}
	}
	return func() {
		for _, undo := range all {
			undo()
		}
	}
}

// says are the requests and their checks, by repository.
func (d *door) says() map[string]string {
	if d == nil {
		return nil
	}
	d.sweep()
	out := map[string]string{}
	for name, s := range d.servers {
		for _, q := range s.All() {
			out[name] += fmt.Sprintf("%s %v\n", must(json.Marshal(q)), s.Statuses(nil, s.Tip(q.Branch)))
		}
	}
	return out
}

func (w *world) mergeRequest(o operation) {
	list := slices.DeleteFunc(w.requests("open"), func(q request) bool { return q.Base != "main" })
	if len(list) == 0 {
		return
	}
	q := at(list, o.a)
	r := w.repos[q.repo]
	main := r.ref(mainRef)
	w.merge([]branch{{place{q.repo, ""}, q.ref(), q.tip}}, o.b%4, o.c%2 == 0)
	if r.ref(mainRef) == main {
		return
	}
	w.change(q, "merge", func(q *forgetest.Request) { q.State = "merged" })
	for _, pkg := range q.holds { // a head is made of Drafts' packages, not of their commits
		p := place{q.repo, pkg}
		w.squashed[p] = true
		w.mayLearnPolicy(p) // its Draft may have been discarded
		if w.broken[q.repo] {
			w.edited[p] = true
		}
	}
}

func (w *world) closeRequest(o operation) {
	if list := w.requests("open"); len(list) > 0 {
		w.turnDown(at(list, o.a))
	}
}

// turnDown closes a request: none is opened for its Drafts as they are now.
func (w *world) turnDown(q request) {
	w.change(q, "close", func(q *forgetest.Request) { q.State = "closed" })
	for _, b := range w.open(draft) {
		if b.repo == q.repo && slices.Contains(q.holds, b.pkg) {
			w.door.no[b.place] = b.tip
		}
	}
}

func (w *world) reopenRequest(o operation) {
	list := w.requests("closed")
	open := w.requests("open")
	list = slices.DeleteFunc(list, func(q request) bool {
		return slices.ContainsFunc(open, func(p request) bool { return p.repo == q.repo && p.Branch == q.Branch && p.Base == q.Base })
	})
	if len(list) > 0 {
		w.change(at(list, o.a), "reopen", func(q *forgetest.Request) { q.State = "open" })
	}
}

func (w *world) commitToRequest(o operation) {
	list := slices.DeleteFunc(w.requests("open"), func(q request) bool { return len(q.holds) == 0 })
	if len(list) > 0 {
		q := at(list, o.a)
		w.edit(branch{place{q.repo, at(q.holds, o.c)}, q.ref(), q.tip}, o.b)
	}
}

// deleteHead removes the branch of a request, which turns it down. What a person wrote
// there goes with it.
func (w *world) deleteHead(o operation) {
	list := slices.DeleteFunc(w.requests("open"), func(q request) bool { return parse(q.ref()).kind != head })
	if len(list) == 0 {
		return
	}
	q := at(list, o.a)
	r := w.repos[q.repo]
	w.turnDown(q)
	for t := range w.onHeadAlone(q.repo, q.tip, w.snapshot()) {
		w.said.WriteString("written over: " + t + "\n")
	}
	r.set(q.ref(), hash{})
}

// onHeadAlone are a person's words that only a request's head has.
func (w *world) onHeadAlone(repo string, tip hash, now map[string]map[string]hash) map[string]string {
	r := w.repos[repo]
	out := r.tokens(r.files(tip))
	for ref, h := range now[repo] {
		if k := parse(ref).kind; k == other || k == ours || k == head && h == tip { // main may be at it
			continue
		}
		for t := range r.tokens(r.files(h)) {
			delete(out, t)
		}
	}
	return out
}

func (w *world) retarget(o operation) {
	if list := w.requests("open"); len(list) > 0 {
		q := at(list, o.a)
		w.change(q, "retarget", func(r *forgetest.Request) { r.Base = map[string]string{"main": "other", "other": "main"}[q.Base] })
	}
}

func (w *world) retitle(o operation) {
	if list := w.requests("open"); len(list) > 0 {
		w.change(at(list, o.a), "retitle", func(r *forgetest.Request) { r.Title = fmt.Sprintf("Ours %d", w.next()) })
	}
}

// askAgain proposes a package by its name: what was turned down is opened again.
func (w *world) askAgain(o operation) {
	list := w.open(draft)
	if len(list) == 0 {
		return
	}
	p := at(list, o.a).place
	before := w.snapshot()
	r := w.run("propose", p.String(), "--pull-requests")
	w.checkMoves(before, r)
	if r.status == 0 {
		for q := range w.door.no {
			if q.repo == p.repo { // it is one request with others
				delete(w.door.no, q)
			}
		}
	}
}

// few is a run that may not write all.
func (w *world) few(o operation) {
	before := w.snapshot()
	w.checkMoves(before, w.run("apply", "--max-writes", fmt.Sprint(4+o.a%4)))
}

// committedTo are repositories where a request's head has a person's commit, which a run
// takes onto Drafts: it does so first, and plan knows nothing of it.
func (w *world) committedTo() map[string]bool {
	out := map[string]bool{}
	for repo, refs := range w.snapshot() {
		for ref, tip := range refs {
			if r := w.repos[repo]; parse(ref).kind == head && r.byPerson(tip) {
				out[repo] = true
			}
		}
	}
	return out
}

// checkHeadKept: what people wrote on a request's head is there still, or elsewhere, or
// was named.
func (w *world) checkHeadKept(m move, after map[string]map[string]hash, r result) {
	for t, file := range w.onHeadAlone(m.repo, m.before, after) {
		if pkg, rest, _ := strings.Cut(file, "/"); !w.named(t) && !w.replaced(place{m.repo, pkg}, rest) {
			w.violate("no edit is gone unnamed", place{m.repo, pkg}, "%s loses an edit of %s, on a request's head", r.name(), rest)
		}
	}
}

// checkRequests: after two runs each Draft is in one request, with what it holds, or
// was turned down; no package is in two, no request is for what does not wait; and the
// second run wrote nothing.
func (w *world) checkRequests(done, again planned, taking map[string]bool, settled bool) {
	if w.door == nil {
		return
	}
	w.checkForgedHeads()
	calls := w.door.calls()
	if len(calls) > 0 && done.status == 0 && len(taking) == 0 && !settled { // what is settled asks no forge
		w.violate("a second apply changes nothing", place{}, "it writes to the forge: %s", calls[0])
	}
	kept, left := map[place]bool{}, map[string]bool{}
	for _, q := range again.PullRequests {
		if q.Action == "keep" {
			left[fmt.Sprint(q.Repository, q.Number)] = true
			for _, m := range q.Members {
				repo, pkg, _ := strings.Cut(m, "/")
				kept[place{repo, pkg}] = true
			}
		}
		if q.Error != "" {
			w.violate("nothing fails", place{q.Repository, ""}, "a request: %s", firstLine(q.Error))
		}
	}
	asked := map[place][]request{}
	for _, q := range w.requests("open") {
		if q.Base == "main" {
			for _, pkg := range q.holds {
				asked[place{q.repo, pkg}] = append(asked[place{q.repo, pkg}], q)
			}
		}
	}
	drafts := map[place][]branch{}
	for _, b := range w.open(draft) {
		drafts[b.place] = append(drafts[b.place], b)
	}
	for _, p := range w.places() {
		r := w.repos[p.repo]
		list, there := asked[p], drafts[p]
		switch {
		case len(list) > len(there) && len(list) > 1:
			w.violate("nothing is opened twice", p, "%d requests ask for it", len(list))
		case len(list) > 0 && len(there) == 0 && !left[fmt.Sprint(p.repo, list[0].Number)]:
			w.violate("requests are for what waits", p, "a request asks for it, and it has no Draft")
		case len(there) != 1 || !w.isWanted(p) || kept[p] || w.held[p] || w.unowned[branch{place: p, ref: there[0].ref}]: // it waits for a person
		case len(list) == 0 && w.door.no[p] != there[0].tip && !sameFiles(r.files(there[0].tip).below(p.pkg), r.files(r.ref(mainRef)).below(p.pkg)):
			w.violate("each Draft is in a request", p, "none asks for it")
		case len(list) == 1 && !sameFiles(r.files(list[0].tip).below(p.pkg), r.files(there[0].tip).below(p.pkg)):
			w.violate("each Draft is in a request", p, "the one that asks for it holds something else")
		}
	}
}
