package resolver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// caseFile is one file of the conformance cases; their INDEX.md describes the format.
type caseFile struct {
	Case     string         `json:"case"`
	Features []string       `json:"features"`
	Tier     string         `json:"tier"`
	Seed     map[string]any `json:"seed"`
	Given    given          `json:"given"`
	When     when           `json:"when"`
	Then     map[string]any `json:"then"`
}

type given struct {
	Catalog       []Package           `json:"catalog"`
	Installations []caseInstallation  `json:"installations"`
	APIs          []GVK               `json:"apis"`
	Platform      map[string]string   `json:"platform"`
	Defaults      map[string]string   `json:"defaults"`
	Tags          map[string][]string `json:"tags"`
	Lock          *Lock               `json:"lock"`
}

// caseInstallation is an installation; nothing is to go by what is remembered of its outputs.
type caseInstallation struct {
	Installation
	Cached any `json:"cached"`
}

// strictly reads JSON whose keys are all known: a case that says more than the runner
// understands would pass for the wrong reason.
func strictly(data []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	return d.Decode(into)
}

type when struct {
	request
	Each     []request `json:"each"`
	Sequence []request `json:"sequence"`
}

type request struct {
	Action string `json:"action"`
	Request
	Dependencies        *bool             `json:"dependencies"`
	InstallDependencies *bool             `json:"installDependencies"`
	Resolve             string            `json:"resolve"`
	AllowChanges        *[]string         `json:"allowChanges"`
	Simulate            map[string]string `json:"simulate"`
}

// world is the state that a case's requests change.
type world struct {
	ctx context.Context
	in  Input
}

func (g given) world(t *testing.T) *world {
	t.Helper()
	cat, err := NewCatalog(g.Catalog, WithDefaults(g.Defaults), withTags(g.Tags))
	if err != nil {
		t.Fatal(err)
	}
	w := &world{ctx: t.Context(), in: Input{Catalog: cat, APIs: g.APIs, Platform: g.Platform, Lock: g.Lock}}
	for _, i := range g.Installations {
		w.in.Installations = append(w.in.Installations, i.Installation)
	}
	return w
}

// outcome is what one request led to.
type outcome struct {
	err    error
	res    *Resolution
	req    request
	before []Installation
	w      *world
}

// do carries out one request.
func (w *world) do(r request) *outcome {
	o := &outcome{req: r, before: slices.Clone(w.in.Installations), w: w}
	switch r.Action {
	case "install", "resolve", "upgrade":
		o.resolve(w)
	default:
		o.err = fmt.Errorf("unknown action %q", r.Action)
	}
	return o
}

func (o *outcome) resolve(w *world) {
	r := o.req
	q := r.Request
	q.Upgrade = r.Action == "upgrade"
	q.SkipDependencies = r.Dependencies != nil && !*r.Dependencies
	q.ValidateOnly = r.Resolve == "check-only" || r.InstallDependencies != nil && !*r.InstallDependencies
	q.Allow = Changes{Upgrade: true}
	if r.AllowChanges != nil {
		q.Allow = Changes{slices.Contains(*r.AllowChanges, "upgrade"), slices.Contains(*r.AllowChanges, "downgrade")}
	}
	in := w.in
	in.Want = []Request{q}
	if o.res, o.err = Resolve(w.ctx, in); o.err != nil {
		return
	}
	w.in.Installations = o.res.Installations(w.in.Installations)
}

// elsewhere is what a case says of acting on installations, revisions, pulling and Secrets with values: what is resolved
// here goes to Git, and other systems do these (docs/design/dependencies.md#lifecycle-of-what-was-derived).
var elsewhere = regexp.MustCompile(`action: (invoke|uninstall|activate|reconcile)\b|\b(actsOn|imagePull[A-Z]\w+|serviceAccountAnnotations|secret|revisions|deleteDependencies|historyLimit|owners):`)

func casesDir(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("CASES_DIR")
	if dir == "" {
		dir = filepath.Join("..", "..", "shared", "conformance", "resolver", "cases")
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("no cases: set CASES_DIR to the folder of the resolver's conformance cases (%v)", err)
	}
	return dir
}

func TestCases(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(casesDir(t), "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".yaml"), func(t *testing.T) {
			if data, err := os.ReadFile(f); err == nil && elsewhere.Match(data) {
				t.Skipf("Variform does not have what the case is about: %s", elsewhere.Find(data))
			}
			runCase(t, readCase(t, f))
		})
	}
}

// TestOwnCases runs cases of our own, in the format of the conformance cases: they
// guard the same rules where those are not at hand.
func TestOwnCases(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "*", "*.yaml")) // cases, and graphs like people's
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".yaml"), func(t *testing.T) { runCase(t, readCase(t, f)) })
	}
}

func readCase(t *testing.T, file string) caseFile {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	c, err := parseCase(data)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return c
}

func parseCase(data []byte) (c caseFile, err error) {
	// YAML 1.2: a namespace may be called n without being false.
	var tree map[string]any
	if err := yaml.Unmarshal(data, &tree); err != nil {
		return c, err
	}
	if data, err = json.Marshal(tree); err != nil {
		return c, err
	}
	return c, strictly(data, &c)
}

// TestUnknownKeys holds that a case fails whose given or when, at any depth, has a key
// that the runner does not know.
func TestUnknownKeys(t *testing.T) {
	for _, text := range []string{
		"given: {catalogue: []}",
		"given: {catalog: [{package: a, versions: 1.0.0}]}",
		"given: {catalog: [{package: a, requires: [{alias: b, share: {mdoe: none}}]}]}",
		"given: {catalog: [{package: a, provides: [{gvk: {apiVersions: v1}}]}]}",
		"given: {catalog: [{package: a, provides: [{interfaces: b}]}]}",
		"given: {installations: [{name: a, bindngs: {}}]}",
		"when: {action: install, pkg: a}",
		"when: {each: [{allow: [upgrade]}]}",
		"when: {sequence: [{overrides: [{aliass: a}]}]}",
		"whne: {}",
	} {
		if _, err := parseCase([]byte("case: x\n" + text)); err == nil || !strings.Contains(err.Error(), "unknown field") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// outcomes carries out all requests of a case.
func outcomes(t *testing.T, c caseFile) []*outcome {
	t.Helper()
	var outs []*outcome
	switch {
	case len(c.When.Each) > 0:
		for _, r := range c.When.Each {
			outs = append(outs, c.Given.world(t).do(r))
		}
	case len(c.When.Sequence) > 0:
		w := c.Given.world(t)
		for _, r := range c.When.Sequence {
			outs = append(outs, w.do(r))
		}
	default:
		outs = append(outs, c.Given.world(t).do(c.When.request))
	}
	return outs
}

func runCase(t *testing.T, c caseFile) {
	t.Helper()
	outs := outcomes(t, c)
	common := map[string]any{}
	for k, v := range c.Then {
		switch k {
		case "each", "sequence":
			steps := v.([]any)
			if len(steps) != len(outs) {
				t.Fatalf("%d steps are expected, %d were made", len(steps), len(outs))
			}
			for i, s := range steps {
				checkAll(t, fmt.Sprintf("step %d", i+1), s.(map[string]any), outs[i])
			}
		case "total":
			checkKey(t, "end", k, v, outs[len(outs)-1])
		default:
			common[k] = v
		}
	}
	for i, o := range outs {
		if _, mixed := c.Then["result"]; mixed || len(common) > 0 {
			checkAll(t, fmt.Sprintf("request %d", i+1), common, o)
		}
	}
}

func checkAll(t *testing.T, at string, want map[string]any, o *outcome) {
	t.Helper()
	_, expectsError := want["error"]
	if r, ok := want["result"]; !expectsError && o.err != nil && (!ok || r == "ok") && want["needs"] == nil && len(want) > 0 && r != "mixed" {
		if _, only := want["creates"]; !only {
			t.Errorf("%s: failed: %v", at, o.err)
			return
		}
	}
	keys := make([]string, 0, len(want))
	for k := range want {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	for _, k := range keys {
		checkKey(t, at, k, want[k], o)
	}
}

// checkKey compares one key of then. An unknown key fails: nothing is passed over in silence.
func checkKey(t *testing.T, at, key string, want any, o *outcome) {
	t.Helper()
	switch key {
	case "note", "acceptableButWorse":
		return
	case "result":
		if got := o.result(); want != "mixed" && got != want {
			t.Errorf("%s: result is %s, want %v: %v", at, got, want, o.err)
		}
		return
	case "error":
		checkError(t, at, want.(map[string]any), o.err)
		return
	}
	got, ok := o.value(key)
	if !ok {
		t.Errorf("%s: the runner does not know how to check %q", at, key)
		return
	}
	if msg := contains(want, got, exact[key]); msg != "" {
		t.Errorf("%s: %s: %s\nwant %v\ngot  %v", at, key, msg, want, got)
	}
}

// exact are the keys whose lists are compared as a whole.
var exact = map[string]bool{
	"creates": true, "ignoredTags": true, "reused": true, "skippedDependencies": true, "events": true, "askedOfUser": true, "requiredOutputs": true,
}

func (o *outcome) result() string {
	var needs *NeedsInputError
	switch {
	case o.err == nil:
		return "ok"
	case errors.As(o.err, &needs):
		return "needs-input"
	}
	return "error"
}

func checkError(t *testing.T, at string, want map[string]any, err error) {
	t.Helper()
	if err == nil {
		t.Errorf("%s: no error, want %v", at, want)
		return
	}
	var c *ConflictError
	if !errors.As(err, &c) {
		t.Errorf("%s: %T is no conflict: %v", at, err, err)
		return
	}
	text := c.Error()
	if k := want["kind"]; k != nil && string(c.Kind) != k {
		t.Errorf("%s: kind is %s, want %v:\n%s", at, c.Kind, k, text)
	}
	for _, m := range list(want["mentions"]) {
		if !strings.Contains(text, fmt.Sprint(m)) {
			t.Errorf("%s: %v is not mentioned in:\n%s", at, m, text)
		}
	}
	for _, m := range list(want["doesNotMention"]) {
		if strings.Contains(text, fmt.Sprint(m)) {
			t.Errorf("%s: %v is mentioned in:\n%s", at, m, text)
		}
	}
	for _, m := range list(want["suggests"]) {
		if !strings.Contains(fmt.Sprint(c.Hints), fmt.Sprint(m)) {
			t.Errorf("%s: %v is not suggested in:\n%s", at, m, text)
		}
	}
	if n, ok := want["maxLines"].(float64); ok && strings.Count(text, "\n")+1 > int(n) {
		t.Errorf("%s: longer than %v lines:\n%s", at, n, text)
	}
	for k := range want {
		if !slices.Contains([]string{"kind", "mentions", "doesNotMention", "suggests", "maxLines"}, k) {
			t.Errorf("%s: the runner does not know how to check error.%s", at, k)
		}
	}
}

func list(v any) []any {
	l, _ := v.([]any)
	return l
}

// contains tells what of want is not in got: maps may have more keys and lists more items, unless exact.
func contains(want, got any, exact bool) string {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			return fmt.Sprintf("%v is no map", got)
		}
		for k, v := range w {
			if msg := contains(v, g[k], exact); msg != "" {
				return k + ": " + msg
			}
		}
		if len(w) == 0 && len(g) > 0 {
			return "should be empty"
		}
	case []any:
		g, ok := got.([]any)
		if !ok && got != nil {
			return fmt.Sprintf("%v is no list", got)
		}
		if exact || len(w) == 0 {
			if len(w) != len(g) {
				return "differs"
			}
			for i := range w {
				if msg := contains(w[i], g[i], exact); msg != "" {
					return msg
				}
			}
			return ""
		}
		for _, x := range w {
			if !slices.ContainsFunc(g, func(y any) bool { return contains(x, y, false) == "" }) {
				return fmt.Sprintf("%v is not there", x)
			}
		}
	case nil:
		if got != nil && got != "" {
			return fmt.Sprintf("%v should not be there", got)
		}
	default:
		if fmt.Sprint(want) != fmt.Sprint(got) {
			return cmp.Diff(fmt.Sprint(want), fmt.Sprint(got))
		}
	}
	return ""
}

// lockByNames is a lock whose dependencies are names, as the cases have them.
func lockByNames(l *Lock) any {
	out := plain(l).(map[string]any)
	packages, _ := out["packages"].([]any)
	for n := range packages {
		var names []any
		for _, d := range l.Packages[n].Dependencies {
			names = append(names, d.Ref())
		}
		packages[n].(map[string]any)["dependencies"] = names
	}
	return out
}

// plain turns a value into what JSON makes of it.
func plain(v any) any {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	var out any
	if err := json.Unmarshal(data, &out); err != nil {
		return err
	}
	return out
}

// value is what a key of then speaks about; ok is false for one that the runner does not know.
func (o *outcome) value(key string) (any, bool) {
	if v, ok := o.general(key); ok {
		return v, true
	}
	if o.res == nil {
		return nil, slices.Contains([]string{"creates", "bindings", "newInstallations"}, key)
	}
	r := o.res
	switch key {
	case "bindings":
		return o.bindings(), true
	case "skipped":
		return plain(r.Skipped), true
	case "changes":
		return plain(r.Changes), true
	case "creates":
		return plain(r.Creates), true
	case "skippedDependencies":
		return plain(r.SkippedDependencies), true
	case "newInstallations":
		return o.newInstallations(), true
	case "newInstances":
		return plain(count(r.Instances, func(i *Instance) bool { return !i.Existing })), true
	case "reused":
		var names []string
		for _, i := range r.Instances {
			if i.Existing && !i.Requested {
				names = append(names, i.Name)
			}
		}
		return plain(names), true
	case "versions", "preferred":
		m := map[string]string{}
		for _, i := range r.Instances {
			m[i.Package] = i.Version
		}
		return plain(m), true
	case "absent":
		return o.absent(), true
	case "unmapped":
		return plain(r.Unmapped), true
	case "askedOfUser":
		return plain(r.Asked), true
	case "requiredOutputs":
		return plain(r.RequiredOutputs), true
	case "rendered":
		return plain(r.Render(o.req.Simulate)), true
	case "resolved":
		return plain(r.Outputs()), true
	case "lock":
		return lockByNames(r.Lock), true
	case "ignoredTags":
		return plain(r.IgnoredTags), true
	case "order":
		return o.order(), true
	case "plan":
		return plain(r.Plan), true
	case "unchanged":
		return o.unchanged(), true
	}
	return nil, false
}

// general are the values that need no resolution.
func (o *outcome) general(key string) (any, bool) {
	switch key {
	case "needs":
		var n *NeedsInputError
		if errors.As(o.err, &n) {
			return plain(n.Needs), true
		}
		return nil, true
	case "events":
		var c *ConflictError
		if errors.As(o.err, &c) {
			return plain([]string{c.Event()}), true
		}
		return nil, true
	case "total":
		m := map[string]int{}
		for _, i := range o.w.in.Installations {
			m[i.Package]++
		}
		return plain(m), true
	}
	return nil, false
}

func (o *outcome) bindings() any {
	out := map[string]any{}
	root := o.res.Root()
	for _, b := range root.Bindings {
		m := plain(b).(map[string]any)
		if d := o.res.Find(ref(&b)); d != nil && d.Namespace != "" && o.req.Namespace != d.Namespace {
			m["installation"] = d.Ref()
		}
		out[b.Alias] = m
	}
	if _, ok := out[root.Package]; !ok && o.req.Version != root.Version {
		out[root.Package] = map[string]any{"package": root.Package, "version": root.Version}
	}
	return out
}

func (o *outcome) newInstallations() any {
	var out []any
	for _, i := range o.res.Instances {
		if i.Existing {
			continue
		}
		m := map[string]any{
			"name": i.Name, "alias": i.Alias, "package": i.Package, "version": i.Version, "namespace": i.Namespace,
			"share": plain(i.Share), "labels": plain(i.Labels), "owner": i.Owner,
		}
		out = append(out, m)
	}
	return out
}

func (o *outcome) absent() any {
	there := map[string]bool{}
	for _, i := range o.res.Instances {
		there[i.Package] = true
	}
	var out []any
	for _, p := range o.w.in.Catalog.Packages() {
		if !there[p] {
			out = append(out, p)
		}
	}
	return out
}

func (o *outcome) unchanged() any {
	changed := map[string]bool{}
	for _, c := range o.res.Changes {
		changed[c.Installation] = true
	}
	var out []any
	for _, b := range o.before {
		if !changed[b.Name] {
			out = append(out, b.Name)
		}
	}
	for _, i := range o.w.in.Installations {
		if !changed[i.Name] {
			out = append(out, plain(i))
		}
	}
	return out
}

// order lists all pairs, by name and by alias, of which the first runs before the second.
func (o *outcome) order() any {
	wave := map[string]int{}
	for n, w := range o.res.Plan {
		for _, ref := range w {
			i := o.res.Find(ref)
			for _, k := range []string{ref, i.Name, i.Package, i.Alias} {
				wave[k] = n + 1
			}
		}
	}
	var out []any
	for a, x := range wave {
		for b, y := range wave {
			if x < y {
				out = append(out, []any{a, b})
			}
		}
	}
	return out
}

func count(is []*Instance, f func(*Instance) bool) map[string]int {
	m := map[string]int{}
	for _, i := range is {
		if f(i) {
			m[i.Package]++
		}
	}
	return m
}
