package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/test/gittest"
)

// What one version of a catalogue is broken by stops nothing else: it is named once,
// with its tag and what to do, and only who needs that very version fails.
func TestBrokenVersionsStopNothing(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		breaks  func(w *world, catalogue *gittest.Repo)
		warning []string
	}{
		"calendar versions": {func(w *world, c *gittest.Repo) {
			c.Tag(w.t, "cal/2024.01.15", c.Commit(w.t, "main", "cal", packageWith("cal", "")))
		}, []string{"passed over what is no semantic version: cal/2024.01.15"}},
		"leading zeros": {func(w *world, c *gittest.Repo) {
			for _, tag := range []string{"lib/1.02.3", "lib/v1.0.0-01", "lib/v1.0.0-", "lib/v1.99999999999999999999.0"} {
				c.Tag(w.t, tag, "main")
			}
		}, []string{"passed over what is no semantic version: lib/1.02.3, lib/v1.0.0-, lib/v1.0.0-01 and 1 more"}},
		"a slip": {func(w *world, c *gittest.Repo) {
			c.Tag(w.t, "lib/v1.0.1", c.Commit(w.t, "main", "slip", packageWith("lib", "  version: 1.0.0\n")))
		}, []string{"tag lib/v1.0.1: lib/package.yaml:7: spec.version is 1.0.0 and the tag says 1.0.1", "publish a new tag"}},
		"a manifest": {func(w *world, c *gittest.Repo) {
			c.Tag(w.t, "lib/v1.0.1", c.Commit(w.t, "main", "typo", packageWith("lib", "  require: []\n")))
		}, []string{"tag lib/v1.0.1: lib/package.yaml:7: "}},
		"two numbers of one version": {func(w *world, c *gittest.Repo) {
			c.Tag(w.t, "two/v1", c.Commit(w.t, "main", "two", packageWith("two", "  version: 1.0.0\n")))
			c.Tag(w.t, "two/v2", c.Commit(w.t, "main", "two", packageWith("two", "  version: 1.0.0\n  scope: Cluster\n")))
		}, []string{"version 1.0.0 of package two is there twice, as tag two/v1 of ", "tag two/v2 of "}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := needing(t)
			w.offer("lib", "1.0.0", "", nil)
			w.offer("app", "1.0.0", "  requires: [{alias: l, package: lib}]\n", nil)
			tc.breaks(w, w.repos["catalog"])
			w.needs("app", "1.0.0")
			for _, command := range []string{"plan", "outdated", "resolve", "apply"} {
				w.forgetWarnings()
				r := w.mustRun(0, command)
				w.contains(r.err, tc.warning...)
				if n := strings.Count(r.err, tc.warning[0]); n != 1 {
					t.Errorf("%s says it %d times:\n%s", command, n, r.err)
				}
			}
			if !w.on("drafts/lib/packagevariant-1", "lib") {
				t.Error("lib was not brought")
			}
			w.contains(w.run("catalog", "list").err, tc.warning...)
		})
	}
}

// A requirement that only broken versions, prereleases or tags that are no versions
// could meet is explained with them.
func TestExplainedByTheCatalogue(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ needs, want string }{
		"a broken version": {"lib, version: ^2", "needs lib ^2, but the versions of lib are 1.0.0, and nobody can have tag lib/v2.0.0 (lib/package.yaml:7: "},
		"a prerelease":     {"pre", `the versions of pre are 0.9.0-alpha.1; 0.9.0-alpha.1 is a prerelease, which a range leaves out unless it names one, as ">=0.9.0-0" does`},
		"flat tags":        {"chart", "no package chart is in the catalogue, and its tag chart-4.11.3 is no version"},
		"floating tags":    {"float, version: ^1", "no package float is in the catalogue, and its tag float/v1.2 is no version"},
		"a slip":           {"libb", "no package libb is in the catalogue"},
		"a near name":      {"databas", `no package databas is in the catalogue: did you mean "database"?`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := needing(t)
			c := w.repos["catalog"]
			w.offer("lib", "1.0.0", "", nil)
			w.offer("pre", "0.9.0-alpha.1", "", nil)
			w.offer("database", "1.0.0", "", nil)
			w.offer("app", "1.0.0", "  requires: [{alias: l, package: "+tc.needs+"}]\n", nil)
			c.Tag(t, "lib/v2.0.0", c.Commit(t, "main", "typo", packageWith("lib", "  require: []\n")))
			c.Tag(t, "chart-4.11.3", "main")
			c.Tag(t, "float/v1.2", "main")
			w.needs("app", "1.0.0")
			w.contains(w.mustRun(1, "plan").err, tc.want)
			w.contains(w.mustRun(1, "resolve").err, tc.want)
		})
	}
}

// vanishing has app and dep 1.0.0 Published, and a newer dep besides.
func vanishing(t *testing.T) *world {
	t.Helper()
	w := needing(t)
	w.offer("dep", "1.0.0", "", nil)
	w.offer("app", "1.0.0", "  requires: [{alias: d, package: dep}]\n", nil)
	w.needs("app", "1.0.0")
	w.mustRun(0, "apply")
	w.mustRun(0, "approve", "--all")
	w.offer("dep", "1.1.0", "", nil)
	w.contains(w.mustRun(0, "plan").out, "Everything is live")
	return w
}

// What is locked stays though its tag goes, with its content, until somebody asks
// for more.
func TestVanishedVersionStays(t *testing.T) {
	t.Parallel()
	w := vanishing(t)
	w.repos["catalog"].Git(t, "tag", "-d", "dep/v1.0.0")
	const said = "dep 1.0.0 is locked in target c1 and no source has it any more (tag dep/v1.0.0 of "
	for _, command := range []string{"plan", "resolve", "outdated", "apply", "status"} {
		w.forgetWarnings()
		r := w.mustRun(0, command)
		w.contains(r.err, said, "it stays; --upgrade dep takes the newest version")
		w.lacks(r.out, "redraft", "update ")
	}
	w.contains(w.mustRun(0, "why", "dep").out, "1.0.0 is the locked version, which no source has any more")
	if got := w.repos["c1"].Git(t, "branch", "--list", "drafts/*"); got != "" {
		t.Errorf("there are Drafts: %s", got)
	}
	// Another change builds it anew, of what is locked.
	w.write("app.yaml", strings.ReplaceAll(variantOf("app", "v1.0.0", "c1", "app", "  packageContext: {data: {a: b}}\n"), "package: web", "package: app"))
	w.mustRun(0, "apply")
	w.contains(w.repos["c1"].Git(t, "show", "drafts/dep/packagevariant-2:dep/Kptfile"), "ref: dep/v1.0.0")
	w.contains(w.repos["c1"].Git(t, "show", "drafts/dep/packagevariant-2:dep/package-context.yaml"), "a: b")
	w.mustRun(0, "apply", "--upgrade", "dep")
	w.contains(w.repos["c1"].Git(t, "show", "drafts/dep/packagevariant-2:dep/Kptfile"), "ref: dep/v1.1.0")
}

// Where the content of what is locked is nowhere any more, its variant fails, and
// nothing else.
func TestVanishedContentFailsAlone(t *testing.T) {
	t.Parallel()
	w := needing(t)
	c := w.repos["catalog"]
	w.offer("app", "1.0.0", "  requires: [{alias: d, package: dep}]\n", nil)
	w.offer("other", "1.0.0", "", nil)
	c.Tag(t, "dep/v1.0.0", c.CommitFrom(t, "side", "main", "dep", packageWith("dep", "  version: 1.0.0\n")))
	w.needs("app", "1.0.0")
	w.mustRun(0, "apply")
	w.mustRun(0, "approve", "--all")
	w.offer("dep", "1.1.0", "", nil)
	c.Git(t, "update-ref", "-d", "refs/tags/dep/v1.0.0")
	c.Git(t, "update-ref", "-d", "refs/heads/side")
	c.Git(t, "reflog", "expire", "--expire=now", "--all")
	c.Git(t, "gc", "-q", "--prune=now")
	if err := os.RemoveAll(filepath.Join(w.dir, "cache")); err != nil {
		t.Fatal(err)
	}
	w.needs("other", "1.0.0")
	r := w.mustRun(1, "apply")
	w.contains(r.err, "dep 1.0.0 is locked in target c1 and no source has it any more", "upstream catalog/dep: dep/v1.0.0 is locked at ", "which is no longer to be had")
	w.contains(r.out, "other", "created", "1 failed")
	if !w.on("drafts/other/packagevariant-1", "other") {
		t.Error("other has no Draft")
	}
	w.mustRun(0, "apply", "--upgrade", "dep")
}

// A tag that moved changes nothing that is locked; what it is now is taken by its
// version, without taking the newest.
func TestMovedTagStays(t *testing.T) {
	t.Parallel()
	w := vanishing(t)
	c := w.repos["catalog"]
	was := strings.TrimSpace(c.Git(t, "rev-parse", "dep/v1.0.0"))
	files := packageWith("dep", "  version: 1.0.0\n")
	files["dep/cm.yaml"] = dbMap
	c.Git(t, "tag", "-f", "dep/v1.0.0", c.Commit(t, "main", "moved", files))
	for _, command := range []string{"plan", "apply"} {
		w.forgetWarnings()
		r := w.mustRun(0, command)
		w.contains(r.err, "dep 1.0.0 is locked in target c1 as git:"+was+" and is now git:", "--upgrade dep@1.0.0, or the newest version with --upgrade dep")
	}
	if got := w.repos["c1"].Git(t, "branch", "--list", "drafts/*"); got != "" {
		t.Errorf("there are Drafts: %s", got)
	}
	w.lacks(w.mustRun(0, "apply", "--upgrade", "dep@1.0.0").err, "is locked in target")
	w.contains(w.repos["c1"].Git(t, "show", "drafts/dep/packagevariant-2:dep/Kptfile"), "ref: dep/v1.0.0")
	w.contains(w.repos["c1"].Git(t, "show", "drafts/dep/packagevariant-2:dep/cm.yaml"), "kind: ConfigMap")
	w.contains(w.repos["c1"].Git(t, "show", "drafts/variform-lock/packagevariant-2:variform-lock/lock.yaml"), "version: 1.0.0")
}

// A name that nothing has is no upgrade.
func TestUpgradeOfNothing(t *testing.T) {
	t.Parallel()
	w := vanishing(t)
	for name, want := range map[string]string{
		"nosuch":    "--upgrade nosuch: no package is called nosuch: there are app, dep",
		"c*":        "--upgrade c*: patterns mean nothing: give names, or * alone for all",
		"dep@3.0.0": "--upgrade dep@3.0.0: no source has version 3.0.0 of dep",
	} {
		w.contains(w.mustRun(1, "plan", "--upgrade", name).err, want)
	}
	w.contains(w.mustRun(0, "plan", "--upgrade", "dep@1.1.0").out, "dep")
	w.mustRun(0, "plan", "--upgrade", "*")
}

// Status --exit-code exits with 3 while apply or a person has something to do.
func TestStatusExitCode(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1")
	w.write("sets/one.yaml", listSet("one", "web", "v1", "c1", "a", "b"))
	w.mustRun(3, "status", "--exit-code")
	w.mustRun(0, "status")
	w.mustRun(0, "apply")
	w.contains(w.mustRun(3, "status", "--exit-code").out, "2 variants wait for review.", "next: variform review -f "+w.fleet())
	w.mustRun(0, "approve", "c1/a")
	w.mustRun(3, "status", "--exit-code")
	w.mustRun(0, "approve", "c1/b")
	w.contains(w.mustRun(0, "status", "--exit-code").out, "Everything is live at what the fleet asks for.")
	w.write("sets/one.yaml", listSet("one", "web", "v9", "c1", "a", "b"))
	w.mustRun(1, "status", "--exit-code")
}

// Outdated lists the sets and variants that pin an older revision of their upstream,
// with or without dependencies in the fleet.
func TestOutdatedSets(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1", "c2")
	w.write("sets/one.yaml", listSet("one", "web", "v1", "c1", "a"))
	w.write("sets/two.yaml", listSet("two", "web", "v1", "c2", "a", "b"))
	w.contains(w.mustRun(0, "outdated").out, "Every set, variant and package has its newest version.")
	w.publishWeb(webV2, "v2")
	w.write("sets/three.yaml", strings.Replace(listSet("three", "web", "v1", "c1", "follows"), `, revision: "v1"`, "", 1))
	out := w.mustRun(0, "outdated").out
	want := [][]string{{"one", "catalog/web", "web/v1", "web/v2", "1", "c1/a"}, {"two", "catalog/web", "web/v1", "web/v2", "2", "c2/a,", "c2/b"}}
	var got [][]string
	for line := range strings.Lines(out) {
		if f := strings.Fields(line); f[0] != "SET" {
			got = append(got, f)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("outdated (-want +got):\n%s", diff)
	}
	r := w.mustRun(1, "plan", "--upgrade", "nosuch")
	w.contains(r.err, "--upgrade nosuch: no variant of this fleet needs a package: to update a set, change the revision of its upstream")
}
