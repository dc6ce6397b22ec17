package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Fleet tells a controller which fleet to run, and how. A command reads it for its
// faults alone: its flags say the same.
type Fleet struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what to run.
	Spec FleetSpec `json:"spec"`
	// Status is what the last run came to.
	Status FleetStatus `json:"status,omitempty"`
}

// FleetSpec is the body of a Fleet.
type FleetSpec struct {
	// Source is where the fleet is described.
	Source FleetSource `json:"source"`
	// Manager is the name that packages are signed with; empty means the name in the management directory's Kptfile. Objects need one.
	Manager string `json:"manager,omitempty"`
	// Interval is the time between two looks at what is not watched, such as 1m; empty means one minute.
	Interval string `json:"interval,omitempty"`
	// Suspend leaves the fleet alone: nothing is read, written or deleted.
	Suspend bool `json:"suspend,omitempty"`
	// Prune acts on packages whose variant has gone, by their deletionPolicy.
	Prune bool `json:"prune,omitempty"`
	// MaxDeletions is how many packages a set may lose at once beyond what its brake allows; empty leaves the brake on.
	MaxDeletions *int `json:"maxDeletions,omitempty" jsonschema:"minimum=0"`
	// SecretRef is the Secret that has logins of Git, registries and forges; empty means those that the controller has. A Fleet with one uses no others.
	SecretRef *FleetSecret `json:"secretRef,omitempty"`
	// ServiceAccountName is the ServiceAccount of the Fleet's namespace whose rights alone count for what a controller reads for the Fleet: sets, variants and what else it is made of, what they select and inject, the Secret. Empty means the controller's own rights, or the account of its flag -default-service-account.
	ServiceAccountName string `json:"serviceAccountName,omitempty"`
	// Shards is how many parts the repositories are split into, which replicas of the controller share; empty means one.
	Shards *int `json:"shards,omitempty" jsonschema:"minimum=1,maximum=1000"`
}

// FleetSource is a management directory in Git, or objects beside the Fleet: exactly one of them.
type FleetSource struct {
	// Git is a management directory.
	Git *FleetDirectory `json:"git,omitempty"`
	// Objects are those of the Fleet's namespace.
	Objects *FleetObjects `json:"objects,omitempty"`
}

// FleetDirectory is a folder of a Git repository at a ref.
type FleetDirectory struct {
	// Repo is the repository's URL, without credentials.
	Repo string `json:"repo"`
	// Directory is the folder; empty is the root.
	Directory string `json:"directory,omitempty"`
	// Ref is a branch, tag or commit; empty is the default branch.
	Ref string `json:"ref,omitempty"`
}

// FleetObjects are the sets, variants, Installations and Catalogs of the Fleet's namespace that a selector takes, and all its Repositories.
type FleetObjects struct {
	// Selector takes objects by label; empty takes all.
	Selector map[string]string `json:"selector,omitempty"`
	// Context are the kinds whose objects may be selected or injected, beside those that sets and variants name.
	Context []FleetContext `json:"context,omitempty"`
	// TakeOver takes sets and variants whose status another controller wrote, Porch's say: only once that one has stopped.
	TakeOver bool `json:"takeOver,omitempty"`
}

// FleetContext is a kind of objects.
type FleetContext struct {
	// APIVersion is the group and version, such as v1.
	APIVersion string `json:"apiVersion"`
	// Kind is the kind, such as ConfigMap.
	Kind string `json:"kind"`
}

// FleetSecret is a Secret of the Fleet's namespace, under whose key credentials stands a URL with user and password a line, as Git's helper store keeps them. The key .dockerconfigjson has logins of registries. Keys named as the variables that hold tokens of forges, GITHUB_TOKEN say, are for pull requests.
type FleetSecret struct {
	// Name is the Secret's.
	Name string `json:"name"`
}

// FleetStatus is what the last run came to.
type FleetStatus struct {
	// ObservedGeneration is that of the Fleet that it was about.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Conditions are Stalled and Ready.
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// Shards are what the last run of each shard came to, where there are several: the conditions have the sum of it.
	Shards []FleetShardStatus `json:"shards,omitempty"`
}

// FleetShardStatus is what the last run of a shard came to.
type FleetShardStatus struct {
	// Shard is which of how many, such as 2/4.
	Shard string `json:"shard"`
	// ObservedGeneration is that of the Fleet that it was about.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Ready is that all of it is as the fleet says, or waits for a person's review.
	Ready bool `json:"ready"`
	// Stalled is that a person is needed.
	Stalled bool `json:"stalled,omitempty"`
	// Reason is that of the condition.
	Reason string `json:"reason"`
	// Message is that of the condition.
	Message string `json:"message,omitempty"`
}
