// Package v1alpha1 holds variform.dev/v1alpha1: the kinds PackageManifest,
// Installation, Catalog and PackageLock that dependencies are described with,
// the configuration of Variform's functions, and the names of the labels and
// annotations that it reads and writes (docs/design/kinds.md#our-kinds).
//
//	kind: InjectConfig
//	apiVersion: variform.dev/v1alpha1
//	metadata: {name: inject}
//	namespace: default
//	injectors:
//	- name: useast1-endpoints
//	resources:
//	- {apiVersion: v1, kind: ConfigMap, metadata: {name: useast1-endpoints}, data: {url: "https://a"}}
package v1alpha1

// API identity of the kinds in this package.
const (
	Group            = "variform.dev"
	APIVersion       = Group + "/v1alpha1"
	KindInjectConfig = "InjectConfig"

	KindPackageManifest = "PackageManifest"
	KindInstallation    = "Installation"
	KindCatalog         = "Catalog"
	KindPackageLock     = "PackageLock"

	KindFleet = "Fleet"

	KindRollout         = "Rollout"
	KindRolloutStrategy = "RolloutStrategy"
)

// Labels and annotations.
const (
	// VariantAnnotation stands on a package's Kptfile and names its owner as
	// <manager>/<namespace>/<name> (docs/design/git.md#truth).
	VariantAnnotation = "variform.dev/variant"

	// SetKey stands on a Kptfile (annotation: the set's name) and on generated
	// PackageVariants (label, see SetMetadata).
	SetKey = "variform.dev/set"

	// OwnerAnnotation stands on a variant that was made because another needs it, and on its Kptfile: the
	// <namespace>/<name> of the PackageVariant that it was first made for (Carvel's dependencies proposal); of a
	// target's lock it is the target's.
	OwnerAnnotation = "variform.dev/owner"

	// TargetsAnnotation of a Repository lists folders, as patterns separated by commas, that are targets of
	// their own: "clusters/*". PlatformAnnotation says what its targets run on, "kubernetes=1.31.2", and
	// APIsAnnotation which APIs they serve beside those of their packages, "cert-manager.io/v1/Issuer",
	// NamespacesAnnotation which namespaces they have beside those, "*" for any.
	TargetsAnnotation    = "variform.dev/targets"
	PlatformAnnotation   = "variform.dev/platform"
	APIsAnnotation       = "variform.dev/apis"
	NamespacesAnnotation = "variform.dev/namespaces"

	// OrderAnnotation of a Repository names, separated by commas, who deploys its packages and is to be told in
	// which order: "argocd", "kpt", "flux" (docs/design/dependencies.md#the-order-on-the-cluster).
	OrderAnnotation = "variform.dev/order"

	// ChecksAnnotation of the fleet's Kptfile gives checks another severity: "required=error, name=off"
	// (docs/reference.md#checks). ExemptAnnotation of a Rollout names the checks from which a person
	// exempted what it publishes, and why.
	ChecksAnnotation = "variform.dev/checks"
	ExemptAnnotation = "variform.dev/exempt"

	// WaveAnnotation and DependsOnAnnotation on a Kptfile are what the package's resources were given of that order,
	// so that it is told from what others wrote there.
	WaveAnnotation      = "variform.dev/sync-wave"
	DependsOnAnnotation = "variform.dev/depends-on"

	// DeletionPolicyAnnotation keeps the variant's deletion policy on the
	// Kptfile, for the time when the variant itself is gone.
	DeletionPolicyAnnotation = "variform.dev/deletion-policy"

	// OnConflictAnnotation says whose value stands where an update and an edit by
	// hand change one: OnConflictKeep keeps the edit. It stands on a
	// PackageVariantSet, a PackageVariant, a package's Kptfile or a resource; the
	// nearest counts.
	OnConflictAnnotation = "variform.dev/on-conflict"
	OnConflictKeep       = "keep"
	OnConflictUpstream   = "upstream"

	// UpdateStrategyAnnotation of a PackageVariantSet or PackageVariant is the
	// strategy of its updates, as kpt names it, instead of the one that the
	// package's Kptfile says (upstream.updateStrategy); the variant's own counts.
	UpdateStrategyAnnotation = "variform.dev/update-strategy"

	// OwnedElsewhereAnnotation of a resource lists fields that neither upstream
	// nor people set, separated by commas: "spec.replicas". Updates leave what
	// stands there, and say nothing of it.
	OwnedElsewhereAnnotation = "variform.dev/owned-elsewhere"

	// TagMainAnnotation of a Repository says when what others commit to its registered
	// branch becomes a revision of its own: TagMainAlways with the next run, and by
	// approve --main without it.
	TagMainAnnotation = "variform.dev/tag-main"
	TagMainAlways     = "always"

	// ReviewAnnotation of a Repository has apply keep pull requests of its Drafts: one
	// for each class of identical change, for each Draft, or one for all
	// (docs/design/pull-requests.md).
	ReviewAnnotation   = "variform.dev/review"
	ReviewByClass      = "class"
	ReviewByVariant    = "variant"
	ReviewByRepository = "repository"

	// These annotations of a Repository, a PackageVariantSet or a PackageVariant say what a pull request gets
	// when it is opened: names separated by commas, teams as organisation/team, and "true" for a draft.
	ReviewersAnnotation    = "variform.dev/reviewers"
	AssigneesAnnotation    = "variform.dev/assignees"
	ReviewLabelsAnnotation = "variform.dev/review-labels"
	ReviewDraftAnnotation  = "variform.dev/review-draft"

	// ReviewAutoMergeAnnotation of these has the forge merge a request by itself in this style, once its check
	// is a success and the forge's own rules are met.
	ReviewAutoMergeAnnotation = "variform.dev/review-auto-merge"
	AutoMergeMerge            = "merge"
	AutoMergeSquash           = "squash"
	AutoMergeRebase           = "rebase"
	AutoMergeNever            = "never"

	// ContextAnnotation marks ("true") the objects of a ResourceList that are
	// context to inject from, not part of the package
	// (docs/design/functions.md).
	ContextAnnotation = "variform.dev/context"

	// InjectionAnnotation makes a package's resource an injection point; its
	// value is InjectionRequired or InjectionOptional (Porch's PackageVariant
	// design, "Configuration Injection Details").
	InjectionAnnotation = "kpt.dev/config-injection"
	InjectionRequired   = "required"
	InjectionOptional   = "optional"

	// InjectedNameAnnotation is the record of what was injected as Porch's PackageVariant design has it,
	// InjectedAnnotation the one that Porch writes; ours has both.
	InjectedNameAnnotation = "kpt.dev/injected-resource-name"
	InjectedAnnotation     = "kpt.dev/injected-resource"

	// PorchSetLabel is the label by which Porch's controller finds the
	// variants of a set; its value is a UID.
	PorchSetLabel = "config.porch.kpt.dev/packagevariantset"
)
