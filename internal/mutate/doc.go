// Package mutate makes a variant's package from its upstream
// (docs/design/hydration-and-update.md#from-inputs-to-a-package; Porch's
// PackageVariant design, "Order of Mutations"): Clone is step 1 for a new
// downstream, Apply is steps 2 to 4 for a new or an updated one.
//
// Every edit goes through krm.Resource.Edit and only where the result means
// something else, so that the author's bytes survive and a second run changes
// none. The package is pure.
package mutate

import (
	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"

	"github.com/variform/variform/api/variform/v1alpha1"
)

// AnnotationPrefix begins Variform's own annotations on a Kptfile. They belong
// to one package and are never inherited from an upstream
// (docs/design/git.md#truth).
const AnnotationPrefix = "variform.dev/"

// The annotations of ownership, and of the pipeline functions whose names alone
// do not say whose they are.
const (
	AnnotationVariant        = v1alpha1.VariantAnnotation // <manager>/<namespace>/<name>
	AnnotationSet            = v1alpha1.SetKey            // the set that the variant comes from
	AnnotationFor            = v1alpha1.OwnerAnnotation
	AnnotationDeletionPolicy = v1alpha1.DeletionPolicyAnnotation // delete or orphan
	AnnotationFunctions      = AnnotationPrefix + "functions"    // JSON list of function names with dots
)

// PackageContextName is the ConfigMap with a package's context; kpt and Porch
// keep it in PackageContextFile.
const (
	PackageContextName = "kptfile.kpt.dev"
	PackageContextFile = "package-context.yaml"
)

// localConfig marks resources that are not deployed.
const localConfig = "config.kubernetes.io/local-config"

// Owner is who a package belongs to (docs/design/git.md#truth). The zero Owner
// is nobody.
type Owner struct {
	Variant        string // <manager>/<namespace>/<name>
	Set            string // "" for a variant written by hand
	DeletionPolicy string // "" means delete
	For            string // <namespace>/<name> that it was first made for, "" for what was asked for
}

// The places that new keys take, as kpt writes them.
var (
	kptfileOrder  = []string{"apiVersion", "kind", "metadata", "upstream", "upstreamLock", "info", "pipeline", "inventory", "status"}
	metadataOrder = []string{"name", "namespace", "labels", "annotations"}
	upstreamOrder = []string{"type", "git", "generic", "updateStrategy"}
	pipelineOrder = []string{"mutators", "validators"}
	functionOrder = []string{"name", "image", "exec", "tag", "configPath", "configMap", "selectors", "exclude"}
	configMapKeys = []string{"apiVersion", "kind", "metadata", "immutable", "data", "binaryData"}
)

// defaultStrategy is kpt's.
const defaultStrategy = kptfilev1.ResourceMerge
