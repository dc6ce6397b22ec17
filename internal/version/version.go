// Package version holds the version that the build stamps in.
//
//	go build -ldflags "-X github.com/variform/variform/internal/version.Version=v1.2.3"
//
// Without a stamp, "go install …@v1.2.3" and other builds answer "devel"; the
// module version is in runtime/debug.BuildInfo for those who want it.
package version

// Version is the version of this build: a tag, a `git describe` text, or "devel".
var Version = "devel"
