package carry

import (
	"testing"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

func TestOver(t *testing.T) {
	cases := map[string]struct{ reason, old, now, want string }{
		"Same":     {"sorted keys, lost comments and other spellings are no change", "b: 1.50 # c\na: ~\nd: True\n", "a: null\nb: 1.5\nd: true\n", ""},
		"Value":    {"a comment stays where its value changes", "a: x # c\nb: y # d\n", "b: z\na: x\n", "a: x # c\nb: z # d\n"},
		"Remove":   {"a key goes", "a: 1 # c\nb: 2\n", "a: 1\n", "a: 1 # c\n"},
		"Append":   {"a new key comes last", "b: 1 # c\n", "a: 2\nb: 1\n", "b: 1 # c\na: 2\n"},
		"Type":     {"a number that became text", "a: 1\n", "a: \"1\"\n", "a: \"1\"\n"},
		"ByName":   {"list entries are paired by name", "l:\n- name: a # one\n- name: b # two\n", "l:\n- name: b\n  x: 1\n- name: a\n", "l:\n- name: b # two\n  x: 1\n- name: a # one\n"},
		"Inserted": {"plain entries are paired by value", "l:\n- a # one\n- b # two\n", "l:\n- x\n- a\n- b\n", "l:\n- x\n- a # one\n- b # two\n"},
		"Merge":    {"merge keys that a program wrote out stay where nothing changed", "x: &x {p: 1}\ny:\n  <<: *x\n  q: 2\n", "x: {p: 1}\ny: {p: 1, q: 2}\n", ""},
		"Comment":  {"a comment that a program wrote is taken", "a: 1\n", "a: 1 # new\n", "a: 1 # new\n"},
		"BigInt":   {"numbers beyond floats are told apart", "a: 9007199254740993\n", "a: 9007199254740992\n", "a: 9007199254740992\n"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			old, now := yaml.MustParse(tc.old), yaml.MustParse(tc.now)
			if got := Differs(old.YNode(), now.YNode()); got != (tc.want != "") {
				t.Fatalf("%s: differs %v", tc.reason, got)
			}
			if tc.want == "" {
				return
			}
			Over(old.YNode(), now.YNode())
			if got := old.MustString(); got != tc.want {
				t.Errorf("%s:\n got %q\nwant %q", tc.reason, got, tc.want)
			}
			if Differs(old.YNode(), now.YNode()) {
				t.Errorf("%s: still differs", tc.reason)
			}
		})
	}
}
