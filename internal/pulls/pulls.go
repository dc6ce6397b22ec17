// Package pulls decides which pull requests a repository of variants is to have:
// one for each Draft, for each class of identical change, or one for all. It says
// which are to be opened, brought up to date, let be and closed; an adapter of a
// forge does that (internal/forge). See docs/design/pull-requests.md.
package pulls

import (
	"bytes"
	"cmp"
	"compress/flate"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/internal/boundary"
)

// Mode says how Drafts are put together into requests.
type Mode string

// Modes.
const (
	ByVariant    Mode = v1alpha1.ReviewByVariant    // each Draft's own branch
	ByClass      Mode = v1alpha1.ReviewByClass      // Drafts of one class, on a branch of Variform's
	ByRepository Mode = v1alpha1.ReviewByRepository // all Drafts, on such a branch
)

// ParseMode reads a Mode.
func ParseMode(s string) (Mode, error) {
	for _, m := range []Mode{ByVariant, ByClass, ByRepository} {
		if s == string(m) {
			return m, nil
		}
	}
	return "", fmt.Errorf("%q is no way to make pull requests: choose %s, %s or %s", s, ByVariant, ByClass, ByRepository)
}

// Draft is one that a request is to bring to the registered branch.
type Draft struct {
	Name   string // as people know it: c1/web
	Path   string // of the package in its repository
	Branch string // without refs/heads/
	Commit string
	Class  string // the key of its class
	Says   string // what that changes
	// Package is the upstream's name, "" where that is not known; Was and Now are its
	// versions, "" where there is none.
	Package, Was, Now string
	Loses             string // the edits by hand that merging it loses, "" for none
	Edited            bool   // it holds more than building it makes
	// Owners are those of the package's code: a class is one request for each.
	Owners []string
	Opening
}

// compare puts Drafts in the order of their packages, which a Digest goes by.
func (d Draft) compare(o Draft) int {
	return cmp.Or(cmp.Compare(d.Path, o.Path), cmp.Compare(d.Branch, o.Branch))
}

// Request is one that is to be open.
type Request struct {
	// Branch is the head: a Draft's own, or one of Variform's that holds all Drafts.
	// An open request keeps the one that it has.
	Branch string
	Drafts []Draft
	// Title and Text are what it says.
	Title, Text string
	// Opening is what its Drafts ask for, together.
	Opening
	// Proof is the check of its head, without a State where that is not known.
	Proof Status
}

// Made says that the head is a branch of Variform's.
func (r *Request) Made() bool { return len(r.Drafts) != 1 || r.Branch != r.Drafts[0].Branch }

// Digest is over the Drafts' commits: what is asked for.
func (r *Request) Digest() string {
	var text strings.Builder
	for _, d := range r.Drafts {
		fmt.Fprintf(&text, "%s %s\n", d.Path, d.Commit)
	}
	return short(text.String())
}

func short(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])[:12]
}

func (r *Request) paths() []string {
	out := make([]string, len(r.Drafts))
	for i, d := range r.Drafts {
		out[i] = d.Path
	}
	return out
}

// HeadPrefix begins the names of all managers' heads.
const HeadPrefix = "variform/"

// BranchPrefix begins the names of the heads that a manager makes.
func BranchPrefix(manager string) string { return HeadPrefix + manager + "/" }

// Head is the branch of the request that a Draft belongs to, where there is none yet.
func Head(mode Mode, manager string, d Draft) string {
	switch mode {
	case ByClass:
		key := d.Class
		if len(d.Owners) > 0 {
			key += "-" + short(strings.Join(d.Owners, " "))[:6]
		}
		return BranchPrefix(manager) + key
	case ByRepository:
		return BranchPrefix(manager) + "all"
	}
	return d.Branch
}

// Group puts the Drafts of one repository into requests, in the order of their
// branches.
func Group(mode Mode, manager string, drafts []Draft) []Request {
	by := map[string]*Request{}
	for _, d := range drafts {
		branch := Head(mode, manager, d)
		if by[branch] == nil {
			by[branch] = &Request{Branch: branch}
		}
		by[branch].Drafts = append(by[branch].Drafts, d)
	}
	out := make([]Request, 0, len(by))
	for _, r := range by {
		slices.SortFunc(r.Drafts, Draft.compare)
		r.Title = title(r.Drafts)
		for _, d := range r.Drafts {
			r.Opening = r.Opening.with(d.Opening)
		}
		r.AutoMerge = r.Drafts[0].AutoMerge
		if slices.ContainsFunc(r.Drafts, func(d Draft) bool { return d.AutoMerge != r.AutoMerge || d.Loses != "" || d.Edited }) {
			r.AutoMerge = ""
		}
		out = append(out, *r)
	}
	slices.SortFunc(out, func(a, b Request) int { return cmp.Compare(a.Branch, b.Branch) })
	return out
}

const maxTitle = 120 // bytes; forges take 255

// title names what changes first: package and versions, then the change, then the Drafts.
// As no Draft is in two requests, no two titles are alike.
func title(drafts []Draft) string {
	of, says, at := drafts[0].change(), drafts[0].Says, drafts[0].Name
	classes, packages, changes := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, d := range drafts {
		classes[d.Class], packages[d.Package], changes[d.change()] = true, true, true
	}
	if len(packages) > 1 {
		of = fmt.Sprintf("%d packages", len(packages))
	} else if len(changes) > 1 {
		of = drafts[0].Package
	}
	if n := len(classes); n > 1 {
		says = fmt.Sprintf("%d classes of change", n)
	}
	if more := len(drafts) - 1; more > 0 {
		at += fmt.Sprintf(" and %d more", more)
	}
	if of != "" {
		of += ": "
	}
	at = " (" + at + ")"
	if room := maxTitle - len(of) - len(at); len(says) > room {
		cut := strings.ToValidUTF8(says[:max(room-len("…"), 0)], "")
		says = strings.TrimSpace(cut) + "…"
	}
	return boundary.Inert(of + strings.Join(strings.Fields(says), " ") + at)
}

// change is the package with its versions: "web v1→v2".
func (d Draft) change() string {
	if d.Was == "" || d.Now == "" || d.Was == d.Now {
		return strings.TrimSpace(d.Package + " " + cmp.Or(d.Now, d.Was))
	}
	return d.Package + " " + d.Was + "→" + d.Now
}

// Open is a request that the forge has, open or lately closed.
type Open struct {
	Number      int
	URL         string
	Branch      string // the head, of this repository
	Commit      string // of the head
	Title, Body string // lines end in \n
	Author      string
	Draft       bool // not to be merged yet; the title says nothing of it
	Closed      bool // and not merged
	Merged      bool
	Headless    bool // its branch does not exist

	mark   mark
	marked bool
}

// ours says that Variform opened it.
func (o *Open) ours(manager string) bool {
	return o.marked && o.mark.fleet == manager || strings.HasPrefix(o.Branch, BranchPrefix(manager))
}

// Action is what is done with a request.
type Action string

// Actions.
const (
	ActionOpen   Action = "open"
	ActionUpdate Action = "update"
	ActionNone   Action = "none" // it is as it is to be
	ActionKeep   Action = "keep" // people have a hand in it
	ActionClose  Action = "close"
	ActionLater  Action = "later" // the run may write no more
)

// Step is one thing to do.
type Step struct {
	Action  Action
	Request *Request // nil for one that is to be closed
	Open    *Open    // nil for one that is to be opened
	// Build says that the head has to be made; Title and Body are what the request
	// says then.
	Build       bool
	Title, Body string
	Why         string
	// Check, where not nil, is to be set on the head: on Commit, or on what is built.
	Check  *Status
	Commit string
	// Merge is the style in which the forge is asked to merge it by itself, "" where it is not.
	Merge string
}

// Terms are what a Plan goes by besides.
type Terms struct {
	Manager string
	Mode    Mode
	// Asked says that a person named a Draft: a request that was closed is opened
	// again.
	Asked func(Draft) bool
	// Others says that a Draft of a package waits that was not given.
	Others func(path string) bool
	// Whole says that all Drafts of the repository were given: what is not asked for
	// any more is closed.
	Whole bool
	// Fails says why a Draft of a package fails that was not given, "" for none.
	Fails func(path string) string
	// Tip is where a branch is, "" for a branch that does not exist.
	Tip func(branch string) string
	// Theirs names who committed to a head last, "" where that is Variform.
	Theirs func(branch, commit string) string
	// Astray reports whether the head of a request that nobody committed to and that stays is
	// not what its Drafts make; nil trusts all.
	Astray func(*Request) bool
}

// Plan says what is to be done for the requests of one repository to be the wanted
// ones, in their order, and what to close after them. A request is known by its
// Drafts: by its mark, or by its head. The key of a class in its branch only
// proposes: it stays where a class gets another one, as long as it shares Drafts.
func Plan(t Terms, wanted []Request, there []Open) []Step {
	open, closed := read(there)
	match := matched(wanted, open)
	apart(wanted, match)
	t.aside(wanted, match)
	var out []Step
	for i := range wanted {
		r := &wanted[i]
		o := match[i]
		if o != nil {
			r.Branch = o.Branch
		}
		s := t.step(r, o)
		if o == nil {
			if c := refused(r, closed); c != nil && !slices.ContainsFunc(r.Drafts, t.asked) {
				s = Step{Action: ActionKeep, Request: r, Open: c, Why: "it was closed: it is opened again once its Drafts change, or where one of them is named"}
			}
		}
		out = append(out, s)
	}
	matches := map[*Open]bool{}
	for _, o := range match {
		matches[o] = true
	}
	for i := range open {
		o := &open[i]
		switch why := t.fails(o); {
		case !o.ours(t.Manager) || matches[o]:
		case why != "":
			out = append(out, Step{Action: ActionKeep, Open: o, Why: why, Check: &Status{Context: ProofCheck, State: StateFailure, Description: why}, Commit: t.tip(o.Branch, o.Commit)})
		case t.Whole:
			out = append(out, Step{Action: ActionClose, Open: o, Title: o.Title, Body: o.over(), Why: "nothing of it waits any more in this form"})
		}
	}
	return out
}

// Unused are those of a repository's branches that were made for requests and are
// no request's any more, when these steps are done. A person's commit keeps one.
func Unused(t Terms, steps []Step, branches map[string]string) []string {
	if !t.Whole {
		return nil
	}
	used := map[string]bool{}
	for _, s := range steps {
		if s.Request != nil {
			used[s.Request.Branch] = true
		}
	}
	var out []string
	for b, commit := range branches {
		if strings.HasPrefix(b, BranchPrefix(t.Manager)) && !used[b] && t.theirs(b, commit) == "" {
			out = append(out, b)
		}
	}
	slices.Sort(out)
	return out
}

func (t *Terms) asked(d Draft) bool { return t.Asked != nil && t.Asked(d) }

// read reads the marks of requests.
func read(there []Open) (open, closed []Open) {
	for _, o := range there {
		o.mark, o.marked = findMark(o.Body)
		switch {
		case o.Merged:
		case o.Closed:
			closed = append(closed, o)
		default:
			open = append(open, o)
		}
	}
	return open, closed
}

// matched finds for each request the open one that is its own: from the same branch,
// else the one with the most Drafts in common.
func matched(wanted []Request, open []Open) []*Open {
	out := make([]*Open, len(wanted))
	taken := map[*Open]bool{}
	holding, from := map[string][]int{}, map[string][]int{} // open requests by the paths in them, and by their branches
	for j := range open {
		from[open[j].Branch] = append(from[open[j].Branch], j)
		for _, p := range slices.Compact(slices.Sorted(slices.Values(open[j].mark.members))) {
			holding[p] = append(holding[p], j)
		}
	}
	type pair struct{ at, of, score int }
	var pairs []pair
	for i := range wanted {
		scores := map[int]int{}
		for _, p := range wanted[i].paths() {
			for _, j := range holding[p] {
				scores[j] += 2
			}
		}
		for _, j := range from[wanted[i].Branch] {
			scores[j]++
		}
		made := wanted[i].Made()
		for _, j := range slices.Sorted(maps.Keys(scores)) {
			if same := wanted[i].Branch == open[j].Branch; same || made && strings.HasPrefix(open[j].Branch, HeadPrefix) {
				pairs = append(pairs, pair{i, j, scores[j]})
			}
		}
	}
	slices.SortStableFunc(pairs, func(a, b pair) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(open[a.of].Number, open[b.of].Number), cmp.Compare(a.at, b.at))
	})
	for _, p := range pairs {
		if o := &open[p.of]; out[p.at] == nil && !taken[o] {
			out[p.at], taken[o] = o, true
		}
	}
	return out
}

// apart gives a request a head of its own where the one of its class's key is that of
// another, which got it when its change had that key.
func apart(wanted []Request, match []*Open) {
	held := map[string]bool{}
	for _, o := range match {
		if o != nil {
			held[o.Branch] = true
		}
	}
	for i := range wanted {
		if r := &wanted[i]; match[i] == nil && held[r.Branch] {
			r.Branch += "-" + short(strings.Join(r.paths(), " "))[:6]
		}
	}
}

// aside gives a request that is to be opened a head of its own where one is left of its
// name with a person's commit.
func (t *Terms) aside(wanted []Request, match []*Open) {
	for i := range wanted {
		if r := &wanted[i]; match[i] == nil && r.Made() && t.theirs(r.Branch, t.tip(r.Branch, "")) != "" {
			r.Branch += "-" + short(t.tip(r.Branch, ""))[:6]
		}
	}
}

// Standing finds the request of each Draft of one repository, by the Draft's path: the
// open one that asks for it, else the closed one that asked for the very same.
func Standing(there []Open, drafts []Draft) map[string]Open {
	open, closed := read(there)
	paths, branches := map[string][]*Draft{}, map[string][]*Draft{}
	for i := range drafts {
		d := &drafts[i]
		paths[d.Path], branches[d.Branch] = append(paths[d.Path], d), append(branches[d.Branch], d)
	}
	out := map[string]Open{}
	for _, c := range closed {
		if r := (Request{Drafts: c.among(paths, branches)}); c.mark.digest == r.Digest() {
			c.standsFor(r.Drafts, out)
		}
	}
	for _, o := range open {
		o.standsFor(o.among(paths, branches), out)
	}
	return out
}

func (o *Open) standsFor(drafts []Draft, out map[string]Open) {
	for i := range drafts {
		out[drafts[i].Path] = *o
	}
}

// among are the Drafts that a request asks for, in the order of their paths, of all by
// their paths and by their branches.
func (o *Open) among(paths, branches map[string][]*Draft) []Draft {
	asked := slices.Clone(branches[o.Branch])
	for _, path := range o.mark.members {
		asked = append(asked, paths[path]...)
	}
	slices.SortFunc(asked, func(a, b *Draft) int { return a.compare(*b) })
	asked = slices.Compact(asked)
	out := make([]Draft, len(asked))
	for i, d := range asked {
		out[i] = *d
	}
	return out
}

// Says is where a request stands, to who looks after its Drafts.
func (o *Open) Says() string {
	switch {
	case o.Closed:
		return "turned down: request " + o.URL + " was closed; propose NAME --pull-requests opens another"
	case o.Headless:
		return "request " + o.URL + " lost its branch " + o.Branch + ": apply creates it again"
	case o.Draft:
		return "request " + o.URL + " is a draft"
	}
	return "request " + o.URL + " waits for its review"
}

// refused finds the closed request that asked for the very same.
func refused(r *Request, closed []Open) *Open {
	digest := r.Digest()
	if i := slices.IndexFunc(closed, func(c Open) bool { return c.marked && c.mark.digest == digest }); i >= 0 {
		return &closed[i]
	}
	return nil
}

// fails says why a Draft fails that an open request asks for.
func (t *Terms) fails(o *Open) string {
	for _, path := range o.mark.members {
		if t.Fails != nil && t.Fails(path) != "" {
			return path + ": " + t.Fails(path)
		}
	}
	return ""
}

// gone reports whether a branch does not exist.
func (t *Terms) gone(branch string) bool { return t.Tip != nil && t.Tip(branch) == "" }

func (t *Terms) tip(branch, otherwise string) string {
	if t.Tip == nil {
		return otherwise
	}
	return cmp.Or(t.Tip(branch), otherwise)
}

// At gives the head that was built.
func (s *Step) At(t Terms, commit string) {
	s.Commit, s.Body = commit, s.Request.body(&t, s.was(), commit, s.Merge)
}

// Unchecked is the text where the check could not be set: the next run does.
func (s *Step) Unchecked(t Terms) {
	r := *s.Request
	r.Proof, s.Merge = Status{}, ""
	s.Body = r.body(&t, s.was(), "", "")
}

// Unmerged is the text where the forge did not take it to be merged: the next run asks
// again.
func (s *Step) Unmerged(t Terms) {
	s.Merge = ""
	s.Body = s.Request.body(&t, s.was(), s.Commit, "")
}

// merge is the style that the forge is to be asked for: once, for afterwards that is
// people's, when the check holds and it is no draft.
func (r *Request) merge(o *Open) string {
	draft := r.Draft
	if o != nil {
		draft = o.Draft
	}
	if r.Proof.State != StateSuccess || draft || o != nil && o.mark.merge != "" {
		return ""
	}
	return r.AutoMerge
}

// loses describes the edits by hand that merging the request loses, or that it holds, "" for
// none: only a person may merge it.
func (r *Request) loses() string {
	for _, d := range r.Drafts {
		switch {
		case d.Loses != "":
			return d.Loses
		case d.Edited:
			return "holds edits by hand"
		}
	}
	return ""
}

func (s *Step) was() string {
	if s.Open == nil {
		return ""
	}
	return s.Open.Body
}

// check is to be set on a head, nil where the request says that it was.
func (r *Request) check(o *Open, commit string) *Status {
	if r.Proof.State == "" || o != nil && o.mark.proof == r.Proof.key(commit) {
		return nil
	}
	return &r.Proof
}

func (t *Terms) step(r *Request, o *Open) Step {
	tip := t.tip(r.Branch, "")
	s := Step{Action: ActionOpen, Request: r, Open: o, Build: r.Made(), Title: r.Title, Body: r.body(t, "", tip, r.merge(nil)), Check: r.check(nil, tip), Commit: tip, Merge: r.merge(nil)}
	switch {
	case o == nil:
		return s
	case !o.ours(t.Manager):
		return Step{Action: ActionKeep, Request: r, Open: o, Why: "it was opened by hand", Check: r.check(nil, tip), Commit: tip}
	}
	if more := t.beside(r, o); len(more) > 0 {
		return Step{Action: ActionKeep, Request: r, Open: o, Why: fmt.Sprintf("it asks for more than what was named: name %s as well, or give --all", strings.Join(more, ", "))}
	}
	tip = t.tip(o.Branch, o.Commit)
	if loses := r.loses(); loses != "" && o.mark.merge != "" && r.Proof.State == StateSuccess { // the forge may still merge it by itself
		r.Proof.State, r.Proof.Description = StateFailure, "the forge was asked to merge this by itself, and now it "+loses
	}
	s.Action, s.Merge, s.Body, s.Commit = ActionUpdate, r.merge(o), r.body(t, o.Body, tip, r.merge(o)), tip
	if o.mark.title != short(o.Title) {
		s.Title = o.Title // a person's now
	}
	if s.Build {
		s.Build = o.mark.digest != r.Digest() || t.gone(o.Branch)
		if !s.Build && t.Astray != nil && t.theirs(o.Branch, o.Commit) == "" && t.Astray(r) {
			s.Build, s.Why = true, fmt.Sprintf("its branch %s was not what its Drafts make: it is made anew", o.Branch)
		}
		if by := t.theirs(o.Branch, o.Commit); by != "" && r.Proof.State != "" {
			r.Proof = Status{Context: ProofCheck, State: StateFailure, Description: fmt.Sprintf("what %s committed to it is on no Draft, and was not built", by)}
			s.Merge, s.Body = "", r.body(t, o.Body, tip, "")
		}
		if by := t.theirs(o.Branch, o.Commit); s.Build && by != "" {
			return Step{Action: ActionKeep, Request: r, Open: o, Check: r.check(o, tip), Commit: tip, Why: fmt.Sprintf("%s committed to its branch %s, and what waits has changed since: bring that commit onto the Drafts, or merge the request as it is", by, o.Branch)}
		}
	}
	if s.Check = r.check(o, tip); s.Build {
		s.Check = r.check(nil, tip)
	}
	if !s.Build && s.Body == o.Body && s.Title == o.Title && s.Check == nil {
		s.Action = ActionNone
	}
	return s
}

// beside are the packages that an open request asks for, and that wait, beside those
// of a request.
func (t *Terms) beside(r *Request, o *Open) (more []string) {
	own := r.paths()
	for _, path := range o.mark.members {
		if t.Others != nil && t.Others(path) && !slices.Contains(own, path) {
			more = append(more, path)
		}
	}
	return more
}

func (t *Terms) theirs(branch, commit string) string {
	if t.Theirs == nil {
		return ""
	}
	return t.Theirs(branch, commit)
}

// mark is what a request's text says to the next run, in lines that forges do not
// show. What people write before and after it stays.
type mark struct {
	fleet, digest, title string
	merge                string // style that the forge was asked for, "" for none
	proof                string // key of the check that was set, "" for none
	members              []string
	begin, end           int
}

const (
	markBegin = "<!-- variform:"
	markEnd   = "<!-- /variform -->"
)

// inside replaces what would begin or end a mark in a text that is put into one.
var inside = strings.NewReplacer("<!-- variform", "<!-- ｖariform", "<!-- /variform", "<!-- ／variform")

// body is the text of a request, in the place of the one in was. It says which check
// its head has, and the style in which the forge is to merge it.
func (r *Request) body(t *Terms, was, head, merge string) string {
	m, ok := findMark(was)
	if r.Proof.State != "" {
		m.proof = r.Proof.key(head)
	}
	proof := ""
	if m.proof != "" {
		proof = " proof=" + m.proof
	}
	if merge = cmp.Or(merge, m.merge); merge != "" {
		proof += " merge=" + merge
	}
	own := fmt.Sprintf("%s fleet=%s digest=%s title=%s%s %s -->\n%s\n%s", markBegin, t.Manager, r.Digest(), short(r.Title), proof, membersWord(r.paths()), inside.Replace(strings.TrimSpace(r.Text)), markEnd)
	if ok {
		return was[:m.begin] + own + was[m.end:]
	}
	if was = strings.TrimSpace(was); was != "" {
		return was + "\n\n" + own
	}
	return own
}

// MarkLimit is how long the mark of a request may be, beside its text: forges take
// some 65,000 bytes of both.
const MarkLimit = 44_000

const (
	membersLimit = MarkLimit - 4_000
	// plainMembers is how long a list is that people may want to read.
	plainMembers = 8_000
)

// membersWord is a mark's word for packages: plain, packed where that is long, and less
// than all where that is too long yet. A request is found by most of its packages.
func membersWord(paths []string) string {
	plain := strings.Join(paths, ",")
	if len(plain) <= plainMembers {
		return "members=" + plain
	}
	for {
		var b bytes.Buffer
		w, _ := flate.NewWriter(&b, flate.BestCompression) // a level that there is
		_, _ = io.WriteString(w, strings.Join(paths, ","))
		_ = w.Close()
		if word := "packed=" + base64.RawURLEncoding.EncodeToString(b.Bytes()); len(word) <= membersLimit {
			return word
		}
		paths = paths[:len(paths)*3/4]
	}
}

// unpacked reads a packed list, which may come from anybody: of one that is no list,
// or too long for one, it gives nothing.
func unpacked(word string) []string {
	data, err := base64.RawURLEncoding.DecodeString(word)
	if err != nil {
		return nil
	}
	const most = 4 << 20
	plain, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(data)), most+1))
	if err != nil || len(plain) > most {
		return nil
	}
	return strings.Split(string(plain), ",")
}

// over is the text of a request that the run itself closes: nobody turned down what
// it asked for.
func (o *Open) over() string {
	if !o.marked {
		return o.Body
	}
	text := o.Body[o.mark.begin:o.mark.end]
	return o.Body[:o.mark.begin] + strings.Replace(text, " digest="+o.mark.digest+" ", " ", 1) + o.Body[o.mark.end:]
}

// findMark reads the mark of a text, which may come from anybody: it says which
// request this is, and nothing is published by it.
func findMark(body string) (m mark, ok bool) {
	m.begin = strings.Index(body, markBegin)
	if m.begin < 0 {
		return mark{}, false
	}
	line, _, closed := strings.Cut(body[m.begin+len(markBegin):], "-->")
	if !closed {
		return mark{}, false
	}
	m.end = len(body)
	if at := strings.Index(body[m.begin:], markEnd); at >= 0 {
		m.end = m.begin + at + len(markEnd)
	}
	for _, word := range strings.Fields(line) {
		switch key, value, _ := strings.Cut(word, "="); key {
		case "fleet":
			m.fleet = value
		case "digest":
			m.digest = value
		case "title":
			m.title = value
		case "proof":
			m.proof = value
		case "merge":
			m.merge = value
		case "members":
			m.members = strings.Split(value, ",")
		case "packed":
			m.members = unpacked(value)
		}
	}
	return m, m.fleet != ""
}
