// Package version holds the version that the build stamps in.
//
//	go build -ldflags "-X github.com/variform/variform/internal/version.Version=v1.2.3"
//
// Without a stamp, "go install …@v1.2.3" and other builds answer "devel"; the
// module version is in runtime/debug.BuildInfo for those who want it.
package version

import "runtime/debug"

// Version is the version of this build: a tag, a `git describe` text, or "devel".
var Version = "devel"

// Program is what tells this build from others, those without a stamp too: the
// version and, where the build knows it, the commit.
func Program() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return Version
	}
	return Version + " " + info.Main.Version
}
