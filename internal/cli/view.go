package cli

import (
	"crypto/sha256"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/variform/variform/internal/count"
	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/fleet"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/merge"
	"github.com/variform/variform/internal/reconcile"
	"github.com/variform/variform/internal/review"
	"github.com/variform/variform/internal/wire"
)

// itemView is an item as json and yaml print it. Its fields are a contract.
type itemView struct {
	Variant   string     `json:"variant"` // repository/package
	Namespace string     `json:"namespace"`
	Name      string     `json:"name,omitempty"`
	Set       string     `json:"set,omitempty"`
	Owner     string     `json:"owner,omitempty"` // of a dependency: the variant that it was first made for
	Lock      bool       `json:"lock,omitempty"`  // the package of a target's lock
	Action    string     `json:"action"`
	Reasons   []string   `json:"reasons,omitempty"`
	Warnings  []string   `json:"warnings,omitempty"`
	Error     string     `json:"error,omitempty"`
	Stalled   bool       `json:"stalled,omitempty"`
	Upstream  string     `json:"upstream,omitempty"`
	Path      string     `json:"path,omitempty"`
	Lifecycle string     `json:"lifecycle,omitempty"`
	Workspace string     `json:"workspace,omitempty"`
	Revision  int        `json:"revision,omitempty"`
	Ref       string     `json:"ref,omitempty"`
	Commit    string     `json:"commit,omitempty"`
	Conflicts []string   `json:"conflicts,omitempty"`
	Edits     []editView `json:"edits,omitempty"` // what became of edits by hand: the Conflicts, in parts
	// Lost are the edits by hand that publishing the revision loses.
	Lost       []decide.LostEdit `json:"lost,omitempty"`
	Attention  []string          `json:"attention,omitempty"` // what is to be seen first
	Findings   []decide.Finding  `json:"findings,omitempty"`  // what Kubernetes would refuse
	Conditions []conditionView   `json:"conditions,omitempty"`
}

type editView struct {
	Fate     merge.Fate `json:"fate"`
	File     string     `json:"file"`
	Line     int        `json:"line,omitempty"`
	Resource string     `json:"resource,omitempty"`
	Field    string     `json:"field,omitempty"`
	Base     string     `json:"base,omitempty"`
	Upstream string     `json:"upstream,omitempty"`
	Local    string     `json:"local,omitempty"`
	By       string     `json:"by,omitempty"`
	Instead  string     `json:"instead,omitempty"` // where the edit is to be made
}

func editViewOf(c merge.Conflict) editView {
	v := editView{Fate: c.Fate, File: c.Path, Line: c.Line, Field: c.Field, Base: c.Base, Upstream: c.Upstream, Local: c.Local, By: c.By, Instead: c.Instead}
	if c.Resource != (krm.ID{}) {
		v.Resource = c.Resource.String()
	}
	return v
}

type conditionView struct {
	Type    string `json:"type"`
	Status  string `json:"status"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
}

type planView struct {
	review.Digest
	Variants     []itemView `json:"variants"`
	Problems     []string   `json:"problems,omitempty"`
	Warnings     []string   `json:"warnings,omitempty"`
	PruneBlocked []string   `json:"pruneBlocked,omitempty"`
	PullRequests []pullView `json:"pullRequests,omitempty"`
	Shard        *shardView `json:"shard,omitempty"`
}

func viewOf(i *reconcile.Item) itemView {
	v := itemView{
		Variant: i.Identity.String(), Namespace: i.Namespace, Name: i.Name, Set: i.Set, Owner: i.Owner, Lock: i.Lock, Action: string(i.Action),
		Reasons: i.Reasons, Warnings: i.Warnings, Stalled: i.Stalled, Upstream: i.Upstream, Path: i.Path,
		Lifecycle: string(i.Phase), Workspace: i.Workspace, Revision: i.Revision, Ref: i.Ref, Commit: i.Commit, Lost: i.Lost, Attention: i.Attention, Findings: i.Findings,
	}
	if i.Err != nil {
		v.Error = i.Err.Error()
	}
	for _, c := range i.Conflicts {
		v.Conflicts = append(v.Conflicts, c.String())
		v.Edits = append(v.Edits, editViewOf(c))
	}
	for _, c := range i.Conditions {
		v.Conditions = append(v.Conditions, conditionView{c.Type, string(c.Status), c.Reason, c.Message})
	}
	return v
}

// problemsOf lists everything that is wrong beside the items.
func problemsOf(p *reconcile.Plan) []string {
	var out []string
	for _, c := range fleet.Causes(p) {
		out = append(out, c.With(c.Err.Error()))
	}
	return out
}

func warningsOf(p *reconcile.Plan) []string {
	out := append([]string(nil), p.Warnings...)
	for _, s := range p.Sets {
		out = append(out, s.Warnings...)
	}
	return out
}

// printPlan shows a plan, or what came of it.
func (a *app) printPlan(s *opening, p *reconcile.Plan, done bool) error {
	switch {
	case a.output == "json", a.output == "yaml", slices.Contains(reportFormats, a.output):
		part := a.part(s)
		d, err := s.digest(p, done, part)
		if err != nil {
			return err
		}
		if slices.Contains(reportFormats, a.output) {
			return a.printDigest(d)
		}
		v := planView{Digest: *d, Variants: []itemView{}, Problems: eachOnce(problemsOf(p)), Warnings: eachOnce(warningsOf(p)), PruneBlocked: p.PruneBlocked, Shard: part}
		for _, i := range p.Items {
			v.Variants = append(v.Variants, viewOf(i))
		}
		v.PullRequests, _ = viewsOf(s.pulled)
		sortPulls(v.PullRequests)
		return encodeAs(a.Out, a.output, "Plan", v)
	case a.output == "name":
		for _, i := range p.Items {
			if i.Action.Pending() {
				if _, err := fmt.Fprintln(a.Out, i.Identity.String()); err != nil {
					return err
				}
			}
		}
		a.printFailures(p, false)
		a.printProblems(p)
		return nil
	}
	if err := printHead(a, s.from(), size(p)); err != nil {
		return err
	}
	return printTable(a, s, p, done)
}

// printTable shows what follows a plan's first line.
func printTable(a *app, s *opening, p *reconcile.Plan, done bool) error {
	var err error
	if a.output == "wide" {
		var rows [][]string
		for _, i := range p.Items {
			rows = append(rows, row(i))
		}
		err = a.table([]string{"VARIANT", "ACTION", "DRAFT", "WHY", "NAME", "SET", "UPSTREAM", "REF", "COMMIT"}, rows)
	} else {
		err = printRows(a, slices.DeleteFunc(slices.Clone(p.Items), func(i *reconcile.Item) bool {
			return i.Action == decide.ActionNone && !i.Told // it is as it is to be, with nothing to tell
		}))
	}
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(a.Out, summary(p, done)); err != nil {
		return err
	}
	if err := a.printKept(s.pulled); err != nil {
		return err
	}
	a.printDetails(p)
	printStops(a, p)
	return printNext(a, fleet.OverviewOf(p, done))
}

// printNext ends a screen: what waits, and the next command.
func printNext(a *app, o fleet.Overview) error {
	state, verb := o.Next()
	if state == "" {
		return nil
	}
	text := state + "\n"
	if verb != "" {
		text += "next: " + a.fleet.command(verb)
		if verb == "apply" && o.Leaving > 0 {
			text += fmt.Sprintf("    # add --prune to retire %d", o.Leaving)
		}
		text += "\n"
	}
	_, err := io.WriteString(a.Out, text)
	return err
}

// command returns the command line of a verb for the fleet that this command reads.
func (f *fleetFlags) command(verb string) string {
	if f.location == "." {
		return "variform " + verb
	}
	return "variform " + verb + " -f " + shellWord(wire.Redact(f.location))
}

// shellWord quotes a text for a shell where that is needed.
func shellWord(s string) string {
	if s != "" && strings.IndexFunc(s, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_./:@%+,=", r)
	}) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// maxReasons is how many reasons of one set a screen shows.
const maxReasons = 5

// printRows shows what happens to the variants of each set, and why.
func printRows(a *app, items []*reconcile.Item) error {
	rows, reasons := fleet.Rows(items)
	var table [][]string
	set := ""
	for _, r := range rows {
		table = append(table, []string{r.Set, string(r.Action), fmt.Sprint(len(r.Names)), folded(review.Ranges(r.Names))})
		if r.Set == set {
			table[len(table)-1][0] = " " // as above
		}
		set = r.Set
	}
	if len(table) == 0 {
		return nil
	}
	if err := a.table([]string{"SET", "ACTION", "VARIANTS", "WHERE"}, table); err != nil {
		return err
	}
	if err := printReasons(a, reasons); err != nil {
		return err
	}
	_, err := fmt.Fprintln(a.Out)
	return err
}

// printReasons shows why variants of each set are as they are.
func printReasons(a *app, reasons []fleet.Reason) error {
	if len(reasons) == 0 {
		return nil
	}
	var why [][]string
	set, of := "", map[string]int{}
	for _, r := range reasons {
		name, text := "  "+r.Set, firstLine(r.Text)
		if r.Set == set {
			name = " "
		}
		set = r.Set
		of[r.Set]++
		if len(r.Names) > 0 {
			text += " (" + folded(review.Ranges(r.Names)) + ")"
		}
		switch {
		case of[r.Set] <= maxReasons:
			why = append(why, []string{name, text})
		case of[r.Set] == maxReasons+1:
			why = append(why, []string{name, "more reasons: -o wide lists them"})
		}
	}
	if _, err := fmt.Fprintln(a.Out); err != nil {
		return err
	}
	return a.table([]string{"WHY"}, why)
}

// row is the line of one item in a wide table.
func row(i *reconcile.Item) []string {
	reason := strings.Join(fleet.ReasonsOf(i), "; ")
	if i.Err != nil {
		reason = i.Err.Error()
	}
	return []string{i.Identity.String(), string(i.Action), i.Workspace, reason, i.Name, i.Set, i.Upstream, i.Ref, short(i.Commit)}
}

// firstLine is the first line of a text, for a table.
func firstLine(s string) string {
	line, rest, _ := strings.Cut(s, "\n")
	if rest != "" {
		line += " …"
	}
	return line
}

// shortened cuts a text to so many characters.
func shortened(s string, width int) string {
	if r := []rune(s); len(r) > width {
		return strings.TrimSpace(string(r[:width-1])) + "…"
	}
	return s
}

func short(commit string) string {
	if len(commit) > 10 {
		return commit[:10]
	}
	return commit
}

// toReview counts, in a summary, variants that the run leaves alone and that have an
// open revision.
const toReview decide.Action = "review"

// inRollout counts, in a summary, variants that a Rollout publishes.
const inRollout decide.Action = "rollout"

// tally counts variants, and their revisions by action: one that is up to date, or
// that waits for review, counts where its variant has no other action.
func tally(p *reconcile.Plan) (variants int, actions map[decide.Action]int) {
	actions = p.Count()
	delete(actions, decide.ActionNone)
	for _, items := range fleet.ByVariant(p.Items) {
		variants++
		switch {
		case slices.ContainsFunc(items, func(i *reconcile.Item) bool { return i.Action != decide.ActionNone }):
		case slices.ContainsFunc(items, func(i *reconcile.Item) bool { return i.Rollout != "" && fleet.Open(i) }):
			actions[inRollout]++
		case slices.ContainsFunc(items, fleet.Open):
			actions[toReview]++
		default:
			actions[decide.ActionNone]++
		}
	}
	return variants, actions
}

// summary is one sentence over all variants.
func summary(p *reconcile.Plan, done bool) string {
	variants, actions := tally(p)
	verbs := []struct {
		action       decide.Action
		todo, donned string
	}{
		{decide.ActionCreate, "to create", "created"},
		{decide.ActionUpdate, "to update", "updated"},
		{decide.ActionRedraft, "to draft anew", "drafted anew"},
		{decide.ActionTag, "to tag as published", "tagged as published"},
		{decide.ActionDiscard, "to discard", "discarded"},
		{decide.ActionRetire, "to propose for deletion", "proposed for deletion"},
		{decide.ActionRestore, "to take back from deletion", "taken back from deletion"},
		{decide.ActionRelease, "to release", "released"},
		{decide.ActionForget, "to forget", "forgotten"},
		{decide.ActionKeep, "kept", "kept"},
		{decide.ActionPublish, "to publish", "published"},
		{decide.ActionTrim, "to trim", "trimmed"},
		{decide.ActionRecord, "to record", "recorded"},
		{decide.ActionWait, "waiting for a person", "waiting for a person"},
		{decide.ActionFail, "failed", "failed"},
		{inRollout, "in a rollout", "in a rollout"},
		{toReview, "waiting for review", "waiting for review"},
		{decide.ActionNone, "up to date", "up to date"},
	}
	var parts []string
	for _, v := range verbs {
		if n := actions[v.action]; n > 0 {
			text := v.todo
			if done {
				text = v.donned
			}
			parts = append(parts, fmt.Sprintf("%d %s", n, text))
		}
	}
	if len(parts) == 0 {
		return "no variants"
	}
	return count.Of(variants, "variant") + ": " + strings.Join(parts, ", ")
}

// printDetails lists conflicts, whole errors and warnings on stderr.
func (a *app) printDetails(p *reconcile.Plan) {
	a.printFailures(p, a.output == "wide")
	var warnings []string
	causes := map[string]int{}
	for _, i := range p.Items {
		for _, c := range i.Conflicts {
			what := "conflict"
			if slices.ContainsFunc(i.Lost, func(l decide.LostEdit) bool { return l.Of(c) }) {
				what = "edit lost"
			}
			a.note("%s: %s: %s", what, i.Identity, c)
		}
		for _, w := range i.Warnings {
			cause := review.Cause(w, i.Aliases())
			causes[cause]++
			if causes[cause] == 1 {
				warnings = append(warnings, fmt.Sprintf("warning: %s: %s", i.Identity, w))
			}
		}
	}
	for _, w := range slices.Sorted(maps.Keys(causes)) {
		if n := causes[w]; n > 1 {
			warnings = append(warnings, fmt.Sprintf("note: the same for %s: %s", count.Of(n-1, "more variant"), w))
		}
	}
	for _, w := range warningsOf(p) {
		warnings = append(warnings, "warning: "+w)
	}
	printWarnings(a, warnings, a.output == "wide" || len(p.Braked) > 0)
}

// printWarnings prints each warning that the run before did not print of the same fleet, and
// counts the others; with all it prints all.
func printWarnings(a *app, warnings []string, all bool) {
	file := ""
	if a.State != "" && !a.quiet { // what is not printed the next run prints
		folder, _ := os.Getwd() // the fleet may be relative to it
		file = filepath.Join(a.State, "warnings", fmt.Sprintf("%x.json", sha256.Sum256(fmt.Appendf(nil, "%q %q", folder, a.fleet.location))))
	}
	fresh := fleet.Unseen(file, warnings)
	if all {
		fresh = warnings
	}
	for _, w := range fresh {
		a.note("%s", w)
	}
	if known := len(warnings) - len(fresh); known > 0 {
		a.note("note: %s as in the run before: -o wide prints all", count.Of(known, "warning"))
	}
}

// printFailures says on stderr what failed; with cut only what a table cuts short.
func (a *app) printFailures(p *reconcile.Plan, cut bool) {
	order, same := failures(p)
	for _, text := range order {
		first, more := same[text][0], same[text][1:]
		if text := first.Err.Error(); cut && shortened(firstLine(text), maxError) == text {
			continue
		}
		a.fail("error: %s: %s", first.Identity, first.Err)
		if len(more) > 0 {
			var names []string
			for _, i := range more {
				names = append(names, i.String())
			}
			a.fail("error: the same for %s (%s): %s", count.Of(len(more), "more variant"), strings.Join(decide.Limit(names, 3), ", "), shortened(firstLine(text), maxError))
		}
	}
}

// maxError is how long an error may be that a wide table alone tells.
const maxError = 120

// failures groups the items that failed by their cause, in the plan's order.
func failures(p *reconcile.Plan) (order []string, same map[string][]*reconcile.Item) {
	same = map[string][]*reconcile.Item{}
	for _, i := range p.Failures() {
		_, text := fleet.PlaceOf(i.Err) // a target's conflict is that of variants in many places
		text = review.Cause(text, i.Aliases())
		if same[text] == nil {
			order = append(order, text)
		}
		same[text] = append(same[text], i)
	}
	return order, same
}

func (a *app) printProblems(p *reconcile.Plan) {
	for _, w := range warningsOf(p) {
		a.note("warning: %s", w)
	}
	printStops(a, p)
}

// printStops lists what keeps a run from deleting, and what it could not do.
func printStops(a *app, p *reconcile.Plan) {
	for _, b := range p.PruneBlocked {
		a.note("warning: nothing is deleted in this run: %s", b)
	}
	for _, e := range fleet.OncePerText(problemsOf(p)) {
		a.fail("error: %s", e)
	}
}
