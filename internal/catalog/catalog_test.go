package catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/variform/variform/api"
	configv1alpha1 "github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/internal/depend"
	"github.com/variform/variform/internal/gitrepo"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/ocirepo"
	"github.com/variform/variform/resolver"
	"github.com/variform/variform/test/gittest"
)

// manifest is a PackageManifest with some of its spec.
func manifest(name, spec string) string {
	return "apiVersion: variform.dev/v1alpha1\nkind: PackageManifest\nmetadata: {name: " + name + ", labels: {team: a}}\nspec: {" + spec + "}\n"
}

func kptfile(name, more string) string {
	return "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: " + name + "\n" + more
}

// gitCatalog is a Catalog with one source in Git.
func gitCatalog(url, dir string, packages ...string) *v1alpha1.Catalog {
	c := &v1alpha1.Catalog{Spec: v1alpha1.CatalogSpec{Sources: []v1alpha1.CatalogSource{
		{Git: &v1alpha1.GitSource{Repo: url, Directory: dir}, Packages: packages},
	}}}
	c.Name = "main"
	return c
}

// listed are entries as "package version tag".
func listed(entries []Entry) []string {
	var out []string
	for _, e := range entries {
		out = append(out, e.Package.Package+" "+e.Version+" "+e.Tag)
	}
	return out
}

func messages(errs []error) string {
	var out []string
	for _, err := range errs {
		out = append(out, err.Error())
	}
	return strings.Join(out, "\n")
}

// TestReadGit: the versions that tags name, and what is wrong with each.
func TestReadGit(t *testing.T) {
	gittest.RequireGit(t)
	repo := gittest.NewRepo(t)
	info := "info:\n  keywords: [web, front]\n  description: serves\n"
	first := repo.Commit(t, "main", "one", gittest.Text{
		"lib/web/Kptfile": kptfile("web", info), "lib/web/package.yaml": manifest("web", "version: 1.0.0"),
		"lib/db/Kptfile": kptfile("db", ""), "other/x/Kptfile": kptfile("x", ""),
	})
	second := repo.Commit(t, "main", "two", gittest.Text{
		"lib/web/Kptfile": kptfile("web", info), "lib/web/package.yaml": manifest("web", "provides: [{interface: {id: http}}]"),
		"lib/bad/Kptfile": kptfile("bad", ""), "lib/bad/package.yaml": manifest("another", "version: 1.0.0"),
		"lib/worse/Kptfile": "a: [\n", "lib/kind/Kptfile": kptfile("kind", ""), "lib/kind/package.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: kind}\n",
		"lib/mistake/Kptfile": kptfile("mistake", ""), "lib/mistake/package.yaml": manifest("mistake", "versions: 1"),
		"lib/slip/Kptfile": kptfile("slip", ""), "lib/slip/package.yaml": manifest("slip", "version: 1.0.0"), "lib/cal/Kptfile": kptfile("cal", ""),
		"lib/own/Kptfile": kptfile("own", ""), "lib/own/package.yaml": manifest("own", "version: 1.2.3"),
	})
	for tag, commit := range map[string]string{
		"lib/web/v1": first, "lib/web/v1.1.0": second, "lib/web/v2.0.0-rc.1": second, "lib/web/stable": second, "lib/web/v1.2": second,
		"lib/db/v3": first, "other/x/v1": first, "lib/bad/v1": second, "lib/worse/v1": second, "lib/kind/v1": second, "lib/mistake/v1": second, "lib/gone/v1": first,
		"lib/slip/v1.0.1": second, "lib/own/v7": second, "chart-4.11.3": second,
		"lib/cal/2024.01.15": second, "lib/cal/v1.02.3": second, "lib/cal/v1.0.0-01": second, "lib/cal/v1.0.0-": second,
	} {
		repo.Tag(t, tag, commit)
	}
	r := Reader{Git: gitrepo.NewStore(gitrepo.Options{})}
	content := r.Read(context.Background(), []*v1alpha1.Catalog{gitCatalog(repo.Dir, "/lib/"), gitCatalog(repo.Dir, "lib")})
	entries, problems := content.Entries, content.Problems
	want := []string{"db 3.0.0 lib/db/v3", "own 1.2.3 lib/own/v7", "web 1.0.0 lib/web/v1", "web 1.1.0 lib/web/v1.1.0", "web 2.0.0-rc.1 lib/web/v2.0.0-rc.1"}
	got := listed(entries)
	slices.Sort(got)
	got = slices.Compact(got) // two Catalogs have the source
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
	said := depend.Warnings(content.Unusable)
	text := strings.Join(said, "\n")
	for _, part := range []string{
		`tag lib/bad/v1: lib/bad/package.yaml:3: metadata.name is "another" and the tag's package "bad": nothing could tell which is needed (hint: name both alike, and publish a new tag)`,
		"tag lib/worse/v1: Kptfile: ", "tag lib/kind/v1: ", "tag lib/mistake/v1: ", `tag lib/gone/v1: its commit has no folder "lib/gone"`,
		"tag lib/slip/v1.0.1: lib/slip/package.yaml:4: spec.version is 1.0.0 and the tag says 1.0.1: nothing could tell which it is (hint: correct the manifest, or leave its version out, and publish a new tag)",
		"passed over what is no semantic version: lib/cal/2024.01.15, lib/cal/v1.0.0-, lib/cal/v1.0.0-01 and 1 more (a version is vN",
	} {
		if !strings.Contains(text, part) {
			t.Errorf("warnings lack %q:\n%s", part, text)
		}
	}
	if len(problems) != 0 || len(said) != 7 {
		t.Errorf("problems %v, warnings:\n%s", problems, text)
	}
	var passed []string
	for _, e := range content.Unusable {
		if e.Why == "" && e.Package != "cal" {
			passed = append(passed, e.Package+" "+e.Tag)
		}
	}
	if diff := cmp.Diff([]string{"chart chart-4.11.3", "web lib/web/stable", "web lib/web/v1.2"}, passed); diff != "" {
		t.Errorf("passed over (-want +got):\n%s", diff)
	}
	for _, e := range entries {
		if e.Package.Package != "web" {
			continue
		}
		if diff := cmp.Diff([]string{"web", "front"}, e.Keywords); diff != "" || e.Description != "serves" || e.Labels["team"] != "a" || e.Catalog != "main" {
			t.Errorf("%s: %+v %s", e.Tag, e, diff)
		}
		if e.Source == "" || !strings.HasPrefix(e.Digest, "git:") || (len(e.Provides) == 1) == (e.Tag == "lib/web/v1") {
			t.Errorf("%s: source %q, digest %q, provides %v", e.Tag, e.Source, e.Digest, e.Provides)
		}
	}
}

// TestDoubled: one version with two contents is nobody's, one in two places is had
// once.
func TestDoubled(t *testing.T) {
	gittest.RequireGit(t)
	var catalogs []*v1alpha1.Catalog
	for i, text := range []string{"one", "two"} {
		repo := gittest.NewRepo(t)
		c := repo.Commit(t, "main", text, gittest.Text{"a/Kptfile": kptfile("a", "info: {description: "+text+"}\n"), "b/Kptfile": kptfile("b", "")})
		repo.Tag(t, "a/v1.0.0", c)
		if repo.Tag(t, "b/v1.1.0", c); i == 0 {
			repo.Tag(t, "b/v1.0.0", c)
			repo.Tag(t, "a/v1.1.0", c)
		}
		catalogs = append(catalogs, gitCatalog(repo.Dir, ""))
	}
	content := Reader{Git: gitrepo.NewStore(gitrepo.Options{})}.Read(context.Background(), append(catalogs, catalogs[0]))
	if diff := cmp.Diff([]string{"a 1.1.0 a/v1.1.0", "a 1.1.0 a/v1.1.0", "b 1.0.0 b/v1.0.0", "b 1.0.0 b/v1.0.0"}, listed(content.Entries)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	said := depend.Warnings(content.Unusable)
	if len(said) != 2 || !strings.Contains(said[0], "version 1.0.0 of package a is there twice, as tag a/v1.0.0 of "+catalogs[0].Spec.Sources[0].Git.Repo) ||
		!strings.Contains(said[0], "tag a/v1.0.0 of "+catalogs[1].Spec.Sources[0].Git.Repo) || !strings.Contains(said[1], "version 1.1.0 of package b") {
		t.Errorf("got %q", said)
	}
}

// TestReadSomePackages: only those that the source lists; that one has no tag is
// said.
func TestReadSomePackages(t *testing.T) {
	gittest.RequireGit(t)
	repo := gittest.NewRepo(t)
	c := repo.Commit(t, "main", "one", gittest.Text{"a/Kptfile": kptfile("a", ""), "b/Kptfile": kptfile("b", ""), "team/c/Kptfile": kptfile("c", "")})
	for _, tag := range []string{"a/v1", "b/v1", "team/c/v1"} {
		repo.Tag(t, tag, c)
	}
	r := Reader{Git: gitrepo.NewStore(gitrepo.Options{})}
	cases := map[string]struct {
		dir      string
		packages []string
		want     []string
		problem  string
	}{
		"all":             {"", nil, []string{"a 1.0.0 a/v1", "b 1.0.0 b/v1", "team/c 1.0.0 team/c/v1"}, ""},
		"one":             {"", []string{"b"}, []string{"b 1.0.0 b/v1"}, ""},
		"one of a folder": {"team", []string{"c"}, []string{"c 1.0.0 team/c/v1"}, ""},
		"none such":       {"team", []string{"d"}, nil, `package d: it has no tag team/d/v1 or team/d/v1.0.0`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			content := r.Read(context.Background(), []*v1alpha1.Catalog{gitCatalog(repo.Dir, tc.dir, tc.packages...)})
			if diff := cmp.Diff(tc.want, listed(content.Entries)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if text := strings.Join(depend.Warnings(content.Unusable), "\n"); (text == "") != (tc.problem == "") || !strings.Contains(text, tc.problem) || content.Problems != nil {
				t.Errorf("problems: %s", text)
			}
		})
	}
}

// TestSourcesThatFail: one that cannot be read is named, the others are read.
func TestSourcesThatFail(t *testing.T) {
	gittest.RequireGit(t)
	repo := gittest.NewRepo(t)
	repo.Tag(t, "a/v1", repo.Commit(t, "main", "one", gittest.Text{"a/Kptfile": kptfile("a", "")}))
	gone := gitCatalog(t.TempDir()+"/none", "")
	gone.Name = "gone"
	image := &v1alpha1.Catalog{Spec: v1alpha1.CatalogSpec{Sources: []v1alpha1.CatalogSource{{OCI: &v1alpha1.OCISource{Repository: "registry.example.com/x"}}}}}
	image.Name = "image"
	r := Reader{Git: gitrepo.NewStore(gitrepo.Options{})}
	content := r.Read(context.Background(), []*v1alpha1.Catalog{gone, image, gitCatalog(repo.Dir, "")})
	entries, problems := content.Entries, content.Problems
	if diff := cmp.Diff([]string{"a 1.0.0 a/v1"}, listed(entries)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	text := messages(problems)
	if len(problems) != 2 || !strings.Contains(text, "Catalog gone: source ") || !strings.Contains(text, "Catalog image: source registry.example.com/x: no registries are read here") {
		t.Errorf("problems: %s", text)
	}
	r.OCI = ocirepo.NewStore(ocirepo.Options{})
	image.Spec.Sources[0].OCI.Repository = "not a name"
	if problems = r.Read(context.Background(), []*v1alpha1.Catalog{image}).Problems; len(problems) != 1 || !strings.Contains(problems[0].Error(), "not a name") {
		t.Errorf("problems: %v", problems)
	}
}

// imageAt is a revision of a registry, by its number or its version.
func imageAt[T int | string](v T) ocirepo.Resolved {
	var r ocirepo.Resolved
	switch v := any(v).(type) {
	case int:
		r.Number = v
	case string:
		r.Version = v
	}
	return r
}

// TestImageEntries: a version in a registry, by its tag, its manifest and its
// Kptfile.
func TestImageEntries(t *testing.T) {
	xpkg := "apiVersion: meta.pkg.crossplane.io/v1\nkind: Provider\nmetadata: {name: provider-x}\nspec: {dependsOn: [{provider: xpkg.example.com/y, version: '>=v1.0.0'}]}\n"
	cases := map[string]struct {
		in       ocirepo.RevisionManifest
		version  string
		want     string // part of the error
		requires int
	}{
		"a number":           {ocirepo.RevisionManifest{Resolved: imageAt(3)}, "3.0.0", "", 0},
		"a version":          {ocirepo.RevisionManifest{Resolved: imageAt("1.2.3")}, "1.2.3", "", 0},
		"another version":    {ocirepo.RevisionManifest{Resolved: imageAt("1.2.3"), Data: []byte(manifest("web", "version: 1.2.2"))}, "", "spec.version is 1.2.2 and the tag says 1.2.3", 0},
		"a number's":         {ocirepo.RevisionManifest{Resolved: imageAt(3), Data: []byte(manifest("web", "version: 1.2.2"))}, "1.2.2", "", 0},
		"a manifest":         {ocirepo.RevisionManifest{Resolved: imageAt("1.2.3"), Data: []byte(manifest("web", "requires: [{alias: d, package: db}]"))}, "1.2.3", "", 1},
		"another's":          {ocirepo.RevisionManifest{Resolved: imageAt("1.2.3"), Data: []byte(manifest("other", ""))}, "", `metadata.name is "other"`, 0},
		"unreadable":         {ocirepo.RevisionManifest{Err: errors.New("broken layer")}, "", "broken layer", 0},
		"a bad Kptfile":      {ocirepo.RevisionManifest{Resolved: imageAt("1.2.3"), Kptfile: []byte("a: [")}, "", "Kptfile", 0},
		"a Kptfile":          {ocirepo.RevisionManifest{Resolved: imageAt("1.2.3"), Kptfile: []byte(kptfile("web", "info: {description: d}\n"))}, "1.2.3", "", 0},
		"of Crossplane":      {ocirepo.RevisionManifest{Resolved: imageAt("1.2.3"), Crossplane: true, Data: []byte(xpkg)}, "1.2.3", "", 1},
		"of Crossplane, two": {ocirepo.RevisionManifest{Resolved: imageAt("1.2.3"), Crossplane: true, Data: []byte(xpkg + "---\n" + strings.Replace(xpkg, "provider-x", "provider-z", 1))}, "", "2 packages", 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e, err := imageEntry("web", &tc.in)
			if tc.want != "" {
				if err == nil || !strings.Contains(err.Error(), tc.want) {
					t.Errorf("got %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if e.Package.Package != "web" || e.Version != tc.version || len(e.Requires) != tc.requires {
				t.Errorf("got %+v", e)
			}
			if name == "a Kptfile" && e.Description != "d" {
				t.Errorf("description %q", e.Description)
			}
		})
	}
}

func entry(name, version string) Entry {
	return Entry{Package: resolver.Package{Package: name, Version: version}}
}

// TestMatch: each field of a query narrows it.
func TestMatch(t *testing.T) {
	e := entry("team/web", "1.0.0")
	e.Labels, e.Keywords = map[string]string{"a": "b", "empty": ""}, []string{"front"}
	e.Provides = []resolver.Provide{{Interface: "http"}}
	cases := map[string]struct {
		q    Query
		want bool
	}{
		"anything":                  {Query{}, true},
		"a label":                   {Query{Labels: map[string]string{"a": "b"}}, true},
		"another value":             {Query{Labels: map[string]string{"a": "c"}}, false},
		"an empty label":            {Query{Labels: map[string]string{"empty": ""}}, true},
		"a label that is not there": {Query{Labels: map[string]string{"none": ""}}, false},
		"one of two labels":         {Query{Labels: map[string]string{"a": "b", "c": "d"}}, false},
		"a part of the name":        {Query{Name: "am/w"}, true},
		"another name":              {Query{Name: "db"}, false},
		"a keyword":                 {Query{Keyword: "front"}, true},
		"a part of a keyword":       {Query{Keyword: "fro"}, false},
		"an interface":              {Query{Interface: "http"}, true},
		"another interface":         {Query{Interface: "sql"}, false},
		"all of it":                 {Query{Labels: map[string]string{"a": "b"}, Name: "web", Keyword: "front", Interface: "http"}, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tc.q.Match(&e); got != tc.want {
				t.Errorf("Match() = %v", got)
			}
		})
	}
}

// TestNewest: releases before prereleases, by number and not by text.
func TestNewest(t *testing.T) {
	cases := map[string]struct {
		versions []string
		want     string
	}{
		"numbers":                {[]string{"1.9.0", "1.10.0", "1.2.0"}, "1.10.0"},
		"a release is newer":     {[]string{"1.0.0", "2.0.0-rc.1"}, "1.0.0"},
		"prereleases among them": {[]string{"2.0.0-rc.1", "2.0.0-rc.2", "1.0.0-a"}, "2.0.0-rc.2"},
		"as it is written":       {[]string{"v1.0.0"}, "v1.0.0"},
		"what is no version":     {[]string{"one", "0.1.0"}, "0.1.0"},
		"none":                   {nil, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			entries := []Entry{entry("other", "9.0.0")}
			for _, v := range tc.versions {
				entries = append(entries, entry("web", v))
			}
			if got := Newest(entries, "web"); got != tc.want {
				t.Errorf("Newest() = %q, want %q", got, tc.want)
			}
		})
	}
}

func TestNewer(t *testing.T) {
	for pair, want := range map[[2]string]bool{
		{"1.10.0", "1.9.0"}: true, {"1.0.0", "1.4.0"}: false, {"1.0.0", "1.0.0"}: false, {"1.0.0", "2.0.0-rc.1"}: true, {"1.0.0", ""}: false, {"", "1.0.0"}: false,
	} {
		if got := Newer(pair[0], pair[1]); got != want {
			t.Errorf("Newer(%q, %q) = %t", pair[0], pair[1], got)
		}
	}
}

func installation(name, target, pkg string) *v1alpha1.Installation {
	i := &v1alpha1.Installation{Spec: v1alpha1.InstallationSpec{Target: target, Package: pkg}}
	i.Name = name
	return i
}

func wanted() *Wanted {
	app := entry("app", "1.0.0")
	app.Requires = []resolver.Requirement{{Alias: "db", Package: "db"}}
	return &Wanted{
		Documents: depend.Documents{Installations: []*v1alpha1.Installation{installation("app", "c1", "app"), installation("db", "c2", "db"), installation("no", "c3", "nosuch")}},
		Content:   Content{Entries: []Entry{app, entry("db", "1.0.0"), entry("db", "1.1.0")}},
	}
}

// TestResolve: each target by itself, in order; a conflict is its own.
func TestResolve(t *testing.T) {
	resolve := func(ctx context.Context, w *Wanted, only ...string) ([]Target, error) {
		some, err := w.Without(nil, only)
		if err != nil {
			return nil, err
		}
		return w.Resolve(ctx, 0, some...)
	}
	targets, err := resolve(context.Background(), wanted())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i := range targets {
		line := targets[i].Name
		if targets[i].Err != nil {
			got = append(got, line+" fails")
			continue
		}
		for _, in := range targets[i].Resolution.Instances {
			line += " " + in.Package + "@" + in.Version
		}
		if targets[i].Lock == nil || targets[i].Lock.Spec.Target != targets[i].Name {
			t.Errorf("%s: lock %+v", targets[i].Name, targets[i].Lock)
		}
		got = append(got, line)
	}
	if diff := cmp.Diff([]string{"c1 app@1.0.0 db@1.1.0", "c2 db@1.1.0", "c3 fails"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := resolve(context.Background(), wanted(), "c9"); !errors.Is(err, ErrNoTarget) || !strings.Contains(err.Error(), `"c1"`) {
		t.Errorf("no such target: %v", err)
	}
	one, err := resolve(context.Background(), wanted(), "c2")
	if err != nil || len(one) != 1 || one[0].Name != "c2" {
		t.Errorf("one target: %v, %v", one, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := resolve(ctx, wanted()); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped: %v", err)
	}
	var alone []string
	for _, n := range []int{0, 2} {
		targets[n].Alone(t.Context(), func(w resolver.Request, names []string, res *resolver.Resolution, err error) {
			alone = append(alone, fmt.Sprint(w.Ref(), names, res != nil, err != nil))
		})
	}
	if diff := cmp.Diff([]string{"app[app] true false", "no[no] false true"}, alone); diff != "" {
		t.Errorf("alone (-want +got):\n%s", diff)
	}
}

// only is a target by its name.
func only(t *testing.T, w *Wanted, name string) *depend.Target {
	t.Helper()
	some, err := w.Without(nil, []string{name})
	if err != nil {
		t.Fatal(err)
	}
	return some[0]
}

// TestLocks: a target's own lock counts, and only one may be there.
func TestLocks(t *testing.T) {
	lock := func(name, target, version string) *v1alpha1.PackageLock {
		obj, report := api.Parse([]byte("apiVersion: variform.dev/v1alpha1\nkind: PackageLock\nmetadata: {name: " + name + "}\nspec: {target: " + target + ", packages: [{name: db, version: " + version + "}]}\n"))
		l, ok := obj.(*v1alpha1.PackageLock)
		if !ok {
			t.Fatal(report.Err())
		}
		return l
	}
	w := wanted()
	w.Locks = []*v1alpha1.PackageLock{lock("other", "c1", "1.1.0"), lock("mine", "c2", "1.0.0")}
	targets, err := w.Resolve(context.Background(), 1, only(t, w, "c2"))
	if err != nil || targets[0].Err != nil || targets[0].Resolution.Instances[0].Version != "1.0.0" {
		t.Errorf("what is locked stays: %+v, %v", targets, err)
	}
	w = wanted()
	w.Locks = []*v1alpha1.PackageLock{lock("one", "c2", "1.0.0"), lock("two", "c2", "1.1.0")}
	if targets, err = w.Resolve(context.Background(), 1, only(t, w, "c2")); err != nil || targets[0].Err == nil || !strings.Contains(targets[0].Err.Error(), "2 PackageLocks (one, two)") {
		t.Errorf("two locks: %+v, %v", targets, err)
	}
}

// TestWithout: the targets that only Installations name.
func TestWithout(t *testing.T) {
	w := wanted()
	w.Installations = append(w.Installations, installation("f", "c4/apps", "db"), installation("any", "", "db"))
	registered := &configv1alpha1.Repository{}
	registered.Name, registered.Namespace = "c1", "default"
	w.Repositories = append(w.Repositories, registered)
	cases := map[string]struct {
		known, named []string
		want         []string
		fails        bool
	}{
		"nothing is known":      {nil, nil, []string{"c2", "c3", "c4"}, false},
		"some are":              {[]string{"c1", "x"}, nil, []string{"c2", "c3", "c4"}, false},
		"of those named":        {[]string{"c1"}, []string{"c1", "c3"}, []string{"c3"}, false},
		"a registered, broken":  {nil, []string{"c1"}, []string{}, false},
		"one that is not there": {[]string{"c1"}, []string{"c9"}, nil, true},
		"one that is known":     {[]string{"x"}, []string{"x"}, []string{}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var known []Target
			for _, n := range tc.known {
				known = append(known, Target{Name: n})
			}
			left, err := w.Without(known, tc.named)
			got := namesOf(left)
			if (err != nil) != tc.fails || tc.fails && !errors.Is(err, ErrNoTarget) {
				t.Fatalf("got %v", err)
			}
			if diff := cmp.Diff(tc.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if got := Named([]Target{{Name: "a"}, {Name: "b"}, {Name: "c"}}, []string{"c", "a"}); len(got) != 2 || got[0].Name != "a" || got[1].Name != "c" {
		t.Errorf("Named: %v", got)
	}
	if got := Named([]Target{{Name: "a"}, {Name: "b"}}, nil); len(got) != 2 {
		t.Errorf("Named, none: %v", got)
	}
}

// TestFromAnswer: an answer as a target.
func TestFromAnswer(t *testing.T) {
	failed := errors.New("failed")
	lock, res := &v1alpha1.PackageLock{}, &resolver.Resolution{}
	cases := map[string]struct {
		a    *depend.Answer
		err  error
		want error
		has  bool
	}{
		"an answer":              {&depend.Answer{Resolution: res, Lock: lock}, nil, nil, true},
		"none":                   {nil, failed, failed, false},
		"one that failed":        {&depend.Answer{Resolution: res, Lock: lock, Err: failed}, nil, failed, false},
		"one that failed, named": {&depend.Answer{Resolution: res, Lock: lock, Err: failed}, errors.New("c1: failed"), failed, false},
		"one with an error":      {&depend.Answer{Resolution: res, Lock: lock}, failed, failed, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := FromAnswer("c1", tc.a, tc.err)
			if got.Name != "c1" || !errors.Is(got.Err, tc.want) || (got.Err == nil) != (tc.want == nil) || (got.Resolution != nil) != tc.has || (got.Lock != nil) != tc.has {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// TestWhy: the instances of a package by its name, within a range.
func TestWhy(t *testing.T) {
	w := wanted()
	targets, err := w.Resolve(context.Background(), 1, only(t, w, "c1"))
	if err != nil {
		t.Fatal(err)
	}
	target := &targets[0]
	cases := map[string]struct {
		pkg, within string
		some, fails bool
	}{
		"it is there":     {"db", "", true, false},
		"in the range":    {"db", "^1", true, false},
		"not in it":       {"db", "^2", false, false},
		"it is not there": {"nosuch", "", false, false},
		"no range":        {"db", "one", false, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			lines, err := target.Why(tc.pkg, tc.within)
			if (err != nil) != tc.fails || (len(lines) > 0) != tc.some {
				t.Errorf("got %q, %v", lines, err)
			}
			if tc.some && !strings.Contains(strings.Join(lines, "\n"), "db") {
				t.Errorf("got %q", lines)
			}
		})
	}
	if lines, err := (&Target{}).Why("db", ""); lines != nil || err != nil {
		t.Errorf("no resolution: %v, %v", lines, err)
	}
	target.Resolution.Instances[1].From = "1.0.0"
	if lines, _ := target.Why("db", "1.0.0"); len(lines) == 0 || lines[len(lines)-1] != "1.0.0 is in place as "+target.Resolution.Instances[1].Ref() {
		t.Errorf("what is in place: %q", lines)
	}
}

// TestSaid: what is the same of several targets is told once.
func TestSaid(t *testing.T) {
	var s Said
	s.Add("a", []string{"x"})
	s.Add("b", []string{"z"})
	s.Add("c", []string{"x"})
	want := Said{[]SaidGroup{{[]string{"a", "c"}, []string{"x"}}, {[]string{"b"}, []string{"z"}}}}
	if diff := cmp.Diff(want, s); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestGraph: nodes and edges of a resolution, and both ways to draw them.
func TestGraph(t *testing.T) {
	w := wanted()
	targets, err := w.Resolve(context.Background(), 1, only(t, w, "c1"))
	if err != nil {
		t.Fatal(err)
	}
	g := targets[0].Graph()
	want := Graph{Target: "c1", Nodes: []Node{{ID: "app", Package: "app", Version: "1.0.0", Asked: true}, {ID: "db", Package: "db", Version: "1.1.0"}}, Edges: []Edge{{"app", "db", "db"}}}
	if diff := cmp.Diff(want, g); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	g.Nodes = append(g.Nodes, Node{ID: "n/sql", Package: "pg", Version: "2.0.0", Existing: true}, Node{ID: "n/x", Package: "x", Version: "1"})
	g.Edges = append(g.Edges, Edge{From: "db", To: "n/sql"})
	g.Target = `c"1`
	const dot = `digraph variform {
  rankdir=LR;
  node [shape=box, fontname="sans-serif"];
  subgraph cluster_0 {
    label="c\"1";
    "c\"1:app" [label="app\n1.0.0", style=bold];
    "c\"1:db" [label="db\n1.1.0"];
    "c\"1:n/sql" [label="n/sql\npg\n2.0.0", style=dashed];
    "c\"1:n/x" [label="n/x\n1"];
    "c\"1:app" -> "c\"1:db" [label="db"];
    "c\"1:db" -> "c\"1:n/sql" [label=""];
  }
}
`
	if diff := cmp.Diff(dot, Dot(g)); diff != "" {
		t.Errorf("Dot (-want +got):\n%s", diff)
	}
	const mermaid = `flowchart LR
  subgraph t0["c#quot;1"]
    t0n0[["app<br/>1.0.0"]]
    t0n1["db<br/>1.1.0"]
    t0n2["n/sql<br/>pg<br/>2.0.0"]
    t0n3["n/x<br/>1"]
    t0n0 -- "db" --> t0n1
    t0n1 --> t0n2
  end
  subgraph t1["c2"]
  end
`
	if diff := cmp.Diff(mermaid, Mermaid(g, Graph{Target: "c2"})); diff != "" {
		t.Errorf("Mermaid (-want +got):\n%s", diff)
	}
}

// TestEdit: sources, packages and defaults come and go, and the document keeps
// what it is not about.
func TestEdit(t *testing.T) {
	const head = "# ours\napiVersion: variform.dev/v1alpha1\nkind: Catalog\nmetadata:\n  name: c\n"
	git := func(more string) string {
		return head + "spec:\n  sources:\n  - git:\n      repo: https://git.example/a # why\n" + more
	}
	add, remove := (*Edit).Add, (*Edit).Remove
	cases := map[string]struct {
		have string
		edit Edit
		do   func(*Edit, *v1alpha1.Catalog) error
		want string // "" for an error with text
		text string
	}{
		"add a source":             {git(""), Edit{Git: "https://git.example/b", Directory: "d"}, add, git("  - git:\n      repo: https://git.example/b\n      directory: d\n"), ""},
		"add a registry":           {git(""), Edit{OCI: "reg.example/x"}, add, git("  - oci:\n      repository: reg.example/x\n"), ""},
		"add a folder of one":      {git(""), Edit{Git: "https://git.example/a", Directory: "d", Packages: []string{"p"}}, add, git("  - git:\n      repo: https://git.example/a\n      directory: d\n    packages:\n    - p\n"), ""},
		"add packages":             {git("    packages:\n    - p # first\n"), Edit{Git: "https://git.example/a", Packages: []string{"p", "q"}}, add, git("    packages:\n    - p # first\n    - q\n"), ""},
		"add packages to all":      {git(""), Edit{Git: "https://git.example/a", Packages: []string{"p"}}, add, git(""), ""},
		"add all":                  {git("    packages:\n    - p\n"), Edit{Git: "https://git.example/a"}, add, git(""), ""},
		"add a default":            {git(""), Edit{Interface: "sql", Packages: []string{"pg"}}, add, git("  defaults:\n    sql: pg\n"), ""},
		"change a default":         {git("  defaults:\n    sql: pg # ours\n"), Edit{Interface: "sql", Packages: []string{"my"}}, add, git("  defaults:\n    sql: my # ours\n"), ""},
		"a default and a source":   {git(""), Edit{Interface: "sql", Packages: []string{"pg"}, OCI: "reg.example/x"}, add, git("  - oci:\n      repository: reg.example/x\n    packages:\n    - pg\n  defaults:\n    sql: pg\n"), ""},
		"a default of none":        {git(""), Edit{Interface: "sql"}, add, "", "--interface needs the one package"},
		"a default of two":         {git(""), Edit{Interface: "sql", Packages: []string{"a", "b"}}, add, "", "--interface needs the one package"},
		"nothing to add":           {git(""), Edit{Packages: []string{"a"}}, add, "", "give the source as --git or as --oci"},
		"two sources at once":      {git(""), Edit{Git: "a", OCI: "b"}, add, "", "give the source as --git or as --oci"},
		"remove the source":        {git("  - oci:\n      repository: reg.example/x\n"), Edit{OCI: "reg.example/x"}, remove, git(""), ""},
		"remove a package":         {git("    packages:\n    - p\n    - q # stays\n"), Edit{Git: "https://git.example/a", Packages: []string{"p"}}, remove, git("    packages:\n    - q # stays\n"), ""},
		"remove the last one":      {git("    packages:\n    - p\n  - oci:\n      repository: r\n"), Edit{Git: "https://git.example/a", Packages: []string{"p"}}, remove, head + "spec:\n  sources:\n  - oci:\n      repository: r\n", ""},
		"remove a default":         {git("  defaults:\n    sql: pg\n    http: web\n"), Edit{Interface: "sql"}, remove, git("  defaults:\n    http: web\n"), ""},
		"remove what is not there": {git(""), Edit{Git: "https://git.example/z"}, remove, "", "Catalog c has no source https://git.example/z"},
		"another folder":           {git(""), Edit{Git: "https://git.example/a", Directory: "d"}, remove, "", "Catalog c has no source"},
		"remove no default":        {git(""), Edit{Interface: "sql"}, remove, "", "Catalog c has no default implementation of sql"},
		"remove no package":        {git("    packages:\n    - p\n"), Edit{Git: "https://git.example/a", Packages: []string{"q"}}, remove, "", "does not list package q"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p, err := krm.Parse([]krm.File{{Path: "c.yaml", Data: []byte(tc.have)}})
			if err != nil {
				t.Fatal(err)
			}
			r := p.Resources()[0]
			obj, report := api.ParseNode(r.Node())
			c, ok := obj.(*v1alpha1.Catalog)
			if !ok {
				t.Fatal(report.Err())
			}
			err = tc.do(&tc.edit, c)
			if tc.want == "" {
				if err == nil || !strings.Contains(err.Error(), tc.text) {
					t.Errorf("got %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := Write(r, c); err != nil {
				t.Fatal(err)
			}
			got, _ := p.Read("c.yaml")
			if diff := cmp.Diff(tc.want, string(got.Data)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestWriteAnEmptyCatalog: one that lost its last source keeps a spec.
func TestWriteAnEmptyCatalog(t *testing.T) {
	p, err := krm.Parse([]krm.File{{Path: "c.yaml", Data: []byte("apiVersion: variform.dev/v1alpha1\nkind: Catalog\nmetadata:\n  name: c\nspec:\n  sources:\n  - oci:\n      repository: r\n")}})
	if err != nil {
		t.Fatal(err)
	}
	c := &v1alpha1.Catalog{}
	c.APIVersion, c.Kind, c.Name = v1alpha1.APIVersion, "Catalog", "c"
	if err := Write(p.Resources()[0], c); err != nil {
		t.Fatal(err)
	}
	got, _ := p.Read("c.yaml")
	if want := "apiVersion: variform.dev/v1alpha1\nkind: Catalog\nmetadata:\n  name: c\nspec: {}\n"; string(got.Data) != want {
		t.Errorf("got %s", got.Data)
	}
}
