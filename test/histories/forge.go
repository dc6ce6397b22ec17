package histories

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/object"
)

// forgeries are what somebody does as Variform who may push every ref but the registered branch
// and tags.
var forgeries = []kindOfOperation{
	{"forge", 6, (*world).impersonate},
	{"request-forge", 4, (*world).forgeHead},
}

// generateForged makes the history of a seed with somebody who forges, every third with
// requests on a forge.
func generateForged(seed uint64, steps int) history {
	if seed%3 == 0 {
		return onForge(generate(seed, steps, slices.Concat(operations, requestOperations, forgeries)))
	}
	return generate(seed, steps, slices.Concat(operations, forgeries[:1]))
}

// impersonate is somebody who may push any branch and the record, but no registered branch and no
// tag, and who writes as the machine does. Where there is none of what is to be forged, it is a
// Draft.
func (w *world) impersonate(o operation) {
	forgeries := []func(*world, operation, int) bool{
		(*world).forgeDraft, (*world).forgeDraft, (*world).forgeDraft, (*world).hideEdit, (*world).hideEdit,
		(*world).hideHotfix, (*world).hideHotfix, (*world).hideHotfix,
	}
	if how := o.b / len(forgeries); !at(forgeries, o.b)(w, o, how) {
		w.forgeDraft(o, how)
	}
}

// How much of what says what a Draft is gets forged.
const (
	bothForged     = iota // the commit's trailers and the record
	trailersForged        // the record knows nothing of the commit
	recordForged          // the commit names another tree
	recordLost            // the trailers, and there is no record
	revertForged          // both, and the commit claims to be a revert
)

var (
	hydratedLine = regexp.MustCompile(`(?m)^Variform-Hydrated: .*$`)
	reviewLine   = regexp.MustCompile(`(?m)^Variform-Review: .*\n`)
	placeField   = regexp.MustCompile(`"place":"[a-z]+"`)
)

// forgeDraft puts a word into the last commit of a Draft, which stays the machine's.
func (w *world) forgeDraft(o operation, how int) bool {
	list := slices.DeleteFunc(w.open(draft, proposed), func(b branch) bool {
		r := w.repos[b.repo]
		return r.byPerson(b.tip) || !hydratedLine.MatchString(r.commit(b.tip).Message) || !w.canForge(b)
	})
	if len(list) == 0 {
		return false
	}
	b := at(list, o.a)
	r := w.repos[b.repo]
	f, word := w.withWord(r, r.files(b.tip), b.pkg, o.c)
	w.pretend(b, r.commit(b.tip), f, how%5)
	w.log("forger: %s of %s says that the machine wrote %s", b.ref, b.repo, word)
	return true
}

// canForge reports whether the model knows what becomes of a forged Draft: this version of the
// program made it, and reads its record.
func (w *world) canForge(b branch) bool {
	_, newer := w.newer[b.place]
	return !newer && !w.broken[b.repo] && w.repos[b.repo].recordRef() != "" && !w.unowned[branch{place: b.place, ref: b.ref}]
}

// withWord are the files of a commit with a forged word in a package.
func (w *world) withWord(r *repository, was files, pkg string, kind int) (f files, word string) {
	f, word = maps.Clone(was), fmt.Sprintf("e%dx", w.next())
	change := func(name string, do func(text string) string) {
		path := pkg + "/" + name
		if _, there := f[path]; there {
			f[path] = r.put(do(r.text(f, path)))
		}
	}
	switch kind % 4 {
	case 1:
		change("config.yaml", func(text string) string { return levelLine.ReplaceAllString(text, "level: "+word) })
	case 2:
		change("deploy.yaml", func(text string) string { return imageTag.ReplaceAllString(text, "example.com/app:"+word) })
	case 3:
		name := "forged" + word
		f[pkg+"/"+name+".yaml"] = r.put(configMap(name, "  a: "+word+"\n"))
	}
	if maps.Equal(f, was) {
		change("README.md", func(text string) string { return text + "\n" + word + "\n" })
	}
	w.writtenOver(r, was.below(pkg), f.below(pkg))
	return f, word
}

// pretend replaces a Draft's tip with a commit of the machine that claims to have made all that
// the files have.
func (w *world) pretend(b branch, machine *object.Commit, f files, how int) {
	r := w.repos[b.repo]
	tree := r.tree(f.below(b.pkg)).String()
	message := machine.Message
	if how != recordForged {
		message = hydratedLine.ReplaceAllString(reviewLine.ReplaceAllString(message, ""), "Variform-Hydrated: "+tree)
	}
	if how == revertForged && len(r.tagged(b.pkg)) > 0 {
		message = strings.TrimRight(message, "\n") + "\nVariform-Reverts: v1 by Ann Tester\n"
	}
	tip := r.amend(machine, message, f)
	r.forge(tip)
	r.set(b.ref, tip)
	switch how {
	case bothForged, recordForged, revertForged:
		w.enter(b, "open", tip, f)
	case recordLost:
		w.forget(b.repo)
		r.set(r.recordRef(), hash{})
	}
	for word := range r.tokens(f.below(b.pkg)) {
		w.forgedWords[word] = b.repo
	}
	w.forgotten[b.place], w.edited[b.place], w.waits[b.place] = true, true, true
	w.onMainAlready()
}

// enter has the record say that a commit is the machine's, and all that the package has there:
// of a Draft in its own entry, of the registered branch in that of the Draft that was merged
// there, or of what was there before.
func (w *world) enter(b branch, place string, commit hash, f files) bool {
	r := w.repos[b.repo]
	ref := r.recordRef()
	record := r.files(r.ref(ref))
	content := map[string]string{"open": "open/" + b.pkg + "/" + parse(b.ref).last + "/", "main": "main/" + b.pkg + "/"}[place]
	entered := false
	for path := range record {
		if !strings.HasPrefix(path, "index/") {
			continue
		}
		lines := slices.Collect(strings.Lines(r.text(record, path)))
		of := func(kind string) int {
			return slices.IndexFunc(lines, func(line string) bool {
				return strings.Contains(line, fmt.Sprintf(`"path":%q,"place":%q`, b.pkg, kind)) && (kind == "main" || strings.Contains(line, fmt.Sprintf(`"workspace":%q`, parse(b.ref).last)))
			})
		}
		i := of("open")
		if i < 0 && place == "main" {
			i = of("main")
		}
		if i < 0 {
			continue
		}
		tree := r.tree(f.below(b.pkg)).String()
		line := entryHash.ReplaceAllStringFunc(placeField.ReplaceAllString(lines[i], `"place":"`+place+`"`), func(field string) string {
			key, _, _ := strings.Cut(field, ":")
			return fmt.Sprintf("%s:%q", key, map[bool]string{true: commit.String(), false: tree}[key == `"commit"`])
		})
		if m := of("main"); place == "main" && m >= 0 && m != i {
			lines[m] = ""
		}
		lines[i] = line
		record[path] = r.put(strings.Join(lines, ""))
		entered = true
	}
	if !entered {
		return false
	}
	maps.DeleteFunc(record, func(path string, _ entry) bool { return strings.HasPrefix(path, content) })
	for path, e := range f.below(b.pkg) {
		record[content+path] = e
	}
	r.set(ref, r.amend(r.commit(r.ref(ref)), "Record", record))
	return true
}

// hideEdit replaces a person's commit on a Draft by one of the machine that holds the same.
func (w *world) hideEdit(o operation, how int) bool {
	type hidden struct {
		branch
		machine *object.Commit
	}
	var list []hidden
	for _, b := range w.open(draft, proposed) {
		if m := w.repos[b.repo].machineBelow(b.tip); m != nil && w.repos[b.repo].byPerson(b.tip) && w.canForge(b) {
			list = append(list, hidden{b, m})
		}
	}
	if len(list) == 0 {
		return false
	}
	b := at(list, o.a)
	r := w.repos[b.repo]
	if o.c%2 == 0 { // upon the machine's own, or instead of it
		b.machine.ParentHashes = r.commit(b.tip).ParentHashes
	}
	w.pretend(b.branch, b.machine, r.files(b.tip), how%5)
	w.log("forger: %s of %s says that the machine wrote what a person did", b.ref, b.repo)
	return true
}

// machineBelow is the nearest commit of the machine that leads to a person's, nil for none.
func (r *repository) machineBelow(tip hash) *object.Commit {
	main := r.ancestors(r.ref(mainRef))
	for h := tip; !main[h]; {
		c := r.commit(h)
		switch {
		case !r.byPerson(h) && hydratedLine.MatchString(c.Message):
			return c
		case len(c.ParentHashes) == 0:
			return nil
		}
		h = c.ParentHashes[0]
	}
	return nil
}

// hideHotfix has a forge squash a Draft to main without a word of the machine, and a person fix
// something there. The record then claims the fix as the machine's.
func (w *world) hideHotfix(o operation, how int) bool {
	list := slices.DeleteFunc(w.open(draft, proposed), func(b branch) bool { return !w.canForge(b) })
	if len(list) == 0 {
		return false
	}
	b := at(list, o.a)
	r := w.repos[b.repo]
	main := r.ref(mainRef)
	w.merge([]branch{b}, squash, o.c%2 == 0)
	if r.ref(mainRef) == main {
		return false
	}
	if how%3 == 0 { // a run tags it before
		w.apply()
	}
	w.edit(branch{b.place, mainRef, r.ref(mainRef)}, o.c)
	w.forget(b.repo)
	w.edited[b.place], w.waits[b.place] = true, true
	if r.recordRef() != "" && w.enter(b, "main", r.ref(mainRef), r.files(r.ref(mainRef))) {
		w.log("forger: the record says that the machine wrote main of %s", b.place)
	}
	if u := w.upstreamOf(b.place); how%2 == 0 { // the update that would take the fix back
		u.size++
		w.release(u)
		w.apply()
	}
	return true
}

// forgeHead puts a word into the branch of a request, as the machine. No run
// may say then that the request's head is proved.
func (w *world) forgeHead(o operation) {
	list := slices.DeleteFunc(w.requests("open"), func(q request) bool {
		return len(q.holds) == 0 || parse(q.ref()).kind != head || w.repos[q.repo].byPerson(q.tip)
	})
	if len(list) == 0 {
		return
	}
	q := at(list, o.a)
	r := w.repos[q.repo]
	pkg := at(q.holds, o.c)
	f, word := w.withWord(r, r.files(q.tip), pkg, o.c)
	c := r.commit(q.tip)
	if o.b%2 == 0 {
		c.ParentHashes = []hash{q.tip}
	}
	tip := r.amend(c, c.Message, f)
	r.forge(tip)
	r.set(q.ref(), tip)
	w.forgedWords[word] = q.repo
	w.said.WriteString("written over: " + word + "\n") // a run may make the head anew
	p := place{q.repo, pkg}
	w.edited[p], w.waits[p] = true, true
	w.log("forger: %s of %s says that the machine wrote %s", q.ref(), q.repo, word)
	if o.b%3 > 0 {
		w.apply()
	}
}

// onMainAlready forgets the forged words that the registered branch has: a person, a forge or
// who approved their class brought them there.
func (w *world) onMainAlready() {
	if len(w.forgedWords) == 0 {
		return
	}
	for name, r := range w.repos {
		words := r.tokens(r.files(r.ref(mainRef)))
		maps.DeleteFunc(w.forgedWords, func(word, repo string) bool { return repo == name && words[word] != "" })
	}
}

// checkForged: what is forged is published only as it was shown: with the class that shows it.
func (w *world) checkForged(before map[string]map[string]hash, m move, r result) {
	repo := w.repos[m.repo]
	main := before[m.repo][mainRef]
	publishes := m.parsed.kind == onMain || m.parsed.kind == tag && m.before.IsZero()
	if len(w.forgedWords) == 0 || !publishes || m.after.IsZero() || r.merges || repo.ancestors(main)[m.after] {
		return
	}
	had := repo.tokens(repo.files(main))
	for word, file := range repo.tokens(repo.files(m.after)) {
		if _, forged := w.forgedWords[word]; !forged || had[word] != "" {
			continue
		}
		pkg, rest, _ := strings.Cut(file, "/")
		switch {
		case !slices.Contains(r.args, "--class"):
			w.violate("what is forged is published only as it was shown", place{m.repo, pkg}, "%s publishes what is forged in %s, without its class", r.name(), rest)
		case !strings.Contains(w.shown, word):
			w.violate("what is forged is published only as it was shown", place{m.repo, pkg}, "%s of a class publishes what is forged in %s, and review did not show it", r.name(), rest)
		}
	}
}

// checkForgedHeads: no check says that the head of a request is proved that holds what is forged
// there alone.
func (w *world) checkForgedHeads() {
	for _, q := range w.requests("open") {
		alone := w.onHeadAlone(q.repo, q.tip, w.snapshot())
		for _, s := range w.door.servers[q.repo].Statuses(nil, q.tip.String()) {
			for word, file := range alone {
				if pkg, _, _ := strings.Cut(file, "/"); w.forgedWords[word] != "" && s.State == "success" {
					w.violate("a forged head is not proved", place{q.repo, pkg}, "%s says %s", s.Context, s.State)
				}
			}
		}
	}
}
