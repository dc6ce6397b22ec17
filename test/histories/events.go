package histories

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// eventOperations damage repositories, tags, Drafts, caches and packages in the ways in which
// servers, people and other tools do. An event that a fleet cannot live with ends in its own
// step: the step runs commands while the damage lasts, checks them, and repairs it.
var eventOperations = []kindOfOperation{
	{"lose-branch", 2, (*world).loseBranch},
	{"lose-tags", 2, (*world).loseTags},
	{"move-repository", 1, (*world).moveRepository},
	{"lose-cache", 2, (*world).loseCache},
	{"crlf", 1, (*world).writeCRLF},
	{"rename-draft", 2, (*world).renameDraft},
	{"amend-draft", 2, (*world).amendDraft},
	{"break-upstream", 2, (*world).breakUpstream},
	{"comment", 3, (*world).changeComments},
	{"merge-unbuilt", 3, (*world).mergeUnbuilt},
	{"read-all", 2, func(w *world, _ operation) { w.readAll() }},
}

// readers are commands that write nothing.
var readers = [][]string{{"plan"}, {"status"}, {"edits"}, {"review"}, {"record", "check"}, {"outdated"}}

// readAll runs every command that only reads: none moves a ref, and none panics.
func (w *world) readAll() {
	for _, args := range readers {
		w.reads(args...)
	}
	if list := w.wanted(); len(list) > 0 {
		w.reads("blame", list[0].String())
	}
}

// loseBranch renames or deletes a registered branch, or registers a mistyped name. No command
// creates the branch again or moves anything in that repository, and each reports the branches
// that exist.
func (w *world) loseBranch(o operation) {
	t := at(w.targets, o.a)
	r := w.repos[t.name]
	tip := r.ref(mainRef)
	missing := "main"
	switch o.b % 3 {
	case 0:
		w.log("forge: main of %s is renamed to trunk", t.name)
		r.set("refs/heads/trunk", tip)
		r.set(mainRef, hash{})
	case 1:
		w.log("forge: main of %s is deleted, beside another branch", t.name)
		r.set("refs/heads/trunk", tip)
		r.set(mainRef, hash{})
	case 2:
		w.log("person: the Repository %s names a branch that does not exist", t.name)
		missing = "mian"
		w.branches[t.name] = missing
		r.set("refs/heads/trunk", tip)
	}
	before := r.refs()
	others := w.snapshot()
	for _, args := range [][]string{{"apply"}, {"approve", "--all"}, {"approve", "--main"}, {"apply", "--prune", "--max-delete=99"}, {"status"}, {"edits"}, {"review"}} {
		res := w.run(args...)
		if w.twin != nil && args[0] == "apply" {
			continue // a twin prints nothing
		}
		if t.in && len(w.pkgs) > 0 && slices.Contains([]string{"apply", "status"}, args[0]) {
			if res.status == 0 {
				w.violate("a missing branch is an error", place{t.name, ""}, "%s ends with 0", args[0])
			}
			if said := res.out + res.err; !strings.Contains(said, missing) || !strings.Contains(said, "trunk") {
				w.violate("a missing branch is an error", place{t.name, ""}, "%s does not name %s and trunk: %s", args[0], missing, firstLine(said))
			}
		}
	}
	for ref, now := range r.refs() {
		switch was := before[ref]; {
		case now == was || parse(ref).kind == ours:
		case ref == "refs/heads/"+missing:
			w.violate("no run creates a registered branch", place{t.name, ""}, "a run creates %s", missing)
		default:
			w.violate("a missing branch stops its repository", place{t.name, ""}, "a run moves a %s", parse(ref).kind)
		}
	}
	delete(w.branches, t.name)
	r.set("refs/heads/"+missing, hash{})
	r.set(mainRef, tip)
	r.set("refs/heads/trunk", hash{})
	for ref := range r.refs() { // what the runs above moved is judged; the history goes on from before
		if _, was := before[ref]; !was && ref != mainRef {
			r.set(ref, hash{})
		}
	}
	for ref, h := range before {
		if ref != "refs/heads/trunk" {
			r.set(ref, h)
		}
	}
	for name, refs := range others { // the other repositories went on
		if name != t.name {
			w.adopt(name, refs)
		}
	}
}

// adopt judges the moves that runs made in one repository, and hears their commits.
func (w *world) adopt(name string, was map[string]hash) {
	before := w.snapshot()
	before[name] = was
	w.hear(before, moves(before, w.snapshot()))
}

// loseTags deletes tags of a package, or moves the newest, as a server that was restored, a
// mirror or a person does. No command uses a number for another commit, or tags a commit that
// the number does not belong to; and a moved tag stops its package where the registered branch
// says at which commit the revision was Published. Of a revision that a forge merged no commit
// says its number: it is where its tag is, and where a forge squashed people's edits too, and the
// record could not keep what the machine made, the tag alone knows its number.
func (w *world) loseTags(o operation) {
	var list []place
	for _, p := range w.places() {
		if len(w.repos[p.repo].tagged(p.pkg)) > 0 {
			list = append(list, p)
		}
	}
	if len(list) == 0 {
		return
	}
	p := at(list, o.a)
	r := w.repos[p.repo]
	was := r.refs()
	tags := r.tagged(p.pkg)
	last := tags[len(tags)-1]
	stops, drafted := false, false
	switch o.b % 4 {
	case 0:
		w.log("forge: the tags of %s are lost", p)
		for _, ref := range tags {
			r.set(ref, hash{})
		}
	case 1:
		w.log("forge: %s is lost", last)
		r.set(last, hash{})
	default:
		to := r.ref(mainRef)
		if o.b%4 == 3 {
			to = at(slices.SortedFunc(maps.Keys(r.ancestors(to)), func(a, b hash) int { return strings.Compare(a.String(), b.String()) }), o.c)
		}
		if to == was[last] {
			return
		}
		w.log("person: %s moves to %s", last, to.String()[:7])
		r.set(last, to)
		stops = w.publishes(r, was[last], last) && w.isWanted(p)
	}
	for _, args := range [][]string{{"apply"}, {"approve", "--all"}, {"apply"}} {
		before := w.snapshot()
		res := w.run(args...)
		for _, m := range moves(before, w.snapshot()) {
			drafted = drafted || m.place() == p && m.parsed.open()
			switch {
			case m.place() != p:
			case stops && !m.after.IsZero():
				w.violate("a moved tag stops its package", p, "%s moves a %s", args[0], m.parsed.kind)
			case m.parsed.kind == tag && !was[m.ref].IsZero() && m.after != was[m.ref] && w.numbered(r, was[m.ref]):
				w.violate("a number belongs to one commit", p, "%s sets a tag that another commit had", args[0])
			}
		}
		w.checkMoves(before, res)
	}
	for _, ref := range tags {
		if at := r.ref(ref); drafted && !at.IsZero() && at != was[ref] && len(r.files(at).below(p.pkg)) > 0 {
			continue // a Draft was made from where it is now
		}
		r.set(ref, was[ref])
	}
	w.waits[p] = true
}

// numbered reports whether anything but its tag may say which number a commit of the registered
// branch had.
func (w *world) numbered(r *repository, at hash) bool {
	record := r.files(r.ref(r.recordRef()))
	for path := range record {
		if strings.Contains(r.text(record, path), at.String()) {
			return true
		}
	}
	return hydratedLine.MatchString(r.commit(at).Message) || strings.Contains(r.commit(at).Message, "kpt:{")
}

// publishes reports whether a commit is the approval of the revision of a tag, by its message.
func (w *world) publishes(r *repository, at hash, ref string) bool {
	tag := parse(ref)
	line := regexp.MustCompile(`kpt:\{[^\n]*"package":"` + regexp.QuoteMeta(tag.pkg) + `"[^\n]*"revision":"` + strings.TrimPrefix(tag.last, "v") + `"`)
	return line.MatchString(r.commit(at).Message)
}

// moveRepository moves a repository to another address, with or without the refs that only
// Variform reads. Its packages stay as they are.
func (w *world) moveRepository(o operation) {
	m, ok := w.forge.(memoryForge)
	if !ok {
		return
	}
	t := at(w.targets, o.a)
	r := w.repos[t.name]
	if ref := r.recordRef(); o.b%2 == 0 && ref != "" {
		w.forget(t.name)
		r.set(ref, hash{})
	}
	from := w.address(t.name)
	w.moved[t.name]++
	w.log("forge: %s moves to %s", from, w.address(t.name))
	m.Rename(from, w.address(t.name))
	w.madeElsewhere(t.name)
}

// madeElsewhere notes that packages may hold the address at which they were made.
func (w *world) madeElsewhere(repo string) {
	for _, p := range w.places() {
		if p.repo == repo {
			w.waits[p] = true
		}
	}
}

// loseCache empties the cache: the plan is what it was. A machine that remembers nothing takes
// a fleet that makes none of the packages of its name for another fleet
// (docs/design/record.md#where-it-stands), so that one is left out.
func (w *world) loseCache(operation) {
	if !slices.ContainsFunc(w.wanted(), w.isThere) {
		return
	}
	w.samePlan()
	must(0, os.RemoveAll(filepath.Join(w.dir, "cache"+w.machine)))
}

// isThere reports whether a package has a ref: a run that remembers nothing finds by refs what
// the fleet owns, and one that a forge merged has none until a run tags it.
func (w *world) isThere(p place) bool {
	open := func(b branch) bool { return b.place == p }
	return len(w.repos[p.repo].tagged(p.pkg)) > 0 || slices.ContainsFunc(w.open(draft, proposed), open)
}

// samePlan compares the plan of this machine with that of a machine whose cache is empty.
func (w *world) samePlan() {
	warm := w.actions()
	machine := w.machine
	w.machine = machine + "-empty"
	must(0, os.RemoveAll(filepath.Join(w.dir, "cache"+w.machine)))
	must(0, os.RemoveAll(filepath.Join(w.dir, "state"+w.machine)))
	cold := w.actions()
	must(0, os.RemoveAll(filepath.Join(w.dir, "cache"+w.machine)))
	w.machine = machine
	for key := range maps.Keys(warm) {
		if warm[key] != cold[key] {
			w.violate("plan is the same with an empty cache", place{}, "with this machine's cache %q, with an empty one %q", warm[key], cold[key])
			return
		}
	}
	if len(warm) != len(cold) {
		w.violate("plan is the same with an empty cache", place{}, "%d rows with this machine's cache, %d with an empty one", len(warm), len(cold))
	}
}

// actions returns what plan would do, by variant and ref.
func (w *world) actions() map[string]string {
	folder := filepath.Join(w.dir, "fleet")
	w.describe(folder, "")
	plan := w.planned(w.command(w.ctx, folder, "plan", "-o", "json"))
	out := map[string]string{}
	for _, v := range plan.Variants {
		out[v.Variant+" "+v.Ref] = v.Action
	}
	return out
}

// writeCRLF rewrites a package's ConfigMap with the line ends of another system.
func (w *world) writeCRLF(o operation) {
	list := w.open(draft)
	if o.b%2 == 0 {
		list = w.onMain()
	}
	if len(list) == 0 {
		return
	}
	b := at(list, o.a)
	r := w.repos[b.repo]
	f := maps.Clone(r.files(b.tip))
	path := b.pkg + "/config.yaml"
	text := r.text(f, path)
	if text == "" || strings.Contains(text, "\r") {
		return
	}
	f[path] = r.put(strings.ReplaceAll(text, "\n", "\r\n"))
	r.set(b.ref, r.make(w.tick(), "Windows line ends", f, b.tip))
	w.edited[b.place] = true
	w.log("person: CRLF in %s on %s of %s", path, b.ref, b.place)
}

// renameDraft gives an open branch another name, as a forge lets people do.
func (w *world) renameDraft(o operation) {
	list := w.open(draft)
	if len(list) == 0 {
		return
	}
	b := at(list, o.a)
	r := w.repos[b.repo]
	to := fmt.Sprintf("refs/heads/drafts/%s/renamed-%d", b.pkg, w.next())
	r.set(to, b.tip)
	r.set(b.ref, hash{})
	w.edited[b.place], w.waits[b.place] = true, true
	w.log("person: %s of %s is now %s", b.ref, b.repo, to)
}

// amendDraft replaces the last commit of a Draft by one with an edit: beside the commit's own
// parents, or without any.
func (w *world) amendDraft(o operation) {
	list := w.open(draft)
	if len(list) == 0 {
		return
	}
	b := at(list, o.a)
	r := w.repos[b.repo]
	f := maps.Clone(r.files(b.tip))
	word := fmt.Sprintf("e%dx", w.next())
	path := b.pkg + "/README.md"
	f[path] = r.put(r.text(f, path) + "\n" + word + "\n")
	parents := r.commit(b.tip).ParentHashes
	if o.b%2 == 0 {
		parents = nil
	}
	// Nobody knows now whose branch it is: a person has to remove it.
	w.unowned[branch{place: b.place, ref: b.ref}] = true
	w.forgotten[b.place] = true
	r.set(b.ref, r.make(w.tick(), "Amend by hand", f, parents...))
	w.edited[b.place], w.waits[b.place] = true, true
	w.log("person: amend %s of %s, %d parents: %s", b.ref, b.repo, len(parents), word)
}

// removeReplaced removes the Drafts whose history amendDraft replaced, as a person does who
// has read what they hold.
func (w *world) removeReplaced() {
	for b := range w.unowned {
		r := w.repos[b.repo]
		if tip := r.ref(b.ref); !tip.IsZero() {
			w.writtenOver(r, r.files(tip).below(b.pkg), files{})
			r.set(b.ref, hash{})
			w.withDraft(b.place)
		}
	}
	clear(w.unowned)
}

// unreadable are texts of a ConfigMap that cannot be read as one.
var unreadable = []string{
	"data: [\n", "a: 1\n\ta: 2\n", "<<<<<<< ours\na: 1\n=======\na: 2\n>>>>>>> theirs\n",
	"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  labels: {a: b}\ndata:\n  level: none\n", "\xff\xfea\x00",
}

// breakUpstream releases a version that cannot be read. The package's variants fail, whether or
// not a person edited them, and no command moves their refs. The next release is sound.
func (w *world) breakUpstream(o operation) {
	p := at(w.pkgs, o.a)
	p.version++
	r := w.repos["catalog"]
	f := maps.Clone(r.files(r.ref(mainRef)))
	file := p.name + "/config.yaml"
	if o.c%4 == 0 {
		file = p.name + "/Kptfile"
	}
	f[file] = r.put(at(unreadable, o.b))
	c := r.make(w.tick(), fmt.Sprintf("%s v%d, unreadable", p.name, p.version), f, r.ref(mainRef))
	r.set(mainRef, c)
	r.set(fmt.Sprintf("refs/tags/%s/v%d", p.name, p.version), c)
	w.log("release: %s v%d cannot be read", p.name, p.version)
	for _, args := range [][]string{{"apply", "-o", "json"}, {"approve", "--all"}} {
		before := w.snapshot()
		w.checkMoves(before, w.run(args...))
		for _, m := range moves(before, w.snapshot()) {
			lost := slices.ContainsFunc(slices.Collect(maps.Keys(w.repos[m.repo].files(m.before).below(p.name))), func(name string) bool {
				return name == "config.yaml" && !m.after.IsZero() && w.repos[m.repo].text(w.repos[m.repo].files(m.after), p.name+"/"+name) == ""
			})
			if lost && m.parsed.pkg == p.name {
				w.violate("nothing is merged from an unreadable side", m.place(), "%s drafts without config.yaml", args[0])
			}
			if m.parsed.open() && m.parsed.pkg == p.name && !m.after.IsZero() && args[0] == "apply" && w.isWanted(m.place()) &&
				strings.Contains(w.repos[m.repo].text(w.repos[m.repo].files(m.after), p.name+"/Kptfile"), fmt.Sprintf("ref: %s/v%d\n", p.name, p.version)) {
				w.violate("nothing is merged from an unreadable side", m.place(), "apply drafts the unreadable version")
			}
		}
	}
	p.level++
	w.release(p)
}

// changeComments releases a package in which only comments differ.
func (w *world) changeComments(o operation) {
	p := at(w.pkgs, o.a)
	p.comment = w.next()
	w.release(p)
}

// mergeUnbuilt commits to a Draft and has the forge merge it before a run built the commit.
func (w *world) mergeUnbuilt(o operation) {
	list := w.open(draft)
	if len(list) == 0 {
		return
	}
	b := at(list, o.a)
	w.edit(b, []int{2, 5, 0, 6}[o.b%4])
	b.tip = w.repos[b.repo].ref(b.ref)
	w.merge([]branch{b}, o.c%4, o.b%2 == 0)
	w.waits[b.place] = true
}
