package merge

import (
	"strings"
	"testing"
)

// subpackage is the Kptfile of a subpackage, with an upstream at a ref or, with
// "", without one.
func subpackage(dir, ref string) string {
	text := "-- " + dir + "/Kptfile --\n" + subKptfile
	if ref != "" {
		text += "upstream:\n  type: git\n  git:\n    repo: https://git.example/dep\n    directory: /sub\n    ref: " + ref + "\n  updateStrategy: resource-merge\n"
	}
	return text
}

// TestSubpackageWithUpstream: a subpackage that was fetched from an upstream of
// its own comes with its parent, until local points it somewhere else.
func TestSubpackageWithUpstream(t *testing.T) {
	file := func(dir, data string) string { return "-- " + dir + "/cm.yaml --\n" + configMap("a", data) }
	v1, v2, v9, plain := subpackage("sub", "v1"), subpackage("sub", "v2"), subpackage("sub", "v9"), subpackage("sub", "")
	cm1, cm2, mine := file("sub", "x: 1"), file("sub", "x: 2"), "-- sub/cm.yaml --\n"+configMap("a", "x: 1", "y: mine")
	in1, in2 := subpackage("sub/in", "")+file("sub/in", "x: 1"), subpackage("sub/in", "")+file("sub/in", "x: 2")
	runCases(t, map[string]mergeCase{
		"upstream moved it on": {base: v1 + cm1, upstream: v2 + cm2, local: v1 + cm1, want: v2 + cm2},
		"local edited a file": {
			base: v1 + cm1, upstream: v2 + cm2, local: v1 + mine, want: v2 + "-- sub/cm.yaml --\n" + configMap("a", "x: 2", "y: mine"),
		},
		"edited upstream in place": {base: v1 + cm1, upstream: v1 + cm2, local: v1 + cm1, want: v1 + cm2},
		"local moved it on":        {base: v1 + cm1, upstream: v2 + cm2, local: v9 + mine, want: v9 + mine},
		"what is in it stays too":  {base: v1 + in1, upstream: v2 + in2, local: v9 + in1, want: v9 + in1},
		"what is in it comes too":  {base: v1 + in1, upstream: v2 + in2, local: v1 + in1, want: v2 + in2},
		"beside it is merged": {
			base: v1 + cm1 + file("sub2", "x: 1"), upstream: v2 + cm2 + file("sub2", "x: 2"), local: v9 + cm1 + file("sub2", "x: 1"),
			want: v9 + cm1 + file("sub2", "x: 2"),
		},
		"the strategy alone is not another upstream": {
			base: v1 + cm1, upstream: v2 + cm2, local: strings.Replace(v1, "resource-merge", "fast-forward", 1) + cm1, want: v2 + cm2,
		},
		"local gave it an upstream":    {base: plain + cm1, upstream: plain + cm2, local: v9 + cm1, want: v9 + cm1},
		"upstream gave it an upstream": {base: plain + cm1, upstream: v2 + cm2, local: plain + cm1, want: v2 + cm2},
		"local fetched it":             {base: "-- x --\n", upstream: "-- x --\n", local: v1 + cm1 + "-- x --\n", want: v1 + cm1 + "-- x --\n"},
		"both fetched it":              {base: "-- x --\n", upstream: v2 + cm2 + "-- x --\n", local: v1 + mine + "-- x --\n", want: v1 + mine + "-- x --\n"},
		"upstream fetched it":          {base: "-- x --\n", upstream: v2 + cm2 + "-- x --\n", local: "-- x --\n", want: v2 + cm2 + "-- x --\n"},
		"upstream no longer has it":    {base: v1 + cm1 + "-- x --\n", upstream: "-- x --\n", local: v1 + cm1 + "-- x --\n", want: "-- x --\n"},
		"upstream no longer has it, local moved it on": {
			base: v1 + cm1 + "-- x --\n", upstream: "-- x --\n", local: v9 + cm1 + "-- x --\n", want: v9 + cm1 + "-- x --\n",
		},
		"replaced": {
			base: v1 + cm1, upstream: v2 + cm2, local: v1 + mine, want: v2 + cm2, options: Options{Strategy: "force-delete-replace"},
		},
		"replaced around one that local moved on": {
			base: v1 + cm1 + "-- x --\n", upstream: v2 + cm2, local: v9 + mine + "-- x --\n", want: v9 + mine, options: Options{Strategy: "force-delete-replace"},
		},
		"fast-forward": {base: v1 + cm1, upstream: v2 + cm2, local: v1 + cm1, want: v2 + cm2, options: Options{Strategy: "fast-forward"}},
	})
}

// TestSubpackageGivesUpItsUpstream: once upstream made a fetched subpackage its
// own, so it is here; else the next update would take it for one that local
// fetched, and leave it alone for ever.
func TestSubpackageGivesUpItsUpstream(t *testing.T) {
	lock := "upstreamLock:\n  type: git\n  git:\n    repo: https://git.example/dep\n    commit: abc\n"
	v1, plain := subpackage("sub", "v1")+lock, subpackage("sub", "")
	cm := func(data ...string) string { return "-- sub/cm.yaml --\n" + configMap("a", data...) }
	runCases(t, map[string]mergeCase{
		"then":  {base: v1 + cm("x: 1"), upstream: plain + cm("x: 2"), local: v1 + cm("x: 1", "y: mine"), want: plain + cm("x: 2", "y: mine")},
		"after": {base: plain + cm("x: 2"), upstream: plain + cm("x: 3"), local: plain + cm("x: 2", "y: mine"), want: plain + cm("x: 3", "y: mine")},
	})
}
