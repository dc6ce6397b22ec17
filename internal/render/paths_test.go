package render

import (
	"context"
	"maps"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/internal/krm"
)

// The two names of the annotation that says where a resource lies.
const (
	nowPath   = "internal.config.kubernetes.io/path"
	olderPath = "config.kubernetes.io/path"
)

// answers are what a script does to its items, and the file in its package that
// comes of it; "" is an error. Where kpt does otherwise (docs/kpt.md), it is odd.
var answers = map[string]struct {
	reason, script, want string
	odd                  bool
}{
	"Generated":     {"what comes without a path is named by kind and name", `add({})`, "configmap_x.yaml", false},
	"Namespace":     {"and lies in the folder of its namespace", `add({}, "n")`, "n/configmap_x.yaml", false},
	"Path":          {"a path counts from the package", `add({NOW: "x.yaml"})`, "x.yaml", false},
	"Dot":           {"a path is cleaned", `add({NOW: "./x.yaml"})`, "x.yaml", false},
	"DoubleSlash":   {"of slashes too", `add({NOW: "a//x.yaml"})`, "a/x.yaml", false},
	"LeadingSlash":  {"a leading slash is the package", `add({NOW: "/a/x.yaml"})`, "a/x.yaml", false},
	"UpAndBack":     {"as long as it stays inside", `add({NOW: "sub/../x.yaml"})`, "x.yaml", false},
	"Outside":       {"a path outside is an error", `add({NOW: "../x.yaml"})`, "", false},
	"SlashOutside":  {"with a slash before it too", `add({NOW: "/../x.yaml"})`, "", true},
	"Older":         {"the older name counts", `add({OLDER: "x.yaml"})`, "x.yaml", false},
	"Both":          {"alike under both names", `add({NOW: "x.yaml", OLDER: "x.yaml"})`, "x.yaml", false},
	"Mismatch":      {"two places are none", `add({NOW: "x.yaml", OLDER: "y.yaml"})`, "", false},
	"Text":          {"resources are written to YAML and JSON only", `add({NOW: "x.txt"})`, "", true},
	"Moved":         {"the annotation moves a resource", `put(NOW, "new.yaml")`, "new.yaml", false},
	"MovedSlash":    {"wherever it is cleaned to", `put(NOW, "/new.yaml")`, "new.yaml", false},
	"MovedOlder":    {"the older one does", `put(OLDER, "new.yaml")`, "new.yaml", false},
	"MovedBoth":     {"both do", "put(NOW, 'new.yaml')\nput(OLDER, 'new.yaml')", "new.yaml", false},
	"MovedMismatch": {"but not to two places", "put(NOW, 'new.yaml')\nput(OLDER, 'other.yaml')", "", false},
	"MovedOutside":  {"nor outside", `put(NOW, "../new.yaml")`, "", false},
	"Dropped":       {"one annotation less is as before", `first()["metadata"]["annotations"].pop(NOW)`, "cm.yaml", false},
	"DroppedOlder":  {"whichever", `first()["metadata"]["annotations"].pop(OLDER)`, "cm.yaml", false},
	"DroppedBoth":   {"without both it is named anew", "first()['metadata']['annotations'].pop(NOW)\nfirst()['metadata']['annotations'].pop(OLDER)", "configmap_cm.yaml", false},
}

const answerScript = `NOW = "` + nowPath + `"
OLDER = "` + olderPath + `"
items = ctx.resource_list["items"]
def first():
  return [r for r in items if r["kind"] == "ConfigMap"][0]
def put(key, value):
  first()["metadata"]["annotations"][key] = value
def add(annotations, namespace = ""):
  meta = {"name": "x"}
  if namespace:
    meta["namespace"] = namespace
  if annotations:
    meta["annotations"] = annotations
  items.append({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta})
`

// TestPathsOfAnswers holds that a resource lands where kpt puts it, in a package
// and in a subpackage, whatever runs the function.
func TestPathsOfAnswers(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: -short leaves out each path that an answer can have")
	}
	_, missing := exec.LookPath("kpt")
	for _, dir := range []string{"", "db"} {
		for name, tc := range answers {
			t.Run(path.Join("in", dir, name), func(t *testing.T) {
				p := answering(t, dir, tc.script)
				before := contents(t, p)
				for kind, opts := range starlarkKinds(t) {
					r := New(opts)
					res, err := r.Render(context.Background(), p)
					r.Close()
					if (err == nil) != (tc.want != "") {
						t.Fatalf("%s, by %s: %v", tc.reason, kind, err)
					}
					if err != nil {
						continue
					}
					got := added(before, contents(t, res.Package))
					want := []string{path.Join(dir, tc.want)}
					if tc.want == "cm.yaml" {
						want = nil
					}
					if diff := cmp.Diff(want, got); diff != "" {
						t.Errorf("%s, by %s (-want +got):\n%s", tc.reason, kind, diff)
					}
				}
				if missing == nil && !tc.odd {
					sameAsKpt(t, p)
				}
			})
		}
	}
}

// answering is a package with a subpackage, one of which runs the script.
func answering(t testing.TB, dir, script string) *krm.Package {
	t.Helper()
	files := map[string]string{"Kptfile": kptfileOf("root", ""), "db/Kptfile": kptfileOf("db", ""), "other/cm.yaml": configMap("other")}
	files[path.Join(dir, "Kptfile")] = kptfileOf("answering", "pipeline:\n  mutators:\n  - image: starlark:v0.5\n    configPath: run.yaml\n    selectors: [{name: cm}]\n")
	files[path.Join(dir, "cm.yaml")] = configMap("cm")
	files[path.Join(dir, "run.yaml")] = "apiVersion: fn.kpt.dev/v1alpha1\nkind: StarlarkRun\nmetadata:\n  name: run\nsource: |\n  " +
		strings.ReplaceAll(strings.TrimSpace(answerScript+script), "\n", "\n  ") + "\n"
	return pkg(t, files)
}

// added are the files of after that before has not.
func added(before, after map[string]string) (out []string) {
	for _, file := range slices.Sorted(maps.Keys(after)) {
		if _, ok := before[file]; !ok {
			out = append(out, file)
		}
	}
	return out
}
