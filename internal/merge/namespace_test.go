package merge

import (
	"strings"
	"testing"

	"github.com/variform/variform/internal/krm"
)

// A namespace that a pipeline sets makes no other resource: what upstream changes
// of it arrives. Two that are there by name are told apart.
func TestNamespaceSetByPipeline(t *testing.T) {
	const kptfile = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: web\n"
	deployment := func(namespace, image string) string {
		ns := ""
		if namespace != "" {
			ns = "  namespace: " + namespace + "\n"
		}
		return "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\n" + ns + "spec:\n  image: " + image + "\n"
	}
	for name, c := range map[string]struct{ base, upstream, local, want string }{
		"set":             {deployment("", "v1"), deployment("", "v2"), deployment("prod", "v1"), deployment("prod", "v2")},
		"replaced":        {deployment("example", "v1"), deployment("example", "v2"), deployment("prod", "v1"), deployment("prod", "v2")},
		"moved upstream":  {deployment("a", "v1"), deployment("b", "v1"), deployment("a", "v1"), deployment("b", "v1")},
		"deleted in both": {deployment("a", "v1"), "", "", ""},
		"copy beside it": {
			deployment("a", "v1"), deployment("a", "v2"), deployment("a", "v1") + "---\n" + deployment("b", "v1"),
			deployment("a", "v2") + "---\n" + deployment("b", "v1"),
		},
		"both add one": {
			deployment("a", "v1"), deployment("a", "v1") + "---\n" + deployment("c", "v1"), deployment("a", "v1") + "---\n" + deployment("b", "v1"),
			"",
		},
	} {
		t.Run(name, func(t *testing.T) {
			pkg := func(text string) *krm.Package {
				t.Helper()
				files := []krm.File{{Path: "Kptfile", Data: []byte(kptfile)}}
				if text != "" {
					files = append(files, krm.File{Path: "web.yaml", Data: []byte(text)})
				}
				p, err := krm.Parse(files)
				if err != nil {
					t.Fatal(err)
				}
				return p
			}
			res, err := Packages(pkg(c.base), pkg(c.upstream), pkg(c.local), Options{})
			if err != nil {
				t.Fatal(err)
			}
			f, _ := res.Package.Read("web.yaml")
			got := string(f.Data)
			if name == "both add one" {
				for _, ns := range []string{"a", "b", "c"} {
					if !strings.Contains(got, "namespace: "+ns+"\n") {
						t.Errorf("namespace %s is lost:\n%s", ns, got)
					}
				}
				return
			}
			if got != c.want || len(res.Conflicts) > 0 {
				t.Errorf("got\n%swant\n%sconflicts %v", got, c.want, res.Conflicts)
			}
		})
	}
}
