package histories

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
)

// operation is one step of a history. Its numbers choose among what there is
// when it comes, so that a history without some of its steps still has a
// meaning.
type operation struct {
	name    string
	a, b, c int
}

func (o operation) String() string { return fmt.Sprintf("%s %d %d %d", o.name, o.a, o.b, o.c) }

// kindOfOperation is what may happen, and how often beside the others.
type kindOfOperation struct {
	name   string
	weight int
	do     func(w *world, o operation)
}

// operations are all that may happen but for what people do on a forge.
var operations = slices.Concat(plainOperations, eventOperations)

// plainOperations are the work of people, releases and runs.
var plainOperations = []kindOfOperation{
	{"apply", 22, func(w *world, _ operation) { w.apply() }},
	{"prune", 4, func(w *world, _ operation) { w.apply("--prune", "--max-delete=99") }},
	{"release", 14, (*world).releaseSome},
	{"context", 4, func(w *world, o operation) { at(w.pkgs, o.a).context = w.next() }},
	{"template", 3, (*world).template},
	{"object", 2, (*world).changeObject},
	{"approve-all", 8, func(w *world, _ operation) { w.decide("approve", "--all") }},
	{"approve", 5, func(w *world, o operation) { w.decideOne("approve", o.a) }},
	{"approve-main", 2, func(w *world, _ operation) { w.decide("approve", "--main") }},
	{"approve-class", 4, (*world).approveClass},
	{"propose", 3, func(w *world, o operation) { w.decideOne("propose", o.a) }},
	{"reject", 3, func(w *world, o operation) { w.decideOne("reject", o.a) }},
	{"reject-all", 1, func(w *world, _ operation) { w.decide("reject", "--all") }},
	{"edit-draft", 8, (*world).editDraft},
	{"edit-main", 3, (*world).editMain},
	{"merge", 7, (*world).mergeOne},
	{"merge-many", 2, (*world).mergeMany},
	{"sync", 2, (*world).sync},
	{"target-out", 3, func(w *world, o operation) { at(w.targets, o.a).in = false }},
	{"target-in", 3, func(w *world, o operation) { at(w.targets, o.a).in = true }},
	{"policy", 1, func(w *world, o operation) { p := at(w.pkgs, o.a); p.orphan = !p.orphan }},
	{"strategy", 2, (*world).strategy},
	{"by-hand", 1, (*world).byHand},
	{"automation", 3, (*world).automation},
	{"revert", 3, (*world).revert},
	{"hold", 2, (*world).hold},
	{"discard", 2, (*world).discard},
	{"take-back", 2, (*world).takeBack},
	{"record", 3, (*world).record},
	{"older", 2, (*world).makeOlder},
	{"rename", 1, func(w *world, o operation) { p := at(w.pkgs, o.a); p.set = fmt.Sprintf("%s-%d", p.name, w.next()) }},
	{"race", 3, (*world).race},
	{"kill", 3, (*world).kill},
	{"lose-answer", 1, (*world).loseAnswer},
	{"status", 1, func(w *world, _ operation) { w.reads("status") }},
	{"fresh", 2, func(w *world, _ operation) { w.apply(); w.compareFresh() }},
}

func at[T any](list []T, n int) T { return list[n%len(list)] }

func (w *world) do(o operation) {
	for _, k := range slices.Concat(operations, requestOperations, forgeries) {
		if k.name == o.name {
			k.do(w, o)
			w.onMainAlready()
			return
		}
	}
	panic("no operation " + o.name)
}

func (w *world) releaseSome(o operation) {
	p := at(w.pkgs, o.a)
	switch o.b % 7 {
	case 6:
		p.image++
	case 0, 1:
		p.level++
	case 2:
		p.size++
	case 3:
		p.extras = append(p.extras, w.next())
	case 4:
		if len(p.extras) > 0 {
			p.extras = p.extras[1:]
		}
	case 5:
		f := at(slices.Sorted(maps.Keys(functionConfigs)), o.c)
		if i := slices.Index(p.functions, f); i >= 0 {
			p.functions = slices.Delete(slices.Clone(p.functions), i, i+1)
		} else {
			p.functions = append(p.functions, f)
		}
	}
	w.release(p)
}

func (w *world) template(o operation) {
	p := at(w.pkgs, o.a)
	if p.note > 0 && o.b%3 == 0 {
		p.note = 0
		return
	}
	p.note = w.next()
}

func (w *world) changeObject(o operation) {
	w.object = w.next()
	if o.a%4 == 0 {
		w.object = 0
	}
}

// branch is an open branch of a package, or main with a package on it.
type branch struct {
	place
	ref string
	tip hash
}

// open lists Drafts and Proposed revisions, in order.
func (w *world) open(kinds ...string) []branch {
	var out []branch
	for _, t := range w.targets {
		refs := w.repos[t.name].refs()
		for _, ref := range slices.Sorted(maps.Keys(refs)) {
			if p := parse(ref); slices.Contains(kinds, p.kind) {
				out = append(out, branch{place{t.name, p.pkg}, ref, refs[ref]})
			}
		}
	}
	return out
}

// onMain lists the packages on registered branches.
func (w *world) onMain() []branch {
	var out []branch
	for _, p := range w.places() {
		tip := w.repos[p.repo].ref(mainRef)
		if len(w.repos[p.repo].files(tip).below(p.pkg)) > 0 {
			out = append(out, branch{p, mainRef, tip})
		}
	}
	return out
}

func (w *world) editDraft(o operation) {
	if list := w.open(draft, draft, proposed); len(list) > 0 {
		w.edit(at(list, o.a), o.b)
	}
}

func (w *world) editMain(o operation) {
	if list := w.onMain(); len(list) > 0 {
		w.edit(at(list, o.a), o.b)
	}
}

var (
	levelLine = regexp.MustCompile(`level: \S+`)
	tierLine  = regexp.MustCompile(`tier: \S+`)
)

// edit is a person's commit to a package: each leaves a word of its own.
func (w *world) edit(at branch, kind int) {
	r := w.repos[at.repo]
	f := maps.Clone(r.files(at.tip))
	in := func(name string) string { return at.pkg + "/" + name }
	n := w.next()
	word := fmt.Sprintf("e%dx", n)
	config := r.text(f, in("config.yaml"))
	what := "change"
	switch kind % 8 {
	case 0, 1:
		f[in("config.yaml")] = r.put(config + fmt.Sprintf("  hand%d: %s\n", n, word))
	case 2, 3:
		f[in("config.yaml")] = r.put(levelLine.ReplaceAllString(config, "level: "+word))
	case 4:
		f[in(fmt.Sprintf("hand%d.yaml", n))] = r.put(configMap(fmt.Sprintf("hand%d", n), "  a: "+word+"\n"))
	case 5:
		f[in("config.yaml")] = r.put(tierLine.ReplaceAllString(config, "tier: "+word))
	case 6:
		f[in("README.md")] = r.put(r.text(f, in("README.md")) + "\n" + word + "\n")
	case 7:
		for _, name := range slices.Sorted(maps.Keys(f.below(at.pkg))) {
			if strings.HasPrefix(name, "extra") {
				delete(f, in(name))
				if w.removed[at.place] == nil {
					w.removed[at.place] = map[string]bool{}
				}
				w.removed[at.place][name] = true
				what = "remove " + name
				break
			}
		}
	}
	if maps.Equal(f, r.files(at.tip)) {
		return
	}
	w.writtenOver(r, r.files(at.tip).below(at.pkg), f.below(at.pkg))
	r.set(at.ref, r.make(w.tick(), what+" by hand", f, at.tip))
	w.edited[at.place] = true
	w.log("person: %s on %s of %s: %s", what, at.ref, at.place, word)
}

// mergeOne is a forge's merge of one open branch.
func (w *world) mergeOne(o operation) {
	if list := w.open(draft, proposed); len(list) > 0 {
		w.merge([]branch{at(list, o.a)}, o.b%4, o.c%2 == 0)
	}
}

// mergeMany is a forge's merge of all open branches of one repository in one
// request.
func (w *world) mergeMany(o operation) {
	repo := at(w.targets, o.a).name
	list := slices.DeleteFunc(w.open(draft, proposed), func(b branch) bool { return b.repo != repo })
	if len(list) > 0 {
		w.merge(list, o.b%2, o.c%2 == 0)
	}
}

// The styles of a forge's merge.
const (
	mergeCommit = iota
	squash
	rebase
	fastForward
)

// merge brings branches of one repository to main; what conflicts stays open.
func (w *world) merge(list []branch, style int, remove bool) {
	r := w.repos[list[0].repo]
	main := r.ref(mainRef)
	tip, f, parents := main, r.files(main), []hash{main}
	var taken []branch
	for _, b := range list {
		base := r.base(main, b.tip)
		all, ok := merged(r.files(base), f, r.files(b.tip))
		switch {
		case !ok || r.ancestors(main)[b.tip]:
			continue
		case style == fastForward && base != main:
			continue
		case style == fastForward:
			tip = b.tip
		case style == rebase:
			tip = w.replay(r, tip, base, b.tip)
		}
		f, taken, parents = all, append(taken, b), append(parents, b.tip)
	}
	if len(taken) == 0 {
		return
	}
	switch style {
	case mergeCommit:
		tip = r.make(w.tick(), "Merge request", f, parents...)
	case squash:
		tip = r.make(w.tick(), "Squashed request", f, main)
	}
	r.set(mainRef, tip)
	for _, b := range taken {
		w.log("forge: merge %s of %s by style %d, remove %t", b.ref, b.place, style, remove)
		if w.squashed[b.place] = style == squash || style == rebase; w.squashed[b.place] && w.broken[b.repo] {
			w.edited[b.place] = true
		}
		if remove {
			r.set(b.ref, hash{})
		}
	}
}

// replay makes the commits from base to tip anew on another commit, as a forge
// that rebases does: what changes nothing there is left out.
func (w *world) replay(r *repository, onto, base, tip hash) hash {
	var chain []hash
	for at := tip; !r.ancestors(base)[at]; at = r.commit(at).ParentHashes[0] {
		chain = append(chain, at)
		if len(r.commit(at).ParentHashes) == 0 {
			break
		}
	}
	slices.Reverse(chain)
	for _, h := range chain {
		c := r.commit(h)
		var before files
		if len(c.ParentHashes) > 0 {
			before = r.files(c.ParentHashes[0])
		}
		here := r.files(onto)
		f, ok := merged(before, here, r.files(h))
		if ok && !maps.Equal(f, here) {
			onto = r.make(w.tick(), c.Message, f, onto)
		}
	}
	return onto
}

// sync is a person's merge of main into an open branch.
func (w *world) sync(o operation) {
	list := w.open(draft, proposed)
	if len(list) == 0 {
		return
	}
	b := at(list, o.a)
	r := w.repos[b.repo]
	main := r.ref(mainRef)
	f, ok := merged(r.files(r.base(b.tip, main)), r.files(b.tip), r.files(main))
	if !ok || r.ancestors(b.tip)[main] || len(f.below(b.pkg)) == 0 { // a Draft without its package fails
		return
	}
	r.set(b.ref, r.make(w.tick(), "Merge main", f, b.tip, main))
	w.log("person: merge main into %s of %s", b.ref, b.place)
}

// decideOne decides about one open package by its name.
func (w *world) decideOne(verb string, n int) {
	if list := w.open(draft, proposed, deletion); len(list) > 0 {
		w.decide(verb, at(list, n).place.String())
	}
}

var classLine = regexp.MustCompile(`(?m)^class ([0-9a-f@]+)`)

// approveClass approves one class of what review shows.
func (w *world) approveClass(o operation) {
	if ids := classLine.FindAllStringSubmatch(w.reads("review").out, -1); len(ids) > 0 {
		w.decide("approve", "--class", at(ids, o.a)[1])
	}
}

// atRequest calls f once, before the n-th request that a command makes of a
// repository: requests of one come in order, those of several do not.
func (w *world) atRequest(n, repo int, f func()) {
	names := []string{"catalog"}
	for _, t := range w.targets {
		names = append(names, t.name, t.name)
	}
	name := at(names, repo)
	var count atomic.Int32
	w.disturbed = true
	w.forge.Before(func(_, r string) {
		if r == name && int(count.Add(1)) == 1+n%5 {
			f()
		}
	})
}

// calm ends what atRequest began.
func (w *world) calm() {
	w.forge.Before(nil)
	w.disturbed = false
}

// race lets something else happen at one request of an apply.
func (w *world) race(o operation) {
	before := w.snapshot()
	w.atRequest(o.a, o.c, func() {
		switch o.b % 4 {
		case 0:
			w.run("apply")
		case 1:
			w.run("approve", "--all")
		case 2:
			w.editDraft(operation{a: o.c, b: o.a})
		case 3:
			w.mergeOne(operation{a: o.c, b: o.a, c: o.b})
		}
	})
	r := w.run("apply", "-o", "json")
	w.calm()
	r.approves, r.merges = o.b%4 == 1, o.b%4 == 3
	w.checkMoves(before, r)
}

// kill ends a command at one of its requests.
func (w *world) kill(o operation) {
	before := w.snapshot()
	ctx, cancel := context.WithCancel(w.ctx)
	defer cancel()
	w.atRequest(o.a, o.c, cancel)
	command := [][]string{{"apply"}, {"approve", "--all"}, {"apply", "--prune"}}[o.b%3]
	r := w.runUnder(ctx, command...)
	w.calm()
	if s, over := w.forge.(httpForge); over { // what was on its way arrives
		s.WaitServed()
	}
	w.checkMoves(before, r)
}

// loseAnswer lets an apply's push happen and loses what the server says.
func (w *world) loseAnswer(operation) {
	plan := w.planned(w.run("plan", "-o", "json"))
	if !slices.ContainsFunc(plan.Variants, plannedVariant.pending) {
		return
	}
	w.forge.DropPushReply()
	w.apply()
}
