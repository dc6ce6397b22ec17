package merge

import (
	"strings"
	"testing"
)

// TestComments: comments are merged three ways wherever they are, also in a
// file that both sides edited.
func TestComments(t *testing.T) {
	runCases(t, map[string]mergeCase{
		"every place": {
			reason:   "head, line and foot comments of the document, of keys and of items follow upstream",
			base:     "# Copyright 2020\n" + configMap("a", "image: nginx", `tag: "1"`, `mine: "1"`),
			upstream: "# Copyright 2024\n# do not run\n" + configMap("a", "# which image", "image: nginx", `tag: "1" # kpt-set: ${tag}`, "# added", "new: x", `mine: "1"`, "# the end"),
			local:    "# Copyright 2020\n" + configMap("a", "image: nginx", `tag: "1"`, `mine: "9"`),
			want:     "# Copyright 2024\n# do not run\n" + configMap("a", "# which image", "image: nginx", `tag: "1" # kpt-set: ${tag}`, "# added", "new: x", `mine: "9"`, "# the end"),
		},
		"every place, removed": {
			reason:   "and those that upstream removed go",
			base:     "# Copyright 2024\n# do not run\n" + configMap("a", "# which image", "image: nginx", `tag: "1" # kpt-set: ${tag}`, `mine: "1"`, "# the end"),
			upstream: "# Copyright 2024\n" + configMap("a", "image: nginx", `tag: "1"`, `mine: "1"`),
			local:    "# Copyright 2024\n# do not run\n" + configMap("a", "# which image", "image: nginx", `tag: "1" # kpt-set: ${tag}`, `mine: "9" # ours`, "# the end"),
			want:     "# Copyright 2024\n" + configMap("a", "image: nginx", `tag: "1"`, `mine: "9" # ours`),
		},
		"a setter with its value": {
			reason:   "a new value does not keep the comment that would set it back",
			base:     configMap("a", `one: "A" # kpt-set: ${a}`, `mine: "1"`, "list: [x, y] # kpt-set: ${l}", "list2: # kpt-set: ${l}", "- x", "- y"),
			upstream: configMap("a", `one: "C"`, `mine: "1"`, "list: [z]", "list2:", "- z"),
			local:    configMap("a", `one: "A" # kpt-set: ${a}`, `mine: "9"`, "list: [x, y] # kpt-set: ${l}", "list2: # kpt-set: ${l}", "- x", "- y"),
			want:     configMap("a", `one: "C"`, `mine: "9"`, "list: [z]", "list2:", "- z"),
		},
		"a setter on the line that local edited": {
			reason:   "value and comment are merged apart",
			base:     configMap("a", "one: A # kpt-set: ${a}", "two: B"),
			upstream: configMap("a", "one: A", "two: B # kpt-set: ${b}"),
			local:    configMap("a", "one: mine # kpt-set: ${a}", "two: mine"),
			want:     configMap("a", "one: mine", "two: mine # kpt-set: ${b}"),
		},
		"upstream's value, local's comment": {
			base:     configMap("a", "one: A", "two: B"),
			upstream: configMap("a", "one: C", "two: B"),
			local:    configMap("a", "one: A # why", "# about two", "two: B"),
			want:     configMap("a", "one: C # why", "# about two", "two: B"),
		},
		"conflict": {
			reason:    "upstream's comment wins, as a value does",
			base:      configMap("a", "# one", "x: 1 # kpt-set: ${x}"),
			upstream:  configMap("a", "# upstream's", "x: 1 # kpt-set: ${up}"),
			local:     configMap("a", "# mine", "x: 1 # kpt-set: ${mine}"),
			want:      configMap("a", "# upstream's", "x: 1 # kpt-set: ${up}"),
			conflicts: []string{"r.yaml: ConfigMap/a: data.x: upstream wins with # kpt-set: ${up}; local was # kpt-set: ${mine}", "r.yaml: ConfigMap/a: data.x: upstream wins with # upstream's; local was # mine"},
		},
		"conflict, kept": {
			options:   Options{Keep: true},
			base:      configMap("a", "x: 1 # one", "y: 1"),
			upstream:  configMap("a", "x: 1 # two", "y: 2"),
			local:     configMap("a", "x: 1 # three", "y: 1"),
			want:      configMap("a", "x: 1 # three", "y: 2"),
			conflicts: []string{"r.yaml: ConfigMap/a: data.x: local wins with # three; upstream was # two"},
		},
		"conflict, local removed it": {
			base:      configMap("a", "x: 1 # one", "y: 1"),
			upstream:  configMap("a", "x: 1 # two", "y: 1"),
			local:     configMap("a", "x: 1", "y: 2"),
			want:      configMap("a", "x: 1 # two", "y: 2"),
			conflicts: []string{"r.yaml: ConfigMap/a: data.x: upstream wins with # two; local was (deleted)"},
		},
		"both added one at a place": {
			reason:   "both stay",
			base:     configMap("a", "x: 1", "y: 1"),
			upstream: configMap("a", "# upstream's", "x: 1", "y: 2"),
			local:    configMap("a", "# mine", "x: 1", "y: 1"),
			want:     configMap("a", "# mine", "# upstream's", "x: 1", "y: 2"),
		},
		"both added one key at two places": {
			reason:   "the key stands once",
			base:     configMap("a", "x: 1", "y: 1"),
			upstream: configMap("a", "tier: gold", "x: 1", "y: 1"),
			local:    configMap("a", "x: 1", "y: 1", "tier: gold"),
			want:     configMap("a", "x: 1", "y: 1", "tier: gold"),
		},
		"a value conflict beside a comment": {
			base:      configMap("a", "x: 1 # one", "y: 1"),
			upstream:  configMap("a", "x: 2", "y: 1"),
			local:     configMap("a", "x: 3 # one", "y: 1"),
			want:      configMap("a", "x: 2", "y: 1"),
			conflicts: []string{"r.yaml: ConfigMap/a: data.x: upstream wins with 2; local was 3"},
		},
		"items": {
			base:     resource("spec:\n  set: [a, b]\n  args:\n  - --a\n  - --b # old\n  - --c\n"),
			upstream: resource("spec:\n  set: [a, b] # kpt-set: ${s}\n  args:\n  # the first\n  - --a\n  - --b\n  - --c # kpt-set: ${c}\n"),
			local:    resource("spec:\n  set: [a, b]\n  args:\n  - --a\n  - --b # old\n  - --c\n  - --d\n"),
			want:     resource("spec:\n  set: [a, b] # kpt-set: ${s}\n  args:\n  # the first\n  - --a\n  - --b\n  - --c # kpt-set: ${c}\n  - --d\n"),
		},
		"in a resource that moved": {
			base:     "-- a.yaml --\n" + configMap("a", "x: 1 # old", "y: 1") + "-- b.yaml --\n" + configMap("b", "x: 1"),
			upstream: "-- c.yaml --\n" + configMap("a", "# head", "x: 1", "y: 1") + "-- b.yaml --\n" + configMap("b", "x: 1"),
			local:    "-- a.yaml --\n" + configMap("a", "x: 1 # old", "y: 2") + "-- b.yaml --\n" + configMap("b", "x: 1"),
			want:     "-- b.yaml --\n" + configMap("b", "x: 1") + "-- c.yaml --\n" + configMap("a", "# head", "x: 1", "y: 2"),
		},
		"between documents": {
			base:     configMap("a", "x: 1") + "---\n" + configMap("b", "x: 1"),
			upstream: configMap("a", "x: 1 # a") + "# about b\n---\n# b itself\n" + configMap("b", "x: 1"),
			local:    configMap("a", "x: 1") + "---\n" + configMap("b", "x: 2"),
			want:     configMap("a", "x: 1 # a") + "# about b\n---\n# b itself\n" + configMap("b", "x: 2"),
		},
		"a document added in the middle": {
			base:     configMap("a", "x: 1") + "---\n" + configMap("b", "x: 1"),
			upstream: configMap("a", "x: 1 # a") + "---\n# new\n" + configMap("n", "x: 1") + "---\n" + configMap("b", "x: 1"),
			local:    configMap("a", "x: 1") + "---\n" + configMap("b", "x: 2"),
			want:     configMap("a", "x: 1 # a") + "---\n# new\n" + configMap("n", "x: 1") + "---\n" + configMap("b", "x: 2"),
		},
		"of a Kptfile": {
			base:     "-- Kptfile --\napiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: a\ninfo:\n  description: one # old\n",
			upstream: "-- Kptfile --\n# Copyright\napiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: up\ninfo:\n  # about it\n  description: one\n",
			local:    "-- Kptfile --\napiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: mine\ninfo:\n  description: one # old\n  site: x\n",
			want:     "-- Kptfile --\n# Copyright\napiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: mine\ninfo:\n  # about it\n  description: one\n  site: x\n",
		},
		"a base that is a guess": {
			reason:   "nothing of local goes, but a value does not keep another one's setter",
			options:  Options{Guess: true},
			base:     configMap("a", "# head", "x: 1 # kpt-set: ${x}", "y: 1"),
			upstream: configMap("a", "x: 2", "y: 1"),
			local:    configMap("a", "# head", "x: 1 # kpt-set: ${x}", "y: 2"),
			want:     configMap("a", "# head", "x: 2", "y: 2"),
		},
		"CR LF": {
			reason:   "a text keeps its line breaks",
			base:     configMap("a", "x: 1", "y: 1"),
			upstream: configMap("a", "# head", "x: 1", "y: 2"),
			local:    strings.ReplaceAll(configMap("a", "x: 3", "y: 1"), "\n", "\r\n"),
			want:     strings.ReplaceAll(configMap("a", "# head", "x: 3", "y: 2"), "\n", "\r\n"),
		},
	})
}

func resource(rest string) string {
	return "apiVersion: example.com/v1\nkind: X\nmetadata:\n  name: a\n" + rest
}

// TestWriting: what upstream writes another way follows, in a file that both
// sides edited.
func TestWriting(t *testing.T) {
	runCases(t, map[string]mergeCase{
		"empty values, quotes, blank lines": {
			base:     resource("spec:\n  a: x\n  b: y  # c\n  labels: {a: b}\n  z: 1\n"),
			upstream: resource("\nspec:\n  a: 'x'\n\n  b: y    # c\n  labels:\n  empty:\n  z: 1\n"),
			local:    resource("spec:\n  a: x\n  b: y  # c\n  labels: {a: b}\n  z: 2\n"),
			want:     resource("\nspec:\n  a: 'x'\n\n  b: y    # c\n  labels:\n  empty:\n  z: 2\n"),
		},
		"lines of a file in a value": {
			reason:   "each side changed other lines",
			base:     configMap("a", "nginx.conf: |", "  workers 1;", "  http {", "    gzip on;", "  }", "y: 1"),
			upstream: configMap("a", "nginx.conf: |", "  workers 1;", "  http {", "    gzip off;", "    tokens off;", "  }", "y: 1"),
			local:    configMap("a", "nginx.conf: |", "  workers 8;", "  http {", "    gzip on;", "  }", "y: 2"),
			want:     configMap("a", "nginx.conf: |", "  workers 8;", "  http {", "    gzip off;", "    tokens off;", "  }", "y: 2"),
		},
		"lines of a file in a value, overlapping": {
			reason:    "upstream wins the lines that both changed, and local keeps the others",
			base:      configMap("a", "nginx.conf: |", "  workers 1;", "  http {", "    gzip on;", "  }", "y: 1"),
			upstream:  configMap("a", "nginx.conf: |", "  workers 1;", "  http {", "    gzip off;", "  }", "y: 1"),
			local:     configMap("a", "nginx.conf: |", "  workers 8;", "  http {", "    gzip static;", "  }", "y: 1"),
			want:      configMap("a", "nginx.conf: |", "  workers 8;", "  http {", "    gzip off;", "  }", "y: 1"),
			conflicts: []string{`r.yaml: ConfigMap/a: data["nginx.conf"]: upstream wins with " gzip off;\n"; local was " gzip static;\n"`},
		},
		"lines of a file in a value, kept": {
			options:   Options{Keep: true},
			base:      configMap("a", "f: |", "  a", "  b", "  -", "  c"),
			upstream:  configMap("a", "f: |", "  a", "  up", "  -", "  C"),
			local:     configMap("a", "f: |", "  a", "  mine", "  -", "  c"),
			want:      configMap("a", "f: |", "  a", "  mine", "  -", "  C"),
			conflicts: []string{`r.yaml: ConfigMap/a: data.f: local wins with "mine\n"; upstream was "up\n"`},
		},
		"lines of a Secret": {
			base:      "apiVersion: v1\nkind: Secret\nmetadata:\n  name: s\nstringData:\n  f: |\n    a\n    b\n",
			upstream:  "apiVersion: v1\nkind: Secret\nmetadata:\n  name: s\nstringData:\n  f: |\n    a\n    up\n",
			local:     "apiVersion: v1\nkind: Secret\nmetadata:\n  name: s\nstringData:\n  f: |\n    a\n    mine\n",
			want:      "apiVersion: v1\nkind: Secret\nmetadata:\n  name: s\nstringData:\n  f: |\n    a\n    up\n",
			conflicts: []string{`r.yaml: Secret/s: stringData.f: upstream wins with (redacted); local was (redacted)`},
		},
		"YAML that is not a resource": {
			base:     "-- values.yaml --\n# v1\na: 1 # one\nb: 1\n",
			upstream: "-- values.yaml --\n# v2\na: 1\n\nb: 1\nc:\n",
			local:    "-- values.yaml --\n# v1\na: 1 # one\nb: 2\n",
			want:     "-- values.yaml --\n# v2\na: 1\n\nb: 2\nc:\n",
		},
	})
}
