// Package conformance runs cases that come from elsewhere, as data, through
// Variform's code (docs/design/fan-out.md, docs/design/hydration-and-update.md).
//
//	CONFORMANCE_DIR=../shared/conformance go test ./test/conformance/... -v
//
// The folder has porch/*.yaml, each {suite, cases: [{id, input, expected}]}.
// A file of this package registers runners for suites, or for single cases of
// a suite, in its init:
//
//	func init() {
//		Suite("pv_validate", func(r *R, c Case) { … r.Equal("combinedError", got, want) })
//		CaseOf("assertion_tests", "PVS unroll (TestUnrollDownstreamTargets)", runUnroll)
//		Deviation("assertion_tests/PV upstream validation (TestIsValidUpstram)/revision kept", "reason")
//	}
//
// A suite or case without a runner fails. A case (or a part of it, see R.Part)
// that is known to differ is a deviation with a reason; one that passes fails
// the test, for then it is stale.
package conformance

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/kyaml/yaml"
	sigsyaml "sigs.k8s.io/yaml"
)

const defaultDir = "../../../shared/conformance"

// Case is one case of a suite. Input and Expected are the YAML subtrees.
type Case struct {
	Suite    string
	ID       string
	Input    *yaml.RNode
	Expected *yaml.RNode
}

// Runner runs one case. It reports differences to r.
type Runner func(r *R, c Case)

var (
	suites     = map[string]Runner{}
	cases      = map[string]Runner{} // "suite/case id"
	deviations = map[string]string{} // "suite/case id" or "suite/case id/part" -> reason
)

// Suite registers the runner of all cases of a suite that have none of their own.
func Suite(name string, run Runner) {
	if suites[name] != nil {
		panic("two runners for suite " + name)
	}
	suites[name] = run
}

// CaseOf registers the runner of one case.
func CaseOf(suite, id string, run Runner) {
	key := suite + "/" + id
	if cases[key] != nil {
		panic("two runners for case " + key)
	}
	cases[key] = run
}

// Deviation lists a case, or a part of one, where design.md says to be better.
func Deviation(key, reason string) { deviations[key] = reason }

// R collects the findings of one case.
type R struct {
	key      string
	failures []string
	passed   []string // parts that passed
	failed   map[string][]string
	current  string // part
}

// Errorf reports a difference.
func (r *R) Errorf(format string, args ...any) {
	msg := fmt.Sprintf(format, args...)
	if r.current != "" {
		r.failed[r.current] = append(r.failed[r.current], msg)
		return
	}
	r.failures = append(r.failures, msg)
}

// Equal compares with go-cmp and reports the difference, as -expected +got.
func (r *R) Equal(what string, got, want any, opts ...cmp.Option) {
	if diff := cmp.Diff(want, got, opts...); diff != "" {
		r.Errorf("%s (-expected +got):\n%s", what, diff)
	}
}

// EqualYAML compares two values as data: by their JSON forms, with empty maps
// and lists the same as absent ones.
func (r *R) EqualYAML(what string, got, want any) {
	g, gerr := plain(got)
	w, werr := plain(want)
	if gerr != nil || werr != nil {
		r.Errorf("%s: %v %v", what, gerr, werr)
		return
	}
	r.Equal(what, g, w)
}

// Part runs a piece of a case that may be listed as a deviation of its own,
// under "suite/case id/name".
func (r *R) Part(name string, run func()) {
	r.current = name
	run()
	r.current = ""
	if len(r.failed[name]) == 0 {
		r.passed = append(r.passed, name)
	}
}

func plain(v any) (any, error) {
	data, err := marshal(v)
	if err != nil {
		return nil, err
	}
	var out any
	if err := sigsyaml.Unmarshal(data, &out); err != nil {
		return nil, err
	}
	return pruneEmpty(out), nil
}

func marshal(v any) ([]byte, error) {
	switch x := v.(type) {
	case *yaml.RNode:
		if x == nil {
			return []byte("null"), nil
		}
		s, err := x.String()
		return []byte(s), err
	case []byte:
		return x, nil
	}
	return sigsyaml.Marshal(v)
}

func pruneEmpty(v any) any {
	switch x := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, e := range x {
			if p := pruneEmpty(e); p != nil {
				out[k] = p
			}
		}
		if len(out) == 0 {
			return nil
		}
		return out
	case []any:
		if len(x) == 0 {
			return nil
		}
		out := make([]any, len(x))
		for i, e := range x {
			out[i] = pruneEmpty(e)
		}
		return out
	}
	return v
}

// Decode reads a subtree of the case, such as c.Input.Field("map"), into a Go
// value by its JSON tags. Absent subtrees leave it as it is.
func (c Case) Decode(r *R, n *yaml.RNode, into any) {
	if n.IsNilOrEmpty() {
		return
	}
	data, err := n.String()
	if err == nil {
		err = sigsyaml.Unmarshal([]byte(data), into)
	}
	if err != nil {
		r.Errorf("the case cannot be read: %v", err)
	}
}

// At looks a path of field names up below n; nil where it is not there.
func At(n *yaml.RNode, path ...string) *yaml.RNode {
	if n.IsNilOrEmpty() {
		return nil
	}
	found, err := n.Pipe(yaml.Lookup(path...))
	if err != nil {
		return nil
	}
	return found
}

// TextAt is the scalar at a path, empty where there is none.
func TextAt(n *yaml.RNode, path ...string) string {
	if found := At(n, path...); found != nil {
		return yaml.GetValue(found)
	}
	return ""
}

// dataDir finds the cases. A relative CONFORMANCE_DIR is taken from the
// repository's root, where the command is typed, or else from this folder.
func dataDir() (string, bool) {
	dir := os.Getenv("CONFORMANCE_DIR")
	if dir == "" {
		return defaultDir, isDir(defaultDir)
	}
	if !filepath.IsAbs(dir) {
		if fromRoot := filepath.Join("..", "..", dir); isDir(fromRoot) {
			return fromRoot, true
		}
	}
	return dir, isDir(dir)
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

type file struct {
	Suite string
	Cases []Case
}

func load(path string) (file, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return file{}, err
	}
	root, err := yaml.Parse(string(bytes.TrimSpace(data)))
	if err != nil {
		return file{}, fmt.Errorf("reading %s: %w", path, err)
	}
	f := file{Suite: strings.TrimPrefix(TextAt(root, "suite"), "extracted/")}
	list := At(root, "cases")
	if f.Suite == "" || list == nil {
		return file{}, fmt.Errorf("reading %s: no suite or no cases", path)
	}
	elems, err := list.Elements()
	if err != nil {
		return file{}, fmt.Errorf("reading %s: %w", path, err)
	}
	for _, e := range elems {
		f.Cases = append(f.Cases, Case{Suite: f.Suite, ID: TextAt(e, "id"), Input: At(e, "input"), Expected: At(e, "expected")})
	}
	return f, nil
}

// summary counts over all tests of the package, for TestMain.
var summary struct {
	sync.Mutex
	skipped        string
	passed, failed int
	deviated       []string
}

func TestMain(m *testing.M) {
	code := m.Run()
	printSummary()
	os.Exit(code)
}

func printSummary() {
	if summary.skipped != "" {
		fmt.Println(summary.skipped)
		return
	}
	if summary.passed+summary.failed+len(summary.deviated) == 0 {
		return
	}
	fmt.Printf("porch: %d passed, %d failed, %d deviations\n", summary.passed, summary.failed, len(summary.deviated))
	sort.Strings(summary.deviated)
	for _, d := range summary.deviated {
		for _, line := range strings.Split(d, "\n") {
			fmt.Println("  deviation", line)
		}
	}
}

func TestPorch(t *testing.T) {
	dir, ok := dataDir()
	if !ok {
		summary.skipped = "porch: skipped, no conformance data at " + dir + " (set CONFORMANCE_DIR)"
		t.Skip(summary.skipped)
	}
	paths, err := filepath.Glob(filepath.Join(dir, "porch", "*.yaml"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no cases in %s: %v", filepath.Join(dir, "porch"), err)
	}
	for _, path := range paths {
		f, err := load(path)
		if err != nil {
			t.Error(err)
			continue
		}
		t.Run(f.Suite, func(t *testing.T) {
			for _, c := range f.Cases {
				t.Run(c.ID, func(t *testing.T) { runCase(t, c) })
			}
		})
	}
}

func runCase(t *testing.T, c Case) {
	key := c.Suite + "/" + c.ID
	run := cases[key]
	if run == nil {
		run = suites[c.Suite]
	}
	if run == nil {
		count(false, "")
		t.Fatalf("no runner for suite %q, case %q", c.Suite, c.ID)
	}
	r := &R{key: key, failed: map[string][]string{}}
	run(r, c)
	problems, excused := r.judge()
	count(len(problems) == 0, strings.Join(excused, "\n"))
	for _, p := range problems {
		t.Error(p)
	}
}

// judge sets failures against the listed deviations.
func (r *R) judge() (problems, excused []string) {
	reason, listed := deviations[r.key]
	switch {
	case listed && len(r.failures) == 0 && len(r.failed) == 0:
		problems = append(problems, "stale deviation: "+r.key+" passes; remove it from the list")
	case listed:
		return nil, []string{r.key + ": " + reason}
	}
	problems = append(problems, r.failures...)
	for _, part := range r.passed {
		if _, ok := deviations[r.key+"/"+part]; ok {
			problems = append(problems, "stale deviation: "+r.key+"/"+part+" passes; remove it from the list")
		}
	}
	parts := make([]string, 0, len(r.failed))
	for part := range r.failed {
		parts = append(parts, part)
	}
	sort.Strings(parts)
	for _, part := range parts {
		if reason, ok := deviations[r.key+"/"+part]; ok {
			excused = append(excused, r.key+"/"+part+": "+reason)
			continue
		}
		for _, msg := range r.failed[part] {
			problems = append(problems, part+": "+msg)
		}
	}
	return problems, excused
}

func count(passed bool, excused string) {
	summary.Lock()
	defer summary.Unlock()
	switch {
	case !passed:
		summary.failed++
	case excused != "":
		summary.deviated = append(summary.deviated, excused)
	default:
		summary.passed++
	}
}
