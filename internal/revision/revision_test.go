package revision

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// fake has names as "<rule> <text>"; what it leads to is that same text.
type fake struct {
	names    []string
	versions []string
	broken   Rule
	looked   []string
}

var errBroken = errors.New("broken")

func (f *fake) Look(_ context.Context, rule Rule, text string) (string, bool, error) {
	asked := strings.TrimSpace(string(rule) + " " + text)
	f.looked = append(f.looked, asked)
	if rule == f.broken {
		return "", false, errBroken
	}
	return asked, slices.Contains(f.names, asked) || rule == RuleRange, nil
}

func (f *fake) Versions(context.Context) ([]Version, error) {
	var out []Version
	for _, tag := range f.versions {
		if v, ok := ParseVersion(tag); ok {
			out = append(out, Version{tag, v})
		}
	}
	return out, nil
}

func (f *fake) None(_ context.Context, reason string, there []string) error {
	return fmt.Errorf("%s %v", reason, there)
}

func TestFind(t *testing.T) {
	versions := []string{"v1.0.0", "v1.10.0", "v1.2.0", "v2.0.0-rc.1", "1.10.0_b", "v1", "v1.2", "edge"}
	for name, tc := range map[string]struct {
		q      Query
		names  []string // there are
		broken Rule
		git    string // what is found, or why not
		oci    string // where a registry differs
	}{
		"Latest":               {names: []string{"latest"}, git: "latest"},
		"LatestNone":           {git: "no revision of it is Published []"},
		"LatestByName":         {q: Query{Revision: "latest"}, names: []string{"latest"}, git: "latest"},
		"LatestIsATag":         {q: Query{Revision: "latest"}, names: []string{"tag latest", "latest"}, git: "tag latest"},
		"Workspace":            {q: Query{Workspace: " ws "}, names: []string{"workspace ws"}, git: "workspace ws"},
		"WorkspaceNone":        {q: Query{Workspace: "ws"}, names: []string{"tag ws"}, git: "it has no such workspace []"},
		"RevisionDecides":      {q: Query{Revision: "a", Workspace: "ws"}, names: []string{"tag a", "workspace ws"}, git: "tag a"},
		"Number":               {q: Query{Revision: "7"}, names: []string{"revision 7", "tag 7"}, git: "revision 7"},
		"NumberV":              {q: Query{Revision: "v7"}, names: []string{"revision 7", "package tag v7", "tag v7"}, git: "revision 7"},
		"NumberIsNoTag":        {q: Query{Revision: "v7"}, names: []string{"tag v7"}, git: "tag v7"},
		"NumberZeros":          {q: Query{Revision: "v07"}, names: []string{"revision 7", "tag v07"}, git: "tag v07"},
		"Zero":                 {q: Query{Revision: "0"}, names: []string{"revision 0"}, git: "no tag, branch or commit has that name []", oci: "there is no such tag (branches and commits are Git's: a registry has tags and digests) []"},
		"Registered":           {q: Query{Revision: "-1"}, names: []string{"registered branch -1", "tag -1"}, git: "registered branch -1", oci: "tag -1"},
		"PackageTagFirst":      {q: Query{Revision: "stable"}, names: []string{"package tag stable", "tag stable", "branch stable"}, git: "package tag stable", oci: "tag stable"},
		"TagBeforeBranch":      {q: Query{Revision: "x"}, names: []string{"tag x", "branch x"}, git: "tag x"},
		"TagBeforeRange":       {q: Query{Revision: "1.x"}, names: []string{"tag 1.x"}, git: "tag 1.x"},
		"BranchBeforeCommit":   {q: Query{Revision: "beef"}, names: []string{"branch beef", "commit beef"}, git: "branch beef", oci: "there is no such tag (branches and commits are Git's: a registry has tags and digests) []"},
		"Commit":               {q: Query{Revision: "beef"}, names: []string{"commit beef"}, git: "commit beef", oci: "there is no such tag (branches and commits are Git's: a registry has tags and digests) []"},
		"CommitTooShort":       {q: Query{Revision: "bee"}, names: []string{"commit bee"}, git: "no tag, branch or commit has that name []", oci: "there is no such tag (branches and commits are Git's: a registry has tags and digests) []"},
		"CommitNone":           {q: Query{Revision: "beef"}, git: "no tag or branch has that name, and no known commit begins so []", oci: "there is no such tag (branches and commits are Git's: a registry has tags and digests) []"},
		"Digest":               {q: Query{Revision: "sha256:" + strings.Repeat("a", 64)}, names: []string{"digest sha256:" + strings.Repeat("a", 64)}, git: "no tag, branch or commit has that name []", oci: "digest sha256:" + strings.Repeat("a", 64)},
		"DigestNone":           {q: Query{Revision: "sha256:" + strings.Repeat("a", 64)}, git: "no tag, branch or commit has that name []", oci: "there is no such digest []"},
		"DigestWrong":          {q: Query{Revision: "sha256:12"}, git: "no tag, branch or commit has that name []", oci: "a digest is written sha256: and 64 hexadecimal digits, in lower case []"},
		"RangeCaret":           {q: Query{Revision: "^1.0.0"}, git: "range 1.10.0_b"},
		"RangeX":               {q: Query{Revision: "1.2.x"}, git: "range v1.2.0"},
		"RangeStar":            {q: Query{Revision: "*"}, git: "range 1.10.0_b"},
		"RangeBetween":         {q: Query{Revision: "1.0.0 - 1.2.0"}, git: "range v1.2.0"},
		"RangeOfPrereleases":   {q: Query{Revision: ">=2.0.0-0"}, git: "range v2.0.0-rc.1"},
		"RangeNone":            {q: Query{Revision: ">2"}, git: "no version is in that range (prereleases only where the range names one) [v2.0.0-rc.1 1.10.0_b v1.10.0 v1.2.0 v1.0.0]"},
		"RangeWrong":           {q: Query{Revision: ">>2"}, git: "it is no tag, branch or commit, and does not read as a version range []", oci: "it is no tag or digest, and does not read as a version range []"},
		"NoRangeWithoutSign":   {q: Query{Revision: "1.2"}, git: "no tag, branch or commit has that name []", oci: "there is no such tag (branches and commits are Git's: a registry has tags and digests) []"},
		"NoRangeForXInAName":   {q: Query{Revision: "xenial"}, git: "no tag, branch or commit has that name []", oci: "there is no such tag (branches and commits are Git's: a registry has tags and digests) []"},
		"AnErrorEndsTheSearch": {q: Query{Revision: "a"}, broken: RuleTag, names: []string{"branch a"}, git: "broken"},
	} {
		for c, want := range map[*Cascade]string{&Git: tc.git, &Registry: tc.oci} {
			if want == "" {
				want = tc.git
			}
			t.Run(name+"/"+c.Names, func(t *testing.T) {
				got, rule, err := Find(context.Background(), tc.q, *c, &fake{names: tc.names, versions: versions, broken: tc.broken})
				if err != nil {
					got, rule = err.Error(), ""
				}
				if got != want {
					t.Errorf("got %q, want %q", got, want)
				}
				if err == nil && !strings.HasPrefix(got, string(rule)) {
					t.Errorf("found %q by rule %q", got, rule)
				}
			})
		}
	}
}

// TestOrder keeps the documented order: each rule is asked once, in turn.
func TestOrder(t *testing.T) {
	for name, tc := range map[string]struct {
		c    Cascade
		text string
		want []string
	}{
		"Git":          {Git, "1234", []string{"revision 1234", "package tag 1234", "tag 1234", "branch 1234", "commit 1234"}},
		"GitRange":     {Git, "^1", []string{"package tag ^1", "tag ^1", "branch ^1", "range v1.0.0"}},
		"Latest":       {Git, "latest", []string{"package tag latest", "tag latest", "branch latest", "latest"}},
		"Registry":     {Registry, "1234", []string{"revision 1234", "tag 1234"}},
		"RegistryHash": {Registry, "sha256:" + strings.Repeat("0", 64), []string{"tag sha256:" + strings.Repeat("0", 64), "digest sha256:" + strings.Repeat("0", 64)}},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fake{versions: []string{"v1.0.0"}}
			_, _, _ = Find(context.Background(), Query{Revision: tc.text}, tc.c, f)
			if diff := cmp.Diff(tc.want, f.looked); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Revisions are versions where a package has no others, and prereleases are never
// the highest.
func TestVersions(t *testing.T) {
	if v := Published(12); v.Tag != "v12" || v.Semver.String() != "12.0.0" {
		t.Errorf("%s %s", v.Tag, v.Semver)
	}
	parse := func(tags ...string) (out []Version) {
		for _, tag := range tags {
			v, _ := ParseVersion(tag)
			out = append(out, Version{tag, v})
		}
		return out
	}
	for want, list := range map[string][]Version{
		"":        nil,
		"v1.10.0": parse("v1.9.0", "v1.10.0", "v2.0.0-rc.1", "v1.2.0"),
		"v3":      {Published(1), Published(3), Published(2)},
	} {
		if v, ok := Highest(list); v.Tag != want || ok != (want != "") {
			t.Errorf("got %q, want %q", v.Tag, want)
		}
	}
	if v, ok := Highest(parse("v1.0.0-rc.1")); ok {
		t.Errorf("a prerelease: %s", v.Tag)
	}
}
