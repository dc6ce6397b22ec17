package reconcile

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/variform/variform/internal/contents"
	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/depend"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/observe"
)

// crowded says whether a package comes into a cluster where others are.
func crowded(w *decide.Want) bool {
	t := w.Target
	return t != nil && t.Repo.Deployment && w.Upstream() != nil && (len(t.Wants) > 1 || len(t.There) > 0)
}

// drafts is the revision of a subject that this run would draft with other content,
// nil for none.
func (s *subject) drafts() *revision {
	for _, v := range s.revisions {
		if m := v.made; s.err == nil && m != nil && m.Err == nil && !m.Same && !m.Back {
			return v
		}
	}
	return nil
}

// apart answers anew, without what would bring an object that another package of its
// cluster brings, for targets where dependencies are in play, and warns elsewhere. Only
// clusters of which a package changes are looked at. What others of a target get is
// built again where its answer is another now.
func (r *run) apart(ctx context.Context, subjects []*subject) ([]*subject, error) {
	warnings := map[string][]string{}
	for look := subjects; ; {
		drafted := map[*decide.Target][]*subject{}
		for _, s := range look {
			if crowded(s.want) && s.drafts() != nil {
				drafted[s.want.Target] = append(drafted[s.want.Target], s)
			}
		}
		targets := slices.SortedFunc(maps.Keys(drafted), func(a, b *decide.Target) int { return strings.Compare(a.ID(), b.ID()) })
		crowds, err := observe.Parallel(ctx, r.limit(), targets, func(ctx context.Context, t *decide.Target) crowd {
			changes := make(map[string][]contents.Object, len(drafted[t]))
			for _, s := range drafted[t] {
				changes[s.want.Ref] = s.drafts().made.Objects
			}
			return crowd{t, drafted[t], r.beside(ctx, t, changes)}
		})
		if err != nil {
			return nil, err
		}
		var beside []*decide.Want
		for _, c := range crowds {
			beside = append(beside, c.beside...)
		}
		r.read.FetchNewest(ctx, beside)
		found, err := observe.Parallel(ctx, r.limit(), crowds, r.overlapsIn)
		if err != nil {
			return nil, err
		}
		var again []*decide.Want
		for n, t := range targets {
			warnings[t.Name()] = found[n].warnings
			if len(found[n].refused) == 0 {
				continue
			}
			r.read.Without(ctx, r.snapshot, t, found[n].refused)
			subjects = slices.DeleteFunc(slices.Clone(subjects), func(s *subject) bool { return s.want.Target == t })
			selected, err := r.only(r.snapshot.Wants)
			if err != nil {
				return nil, err
			}
			again = append(again, slices.DeleteFunc(slices.Clone(selected), func(w *decide.Want) bool { return w.Target != t })...)
		}
		if len(again) == 0 {
			r.snapshot.Warnings = append(r.snapshot.Warnings, decide.Alike(warnings)...)
			return subjects, nil
		}
		if look, err = r.look(ctx, again); err != nil {
			return nil, err
		}
		if err := r.build(ctx, look); err != nil {
			return nil, err
		}
		subjects = append(subjects, look...)
	}
}

// crowd are packages of one target: those that would be drafted, and those beside them
// that may bring the same.
type crowd struct {
	target  *decide.Target
	drafted []*subject
	beside  []*decide.Want
}

// overlaps are what two packages of one target both bring.
type overlaps struct {
	refused  []depend.Failure
	warnings []string
}

// beside are wanted packages of a target that stay as they are and may bring what one
// of those that change brings, by name.
func (r *run) beside(ctx context.Context, t *decide.Target, changes map[string][]contents.Object) (out []*decide.Want) {
	for _, ref := range slices.Sorted(maps.Keys(t.Wants)) {
		if _, changed := changes[ref]; !changed && t.Wants[ref].Lock() == nil {
			out = append(out, t.Wants[ref])
		}
	}
	if len(out) == 0 {
		return nil
	}
	names := map[krm.ID]bool{}
	for _, objects := range changes {
		for _, o := range objects {
			names[anywhere(o)] = true
		}
	}
	return slices.DeleteFunc(out, func(w *decide.Want) bool { return !r.near(ctx, w, names) })
}

// likelyBeside is beside before anything is built: what is to be built of other inputs most
// often is another package, and brings what its upstream brings. What is read with what builds
// start from is no request of its own. A survey builds few, and asks for theirs.
func (r *run) likelyBeside(ctx context.Context, subjects []*subject) (out []*decide.Want) {
	if !r.building {
		return nil
	}
	building := map[*decide.Target]map[string][]contents.Object{}
	for _, s := range subjects {
		if s.err != nil || s.up == nil || !crowded(s.want) || !slices.ContainsFunc(s.revisions, (*revision).changes) {
			continue
		}
		t := s.want.Target
		if building[t] == nil {
			building[t] = map[string][]contents.Object{}
		}
		building[t][s.want.Ref] = s.up.Offer.Objects
	}
	for t, changes := range building {
		out = append(out, r.beside(ctx, t, changes)...)
	}
	return out
}

// party is a package that would be drafted.
func (r *run) party(t *decide.Target, s *subject) decide.Party {
	p := t.Party(s.want.Ref)
	p.New, p.There, p.Objects = true, s.drafts().outcome.From != nil, s.drafts().made.Objects
	return p
}

// overlapsIn finds them where some packages would be drafted.
func (r *run) overlapsIn(ctx context.Context, c crowd) (out overlaps) {
	t := c.target
	changes := map[string]*subject{}
	var parties []decide.Party
	unknown := false // what some package brings
	for _, s := range c.drafted {
		changes[s.want.Ref] = s
		parties = append(parties, r.party(t, s))
	}
	for _, w := range c.beside {
		repo := r.read.Repo(t.Namespace, t.Repository)
		there := repo.Package(t.Path(w.Ref))
		newest := there.OpenOrLatest()
		if newest == nil {
			unknown = true
			continue
		}
		pkg, err := repo.ReadMade(ctx, there, newest)
		if err != nil { // whoever works on it is told
			unknown = true
			continue
		}
		p := t.Party(w.Ref)
		p.There, p.Objects = true, contents.Of(pkg).Objects
		parties = append(parties, p)
	}
	for _, ref := range slices.Sorted(maps.Keys(t.There)) {
		if pkg := t.There[ref].Package; pkg != nil && t.Wants[ref] == nil {
			p := t.Party(ref)
			p.There, p.Objects = true, contents.Of(pkg).Objects
			parties = append(parties, p)
		}
	}
	refused, warnings := decide.Overlaps(parties)
	again := false
	for n := range parties { // what is in place already is no reason to stop an update
		if p := &parties[n]; refused[p.Ref] != nil && changes[p.Ref].pkg.Latest != nil {
			p.Published, again = r.objects(ctx, t, p.Ref, changes[p.Ref].pkg.Latest), true
		}
	}
	if again {
		refused, warnings = decide.Overlaps(parties)
	}
	out.warnings = warnings
	for _, ref := range slices.Sorted(maps.Keys(refused)) {
		out.refused = append(out.refused, depend.Failure{Refs: []string{ref}, Err: refused[ref]})
	}
	if t.Answer != nil {
		out.warnings = append(out.warnings, decide.Unserved(parties, r.served(ctx, t))...)
		if !unknown {
			out.warnings = append(out.warnings, decide.Unmade(parties, t.Namespaces)...)
		}
	}
	return out
}

// served are the APIs that are known to be there for the packages of a target.
func (r *run) served(ctx context.Context, t *decide.Target) []contents.GVK {
	out := slices.Clone(t.APIs)
	for _, ref := range slices.Sorted(maps.Keys(t.Wants)) {
		if w := t.Wants[ref]; w.Upstream() != nil {
			if up := r.read.UpstreamOf(ctx, w); up.Err == nil && up.Offer.Err == nil {
				out = append(out, up.Offer.Brings()...)
			}
		}
	}
	return out
}

// objects are those of a package of a target at a revision, nil where it has none or
// cannot be read: whoever works on it is told.
func (r *run) objects(ctx context.Context, t *decide.Target, ref string, h *decide.Revision) []contents.Object {
	if h == nil {
		return nil
	}
	_, pkg, err := r.read.Repo(t.Namespace, t.Repository).ReadPackage(ctx, h.Ref.Commit, t.Path(ref))
	if err != nil {
		return nil
	}
	return contents.Of(pkg).Objects
}

// suspects are wanted packages of resolved targets where two upstreams hold an object
// of one name: who builds nothing else finds what is refused, too.
func (r *run) suspects(ctx context.Context, wants []*decide.Want) map[*decide.Want]bool {
	near := map[*decide.Want]bool{}
	first := map[*decide.Target]map[krm.ID]*decide.Want{}
	for _, w := range wants {
		if !crowded(w) || w.Target.Answer == nil {
			continue
		}
		up := r.read.UpstreamOf(ctx, w)
		if up.Err != nil {
			continue
		}
		if first[w.Target] == nil {
			first[w.Target] = map[krm.ID]*decide.Want{}
		}
		for _, o := range up.Offer.Objects {
			if have := first[w.Target][anywhere(o)]; have == nil {
				first[w.Target][anywhere(o)] = w
			} else if have != w && !o.Common() {
				near[have], near[w] = true, true
			}
		}
	}
	return near
}

// readNeeds answers for targets as a plan does: without what it would refuse.
func (e *Engine) readNeeds(ctx context.Context, s *observe.Snapshot) error {
	e.read.ReadNeeds(ctx, s)
	r := e.newRun(s, false)
	near := r.suspects(ctx, s.Wants)
	if len(near) == 0 {
		return nil
	}
	wants := slices.DeleteFunc(slices.Clone(s.Wants), func(w *decide.Want) bool { return !near[w] })
	e.read.FetchTrees(ctx, wants)
	subjects, err := r.look(ctx, wants)
	if err == nil {
		err = r.build(ctx, subjects)
	}
	if err == nil {
		_, err = r.apart(ctx, subjects)
	}
	return err
}

// near says whether a package that no run changes may bring one of these names. Where
// nothing was resolved its upstream tells, whatever namespaces become of it: reading
// all packages of a fleet for a warning would cost more than it is worth.
func (r *run) near(ctx context.Context, w *decide.Want, names map[krm.ID]bool) bool {
	if w.Target.Answer != nil {
		return true
	}
	up := r.read.UpstreamOf(ctx, w)
	return up.Err == nil && slices.ContainsFunc(up.Offer.Objects, func(o contents.Object) bool { return names[anywhere(o)] })
}

// anywhere is an object's name, whatever its namespace.
func anywhere(o contents.Object) krm.ID {
	o.Namespace = ""
	return o.ID
}
