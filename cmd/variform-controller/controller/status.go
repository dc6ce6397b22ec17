package controller

import (
	"context"
	"fmt"
	"reflect"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// FieldManager is whose fields the status is.
const FieldManager = "variform-controller"

// put writes a status where it says something else than what is there: an event of ours
// would wake ourselves. It says whether it wrote. A guarded one conflicts with what others
// wrote since live was read.
func (r *Reconciler) put(ctx context.Context, live *unstructured.Unstructured, status any, force, guarded bool) (bool, error) {
	next, err := asMap(status)
	if err != nil {
		return false, err
	}
	was := statusOf(live)
	r.complete(next, was, live.GetGeneration())
	if says(next, was) {
		return false, nil
	}
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(live.GroupVersionKind())
	u.SetNamespace(live.GetNamespace())
	u.SetName(live.GetName())
	u.Object["status"] = next
	if guarded || next["shards"] != nil { // several write it
		u.SetResourceVersion(live.GetResourceVersion())
	}
	options := []client.SubResourceApplyOption{client.FieldOwner(FieldManager)}
	if force {
		options = append(options, client.ForceOwnership)
	}
	if err := r.Client.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(u), options...); err != nil {
		return false, fmt.Errorf("writing the status of %s %s: %w", u.GetKind(), u.GetName(), client.IgnoreNotFound(err))
	}
	return true, nil
}

// complete gives conditions what the engine cannot know: the generation that was read,
// and, where nothing in Git has a time for it, since when they are as they are.
func (r *Reconciler) complete(next, was map[string]any, generation int64) {
	before := map[any]map[string]any{}
	for _, c := range conditionsOf(was) {
		before[c["type"]] = c
	}
	for _, c := range conditionsOf(next) {
		if n, _ := c["observedGeneration"].(int64); n == 0 {
			c["observedGeneration"] = generation
		}
		if at, _ := c["lastTransitionTime"].(string); at != "" {
			continue
		}
		c["lastTransitionTime"] = r.Now().UTC().Format(time.RFC3339)
		if b := before[c["type"]]; b != nil && b["status"] == c["status"] {
			c["lastTransitionTime"] = b["lastTransitionTime"]
		}
	}
}

func statusOf(live *unstructured.Unstructured) map[string]any {
	status, _, _ := unstructured.NestedMap(live.Object, "status")
	return status
}

func conditionsOf(status map[string]any) []map[string]any { return listOf(status, "conditions") }

func listOf(status map[string]any, key string) (out []map[string]any) {
	list, _ := status[key].([]any)
	for _, c := range list {
		if m, ok := c.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

// says says that all of next stands in was: what others wrote beside it is theirs. A
// condition of ours that is no more, held say, is a difference.
func says(next, was map[string]any) bool {
	theirs := map[any]map[string]any{}
	for _, c := range conditionsOf(was) {
		theirs[c["type"]] = c
	}
	for _, c := range conditionsOf(next) {
		if !reflect.DeepEqual(c, theirs[c["type"]]) {
			return false
		}
		delete(theirs, c["type"])
	}
	for _, ours := range []string{"Stalled", "Ready", "Held", "Proved", "GatesMet"} {
		if theirs[ours] != nil {
			return false
		}
	}
	for k, v := range next {
		if k != "conditions" && !reflect.DeepEqual(v, was[k]) {
			return false
		}
	}
	for _, ours := range []string{"downstreamTargets", "shards"} {
		_, had := was[ours]
		if _, has := next[ours]; had != has {
			return false
		}
	}
	return true
}

// asMap is a status as the API has it: whole numbers are int64.
func asMap(status any) (map[string]any, error) {
	data, err := json.Marshal(status)
	if err != nil {
		return nil, fmt.Errorf("writing a status: %w", err)
	}
	u := map[string]any{}
	if err := json.Unmarshal(data, &u); err != nil {
		return nil, fmt.Errorf("writing a status: %w", err)
	}
	for _, c := range conditionsOf(u) {
		if c["lastTransitionTime"] == nil {
			delete(c, "lastTransitionTime")
		}
	}
	return u, nil
}

func condition(kind string, yes bool, reason, message string) metav1.Condition {
	c := metav1.Condition{Type: kind, Status: metav1.ConditionFalse, Reason: reason, Message: message}
	if yes {
		c.Status = metav1.ConditionTrue
	}
	return c
}
