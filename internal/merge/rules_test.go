package merge

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// valueCase is the merge of one value, written in flow: "" where a version has
// none. A conflict is "winner place: base, upstream, local".
type valueCase struct {
	base, upstream, local, want string
	conflicts                   []string
}

// thing has a value where no schema knows it.
func thing(v string) string {
	if v == "" {
		return custom("  keep: 1\n")
	}
	return custom("  keep: 1\n  v:" + spaced(v) + "\n")
}

// spaced is a value behind its key: on the same line, unless it is a block.
func spaced(v string) string {
	if strings.HasPrefix(v, "\n") {
		return v
	}
	return " " + v
}

// servicePorts has a list that is keyed by port and protocol.
func servicePorts(v string) string {
	text := "apiVersion: v1\nkind: Service\nmetadata:\n  name: s\nspec:\n  type: ClusterIP\n"
	if v == "" {
		return text
	}
	return text + "  ports: " + v + "\n"
}

// containers has a list that is keyed by name.
func containers(v string) string {
	if v == "" {
		return deployment("      hostIPC: true\n")
	}
	return deployment("      hostIPC: true\n      containers: " + v + "\n")
}

// finalizers has a list that is a set.
func finalizers(v string) string {
	text := "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n"
	if v == "" {
		return text
	}
	return text + "  finalizers: " + v + "\n"
}

// mutators has the functions of a pipeline.
func mutators(v string) string {
	if v == "" {
		return kptfileHead
	}
	return kptfileHead + "pipeline:\n  mutators: " + v + "\n"
}

func runValues(t *testing.T, in func(string) string, field string, cases map[string]valueCase) {
	file := "r.yaml"
	if strings.Contains(in(""), "kind: Kptfile") {
		file = "Kptfile"
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			wrap := func(v string) string { return "-- " + file + " --\n" + in(v) }
			var conflicts []string
			res, err := Packages(pkg(t, wrap(tc.base)), pkg(t, wrap(tc.upstream)), pkg(t, wrap(tc.local)), Options{})
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range res.Conflicts {
				place := strings.TrimPrefix(strings.TrimPrefix(c.Field, field), ".")
				conflicts = append(conflicts, fmt.Sprintf("%s %s: %s, %s, %s", c.Winner, place, orDeleted(c.Base), orDeleted(c.Upstream), orDeleted(c.Local)))
			}
			if diff := cmp.Diff(wrap(tc.want), textOf(t, res.Package)); diff != "" {
				t.Errorf("merged (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.conflicts, conflicts); diff != "" {
				t.Errorf("conflicts (-want +got):\n%s", diff)
			}
			again, err := Packages(pkg(t, wrap(tc.base)), pkg(t, wrap(tc.upstream)), res.Package, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(textOf(t, res.Package), textOf(t, again.Package)); diff != "" {
				t.Errorf("merging again changes something:\n%s", diff)
			}
		})
	}
}

// TestLocallyDeleted: what local deleted stays away as long as upstream only
// adds to it or takes from it; a change brings the whole back.
func TestLocallyDeleted(t *testing.T) {
	runValues(t, thing, "spec.v", map[string]valueCase{
		"upstream left it":             {"{a: 1}", "{a: 1}", "", "", nil},
		"upstream added a field":       {"{a: 1}", "{a: 1, b: 2}", "", "{b: 2}", nil},
		"upstream took a field":        {"{a: 1, b: 2}", "{a: 1}", "", "", nil},
		"upstream changed a field":     {"{a: 1, b: 2}", "{a: 9, b: 2, c: 3}", "", "{a: 9, b: 2, c: 3}", []string{"upstream : {a: 1, b: 2}, {a: 9, b: 2, c: 3}, (deleted)"}},
		"upstream added below a field": {"{a: {x: 1}}", "{a: {x: 1, z: 2}}", "", "{a: {z: 2}}", nil},
		"upstream changed below":       {"{a: {x: 1}}", "{a: {x: 2}}", "", "{a: {x: 2}}", []string{"upstream : {a: {x: 1}}, {a: {x: 2}}, (deleted)"}},
		"upstream made it a scalar":    {"{a: 1}", "1", "", "1", []string{"upstream : {a: 1}, 1, (deleted)"}},
		"a list by place":              {"[a, b]", "[a, b, c]", "", "[a, b, c]", []string{"upstream : [a, b], [a, b, c], (deleted)"}},
		"items with names":             {"[{name: a, x: 1}]", "[{name: a, x: 1}, {name: b}]", "", "[{name: b}]", nil},
		"an item with a name taken":    {"[{name: a}, {name: b}]", "[{name: a}]", "", "", nil},
		"an item with a name changed":  {"[{name: a, x: 1}]", "[{name: a, x: 2}, {name: b}]", "", "[{name: a, x: 2}, {name: b}]", []string{"upstream : [{name: a, x: 1}], [{name: a, x: 2}, {name: b}], (deleted)"}},
	})
	runValues(t, finalizers, "metadata.finalizers", map[string]valueCase{
		"a set, added":           {"[a]", "[a, b]", "", "[b]", nil},
		"a set, taken":           {"[a, b]", "[a]", "", "", nil},
		"a set, taken and added": {"[a, b]", "[b, c]", "", "[c]", nil},
	})
}

// TestDeletedUpstream: a field that upstream deleted goes, but for what local
// added in it; a change that goes with it is told.
func TestDeletedUpstream(t *testing.T) {
	runValues(t, thing, "spec.v", map[string]valueCase{
		"local left it":              {"{a: 1}", "", "{a: 1}", "", nil},
		"local wrote it another way": {"{a: 1, b: 2}", "", "{b: 2, a: 1}", "", nil},
		"local added a field":        {"{a: 1}", "", "{a: 1, b: 2}", "{b: 2}", nil},
		"local added only":           {"", "", "{a: 1}", "{a: 1}", nil},
		"local changed a field":      {"{a: 1}", "", "{a: 2}", "", []string{"upstream a: 1, (deleted), 2"}},
		"local made it a scalar":     {"{a: 1}", "", "1", "", []string{"upstream : {a: 1}, (deleted), 1"}},
		"local changed a scalar":     {"1", "", "2", "", []string{"upstream : 1, (deleted), 2"}},
		"local added an item":        {"[{name: a}]", "", "[{name: a}, {name: b}]", "[{name: b}]", nil},
		"local changed an item":      {"[{name: a, x: 1}]", "", "[{name: a, x: 2}]", "", []string{"upstream [name=a]: {name: a, x: 1}, (deleted), {name: a, x: 2}"}},
		"local quoted an item":       {"[a, b]", "", "[a, 'b']", "", nil},
		"emptied upstream, a map":    {"{a: 1}", "{}", "{a: 1, b: 2}", "{b: 2}", nil},
	})
}

// TestScalars: one value against another, and how it is written.
func TestScalars(t *testing.T) {
	runValues(t, thing, "spec.v", map[string]valueCase{
		"local's quotes stay for a text":        {"'a'", "b", `"a"`, `"b"`, nil},
		"and go for what is no text":            {"'1'", "1", `"1"`, "1", nil},
		"several lines come as they are":        {`"a"`, `"x\nz"`, "'a'", `"x\nz"`, nil},
		"a number and a text":                   {"1", "2", "'1'", "2", []string{`upstream : 1, 2, '1'`}},
		"upstream's quotes come with its value": {"a", "'b'", "a", "'b'", nil},
		"a map for a scalar":                    {"a", "{x: 1}", "b", "{x: 1}", []string{"upstream : a, {x: 1}, b"}},
		"a list for a map":                      {"{x: 1}", "[x]", "{x: 2}", "[x]", []string{"upstream : {x: 1}, [x], {x: 2}"}},
		"both the same, written another way":    {"{x: 1, y: 1}", "{x: 2, y: 1}", "{y: 1, x: 2}", "{y: 1, x: 2}", nil},
		"both added, equal":                     {"", "{x: 1}", "{x: 1}", "{x: 1}", nil},
		"both added, other fields":              {"", "{x: 1, u: 2}", "{x: 1, z: 3}", "{x: 1, z: 3, u: 2}", nil},
		"both added, in conflict":               {"", "a", "b", "a", []string{"upstream : (deleted), a, b"}},
	})
}

// TestSequences: lists whose items have no identity are merged by their places.
func TestSequences(t *testing.T) {
	runValues(t, thing, "spec.v", map[string]valueCase{
		"both added one":                                {"", "[a, b]", "[a, b]", "[a, b]", nil},
		"both added two":                                {"", "[a]", "[b]", "[a]", []string{"upstream : (deleted), [a], [b]"}},
		"both added, local's empty":                     {"", "[a]", "[]", "\n  - a", nil},
		"both added, upstream's empty":                  {"", "[]", "[a]", "[a]", nil},
		"given up, untouched":                           {"[a]", "[]", "[a]", "[]", nil},
		"given up, edited":                              {"[a]", "[]", "[a, b]", "[]", []string{"upstream : [a], [], [a, b]"}},
		"given up by both":                              {"[a]", "[]", "[ ]", "[ ]", nil},
		"emptied locally, added to":                     {"[a, b]", "[a, b, c]", "[]", "\n  - c", nil},
		"neighbours":                                    {"[a, b, c]", "[A, b, c]", "[a, B, c]", "[A, B, c]", nil},
		"neighbours, the other way":                     {"[a, b, c]", "[a, B, c]", "[A, b, c]", "[A, B, c]", nil},
		"one place":                                     {"[a, b, c]", "[a, X, c]", "[a, Y, c]", "[a, X, c]", []string{"upstream [1]: [b], [X], [Y]"}},
		"one place, the same":                           {"[a, b, c, d]", "[a, X, c, d, e]", "[a, X, c, d]", "[a, X, c, d, e]", nil},
		"insertion ahead of upstream's change":          {"[a, b]", "[a, X]", "[a, n, b]", "[a, n, X]", nil},
		"insertion ahead of local's change":             {"[a, b]", "[a, m, b]", "[a, X]", "[a, m, X]", nil},
		"insertion behind upstream's change":            {"[a, b]", "[X, b]", "[a, n, b]", "[X, n, b]", nil},
		"insertion behind local's change":               {"[a, b]", "[a, m, b]", "[X, b]", "[X, m, b]", nil},
		"insertions at two places":                      {"[a, b]", "[u, a, b]", "[a, b, l]", "[u, a, b, l]", nil},
		"insertions at one place":                       {"[a, b]", "[a, u, b]", "[a, l, b]", "[a, l, u, b]", nil},
		"one insertion on both sides":                   {"[a, b]", "[a, n, m, b]", "[a, n, b]", "[a, n, m, b]", nil},
		"deletions that overlap":                        {"[a, b, c, d]", "[a, d]", "[a, b]", "[a]", nil},
		"deletions that overlap, and what stays":        {"[a, b, c, d, f]", "[b, d, f]", "[a, d, f]", "[d, f]", nil},
		"one deletion within another":                   {"[a, b, c, d, f]", "[a, f]", "[a, b, d, f]", "[a, f]", nil},
		"deletions apart":                               {"[a, b, c, d]", "[b, c, d]", "[a, b, c]", "[b, c]", nil},
		"deleted, which replacing it is too":            {"[a, b, c]", "[a, c]", "[a, B, c]", "[a, B, c]", nil},
		"changed and deleted":                           {"[a, b, c]", "[a, B, c]", "[a, c]", "[a, B, c]", []string{"upstream [1]: [b], [B], (deleted)"}},
		"changes that overlap":                          {"[a, b, c, d]", "[a, X, Z, d]", "[a, b, K, L]", "[a, X, Z, d]", []string{"upstream [1]: [b, c, d], [X, Z, d], [b, K, L]"}},
		"moved and given up upstream, added to locally": {"[a, b, c]", "[c, b, X]", "[a, b, Y, c]", "[Y, c, b, X]", nil},
		"a text twice":                                  {"[a, a, b]", "[a, a, b, c]", "[a, b]", "[a, b, c]", nil},
		"both brought one to other places":              {"[a, b, c]", "[n, a, b, c]", "[a, b, c, n]", "[a, b, c, n]", nil},
		"moved upstream, deleted locally":               {"[a, b, c]", "[b, c, a]", "[b, c]", "[b, c]", nil},
		"maps at one place":                             {"[{x: 1, y: 1}]", "[{x: 2, y: 1}]", "[{x: 1, y: 2}]", "[{x: 2, y: 2}]", nil},
		"maps at one place in conflict":                 {"[{x: 1}]", "[{x: 2}]", "[{x: 3}]", "[{x: 2}]", []string{"upstream [0]: [{x: 1}], [{x: 2}], [{x: 3}]"}},
		"maps and scalars":                              {"[{x: 1}]", "[{x: 2}]", "[y]", "[{x: 2}]", []string{"upstream [0]: [{x: 1}], [{x: 2}], [y]"}},
		"lists in a list":                               {"[[a], [b]]", "[[a, u], [b]]", "[[a], [b, l]]", "[[a, u], [b, l]]", nil},
	})
}

// TestLongSequences: lists that are too long to be compared exactly are compared
// by what is unique in them.
func TestLongSequences(t *testing.T) {
	const size = 1100
	list := func(change func(i int) []string) string {
		var items []string
		for i := range size {
			items = append(items, change(i)...)
		}
		return "[" + strings.Join(items, ", ") + "]"
	}
	item := func(i int) string { return fmt.Sprintf("i%d", i) }
	base := list(func(i int) []string { return []string{item(i)} })
	upstream := list(func(i int) []string {
		switch i {
		case 0, size - 1:
			return []string{"u" + item(i)}
		case 500:
			return []string{item(i), "new"}
		case 700:
			return []string{"twice", "twice", item(i)}
		}
		return []string{item(i)}
	})
	local := list(func(i int) []string {
		switch i {
		case 300:
			return nil
		case 400:
			return []string{"l400"}
		}
		return []string{item(i)}
	})
	want := list(func(i int) []string {
		switch i {
		case 0, size - 1:
			return []string{"u" + item(i)}
		case 300:
			return nil
		case 400:
			return []string{"l400"}
		case 500:
			return []string{item(i), "new"}
		case 700:
			return []string{"twice", "twice", item(i)}
		}
		return []string{item(i)}
	})
	runValues(t, thing, "spec.v", map[string]valueCase{
		"edits apart": {base: base, upstream: upstream, local: local, want: want},
	})
}

// TestKeyedLists: items that a schema or a field identifies.
func TestKeyedLists(t *testing.T) {
	runValues(t, servicePorts, "spec.ports", map[string]valueCase{
		"a named port gets another number": {
			"[{name: http, port: 80}]", "[{name: http, port: 8080}]", "[{name: http, port: 80, nodePort: 30}]", "[{name: http, port: 8080, nodePort: 30}]", nil,
		},
		"a port gets another protocol": {
			"[{port: 80, protocol: TCP}]", "[{port: 80, protocol: UDP}]", "[{port: 80, protocol: TCP, nodePort: 30}]", "[{port: 80, protocol: UDP, nodePort: 30}]", nil,
		},
		"one number, two protocols": {
			"[{port: 53, protocol: TCP}, {port: 53, protocol: UDP}]", "[{port: 53, protocol: TCP, nodePort: 1}, {port: 53, protocol: UDP, nodePort: 2}]",
			"[{port: 53, protocol: UDP, name: u}, {port: 53, protocol: TCP, name: t}]",
			"[{port: 53, protocol: UDP, name: u, nodePort: 2}, {port: 53, protocol: TCP, name: t, nodePort: 1}]", nil,
		},
		"another number upstream, gone locally": {
			"[{name: http, port: 80}, {name: x, port: 1}]", "[{name: http, port: 8080}, {name: x, port: 1}]", "[{name: x, port: 1}]",
			"[{name: http, port: 8080}, {name: x, port: 1}]", nil,
		},
		"another number locally, gone upstream": {
			"[{name: http, port: 80}, {name: x, port: 1}]", "[{name: x, port: 1}]", "[{name: http, port: 8080}, {name: x, port: 1}]",
			"[{name: http, port: 8080}, {name: x, port: 1}]", nil,
		},
		"another number on each side": {
			"[{name: http, port: 80}]", "[{name: http, port: 8080}]", "[{name: http, port: 8888}]", "[{name: http, port: 8888}, {name: http, port: 8080}]", nil,
		},
		"the same other number": {
			"[{name: http, port: 80}]", "[{name: http, port: 81, a: 1}]", "[{name: http, port: 81, b: 2}]", "[{name: http, port: 81, b: 2, a: 1}]", nil,
		},
		"upstream's new number is taken locally": {
			"[{name: http, port: 80}]", "[{name: http, port: 81}]", "[{name: http, port: 80}, {name: mine, port: 81}]", "[{name: http, port: 81}]", []string{"upstream [port=81].name: (deleted), http, mine"},
		},
		"local's new number is taken upstream": {
			"[{name: http, port: 80}]", "[{name: http, port: 80}, {name: mine, port: 81}]", "[{name: http, port: 81}]", "[{name: mine, port: 81}]", []string{"upstream [port=81].name: (deleted), mine, http"},
		},
	})
	runValues(t, containers, "spec.template.spec.containers", map[string]valueCase{
		"both add other items": {"[{name: a}]", "[{name: a}, {name: u}]", "[{name: a}, {name: l}]", "[{name: a}, {name: l}, {name: u}]", nil},
		"ahead of all":         {"[{name: a}]", "[{name: u}, {name: a}]", "[{name: l}, {name: a}]", "[{name: l}, {name: u}, {name: a}]", nil},
		"between":              {"[{name: a}, {name: b}]", "[{name: a}, {name: u}, {name: b}]", "[{name: a}, {name: b}, {name: l}]", "[{name: a}, {name: u}, {name: b}, {name: l}]", nil},
		"nothing in common":    {"[{name: a}]", "[{name: u}]", "[{name: l}]", "[{name: l}, {name: u}]", nil},
		"deleted by both":      {"[{name: a}, {name: b}]", "[{name: a}]", "[{name: a}]", "[{name: a}]", nil},
		"deleted upstream":     {"[{name: a}, {name: b}]", "[{name: a}]", "[{name: a, x: 1}, {name: b}]", "[{name: a, x: 1}]", nil},
		"order of both":        {"[{name: a}, {name: b}, {name: c}]", "[{name: c}, {name: a}, {name: b}]", "[{name: b}, {name: a}, {name: c}]", "[{name: b}, {name: a}, {name: c}]", nil},
		"order of upstream, and new ones": {
			"[{name: a}, {name: b}]", "[{name: b}, {name: u}, {name: a}]", "[{name: a}, {name: l}, {name: b}]", "[{name: b}, {name: u}, {name: a}, {name: l}]", nil,
		},
		"order of upstream, one added by both": {
			"[{name: a}, {name: b}]", "[{name: b}, {name: m, x: 1}, {name: a}]", "[{name: a}, {name: b}, {name: m, z: 2}]", "[{name: b}, {name: m, z: 2, x: 1}, {name: a}]", nil,
		},
		"order of upstream, one deleted locally": {
			"[{name: a}, {name: b}, {name: c}]", "[{name: c}, {name: b}, {name: a}]", "[{name: a}, {name: c}]", "[{name: c}, {name: a}]", nil,
		},
		"an item without its key": {"[{name: a}, {image: i}]", "[{name: a}, {image: i2}]", "[{name: b}, {image: i}]", "[{name: b}, {image: i2}]", nil},
		"a key twice":             {"[{name: a, x: 1}, {name: a, x: 2}]", "[{name: a, x: 1}, {name: a, x: 3}]", "[{name: a, x: 1, l: 1}, {name: a, x: 2}]", "[{name: a, x: 1, l: 1}, {name: a, x: 3}]", nil},
		"a key twice, one gone":   {"[{name: a, x: 1}, {name: a, x: 2}]", "[{name: a, x: 2}]", "[{name: a, x: 1}, {name: a, x: 2}, {name: l}]", "[{name: a, x: 2}, {name: l}]", nil},
	})
	runValues(t, thing, "spec.v", map[string]valueCase{
		"by name and kind":             {"[{name: a, kind: x, v: 1}, {name: a, kind: z, v: 1}]", "[{name: a, kind: x, v: 2}, {name: a, kind: z, v: 1}]", "[{name: a, kind: z, v: 1}, {name: a, kind: x, v: 1}]", "[{name: a, kind: z, v: 1}, {name: a, kind: x, v: 2}]", nil},
		"by host":                      {"[{host: a, v: 1}, {host: b}]", "[{host: a, v: 2}, {host: b}]", "[{host: b}, {host: a, v: 1}]", "[{host: b}, {host: a, v: 2}]", nil},
		"by host and path":             {"[{host: a, path: x, v: 1}, {host: a, path: z}]", "[{host: a, path: x, v: 2}, {host: a, path: z}]", "[{host: a, path: z}, {host: a, path: x, v: 1}]", "[{host: a, path: z}, {host: a, path: x, v: 2}]", nil},
		"by name, both added the list": {"", "[{name: a, x: 1}, {name: b}]", "[{name: b}, {name: a}]", "[{name: b}, {name: a, x: 1}]", nil},
		"by name, twice there":         {"[{name: a, x: 1}, {name: a}]", "[{name: a, x: 2}, {name: a}]", "[{name: a, x: 1}, {name: a, z: 1}]", "[{name: a, x: 2}, {name: a, z: 1}]", nil},
		"by nothing":                   {"[{v: 1}, {v: 2}]", "[{v: 1}, {v: 3}]", "[{v: 4}, {v: 2}]", "[{v: 4}, {v: 3}]", nil},
		"a name that is no text identifies nothing": {"[{name: {a: 1}, v: 1}]", "[{name: {a: 1}, v: 2}]", "[{name: {a: 2}, v: 1}]", "[{name: {a: 2}, v: 2}]", nil},
		"scalars among them":                        {"[{name: a, v: 1}, x]", "[{name: a, v: 2}, x]", "[{name: a, v: 1}, z]", "[{name: a, v: 2}, z]", nil},
	})
	runValues(t, finalizers, "metadata.finalizers", map[string]valueCase{
		"both add one":                {"[a]", "[a, m]", "[m, a]", "[m, a]", nil},
		"local deleted, upstream not": {"[a, b]", "[a, b, c]", "[b]", "[b, c]", nil},
		"upstream deleted, local not": {"[a, b]", "[b]", "[l, a, b]", "[l, b]", nil},
		"upstream has one twice":      {"[a]", "[a, m, m]", "[a, l]", "[a, l, m]", nil},
		"order is not a change":       {"[a, b]", "[b, a]", "[a, b, l]", "[a, b, l]", nil},
		"both added the list":         {"", "[a, b]", "[b, c]", "[b, c, a]", nil},
		"no set after all":            {"[{x: 1}]", "[{x: 2}]", "[{x: 1}, {x: 3}]", "[{x: 2}, {x: 3}]", nil},
	})
	runValues(t, mutators, "pipeline.mutators", map[string]valueCase{
		"by name, whatever the image": {"[{name: f, image: 'a:v1'}]", "[{name: f, image: 'b:v1'}]", "[{name: f, image: 'a:v1', configMap: {k: l}}]", "[{name: f, image: 'b:v1', configMap: {k: l}}]", nil},
		"by image, whatever the tag":  {"[{image: 'a:v1'}]", "[{image: 'a:v2'}]", "[{image: 'a:v1', configMap: {k: l}}]", "[{image: 'a:v2', configMap: {k: l}}]", nil},
		"by executable":               {"[{exec: ./a}]", "[{exec: ./a, configMap: {u: v}}]", "[{exec: ./b}, {exec: ./a}]", "[{exec: ./b}, {exec: ./a, configMap: {u: v}}]", nil},
		"one image twice, equal ones first": {
			"[{image: 'a:v1', configMap: {k: x}}, {image: 'a:v1', configMap: {k: z}}]", "[{image: 'a:v1', configMap: {k: z}}]",
			"[{image: 'a:v1', configMap: {k: x}}, {image: 'a:v1', configMap: {k: z}}, {image: l}]", "[{image: 'a:v1', configMap: {k: z}}, {image: l}]", nil,
		},
		"one image twice, by order": {
			"[{image: 'a:v1', configMap: {k: x}}, {image: 'a:v1', configMap: {k: z}}]", "[{image: 'a:v1', configMap: {k: x}}, {image: 'a:v1', configMap: {k: new}}]",
			"[{image: 'a:v1', configMap: {k: mine}}, {image: 'a:v1', configMap: {k: z}}]", "[{image: 'a:v1', configMap: {k: mine}}, {image: 'a:v1', configMap: {k: new}}]", nil,
		},
		"both add one image":      {"", "[{image: 'a:v1', configMap: {u: v}}]", "[{image: 'a:v1', configMap: {l: v}}]", "[{image: 'a:v1', configMap: {l: v, u: v}}]", nil},
		"both add one name":       {"", "[{name: f, image: a}]", "[{name: f, image: a, configMap: {l: v}}]", "[{name: f, image: a, configMap: {l: v}}]", nil},
		"a name and none are two": {"", "[{name: f, image: a}]", "[{image: a}]", "[{image: a}, {name: f, image: a}]", nil},
		"upstream names one":      {"[{image: a}]", "[{name: f, image: a}]", "[{image: a, configMap: {l: v}}]", "[{name: f, image: a, configMap: {l: v}}]", nil},
	})
}

// TestNullValues: upstream's null clears a field, local's stays, and neither is
// a value that one has to agree with.
func TestNullValues(t *testing.T) {
	runValues(t, thing, "spec.v", map[string]valueCase{
		"upstream filled one":                 {"null", "1", "null", "1", nil},
		"upstream filled one, local took it":  {"null", "1", "", "1", nil},
		"upstream took one that local filled": {"null", "", "1", "1", nil},
		"both filled one":                     {"null", "{a: 1}", "{b: 2}", "{b: 2, a: 1}", nil},
		"both cleared it":                     {"1", "null", "~", "~", nil},
		"upstream cleared what local took":    {"1", "null", "", "", nil},
		"local cleared what both wrote alike": {"{a: 1, b: 1}", "{b: 1, a: 1}", "null", "null", nil},
		"local cleared what upstream took":    {"1", "", "null", "null", nil},
		"upstream wrote null another way":     {"null", "~", "1", "1", nil},
		"local wrote null another way":        {"null", "null", "~", "~", nil},
	})
}

// TestKeysOfMaps: maps whose keys are no scalars are merged as a whole, and of
// a key that is there twice the last counts.
func TestKeysOfMaps(t *testing.T) {
	runValues(t, thing, "spec.v", map[string]valueCase{
		"a key that is a list, changed upstream": {"{? [a] : 1}", "{? [a] : 2}", "{? [a] : 1}", "{? [a] : 2}", nil},
		"a key that is a list, changed by both":  {"{? [a] : 1}", "{? [a] : 2}", "{? [a] : 3}", "{? [a] : 2}", []string{"upstream : {? [a] : 1}, {? [a] : 2}, {? [a] : 3}"}},
		"a key that is a list, gone upstream":    {"{? [a] : 1}", "", "{? [a] : 3}", "", []string{"upstream : {? [a] : 1}, (deleted), {? [a] : 3}"}},
	})
}

// Conflicts call the sides what the caller calls them.
func TestNamesOfSides(t *testing.T) {
	for fate, want := range map[Fate]string{
		Lost: "f: branch main wins with 1; the Draft was 2", Kept: "f: the Draft wins with 2; branch main was 1",
		NotTaken: "f: not taken, base unknown: branch main has 1; 2 stays", KeptThoughRemoved: "f: removed on branch main, kept for an edit: 2",
	} {
		c := Conflict{Path: "f", Fate: fate, Winner: Upstream, Upstream: "1", Local: "2", Theirs: "branch main", Ours: "the Draft"}
		if fate == Kept {
			c.Winner = Local
		}
		if got := c.String(); got != want {
			t.Errorf("%s: %q, want %q", fate, got, want)
		}
		if got := c.Undecided(); got != "f: branch main has 1; the Draft has 2" {
			t.Error(got)
		}
	}
}
