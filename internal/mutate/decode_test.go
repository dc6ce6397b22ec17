package mutate

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/yamltree"
)

const wholeKptfile = `apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: web # said
  namespace: shop
  labels: {a: b, "1": "2"}
  annotations:
    config.kubernetes.io/local-config: "true"
    long: |
      two
      lines
upstream:
  type: git
  git: {repo: https://example.com/catalog.git, directory: /web, ref: v1}
  updateStrategy: resource-merge
upstreamLock:
  type: git
  git:
    repo: https://example.com/catalog.git
    directory: /web
    ref: v1
    commit: 0123456789abcdef0123456789abcdef01234567
info:
  description: what it is
  readinessGates:
  - conditionType: config.injection.A.x
  - conditionType: other
pipeline:
  mutators:
  - image: set-labels:v1
    configMap: {a: b}
  validators: []
status:
  conditions:
  - type: config.injection.A.x
    status: "True"
    reason: ConfigInjected
    message: injected "ConfigMap/a"
  - {type: other, status: "False"}
`

// sameDecoded holds what is decoded plainly to what the library says.
func sameDecoded(t *testing.T, root *yaml.Node) (plainly bool) {
	t.Helper()
	got, plainly := decodePlain(root)
	if !plainly {
		return false
	}
	var want kptfilev1.KptFile
	if err := root.Decode(&want); err != nil {
		t.Errorf("the library refuses what is decoded plainly: %v", err)
	} else if d := cmp.Diff(&want, got); d != "" {
		t.Errorf("(-library +plainly)\n%s", d)
	}
	return true
}

// TestDecodePlain takes each value away, puts another into its place, and beside it.
func TestDecodePlain(t *testing.T) {
	for _, text := range []string{
		wholeKptfile, "apiVersion: kpt.dev/v1\nkind: Kptfile\n", "{}", "metadata: {}\n", "metadata: {labels: {}, annotations: {}}\n", "status: {}\n",
		"status: {conditions: []}\n", "info: {readinessGates: []}\n", "upstream: {}\nupstreamLock: {git: {}}\n", "pipeline: {}\n", "pipeline:\n",
	} {
		if !sameDecoded(t, yaml.MustParse(text).YNode()) {
			t.Errorf("not decoded plainly:\n%s", text)
		}
	}
	others := []string{
		"text", "5", "true", "1.5", "null", "~", "''", `"5"`, "!!str 5", "!own x", "2001-01-01", "[]", "{}", "[a]", "{a: b}", "[{}]", "[[a]]", "!own {}", "!own []",
		"[{conditionType: x}]", "{type: x, git: {repo: 5}}", "{name: a, name: b}", "{\"<<\": a, \"<<\": b}", "{? [a] : b}", "{mutators: [5]}", "{mutators: [{image: 5}]}",
		"!own {name: a, type: b}", "!!set {name, type}", "!!omap [{a: b}]", "!own [{type: a, status: b}]", "!!map {a: b}", "!!seq [{conditionType: a}]",
	}
	rnd := rand.New(rand.NewPCG(1, 7))
	plain, not := 0, 0
	for range 200 {
		for _, other := range others {
			root := yaml.MustParse(wholeKptfile).YNode()
			var all []*yaml.Node
			var walk func(n *yaml.Node)
			walk = func(n *yaml.Node) {
				all = append(all, n)
				for _, c := range n.Content {
					walk(c)
				}
			}
			walk(root)
			n, v := all[rnd.IntN(len(all))], yaml.MustParse(other).YNode()
			switch rnd.IntN(5) {
			case 0:
				if len(n.Content) > 1 {
					n.Content = n.Content[2*(len(n.Content)%2):]
				}
			case 1:
				if n.Kind == yaml.MappingNode {
					n.Content = append(n.Content, yamltree.String([]string{"name", "git", "x", "<<", "conditions", "site", "inventory", "generic", "type"}[rnd.IntN(9)]), v)
				}
			case 2:
				if n.Kind == yaml.SequenceNode {
					n.Content = append(n.Content, v)
				}
			case 3:
				if n != root {
					*n = yaml.Node{Kind: yaml.AliasNode, Value: "x", Alias: v}
				}
			default:
				if n != root {
					*n = *v
				}
			}
			if sameDecoded(t, root) {
				plain++
			} else {
				not++
			}
		}
	}
	if plain < 500 || not < 500 {
		t.Errorf("%d are decoded plainly, %d not: the test shows little", plain, not)
	}
}

// TestDecodePlainOfAll holds each field that is decoded plainly to say so: another of the
// type is the library's.
func TestDecodePlainOfAll(t *testing.T) {
	for text, want := range map[string]bool{
		"info: {description: a}":                                      true,
		"info: {site: a}":                                             false,
		"inventory: {name: a}":                                        false,
		"status: {renderStatus: {errorSummary: a}}":                   false,
		"upstreamLock: {generic: {storeID: a}}":                       false,
		"metadata: {creationTimestamp: null}":                         false,
		"metadata: {name: 5}":                                         false,
		"metadata: {labels: {a: 5}}":                                  false,
		"metadata: {labels: {5: a}}":                                  false,
		"metadata: {labels: {\"<<\": a, \"<<\": b}}":                  false,
		"metadata: {name: &a a}\npipeline: {mutators: [{image: *a}]}": true,
		"metadata: {name: &n a, labels: {a: *n}}":                     false,
		"metadata: {name: a}\nmetadata: {name: b}":                    false,
		"pipeline: {mutators: [{image: a, name: b}]}":                 true,
		"pipeline: {mutators: {}}":                                    false,
		"later: a":                                                    false,
	} {
		n := yaml.Node{}
		if err := yaml.Unmarshal([]byte(text), &n); err != nil {
			t.Fatal(err)
		}
		if got := sameDecoded(t, yamltree.Deref(&n)); got != want {
			t.Errorf("%s: decoded plainly %t, want %t", text, got, want)
		}
	}
}
