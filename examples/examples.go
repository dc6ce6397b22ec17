// Package examples holds the packages and the fleet that `variform demo` works
// on, and that tests read: a catalogue of kpt packages, a second revision of
// one of them, and a management directory.
//
//	data, err := fs.ReadFile(examples.FS, "fleet/sets/web-app.yaml")
//
// The Repositories under fleet/ have addresses below ReposPlaceholder, which
// whoever lays the fleet out replaces by the folder or server of its choice.
package examples

import "embed"

// The folders of FS.
const (
	Catalog   = "catalog"    // one folder for each package, first revision
	CatalogV2 = "catalog-v2" // files that the second revision changes or adds, by package
	Fleet     = "fleet"      // the management directory
)

// ReposPlaceholder stands in the Repositories of Fleet for the place of their
// Git repositories: "${REPOS}/cluster-01.git".
const ReposPlaceholder = "${REPOS}"

// FS holds Catalog, CatalogV2 and Fleet, hidden files included.
//
//go:embed all:catalog all:catalog-v2 all:fleet
var FS embed.FS
