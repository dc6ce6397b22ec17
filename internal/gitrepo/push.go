package gitrepo

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/transport"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"

	"github.com/variform/variform/internal/cores"
	"github.com/variform/variform/internal/record"
	"github.com/variform/variform/internal/wire"
)

// PushOptions controls Push.
type PushOptions struct {
	// MaxRefsPerPush splits the batch; 0 is one push. Each push is atomic on its
	// own. Updates added Together stay together.
	MaxRefsPerPush int
	// RequireAtomic fails where the server cannot push atomically. Without it
	// each ref there moves on its own, still only from its Old.
	RequireAtomic bool
	// Record says where the edits of Batch.Recorded go; nil drops them. Where the
	// record alone has moved they are laid upon the newer one, and where it alone
	// is refused the rest is pushed without it, with a warning.
	Record *RecordOf
}

// Outcome says what became of a ref update.
type Outcome string

// The outcomes of a ref update.
const (
	Moved    Outcome = "moved"
	Unmoved  Outcome = "unmoved"
	NotTried Outcome = "not tried"
	Unknown  Outcome = "unknown"
)

// RefResult is one ref's outcome.
type RefResult struct {
	RefUpdate
	Outcome Outcome
	Message string // the server's, where it refused
}

// PushReport says what a Push did. It is never nil.
type PushReport struct {
	Refs     []RefResult // sorted by the first name of each group added
	Atomic   bool        // false where any push of more than one ref is known not to have been
	Objects  int
	Bytes    int64    // of packs
	Messages []string // the remote's, at most 200
}

// Push sends all objects and ref updates. Each push is one atomic request that
// moves its refs only if all are where the batch says. After the first failure
// the rest is not tried. Errors: *StaleError, *RejectedError,
// *UnknownOutcomeError (with errors.Join where a server that is not atomic gave
// several), or the transport's where nothing was sent.
func (b *Batch) Push(ctx context.Context, o PushOptions) (*PushReport, error) {
	p := &pusher{batch: b, repo: b.repo, opts: o, report: &PushReport{Atomic: true}}
	chunks := b.chunks(o.MaxRefsPerPush)
	for _, c := range chunks {
		for _, u := range c.updates {
			p.report.Refs = append(p.report.Refs, RefResult{RefUpdate: u, Outcome: NotTried})
		}
	}
	if local := p.repo.local; local != nil {
		if hook := local.guarded(); hook != "" {
			return p.report, errKind(ErrUnsupported, "pushing to %s: it judges pushes with the hook %q, and hooks of local repositories are not run, nor passed by: push to it over ssh or http, or remove the hook", p.repo.URL(), hook)
		}
	}
	if d, ok := b.repo.objects.(*objectDir); ok {
		d.bases.drop(d) // the packages are made: what they were read with is not needed for it
		defer d.bases.drop(d)
	}
	done := 0
	for _, c := range chunks {
		results := p.report.Refs[done : done+len(c.updates)]
		if err := p.pushGroup(ctx, c, results); err != nil {
			return p.report, err
		}
		done += len(c.updates)
	}
	return p.report, nil
}

// chunks splits the updates, sorted by name, so that the same batch gives the
// same pushes whatever the order it was made in.
func (b *Batch) chunks(most int) []group {
	b.mu.Lock()
	defer b.mu.Unlock()
	groups := append([]group(nil), b.groups...)
	sort.SliceStable(groups, func(i, j int) bool { return groups[i].first() < groups[j].first() })
	var out []group
	for _, g := range groups {
		last := len(out) - 1
		if last < 0 || most > 0 && len(out[last].updates)+len(g.updates) > most {
			out = append(out, group{slices.Clone(g.updates), slices.Clone(g.edits)})
			continue
		}
		out[last].updates = append(out[last].updates, g.updates...)
		out[last].edits = append(out[last].edits, g.edits...)
	}
	return out
}

// first is what a group is sorted by: "" where no ref moves.
func (g group) first() string {
	if len(g.updates) == 0 {
		return ""
	}
	return g.updates[0].Name
}

type pusher struct {
	batch  *Batch
	repo   *Repo
	opts   PushOptions
	sent   map[Hash]bool
	report *PushReport
	beside string // the record's ref in a push, which need not move with the others
}

// push makes one push, and once more with everything spelled out where the
// server could not complete our pack. It has moved nothing then, or, as git does
// even of an atomic push, the refs that lack nothing.
func (p *pusher) push(ctx context.Context, updates []RefUpdate, results []RefResult) error {
	a, err := p.attempt(ctx, updates, false)
	if err != nil {
		return err
	}
	if a.incomplete() {
		p.repo.store.opts.Log("%s could not complete a thin pack: sending whole objects", p.repo.URL())
		return p.complete(ctx, a, updates, results)
	}
	return p.judge(ctx, a, updates, results)
}

// complete sends what did not move anew, with all that it needs.
func (p *pusher) complete(ctx context.Context, a *attempt, updates []RefUpdate, results []RefResult) error {
	var moved, left []RefUpdate
	var at []int
	for i, u := range updates {
		if a.says(u.Name) == "ok" && a.status.UnpackStatus == "ok" {
			moved, results[i].Outcome = append(moved, u), Moved
		} else {
			left, at = append(left, u), append(at, i)
		}
	}
	if len(moved) > 0 {
		p.landed(a, moved)
	}
	a, err := p.attempt(ctx, left, true)
	if err != nil {
		return err
	}
	rest := make([]RefResult, len(left))
	for i, r := range at {
		rest[i] = results[r]
	}
	err = p.judge(ctx, a, left, rest)
	for i, r := range at {
		results[r] = rest[i]
	}
	return err
}

// says is the server's answer about a ref.
func (a *attempt) says(ref string) string {
	for _, c := range a.status.CommandStatuses {
		if string(c.ReferenceName) == ref {
			return c.Status
		}
	}
	return ""
}

// attempt is one request and its answer.
type attempt struct {
	sent    bool             // the request may have reached the server
	can     *capability.List // what the server can do
	atomic  bool
	status  *packp.ReportStatus // nil where the answer was lost
	err     error               // of the transport, after sending
	stale   []StaleRef          // seen before sending
	clash   []RefMessage        // names that cannot be, seen before sending
	pack    []*newObject
	body    *pack                  // of them; nil where none is sent
	commits func() map[Hash][]byte // the first of the pack, as they are kept
	lines   *progress
}

// lacksObjects is in what git says of a ref that leads to what is not there.
const lacksObjects = "missing necessary objects"

func (a *attempt) incomplete() bool {
	if a.status == nil {
		return false
	}
	if a.status.UnpackStatus != "ok" {
		return len(a.pack) > 0
	}
	for _, c := range a.status.CommandStatuses {
		if strings.Contains(c.Status, lacksObjects) {
			return true
		}
	}
	return false
}

func (p *pusher) attempt(ctx context.Context, updates []RefUpdate, full bool) (*attempt, error) {
	var a *attempt
	err := p.repo.withSession(ctx, true, func(ctx context.Context, s transport.Session) error {
		a = &attempt{}
		adv, err := s.AdvertisedReferencesContext(ctx)
		if isEmptyRemote(err) && adv == nil {
			adv, err = packp.NewAdvRefs(), nil
		}
		if err != nil {
			return err
		}
		a.can = adv.Capabilities
		refs := adv.References
		if a.stale = staleRefs(updates, refs); len(a.stale) > 0 {
			return nil
		}
		if a.clash = clashes(updates, refs); len(a.clash) > 0 {
			return nil
		}
		req, err := p.request(a, updates, full)
		if err != nil {
			return err
		}
		a.sent, a.commits = true, p.readAhead(a)
		switch {
		case a.body == nil:
		case p.repo.loc.http(): // the library would take all of it into memory first
			ctx = withPack(ctx, a.body)
		default:
			req.Packfile = io.NopCloser(a.body.reader())
		}
		a.status, a.err = s.(transport.ReceivePackSession).ReceivePack(ctx, req)
		if slow := wire.TooSlow(ctx); a.err != nil && slow != nil {
			a.err = slow
		}
		if isAuth(a.err) || wire.IsRateLimited(a.err) || neverLeft(a.err) { // refused at the door: withSession may log in and come again
			a.sent = false
			return a.err
		}
		return nil
	})
	if a != nil && a.sent {
		return a, nil // what closing the session says adds nothing
	}
	if err != nil {
		return nil, fmt.Errorf("pushing to %s: %w", p.repo.URL(), err)
	}
	return a, nil
}

func staleRefs(updates []RefUpdate, now map[string]plumbing.Hash) []StaleRef {
	var out []StaleRef
	for _, u := range updates {
		if at := now[u.Name]; at != u.Old {
			out = append(out, StaleRef{Name: u.Name, Expected: u.Old, Actual: at})
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out
}

// clashes finds new refs that Git cannot hold beside others: one being a folder
// of the other.
func clashes(updates []RefUpdate, now map[string]plumbing.Hash) []RefMessage {
	after := make(map[string]bool, len(now)+len(updates))
	for name := range now {
		after[name] = true
	}
	for _, u := range updates {
		after[u.Name] = !u.New.IsZero()
	}
	folders := map[string]string{}
	for name, there := range after {
		for i := len(name) - 1; there && i > 0; i-- {
			if name[i] == '/' && (folders[name[:i]] == "" || name < folders[name[:i]]) {
				folders[name[:i]] = name
			}
		}
	}
	var out []RefMessage
	for _, u := range updates {
		if !u.Old.IsZero() || u.New.IsZero() {
			continue
		}
		if below := folders[u.Name]; below != "" {
			out = append(out, RefMessage{u.Name, "Git cannot hold it beside " + below + ": rename the package or the workspace"})
			continue
		}
		for i := len(u.Name) - 1; i > len(headsPrefix); i-- {
			if u.Name[i] == '/' && after[u.Name[:i]] {
				out = append(out, RefMessage{u.Name, "Git cannot hold it beside " + u.Name[:i] + ": rename the package or the workspace"})
				break
			}
		}
	}
	return out
}

func (p *pusher) request(a *attempt, updates []RefUpdate, full bool) (*packp.ReferenceUpdateRequest, error) {
	caps := a.can
	req := packp.NewReferenceUpdateRequestFromCapabilities(caps)
	a.atomic = caps.Supports(capability.Atomic)
	if a.atomic {
		_ = req.Capabilities.Set(capability.Atomic)
	} else if beside := slices.ContainsFunc(updates, func(u RefUpdate) bool { return u.Name == p.beside }); len(updates) > 2 || len(updates) == 2 && !beside {
		if p.opts.RequireAtomic {
			return nil, errKind(ErrUnsupported, "the server cannot move several refs atomically, and here all must move or none")
		}
		p.report.Atomic = false
		p.repo.store.opts.Warn("the server of %s cannot move several refs at once: each moves on its own, so that a failure can leave some done and some not", p.repo.URL())
	}
	if caps.Supports(capability.Quiet) {
		_ = req.Capabilities.Set(capability.Quiet)
	}
	a.lines = &progress{pusher: p}
	req.Progress = a.lines
	if caps.Supports(capability.Sideband64k) {
		_ = req.Capabilities.Set(capability.Sideband64k)
	}
	if !caps.Supports(capability.ReportStatus) {
		return nil, errKind(ErrUnsupported, "the server does not report what became of a push")
	}
	var tips []Hash
	for _, u := range updates {
		if u.New.IsZero() && !caps.Supports(capability.DeleteRefs) {
			return nil, errKind(ErrUnsupported, "the server does not delete refs (%s)", u.Name)
		}
		if !u.New.IsZero() {
			tips = append(tips, u.New)
		}
		req.Commands = append(req.Commands, &packp.Command{Name: plumbing.ReferenceName(u.Name), Old: u.Old, New: u.New})
	}
	if len(tips) == 0 {
		return req, nil // deletes alone send no pack
	}
	a.pack = p.batch.selectObjects(tips, p.sent, full)
	pack, err := p.batch.newPack(a.pack, !full && !caps.Supports("no-thin"))
	if err != nil {
		return nil, err
	}
	p.report.Objects += len(a.pack)
	p.report.Bytes += pack.size()
	a.body = pack
	return req, nil
}

// judge turns an answer, or the lack of one, into results.
func (p *pusher) judge(ctx context.Context, a *attempt, updates []RefUpdate, results []RefResult) error {
	if a.lines != nil {
		a.lines.flush()
	}
	switch {
	case len(a.stale) > 0:
		setAll(results, Unmoved)
		return &StaleError{URL: p.repo.URL(), Refs: a.stale}
	case len(a.clash) > 0:
		setAll(results, Unmoved)
		return &RejectedError{URL: p.repo.URL(), Refs: a.clash}
	case a.status == nil:
		return p.readAgain(ctx, a, updates, results)
	}
	said := map[string]string{}
	for _, c := range a.status.CommandStatuses {
		said[string(c.ReferenceName)] = c.Status
	}
	var moved []RefUpdate
	var refused []RefMessage
	for i, u := range updates {
		status, ok := said[u.Name]
		switch {
		case a.status.UnpackStatus != "ok":
			status = "unpack failed: " + a.status.UnpackStatus
		case !ok:
			status = "the server did not say"
		}
		if status == "ok" {
			moved = append(moved, u)
			results[i].Outcome = Moved
			continue
		}
		status = plainly(p.repo.scrub(status))
		results[i].Outcome, results[i].Message = Unmoved, status
		refused = append(refused, RefMessage{u.Name, status})
	}
	if len(refused) == 0 {
		p.landed(a, updates)
		return nil
	}
	if len(moved) > 0 {
		if a.atomic { // as it was, or said
			a.atomic, p.report.Atomic = false, false
			p.repo.store.opts.Warn("the server of %s moved some refs of a push that was to move all or none", p.repo.URL())
		}
		p.landed(a, moved)
	}
	return p.refusal(ctx, a, updates, refused)
}

// refusal finds out whether refs had moved: an atomic server blames them all.
func (p *pusher) refusal(ctx context.Context, a *attempt, updates []RefUpdate, refused []RefMessage) error {
	sort.Slice(refused, func(i, j int) bool { return refused[i].Name < refused[j].Name })
	rejected := &RejectedError{URL: p.repo.URL(), Refs: refused, Message: a.lines.text()}
	now, err := p.refsNow(ctx)
	if err != nil {
		return rejected
	}
	blamed := map[string]bool{}
	for _, r := range refused {
		blamed[r.Name] = true
	}
	var failed []RefUpdate
	for _, u := range updates {
		if blamed[u.Name] {
			failed = append(failed, u)
		}
	}
	stale := staleRefs(failed, now)
	if len(stale) == 0 {
		return rejected
	}
	staleErr := &StaleError{URL: p.repo.URL(), Refs: stale}
	if a.atomic || len(stale) == len(failed) {
		return staleErr
	}
	return errors.Join(staleErr, rejected)
}

// readAgain decides a push whose answer was lost by what the refs are now.
func (p *pusher) readAgain(ctx context.Context, a *attempt, updates []RefUpdate, results []RefResult) error {
	cause := a.err
	if cause == nil {
		cause = errors.New("the server answered nothing")
	}
	cause = p.repo.explain(ctx, cause)
	switch {
	case httpStatus(a.err) == http.StatusRequestEntityTooLarge:
		return p.tooLarge(updates, results)
	case refusedUnseen(a.err):
		setAll(results, Unmoved) // refused before git saw it
		return fmt.Errorf("pushing to %s: %w", p.repo.URL(), cause)
	}
	unknown := &UnknownOutcomeError{URL: p.repo.URL(), Err: cause}
	now, err := p.refsNow(ctx)
	if err != nil {
		setAll(results, Unknown)
		return unknown
	}
	var moved []RefUpdate
	for i, u := range updates {
		switch now[u.Name] {
		case u.New:
			results[i].Outcome = Moved
			moved = append(moved, u)
			unknown.Moved = append(unknown.Moved, u.Name)
		case u.Old:
			results[i].Outcome = Unmoved
			unknown.Unmoved = append(unknown.Unmoved, u.Name)
		default:
			results[i].Outcome = Unknown
		}
	}
	if len(moved) == len(updates) {
		p.landed(a, updates)
		return nil
	}
	if len(moved) > 0 {
		p.landed(a, moved)
	}
	return unknown
}

// tooLarge is what a server says that takes no request of that size: a smaller push
// it may take.
func (p *pusher) tooLarge(updates []RefUpdate, results []RefResult) error {
	setAll(results, Unmoved)
	refused := &RejectedError{URL: p.repo.URL()}
	for _, u := range updates {
		refused.Refs = append(refused.Refs, RefMessage{u.Name, "it takes no request of this size (HTTP 413): raise its limit"})
	}
	return refused
}

// neverLeft says that there was no connection to send anything by.
func neverLeft(err error) bool {
	err = within(err)
	var dns *net.DNSError
	var op *net.OpError
	var record tls.RecordHeaderError
	var certificate *tls.CertificateVerificationError
	return errors.As(err, &dns) || errors.As(err, &op) && (op.Op == "dial" || op.Op == "proxyconnect") ||
		errors.As(err, &record) || errors.As(err, &certificate)
}

// refusedUnseen says that a server refused a request before git saw it.
func refusedUnseen(err error) bool {
	if err = within(err); err == nil {
		return false
	}
	if errors.Is(err, transport.ErrRepositoryNotFound) || errors.Is(err, ErrNoRepository) || strings.Contains(err.Error(), "redirect on non-initial request") {
		return true // nor is it there, or a page was in its place
	}
	code := httpStatus(err)
	return code >= 400 && code < 500 && code != http.StatusRequestTimeout && code != http.StatusRequestEntityTooLarge
}

func httpStatus(err error) int {
	var status *githttp.Err
	if errors.As(within(err), &status) && status.Response != nil {
		return status.StatusCode()
	}
	return 0
}

// within is what is in an error of the library, which does not unwrap it.
func within(err error) error {
	var unexpected *plumbing.UnexpectedError
	if errors.As(err, &unexpected) {
		return unexpected.Err
	}
	return err
}

func setAll(results []RefResult, o Outcome) {
	for i := range results {
		results[i].Outcome = o
	}
}

// What reading the refs after a push may take: a person who stopped the run waits for it.
const (
	readAgainPatience = 30 * time.Second
	readAgainStopped  = 500 * time.Millisecond
)

// refsNow reads the refs even where the push was cancelled.
func (p *pusher) refsNow(ctx context.Context) (map[string]plumbing.Hash, error) {
	patience := readAgainPatience
	if ctx.Err() != nil {
		patience = readAgainStopped
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	if err := p.repo.Refresh(ctx); err != nil {
		return nil, err
	}
	return p.repo.Refs().hashes(), nil
}

// commitsAtOnce are read together: all at once are some megabytes.
const commitsAtOnce = 512

// readAhead reads the first commits of a push while the server is at work.
func (p *pusher) readAhead(a *attempt) func() map[Hash][]byte {
	some := commitsOf(a.pack)
	some = some[:min(len(some), commitsAtOnce)]
	read := make(chan map[Hash][]byte, 1)
	go func() { read <- p.rawCommits(some, &sync.Map{}) }()
	return sync.OnceValue(func() map[Hash][]byte { return <-read })
}

// commitsOf are those of a pack, which begins with them.
func commitsOf(pack []*newObject) []*newObject {
	end := slices.IndexFunc(pack, func(o *newObject) bool { return o.typ != plumbing.CommitObject })
	if end < 0 {
		return pack
	}
	return pack[:end]
}

// rawCommits are those that can be read: they are only for a cache.
func (p *pusher) rawCommits(commits []*newObject, memo *sync.Map) map[Hash][]byte {
	read := make([][]byte, len(commits))
	_ = cores.Each(context.Background(), 0, len(commits), func(i int) error {
		if raw, err := p.batch.whole(commits[i], memo); err == nil {
			read[i] = raw
		}
		return nil
	})
	raws := make(map[Hash][]byte, len(commits))
	for i, o := range commits {
		if read[i] != nil {
			raws[o.hash] = read[i]
		}
	}
	return raws
}

// landed takes what is now on the server into the Repo.
func (p *pusher) landed(a *attempt, updates []RefUpdate) {
	hs := make([]Hash, len(a.pack))
	if len(p.sent) == 0 {
		p.sent = make(map[Hash]bool, len(hs))
	}
	for i, o := range a.pack {
		hs[i], p.sent[o.hash] = o.hash, true
	}
	p.repo.knowAll(hs)
	p.repo.store.places.flush()
	keep := func(raws map[Hash][]byte) {
		if err := p.repo.commits.add(raws, p.batch.made); err != nil {
			p.repo.store.opts.Log("%v", err)
		}
	}
	commits, memo := commitsOf(a.pack), &sync.Map{}
	if a.commits != nil && len(commits) > 0 {
		keep(a.commits())
		commits = commits[min(len(commits), commitsAtOnce):]
	}
	for some := range slices.Chunk(commits, commitsAtOnce) {
		keep(p.rawCommits(some, memo))
	}
	p.repo.mu.Lock()
	p.repo.refs = p.repo.refs.apply(updates)
	p.repo.mu.Unlock()
	if err := p.keepWays(updates); err != nil { // only a cache
		p.repo.store.opts.Log("writing the cache: %v", err)
	}
}

// keepWays keeps what leads to packages in commits that branches of packages have now: the
// next Drafts are made upon them, and would ask for what was just sent.
func (p *pusher) keepWays(updates []RefUpdate) error {
	if p.repo.local != nil {
		return nil
	}
	var heads []Hash
	for _, u := range updates {
		revision := strings.HasPrefix(u.Name, draftsPrefix) || strings.HasPrefix(u.Name, proposedPrefix) || record.IsRef(u.Name)
		if c := p.batch.made(u.New); c != nil && !revision && strings.HasPrefix(u.Name, headsPrefix) {
			heads = append(heads, c.Tree)
		}
	}
	if len(heads) == 0 { // as where Drafts alone move
		return nil
	}
	all := folders{}
	for _, path := range p.repo.Index("").Packages() {
		at, segs := all, splitPath(path)
		for _, seg := range segs[:max(0, len(segs)-1)] {
			if at[seg] == nil {
				at[seg] = folders{}
			}
			at = at[seg]
		}
	}
	ways := map[Hash]rawObject{}
	for _, tree := range heads {
		if err := p.keepWay(tree, all, ways); err != nil {
			return err
		}
	}
	return p.repo.storeObjects(p.repo.ways.objectSource, ways)
}

// folders are those that lead to packages, by name.
type folders map[string]folders

// keepWay takes a tree that is at hand, and those below it that lead to packages.
func (p *pusher) keepWay(tree Hash, below folders, into map[Hash]rawObject) error {
	if p.batch.object(tree) == nil && !p.repo.treesOf(tree).has(tree) {
		return nil
	}
	k, err := p.batch.tree(tree)
	if err != nil {
		return err
	}
	raw := slices.Clone(k.raw)
	p.batch.release(k)
	into[tree] = rawObject{tree, plumbing.TreeObject, raw}
	if len(below) == 0 {
		return nil
	}
	entries, err := parseTree(raw)
	for _, e := range entries {
		if next, leads := below[e.name]; leads && e.mode == modeDir && err == nil {
			err = p.keepWay(e.hash, next, into)
		}
	}
	return err
}

const maxMessages = 200

// progress cuts what the remote prints into lines.
type progress struct {
	pusher *pusher
	mu     sync.Mutex
	buf    []byte
	lines  []string
}

func (w *progress) Write(data []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.buf = append(w.buf, data...)
	for {
		i := bytes.IndexAny(w.buf, "\r\n")
		if i < 0 {
			break
		}
		w.line(string(w.buf[:i]))
		w.buf = w.buf[i+1:]
	}
	if len(w.buf) > 64<<10 {
		w.buf = nil
	}
	return len(data), nil
}

func (w *progress) line(s string) {
	s = strings.Map(printable, strings.TrimSpace(s))
	if s == "" {
		return
	}
	s = w.pusher.repo.scrub(s)
	if len(w.lines) < maxMessages {
		w.lines = append(w.lines, s)
	}
	if len(w.pusher.report.Messages) < maxMessages {
		w.pusher.report.Messages = append(w.pusher.report.Messages, s)
	}
}

// printable drops what could steer a terminal.
// plainly is what a server said of one ref, as it may be shown: one plain line.
func plainly(s string) string {
	const most = 500
	if s = strings.Map(printable, strings.ToValidUTF8(s, "")); len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}

func printable(r rune) rune {
	if unicode.IsControl(r) && r != '\t' || unicode.Is(unicode.Bidi_Control, r) || r == unicode.ReplacementChar {
		return -1
	}
	return r
}

func (w *progress) flush() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.line(string(w.buf))
	w.buf = nil
}

func (w *progress) text() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(w.lines, "\n")
}
