package importer_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/internal/importer"
	"github.com/variform/variform/internal/krm"
)

var large = flag.Bool("large", false, "import 3,000 folders too")

// generated is a fleet whose base, parameters and contradictions are known.
type generated struct {
	folders        []importer.Folder
	contradictions []string
}

const (
	baseApp = `# the app of example
apiVersion: apps/v1
kind: Deployment
metadata:
  name: example-app
  namespace: example
spec:
  replicas: 1
  template:
    spec:
      containers:
      - name: app
        image: registry.example.com/app:v1 # pinned
        args: ["--cluster=example", "--level=info"]
        env:
        - name: ENVIRONMENT
          value: dev
        - name: URL
          value: "https://example.apps.example.com"
        resources:
          limits:
            memory: 1Gi
`
	baseSpace = `apiVersion: v1
kind: Namespace
metadata:
  name: example
  labels:
    env: dev
    team: blue
    region: region
`
	baseRole = `apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: example-admin
  namespace: example
subjects:
- kind: Group
  name: github:blue
roleRef:
  kind: ClusterRole
  name: admin
  apiGroup: rbac.authorization.k8s.io
`
)

// generate makes n folders in two levels: most are the base with values, and one in some
// differs as people's copies do.
func generate(n int) generated {
	random := rand.New(rand.NewPCG(1, uint64(n)))
	var g generated
	for i := range n {
		region, name := []string{"eu", "us"}[i%2], fmt.Sprintf("c%04d", i)
		env := []string{"dev", "dev", "dev", "staging", "prod"}[random.IntN(5)]
		team := []string{"blue", "green", "red", "teal", "pink"}[random.IntN(5)]
		replicas := map[string]string{"dev": "1", "staging": "2", "prod": "3"}[env]
		at := region + "/" + name
		if i%150 == 7 {
			g.contradictions = append(g.contradictions, at)
			replicas = "9"
		}
		values := strings.NewReplacer("example.apps.example.com", name+".apps.example.com", "registry.example.com", "registry.example.com",
			"example", name, "replicas: 1", "replicas: "+replicas, ": dev", ": "+env, "github:blue", "github:"+team, "team: blue", "team: "+team,
			"region: region", "region: "+region, "1Gi", []string{"1Gi", "1Gi", "1Gi", "2Gi", "4Gi"}[random.IntN(5)])
		app, space, role := values.Replace(baseApp), values.Replace(baseSpace), values.Replace(baseRole)
		appFile := "app.yaml"
		switch i % 29 {
		case 11: // another order of keys and items
			app = strings.Replace(app, "        args: [\"--cluster="+name+"\", \"--level=info\"]\n", "", 1)
			app = strings.Replace(app, "      - name: app\n", "      - args: [\"--level=info\", \"--cluster="+name+"\"]\n        name: app\n", 1)
		case 13: // a comment, and a hash
			space = "# by hand\n" + strings.Replace(space, "  labels:\n", fmt.Sprintf("  annotations:\n    checksum/config: %016x\n  labels:\n", random.Uint64()), 1)
		case 17: // a resource is missing
			role = ""
		case 19: // a renamed file, with another resource of its own
			appFile = "deployment.yaml"
			app += "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: own\ndata:\n  a: b\n"
		case 23: // a value that nobody else has, and a list item
			space = strings.Replace(space, "team: "+team, "team: "+team+"\n    extra: x", 1)
			role = strings.Replace(role, "roleRef:", "- kind: Group\n  name: github:ops\nroleRef:", 1)
		case 5: // a sidecar
			app = strings.Replace(app, "      containers:\n", "      containers:\n      - name: proxy\n        image: proxy:v2\n", 1)
		}
		f := importer.Folder{Path: at, Names: []importer.Name{{Parameter: "name", Value: name}, {Parameter: "region", Value: region}}}
		for name, text := range map[string]string{appFile: app, "space.yaml": space, "role.yaml": role} {
			if text != "" {
				f.Files = append(f.Files, krm.File{Path: name, Data: []byte(text)})
			}
		}
		g.folders = append(g.folders, f)
	}
	return g
}

func find(t *testing.T, folders []importer.Folder) *importer.Result {
	t.Helper()
	out, err := importer.Import(context.Background(), folders, importer.Options{Package: "cluster"})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func text(files []krm.File) map[string]string {
	out := map[string]string{}
	for _, f := range files {
		out[f.Path] = string(f.Data)
	}
	return out
}

// TestGenerated: import finds the base, the parameters and the contradictions that a
// fleet was generated with.
func TestGenerated(t *testing.T) {
	for _, n := range []int{30, 300, 3000} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			if n > 300 && !*large {
				t.Skip("give -large")
			}
			g := generate(n)
			out := find(t, g.folders)
			if len(out.Packages) != 1 || len(out.Packages[0].Folders) != n {
				t.Fatalf("%d packages, skipped %v", len(out.Packages), out.Skipped)
			}
			p := out.Packages[0]
			files := text(p.Files)
			delete(files, "Kptfile")
			delete(files, "set-fields.yaml")
			if diff := cmp.Diff(map[string]string{"app.yaml": baseApp, "space.yaml": baseSpace, "role.yaml": strings.Replace(baseRole, "github:blue", "github:"+mode(p, "team"), 1)},
				strings2(files, "team: "+mode(p, "team"), "team: blue")); diff != "" {
				t.Errorf("base (-want +got):\n%s", diff)
			}
			got := map[string]string{}
			var against []string
			for _, q := range p.Parameters {
				got[q.Name] = q.Follows
				for _, c := range q.Contradictions {
					against = append(against, c.Folder+" "+c.Value)
				}
			}
			want := map[string]string{"name": "", "region": "", "environment": "", "memory": "", "team": ""}
			var planted []string
			if len(g.contradictions) > 0 {
				want["replicas"] = "environment"
			}
			for _, c := range g.contradictions {
				planted = append(planted, c+" 9")
			}
			slices.Sort(planted)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("parameters (-want +got):\n%s\n%s", diff, text(p.Files)["set-fields.yaml"])
			}
			if diff := cmp.Diff(planted, against); diff != "" {
				t.Errorf("contradictions (-want +got):\n%s", diff)
			}
			if p.Explained*100 < 97*p.Fields {
				t.Errorf("%d of %d fields are explained", p.Explained, p.Fields)
			}
		})
	}
}

func strings2(files map[string]string, from, to string) map[string]string {
	for name := range files {
		files[name] = strings.ReplaceAll(files[name], from, to)
	}
	return files
}

// mode is the most frequent value of a parameter.
func mode(p *importer.Package, name string) string {
	for _, q := range p.Parameters {
		if q.Name == name {
			return q.Values[0].Value
		}
	}
	return ""
}

// TestLeaveOneOut: without one folder, and in another order, the package is the same.
func TestLeaveOneOut(t *testing.T) {
	g := generate(300)
	want := text(find(t, g.folders).Packages[0].Files)
	random := rand.New(rand.NewPCG(3, 5))
	for range 20 {
		folders := slices.Clone(g.folders)
		i := random.IntN(len(folders))
		left := folders[i].Path
		folders = slices.Delete(folders, i, i+1)
		random.Shuffle(len(folders), func(a, b int) { folders[a], folders[b] = folders[b], folders[a] })
		if diff := cmp.Diff(want, text(find(t, folders).Packages[0].Files)); diff != "" {
			t.Errorf("without %s (-all +got):\n%s", left, diff)
		}
	}
}

func folder(name string, files ...string) importer.Folder {
	f := importer.Folder{Path: name, Names: []importer.Name{{Parameter: "name", Value: name}}}
	for i := 0; i < len(files); i += 2 {
		f.Files = append(f.Files, krm.File{Path: files[i], Data: []byte(files[i+1])})
	}
	return f
}

func configMap(name, data string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + name + "\ndata:\n" + data
}

// TestColumns: what becomes of one field, by its values in the folders a to j.
func TestColumns(t *testing.T) {
	for name, row := range map[string]struct {
		values []string // of data.x, by folder; the last one repeats
		base   string   // line of the base, "" for none
		rule   string   // part of set-fields.yaml, "" for none
		edit   string
	}{
		"alike":                      {[]string{"1"}, "  x: 1\n", "", ""},
		"one differs":                {[]string{"2", "1"}, "  x: 1\n", "", "few folders differ"},
		"a parameter with a default": {[]string{"2", "2", "2", "1"}, "  x: 1\n", "- name: x\n", ""},
		"a text with its type":       {[]string{`"2"`, `"2"`, `"2"`, `"1"`}, "  x: \"1\"\n", "  x: \"1\"\n", ""},
		"the folder's name":          {[]string{"a-db", "b-db", "c-db", "d-db", "e-db", "f-db", "g-db", "h-db", "i-db", "j-db"}, "  x: example-db\n", "- value: ${name}-db\n", ""},
		"a name within a word":       {[]string{"abba"}, "  x: abba\n", "", ""},
		"against the folder's name":  {[]string{"a-db", "b-db", "c-db", "d-db", "e-db", "f-db", "g-db", "h-db", "i-db", "other"}, "  x: example-db\n", "- name: x\n  value: ${name}-db\n", ""},
		"a value of each":            {[]string{"red", "blue", "teal", "pink", "gold", "grey", "lime", "navy", "cyan", "rust"}, "", "", "most folders have a value of their own"},
		"generated": {
			[]string{"0123456789a", "1123456789b", "2123456789c", "3123456789d", "4123456789e", "5123456789f", "612345678aa", "712345678bb", "812345678cc", "912345678dd"},
			"", "", "generated",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var folders []importer.Folder
			for i := range 10 {
				folders = append(folders, folder(string(rune('a'+i)), "c.yaml", configMap("settings", "  x: "+row.values[min(i, len(row.values)-1)]+"\n  y: 1\n")))
			}
			p := find(t, folders).Packages[0]
			files := text(p.Files)
			if want := configMap("settings", row.base+"  y: 1\n"); files["c.yaml"] != want {
				t.Errorf("base: %s", cmp.Diff(want, files["c.yaml"]))
			}
			if !strings.Contains(files["set-fields.yaml"], row.rule) || row.rule == "" && !strings.Contains(files["set-fields.yaml"], "fields: []") {
				t.Errorf("lacks %q:\n%s", row.rule, files["set-fields.yaml"])
			}
			var edits string
			for _, e := range p.Edits {
				edits += e.Why
			}
			if edits != row.edit {
				t.Errorf("edits %v", p.Edits)
			}
		})
	}
}

// TestAnchors: a file with anchors stays as one folder has it.
func TestAnchors(t *testing.T) {
	var folders []importer.Folder
	for i := range 6 {
		folders = append(folders, folder(fmt.Sprintf("f%d", i), "c.yaml", configMap("settings", fmt.Sprintf("  x: &x v%d\n  y: *x\n", i%2))))
	}
	p := find(t, folders).Packages[0]
	if got, want := text(p.Files)["c.yaml"], configMap("settings", "  x: &x v0\n  y: *x\n"); got != want {
		t.Errorf("base: %s", cmp.Diff(want, got))
	}
}

// TestSeveral: folders of two kinds give two packages, and one that is like no other is
// left alone.
func TestSeveral(t *testing.T) {
	var folders []importer.Folder
	for i := range 10 {
		folders = append(folders, folder(fmt.Sprintf("web-%d", i), "a.yaml", configMap("web", "  a: b\n"), "b.yaml", configMap("page", "  a: b\n")))
		if i < 5 {
			folders = append(folders, folder(fmt.Sprintf("db-%d", i), "d.yaml", configMap("db", "  a: b\n")))
		}
	}
	folders = append(folders, folder("odd", "o.yaml", configMap("odd", "  a: b\n")), folder("broken", "x.yaml", "a: [\n"))
	out := find(t, folders)
	var got []string
	for _, p := range out.Packages {
		got = append(got, fmt.Sprintf("%s %d", p.Name, len(p.Folders)))
	}
	for _, s := range out.Skipped {
		got = append(got, s.Path)
	}
	if diff := cmp.Diff([]string{"cluster 10", "cluster-2 5", "broken", "odd"}, got); diff != "" {
		t.Error(diff)
	}
}

// TestNoBase: folders that share nothing are refused.
func TestNoBase(t *testing.T) {
	var folders []importer.Folder
	for i := range 8 {
		folders = append(folders, folder(fmt.Sprintf("f%d", i), "a.yaml", configMap(fmt.Sprintf("x%c", 'a'+i), "  a: b\n"), "b.yaml", configMap("shared", fmt.Sprintf("  v%d: a\n", i)), "c.yaml", configMap(fmt.Sprintf("y%c", 'a'+i), "  a: b\n"), "d.yaml", configMap(fmt.Sprintf("z%c", 'a'+i), "  a: b\n")))
	}
	_, err := importer.Import(context.Background(), folders, importer.Options{Package: "cluster"})
	var none *importer.NoBaseError
	if !errors.As(err, &none) || err.Error() != "these 8 folders share 1 of 25 resources; there is no common base" {
		t.Error(err)
	}
}

// TestNamespaces: resources of one name in two namespaces are two resources.
func TestNamespaces(t *testing.T) {
	in := func(namespace, x string) string {
		return strings.Replace(configMap("same", "  x: "+x+"\n"), "  name: same\n", "  name: same\n  namespace: "+namespace+"\n", 1)
	}
	var folders []importer.Folder
	for i := range 8 {
		x := []string{"1", "2"}[i%2]
		folders = append(folders, folder(fmt.Sprintf("f%d", i), "c.yaml", in("one", x)+"---\n"+in("two", "7")))
	}
	p := find(t, folders).Packages[0]
	if got := text(p.Files)["set-fields.yaml"]; !strings.Contains(got, "{kind: ConfigMap, namespace: one, name: same, file: c.yaml}") {
		t.Error(got)
	}
	if got, want := text(p.Files)["c.yaml"], in("one", "1")+"---\n"+in("two", "7"); got != want {
		t.Error(cmp.Diff(want, got))
	}
}

// TestUnreadable: what keeps folders from being imported is named.
func TestUnreadable(t *testing.T) {
	_, err := importer.Import(context.Background(), []importer.Folder{folder("a", "x.yaml", "a: [\n"), folder("b", "c.yaml", configMap("c", "  a: b\n"))}, importer.Options{Package: "p"})
	if err == nil || !strings.HasPrefix(err.Error(), "1 of 2 folders can be imported, and a common base needs two; a: x.yaml:1: ") {
		t.Error(err)
	}
}
