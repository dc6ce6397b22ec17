package merge

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/internal/krm"
)

// TestPairItems: which resources of three versions are one. A resource is written
// as "path: [ns/]name", and as "path: [ns/]name < [ns/]name" where a merge comment
// names the upstream's; a tuple is base, upstream and local.
func TestPairItems(t *testing.T) {
	for name, tc := range map[string]struct {
		b, u, l []string
		fixed   []string // rendered names in files that no side changed
		want    []string
		reason  string
	}{
		"one name": {
			b: []string{"a: x"}, u: []string{"a: x"}, l: []string{"a: x"},
			want: []string{"a: x | a: x | a: x"}, reason: "the upstream identity is the same",
		},
		"a renamed resource with its comment": {
			b: []string{"a: blue < x"}, u: []string{"a: green < x"}, l: []string{"a: blue < x"},
			want: []string{"a: blue < x | a: green < x | a: blue < x"}, reason: "upstream identities are the same",
		},
		"a rendered name, base as upstream wrote it": {
			b: []string{"a: x"}, u: []string{"a: blue < x"}, l: []string{"a: blue"},
			want: []string{"a: x | a: blue < x | a: blue"}, reason: "the pipeline calls x what local has",
		},
		"a rendered name, base rendered": {
			b: []string{"a: blue < x"}, u: []string{"a: blue < x"}, l: []string{"a: blue"},
			want: []string{"a: blue < x | a: blue < x | a: blue"}, reason: "base is called what local has",
		},
		"a rendered name that changes": {
			b: []string{"a: blue < x"}, u: []string{"a: green < x"}, l: []string{"a: blue"},
			want: []string{"a: blue < x | a: green < x | a: blue"}, reason: "local was made from base",
		},
		"a rendered name that local has already": {
			b: []string{"a: blue < x"}, u: []string{"a: green < x"}, l: []string{"a: green"},
			want: []string{"a: blue < x | a: green < x | a: green"}, reason: "upstream is called what local has",
		},
		"the upstream's name comes first": {
			b: []string{"a: x"}, u: []string{"a: blue < x"}, l: []string{"a: x", "a: blue"},
			want: []string{"a: x | a: blue < x | a: x", "- | - | a: blue"}, reason: "local has the upstream identity itself",
		},
		"a rendered name in another file": {
			b: []string{"a: x"}, u: []string{"a: blue < x"}, l: []string{"all: blue", "all: other"},
			want: []string{"a: x | a: blue < x | all: blue", "- | - | all: other"}, reason: "there is one blue",
		},
		"a rendered name in two other files": {
			b: []string{"a: x"}, u: []string{"a: blue < x"}, l: []string{"c: blue", "d: blue"},
			want: []string{"a: x | a: blue < x | -", "- | - | c: blue", "- | - | d: blue"}, reason: "either may be it",
		},
		"a rendered name in a file that nobody changed": {
			b: []string{"a: x"}, u: []string{"a: blue < x"}, l: []string{"c: blue"}, fixed: []string{"blue"},
			want: []string{"a: x | a: blue < x | -", "- | - | c: blue"}, reason: "that one has its place",
		},
		"a rendered namespace in another file": {
			b: []string{"a: example/x"}, u: []string{"a: blue/x"}, l: []string{"all: blue/x"},
			want: []string{"a: example/x | a: blue/x | all: blue/x"}, reason: "the pipeline puts x where local has it",
		},
		"a rendered name without its namespace": {
			b: []string{"a: x"}, u: []string{"a: ns/blue < /x"}, l: []string{"a: blue"},
			want: []string{"a: x | a: ns/blue < /x | a: blue"}, reason: "one file, one name",
		},
		"names that move up": {
			b: []string{"a: a", "a: b", "a: c"}, u: []string{"a: b < a", "a: c < b", "a: d < c"}, l: []string{"a: b", "a: c", "a: d"},
			want: []string{"a: a | a: b < a | a: b", "a: b | a: c < b | a: c", "a: c | a: d < c | a: d"}, reason: "local has all rendered names, and two upstream ones by chance",
		},
		"names that move up, as upstream wrote them": {
			b: []string{"a: a", "a: b"}, u: []string{"a: b < a", "a: c < b"}, l: []string{"a: a", "a: b"},
			want: []string{"a: a | a: b < a | a: a", "a: b | a: c < b | a: b"}, reason: "local has all upstream names, and one rendered one by chance",
		},
		"names that move up, base rendered": {
			b: []string{"a: b < a", "a: c < b"}, u: []string{"a: b < a", "a: c < b"}, l: []string{"a: b", "a: c"},
			want: []string{"a: b < a | a: b < a | a: b", "a: c < b | a: c < b | a: c"}, reason: "local has all rendered names",
		},
		"a function that renames no more": {
			b: []string{"a: blue < x"}, u: []string{"a: blue"}, l: []string{"a: blue < x"},
			want: []string{"a: blue < x | a: blue | a: blue < x"}, reason: "it is one object on a cluster",
		},
		"an addition that a person's rename has taken": {
			b: []string{"a: x"}, u: []string{"c: blue"}, l: []string{"a: blue < x"},
			want: []string{"a: x | c: blue | a: blue < x"}, reason: "it is one object on a cluster",
		},
		"a function that renames what keeps its name": {
			b: []string{"a: blue"}, u: []string{"a: blue < x"}, l: []string{"a: blue"},
			want: []string{"a: blue | a: blue < x | a: blue"}, reason: "it is one object on a cluster",
		},
		"a resource that gets a name": {
			b: []string{"a: "}, u: []string{"a: x"}, l: []string{"a: "},
			want: []string{"a:  | a: x | a: "}, reason: "the file has one of its kind",
		},
		"a resource that gets a name, and that a person removed": {
			b: []string{"a: "}, u: []string{"a: x"},
			want: []string{"a:  | a: x | -"}, reason: "the file has one of its kind",
		},
		"a resource that loses its name": {
			b: []string{"a: x"}, u: []string{"a: "}, l: []string{"a: x"},
			want: []string{"a: x | a:  | a: x"}, reason: "the file has one of its kind",
		},
		"two resources where one had no name": {
			b: []string{"a: "}, u: []string{"a: x", "a: y"}, l: []string{"a: "},
			want: []string{"a:  | - | a: ", "- | a: x | -", "- | a: y | -"}, reason: "either may be it",
		},
		"both added one rendered name": {
			u: []string{"a: blue < x"}, l: []string{"a: blue"},
			want: []string{"- | a: blue < x | a: blue"}, reason: "the pipeline calls x what local has",
		},
		"both added one name in two namespaces": {
			u: []string{"a: m/blue < x"}, l: []string{"a: n/blue"},
			want: []string{"- | a: m/blue < /x | -", "- | - | a: n/blue"}, reason: "without a base they may be two things",
		},
	} {
		t.Run(name, func(t *testing.T) {
			fixed := identities{map[krm.ID]bool{}, map[krm.ID]bool{}}
			for _, n := range tc.fixed {
				fixed.id[idOf(n)] = true
			}
			var got []string
			for _, p := range pairItems(itemsOf(tc.b), itemsOf(tc.u), itemsOf(tc.l), fixed) {
				got = append(got, fmt.Sprintf("%s | %s | %s", p.b.text(), p.u.text(), p.l.text()))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func idOf(text string) krm.ID {
	ns, name, ok := strings.Cut(text, "/")
	if !ok {
		ns, name = "", text
	}
	return krm.ID{Kind: "ConfigMap", Namespace: ns, Name: name}
}

func itemsOf(texts []string) (out []*item) {
	for _, text := range texts {
		path, rest, _ := strings.Cut(text, ": ")
		own, upstream, renamed := strings.Cut(rest, " < ")
		it := &item{path: path, id: idOf(own), key: idOf(own)}
		if renamed {
			it.key = idOf(upstream)
		}
		out = append(out, it)
	}
	return out
}

func (i *item) text() string {
	if i == nil {
		return "-"
	}
	name := func(id krm.ID) string { return strings.TrimPrefix(id.Namespace+"/"+id.Name, "/") }
	if i.key == i.id {
		return i.path + ": " + name(i.id)
	}
	upstream := i.key.Name
	if i.id.Namespace != "" || i.key.Namespace != "" {
		upstream = i.key.Namespace + "/" + i.key.Name
	}
	return i.path + ": " + name(i.id) + " < " + upstream
}
