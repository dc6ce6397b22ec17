// Package version holds the version that the build stamps in.
//
//	go build -ldflags "-X github.com/variform/variform/internal/version.Version=v1.2.3"
//
// A build by "go install …@v1.2.3" has no stamp: there the version is that of the
// module, and elsewhere "devel".
package version

import (
	"cmp"
	"runtime"
	"runtime/debug"
	"strings"
)

// Version is the version of this build: a tag, a `git describe` text, or "devel".
var Version = devel

// Commit is the commit that a release was built of; others know it from Go.
var Commit string

const devel = "devel"

// Program is what tells this build from others, those without a stamp too: the
// version and, where the build knows it, the commit.
func Program() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return Version
	}
	return Version + " " + info.Main.Version
}

// Info says what a program is and what built it.
type Info struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// Current is the Info of this program.
func Current() Info {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return current(Version, Commit, info)
}

// current takes what was stamped before what Go recorded.
func current(version, commit string, build *debug.BuildInfo) Info {
	if version == devel && strings.HasPrefix(build.Main.Version, "v") {
		version = build.Main.Version
	}
	var recorded string
	for _, s := range build.Settings {
		if s.Key == "vcs.revision" {
			recorded = s.Value
		}
	}
	return Info{Version: version, Commit: cmp.Or(commit, recorded), Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
}
