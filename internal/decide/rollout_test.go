package decide

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/variform/variform/api/variform/v1alpha1"
)

var (
	rolloutStart = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC) // a Monday
	baseTree     = Hash{1}
	newTree      = Hash{2}
	otherTree    = Hash{3}
)

func stepTo(tree Hash, after time.Duration, change string) RolloutStep {
	return RolloutStep{Tree: tree, When: rolloutStart.Add(after), Change: change}
}

// carriedBy is a package whose Draft holds what was approved.
func carriedBy(target string, change func(*RolloutPackage)) *RolloutPackage {
	p := &RolloutPackage{
		RolloutPackage: v1alpha1.RolloutPackage{Name: "web", Tree: newTree.String(), Base: baseTree.String(), Change: "approved"},
		Identity:       Identity{"default", target, "web"}, HasDraft: true,
	}
	if change != nil {
		change(p)
	}
	return p
}

func onBranch(p *RolloutPackage) {
	p.Steps, p.HasDraft = []RolloutStep{stepTo(newTree, 0, "")}, false
}

func TestRolloutMembers(t *testing.T) {
	hotfix := stepTo(otherTree, 0, "hotfix")
	for name, c := range map[string]struct {
		change func(*RolloutPackage)
		want   string
		why    string // contains
	}{
		"the branch holds base, a Draft the tree":    {nil, MemberReady, ""},
		"a hotfix of another field":                  {func(p *RolloutPackage) { p.Steps = []RolloutStep{hotfix} }, MemberCarries, ""},
		"a hotfix that was taken back":               {func(p *RolloutPackage) { p.Steps = []RolloutStep{stepTo(baseTree, 1, ""), hotfix} }, MemberReady, ""},
		"a hotfix of the same field":                 {func(p *RolloutPackage) { p.Steps, p.Differs = []RolloutStep{hotfix}, "main changes the same" }, MemberNeedsApproval, "c1/web needs an approval of its own: main changes the same; to go on without it, run variform rollout stop r c1"},
		"no Draft holds the tree":                    {func(p *RolloutPackage) { p.HasDraft = false }, MemberMoved, "run variform apply"},
		"held":                                       {func(p *RolloutPackage) { p.Held = "held by Ann: not now" }, MemberHeld, "c1/web is held by Ann: not now"},
		"refused by the server":                      {func(p *RolloutPackage) { p.Refused = errors.New("a hook says no") }, MemberRefused, "a hook says no"},
		"left the fleet":                             {func(p *RolloutPackage) { p.Gone = true }, MemberGone, ""},
		"left the fleet after it was published":      {func(p *RolloutPackage) { onBranch(p); p.Gone = true }, MemberPublished, ""},
		"published":                                  {onBranch, MemberPublished, ""},
		"published with a hotfix":                    {func(p *RolloutPackage) { p.Steps = []RolloutStep{stepTo(Hash{9}, 1, "approved"), hotfix} }, MemberPublished, ""},
		"a later revision":                           {func(p *RolloutPackage) { p.Steps = []RolloutStep{stepTo(otherTree, 1, "more"), stepTo(newTree, 0, "")} }, MemberOvertaken, ""},
		"base again":                                 {func(p *RolloutPackage) { p.Steps = []RolloutStep{stepTo(baseTree, 1, ""), stepTo(newTree, 0, "")} }, MemberSetBack, "set back on its branch, and is not published again"},
		"deleted on the branch":                      {func(p *RolloutPackage) { p.Steps, p.Differs = []RolloutStep{stepTo(Hash{}, 1, "")}, "it was deleted" }, MemberNeedsApproval, "it was deleted"},
		"the branch was rewritten":                   {func(p *RolloutPackage) { p.Rewritten = true }, MemberRewritten, "was rewritten since the approval"},
		"not read":                                   {func(p *RolloutPackage) { p.Err = errors.New("no answer") }, MemberUnread, "no answer"},
		"a forged change of the same fields, merged": {func(p *RolloutPackage) { p.Steps, p.Differs = []RolloutStep{stepTo(otherTree, 1, "forged")}, "x" }, MemberNeedsApproval, "x"},
		"no change that was read is approved":        {func(p *RolloutPackage) { p.Change, p.Steps = "", []RolloutStep{stepTo(otherTree, 1, "")} }, MemberCarries, ""},
	} {
		t.Run(name, func(t *testing.T) {
			m := &RolloutMember{Target: "c1", Wave: "all", Packages: []*RolloutPackage{carriedBy("c1", c.change)}}
			m.judge(rolloutIn(v1alpha1.RolloutWaves{}))
			if m.State != c.want || !strings.Contains(m.Why, c.why) || c.why == "" != (m.Why == "") {
				t.Errorf("%s, %q", m.State, m.Why)
			}
		})
	}
}

// A member is as its package that is worst off.
func TestRolloutMemberOfSeveral(t *testing.T) {
	m := &RolloutMember{Target: "c1", Packages: []*RolloutPackage{carriedBy("c1", onBranch), carriedBy("c1", nil)}}
	if m.judge(rolloutIn(v1alpha1.RolloutWaves{})); m.State != MemberReady || m.Packages[0].Due() || !m.Packages[1].Due() {
		t.Error(m.State)
	}
	r := rolloutIn(v1alpha1.RolloutWaves{})
	r.Spec.Except = []string{"c1"}
	if m.judge(r); m.State != MemberExcepted {
		t.Error(m.State)
	}
}

func rolloutIn(waves v1alpha1.RolloutWaves) *v1alpha1.Rollout {
	return &v1alpha1.Rollout{ObjectMeta: metav1.ObjectMeta{Name: "r"}, Spec: v1alpha1.RolloutSpec{Strategy: waves}}
}

func twoWaves(gates ...v1alpha1.RolloutGate) v1alpha1.RolloutWaves {
	return v1alpha1.RolloutWaves{Waves: []v1alpha1.RolloutWave{{Name: "canary"}, {Name: "rest"}}, Gates: gates}
}

func TestRolloutWaves(t *testing.T) {
	soak := v1alpha1.RolloutGate{Soak: "24h"}
	manual := v1alpha1.RolloutGate{Manual: &v1alpha1.RolloutManual{After: "canary"}}
	office := v1alpha1.RolloutGate{Calendar: &v1alpha1.RolloutCalendar{Allow: "0 8-16 * * 1-4"}}
	type world struct {
		canary, rest func(*RolloutPackage)
		gates        []v1alpha1.RolloutGate
		after        time.Duration
		spec         func(*v1alpha1.RolloutSpec)
		replaced     string
	}
	for name, c := range map[string]struct {
		world
		state   string
		waves   []string
		publish []string
		says    string
		waits   bool
	}{
		"the first wave opens":                  {world{}, RolloutProgressing, []string{WavePublishing, WavePending}, []string{"c1"}, "0 of 2 published; wave canary, 1 of 2: advance publishes 1 member", true},
		"without gates the next one follows":    {world{canary: onBranch}, RolloutProgressing, []string{WaveDone, WavePublishing}, []string{"c2"}, "1 of 2 published; wave rest, 2 of 2: advance publishes 1 member", true},
		"soak":                                  {world{canary: onBranch, gates: []v1alpha1.RolloutGate{soak}, after: 24*time.Hour - 1}, RolloutProgressing, []string{WaveSoaking, WavePending}, nil, "1 of 2 published; wave canary, 1 of 2: soaks until 2026-03-03 09:00 UTC", true},
		"soaked":                                {world{canary: onBranch, gates: []v1alpha1.RolloutGate{soak}, after: 24 * time.Hour}, RolloutProgressing, []string{WaveDone, WavePublishing}, []string{"c2"}, "", true},
		"merged without a time":                 {world{canary: func(p *RolloutPackage) { p.Steps = []RolloutStep{{Tree: newTree}} }, gates: []v1alpha1.RolloutGate{soak}, after: 240 * time.Hour}, RolloutProgressing, []string{WaveManual, WavePending}, nil, "no commit says when c1 was merged: once it has soaked, run variform rollout resume r --after canary", true},
		"and a person knows it":                 {world{canary: func(p *RolloutPackage) { p.Steps = []RolloutStep{{Tree: newTree}} }, gates: []v1alpha1.RolloutGate{soak}, spec: func(s *v1alpha1.RolloutSpec) { s.Passed = []string{"canary"} }}, RolloutProgressing, []string{WaveDone, WavePublishing}, []string{"c2"}, "", true},
		"a clock that went back":                {world{canary: onBranch, gates: []v1alpha1.RolloutGate{soak}, after: -time.Hour}, RolloutProgressing, []string{WaveSoaking, WavePending}, nil, "soaks until", true},
		"the last wave does not soak":           {world{canary: onBranch, rest: onBranch, gates: []v1alpha1.RolloutGate{soak}}, RolloutDone, []string{WaveDone, WaveDone}, nil, "2 of 2 published; done", false},
		"a person is to look":                   {world{canary: onBranch, gates: []v1alpha1.RolloutGate{manual}}, RolloutProgressing, []string{WaveManual, WavePending}, nil, "run variform rollout resume r --after canary", true},
		"a person looked":                       {world{canary: onBranch, gates: []v1alpha1.RolloutGate{manual}, spec: func(s *v1alpha1.RolloutSpec) { s.Passed = []string{"canary"} }}, RolloutProgressing, []string{WaveDone, WavePublishing}, []string{"c2"}, "", true},
		"the calendar is open":                  {world{gates: []v1alpha1.RolloutGate{office}}, RolloutProgressing, []string{WavePublishing, WavePending}, []string{"c1"}, "", true},
		"the calendar is closed":                {world{gates: []v1alpha1.RolloutGate{office}, after: 8 * time.Hour}, RolloutProgressing, []string{WavePublishing, WavePending}, nil, "the calendar allows to publish 1 member from 2026-03-03 08:00 UTC", true},
		"paused":                                {world{spec: func(s *v1alpha1.RolloutSpec) { s.Paused = true }}, RolloutPaused, []string{WavePublishing, WavePending}, nil, "0 of 2 published; paused: run variform rollout resume r", true},
		"stopped":                               {world{spec: func(s *v1alpha1.RolloutSpec) { s.Stopped = true }}, RolloutStopped, []string{WavePublishing, WavePending}, nil, "stopped", false},
		"replaced":                              {world{replaced: "s"}, RolloutReplaced, []string{WavePublishing, WavePending}, nil, "replaced by s", false},
		"a failure blocks":                      {world{canary: func(p *RolloutPackage) { p.HasDraft = false }}, RolloutBlocked, []string{WaveBlocked, WavePending}, nil, "0 of 2 published; wave canary, 1 of 2: 1 member failed, and 0 may: no Draft of c1/web", false},
		"one failure may be":                    {world{canary: func(p *RolloutPackage) { p.HasDraft = false }, spec: func(s *v1alpha1.RolloutSpec) { s.Strategy.MaxFailures = 1 }}, RolloutProgressing, []string{WaveDone, WavePublishing}, []string{"c2"}, "", true},
		"and is named":                          {world{canary: func(p *RolloutPackage) { p.HasDraft = false }, rest: onBranch, spec: func(s *v1alpha1.RolloutSpec) { s.Strategy.MaxFailures = 1 }}, RolloutExceptions, []string{WaveDone, WaveDone}, nil, "done, except for c1 (no Draft", false},
		"a failure of a later wave stops later": {world{rest: func(p *RolloutPackage) { p.HasDraft = false }}, RolloutProgressing, []string{WavePublishing, WavePending}, []string{"c1"}, "", true},
		"a failure of an earlier wave stops":    {world{canary: func(p *RolloutPackage) { p.Steps = []RolloutStep{stepTo(baseTree, 1, ""), stepTo(newTree, 0, "")} }}, RolloutBlocked, []string{WaveBlocked, WavePending}, nil, "set back", false},
		"what cannot be read holds the wave":    {world{canary: func(p *RolloutPackage) { p.Err = errors.New("no answer") }}, RolloutProgressing, []string{WavePublishing, WavePending}, nil, "waits for c1: c1/web cannot be read: no answer", true},
		"what is gone does not count":           {world{canary: func(p *RolloutPackage) { p.Gone = true }, gates: []v1alpha1.RolloutGate{soak}}, RolloutProgressing, []string{WaveDone, WavePublishing}, []string{"c2"}, "0 of 1 published", true},
		"nor what a person took out":            {world{spec: func(s *v1alpha1.RolloutSpec) { s.Except = []string{"c1"} }, rest: onBranch}, RolloutExceptions, []string{WaveDone, WaveDone}, nil, "1 of 1 published; done, except for c1", false},
	} {
		t.Run(name, func(t *testing.T) {
			r := rolloutIn(twoWaves(c.gates...))
			if c.spec != nil {
				c.spec(&r.Spec)
			}
			got := RolloutOf(r, []*RolloutMember{
				{Target: "c1", Wave: "canary", Packages: []*RolloutPackage{carriedBy("c1", c.canary)}},
				{Target: "c2", Wave: "rest", Packages: []*RolloutPackage{carriedBy("c2", c.rest)}},
			}, c.replaced, rolloutStart.Add(c.after))
			if got.State != c.state || !strings.Contains(got.Message, c.says) || got.Waits() != c.waits {
				t.Errorf("%s, %q, waits %t", got.State, got.Message, got.Waits())
			}
			var waves, publish []string
			for _, w := range got.Waves {
				waves = append(waves, w.State)
			}
			for _, m := range got.Members {
				if m.Publish {
					publish = append(publish, m.Target)
				}
			}
			if d := cmp.Diff(c.waves, waves) + cmp.Diff(c.publish, publish); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestContested(t *testing.T) {
	of := func(name, target string, change func(*RolloutPackage)) *RolloutReport {
		r := rolloutIn(v1alpha1.RolloutWaves{Waves: []v1alpha1.RolloutWave{{Name: "all"}, {Name: "more"}}})
		r.Name = name
		return RolloutOf(r, []*RolloutMember{
			{Target: target, Wave: "all", Packages: []*RolloutPackage{carriedBy(target, change)}},
			{Target: "x" + name, Wave: "more", Packages: []*RolloutPackage{carriedBy("x"+name, nil)}},
		}, "", rolloutStart)
	}
	a, b, c, over := of("a", "c1", nil), of("b", "c1", nil), of("c", "c2", nil), of("d", "c2", onBranch)
	Contested([]*RolloutReport{a, b, c, over})
	for r, blocked := range map[*RolloutReport]bool{a: true, b: true, c: false, over: false} {
		if (r.State == RolloutBlocked) != blocked || r.Members[0].Publish && blocked || blocked && r.Message != "c1/web is in the rollouts a and b: stop one of them" {
			t.Errorf("%s: %s, %q", r.Name, r.State, r.Message)
		}
	}
}

func TestDoubted(t *testing.T) {
	member := func(change func(*RolloutPackage)) []*RolloutMember {
		return []*RolloutMember{{Target: "c1", Wave: "all", Packages: []*RolloutPackage{carriedBy("c1", change)}}}
	}
	spec := rolloutIn(v1alpha1.RolloutWaves{Waves: []v1alpha1.RolloutWave{{Name: "all"}}})
	goes, over := RolloutOf(spec, member(nil), "", rolloutStart), RolloutOf(spec, member(onBranch), "", rolloutStart)
	if Doubted([]*RolloutReport{goes, over}); goes.State != RolloutBlocked || goes.Members[0].Publish || goes.Waits() || over.State != RolloutDone {
		t.Errorf("%+v, %+v", goes, over)
	}
}

func TestAssignWaves(t *testing.T) {
	var members []*RolloutMember
	for i := range 30 {
		members = append(members, &RolloutMember{Target: fmt.Sprintf("c%02d", i), Labels: map[string]string{"region": []string{"eu", "us", "ap"}[i%3], "ring": map[bool]string{true: "canary"}[i == 4]}})
	}
	s := &v1alpha1.RolloutWaves{Waves: []v1alpha1.RolloutWave{
		{Name: "canary", Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"ring": "canary"}}},
		{Name: "first", Percent: 10, GroupBy: "region"},
		{Name: "eu", Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"region": "eu"}}},
		{Name: "rest"},
	}}
	if err := AssignWaves(s, members); err != nil {
		t.Fatal(err)
	}
	in := map[string]int{}
	for _, m := range members {
		in[m.Wave]++
		in[m.Wave+" of "+m.Labels["region"]]++
	}
	want := map[string]int{
		"canary": 1, "canary of us": 1, "first": 3, "first of eu": 1, "first of us": 1, "first of ap": 1,
		"eu": 9, "eu of eu": 9, "rest": 17, "rest of us": 8, "rest of ap": 9,
	}
	if d := cmp.Diff(want, in); d != "" {
		t.Error(d)
	}
	// The first targets by name are not always the first in the fleet.
	if members[0].Wave == "first" && members[1].Wave == "first" && members[2].Wave == "first" {
		t.Error("the order is that of names")
	}
	for _, m := range members {
		m.Wave = ""
	}
	s.Waves = s.Waves[:2]
	if err := AssignWaves(s, members); err == nil || !strings.Contains(err.Error(), "the strategy leaves 26 targets out") {
		t.Error(err)
	}
}

// simulation is a fleet that people, servers and other runs change while a Rollout runs.
type simulation struct {
	*testing.T
	rand    *rand.Rand
	rollout *v1alpha1.Rollout
	members []*RolloutMember
	now     time.Time
	log     []string
}

const simulated = 1000

// TestRolloutHistories plays random histories, and holds that no member of a wave is published
// before the gates of the waves before, that only what was approved is published, that every
// state has a sentence with what is next, and that every history ends.
func TestRolloutHistories(t *testing.T) {
	for seed := range uint64(simulated) {
		s := &simulation{T: t, rand: rand.New(rand.NewPCG(seed, 1)), now: rolloutStart, rollout: rolloutIn(v1alpha1.RolloutWaves{
			Waves: []v1alpha1.RolloutWave{{Name: "a"}, {Name: "b"}, {Name: "c"}},
			Gates: []v1alpha1.RolloutGate{{Soak: "10h"}, {Manual: &v1alpha1.RolloutManual{After: "b"}}, {Calendar: &v1alpha1.RolloutCalendar{Allow: "0 6-20 * * *"}}},
		})}
		s.rollout.Spec.Strategy.MaxFailures = s.rand.IntN(3)
		for i := range 9 {
			name := fmt.Sprint("c", i)
			s.members = append(s.members, &RolloutMember{Target: name, Wave: string("abc"[i/3]), Packages: []*RolloutPackage{carriedBy(name, nil)}})
		}
		for range 40 {
			s.event()
			s.advance()
		}
		s.end()
		if t.Failed() {
			t.Fatalf("seed %d:\n%s", seed, strings.Join(s.log, "\n"))
		}
	}
}

// event is what somebody does to a package, to the Rollout or to the clock.
func (s *simulation) event() {
	p := s.members[s.rand.IntN(len(s.members))].Packages[0]
	head := baseTree
	if len(p.Steps) > 0 {
		head = p.Steps[0].Tree
	}
	commit := func(tree Hash, change string) {
		p.Steps = slices.Insert(p.Steps, 0, RolloutStep{Tree: tree, Change: change, When: s.now})
	}
	events := map[string]func(){
		"edit":     func() { p.HasDraft = false },
		"recreate": func() { p.HasDraft = true },
		"hotfix":   func() { commit(Hash{4, byte(len(p.Steps))}, "hotfix") },
		"same":     func() { commit(Hash{5, byte(len(p.Steps))}, "hotfix"); p.Differs = "the same field" },
		"forged":   func() { p.HasDraft = false; commit(Hash{6}, "forged") },
		"back":     func() { commit(baseTree, ""); p.Differs = "" },
		"racing":   func() { commit(newTree, "") },
		"refuse":   func() { p.Refused = errors.New("a hook") },
		"accept":   func() { p.Refused = nil },
		"hold":     func() { p.Held = "held by Ann" },
		"unhold":   func() { p.Held = "" },
		"leave":    func() { p.Gone = true },
		"rewrite":  func() { p.Rewritten = s.rand.IntN(4) == 0 },
		"pause":    func() { s.rollout.Spec.Paused = true },
		"resume":   func() { s.rollout.Spec.Paused = false },
		"pass":     func() { s.rollout.Spec.Passed = []string{"b"} },
		"except":   func() { s.rollout.Spec.Except = append(s.rollout.Spec.Except, p.Identity.Repository) },
		"later":    func() { s.now = s.now.Add(time.Duration(s.rand.IntN(20)) * time.Hour) },
		"earlier":  func() { s.now = s.now.Add(-time.Duration(s.rand.IntN(20)) * time.Hour) },
		"unread":   func() { p.Err = errors.New("no answer") },
		"read":     func() { p.Err = nil },
	}
	var names []string
	for name := range events {
		names = append(names, name)
	}
	slices.Sort(names)
	name := names[s.rand.IntN(len(names))]
	events[name]()
	s.log = append(s.log, fmt.Sprintf("%s %s %s (was %x)", s.now.Format(time.DateTime), name, p.Identity, head[:2]))
}

// advance publishes what the machine says, or a part of it: runs are killed.
func (s *simulation) advance() *RolloutReport {
	got := RolloutOf(s.rollout, s.members, "", s.now)
	if got.Message == "" || strings.HasSuffix(got.Message, "; ") || strings.HasSuffix(got.Message, ": ") {
		s.Errorf("%s has no sentence: %q", got.State, got.Message)
	}
	for _, m := range got.Members {
		failed := slices.Contains([]string{MemberNeedsApproval, MemberMoved, MemberHeld, MemberSetBack, MemberRewritten}, m.State)
		if failed && !strings.Contains(m.Why, "run variform rollout stop r "+m.Target) {
			s.Errorf("%s is %s, and nothing says what to do: %q", m.Target, m.State, m.Why)
		}
		if !m.Publish {
			continue
		}
		p := m.Packages[0]
		if !p.HasDraft || p.Moved() && p.Differs != "" || p.Held != "" || p.Rewritten || p.Gone || p.Err != nil {
			s.Errorf("%s is published, and not as it was approved: %+v", m.Target, p)
		}
		s.early(m)
		if s.rand.IntN(3) == 0 { // killed
			continue
		}
		step := RolloutStep{Tree: newTree, When: s.now}
		if p.Moved() {
			step.Tree, step.Change = Hash{7, byte(len(p.Steps))}, "approved"
		}
		p.Steps = slices.Insert(p.Steps, 0, step)
		s.log = append(s.log, fmt.Sprintf("%s published %s", s.now.Format(time.DateTime), m.Target))
	}
	return got
}

// early judges by itself whether the waves before a member hold its publication.
func (s *simulation) early(m *RolloutMember) {
	failures := 0
	for _, o := range s.members {
		p := o.Packages[0]
		at := slices.IndexFunc(p.Steps, func(st RolloutStep) bool { return st.Tree == newTree || st.Change == "approved" })
		back := at > 0 && p.Steps[0].Tree == baseTree
		taken := slices.Contains(s.rollout.Spec.Except, o.Target) && (at < 0 || back || p.Err != nil)
		out := taken || p.Err == nil && p.Gone && at < 0
		switch {
		case o.Wave >= m.Wave || out:
		case p.Err != nil:
			s.Errorf("%s is published, and %s of an earlier wave cannot be read", m.Target, o.Target)
		case at >= 0 && !back:
			if s.now.Before(p.Steps[at].When.Add(10 * time.Hour)) {
				s.Errorf("%s is published, and %s has not soaked", m.Target, o.Target)
			}
		case !back && !p.Rewritten && p.Held == "" && p.HasDraft && (!p.Moved() || p.Differs == ""):
			s.Errorf("%s is published before %s of an earlier wave", m.Target, o.Target)
		default:
			failures++
		}
	}
	if failures > s.rollout.Spec.Strategy.MaxFailures {
		s.Errorf("%s is published after %d failures", m.Target, failures)
	}
	if m.Wave == "c" && !slices.Contains(s.rollout.Spec.Passed, "b") {
		needed := slices.ContainsFunc(s.members, func(o *RolloutMember) bool { return o.Wave == "b" })
		if needed {
			s.Errorf("%s is published, and nobody passed wave b", m.Target)
		}
	}
	if s.rollout.Spec.Paused {
		s.Errorf("%s is published while the rollout is paused", m.Target)
	}
	if h := s.now.Hour(); h < 6 || h > 20 {
		s.Errorf("%s is published at %d", m.Target, h)
	}
}

// end has people do what the sentences say until nothing is left.
func (s *simulation) end() {
	s.rollout.Spec.Paused, s.rollout.Spec.Passed = false, []string{"b"}
	for _, m := range s.members {
		m.Packages[0].Err, m.Packages[0].Refused = nil, nil
	}
	for range 100 {
		got := s.advance()
		if got.State == RolloutDone || got.State == RolloutExceptions {
			return
		}
		if got.State == RolloutBlocked {
			for _, m := range got.Members {
				if m.Why != "" {
					s.rollout.Spec.Except = append(s.rollout.Spec.Except, m.Target)
				}
			}
		}
		s.now = s.now.Add(5 * time.Hour)
	}
	s.Error("the history does not end")
}
