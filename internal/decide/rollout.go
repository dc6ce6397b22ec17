package decide

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/variform/variform/api"
	"github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/internal/count"
)

// This file is the state machine of rollouts (docs/design/rollouts.md): what a Rollout publishes
// now follows from its file, the registered branches, the Drafts and the clock alone.

// States of a member. Ready and Carries are published; Carries keeps a hotfix of the branch.
const (
	MemberWaiting       = "Waiting"
	MemberReady         = "Ready"
	MemberCarries       = "Carries"
	MemberPublished     = "Published"
	MemberOvertaken     = "Overtaken"
	MemberNeedsApproval = "NeedsApproval"
	MemberMoved         = "Moved"
	MemberHeld          = "Held"
	MemberRefused       = "Refused"
	MemberSetBack       = "SetBack"
	MemberRewritten     = "Rewritten"
	MemberUnread        = "Unread"
	MemberExcepted      = "Excepted"
	MemberGone          = "Gone"
)

// States of a wave.
const (
	WavePending    = "Pending"
	WavePublishing = "Publishing"
	WaveSoaking    = "Soaking"
	WaveManual     = "Manual"
	WaveBlocked    = "Blocked"
	WaveDone       = "Done"
)

// States of a Rollout.
const (
	RolloutProgressing = "Progressing"
	RolloutPaused      = "Paused"
	RolloutBlocked     = "Blocked"
	RolloutDone        = "Done"
	RolloutExceptions  = "DoneWithExceptions"
	RolloutStopped     = "Stopped"
	RolloutReplaced    = "Replaced"
)

// RolloutStep is a content that the registered branch got since the approval.
type RolloutStep struct {
	Commit, Parent Hash
	Tree           Hash // zero where the package was deleted
	// When is the time at which it came, zero where no commit has that: a forge may move the
	// branch to a Draft's own commit.
	When time.Time
	// Change is the digest of what the step changed, where it is not the approved tree.
	Change string
}

// RolloutPackage is a package of a member, and what its repository holds of it.
type RolloutPackage struct {
	v1alpha1.RolloutPackage
	Identity Identity
	Version  string // of the upstream, when it is approved
	Exempt   string // from which checks a person exempted it, and why; "" for none
	// Steps are those of the registered branch since the approval, the newest first.
	Steps []RolloutStep
	// Rewritten reports that the branch's history does not have the commit of the approval.
	Rewritten bool
	// HasDraft reports that an open revision holds the approved tree.
	HasDraft bool
	// Gone reports that no variant wants the package any more.
	Gone bool
	// Held is who holds it, "" for nobody.
	Held string
	// Differs is why the approved change does not fit to the branch, where that moved.
	Differs string
	// Refused is why the server or a check refused it in this run.
	Refused error
	Err     error
}

// RolloutMember is a target. Decide sets the fields from State on.
type RolloutMember struct {
	Target, Wave string
	Labels       map[string]string // by which waves select it, before it is in one
	Packages     []*RolloutPackage
	State        string
	Why          string    // with what to do, of a member that does not go on
	When         time.Time // of its publication
	Undated      bool      // no commit has the time of its publication
	Publish      bool      // now
}

// RolloutWave counts the members of a wave.
type RolloutWave struct {
	Name      string `json:"name"`
	State     string `json:"state"`
	Members   int    `json:"members"`
	Published int    `json:"published"`
}

// RolloutReport is where a Rollout is.
type RolloutReport struct {
	Name  string
	State string
	// Message is one sentence with what the Rollout waits for, or what to do.
	Message string
	Waves   []RolloutWave
	Members []*RolloutMember
}

// RolloutOf decides where a Rollout is. members are those of its file, in order. replacedBy is
// the Rollout that replaces it, "" for none, and now the time.
func RolloutOf(r *v1alpha1.Rollout, members []*RolloutMember, replacedBy string, now time.Time) *RolloutReport {
	out := &RolloutReport{Name: r.Name, State: RolloutProgressing, Members: members}
	for _, m := range members {
		m.judge(r)
	}
	var failed []*RolloutMember
	open := true
	for n := range r.Spec.Strategy.Waves {
		w := wave{spec: r, n: n, now: now, RolloutWave: RolloutWave{Name: r.Spec.Strategy.Waves[n].Name, State: WavePending}}
		w.collect(members, open)
		if open {
			failed = append(failed, w.failed...)
			out.Message = w.decide(failed)
			open = w.State == WaveDone
		}
		out.Waves = append(out.Waves, w.RolloutWave)
	}
	out.conclude(r, replacedBy, failed, open)
	return out
}

// conclude finds the state of the whole. Only one that progresses publishes.
func (o *RolloutReport) conclude(r *v1alpha1.Rollout, replacedBy string, failed []*RolloutMember, done bool) {
	published, all := 0, 0
	for i, w := range o.Waves {
		published, all = published+w.Published, all+w.Members
		if w.State == WaveBlocked {
			o.State = RolloutBlocked
		}
		if w.State != WaveDone && w.State != WavePending {
			o.Message = fmt.Sprintf("wave %s, %d of %d: %s", w.Name, i+1, len(o.Waves), o.Message)
		}
	}
	var except []string
	for _, m := range o.Members {
		if m.State == MemberExcepted {
			except = append(except, m.Target)
		}
	}
	for _, m := range failed {
		except = append(except, m.Target+" ("+m.Why+")")
	}
	switch {
	case done && len(except) > 0:
		o.State, o.Message = RolloutExceptions, "done, except for "+strings.Join(Limit(except, 5), ", ")
	case done:
		o.State, o.Message = RolloutDone, "done"
	case replacedBy != "":
		o.State, o.Message = RolloutReplaced, "replaced by "+replacedBy
	case r.Spec.Stopped:
		o.State, o.Message = RolloutStopped, "stopped: apply updates the Drafts that are left"
	case r.Spec.Paused:
		o.State, o.Message = RolloutPaused, "paused: run variform rollout resume "+r.Name
	}
	o.Message = fmt.Sprintf("%d of %d published; %s", published, all, o.Message)
	for _, m := range o.Members {
		m.Publish = m.Publish && o.State == RolloutProgressing
	}
}

// Waits reports whether the Rollout goes on later.
func (o *RolloutReport) Waits() bool {
	return o.State == RolloutProgressing || o.State == RolloutPaused
}

// Active reports whether the Rollout still carries members.
func (o *RolloutReport) Active() bool {
	return o.Waits() || o.State == RolloutBlocked
}

// wave is one wave while it is decided.
type wave struct {
	RolloutWave
	spec    *v1alpha1.Rollout
	n       int
	now     time.Time
	last    time.Time // publication
	undated []*RolloutMember
	ready   []*RolloutMember
	failed  []*RolloutMember
	unread  []*RolloutMember
	later   int // members of later waves that are not published
}

func (w *wave) collect(members []*RolloutMember, open bool) {
	later := map[string]bool{}
	for _, next := range w.spec.Spec.Strategy.Waves[w.n+1:] {
		later[next.Name] = true
	}
	for _, m := range members {
		switch {
		case m.State == MemberGone || m.State == MemberExcepted:
			continue
		case later[m.Wave] && !m.published():
			w.later++
		}
		if m.Wave != w.Name {
			continue
		}
		w.Members++
		switch {
		case m.published():
			w.Published++
			if m.When.After(w.last) {
				w.last = m.When
			}
			if m.Undated {
				w.undated = append(w.undated, m)
			}
		case m.State == MemberUnread || m.State == MemberRefused:
			w.unread = append(w.unread, m)
		case m.State != MemberReady && m.State != MemberCarries:
			w.failed = append(w.failed, m)
		case open:
			w.ready = append(w.ready, m)
		default:
			m.State = MemberWaiting
		}
	}
}

// decide finds the state of an open wave, and a sentence. failed are the failures of it and of
// the waves before.
func (w *wave) decide(failed []*RolloutMember) string {
	s := &w.spec.Spec.Strategy
	if n := len(failed); n > s.MaxFailures {
		w.State = WaveBlocked
		return fmt.Sprintf("%s failed, and %d may: %s", count.Of(n, "member"), s.MaxFailures, failed[n-1].Why)
	}
	if len(w.ready) > 0 {
		w.State = WavePublishing
		if at := w.opens(); !at.Equal(w.now) {
			return "the calendar allows to publish " + count.Of(len(w.ready), "member") + " from " + clock(at)
		}
		for _, m := range w.ready {
			m.Publish = true
		}
		return "advance publishes " + count.Of(len(w.ready), "member")
	}
	if len(w.unread) > 0 {
		w.State = WavePublishing
		return "waits for " + w.unread[0].Target + ": " + w.unread[0].Why
	}
	w.State = WaveDone
	if w.later == 0 {
		return ""
	}
	passed := slices.Contains(w.spec.Spec.Passed, w.Name)
	pass := fmt.Sprintf("run variform rollout resume %s --after %s", w.spec.Name, w.Name)
	for _, g := range s.Gates {
		soak, err := time.ParseDuration(g.Soak)
		switch {
		case err != nil || w.Published == 0:
		case w.now.Before(w.last.Add(soak)):
			w.State = WaveSoaking
			return "soaks until " + clock(w.last.Add(soak))
		case len(w.undated) > 0 && !passed:
			w.State = WaveManual
			return fmt.Sprintf("no commit says when %s was merged: once it has soaked, %s", w.undated[0].Target, pass)
		}
	}
	for _, g := range s.Gates {
		if m := g.Manual; m != nil && m.After == w.Name && !passed {
			w.State = WaveManual
			return "waits for a person: " + pass
		}
	}
	return ""
}

// opens is the next time at which all calendars allow to publish, now where they do.
func (w *wave) opens() time.Time {
	at := w.now
	for range 100 { // calendars that never agree end here
		before := at
		for _, g := range w.spec.Spec.Strategy.Gates {
			if g.Calendar == nil {
				continue
			}
			if c, err := api.ParseCalendar(g.Calendar); err == nil {
				at = c.Next(at)
			}
		}
		if at.Equal(before) {
			break
		}
	}
	return at
}

func clock(t time.Time) string { return t.Format("2006-01-02 15:04 MST") }

func (m *RolloutMember) published() bool {
	return m.State == MemberPublished || m.State == MemberOvertaken
}

// judge finds the member's state: that of the package that is worst off.
func (m *RolloutMember) judge(r *v1alpha1.Rollout) {
	order := []string{
		MemberGone, MemberPublished, MemberOvertaken, MemberReady, MemberCarries, MemberRefused, MemberUnread,
		MemberHeld, MemberMoved, MemberNeedsApproval, MemberRewritten, MemberSetBack,
	}
	m.State, m.Why, m.Publish, m.Undated = MemberGone, "", false, false
	for _, p := range m.Packages {
		state, why, when := p.state()
		if slices.Index(order, state) > slices.Index(order, m.State) {
			m.State, m.Why = state, why
		}
		if when.After(m.When) {
			m.When = when
		}
		m.Undated = m.Undated || when.IsZero() && (state == MemberPublished || state == MemberOvertaken)
	}
	if m.Why != "" {
		m.Why = fmt.Sprintf("%s; to go on without it, run variform rollout stop %s %s", m.Why, r.Name, m.Target)
	}
	if slices.Contains(r.Spec.Except, m.Target) && !m.published() {
		m.State, m.Why = MemberExcepted, ""
	}
}

// state finds where a package is, why it does not go on, and when it was published.
func (p *RolloutPackage) state() (state, why string, when time.Time) {
	tree, base := ParseHash(p.Tree), ParseHash(p.Base)
	at := slices.IndexFunc(p.Steps, func(s RolloutStep) bool { return s.Tree == tree || s.Change != "" && s.Change == p.Change })
	name := p.Identity.String()
	switch {
	case p.Err != nil:
		return MemberUnread, fmt.Sprintf("%s cannot be read: %v", name, p.Err), when
	case at > 0 && p.Steps[0].Tree == base:
		return MemberSetBack, name + " was set back on its branch, and is not published again", when
	case at > 0:
		return MemberOvertaken, "", p.Steps[at].When
	case at == 0:
		return MemberPublished, "", p.Steps[0].When
	case p.Rewritten:
		return MemberRewritten, "the registered branch of " + name + " was rewritten since the approval: approve its Draft anew", when
	case p.Gone:
		return MemberGone, "", when
	case p.Held != "":
		return MemberHeld, fmt.Sprintf("%s is %s", name, p.Held), when
	case !p.HasDraft:
		return MemberMoved, fmt.Sprintf("no Draft of %s holds what was approved: run variform apply, which drafts it again where its inputs are the same", name), when
	case p.Differs != "":
		return MemberNeedsApproval, fmt.Sprintf("%s needs an approval of its own: %s", name, p.Differs), when
	case p.Refused != nil:
		return MemberRefused, fmt.Sprintf("%s was refused: %v", name, p.Refused), when
	case p.Moved():
		return MemberCarries, "", when
	}
	return MemberReady, "", when
}

// Due reports whether the package is to be published with its member.
func (p *RolloutPackage) Due() bool {
	state, _, _ := p.state()
	return state == MemberReady || state == MemberCarries
}

// Moved reports whether the branch holds something else than at the approval.
func (p *RolloutPackage) Moved() bool {
	return len(p.Steps) > 0 && p.Steps[0].Tree != ParseHash(p.Base)
}

// Contested blocks Rollouts that would publish the same package: none of them is published.
func Contested(list []*RolloutReport) {
	by := map[Identity][]*RolloutReport{}
	for _, r := range list {
		for _, m := range r.Members {
			if !r.Active() || m.published() || m.State == MemberExcepted || m.State == MemberGone {
				continue
			}
			for _, p := range m.Packages {
				by[p.Identity] = append(by[p.Identity], r)
			}
		}
	}
	for _, id := range slices.SortedFunc(maps.Keys(by), Identity.Compare) {
		of := by[id]
		if len(of) < 2 {
			continue
		}
		for _, r := range of {
			r.State = RolloutBlocked
			r.Message = fmt.Sprintf("%s is in the rollouts %s and %s: stop one of them", id, of[0].Name, of[1].Name)
			for _, m := range r.Members {
				m.Publish = false
			}
		}
	}
}

// Doubted publishes nothing of Rollouts while a file of the fleet cannot be read.
func Doubted(list []*RolloutReport) {
	for _, r := range list {
		if !r.Active() {
			continue
		}
		r.State, r.Message = RolloutBlocked, "not all files of the fleet can be read: correct them first"
		for _, m := range r.Members {
			m.Publish = false
		}
	}
}

// AssignWaves finds the wave of each member by its labels.
func AssignWaves(s *v1alpha1.RolloutWaves, members []*RolloutMember) error {
	left := slices.SortedFunc(slices.Values(members), func(a, b *RolloutMember) int {
		x, y := sha256.Sum256([]byte(a.Target)), sha256.Sum256([]byte(b.Target))
		return cmp.Compare(string(x[:]), string(y[:]))
	})
	for _, w := range s.Waves {
		selects := labels.Everything()
		if w.Selector != nil {
			var err error
			if selects, err = metav1.LabelSelectorAsSelector(w.Selector); err != nil {
				return fmt.Errorf("wave %s: %w", w.Name, err)
			}
		}
		groups := map[string][]*RolloutMember{}
		for _, m := range left {
			if selects.Matches(labels.Set(m.Labels)) {
				of := m.Labels[w.GroupBy]
				groups[of] = append(groups[of], m)
			}
		}
		percent := cmp.Or(w.Percent, 100)
		for _, of := range groups {
			for _, m := range of[:(len(of)*percent+99)/100] {
				m.Wave = w.Name
			}
		}
		left = slices.DeleteFunc(left, func(m *RolloutMember) bool { return m.Wave != "" })
	}
	if len(left) > 0 {
		return fmt.Errorf("the strategy leaves %s out: add a wave without selector and percent at its end", count.Of(len(left), "target"))
	}
	return nil
}
