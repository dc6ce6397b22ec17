package fleet

import (
	"bytes"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/Masterminds/semver/v3"
	"sigs.k8s.io/yaml"

	"github.com/variform/variform/test/gittest"
)

// This checker of locks shares no code with the resolver: it reads lock.yaml
// and the manifests as plain YAML out of Git and looks whether all that is
// needed is there, and nothing else.

type lockDoc struct {
	Spec struct {
		Target                    string
		Packages                  []lockedPackage
		CustomResourceDefinitions map[string]string
		Plan                      [][]string
	}
}

type lockedPackage struct {
	Name, Namespace, Package, Version, Source, Digest string
	Dependencies                                      []lockedEdge
}

type lockedEdge struct{ Namespace, Name string }

func (p *lockedPackage) ref() string { return path.Join(p.Namespace, p.Name) }

func (p *lockedPackage) pkg() string {
	if p.Package == "" {
		return p.Name
	}
	return p.Package
}

// find is the instance of a name, nil for none.
func (l *lockDoc) find(namespace, name string) *lockedPackage {
	for i := range l.Spec.Packages {
		if p := &l.Spec.Packages[i]; p.Namespace == namespace && p.Name == name {
			return p
		}
	}
	return nil
}

type api struct{ APIVersion, Kind string }

type requirement struct {
	Alias, Package, Version string
	Interface               *struct{ ID string }
	GVK                     *api
	Platform                *struct{ Name, Version string }
	AnyOf                   []requirement
}

type manifest struct {
	Spec struct {
		Scope    string
		Provides []struct{ Interface *struct{ ID string } }
		Requires []requirement
	}
	crds []api
	// commit and source are where it comes from.
	commit, source string
}

func (m *manifest) provides(id string) bool {
	for _, p := range m.Spec.Provides {
		if p.Interface != nil && p.Interface.ID == id {
			return true
		}
	}
	return false
}

// ground is what a lock is judged against.
type ground struct {
	target   string
	catalog  map[string]*manifest // by "package version"
	existing map[string]*manifest // by path below the target
	found    map[string]string    // "package version" of the existing, by path
	platform map[string]string
	wants    map[string]string // package by path, of the sets
	asks     map[string]string // range by package, of Installations
	ingress  string            // the package chosen for it
}

// problems lists what is wrong with a lock.
func (g *ground) problems(l *lockDoc) []string {
	var out []string
	bad := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if l.Spec.Target != g.target {
		bad("it is for target %q, want %q", l.Spec.Target, g.target)
	}
	type instance struct {
		*lockedPackage
		m *manifest
	}
	all := map[string]*instance{}
	for i := range l.Spec.Packages {
		p := &l.Spec.Packages[i]
		if all[p.ref()] != nil {
			bad("%s is there twice", p.ref())
			continue
		}
		m := g.existing[p.ref()]
		switch {
		case m == nil:
			if m = g.catalog[p.pkg()+" "+p.Version]; m == nil {
				bad("%s: nothing has %s %s", p.ref(), p.pkg(), p.Version)
				continue
			}
			if p.Source != m.source {
				bad("%s: source %q, want %q", p.ref(), p.Source, m.source)
			}
		case g.found[p.ref()] != p.pkg()+" "+p.Version:
			bad("%s: it is said to be %s %s, and there is %s", p.ref(), p.pkg(), p.Version, g.found[p.ref()])
		}
		if p.Digest != "git:"+m.commit {
			bad("%s: digest %q, want that of its tag, git:%s", p.ref(), p.Digest, m.commit)
		}
		all[p.ref()] = &instance{p, m}
	}
	refs := slices.Sorted(maps.Keys(all))

	// What is named as a dependency is there, seen from where it is needed.
	depends := map[string][]*instance{}
	for _, ref := range refs {
		for _, edge := range all[ref].Dependencies {
			name := path.Join(edge.Namespace, edge.Name)
			d := all[name]
			switch {
			case d == nil:
				bad("%s: its dependency %s is not there", ref, name)
				continue
			case d.Namespace != "" && d.Namespace != all[ref].Namespace && d.m.Spec.Scope != "Cluster":
				bad("%s: its dependency %s is in another namespace", ref, name)
			}
			depends[ref] = append(depends[ref], d)
		}
	}

	// Requirements, and what only they explain.
	for _, ref := range refs {
		explained := map[string]bool{}
		var met func(r requirement) bool
		met = func(r requirement) bool {
			switch {
			case len(r.AnyOf) > 0:
				return slices.ContainsFunc(r.AnyOf, met)
			case r.Platform != nil:
				return within(g.platform[r.Platform.Name], r.Platform.Version)
			case r.GVK != nil:
				for _, o := range refs {
					if slices.Contains(all[o].m.crds, *r.GVK) {
						explained[o] = true
						return true
					}
				}
				for _, m := range g.existing {
					if slices.Contains(m.crds, *r.GVK) {
						return true
					}
				}
				return false
			}
			for _, d := range depends[ref] {
				if r.Interface != nil && !d.m.provides(r.Interface.ID) || r.Interface == nil && d.pkg() != r.Package {
					continue
				}
				if r.Version != "" && !within(d.Version, r.Version) {
					continue
				}
				if r.Interface != nil && r.Interface.ID == ingress && d.pkg() != g.ingress {
					continue
				}
				explained[d.ref()] = true
				return true
			}
			return false
		}
		for _, r := range all[ref].m.Spec.Requires {
			if !met(r) {
				bad("%s %s: its requirement %s is not met", ref, all[ref].Version, r.Alias)
			}
		}
		for _, d := range depends[ref] {
			if !explained[d.ref()] && g.existing[ref] == nil {
				bad("%s: nothing in it requires %s", ref, d.ref())
			}
		}
	}

	// What was asked for, and all that it leads to.
	needed := map[string]bool{}
	var need func(ref string)
	need = func(ref string) {
		if !needed[ref] {
			needed[ref] = true
			for _, d := range depends[ref] {
				need(d.ref())
			}
		}
	}
	for ref, pkg := range g.wants {
		if i := all[ref]; i == nil || i.pkg() != pkg || i.Version != "1.0.0" {
			bad("%s is not there as %s 1.0.0", ref, pkg)
		}
		need(ref)
	}
	for pkg, rang := range g.asks {
		i := slices.IndexFunc(refs, func(ref string) bool {
			return all[ref].pkg() == pkg && within(all[ref].Version, rang) && all[ref].Namespace == ""
		})
		if i < 0 {
			bad("an Installation asks for %s %s, which is not there", pkg, rang)
			continue
		}
		need(refs[i])
	}
	for _, ref := range refs {
		if !needed[ref] {
			bad("%s: nothing needs it", ref)
		}
	}

	// Scopes, and owners of APIs.
	once, owner := map[string]string{}, map[string]string{}
	for _, ref := range refs {
		i := all[ref]
		key := ""
		switch i.m.Spec.Scope {
		case "Cluster":
			key = i.pkg()
		case "Namespace":
			key = i.Namespace + "/" + i.pkg()
		}
		if o := once[key]; key != "" && o != "" {
			bad("%s and %s are both %s, which has scope %s", o, ref, i.pkg(), i.m.Spec.Scope)
		}
		once[key] = ref
		for _, a := range i.m.crds {
			group, _, _ := strings.Cut(a.APIVersion, "/")
			name := group + "/" + a.Kind
			if o := owner[name]; o != "" {
				bad("%s and %s both bring %s", o, ref, name)
			}
			owner[name] = ref
		}
	}
	if !maps.Equal(owner, l.Spec.CustomResourceDefinitions) {
		bad("owners of APIs are %v, want %v", l.Spec.CustomResourceDefinitions, owner)
	}

	// The plan has every one once, after what it depends on.
	wave := map[string]int{}
	for n, refs := range l.Spec.Plan {
		for _, ref := range refs {
			if _, twice := wave[ref]; twice || all[ref] == nil {
				bad("the plan has %s twice, or without its package", ref)
			}
			wave[ref] = n
		}
	}
	for _, ref := range refs {
		if _, ok := wave[ref]; !ok {
			bad("the plan lacks %s", ref)
		}
		for _, d := range depends[ref] {
			if wave[d.ref()] >= wave[ref] {
				bad("the plan has %s not after %s", ref, d.ref())
			}
		}
	}
	return out
}

func within(version, rang string) bool {
	v, err := semver.StrictNewVersion(version)
	if err != nil {
		return false
	}
	c, err := semver.NewConstraint(rang)
	return err == nil && c.Check(v)
}

// objects reads files of a repository, "revision:path" to content; what is not
// there is left out.
func objects(t testing.TB, r *gittest.Repo, names []string) map[string]string {
	t.Helper()
	if len(names) == 0 {
		return nil
	}
	out := gittest.Run(t, r.Dir, []byte(strings.Join(names, "\n")+"\n"), "cat-file", "--batch") + "\n"
	have := map[string]string{}
	for _, name := range names {
		head, rest, _ := strings.Cut(out, "\n")
		if out = rest; strings.HasSuffix(head, " missing") {
			continue
		}
		var size int
		if _, err := fmt.Sscanf(head[strings.LastIndex(head, " ")+1:], "%d", &size); err != nil {
			t.Fatalf("git cat-file says %q of %s", head, name)
		}
		have[name], out = out[:size], out[size+1:]
	}
	return have
}

func readManifest(t testing.TB, files map[string]string, at string) *manifest {
	t.Helper()
	m := &manifest{}
	if err := yaml.Unmarshal([]byte(files[at+"/package.yaml"]), m); err != nil || files[at+"/package.yaml"] == "" {
		t.Fatalf("%s/package.yaml: %v", at, err)
	}
	var crd struct {
		Spec struct {
			Group    string
			Names    struct{ Kind string }
			Versions []struct{ Name string }
		}
	}
	if err := yaml.Unmarshal([]byte(files[at+"/crd.yaml"]), &crd); err != nil {
		t.Fatal(err)
	}
	for _, v := range crd.Spec.Versions {
		m.crds = append(m.crds, api{crd.Spec.Group + "/" + v.Name, crd.Spec.Names.Kind})
	}
	return m
}

// offers reads the manifests of the whole catalogue by its tags.
func (g *generated) offers() map[string]*manifest {
	g.t.Helper()
	var names []string
	refs := g.catalog.Refs(g.t)
	for ref := range refs {
		if tag, ok := strings.CutPrefix(ref, "refs/tags/"); ok {
			for _, f := range []string{"package.yaml", "crd.yaml"} {
				names = append(names, tag+":"+path.Dir(tag)+"/"+f)
			}
		}
	}
	files := objects(g.t, g.catalog, names)
	out := map[string]*manifest{}
	for ref, commit := range refs {
		if tag, ok := strings.CutPrefix(ref, "refs/tags/"); ok {
			m := readManifest(g.t, files, tag+":"+path.Dir(tag))
			m.commit, m.source = commit, g.git.RepoURL("catalog")
			out[path.Dir(tag)+" "+strings.TrimPrefix(path.Base(tag), "v")] = m
		}
	}
	return out
}

// ground reads what a target's lock is to be judged against.
func (g *generated) ground(c *cluster, offers map[string]*manifest) *ground {
	g.t.Helper()
	out := &ground{
		target: c.name(), catalog: offers, existing: map[string]*manifest{}, found: map[string]string{},
		platform: map[string]string{"kubernetes": c.kubernetes}, wants: map[string]string{}, asks: c.asks, ingress: "nginx",
	}
	for pkg, ref := range wants {
		out.wants[ref] = pkg
	}
	if c.traefik {
		out.ingress = "traefik"
	}
	for pkg, version := range c.has {
		at := "refs/tags/" + path.Join(c.dir, pkg) + "/v1:" + path.Join(c.dir, pkg)
		files := objects(g.t, g.repos[c.repo], []string{at + "/package.yaml", at + "/crd.yaml", at + "/Kptfile"})
		m := readManifest(g.t, files, at)
		m.commit = g.origin(files[at+"/Kptfile"]).Commit
		out.existing[pkg], out.found[pkg] = m, pkg+" "+version
	}
	return out
}

// origin is what a Kptfile says the package was made of.
type origin struct{ Commit, Ref string }

func (g *generated) origin(kptfile string) origin {
	g.t.Helper()
	var k struct{ UpstreamLock struct{ Git origin } }
	if err := yaml.Unmarshal([]byte(kptfile), &k); err != nil {
		g.t.Errorf("Kptfile %q: %v", kptfile, err)
	}
	return k.UpstreamLock.Git
}

// check reads the lock of every target from its Draft ("drafts", or where there
// is none, and with "main" always, the registered branch), fails on its
// problems, and compares it with the packages that are beside it.
func (g *generated) check(where string) map[string]*lockDoc {
	g.t.Helper()
	offers := g.offers()
	out := map[string]*lockDoc{}
	var mu sync.Mutex
	each(g.clusters, func(c *cluster) {
		l := g.check1(c, where)
		for _, p := range g.ground(c, offers).problems(l) {
			g.t.Errorf("lock of %s: %s", c.name(), p)
		}
		mu.Lock()
		defer mu.Unlock()
		out[c.name()] = l
	})
	return out
}

// check1 reads one target's lock and compares the packages beside it.
func (g *generated) check1(c *cluster, where string) *lockDoc {
	g.t.Helper()
	r := g.repos[c.repo]
	at := func(pkg string) string { return "refs/heads/main" }
	refs := r.Refs(g.t)
	if where == "drafts" {
		at = func(pkg string) string {
			for n := 9; n > 0; n-- {
				if ref := fmt.Sprintf("refs/heads/drafts/%s/packagevariant-%d", pkg, n); refs[ref] != "" {
					return ref
				}
			}
			return "refs/heads/main"
		}
	}
	pkg := path.Join(c.dir, "variform-lock")
	name := at(pkg) + ":" + pkg + "/lock.yaml"
	l := &lockDoc{}
	text := objects(g.t, r, []string{name})[name]
	if err := yaml.UnmarshalStrict([]byte(text), &struct {
		APIVersion, Kind string
		Metadata         any
		Spec             any
	}{}); err != nil || text == "" {
		g.t.Errorf("lock of %s at %s: %v", c.name(), name, err)
		return l
	}
	if err := yaml.Unmarshal([]byte(text), l); err != nil {
		g.t.Errorf("lock of %s: %v", c.name(), err)
	}

	// Each has its package, made of what is locked; there is no other package.
	var kptfiles []string
	there := map[string]bool{pkg: true}
	for i := range l.Spec.Packages {
		p := path.Join(c.dir, l.Spec.Packages[i].ref())
		there[p] = true
		kptfiles = append(kptfiles, at(p)+":"+p+"/Kptfile")
	}
	have := objects(g.t, r, kptfiles)
	for i, name := range kptfiles {
		p := &l.Spec.Packages[i]
		if c.has[p.ref()] != "" {
			continue
		}
		var k struct {
			UpstreamLock struct{ Git struct{ Commit, Ref string } }
		}
		if err := yaml.Unmarshal([]byte(have[name]), &k); err != nil {
			g.t.Errorf("%s of %s: %v", name, c.name(), err)
		}
		if git := k.UpstreamLock.Git; "git:"+git.Commit != p.Digest || git.Ref != p.pkg()+"/v"+p.Version {
			g.t.Errorf("%s: %s is made of %s at %q, locked is %s %s at %s", c.name(), p.ref(), git.Ref, git.Commit, p.pkg(), p.Version, p.Digest)
		}
	}
	for ref := range refs {
		p, ok := strings.CutPrefix(ref, "refs/heads/drafts/")
		if !ok {
			p, ok = strings.CutPrefix(ref, "refs/tags/")
		}
		if p = path.Dir(p); ok && (c.dir == "" || strings.HasPrefix(p, c.dir+"/")) && !there[p] && c.has[strings.TrimPrefix(strings.TrimPrefix(p, c.dir), "/")] == "" {
			g.t.Errorf("%s has %s, which its lock does not name", c.name(), ref)
		}
	}
	return l
}

// TestChecker breaks a valid lock in every way that the checker looks for.
func TestChecker(t *testing.T) {
	g := newGenerated(t, 10)
	g.run(0, "apply")
	offers, locks := g.offers(), g.check("drafts")
	for name, tc := range map[string]struct {
		target int
		want   string
		broken func(l *lockDoc)
	}{
		"requirement out of range":      {0, "db 1.2.0: its requirement operator is not met", func(l *lockDoc) { g.at(l, "operator", "2.0.0", offers) }},
		"dependency of dependency":      {0, "cache: its dependency storage is not there", func(l *lockDoc) { remove(l, "", "storage") }},
		"platform":                      {0, "certs 1.3.0: its requirement kubernetes is not met", func(l *lockDoc) { g.at(l, "certs", "1.3.0", offers) }},
		"interface":                     {0, "shop 1.0.0: its requirement ingress is not met", func(l *lockDoc) { g.rename(l, "nginx", "traefik", "2.0.0", offers) }},
		"choice of an Installation":     {2, "shop 1.0.0: its requirement ingress is not met", func(l *lockDoc) { g.rename(l, "traefik", "nginx", "1.1.0", offers) }},
		"constraint of an Installation": {5, "an Installation asks for db <1.2.0, which is not there", func(l *lockDoc) { g.at(l, "c-005-db", "1.2.0", offers) }},
		"API":                           {0, "jobs/batch 1.0.0: its requirement databases is not met", func(l *lockDoc) { remove(l, "", "operator") }},
		"unneeded": {0, "extra: nothing needs it", func(l *lockDoc) {
			p := *l.find("", "storage")
			p.Name, p.Package = "extra", "storage"
			l.Spec.Packages = append(l.Spec.Packages, p)
			l.Spec.Plan[0] = append(l.Spec.Plan[0], "extra")
		}},
		"unneeded dependency": {0, "cache: nothing in it requires operator", func(l *lockDoc) {
			p := l.find("", "cache")
			p.Dependencies = append(p.Dependencies, lockedEdge{"", "operator"})
		}},
		"scope": {0, "certs and other are both certs, which has scope Cluster", func(l *lockDoc) {
			p := *l.find("", "certs")
			p.Name, p.Package = "other", "certs"
			l.Spec.Packages = append(l.Spec.Packages, p)
		}},
		"two owners": {0, "certs and other both bring certs.example.com/Certificate", func(l *lockDoc) {
			p := *l.find("", "certs")
			p.Name, p.Package = "other", "certs"
			l.Spec.Packages = append(l.Spec.Packages, p)
		}},
		"namespace": {0, "shop: its dependency jobs/queue is in another namespace", func(l *lockDoc) {
			p := l.find("", "shop")
			p.Dependencies = append(p.Dependencies, lockedEdge{"jobs", "queue"})
		}},
		"owner":      {0, "owners of APIs", func(l *lockDoc) { l.Spec.CustomResourceDefinitions["certs.example.com/Certificate"] = "db" }},
		"no owner":   {0, "owners of APIs", func(l *lockDoc) { delete(l.Spec.CustomResourceDefinitions, "databases.example.com/Database") }},
		"digest":     {0, "db: digest", func(l *lockDoc) { l.find("", "db").Digest = l.find("", "shop").Digest }},
		"existing":   {3, "certs: it is said to be certs 1.1.0", func(l *lockDoc) { g.at(l, "certs", "1.1.0", offers) }},
		"source":     {0, "db: source", func(l *lockDoc) { l.find("", "db").Source += "x" }},
		"version":    {0, "db: nothing has db 1.2.9", func(l *lockDoc) { l.find("", "db").Version = "1.2.9" }},
		"asked for":  {0, "portal is not there", func(l *lockDoc) { remove(l, "", "portal") }},
		"target":     {0, "it is for target", func(l *lockDoc) { l.Spec.Target = "c-999" }},
		"twice":      {0, "db is there twice", func(l *lockDoc) { l.Spec.Packages = append(l.Spec.Packages, *l.find("", "db")) }},
		"plan order": {0, "the plan has db not after operator", func(l *lockDoc) { slices.Reverse(l.Spec.Plan) }},
		"plan lacks": {0, "the plan lacks shop", func(l *lockDoc) {
			l.Spec.Plan = l.Spec.Plan[:len(l.Spec.Plan)-1]
		}},
		"plan twice": {0, "the plan has shop twice", func(l *lockDoc) { l.Spec.Plan = append(l.Spec.Plan, []string{"shop"}) }},
	} {
		t.Run(name, func(t *testing.T) {
			c := g.clusters[tc.target]
			data, err := yaml.Marshal(locks[c.name()])
			l := &lockDoc{}
			if err != nil || yaml.Unmarshal(data, l) != nil {
				t.Fatal("the lock cannot be copied")
			}
			if p := g.ground(c, offers).problems(l); len(p) > 0 {
				t.Fatalf("the lock as it is: %v", p)
			}
			tc.broken(l)
			have := strings.Join(g.ground(c, offers).problems(l), "\n")
			if !strings.Contains(have, tc.want) {
				t.Errorf("the problems lack %q:\n%s\n%s", tc.want, have, bytes.TrimSpace(data))
			}
		})
	}
}

// at puts an instance to another version, with what goes along.
func (g *generated) at(l *lockDoc, name, version string, offers map[string]*manifest) {
	p := l.find("", name)
	p.Version, p.Digest = version, "git:"+offers[p.pkg()+" "+version].commit
}

// rename makes an instance another package's, wherever it is named.
func (g *generated) rename(l *lockDoc, from, to, version string, offers map[string]*manifest) {
	l.find("", from).Name = to
	g.at(l, to, version, offers)
	swap := func(list []string) {
		for i := range list {
			if list[i] == from {
				list[i] = to
			}
		}
	}
	for i := range l.Spec.Packages {
		for n := range l.Spec.Packages[i].Dependencies {
			if e := &l.Spec.Packages[i].Dependencies[n]; *e == (lockedEdge{"", from}) {
				e.Name = to
			}
		}
	}
	for _, w := range l.Spec.Plan {
		swap(w)
	}
}

func remove(l *lockDoc, namespace, name string) {
	l.Spec.Packages = slices.DeleteFunc(l.Spec.Packages, func(p lockedPackage) bool { return p.Namespace == namespace && p.Name == name })
}
