package merge

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/internal/krm"
)

// What a commit's message says of an edit is read again as it was.
func TestParseConflict(t *testing.T) {
	web := krm.ID{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"}
	site := krm.ID{Kind: "ConfigMap", Name: "site"}
	for reason, c := range map[string]Conflict{
		"upstream's value":                       {Path: "d.yaml", Resource: web, Field: "spec.replicas", Winner: Upstream, Fate: Lost, Upstream: "3", Local: "9", By: "Ux (fbcc0d5)"},
		"nobody knows who wrote it":              {Path: "d.yaml", Resource: web, Field: "spec.replicas", Winner: Upstream, Fate: Lost, Upstream: "3", Local: "9"},
		"a name in a list":                       {Path: "a/d.yaml", Resource: web, Field: "spec.template.spec.containers[name=web].image", Winner: Upstream, Fate: Lost, Upstream: "r.example.com/web:2", Local: "r.example.com/web:1-hot", By: "Ann B. (0123abc)"},
		"the edit deleted it":                    {Path: "c.yaml", Resource: site, Field: "data.a", Winner: Upstream, Fate: Lost, Upstream: "1", Local: ""},
		"upstream deleted it":                    {Path: "c.yaml", Resource: site, Field: "data.a", Winner: Upstream, Fate: Lost, Upstream: "", Local: "1"},
		"a whole resource":                       {Path: "c.yaml", Resource: site, Winner: Upstream, Fate: Lost, Upstream: "(resource)", Local: "(deleted)x"},
		"a file":                                 {Path: "notes.txt", Winner: Upstream, Fate: Lost, Upstream: "sha256:01 (2 bytes)", Local: "sha256:02 (3 bytes)"},
		"a line of a file":                       {Path: "notes.txt", Field: "line 7", Winner: Upstream, Fate: Lost, Upstream: "a", Local: "b"},
		"values with our separators":             {Path: "c.yaml", Resource: site, Field: "data.a", Winner: Upstream, Fate: Lost, Upstream: "x; y, by z", Local: "one: two, by three"},
		"the branch won":                         {Path: "c.yaml", Resource: site, Field: "data.a", Winner: Upstream, Fate: Lost, Upstream: "1", Local: "2", By: "Ux (fbcc0d5)"},
		"the pipeline sets it":                   {Path: "c.yaml", Resource: site, Field: "data.a", Winner: Upstream, Fate: Overruled, Upstream: "1", Local: "2", Instead: "spec.packageContext of c1", By: "Ux (fbcc0d5)"},
		"both added it":                          {Path: "c.yaml", Resource: site, Field: "data.a", Winner: Upstream, Fate: BothAdded, Upstream: "1", Local: "2"},
		"a value was left out":                   {Path: "c.yaml", Resource: site, Field: "data.a", Winner: Upstream, Fate: LeftOut, Upstream: "1", Local: "2"},
		"local's stands, and its value is known": {Path: "c.yaml", Resource: site, Field: "data.a", Winner: Local, Fate: Kept, Upstream: "1", Local: "2", By: "Ux (fbcc0d5)"},
	} {
		t.Run(reason, func(t *testing.T) {
			said := c
			if reason == "the branch won" {
				said.Theirs, said.Ours = "branch main", DraftSide
			}
			got, ok := ParseConflict(said.String())
			if c.Fate == Kept { // nobody asks for its values
				c.Upstream, c.Local = "", ""
			}
			if diff := cmp.Diff(c, got); diff != "" || !ok {
				t.Errorf("%s (%t):\n%s", said, ok, diff)
			}
		})
	}
	for _, line := range []string{"", "and 3 more", "c.yaml: both added it, merged by field", "c.yaml: not taken, base unknown: upstream has 1; 2 stays", "x wins with y"} {
		if c, ok := ParseConflict(line); ok {
			t.Errorf("%q is %+v", line, c)
		}
	}
}

// Of these conflicts an edit by hand is missing afterwards.
func TestLosesEdit(t *testing.T) {
	for reason, tc := range map[string]struct {
		c    Conflict
		want bool
	}{
		"upstream won":                   {Conflict{Fate: Lost, Winner: Upstream}, true},
		"the pipeline sets it back":      {Conflict{Fate: Overruled, Winner: Upstream}, true},
		"both added it, and one stands":  {Conflict{Fate: BothAdded, Winner: Upstream, Upstream: "1", Local: "2"}, true},
		"both added it, by field":        {Conflict{Fate: BothAdded, Winner: Upstream}, false},
		"both added it, and the edit is": {Conflict{Fate: BothAdded, Winner: Local, Upstream: "1", Local: "2"}, false},
		"the edit was kept":              {Conflict{Fate: Kept, Winner: Local}, false},
		"removed upstream, and kept":     {Conflict{Fate: KeptThoughRemoved, Winner: Local}, false},
		"nothing was taken":              {Conflict{Fate: NotTaken, Winner: Local}, false},
		"a value was left out":           {Conflict{Fate: LeftOut, Winner: Upstream}, false},
	} {
		if got := tc.c.LosesEdit(); got != tc.want {
			t.Errorf("%s: %t", reason, got)
		}
	}
}

// A package tells whether it has the value that an edit gave.
func TestConflictIn(t *testing.T) {
	pkg, err := krm.Parse([]krm.File{{Path: "d.yaml", Data: []byte(`apiVersion: apps/v1
kind: Deployment
metadata: {name: web, annotations: {a.example.com/b: "yes"}}
spec:
  replicas: 9
  template: {spec: {containers: [{name: web, image: "r:1", env: [{name: DB_PASSWORD, value: x}]}]}}
`)}})
	if err != nil {
		t.Fatal(err)
	}
	web := krm.ID{Group: "apps", Kind: "Deployment", Name: "web"}
	for reason, tc := range map[string]struct {
		field, local, want string
		id                 krm.ID
		ok                 bool
	}{
		"a number":             {"spec.replicas", "9", "9", web, true},
		"another one":          {"spec.replicas", "7", "9", web, true},
		"an item":              {"spec.template.spec.containers[name=web].image", "r:1", "r:1", web, true},
		"a key with a dot":     {fieldPath([]string{"metadata", "annotations", "a.example.com/b"}), "yes", "yes", web, true},
		"it is not there":      {"spec.paused", "true", "", web, true},
		"nor is the resource":  {"spec.replicas", "9", "", krm.ID{Group: "apps", Kind: "Deployment", Name: "other"}, true},
		"a credential":         {"spec.template.spec.containers[name=web].env[name=DB_PASSWORD].value", redacted, redacted, web, false},
		"a resource, whole":    {"", "(resource)", "", web, false},
		"what is in no object": {"line 3", "a", "", krm.ID{}, false},
	} {
		t.Run(reason, func(t *testing.T) {
			got, ok := Conflict{Path: "d.yaml", Resource: tc.id, Field: tc.field, Local: tc.local}.In(pkg)
			if got != tc.want || ok != tc.ok {
				t.Errorf("%q, %t", got, ok)
			}
		})
	}
	if _, ok := (Conflict{Path: "d.yaml", Resource: web, Field: "spec.replicas"}).In(nil); ok {
		t.Error("no package has a value")
	}
}
