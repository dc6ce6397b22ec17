package lifecycle

import (
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// Where a package's revisions stand in Git, as Porch has them (docs/design/git.md).
const (
	headsPrefix    = "refs/heads/"
	tagsPrefix     = "refs/tags/"
	DraftsPrefix   = headsPrefix + "drafts/"
	ProposedPrefix = headsPrefix + "proposed/"
	DeletionPrefix = headsPrefix + "deletionProposed/"
)

// PackagePath joins a Repository's directory and a package to the path in the repository.
func PackagePath(directory, pkg string) string {
	joined := pkg
	if directory != "" {
		joined = directory + "/" + pkg
	}
	if joined != "." && fs.ValidPath(joined) { // as nearly all are
		return joined
	}
	return strings.Trim(path.Join("/", directory, pkg), "/")
}

// DraftRef is refs/heads/drafts/<path>/<workspace>.
func DraftRef(path, workspace string) string { return DraftsPrefix + path + "/" + workspace }

// ProposedRef is refs/heads/proposed/<path>/<workspace>.
func ProposedRef(path, workspace string) string { return ProposedPrefix + path + "/" + workspace }

// DeletionRef is refs/heads/deletionProposed/<path>/vN.
func DeletionRef(path string, number int) string {
	return DeletionPrefix + path + "/v" + strconv.Itoa(number)
}

// PublishedRef is refs/tags/<path>/vN.
func PublishedRef(path string, number int) string {
	return tagsPrefix + path + "/v" + strconv.Itoa(number)
}

// BranchRef is refs/heads/<branch>.
func BranchRef(branch string) string { return headsPrefix + branch }
