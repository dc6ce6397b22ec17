package histories

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/variform/variform/internal/decide"
)

// strategy says how a set's packages are updated, and whose value stands where an
// update meets an edit.
func (w *world) strategy(o operation) {
	p := at(w.pkgs, o.a)
	if o.b%3 == 0 {
		p.keep = !p.keep
		return
	}
	p.strategy = at([]string{"", "resource-merge", "copy-merge", "force-delete-replace", "fast-forward"}, o.c)
}

// byHand lets a person write what a set makes of one target, or leave it to the
// set again.
func (w *world) byHand(o operation) {
	p, t := at(w.pkgs, o.a), at(w.targets, o.b)
	p.byHand[t.name] = !p.byHand[t.name]
}

var (
	imageTag   = regexp.MustCompile(`example\.com/app:(\S+)`)
	levelValue = regexp.MustCompile(`level: (\S+)`)
)

// automation is a bot's commit to main of another image, as Flux makes it.
func (w *world) automation(o operation) {
	list := slices.DeleteFunc(w.onMain(), func(b branch) bool {
		return w.repos[b.repo].text(w.repos[b.repo].files(b.tip), b.pkg+"/deploy.yaml") == ""
	})
	if len(list) == 0 {
		return
	}
	b := at(list, o.a)
	r := w.repos[b.repo]
	f := maps.Clone(r.files(b.tip))
	text := r.text(f, b.pkg+"/deploy.yaml")
	word := fmt.Sprintf("e%dx", w.next())
	f[b.pkg+"/deploy.yaml"] = r.put(imageTag.ReplaceAllString(text, "example.com/app:"+word))
	w.said.WriteString("written over: " + strings.Join(imageTag.FindStringSubmatch(text), " ") + "\n")
	r.set(mainRef, r.make(w.tick(), "Update image", f, b.tip))
	w.edited[b.place] = true
	w.log("automation: %s on main: %s", b.place, word)
}

// replaced says whether an update that goes by files named one that it dropped.
func (w *world) replaced(p place, file string) bool {
	byFile := slices.Contains([]string{"copy-merge", "force-delete-replace"}, w.upstreamOf(p).strategy)
	return byFile && regexp.MustCompile(regexp.QuoteMeta(file)+`:[^\n]*(wins with|overruled|lost)`).MatchString(w.said.String())
}

// checkKept: what an update by fields has of main is as main has it, where a field
// is owned elsewhere, or the set says that edits are kept.
func (w *world) checkKept(m move, main, have files, r result) {
	repo := w.repos[m.repo]
	for _, k := range []struct {
		file  string
		value *regexp.Regexp
		asked bool
	}{{"deploy.yaml", imageTag, true}, {"config.yaml", levelValue, w.upstreamOf(m.place()).keep}} {
		was, is := k.value.FindStringSubmatch(repo.text(main, k.file)), k.value.FindStringSubmatch(repo.text(have, k.file))
		if k.asked && was != nil && is != nil && token.MatchString(was[1]) && !token.MatchString(is[1]) && w.tookBack[token.FindString(was[1])] == "" {
			w.violate("what is to be kept is kept", m.place(), "%s writes over %s of main", r.args[0], was[0])
		}
	}
}

// revert is a person who takes back on main what came there last, or all since an
// earlier revision, or the package.
func (w *world) revert(o operation) {
	list := w.onMain()
	if len(list) == 0 {
		return
	}
	b := at(list, o.a)
	r := w.repos[b.repo]
	var to hash
	switch o.b % 5 {
	case 0, 1: // git revert
		for to = b.tip; sameFiles(r.files(to).below(b.pkg), r.files(b.tip).below(b.pkg)); to = r.commit(to).ParentHashes[0] {
			if len(r.commit(to).ParentHashes) == 0 {
				return
			}
		}
	case 2, 3:
		tags := r.tagged(b.pkg)
		if len(tags) == 0 {
			return
		}
		to = r.ref(at(tags, o.c))
	}
	f, was := maps.Clone(r.files(b.tip)), r.files(b.tip).below(b.pkg)
	is := r.files(to).below(b.pkg)
	if sameFiles(was, is) {
		return
	}
	maps.DeleteFunc(f, func(p string, _ entry) bool { return strings.HasPrefix(p, b.pkg+"/") })
	for p, e := range is {
		f[b.pkg+"/"+p] = e
	}
	delete(w.removed, b.place)
	w.writtenOver(r, was, is)
	r.set(mainRef, r.make(w.tick(), "Revert", f, b.tip))
	w.waits[b.place] = true
	w.deleted[b.place] = len(is) == 0 && len(r.tagged(b.pkg)) > 0
	switch tagged := r.tagged(b.pkg); {
	case o.b%5 < 2 && len(is) > 0: // what stood there may never have been a revision
		w.edited[b.place] = true
	case len(tagged) > 0 && !sameFiles(is, r.files(r.ref(tagged[len(tagged)-1])).below(b.pkg)): // else nothing was taken back that was Published
		if !w.broken[b.repo] || !w.squashed[b.place] { // what came by a request's head the record alone tells
			w.leave(b.place)
		}
	}
	w.log("person: revert of %s on main", b.place)
}

func sameFiles(a, b files) bool { return maps.Equal(a, b) }

// writtenOver says which edits a person takes back, which is no loss.
func (w *world) writtenOver(r *repository, was, is files) {
	stays := r.tokens(is)
	for t := range r.tokens(was) {
		if _, ok := stays[t]; !ok {
			w.said.WriteString("written over: " + t + "\n")
		}
	}
}

// hold holds a wanted package, or takes a hold off.
func (w *world) hold(o operation) {
	list := w.wanted()
	if len(list) == 0 {
		return
	}
	p := at(list, o.a)
	args := []string{"hold", p.String(), "--reason", "wait", "-o", "json"}
	if w.held[p] {
		args = []string{"hold", p.String(), "--off", "-o", "json"}
	}
	before := w.snapshot()
	if r := w.run(args...); r.status == 0 {
		w.held[p] = !w.held[p]
	}
	if m := moves(before, w.snapshot()); len(m) > 0 {
		w.violate("words move nothing", m[0].place(), "hold moved %s", m[0].ref)
	}
}

// discard says no to a package's open Drafts: to all by its name, or to one by that
// one's.
func (w *world) discard(o operation) {
	list := slices.DeleteFunc(w.open(draft, proposed), func(b branch) bool { return !w.isWanted(b.place) })
	if len(list) == 0 {
		return
	}
	b := at(list, o.a)
	name, goes := b.String(), func(ref string) bool { return parse(ref).open() && parse(ref).pkg == b.pkg }
	if o.b%2 == 0 {
		name, goes = decide.PorchName(b.repo, b.pkg, parse(b.ref).last), func(ref string) bool { return ref == b.ref }
	}
	before := w.snapshot()
	for ref, tip := range before[b.repo] {
		if r := w.repos[b.repo]; goes(ref) {
			w.writtenOver(r, r.files(tip).below(b.pkg), files{})
		}
	}
	r := w.run("discard", name, "--reason", "not this", "-o", "json")
	w.checkMoves(before, r)
	after := w.snapshot()
	if r.status != 0 {
		return
	}
	w.mayLearnPolicy(b.place)
	for ref, tip := range before[b.repo] {
		switch k := parse(ref); {
		case goes(ref) && after[b.repo][ref] != (hash{}):
			w.violate("what is discarded goes", b.place, "a %s stays", k.kind)
		case !goes(ref) && k.kind != ours && after[b.repo][ref] != tip:
			w.violate("what is discarded goes", b.place, "a %s goes with it", k.kind)
		}
	}
	reverts := false
	for ref, tip := range before[b.repo] {
		reverts = reverts || goes(ref) && w.repos[b.repo].reverts(tip)
	}
	if !reverts { // no run makes one that sets the package back
		w.leave(b.place)
	}
	w.withDraft(b.place)
}

// reverts reports whether a Draft sets its package back.
func (r *repository) reverts(tip hash) bool {
	m := r.machineBelow(tip)
	return m != nil && strings.Contains(m.Message, "\nVariform-Reverts: ")
}

// withDraft forgets the removals that went with a Draft: main never had those files.
func (w *world) withDraft(p place) {
	r := w.repos[p.repo]
	main := r.ancestors(r.ref(mainRef))
	maps.DeleteFunc(w.removed[p], func(file string, _ bool) bool {
		for c := range main {
			if _, had := r.files(c)[p.pkg+"/"+file]; had {
				return false
			}
		}
		return true
	})
}

// takeBack has a package set back to what one of its revisions held: by a Draft of
// just that, which is then approved, or left to whoever comes.
func (w *world) takeBack(o operation) {
	list := slices.DeleteFunc(w.wanted(), func(p place) bool { return len(w.repos[p.repo].tagged(p.pkg)) == 0 })
	if len(list) == 0 {
		return
	}
	p := at(list, o.a)
	r := w.repos[p.repo]
	to := at(r.tagged(p.pkg), o.b)
	was := r.files(r.ref(to)).below(p.pkg)
	before := w.snapshot()
	done := w.run("revert", p.String(), parse(to).last, "-o", "json")
	after := w.snapshot()
	drafted := ""
	for _, m := range moves(before, after) {
		switch {
		case m.repo != p.repo || !m.parsed.open() || m.parsed.pkg != p.pkg:
			w.violate("a revert is a Draft", p, "revert moves a %s", m.parsed.kind)
		case m.after.IsZero(): // one that was Proposed comes back
		case !sameFiles(r.files(m.after).below(p.pkg), was):
			w.violate("a revert is a Draft", p, "revert drafts something else than the revision held")
		default:
			drafted = m.ref
		}
	}
	if done.status != 0 && drafted != "" {
		w.violate("exit status", p, "revert drafts, and ends with %d: %s", done.status, firstLine(done.err))
	}
	if drafted == "" {
		return
	}
	w.hear(before, moves(before, after))
	w.writtenOver(r, r.files(r.ref(mainRef)).below(p.pkg), was)
	maps.Copy(w.tookBack, r.tokens(r.files(r.ref(mainRef)).below(p.pkg)))
	delete(w.removed, p)
	w.edited[p], w.waits[p] = true, true
	if o.c%2 == 0 {
		w.decide("approve", decide.PorchName(p.repo, p.pkg, parse(drafted).last))
		if sameFiles(r.files(r.ref(mainRef)).below(p.pkg), was) {
			w.leave(p)
		}
	}
}

// leave notes that a person said no to what was made of a package.
func (w *world) leave(p place) { w.left[p], w.waits[p] = w.made[p]+w.standing(p), true }

// tagged are the tags of a package, the oldest first.
func (r *repository) tagged(pkg string) []string {
	tags := slices.Sorted(maps.Keys(r.refs()))
	tags = slices.DeleteFunc(tags, func(ref string) bool { k := parse(ref); return k.kind != tag || k.pkg != pkg })
	slices.SortStableFunc(tags, func(a, b string) int { return cmp.Compare(len(a), len(b)) }) // v10 after v9
	return tags
}

// checkLeft: what is held stays as it is, and what a person said no to is not
// drafted again of the same inputs.
func (w *world) checkLeft(before map[string]map[string]hash, all []move, r result) {
	opened := map[place]bool{}
	for repo, refs := range before {
		for ref := range refs {
			k := parse(ref)
			opened[place{repo, k.pkg}] = opened[place{repo, k.pkg}] || k.open()
		}
	}
	for p := range w.deleted {
		if repo := w.repos[p.repo]; !w.isWanted(p) || len(repo.files(repo.ref(mainRef)).below(p.pkg)) > 0 {
			delete(w.deleted, p)
		}
	}
	for _, m := range all {
		p, repo := m.place(), w.repos[m.repo]
		switch {
		case !slices.Contains([]string{"apply", "approve"}, r.args[0]), !m.after.IsZero() && repo.byPerson(m.after):
		case m.parsed.kind == onMain && r.merges:
		case m.parsed.kind == onMain:
			was, is := repo.files(m.before), repo.files(m.after)
			for _, u := range w.pkgs {
				if q := (place{m.repo, u.name}); w.held[q] && !sameFiles(was.below(u.name), is.below(u.name)) {
					w.violate("what is held stays", q, "%s changes it on main", r.args[0])
				}
			}
		case w.held[p]:
			w.violate("what is held stays", p, "%s moves a %s", r.args[0], m.parsed.kind)
		case m.parsed.open() && m.before.IsZero() && !opened[p] && r.args[0] == "apply" && w.isWanted(p) && w.left[p] == w.inputs(p)+w.standing(p):
			w.violate("no is no", p, "apply drafts again what a person took back")
		case m.parsed.open() && m.before.IsZero() && !opened[p] && r.args[0] == "apply" && w.deleted[p] && !slices.Contains(r.args, "--recreate"):
			w.violate("no is no", p, "apply drafts again what a person deleted on main")
		}
	}
}

// lead takes back what keeps packages as they are, so that all can go on.
func (w *world) lead() {
	w.mend()
	w.removeReplaced()
	for _, u := range w.pkgs {
		if u.strategy == "fast-forward" {
			u.strategy = ""
		}
	}
	args := []string{"apply"}
	for _, p := range w.places() {
		w.run("hold", p.String(), "--off")
		delete(w.held, p)
		delete(w.heldOnce, p)
	}
	w.oneEach()
	for _, p := range w.wanted() {
		args = append(args, "--retry", p.String(), "--recreate", p.String())
	}
	clear(w.left)
	clear(w.waits)
	before := w.snapshot()
	w.checkMoves(before, w.run(args...))
}

// oneEach discards what is open of a package beside a revert: approve asks a person to
// choose.
func (w *world) oneEach() {
	seen := map[place]bool{}
	for _, b := range w.open(draft, proposed) {
		if r := w.repos[b.repo]; seen[b.place] && w.isWanted(b.place) {
			w.writtenOver(r, r.files(b.tip).below(b.pkg), files{})
			before := w.snapshot()
			w.checkMoves(before, w.run("discard", decide.PorchName(b.repo, b.pkg, parse(b.ref).last), "--reason", "one is enough"))
		}
		seen[b.place] = true
	}
}
