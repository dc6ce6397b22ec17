package reconcile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/api/config/v1alpha2"
	"github.com/variform/variform/internal/decide"
)

// The condition types of Porch's PackageVariant design, "PackageVariant
// Status".
const (
	conditionStalled = "Stalled"
	conditionReady   = "Ready"
	// Of a variant with an open revision, beside that design: whether it is what
	// building makes of the inputs of now, and, in a deployment repository, whether
	// its readiness gates are met.
	conditionProved  = "Proved"
	conditionInvalid = "DoesNotValidate"
	conditionGates   = "GatesMet"
	// Where a person holds the package.
	conditionHeld = "Held"
	// Where publishing an open revision loses edits by hand.
	conditionLoses = "LosesEdits"
)

// VariantStatus returns the item's PackageVariant with its status: Stalled,
// Ready and downstreamTargets as that design has them; nil for a package whose
// variant has gone. Items of one variant (adopted Drafts) are given together.
func VariantStatus(items ...*Item) *v1alpha1.PackageVariant {
	if len(items) == 0 || items[0].Variant == nil {
		return nil
	}
	pv := *items[0].Variant
	pv.Status = v1alpha1.PackageVariantStatus{Conditions: variantConditions(items)}
	for _, t := range items[0].downstreams {
		pv.Status.DownstreamTargets = append(pv.Status.DownstreamTargets, v1alpha1.DownstreamTarget{
			Name: decide.PorchName(items[0].Repository, items[0].Package, t.Workspace),
		})
	}
	return &pv
}

func variantConditions(items []*Item) []metav1.Condition {
	var stalledTexts, failed, pending []string
	waits := true // and nothing is to be done by a run
	said := []string{"successfully ensured downstream package variant"}
	for _, i := range items {
		switch {
		case i.Err != nil && i.Stalled:
			stalledTexts = append(stalledTexts, i.Err.Error())
		case i.Err != nil:
			failed = append(failed, i.Err.Error())
		case i.pending():
			waits = waits && i.Action == decide.ActionWait
			pending = append(pending, fmt.Sprintf("%s: %s", i.Action, strings.Join(i.Reasons, "; ")))
		default:
			said = append(said, i.Reasons...)
		}
	}
	stalled := metav1.Condition{Type: conditionStalled, Status: metav1.ConditionFalse, Reason: "Valid", Message: "all validation checks passed"}
	if len(stalledTexts) > 0 {
		stalled.Status, stalled.Reason, stalled.Message = metav1.ConditionTrue, "ValidationError", strings.Join(stalledTexts, "; ")
	}
	ready := metav1.Condition{Type: conditionReady, Status: metav1.ConditionTrue, Reason: "NoErrors", Message: strings.Join(said, "; ")}
	switch {
	case len(stalledTexts)+len(failed) > 0:
		ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, "Error", strings.Join(append(stalledTexts, failed...), "; ")
	case len(pending) > 0:
		ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, notYet(waits), strings.Join(pending, "; ")
	}
	conditions := []metav1.Condition{stalled, ready}
	if held := items[0].Held; held != "" {
		conditions = append(conditions, metav1.Condition{Type: conditionHeld, Status: metav1.ConditionTrue, Reason: conditionHeld, Message: held})
	}
	var loses, invalid []string
	for _, i := range items {
		if len(i.Invalid) > 0 {
			invalid = append(invalid, i.Workspace+": "+strings.Join(i.Invalid, "; "))
		}
		if len(i.Lost) > 0 {
			loses = append(loses, i.Workspace+": "+decide.Loses(i.Lost))
		}
	}
	if len(invalid) > 0 {
		conditions = append(conditions, metav1.Condition{Type: conditionInvalid, Status: metav1.ConditionTrue, Reason: conditionInvalid, Message: strings.Join(invalid, "; ")})
	}
	if len(loses) > 0 {
		conditions = append(conditions, metav1.Condition{Type: conditionLoses, Status: metav1.ConditionTrue, Reason: conditionLoses, Message: strings.Join(loses, "; ")})
	}
	return append(told(conditions, items), proofConditions(items)...)
}

// notYet is the reason of Ready where nothing failed: a run has something to do, or
// it waits for a person, another revision or time.
func notYet(waits bool) string {
	if waits {
		return "Waiting"
	}
	return "OutOfDate"
}

// proofConditions tell of a variant's open revisions; there are none where it has none.
func proofConditions(items []*Item) (out []metav1.Condition) {
	var open, gated int
	var known, unproved, unmet []string
	var at metav1.Time // when the newest of them was committed
	proved := metav1.Condition{Type: conditionProved, Status: metav1.ConditionTrue, Reason: string(decide.Proved)}
	for _, i := range items {
		p := i.Proof
		if p == nil {
			continue
		}
		open++
		if i.When.After(at.Time) {
			at.Time = i.When
		}
		of := i.Workspace + ": "
		switch {
		case p.State != decide.Proved:
			proved.Status, proved.Reason, proved.LastTransitionTime = metav1.ConditionFalse, string(p.State), metav1.NewTime(p.Since)
			unproved = append(unproved, of+p.Why)
		case p.Why != "":
			known = append(known, of+p.Why)
		}
		if p.Gated {
			gated++
		}
		for _, g := range p.Unmet {
			unmet = append(unmet, of+g.String())
		}
	}
	if open == 0 {
		return nil
	}
	if proved.Status == metav1.ConditionTrue {
		proved.LastTransitionTime = at
	}
	proved.Message = cmp.Or(strings.Join(append(unproved, known...), "; "), "it is what building makes of the inputs of now")
	out = append(out, proved)
	switch {
	case gated > 0 && len(unmet) > 0:
		out = append(out, metav1.Condition{Type: conditionGates, Status: metav1.ConditionFalse, Reason: "Unmet", Message: strings.Join(unmet, "; ")})
	case gated > 0:
		out = append(out, metav1.Condition{Type: conditionGates, Status: metav1.ConditionTrue, Reason: "Met", Message: "no readiness gate is unmet", LastTransitionTime: at})
	}
	for k := range out {
		out[k].ObservedGeneration = items[0].Variant.Generation
	}
	return out
}

// told gives conditions what is known of them besides: the object that they are
// about, and since when they are so.
func told(conditions []metav1.Condition, items []*Item) []metav1.Condition {
	for k := range conditions {
		conditions[k].ObservedGeneration, conditions[k].LastTransitionTime = items[0].Variant.Generation, since(items)
	}
	return conditions
}

// since is when what failed came, where that is remembered, and else when what is
// there was committed; zero where a run or a person is waited for, for nothing says
// since when.
func since(items []*Item) (out metav1.Time) {
	failed := slices.ContainsFunc(items, func(i *Item) bool { return i.Err != nil })
	for _, i := range items {
		at := i.When
		switch {
		case failed:
			at = i.Since
		case i.pending():
			return metav1.Time{}
		}
		if at.After(out.Time) {
			out.Time = at
		}
	}
	return out
}

// WithStatus returns a set with its status (the same design, "PackageVariantSet
// Status"): Stalled where a target needs a person, Ready where every targeted
// variant is.
func (s *SetStatus) WithStatus(set *v1alpha2.PackageVariantSet, items []*Item) *v1alpha2.PackageVariantSet {
	out := *set
	var texts, waiting []string
	failed, waits := len(s.Failures) > 0, true
	stuck := false
	for _, f := range s.Failures {
		texts = append(texts, f.Error())
		stuck = stuck || !decide.IsPassing(f)
	}
	var of []*Item
	for _, i := range items {
		if i.Namespace != s.Namespace || i.Set != s.Name || i.Variant == nil {
			continue
		}
		of = append(of, i)
		switch {
		case i.Err != nil:
			failed = true
			waiting = append(waiting, i.Name+" failed")
		case i.Action == decide.ActionWait:
			waiting = append(waiting, i.Name+" waits: "+strings.Join(i.Reasons, "; "))
		case i.pending():
			waits = false
			waiting = append(waiting, i.Name+" is out of date")
		}
	}
	stalled := metav1.Condition{Type: conditionStalled, Status: metav1.ConditionFalse, Reason: "Valid", Message: "all validation checks passed"}
	if stuck {
		stalled.Status, stalled.Reason, stalled.Message = metav1.ConditionTrue, "ValidationError", strings.Join(texts, "; ")
	}
	ready := metav1.Condition{Type: conditionReady, Status: metav1.ConditionTrue, Reason: "Reconciled", Message: fmt.Sprintf("all %d package variants are up to date", s.Variants)}
	if n := len(texts) + len(waiting); n > 0 {
		ready.Status, ready.Reason = metav1.ConditionFalse, notYet(waits)
		if failed {
			ready.Reason = "Error"
		}
		ready.Message = fmt.Sprintf("%d of %d package variants are not up to date: %s", n, s.Variants+len(texts), strings.Join(decide.Limit(append(texts, waiting...), 5), "; "))
	}
	stalled.ObservedGeneration, ready.ObservedGeneration = set.Generation, set.Generation
	if len(texts) == 0 {
		stalled.LastTransitionTime = since(of)
		ready.LastTransitionTime = stalled.LastTransitionTime
	}
	out.Status.Conditions = []metav1.Condition{stalled, ready}
	return &out
}
