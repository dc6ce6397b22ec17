package conformance_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/merge"
)

// kptCases is how many cases of kpt and kyaml there are. (INDEX.md counts one
// more, in merge-comment, than there are folders.)
const kptCases = 142

// kptDeviations are the cases in which ours is to do better than kpt, by the
// design or by the list of kpt's own defects (INDEX.md). One that passes is
// stale and fails.
var kptDeviations = map[string]string{
	"kptfile-merge/add-function-at-random-location-with-name-specified": "three functions that local added are kept and the two of upstream " +
		"updated in their places; kpt drops all that local added (docs/design/hydration-and-update.md: an edit that does not conflict is never lost)",
	"kptfile-merge/multiple-declarations-of-same-function": "as above: kpt drops the three functions that local added",
	"kptfile-update/pipeline-in-local-is-emptied-if-it-is-gone-from-upstream": "the function that local added is kept; upstream removed only its own " +
		"(docs/design/hydration-and-update.md: an edit that does not conflict is never lost)",
	"kptfile-update/readinessGates-removed-and-added-in-both-upstream-and-local": "the gate that local added and its condition are kept; kpt drops " +
		"them, so that a package could be approved too early (docs/design/hydration-and-update.md: an edit that does not conflict is never lost)",
	"kptfile-update/readinessGate-added-removed-in-upstream": "local is like base, so the result is upstream, which has neither info nor status; " +
		"kpt leaves both as {} (untouched local follows upstream: merge(base, x, base) = x)",
	"kyaml-merge3/element/03-Add-a-field-to-the-element-element-missing-from-dest": "a field that local deleted and upstream changed comes back whole, " +
		"not as a fragment without its image (INDEX.md, first defect)",
	"updater-dirs/resource-merge/keep-tagged-null": "a null that local wrote stays and is told as a conflict; kpt drops it, so that the update " +
		"after that brings upstream's value back (docs/design/hydration-and-update.md: an edit that does not conflict is never lost; merging is idempotent)",
	"updater-dirs/resource-merge/TestUpdate_ResourceMerge__doesn-t_update_remote_subpackages": "a subpackage whose upstream local left alone is merged with its parent; " +
		"in kpt this function leaves it to the next one, and kpt pkg update as a whole merges it too",
	"updater-dirs/fast-forward/TestUpdate_FastForward__doesn-t_update_remote_subpackages":     "as above",
	"updater-dirs/force-delete-replace/TestUpdate_Replace__doesn-t_update_remote_subpackages": "as above",
	"kyaml-merge3/element/04-Update-a-field-on-the-elem-element-missing-from-the-dest":        "a field that local deleted comes back whole (INDEX.md, first defect)",
}

// kptCase is one folder with a case.
type kptCase struct {
	family, name, dir string

	// of case.json
	UpdateUpstream bool     `json:"updateUpstream"`
	Strategy       string   `json:"strategy"`
	IsRoot         *bool    `json:"isRoot"`
	LocalDir       string   `json:"localDir"`
	CompareOnly    []string `json:"compareOnly"`
	ErrMsg         string   `json:"errMsg"`
}

// kptFamily drives the cases of one family. It returns how the outcome
// differs from the expected one, and whether the bytes are equal.
type kptFamily func(c kptCase) (diff string, bytesEqual bool, err error)

var kptFamilies = map[string]kptFamily{
	"kptfile-update":                    kptfile,
	"kptfile-merge":                     kptfile,
	"merge-comment":                     mergeComments,
	"merge3-identity":                   identities,
	"kyaml-merge3/element":              documents,
	"kyaml-merge3/kustomization":        documents,
	"kyaml-merge3/list":                 documents,
	"kyaml-merge3/map":                  documents,
	"kyaml-merge3/scalar":               documents,
	"updater-dirs/copy-merge":           directories,
	"updater-dirs/fast-forward":         directories,
	"updater-dirs/force-delete-replace": directories,
	"updater-dirs/resource-merge":       directories,
	"updater-dirs/non-krm-files":        directories,
}

func TestKpt(t *testing.T) {
	root := kptDir(t)
	seen, passed, equalBytes := 0, 0, 0
	used := map[string]bool{}
	for _, family := range sortedFamilies() {
		for _, c := range kptCasesOf(t, root, family) {
			seen++
			key := c.family + "/" + c.name
			used[key] = true
			t.Run(key, func(t *testing.T) {
				diff, same, err := kptFamilies[family](c)
				if err != nil {
					t.Fatal(err)
				}
				reason, deviates := kptDeviations[key]
				switch {
				case diff == "" && deviates:
					t.Errorf("the deviation is stale, remove it: %s", reason)
				case diff == "":
					passed++
				case deviates:
					t.Logf("deviates: %s\n%s", reason, diff)
				default:
					t.Errorf("(-want +got):\n%s", diff)
				}
				if same {
					equalBytes++
				}
			})
		}
	}
	if seen != kptCases {
		t.Errorf("found %d cases, want %d", seen, kptCases)
	}
	for key := range kptDeviations {
		if !used[key] {
			t.Errorf("the deviation %q is no case", key)
		}
	}
	t.Logf("kpt and kyaml: %d cases, %d equal as parsed, %d deviations, %d equal byte for byte", seen, passed, len(kptDeviations), equalBytes)
}

func sortedFamilies() []string {
	var out []string
	for f := range kptFamilies {
		out = append(out, f)
	}
	sort.Strings(out)
	return out
}

func kptDir(t *testing.T) string {
	dir := os.Getenv("CONFORMANCE_DIR")
	if dir == "" {
		dir = "../../../shared/conformance"
	} else if !filepath.IsAbs(dir) {
		for _, d := range []string{dir, filepath.Join("..", "..", dir)} { // of this folder, or of the module
			if _, err := os.Stat(d); err == nil {
				dir = d
				break
			}
		}
	}
	dir = filepath.Join(dir, "kpt")
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("SKIPPED: no kpt cases at %s; set CONFORMANCE_DIR to the folder that has kpt/", dir)
	}
	return dir
}

func kptCasesOf(t *testing.T, root, family string) []kptCase {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(root, family))
	if err != nil {
		t.Fatal(err)
	}
	var out []kptCase
	for _, e := range entries {
		c := kptCase{family: family, name: e.Name(), dir: filepath.Join(root, family, e.Name())}
		data, err := os.ReadFile(filepath.Join(c.dir, "case.json"))
		if err == nil {
			err = json.Unmarshal(data, &c)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("%s: %v", c.dir, err)
		}
		out = append(out, c)
	}
	return out
}

// read returns one file of a case; "" where it is missing.
func (c kptCase) read(name string) string {
	data, _ := os.ReadFile(filepath.Join(c.dir, name))
	return string(data)
}

// kptfile drives the merge of Kptfiles.
func kptfile(c kptCase) (string, bool, error) {
	var trees [3]*yaml.RNode
	for i, name := range []string{"origin.yaml", "updated.yaml", "local.yaml"} {
		n, err := yaml.Parse(c.read(name))
		if err != nil {
			return "", false, fmt.Errorf("%s: %w", name, err)
		}
		trees[i] = n
	}
	got, _, err := merge.Kptfile(trees[0], trees[1], trees[2], c.UpdateUpstream)
	if err != nil {
		return "", false, err
	}
	return compareYAML(c.read("expected.yaml"), got.MustString())
}

// documents drives the merge of single documents.
func documents(c kptCase) (string, bool, error) {
	got, _, err := merge.Documents([]byte(c.read("origin.yaml")), []byte(c.read("updated.yaml")), []byte(c.read("local.yaml")))
	if err != nil {
		return "", false, err
	}
	return compareYAML(c.read("expected.yaml"), string(got))
}

// identities drives the merge of one file with several resources.
func identities(c kptCase) (string, bool, error) {
	var pkgs [3]*krm.Package
	for i, name := range []string{"origin.yaml", "updated.yaml", "local.yaml"} {
		p, err := krm.Parse([]krm.File{{Path: "f1.yaml", Data: []byte(c.read(name))}})
		if err != nil {
			return "", false, err
		}
		pkgs[i] = p
	}
	res, err := merge.Packages(pkgs[0], pkgs[1], pkgs[2], merge.Options{})
	if c.ErrMsg != "" {
		if err == nil || !strings.Contains(err.Error(), c.ErrMsg) {
			return fmt.Sprintf("got error %v, want one with %q", err, c.ErrMsg), false, nil
		}
		return "", true, nil
	}
	if err != nil {
		return "", false, err
	}
	got, _ := res.Package.Read("f1.yaml")
	return compareYAML(c.read("expected.yaml"), string(got.Data))
}

// mergeComments drives AddMergeComments.
func mergeComments(c kptCase) (string, bool, error) {
	p, err := krm.Parse([]krm.File{{Path: "f1.yaml", Data: []byte(c.read("input.yaml"))}})
	if err != nil {
		return "", false, err
	}
	if err := merge.AddMergeComments(p); err != nil {
		return "", false, err
	}
	got, _ := p.Read("f1.yaml")
	diff, same, err := compareYAML(c.read("expected.yaml"), string(got.Data))
	return diff + cmp.Diff(comments(c.read("expected.yaml")), comments(string(got.Data))), same, err
}

func comments(text string) []string {
	var out []string
	for line := range strings.SplitSeq(text, "\n") {
		if _, comment, ok := strings.Cut(line, "#"); ok {
			out = append(out, strings.TrimSpace(comment))
		}
	}
	return out
}

// directories drives the merge of packages.
func directories(c kptCase) (string, bool, error) {
	local := "local"
	if c.LocalDir != "" {
		local = c.LocalDir
	}
	var pkgs [4]*krm.Package
	for i, name := range []string{"origin", "updated", local, "expected"} {
		p, err := packageAt(filepath.Join(c.dir, name))
		if err != nil {
			return "", false, err
		}
		pkgs[i] = p
	}
	var res *merge.Result
	var err error
	if c.Strategy == "" {
		res, err = merge.OtherFiles(pkgs[0], pkgs[1], pkgs[2])
	} else {
		res, err = merge.Packages(pkgs[0], pkgs[1], pkgs[2], merge.Options{
			Strategy: merge.Strategy(c.Strategy), Subpackage: c.IsRoot != nil && !*c.IsRoot,
		})
	}
	if err != nil {
		return "", false, err
	}
	return comparePackages(pkgs[3], res.Package, c.CompareOnly)
}

func packageAt(dir string) (*krm.Package, error) {
	var files []krm.File
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && p == dir {
			return fs.SkipAll
		}
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, p)
		files = append(files, krm.File{Path: filepath.ToSlash(rel), Data: data})
		return err
	})
	if err != nil {
		return nil, err
	}
	return krm.Parse(files)
}

// comparePackages compares all files, or some: YAML as parsed, others byte for
// byte. Files that are compared alone are compared byte for byte.
func comparePackages(want, got *krm.Package, only []string) (string, bool, error) {
	var out strings.Builder
	if len(only) == 0 {
		out.WriteString(cmp.Diff(want.Paths(), got.Paths()))
	}
	all := out.Len() == 0
	for _, p := range want.Paths() {
		w, _ := want.Read(p)
		g, ok := got.Read(p)
		switch {
		case len(only) > 0 && !contains(only, p), !ok:
			continue
		case len(only) > 0 || !strings.HasSuffix(p, ".yaml") && !strings.HasSuffix(p, kptfilev1.KptFileName):
			out.WriteString(cmp.Diff(string(w.Data), string(g.Data)))
		default:
			diff, same, err := compareYAML(string(w.Data), string(g.Data))
			if err != nil {
				return "", false, fmt.Errorf("%s: %w", p, err)
			}
			out.WriteString(diff)
			all = all && same
		}
	}
	return out.String(), all && out.Len() == 0, nil
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

// compareYAML compares all documents of two texts as parsed; the bytes may
// differ in white space at the end.
func compareYAML(want, got string) (string, bool, error) {
	w, err := values(want)
	if err != nil {
		return "", false, fmt.Errorf("expected: %w", err)
	}
	g, err := values(got)
	if err != nil {
		return "", false, fmt.Errorf("merged: %w", err)
	}
	diff := cmp.Diff(w, g)
	return diff, diff == "" && strings.TrimSpace(want) == strings.TrimSpace(got), nil
}

func values(text string) ([]any, error) {
	var out []any
	dec := yaml.NewDecoder(strings.NewReader(strings.TrimSpace(text)))
	for {
		var v any
		err := dec.Decode(&v)
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
}
