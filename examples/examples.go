// Package examples holds the packages and the fleets that `variform demo` works
// on, and that tests read: a catalogue of kpt packages, a second revision of
// one of them, and a management directory; and the same for packages that need
// others.
//
//	data, err := fs.ReadFile(examples.FS, "fleet/sets/web-app.yaml")
//
// The Repositories of the fleets have addresses below ReposPlaceholder, which
// whoever lays a fleet out replaces by the folder or server of its choice.
package examples

import "embed"

// The folders of FS.
const (
	Catalog   = "catalog"    // one folder for each package, first revision
	CatalogV2 = "catalog-v2" // files that the second revision changes or adds, by package
	Fleet     = "fleet"      // the management directory

	PlatformCatalog  = "platform-catalog"  // packages that need others, one folder each
	PlatformClusters = "platform-clusters" // what clusters have before, by the cluster's Repository
	Platform         = "platform"          // the management directory of those
)

// ReposPlaceholder stands in the Repositories of the fleets for the place of their
// Git repositories: "${REPOS}/cluster-01.git".
const ReposPlaceholder = "${REPOS}"

// FS holds these folders, hidden files included.
//
//go:embed all:catalog all:catalog-v2 all:fleet all:platform all:platform-catalog all:platform-clusters
var FS embed.FS
