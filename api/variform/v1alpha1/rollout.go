package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// RolloutStrategy describes waves that `variform approve --rollout NAME` divides an approval into.
type RolloutStrategy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the strategy.
	Spec RolloutWaves `json:"spec"`
}

// Rollout is one approval that is published in waves. `variform approve --rollout STRATEGY` writes it; a name is used once.
type Rollout struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what was approved.
	Spec RolloutSpec `json:"spec"`
}

// RolloutSpec is the body of a Rollout.
type RolloutSpec struct {
	// Strategy is a copy of the RolloutStrategy: a later edit of that changes no approval.
	Strategy RolloutWaves `json:"strategy"`
	// Classes are the IDs of the approved classes, for people: they select nothing.
	Classes []string `json:"classes,omitempty"`
	// Replaces is the name of a Rollout that ends with this one.
	Replaces string `json:"replaces,omitempty" jsonschema:"example=web-1.3-prod"`
	// Paused publishes nothing until it is false again. Drafts of members do not change meanwhile.
	Paused bool `json:"paused,omitempty"`
	// Stopped ends the Rollout: it publishes nothing more, and apply updates the Drafts of its members again.
	Stopped bool `json:"stopped,omitempty"`
	// Passed are the waves whose manual gate a person passed.
	Passed []string `json:"passed,omitempty" jsonschema:"example=canary"`
	// Except are targets that a person took out of the Rollout.
	Except []string `json:"except,omitempty" jsonschema:"example=c017"`
	// Members are the targets, sorted by name.
	Members []RolloutMember `json:"members"`
}

// RolloutWaves are waves and the gates between them.
type RolloutWaves struct {
	// Waves are published in this order. A target is in the first wave that takes it, and the last one takes all that are left.
	Waves []RolloutWave `json:"waves"`
	// Gates must all hold before the next wave opens.
	Gates []RolloutGate `json:"gates,omitempty"`
	// MaxFailures is the number of members that may fail before the Rollout stops publishing; empty means none.
	MaxFailures int `json:"maxFailures,omitempty" jsonschema:"minimum=0"`
}

// RolloutWave takes targets.
type RolloutWave struct {
	// Name is what people call the wave.
	Name string `json:"name" jsonschema:"example=canary"`
	// Selector takes targets by labels of the Repository and of the variant; empty takes all.
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
	// Percent of these targets that earlier waves left, rounded up, in an order that follows from a hash of their names; empty means all.
	Percent int `json:"percent,omitempty" jsonschema:"minimum=0,maximum=100"`
	// GroupBy is a label: Percent counts in each group of targets with one value of it.
	GroupBy string `json:"groupBy,omitempty" jsonschema:"example=region"`
}

// RolloutGate is one condition: exactly one of its fields.
type RolloutGate struct {
	// Soak is the time between the last publication of a wave and the next wave.
	Soak string `json:"soak,omitempty" jsonschema:"example=24h"`
	// Calendar is when members may be published.
	Calendar *RolloutCalendar `json:"calendar,omitempty"`
	// Manual waits for a person.
	Manual *RolloutManual `json:"manual,omitempty"`
}

// RolloutCalendar is a set of whole hours.
type RolloutCalendar struct {
	// Allow are the hours, in cron's five fields: the minute is 0, and each hour that matches is allowed whole.
	Allow string `json:"allow" jsonschema:"example=0 8-16 * * 1-4"`
	// TimeZone is a name of the IANA database; empty means UTC.
	TimeZone string `json:"timeZone,omitempty" jsonschema:"example=Europe/Berlin"`
}

// RolloutManual is a gate that a person passes with `variform rollout resume NAME --after WAVE`.
type RolloutManual struct {
	// After is the wave after which the Rollout waits.
	After string `json:"after" jsonschema:"example=canary"`
}

// RolloutMember is a target whose packages are published together, dependencies first. Its lock is not listed: the same push writes it.
type RolloutMember struct {
	// Target is the Repository, or the folder of a target in it.
	Target string `json:"target" jsonschema:"example=c005"`
	// Wave is the wave that the target was in at approval.
	Wave string `json:"wave"`
	// Packages are what was approved.
	Packages []RolloutPackage `json:"packages"`
}

// RolloutPackage binds an approval to content.
type RolloutPackage struct {
	// Name is the package's path below the target.
	Name string `json:"name" jsonschema:"example=web"`
	// Draft is the commit that was approved.
	Draft string `json:"draft"`
	// Tree is the package in that commit.
	Tree string `json:"tree"`
	// Built is what building makes of it, where approval confirmed that; empty where it is not known.
	Built string `json:"built,omitempty"`
	// Head is the commit of the registered branch at approval, and Base the package there; both are empty where there was none.
	Head string `json:"head,omitempty"`
	// Base is the package on the registered branch at approval; empty where there was none.
	Base string `json:"base,omitempty"`
	// Change is a digest of what the approval changes, with the new values.
	Change string `json:"change" jsonschema:"example=sha256:9c1e"`
}
