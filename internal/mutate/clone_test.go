package mutate

import (
	"fmt"
	"path"
	"strings"
	"testing"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"

	"github.com/variform/variform/internal/yamltree"
)

// TestClonesOfOneUpstream clones one package time and again, for variants that have much in
// common: each is what it is alone, of a package that nobody cloned before.
func TestClonesOfOneUpstream(t *testing.T) {
	var all []CloneOptions
	for i := range 3 {
		o := from
		o.Path = []string{"fleet/web", "fleet/base", "other/web"}[i]
		for _, change := range []func(o *CloneOptions){
			func(*CloneOptions) {},
			func(o *CloneOptions) { o.Owner.Variant = fmt.Sprintf("fleet/default/v%d", i) },
			func(o *CloneOptions) { o.Owner.For = fmt.Sprintf("default/p%d", i) },
			func(o *CloneOptions) { o.Owner.Set = "" },
			func(o *CloneOptions) { o.Owner.DeletionPolicy = "" },
			func(o *CloneOptions) { o.Owner = Owner{} },
			func(o *CloneOptions) { o.Labels = map[string]string{"region": "se"} },
			func(o *CloneOptions) { o.Labels, o.Annotations = nil, nil },
			func(o *CloneOptions) { *o = CloneOptions{Path: o.Path} },
			func(o *CloneOptions) { o.Annotations = map[string]string{"variform.dev/own": "x"} },
			func(o *CloneOptions) { o.Upstream, o.Lock = nil, nil },
			func(o *CloneOptions) { o.Lock = nil },
			func(o *CloneOptions) {
				lock := *o.Lock.Git
				lock.Commit = "abcdef"
				o.Lock = &kptfilev1.Locator{Type: o.Lock.Type, Git: &lock}
			},
			func(o *CloneOptions) {
				o.Upstream = &kptfilev1.Upstream{Type: o.Upstream.Type, Git: o.Upstream.Git, UpdateStrategy: "fast-forward"}
			},
			func(o *CloneOptions) { o.Deployment, o.PackagePath = false, "below/web" },
		} {
			o := o
			change(&o)
			all = append(all, o)
		}
	}
	for name, kptfile := range map[string]string{
		"usual":      "metadata:\n  name: base\n",
		"named so":   "metadata:\n  name: 'web' # as it is\n",
		"nameless":   "metadata:\n  team: a\n  labels: {a: c}\n",
		"no meta":    "info:\n  description: a\n",
		"odd order":  "metadata:\n  annotations:\n    z: y\n  namespace: n\n  name: base\n",
		"flow":       "metadata: {name: base, annotations: {z: y}, labels: {region: x}}\n",
		"another's":  "metadata:\n  name: base\n  annotations:\n    variform.dev/variant: \"other\" # theirs\n    variform.dev/for: a/b\nupstream: {type: git, updateStrategy: copy-merge}\nupstreamLock:\n  type: git\n",
		"no map":     "metadata:\n  name: base\n  labels: text\n",
		"aliases":    "metadata:\n  name: base\n  labels: &l {a: c}\n  annotations: *l\n",
		"anchor":     "x: &m {name: web, annotations: &a {a: b}}\nmetadata: *m\n",
		"conditions": "metadata:\n  name: base\nstatus:\n  conditions:\n  - {type: config.injection.A.x, status: \"True\"}\n",
	} {
		files := map[string]string{"Kptfile": "apiVersion: kpt.dev/v1\nkind: Kptfile\n" + kptfile, "package-context.yaml": context}
		if name == "nameless" {
			delete(files, "package-context.yaml")
		}
		shared := pkg(t, files)
		before := texts(t, shared)
		for round := range 2 {
			for i, o := range all {
				got, err := Clone(shared, o)
				want, alone := Clone(pkg(t, files), o)
				if fmt.Sprint(err) != fmt.Sprint(alone) {
					t.Errorf("%s, %d: %v, want %v", name, i, err, alone)
				}
				if err != nil || alone != nil {
					continue
				}
				if k, err := Read(got, ""); err != nil && name != "no map" {
					t.Errorf("%s, %d: %v", name, i, err)
				} else if owner := ownerOf(k); err == nil && (owner != o.Owner || k.Name != path.Base(o.Path)) {
					t.Errorf("%s, %d: %s is owned by %+v, want %+v", name, i, k.Name, owner, o.Owner)
				}
				a, b := got.Kptfile(""), want.Kptfile("")
				if !yamltree.SameText(a.Node().YNode(), b.Node().YNode()) || a.String() != b.String() || fmt.Sprint(got.Paths()) != fmt.Sprint(want.Paths()) {
					t.Errorf("%s, %d in round %d:\n%s\nwant\n%s", name, i, round, a, b)
				}
			}
		}
		if after := texts(t, shared); fmt.Sprint(after) != fmt.Sprint(before) {
			t.Errorf("%s: the upstream was changed:\n%v", name, after)
		}
	}
}

func ownerOf(k *kptfilev1.KptFile) Owner {
	if k == nil {
		return Owner{}
	}
	o, _ := OwnerOf(k)
	return o
}

// TestCloneKeepsWhatNobodyOwns: without an owner no annotation comes or goes.
func TestCloneKeepsWhatNobodyOwns(t *testing.T) {
	const kptfile = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  annotations: {}\n  name: base # said\n"
	p, err := Clone(pkg(t, map[string]string{"Kptfile": kptfile}), CloneOptions{Path: "fleet/base"})
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Kptfile("").String(); got != kptfile {
		t.Errorf("%s\nwant\n%s", got, kptfile)
	}
}

// TestCloneLeavesAnchors: what an alias stands for is changed in its place alone.
func TestCloneLeavesAnchors(t *testing.T) {
	p, err := Clone(pkg(t, map[string]string{
		"Kptfile": "apiVersion: kpt.dev/v1\nkind: Kptfile\nx: &m {name: web}\nmetadata: *m\n",
	}), CloneOptions{Path: "fleet/base"})
	if err != nil {
		t.Fatal(err)
	}
	if k := p.Kptfile(""); k.Name() != "base" || !strings.Contains(k.String(), "x: &m {name: web}\n") {
		t.Errorf("%s\n%s", k.Name(), k)
	}
}
