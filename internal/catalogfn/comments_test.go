package catalogfn

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/function"
)

const commented = `apiVersion: v1
kind: ConfigMap
metadata: {name: it}
spec:
  envs:
  - dev
  - stage
  list: [dev, other]
  images:
  - image: nginx:1.0 # pinned
`

// TestComments looks at the trees: what is a comment's alone.
func TestComments(t *testing.T) {
	cases := map[string]struct {
		reason, function, config string
		want                     map[string]string // value or key → its line comment
	}{
		"Lists": {
			reason: "a list of the same elements gets one comment, at its key; a flow list with a setter is opened", function: "create-setters",
			config: "kind: ConfigMap\napiVersion: v1\nmetadata: {name: x}\ndata:\n  environments: '[stage, dev]'\n  only: other\n",
			want:   map[string]string{"envs": "# kpt-set: ${environments}", "other": "# kpt-set: ${only}", "nginx:1.0": "# pinned"},
		},
		"Longest": {
			reason: "of setters whose values overlap the longest wins", function: "create-setters",
			config: "kind: ConfigMap\napiVersion: v1\nmetadata: {name: x}\ndata:\n  short: nginx\n  long: 'nginx:1.0'\n",
			want:   map[string]string{"nginx:1.0": "# kpt-set: ${long}"},
		},
		"Path": {
			reason: "a path with wildcards", function: "search-replace",
			config: "kind: ConfigMap\napiVersion: v1\nmetadata: {name: x}\ndata:\n  by-path: 'spec.*[*].image'\n  put-comment: 'kpt-set: ${image}'\n",
			want:   map[string]string{"nginx:1.0": "# kpt-set: ${image}"},
		},
		"Group": {
			reason: "groups of the expression in the comment", function: "search-replace",
			config: "kind: ConfigMap\napiVersion: v1\nmetadata: {name: x}\ndata:\n  by-value-regex: '^(.*):1.0$'\n  put-comment: 'was ${1}'\n",
			want:   map[string]string{"nginx:1.0": "# was nginx"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			f, _ := Lookup(tc.function)
			p := parse(t, map[string]string{"a.yaml": commented})
			c := &function.Call{Package: p, Config: yaml.MustParse(tc.config)}
			if err := f.Releases[len(f.Releases)-1].Run(context.Background(), c); err != nil || c.Results.ExitCode() != 0 {
				t.Fatal(err, c.Results)
			}
			got := map[string]string{}
			collectComments(p.Resources()[0].Node().YNode(), got)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func collectComments(n *yaml.Node, out map[string]string) {
	if n.LineComment != "" {
		out[n.Value] = n.LineComment
	}
	for _, c := range n.Content {
		collectComments(c, out)
	}
}

func TestStarlarkBounds(t *testing.T) {
	cases := map[string]string{
		"Steps":   "def f():\n  while True:\n    pass\nf()\n",
		"Network": "load('http.star', 'http')\n",
		"Files":   "open('/etc/passwd')\n",
		"Clock":   "load('time.star', 'time')\n",
		"Fail":    "fail('no')\n",
		"Items":   "ctx.resource_list['items'] = 3\n",
		"Value":   "ctx.resource_list['items'][0]['f'] = len\n",
	}
	for name, source := range cases {
		t.Run(name, func(t *testing.T) {
			list := yaml.MustParse("kind: ResourceList\nitems:\n- {kind: ConfigMap}\nfunctionConfig: {apiVersion: fn.kpt.dev/v1alpha1, kind: StarlarkRun, metadata: {name: s}}\n")
			if err := list.PipeE(yaml.Lookup("functionConfig"), yaml.SetField("source", yaml.NewStringRNode(source))); err != nil {
				t.Fatal(err)
			}
			before := list.MustString()
			results, err := scriptRules{sameGVK}.run(context.Background(), list.YNode())
			if err != nil {
				t.Fatal(err)
			}
			if results.ExitCode() != 1 {
				t.Errorf("the script went through: %v", results)
			}
			if diff := cmp.Diff(before, list.MustString()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestConfigMistakes(t *testing.T) {
	for _, f := range All() {
		if f.Name == "remove-local-config-resources" {
			continue // takes none
		}
		for reason, cfg := range map[string]*yaml.RNode{
			"none":  nil,
			"empty": yaml.MustParse("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n"),
			"other": yaml.MustParse("apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: x}\n"),
		} {
			if f.Name == "upsert-resource" && cfg != nil {
				continue // any resource is its config
			}
			p := parse(t, map[string]string{"a.yaml": commented})
			c := &function.Call{Package: p, Config: cfg}
			if f.Releases[len(f.Releases)-1].List != nil {
				list := yaml.MustParse("items: []\n")
				if cfg != nil {
					setNode(list.YNode(), "functionConfig", cfg.YNode())
				}
				if results, err := f.Releases[len(f.Releases)-1].List(context.Background(), list.YNode()); err != nil || results.ExitCode() != 1 {
					t.Errorf("%s with config %s: %v, %v", f.Name, reason, results, err)
				}
				continue
			}
			if err := f.Releases[len(f.Releases)-1].Run(context.Background(), c); err != nil || c.Results.ExitCode() != 1 {
				t.Errorf("%s with config %s: %v, %v", f.Name, reason, c.Results, err)
			}
		}
	}
}
