package histories

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"
)

// violation is one promise that was not kept.
type violation struct {
	promise string
	place   place // the zero place where it is about no one package
	text    string
}

func (v violation) String() string {
	if v.place == (place{}) {
		return v.promise + ": " + v.text
	}
	return v.promise + ": " + v.place.String() + ": " + v.text
}

var (
	numbers = regexp.MustCompile(`[0-9]+`)
	hashes  = regexp.MustCompile(`\b[0-9a-f]{7,40}\b`)
)

// shape is a violation without what differs from history to history.
func (v violation) shape() string {
	return v.promise + ": " + numbers.ReplaceAllString(hashes.ReplaceAllString(v.text, "H"), "N")
}

func (w *world) violate(promise string, p place, format string, args ...any) {
	if !w.tainted[p] {
		w.found = append(w.found, violation{promise, p, fmt.Sprintf(format, args...)})
	}
}

// move is a ref that is not where it was.
type move struct {
	repo, ref     string
	parsed        parsed
	before, after hash
}

func (m move) place() place { return place{m.repo, m.parsed.pkg} }

// moves are the refs that moved, but for those that no person reads.
func moves(before, after map[string]map[string]hash) []move {
	return slices.DeleteFunc(refsMoved(before, after), func(m move) bool { return m.parsed.kind == ours })
}

func refsMoved(before, after map[string]map[string]hash) []move {
	var out []move
	for _, repo := range slices.Sorted(maps.Keys(after)) {
		names := maps.Clone(before[repo])
		maps.Copy(names, after[repo])
		for _, ref := range slices.Sorted(maps.Keys(names)) {
			if b, a := before[repo][ref], after[repo][ref]; a != b {
				out = append(out, move{repo, ref, parse(ref), b, a})
			}
		}
	}
	return out
}

// apply plans, applies, and applies again.
func (w *world) apply(args ...string) {
	before := w.snapshot()
	taking := w.committedTo()
	plan := w.planned(w.run(slices.Concat([]string{"plan", "-o", "json"}, args)...))
	if m := moves(before, w.snapshot()); len(m) > 0 {
		w.violate("plan writes nothing", m[0].place(), "plan moved %s", m[0].ref)
	}
	w.checkStatus(plan)
	var done planned
	settled := false
	if w.applies++; len(args) == 0 && w.applies%3 == 0 {
		// As people run it: where all was up to date before, it looks at files and refs alone.
		done, settled = plan, !slices.ContainsFunc(plan.Variants, plannedVariant.pending)
		r := w.run("apply")
		r.out += plan.out
		done.result = r
	} else {
		done = w.planned(w.run(slices.Concat([]string{"apply", "-o", "json"}, args)...))
		w.checkStatus(done)
	}
	after := w.snapshot()
	moved := slices.DeleteFunc(moves(before, after), func(m move) bool { return taking[m.repo] })
	seen := plan
	seen.Variants = slices.DeleteFunc(slices.Clone(plan.Variants), func(v plannedVariant) bool { return taking[v.place().repo] })
	w.checkNamed(seen, moved, func(repo string) bool { return recorded(before[repo]) != recorded(after[repo]) })
	w.checkMoves(before, done.result)
	for _, v := range done.Variants {
		// fast-forward says no to what was edited.
		if v.Action == "fail" && !(w.edited[v.place()] && w.upstreamOf(v.place()).strategy == "fast-forward" && strings.Contains(v.Error, "modified locally")) {
			w.violate("nothing fails", v.place(), "%s", firstLine(v.Error))
		}
	}
	if slices.Contains(args, "--prune") && len(done.PruneBlocked) == 0 {
		w.checkPrune(before, after, done)
	}
	w.door.calls()
	again := w.planned(w.run(slices.Concat([]string{"apply", "-o", "json"}, args)...))
	if len(taking) == 0 { // else it is the next run that takes what the first one has a Draft for
		w.checkAgain(moves(after, w.snapshot()), done, again, func(repo string) bool {
			return recorded(before[repo]) == hash{} && recorded(after[repo]) != hash{}
		})
	}
	w.checkRequests(done, again, taking, settled)
	w.checkMoves(after, again.result)
	if len(args) == 0 && w.applies%3 == 2 {
		w.run("apply")
	}
}

// checkAgain: a second run has nothing to do, but to record whose a package is that
// failed with the run that began its record anew.
func (w *world) checkAgain(again []move, first, second planned, begun func(repo string) bool) {
	action := func(p planned, at place) string {
		for _, v := range p.Variants {
			if v.place() == at {
				return v.Action
			}
		}
		return "no variant"
	}
	for _, m := range again {
		w.violate("a second apply changes nothing", m.place(), "after %s, %s moves a %s", action(first, m.place()), action(second, m.place()), m.parsed.kind)
	}
	for _, v := range second.Variants {
		if v.pending() && !slices.ContainsFunc(again, func(m move) bool { return m.place() == v.place() || m.parsed.kind == onMain }) {
			if v.Action == "record" && action(first, v.place()) == "fail" && begun(v.place().repo) {
				continue
			}
			w.violate("a second apply changes nothing", v.place(), "after %s it says %s, and moves nothing", action(first, v.place()), v.Action)
		}
	}
}

// checkStatus: 1 where something failed, 0 elsewhere.
func (w *world) checkStatus(p planned) {
	want := 0
	if len(p.Problems) > 0 || slices.ContainsFunc(p.Variants, func(v plannedVariant) bool { return v.Error != "" }) {
		want = 1
	}
	if p.status != want {
		w.violate("exit status", place{}, "%s ends with %d, want %d: %s", p.args[0], p.status, want, firstLine(p.err))
	}
}

// recorded is where a repository's record stands.
func recorded(refs map[string]hash) (at hash) {
	for ref, h := range refs {
		if parse(ref).kind == ours {
			at = h
		}
	}
	return at
}

// checkNamed: plan names what apply moves, no more and no less. What the record
// alone is to say moves that.
func (w *world) checkNamed(plan planned, moved []move, rerecorded func(repo string) bool) {
	named := map[place][]plannedVariant{} // each revision is decided by itself
	for _, v := range plan.Variants {
		if v.pending() {
			named[v.place()] = append(named[v.place()], v)
		}
	}
	seen := map[place]bool{}
	for _, m := range moved {
		switch p := m.place(); {
		case m.parsed.kind == head: // requests are of what is open then
		case m.parsed.kind == onMain || m.parsed.kind == other:
			w.violate("plan names what moves", place{m.repo, ""}, "apply moves %s", m.ref)
		case named[p] == nil:
			w.violate("plan names what moves", p, "apply moves %s, and plan has nothing of it", m.ref)
		case !slices.ContainsFunc(named[p], func(v plannedVariant) bool { return mayMove(v, m) }):
			w.violate("plan names what moves", p, "by %s, apply moves a %s", named[p][0].Action, m.parsed.kind)
		default:
			seen[p] = true
		}
	}
	for p, v := range named {
		if said := slices.Contains([]string{"record", "forget"}, v[0].Action) || v[0].Action == "release" && v[0].Lifecycle == "Published"; !seen[p] && !(said && rerecorded(p.repo)) {
			w.violate("plan names what moves", p, "plan says %s, and nothing moves", v[0].Action)
		}
		if v[0].Action == "forget" && rerecorded(p.repo) { // what was said of it, too
			delete(w.held, p)
			delete(w.heldOnce, p)
		}
	}
}

// mayMove says what each action is about.
func mayMove(v plannedVariant, m move) bool {
	gone := m.after.IsZero()
	switch v.Action {
	case "create", "redraft", "update":
		return m.ref == v.Ref || m.parsed.open() && gone
	case "tag":
		return m.parsed.kind == tag && m.before.IsZero() || m.parsed.open() && gone
	case "discard":
		return m.parsed.open() && gone
	case "retire":
		return m.parsed.kind == deletion && m.before.IsZero() || m.parsed.open() && gone
	case "release":
		return m.parsed.open()
	}
	return true // an action that the model does not know
}

// checkMoves judges what a command did to the refs.
func (w *world) checkMoves(before map[string]map[string]hash, r result) {
	after := w.snapshot()
	all := moves(before, after)
	w.hear(before, all)
	w.checkLeft(before, all, r)
	for _, m := range all {
		repo := w.repos[m.repo]
		switch {
		case m.parsed.kind == tag && !m.before.IsZero():
			w.checkTagMoved(before, m, r)
		case m.parsed.kind == tag:
			w.checkTagged(m, r)
		case m.parsed.kind == onMain && !repo.ancestors(m.after)[m.before]:
			w.violate("main is never rewritten", place{m.repo, ""}, "%s loses %s", r.args[0], m.before)
		case m.parsed.open() && !m.after.IsZero() && !repo.byPerson(m.after) && w.isWanted(m.place()) && !slices.Contains(slices.Collect(maps.Values(before[m.repo])), m.after):
			w.checkTakesBack(m, before, after, r)
		}
		if m.parsed.kind == head && !m.before.IsZero() {
			w.checkHeadKept(m, after, r)
		}
		w.checkNewer(before, m, r)
		if m.parsed.open() && !m.before.IsZero() {
			w.checkKeeps(m, after, r)
		}
		if m.parsed.kind == onMain {
			w.checkMain(m, r)
		}
		w.checkForged(before, m, r)
	}
}

// hear adds the messages of new commits to what was said.
func (w *world) hear(before map[string]map[string]hash, all []move) {
	for _, m := range all {
		if m.after.IsZero() {
			continue
		}
		r := w.repos[m.repo]
		old := map[hash]bool{}
		for _, h := range before[m.repo] {
			maps.Copy(old, r.ancestors(h))
		}
		for h := range r.ancestors(m.after) {
			if !old[h] {
				w.said.WriteString(r.commit(h).Message)
			}
		}
	}
}

// checkTagMoved: tags never move, nor go but by an approved deletion of what
// nobody wants.
func (w *world) checkTagMoved(before map[string]map[string]hash, m move, r result) {
	if !m.after.IsZero() {
		w.violate("tags never move", m.place(), "%s moves a tag", r.args[0])
		return
	}
	_, asked := before[m.repo]["refs/heads/deletionProposed/"+m.parsed.pkg+"/"+m.parsed.last]
	switch {
	case r.args[0] != "approve" && !r.approves || !asked:
		w.violate("tags never go", m.place(), "%s removes a tag", r.args[0])
	case w.isWanted(m.place()):
		w.violate("nothing wanted is deleted", m.place(), "%s carries out the deletion of a package that is wanted again", r.args[0])
	}
}

// checkTagged: what is Published is on main; what we publish has its gates met
// and is a fixed point of rendering.
func (w *world) checkTagged(m move, r result) {
	repo := w.repos[m.repo]
	if !repo.ancestors(repo.ref(mainRef))[m.after] {
		w.violate("tags are on main", m.place(), "the tag that %s makes is not", r.args[0])
	}
	if r.args[0] != "approve" {
		return
	}
	f := repo.files(m.after).below(m.parsed.pkg)
	for _, gate := range unmet(repo.text(f, "Kptfile")) {
		w.violate("gates are met", m.place(), "%s is Published with %s unmet", "a revision", gate)
	}
	for _, file := range w.rendersTo(repo, f) {
		if strings.Contains(repo.text(f, "Kptfile"), restless) {
			break
		}
		w.violate("what is Published is rendered", m.place(), "rendering changes %s", file)
	}
}

// unmet are a Kptfile's readiness gates without a condition that is True.
func unmet(kptfile string) []string {
	var k struct {
		Info struct {
			ReadinessGates []struct {
				ConditionType string
			}
		}
		Status struct {
			Conditions []struct{ Type, Status string }
		}
	}
	if err := yaml.Unmarshal([]byte(kptfile), &k); err != nil {
		return []string{"a Kptfile that is none"}
	}
	var out []string
	for _, g := range k.Info.ReadinessGates {
		met := false
		for _, c := range k.Status.Conditions {
			met = met || c.Type == g.ConditionType && c.Status == "True"
		}
		if !met {
			out = append(out, g.ConditionType)
		}
	}
	return out
}

// rendersTo lists the files of a package that rendering changes.
func (w *world) rendersTo(r *repository, f files) []string {
	if !strings.Contains(r.text(f, "Kptfile"), "pipeline:") {
		return nil
	}
	dir := filepath.Join(w.dir, "rendered")
	must(0, os.RemoveAll(dir))
	for p := range f {
		file := filepath.Join(dir, filepath.FromSlash(p))
		must(0, os.MkdirAll(filepath.Dir(file), 0o755))
		must(0, os.WriteFile(file, []byte(r.text(f, p)), 0o644))
	}
	res := w.renders(dir)
	if res.status != 0 {
		return []string{"nothing, for it fails: " + firstLine(res.err)}
	}
	var out []string
	for _, p := range slices.Sorted(maps.Keys(f)) {
		data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(p)))
		if err != nil || string(data) != r.text(f, p) {
			out = append(out, p)
		}
	}
	return out
}

// checkTakesBack: a Draft that a run writes has all that people wrote on main,
// also where a forge merges that Draft while the run goes on.
func (w *world) checkTakesBack(m move, then, after map[string]map[string]hash, r result) {
	repo := w.repos[m.repo]
	main := repo.files(after[m.repo][mainRef]).below(m.parsed.pkg)
	have := repo.files(m.after).below(m.parsed.pkg)
	tokens := repo.tokens(have)
	written := repo.tokens(repo.files(then[m.repo][mainRef]).below(m.parsed.pkg))
	maps.Copy(written, repo.tokens(main))
	refuses := r.args[0] == "apply" && w.upstreamOf(m.place()).strategy == "fast-forward" // edits, and drops none
	for t, file := range written {
		if _, ok := tokens[t]; !ok && (refuses || !w.named(t)) && !w.replaced(m.place(), file) {
			w.violate("a Draft takes back nothing unnamed", m.place(), "%s drafts without an edit of %s on main", r.args[0], file)
		}
	}
	if strings.Contains(repo.text(have, "config.yaml"), "count: xx") {
		w.violate("what has no fixed point is rendered once", m.place(), "%s renders it again", r.args[0])
	}
	if u := w.upstreamOf(m.place()); u.strategy == "" || u.strategy == "resource-merge" {
		w.checkKept(m, main, have, r)
	}
	before := main
	if !m.before.IsZero() {
		before = repo.files(m.before).below(m.parsed.pkg)
	}
	for file := range w.removed[m.place()] {
		_, was := before[file]
		if _, is := have[file]; is && !was && len(before) > 0 && !w.named(file) {
			w.violate("a Draft takes back nothing unnamed", m.place(), "%s brings a file back that a person removed", r.args[0])
		}
	}
}

// checkKeeps: what people wrote on an open branch is there still, or on main, or
// in another, or was named.
func (w *world) checkKeeps(m move, after map[string]map[string]hash, r result) {
	repo := w.repos[m.repo]
	lost := repo.tokens(repo.files(m.before).below(m.parsed.pkg))
	if m.after.IsZero() && !w.isWanted(m.place()) { // nothing can be built again that no variant asks for
		maps.DeleteFunc(lost, func(t, _ string) bool { return w.forgedWords[t] != "" }) // who forged it could have removed it
	}
	if len(lost) == 0 {
		return
	}
	for ref, h := range after[m.repo] {
		p := parse(ref)
		if p.kind != onMain && (p.pkg != m.parsed.pkg || p.kind == other || p.kind == head || p.kind == ours) {
			continue
		}
		for t := range repo.tokens(repo.files(h).below(m.parsed.pkg)) {
			delete(lost, t)
		}
	}
	for t, file := range lost {
		if w.named(t) || w.replaced(m.place(), file) || ownedElsewhere(repo.text(repo.files(m.before).below(m.parsed.pkg), file), t) {
			continue
		}
		how := "is gone"
		if !m.after.IsZero() {
			how = "it wrote"
			was, is := repo.files(m.before).below(m.parsed.pkg), repo.files(m.after).below(m.parsed.pkg)
			if strings.Contains(repo.text(was, file), "tier: "+t) && strings.Contains(repo.text(is, "Kptfile"), "apply-setters") {
				how += ", where a function sets the field"
			}
		}
		w.violate("no edit is gone unnamed", m.place(), "%s loses an edit of %s, on a %s that %s", r.name(), file, m.parsed.kind, how)
	}
}

// ownedElsewhere reports whether a word is an image that automation sets: of that a Draft takes
// what the branch has, without a word.
func ownedElsewhere(text, word string) bool {
	for line := range strings.Lines(text) {
		if strings.Contains(line, ":"+word+" ") && strings.Contains(line, "$imagepolicy") {
			return true
		}
	}
	return false
}

// checkMain: what people wrote on main is there still, or was named; what is
// wanted and was there is there.
func (w *world) checkMain(m move, r result) {
	repo := w.repos[m.repo]
	was, is := repo.files(m.before), repo.files(m.after)
	for _, u := range w.pkgs {
		p := place{m.repo, u.name}
		b, a := was.below(u.name), is.below(u.name)
		if len(b) > 0 && len(a) == 0 {
			if w.isWanted(p) {
				w.violate("nothing wanted is deleted", p, "%s takes it off main", r.args[0])
			}
			continue
		}
		tokens := repo.tokens(a)
		for t, file := range repo.tokens(b) {
			if _, ok := tokens[t]; !ok && !w.named(t) && !w.replaced(p, file) {
				w.violate("no edit is gone unnamed", p, "%s takes an edit of %s off main", r.args[0], file)
			}
		}
	}
	for p := range union(was, is) {
		if !strings.Contains(p, "/") && was[p] != is[p] {
			w.violate("no edit is gone unnamed", place{m.repo, ""}, "%s changes %s on main", r.args[0], p)
		}
	}
}

// checkPrune: nothing stays open of the unwanted but what people wrote, which is
// named; what is orphaned is not touched; what is left on main is proposed for
// deletion.
func (w *world) checkPrune(before, after map[string]map[string]hash, done planned) {
	for _, p := range w.places() {
		if w.isWanted(p) || w.held[p] || w.heldOnce[p] || w.forgotten[p] || w.either[p] {
			continue
		}
		orphan, r := w.orphaned(p), w.repos[p.repo]
		asked := false
		for ref, h := range after[p.repo] {
			k := parse(ref)
			if k.pkg != p.pkg {
				continue
			}
			_, old := before[p.repo][ref]
			asked = asked || k.kind == deletion
			switch {
			case orphan && k.kind == deletion && !old:
				w.violate("orphan touches nothing", p, "prune proposes a deletion%s", w.policyNote(p))
			case w.unowned[branch{place: p, ref: ref}]: // no commit says whose it was
			case !orphan && k.open() && !(w.byPeople(r, h) && strings.Contains(done.out, k.last)):
				note := w.policyNote(p)
				switch {
				case w.byPeople(r, h):
					note += " with a person's commits, unnamed"
				case r.ancestors(after[p.repo][mainRef])[h]:
					note += " that main has already"
				}
				w.violate("prune leaves nothing open", p, "a %s stays%s", k.kind, note)
			}
		}
		main := r.files(after[p.repo][mainRef]).below(p.pkg)
		if !orphan && !asked && strings.Contains(r.text(main, "Kptfile"), "variform.dev/variant:") {
			tagged := "untagged"
			for ref := range after[p.repo] {
				if k := parse(ref); k.kind == tag && k.pkg == p.pkg {
					tagged = "tagged"
				}
			}
			w.violate("prune leaves nothing on main", p, "a package, %s, that no variant wants and nothing proposes to delete%s", tagged, w.policyNote(p))
		}
	}
}

// policyNote says that the policy was another when the package was published, or
// came to main.
func (w *world) policyNote(p place) string {
	r := w.repos[p.repo]
	refs := r.refs()
	newest, at := 0, hash{}
	for ref, h := range refs {
		if k := parse(ref); k.kind == tag && k.pkg == p.pkg {
			if n, err := strconv.Atoi(strings.TrimPrefix(k.last, "v")); err == nil && n > newest {
				newest, at = n, h
			}
		}
	}
	for _, h := range []hash{refs[mainRef], at} {
		if h.IsZero() {
			continue
		}
		kptfile := r.text(r.files(h), p.pkg+"/Kptfile")
		if kptfile != "" && strings.Contains(kptfile, "orphan") != w.orphaned(p) {
			return ", as by the policy of the past"
		}
	}
	return ""
}

// byPeople says whether a person committed to a branch since it left main.
func (w *world) byPeople(r *repository, tip hash) bool {
	main := r.ancestors(r.ref(mainRef))
	for h := range r.ancestors(tip) {
		if !main[h] && r.byPerson(h) {
			return true
		}
	}
	return false
}

// decide runs a person's decision. All revisions done is 0; findings are 1.
func (w *world) decide(verb string, args ...string) result {
	before := w.snapshot()
	r := w.run(slices.Concat([]string{verb, "-o", "json"}, args)...)
	var verdicts struct {
		Revisions []struct{ Variant, Error string }
	}
	bad := yaml.Unmarshal([]byte(r.out), &verdicts) != nil || len(verdicts.Revisions) == 0
	for _, v := range verdicts.Revisions {
		bad = bad || v.Error != ""
	}
	if want := map[bool]int{true: 1}[bad]; r.status != want {
		w.violate("exit status", place{}, "%s ends with %d, want %d: %s", verb, r.status, want, firstLine(r.err))
	}
	w.checkMoves(before, r)
	return r
}

// reads runs a command that may write nothing.
func (w *world) reads(args ...string) result {
	before := w.snapshot()
	r := w.run(args...)
	if m := moves(before, w.snapshot()); len(m) > 0 {
		w.violate("plan writes nothing", m[0].place(), "%s moved %s", args[0], m[0].ref)
	}
	return r
}

// compareFresh: a variant that no person edited is, byte for byte, what a fleet
// that begins today would have.
func (w *world) compareFresh() {
	w.refresh++
	prefix := fmt.Sprintf("fresh%d/", w.refresh)
	fresh := map[string]*repository{}
	for _, t := range w.targets {
		r := w.forge.make(prefix + t.name)
		r.set(mainRef, r.make(0, "start", files{"README.md": r.put("# " + t.name + "\n")}))
		fresh[t.name] = r
	}
	folder := filepath.Join(w.dir, "fresh")
	w.describe(folder, prefix)
	if r := w.runOn(w.ctx, folder, "apply", "-o", "json"); r.status != 0 {
		w.violate("nothing fails", place{}, "a fresh fleet: %s", strings.TrimSpace(r.err))
		return
	}
	for _, p := range w.wanted() {
		if _, newer := w.newer[p]; !newer && !w.older[p] && !w.edited[p] && !w.held[p] && !w.waits[p] {
			w.compare(p, fresh[p.repo])
		}
	}
}

var policyLine = regexp.MustCompile(`(?m)^ *variform.dev/(deletion-policy|set): .*\n`)

func (w *world) compare(p place, fresh *repository) {
	r := w.repos[p.repo]
	refs := r.refs()
	tip := refs[mainRef]
	for ref, h := range refs {
		switch k := parse(ref); {
		case k.pkg != p.pkg:
		case k.kind == deletion:
			return // decided elsewhere
		case k.open():
			tip = h
		}
	}
	have := r.files(tip).below(p.pkg)
	want := fresh.files(fresh.ref("refs/heads/drafts/" + p.pkg + "/packagevariant-1")).below(p.pkg)
	w.checkContent(p, fresh, want)
	has := map[bool]string{true: "with functions", false: "without functions"}[strings.Contains(fresh.text(want, "Kptfile"), "pipeline:")]
	for file := range union(have, want) {
		h, w1 := have[file], want[file]
		switch {
		case h == w1:
		case h == (entry{}):
			w.violate("unedited variants equal fresh ones", p, "%s is missing, %s", file, has)
		case w1 == (entry{}):
			w.violate("unedited variants equal fresh ones", p, "%s stays, %s", file, has)
		default:
			// Deletion policy and set are the record's to say, without a Draft.
			if by := differ(policyLine.ReplaceAllString(string(r.blob(h.hash)), ""), policyLine.ReplaceAllString(string(fresh.blob(w1.hash)), "")); by != "" {
				w.violate("unedited variants equal fresh ones", p, "%s has%s, %s", file, by, has)
			}
		}
	}
}

// checkContent: a fresh variant holds what the model knows of its inputs.
func (w *world) checkContent(p place, r *repository, f files) {
	u := w.upstreamOf(p)
	wants := map[string][]string{
		"config.yaml":          {fmt.Sprintf("level: L%d # %s", u.level, u.loudness()), fmt.Sprintf("size: S%d", u.size), "tier: " + map[bool]string{true: "gold", false: "base"}[u.has("apply-setters:v0.2")]},
		"README.md":            {fmt.Sprintf("Release %d.", u.version)},
		"package-context.yaml": {"name: " + u.name},
		"Kptfile":              {"variform.dev/variant: histories/default/", fmt.Sprintf("ref: %s/v%d", u.name, u.version)},
	}
	if !u.gated {
		wants["deploy.yaml"] = []string{fmt.Sprintf("image: example.com/app:I%d #", u.image)}
	}
	add := func(file, text string) { wants[file] = append(wants[file], text) }
	if u.has("set-labels:v0.2") {
		add("config.yaml", "team: blue")
	}
	if u.has(restless) {
		add("config.yaml", "count: x\n")
	}
	if u.has("set-annotations:v0.1") {
		add("config.yaml", "by: pipeline")
	}
	if u.note > 0 {
		add("config.yaml", fmt.Sprintf("note: N%d", u.note))
	}
	if u.context > 0 {
		add("package-context.yaml", fmt.Sprintf("color: K%d", u.context))
	}
	if u.gated {
		add("Kptfile", "conditionType: config.injection.ConfigMap.settings")
		add("settings.yaml", map[bool]string{true: fmt.Sprintf("mode: M%d", w.object), false: "mode: none"}[w.object > 0])
	}
	for _, n := range u.extras {
		add(extra(n), fmt.Sprintf("a: x%d", n))
	}
	for _, file := range slices.Sorted(maps.Keys(wants)) {
		text := r.text(f, file)
		for _, want := range wants[file] {
			if !strings.Contains(text, want) {
				w.violate("variants hold their inputs", p, "%s lacks %q", file, want)
			}
		}
	}
	if n := len(f); n != len(wants) {
		w.violate("variants hold their inputs", p, "%d files, want %d", n, len(wants))
	}
}

func (u *upstream) has(function string) bool { return slices.Contains(u.functions, function) }

// differ lists the lines that one text has and the other has not, whatever
// their indentation; "" where they are the same.
func differ(have, want string) string {
	if have == want {
		return ""
	}
	lines := func(s string) []string {
		out := strings.Split(s, "\n")
		for i, l := range out {
			out[i] = strings.TrimSpace(l)
		}
		return out
	}
	a, b := lines(have), lines(want)
	out := ""
	for _, l := range a {
		if !slices.Contains(b, l) {
			out += " +" + l
		}
	}
	for _, l := range b {
		if !slices.Contains(a, l) {
			out += " -" + l
		}
	}
	if out == "" {
		return " the same lines in another form"
	}
	return out
}

// finish: from every state a run and approvals lead on. What is wanted is
// Published then and equals a fresh one; what is not wanted goes.
func (w *world) finish() {
	if w.object == 0 {
		w.object = w.next()
	}
	w.lead()
	last := ""
	for range 3 {
		w.apply()
		last = w.decideQuietly()
	}
	w.apply()
	for _, p := range w.wanted() {
		w.checkPublished(p, last)
	}
	w.compareFresh()
	w.apply("--prune", "--max-delete=99")
	w.decideQuietly()
	w.apply("--prune", "--max-delete=99")
	for _, p := range w.places() {
		r := w.repos[p.repo]
		if !w.isWanted(p) && !w.orphaned(p) && !w.either[p] && !w.edited[p] && !w.forgotten[p] && strings.Contains(r.text(r.files(r.ref(mainRef)), p.pkg+"/Kptfile"), "variform.dev/variant:") {
			w.violate("no dead end", p, "it is not wanted, its deletion was approved, and it is on main%s", w.policyNote(p))
		}
	}
}

// decideQuietly approves all that can be, by the classes that review shows where approve
// asks for that, and returns what it printed.
func (w *world) decideQuietly() string {
	said := w.approveQuietly("--all", "--accept-lost")
	if strings.Contains(said, "approve the class ID that shows them") {
		for _, id := range classLine.FindAllStringSubmatch(w.reads("review").out, -1) {
			said += w.approveQuietly("--class", id[1])
		}
	}
	return said
}

func (w *world) approveQuietly(args ...string) string {
	before := w.snapshot()
	r := w.run(slices.Concat([]string{"approve"}, args)...)
	w.checkMoves(before, r)
	return r.out + r.err
}

func (w *world) checkPublished(p place, last string) {
	r := w.repos[p.repo]
	refs := r.refs()
	published := false
	for ref := range refs {
		switch k := parse(ref); {
		case k.pkg != p.pkg:
		case k.open():
			why := "without a word"
			for line := range strings.Lines(last) {
				if strings.Contains(line, p.String()) {
					why = strings.TrimSpace(strings.TrimPrefix(line, p.String()))
				}
			}
			w.violate("no dead end", p, "a %s stays open: %s", k.kind, why)
		case k.kind == deletion:
			w.violate("no dead end", p, "it is wanted, and proposed for deletion")
		case k.kind == tag:
			published = true
		}
	}
	if !published {
		w.violate("no dead end", p, "it is wanted, and not Published")
	}
}
