package version

import (
	"runtime"
	"runtime/debug"
	"testing"
)

func TestCurrent(t *testing.T) {
	for name, tc := range map[string]struct {
		version, commit string
		module          string
		settings        []debug.BuildSetting
		want            Info
	}{
		"a release":              {version: "v1.2.3", commit: "abc", module: "v9.9.9", settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "def"}}, want: Info{Version: "v1.2.3", Commit: "abc"}},
		"go install of a tag":    {version: "devel", module: "v1.2.3", want: Info{Version: "v1.2.3"}},
		"make build":             {version: "v1.2.3-4-gabc", module: "(devel)", settings: []debug.BuildSetting{{Key: "vcs", Value: "git"}, {Key: "vcs.revision", Value: "def"}}, want: Info{Version: "v1.2.3-4-gabc", Commit: "def"}},
		"go test, go run FILE":   {version: "devel", module: "(devel)", want: Info{Version: "devel"}},
		"a program without info": {version: "devel", want: Info{Version: "devel"}},
	} {
		t.Run(name, func(t *testing.T) {
			tc.want.Go, tc.want.Platform = runtime.Version(), runtime.GOOS+"/"+runtime.GOARCH
			if got := current(tc.version, tc.commit, &debug.BuildInfo{Main: debug.Module{Version: tc.module}, Settings: tc.settings}); got != tc.want {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
		})
	}
}
