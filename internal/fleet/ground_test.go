package fleet

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/source"
)

// TestGroundSince: what a change concerns, by the repositories of what depends on it; what
// only the whole can tell is for the whole.
func TestGroundSince(t *testing.T) {
	repository := func(name string) string {
		return fmt.Sprintf("{apiVersion: config.porch.kpt.dev/v1alpha1, kind: Repository, metadata: {name: %[1]s}, spec: {type: git, deployment: true, git: {repo: 'https://git.example.com/%[1]s.git', branch: main}}}", name)
	}
	variant := func(name, repo, upstream, more string) string {
		return fmt.Sprintf("{apiVersion: config.porch.kpt.dev/v1alpha1, kind: PackageVariant, metadata: {name: %[1]s}, spec: {upstream: {repo: %[3]s, package: web, revision: 1}, downstream: {repo: %[2]s, package: %[1]s}, injectors: [{name: site-%[1]s}]%[4]s}}", name, repo, upstream, more)
	}
	object := func(name, value string) string {
		return fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: %s}, data: {v: '%s'}}", name, value)
	}
	set := func(more, targets string) string {
		return fmt.Sprintf("{apiVersion: config.porch.kpt.dev/v1alpha2, kind: PackageVariantSet, metadata: {name: all%s}, spec: {upstream: {repo: catalog, package: db, revision: 1}, targets: [{repositories: [%s]}]}}", more, targets)
	}
	begin := map[string]string{
		"catalog": repository("catalog"), "c1": repository("c1"), "c2": repository("c2"), "c3": repository("c3"),
		"a": variant("a", "c1", "catalog", ""), "b": variant("b", "c2", "catalog", ""), "d": variant("d", "c3", "c1", ""),
		"site-a": object("site-a", "1"), "site-b": object("site-b", "1"), "set": set("", "{name: c1}, {name: c2}"),
	}
	read := func(docs map[string]string) *Ground {
		var objects []source.Text
		for _, doc := range docs {
			var o map[string]any
			if err := yaml.Unmarshal([]byte(doc), &o); err != nil {
				t.Fatal(err)
			}
			objects = append(objects, source.TextOf(o))
		}
		f, err := source.OfObjects("", objects, source.Options{Manager: "me"}).Fleet(context.Background())
		if err != nil || len(f.Problems) > 0 {
			t.Fatal(err, f.Problems)
		}
		return GroundOf(f)
	}
	at := func(names string) (out []string) {
		for _, n := range strings.Fields(names) {
			out = append(out, "git.example.com/"+n)
		}
		return out
	}
	const whole = "-"
	for name, tc := range map[string]struct {
		change        map[string]string // "" takes away
		moved, asking string
		want          string
	}{
		"nothing":                       {},
		"an injected object":            {change: map[string]string{"site-b": object("site-b", "2")}, want: "c2"},
		"what others are made from":     {change: map[string]string{"site-a": object("site-a", "2")}, want: "c1 c3"},
		"an object that goes":           {change: map[string]string{"site-b": ""}, want: "c2"},
		"an object that comes":          {change: map[string]string{"site-d": object("site-d", "1")}, want: "c3"},
		"an object that nobody names":   {change: map[string]string{"other": object("other", "1")}},
		"an object where targets ask":   {change: map[string]string{"other": object("other", "1")}, asking: "c2", want: "c2"},
		"a variant":                     {change: map[string]string{"b": variant("b", "c2", "catalog", ", labels: {tier: web}")}, want: "c2"},
		"a new variant":                 {change: map[string]string{"e": variant("e", "c3", "catalog", "")}, want: "c3"},
		"a push":                        {moved: "c2", want: "c2"},
		"a push where others ask":       {moved: "c2", asking: "c1", want: "c2"},
		"a push to what is an upstream": {moved: "c1", asking: "c2", want: "c1 c2 c3"},
		"a push to the catalogue":       {moved: "catalog", want: "c1 c2 c3 catalog"},
		"a set that grows":              {change: map[string]string{"set": set("", "{name: c1}, {name: c2}, {name: c3}")}, want: "c3"},
		"a set that shrinks":            {change: map[string]string{"set": set("", "{name: c1}")}, want: whole},
		"a variant that goes":           {change: map[string]string{"b": ""}, want: whole},
		"a variant that moves":          {change: map[string]string{"b": variant("b", "c3", "catalog", "")}, want: whole},
		"a Repository":                  {change: map[string]string{"c2": strings.Replace(repository("c2"), "deployment: true, ", "", 1)}, want: whole},
		"annotations of a set":          {change: map[string]string{"set": set(", annotations: {variform.dev/on-conflict: keep}", "{name: c1}, {name: c2}")}, want: "c1 c2 c3"},
		"a set that gives the same":     {change: map[string]string{"set": set(", labels: {tier: web}", "{name: c1}, {name: c2}")}, want: whole},
		"an Installation that limits":   {change: map[string]string{"i": "{apiVersion: variform.dev/v1alpha1, kind: Installation, metadata: {name: i}, spec: {target: c1, package: web, historyLimit: 2}}"}, want: whole},
		"a push to a Catalog's source": {
			change: map[string]string{"k": "{apiVersion: variform.dev/v1alpha1, kind: Catalog, metadata: {name: k}, spec: {sources: [{git: {repo: 'https://git.example.com/catalog'}}]}}"}, moved: "catalog", want: whole,
		},
	} {
		docs := map[string]string{}
		for _, of := range []map[string]string{begin, tc.change} {
			for k, doc := range of {
				if docs[k] = doc; doc == "" {
					delete(docs, k)
				}
			}
		}
		before := begin
		if docs["k"]+docs["i"] != "" { // it was there before
			before = docs
		}
		part, ok := read(docs).Since(read(before), at(tc.moved), at(tc.asking))
		if got := ok; got == (tc.want == whole) {
			t.Errorf("%s: %v %v, want %q", name, part, ok, tc.want)
		} else if tc.want != whole {
			if diff := cmp.Diff(at(tc.want), part); diff != "" {
				t.Errorf("%s: -want +got\n%s", name, diff)
			}
		}
	}
	if _, ok := read(begin).Since(nil, nil, nil); ok {
		t.Error("a part of what nothing is known of")
	}
	id := func(repo, pkg string) decide.Identity {
		return decide.Identity{Namespace: "default", Repository: repo, Package: pkg}
	}
	if got := read(begin).Upstreams([]decide.Identity{id("c1", "a"), id("c2", "b")}); !slices.Equal(got, at("c1")) {
		t.Errorf("variants are made from %v", got)
	}
}
