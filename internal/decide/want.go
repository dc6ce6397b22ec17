package decide

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"

	"github.com/variform/variform/api/config/v1alpha1"
	variformv1alpha1 "github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/internal/depend"
	"github.com/variform/variform/resolver"
)

// Want is one package that a run makes and keeps up to date.
type Want struct {
	Identity
	Name string // the PackageVariant's
	Set  string // that generated it, "" for none
	// MadeFor is the <namespace>/<name> of the PackageVariant that it was first
	// made for, "" for what was asked for by itself; of a lock, its target.
	MadeFor string
	// Derived says that no one wrote the variant: its target needs it, and Needs
	// are those that do, for people.
	Derived bool
	Needs   []string
	// Locked is the digest that its upstream is kept at, though no source has it any
	// more; "" for most.
	Locked string
	// Err is why it cannot be made beside the others; nil for most.
	Err error
	// Invoked says that it is to be rendered again; Rehydrate that it is where an
	// earlier version made it. Recreate and Retry say that
	// a person's deletion, or return to an earlier revision, on the registered
	// branch is not to be respected any more.
	Invoked, Rehydrate, Recreate, Retry bool
	// Drop names edits by hand that are to go from what is there, as
	// review.Called takes them.
	Drop []string
	// KeepEdits says that an edit by hand stands where an update changes the same.
	KeepEdits bool
	// Strategy is that of its updates, "" for what the Kptfile says.
	Strategy kptfilev1.UpdateStrategyType
	// Target is the one that it is part of, Ref its path below that, Level its
	// place in the order of wiring; Read says that others read its outputs.
	Target *Target
	Ref    string
	Level  int
	Read   bool
	// Wave is how deep what it needs goes, 0 for nothing, and After what that is by
	// ref; where its target's deployers are told of an order.
	Wave  int
	After []string

	Content Content
	// Where says what of its set gave a field of the variant's spec, named by its
	// steps: the field there and its expression. nil where no set made it, or nobody
	// asks.
	Where func(steps ...string) (field, expression string)

	levelled bool
}

// Content is what a wanted package is made of. It is a closed sum: a *Variant
// of an upstream, or the *Lock of a target.
type Content interface{ content() }

// Variant is a package that is made of an upstream.
type Variant struct{ Object *v1alpha1.PackageVariant }

func (*Variant) content() {}
func (*Lock) content()    {}

// OnConflict reads what annotations say of edits that an update meets, the nearest
// first, "" for nothing.
func OnConflict(values ...string) (keep bool, err error) {
	for _, v := range values {
		switch v {
		case "":
			continue
		case variformv1alpha1.OnConflictKeep, variformv1alpha1.OnConflictUpstream:
			return v == variformv1alpha1.OnConflictKeep, nil
		}
		return false, Stalled("annotation %s: %q: choose %s or %s", variformv1alpha1.OnConflictAnnotation, v, variformv1alpha1.OnConflictKeep, variformv1alpha1.OnConflictUpstream)
	}
	return false, nil
}

// UpdateStrategy reads what annotations say of updates, the nearest first, "" for
// nothing.
func UpdateStrategy(values ...string) (kptfilev1.UpdateStrategyType, error) {
	v := cmp.Or(values...)
	if v == "" {
		return "", nil
	}
	s, err := kptfilev1.ToUpdateStrategy(v)
	if err != nil {
		return "", Stalled("annotation %s: %w: choose one of %s", variformv1alpha1.UpdateStrategyAnnotation, err, strings.Join(kptfilev1.UpdateStrategiesAsStrings(), ", "))
	}
	return s, nil
}

// Variant is what is made of an upstream, nil for a lock.
func (w *Want) Variant() *v1alpha1.PackageVariant {
	if v, ok := w.Content.(*Variant); ok {
		return v.Object
	}
	return nil
}

// Lock is the lock that is wanted, nil for a variant.
func (w *Want) Lock() *Lock {
	l, _ := w.Content.(*Lock)
	return l
}

// Upstream is what the variant names; nil for a lock.
func (w *Want) Upstream() *v1alpha1.Upstream {
	if pv := w.Variant(); pv != nil {
		return pv.Spec.Upstream
	}
	return nil
}

// adoption says whether packages that others made are taken over.
func (w *Want) adoption() v1alpha1.AdoptionPolicy {
	if pv := w.Variant(); pv != nil {
		return pv.Spec.AdoptionPolicy
	}
	return ""
}

// DeletionPolicy is what is to become of the package once nobody wants it; ""
// is delete.
func (w *Want) DeletionPolicy() v1alpha1.DeletionPolicy {
	pv := w.Variant()
	if pv == nil || pv.Spec.DeletionPolicy == v1alpha1.DeletionDelete {
		return ""
	}
	return pv.Spec.DeletionPolicy
}

// TargetName is the name of the target that it is in, its Repository's where it
// is in none.
func (w *Want) TargetName() string {
	if w.Target == nil {
		return w.Repository
	}
	return w.Target.Name()
}

// Labels are those of its package, as the variant says them.
func (w *Want) Labels() map[string]string {
	if pv := w.Variant(); pv != nil {
		return pv.Spec.Labels
	}
	return nil
}

// Names are all that mean it: the variant's, repository/package, its set, its
// Repository, its target and its package.
func (w *Want) Names() []string {
	return given(w.Name, w.Identity.String(), w.Set, w.Repository, w.Package, w.TargetName())
}

// Resolution is what was resolved for its target, nil where nothing was.
func (w *Want) Resolution() *resolver.Resolution {
	if w.Target == nil || w.Target.Answer == nil {
		return nil
	}
	return w.Target.Answer.Resolution
}

// Lock is a target's lock, made as a package of its own beside the variants that
// it covers.
type Lock struct {
	Document *variformv1alpha1.PackageLock
	Digest   string    // of Document
	When     time.Time // of the newest commit among what it was made of
	// Newest is the lock that is there, Placed the one that was approved; nil for none.
	Newest, Placed *resolver.Lock
	// Flux is what Flux is told of the packages' order, from Source; nil for nothing.
	Flux   []Kustomization
	Source FluxSource
	// Unmade are packages that could not be made, where it would name nothing else.
	Unmade []Identity
}

// NewLock takes a target's answer as it is to stand in Git.
func NewLock(t *Target, doc *variformv1alpha1.PackageLock, when time.Time) (*Lock, error) {
	doc.Annotations = map[string]string{"config.kubernetes.io/local-config": "true"}
	l := &Lock{Document: doc, When: when, Newest: t.Lock, Placed: t.Placed, Flux: t.Kustomizations(&doc.Spec), Source: t.Deployers.Flux}
	data, err := json.Marshal(doc) // its YAML costs far more, and is for what is written
	if err != nil {
		return nil, err
	}
	parts := []string{string(data)}
	if l.Flux != nil {
		parts = append(parts, fmt.Sprint(l.Source, l.Flux))
	}
	l.Digest = Digest(parts...)
	return l, nil
}

// names are the packages that a lock names, nil for what is none.
func (w *Want) names() LockGraph {
	if w.Lock() == nil {
		return nil
	}
	return NewLockGraph(&w.Lock().Document.Spec)
}

// Without is the lock that names packages which could not be made, and what needs them,
// as they stand: its answer is not drafted whole, and what is of it stays locked.
func (l *Lock) Without(t *Target, failed func(ref string) bool) (*Lock, error) {
	kept, unmade := depend.Kept(&l.Document.Spec, t.Lock, func(ref string) bool { return t.failed(ref) == nil && failed(ref) })
	if len(unmade) == 0 {
		return l, nil
	}
	if len(kept.Packages) == 0 {
		out := *l
		for _, ref := range unmade {
			out.Unmade = append(out.Unmade, t.Wants[ref].Identity)
		}
		return &out, nil
	}
	doc := *l.Document
	doc.Spec = *kept
	return NewLock(t, &doc, l.When)
}

// After is the lock as it is true of a registered branch with a placed lock, nil for none,
// once some of what it names is published: a package of which the branch does not hold the
// locked version, and what needs that, stands as the placed lock has it, and one that it no
// longer names stays while it is there. there are the versions of the branch's packages, by
// path below the target. After returns nil where that is the placed lock, or no package.
func (l *Lock) After(t *Target, placed *resolver.Lock, there map[string]string) (*Lock, error) {
	versions := map[string]string{}
	for n := range l.Document.Spec.Packages {
		p := &l.Document.Spec.Packages[n]
		versions[path.Join(p.Namespace, p.Name)] = p.Version
	}
	spec, _ := depend.Kept(&l.Document.Spec, placed, func(ref string) bool {
		version, names := versions[ref]
		_, stands := there[ref]
		return !names && stands || names && t.Wants[ref] != nil && !asLocked(there[ref], version)
	})
	if len(spec.Packages) == 0 || placed != nil && SameLock(placed, spec) {
		return nil, nil
	}
	doc := *l.Document
	doc.Spec = *spec
	return NewLock(t, &doc, l.When)
}

// asLocked reports whether a package's version is the locked one. A package need not know
// the build that it is.
func asLocked(version, locked string) bool {
	return version == locked || version != "" && !strings.Contains(version, "+") && SameNumber(version, locked)
}

// Differs lists what is other than in the lock that a revision holds, nil for none.
func (l *Lock) Differs(from *Revision) []depend.Change {
	old := l.Newest
	switch {
	case from == nil:
		old = nil
	case from.Number > 0:
		old = l.Placed
	}
	return depend.Changed(old, &l.Document.Spec)
}

// maxReasons bounds how many lines are given as reasons.
const maxReasons = 20

func (l *Lock) reasons(from *Revision) []string {
	var lines []string
	for _, c := range l.Differs(from) {
		lines = append(lines, c.String())
	}
	if len(lines) > 0 {
		return Limit(lines, maxReasons)
	}
	if from != nil && !l.edited(from) {
		return []string{"it was written for another " + variformv1alpha1.OrderAnnotation + " of its Repository, or by another version of variform"}
	}
	return []string{"the lock is not what was resolved: it was changed by hand, or written by another version of variform"}
}

// edited says whether a revision of the lock, made for this very answer, has
// another by now.
func (l *Lock) edited(from *Revision) bool {
	have := l.Newest
	if from.Number > 0 {
		have = l.Placed
	}
	return have != nil && !SameLock(have, &l.Document.Spec)
}

// SameLock compares what two locks say; a list that is empty is one that is not
// there.
func SameLock(a, b *resolver.Lock) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

// StalledError is a failure that goes away only when a person acts.
type StalledError struct{ error }

// Unwrap is the cause.
func (s StalledError) Unwrap() error { return s.error }

// Stall marks a failure; nil stays nil.
func Stall(err error) error {
	if err == nil {
		return nil
	}
	return StalledError{err}
}

// Stalled makes a failure that needs a person.
func Stalled(format string, args ...any) error { return StalledError{fmt.Errorf(format, args...)} }

// IsStalled reports whether a failure needs a person. One that comes of a server which
// cannot be reached needs none, whatever else is said of it.
func IsStalled(err error) bool {
	var s StalledError
	return errors.As(err, &s) && !IsPassing(err)
}

// IsPassing reports whether a failure may end without anybody's help, as its cause says.
func IsPassing(err error) bool {
	var p interface{ Passing() bool }
	return errors.As(err, &p) && p.Passing()
}

// BehindError is why a revision cannot be approved before the next run of apply: that
// brings it up to date.
type BehindError struct{ error }

// Unwrap implements errors.
func (e BehindError) Unwrap() error { return e.error }

// Behind makes one.
func Behind(format string, args ...any) error { return BehindError{fmt.Errorf(format, args...)} }

// IsBehind reports whether a run of apply is all that is lacking.
func IsBehind(err error) bool {
	var b BehindError
	return errors.As(err, &b)
}

// Limit cuts a list for people.
func Limit(list []string, n int) []string {
	if len(list) <= n {
		return list
	}
	return append(list[:n:n], fmt.Sprintf("and %d more", len(list)-n))
}

func joined(list []string) string { return strings.Join(list, ", ") }
