package hostile

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/variform/variform/test/gittest"
)

// asFunction is the argument that makes this test's own program a function.
const asFunction = "hostile-function"

const (
	listHead = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n"
	place    = "internal.config.kubernetes.io/path"
)

// item is one of an output, at a path.
func item(path, name string) string {
	return fmt.Sprintf("- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: %q\n    annotations: {%s: %q}\n", name, place, path)
}

func items(list ...string) func([]byte) string {
	return func(in []byte) string { return added(in, strings.Join(list, "")) }
}

// added is the input with more items.
func added(in []byte, list string) string {
	head, rest, _ := strings.Cut(string(in), "\nitems:\n")
	if spaces := len(rest) - len(strings.TrimLeft(rest, " ")); spaces > 0 {
		list = strings.TrimSuffix(strings.ReplaceAll(strings.Repeat(" ", spaces)+list, "\n", "\n"+strings.Repeat(" ", spaces)), strings.Repeat(" ", spaces))
	}
	return head + "\nitems:\n" + list + rest
}

// edited is the input with something else in one place.
func edited(from, to string) func([]byte) string {
	return func(in []byte) string { return strings.Replace(string(in), from, to, 1) }
}

func and(more string) func([]byte) string { return func(in []byte) string { return string(in) + more } }

func says(text string) func([]byte) string { return func([]byte) string { return text } }

// hostileProgram is what a program does: what it answers, or more than that.
type hostileProgram struct {
	answer func(in []byte) string
	do     func(dir string)
	exit   int
	says   string // what the error says; "" where the answer is taken
}

var hostilePrograms = map[string]hostileProgram{
	// Time, and what is left behind.
	"sleeps": {do: func(string) { time.Sleep(time.Hour) }, says: "was stopped"},
	"ignores signals": {do: func(string) {
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
		time.Sleep(time.Hour)
	}, says: "was stopped"},
	"computes": {do: func(string) {
		for { //nolint:staticcheck // it is to take a processor
		}
	}, says: "was stopped"},
	"leaves a child":             {answer: and(""), do: func(dir string) { child(dir, false) }},
	"its child holds the output": {answer: and(""), do: func(dir string) { child(dir, true) }, says: "WaitDelay"},

	// Output.
	"floods":             {do: func(string) { pour(os.Stdout, strings.Repeat("x", 1<<16)) }, says: "more than 64 MiB"},
	"floods its errors":  {do: func(string) { pour(os.Stderr, strings.Repeat("\x1b[2J", 1<<14)) }, says: "more than 64 MiB"},
	"says nothing":       {answer: says(""), says: "output"},
	"does not read":      {do: func(string) { os.Exit(0) }, says: "output"},
	"garbage":            {answer: says("\x00\xff\x1b[2J\u202e"), says: "output"},
	"no list":            {answer: says("a: b\n"), says: "output"},
	"items is a text":    {answer: says(listHead + "items: x\n"), says: "output"},
	"items of items":     {answer: says(listHead + "items: [[[]]]\n"), says: "output"},
	"cut off":            {answer: func(in []byte) string { return string(in[:len(in)/2]) + "\n- \"text" }, says: "not YAML"},
	"laughs":             {answer: says(listHead + "items: []\n" + laughs(9)), says: "stand for more than 100000 nodes"},
	"laughs in an item":  {answer: items(item("a.yaml", "a") + strings.ReplaceAll("\n"+laughs(9), "\na", "\n  a") + "\n"), says: "aliases stand for more"},
	"deep":               {answer: items(item("a.yaml", "a") + "  data: " + strings.Repeat("{a: ", 3000) + strings.Repeat("}", 3000) + "\n"), says: "nested deeper than 200"},
	"values":             {answer: items(item("a.yaml", "a") + "  data: [" + strings.Repeat("a,", 15<<20) + "]\n"), says: "values"},
	"a large item":       {answer: items(item("a.yaml", "a") + "  data: {a: " + strings.Repeat("a", 20<<20) + "}\n"), says: "16777216"},
	"many items":         {answer: says(listHead + "items:\n" + strings.Repeat("- {apiVersion: v1, kind: A, metadata: {name: a, annotations: {"+place+": a.yaml}}}\n", 12_000)), says: "two resources have the place"},
	"many files":         {answer: func(in []byte) string { return added(in, manyItems(20_100)) }, says: "more than 20000 files"},
	"exits with 1":       {answer: and(""), exit: 1, says: "exit code 1"},
	"exits with 255":     {answer: says("x"), exit: 255, says: "exit code 255"},
	"steers its user":    {do: func(string) { fmt.Fprintln(os.Stderr, "\x1b[2J\u202eall is well\u009b"); os.Exit(3) }, says: "exit code 3"},
	"results that steer": {answer: and("results: [{message: \"\\e[2J\\u202e\", severity: error, file: {path: \"\\e[2J\"}}]\n"), exit: 1, says: "exit code 1"},
	"results in plenty":  {answer: and("results:\n" + strings.Repeat("- {message: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx, severity: warning}\n", 200_000))},
	"a long result":      {answer: and("results: [{message: " + strings.Repeat("x", 8<<20) + ", severity: error}]\n"), exit: 1, says: "exit code 1"},
	"results of no kind": {answer: and("results: {a: b}\n")},

	// Places.
	"up":                 {answer: items(item("../../x.yaml", "a")), says: "../../x.yaml"},
	"absolute":           {answer: items(item("/etc/x.yaml", "a"))},
	"git":                {answer: items(item(".git/config", "a")), says: ".git"},
	"into Kptfile":       {answer: items(item("Kptfile", "a")), says: "was put into Kptfile"},
	"into a neighbour":   {answer: items(item("sub/../../good/x.yaml", "a")), says: "x.yaml"},
	"a name of controls": {answer: items(item("a\x1b[2J.yaml", "a")), says: "control"},
	"a long path":        {answer: items(item(strings.Repeat("d/", 3000)+"x.yaml", "a")), says: "4096"},
	"no name of YAML":    {answer: items(item("run.sh", "a")), says: "run.sh"},
	"over a script":      {answer: items(item("script.sh", "a")), says: "script.sh"},
	"case":               {answer: items(item("b.yaml", "a"), item("B.yaml", "b")), says: "differ only in case"},
	"no name":            {answer: items("- {apiVersion: v1, kind: ConfigMap}\n"), says: "metadata.name"},
	"one twice":          {answer: items(item("x.yaml", "a"), item("x.yaml", "a")), says: "twice"},
	"an index far off":   {answer: items(strings.Replace(item("x.yaml", "a"), "annotations: {", "annotations: {internal.config.kubernetes.io/index: '99999999999999999999', ", 1))},

	// The package itself.
	"deletes everything": {answer: says(listHead + "items: []\n"), says: "deleted the Kptfile"},
	"another owner":      {answer: edited("variform.dev/variant: mgr/default/", "variform.dev/variant: other/default/")},
	"orphans itself":     {answer: edited("variform.dev/deletion-policy: delete", "variform.dev/deletion-policy: orphan")},
	"another pipeline":   {answer: edited("pipeline:", "pipelinE:")},
	"another upstream":   {answer: edited("directory: /", "directory: /../..")},
	"meets its gates":    {answer: edited("kind: Kptfile", "kind: Kptfile\n  status: {conditions: [{type: ready, status: 'True'}]}")},
	"its environment": {answer: func(in []byte) string {
		return added(in, item("x.yaml", "a")+fmt.Sprintf("  data: {env: %q}\n", strings.Join(os.Environ(), " ")))
	}},
	"another each time": {answer: func(in []byte) string {
		return added(in, item("x.yaml", "a")+fmt.Sprintf("  data: {at: '%d'}\n", time.Now().UnixNano()))
	}},
}

func manyItems(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "- {apiVersion: v1, kind: A, metadata: {name: a, annotations: {%s: f%d.yaml}}}\n", place, i)
	}
	return b.String()
}

// child starts a process that stays, and writes down its number.
func child(dir string, output bool) {
	c := exec.Command(os.Args[0], asFunction, "sleeps", dir)
	c.Stdin = strings.NewReader("")
	if output {
		c.Stdout, c.Stderr = os.Stdout, os.Stderr
	}
	if err := c.Start(); err == nil {
		_ = os.WriteFile(filepath.Join(dir, fmt.Sprintf("pid-%t", output)), []byte(strconv.Itoa(c.Process.Pid)), 0o600)
	}
}

// This program is a function where it is called as one.
func init() {
	if len(os.Args) == 4 && os.Args[1] == asFunction {
		beFunction(os.Args[2], os.Args[3])
	}
}

// beFunction is this program as a function: the name with - for spaces, a folder.
func beFunction(name, dir string) {
	name = strings.ReplaceAll(name, "-", " ")
	p, ok := hostilePrograms[name]
	if !ok {
		if p, ok = apart[name]; !ok {
			os.Exit(99)
		}
	}
	var in []byte
	if p.answer != nil {
		in, _ = io.ReadAll(os.Stdin)
	}
	if p.do != nil {
		p.do(dir)
	}
	if p.answer != nil {
		_, _ = io.WriteString(os.Stdout, p.answer(in))
	}
	os.Exit(p.exit)
}

// scripts of starlark, and what the error says.
var scripts = map[string]struct{ source, says string }{
	"texts":       {`x = ["x" * (1000000 + i) for i in range(3000)]`, "256 MiB|was stopped"},
	"doubles":     {"s = 'x'\nfor i in range(60): s = s + s", "256 MiB|was stopped"},
	"squares":     {"x = 3\nfor i in range(60): x = x * x", "was stopped"},
	"appends":     {"l = []\nfor i in range(100000000): l.append([i])", "256 MiB|was stopped"},
	"one text":    {`x = "x" * (1 << 40)`, "too large"},
	"shifts":      {"x = 1 << 500", ""},
	"shifts far":  {"x = 1 << (1 << 40)", "shift"},
	"loops":       {"while True: pass", "steps|was stopped"},
	"recurses":    {"def f(n): return f(n + 1)\nf(0)", "256 MiB|was stopped"},
	"prints":      {"for i in range(10000000): print('x' * 1000)", "MiB|was stopped"},
	"fails":       {`fail("\x1b[2J\u202eall is well")`, "all is well"},
	"itself":      {`ctx.resource_list["items"].append(ctx.resource_list["items"])`, "256 MiB|was stopped"},
	"deep":        {"x = {}\nfor i in range(100000): x = {'a': x}\nctx.resource_list['items'].append(x)", "256 MiB|was stopped"},
	"a function":  {"ctx.resource_list['items'].append(len)", "items"},
	"many":        {"for i in range(3000000): ctx.resource_list['items'].append({'apiVersion': 'v1', 'kind': 'A', 'metadata': {'name': str(i)}})", "256 MiB|was stopped"},
	"up":          {"ctx.resource_list['items'].append({'apiVersion': 'v1', 'kind': 'A', 'metadata': {'name': 'a', 'annotations': {'" + place + "': '../../x.yaml'}}})", "../../x.yaml"},
	"all gone":    {"ctx.resource_list['items'] = []", "deleted the Kptfile"},
	"no items":    {"ctx.resource_list['items'] = None", "no list"},
	"environment": {"ctx.resource_list['items'].append({'apiVersion': 'v1', 'kind': 'A', 'metadata': {'name': 'env'}, 'data': {'env': str(ctx.environment)}})", ""},
	"regex":       {"load('@star/re.star', 're')\nx = re.match('(x+x+)+y', 'x' * 1000000)", "not built in"},
	"owner":       {"for i in ctx.resource_list['items']:\n    if i['kind'] == 'Kptfile': i['metadata']['annotations'] = {'variform.dev/variant': 'other/default/x'}", "deleted the Kptfile"},
	"no script":   {"def f(:", "got ':'"},
}

// functionCases are what either sort is to come to, by package.
type functionCase struct{ says, pipeline string }

func functionCases(dir string) map[string]functionCase {
	out := map[string]functionCase{}
	for name, p := range hostilePrograms {
		pkg := "p-" + strings.ToLower(regexp.MustCompile(`[^A-Za-z0-9]`).ReplaceAllString(name, "-"))
		out[pkg] = functionCase{p.says, fmt.Sprintf("pipeline: {mutators: [{exec: %q}]}\n", os.Args[0]+" "+asFunction+" "+strings.ReplaceAll(name, " ", "-")+" "+dir)}
	}
	for name, s := range scripts {
		out["s-"+strings.ReplaceAll(name, " ", "-")] = functionCase{s.says, "pipeline: {mutators: [{image: 'starlark:v0.5', configPath: fn.yaml}]}\n"}
	}
	return out
}

// All of them are in one fleet whose user allowed programs, beside a package that
// means well.
func TestHostileFunctions(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: what ends only at its bound of time takes that time")
	}
	w := newWorld(t, "good")
	cases := functionCases(w.dir)
	w.publish("foo", gittest.Files{{Path: "Kptfile", Data: []byte(kptfile + pipeline)}, {Path: "cm.yaml", Data: []byte(configMap("c", "data: {a: b}\n"))}})
	w.variant("foo", "good", "")
	for pkg, c := range cases {
		files := named(c.pipeline, "cm.yaml", configMap("c", "data: {a: b}\n"), "script.sh", "#!/bin/sh\n")
		if name, ok := strings.CutPrefix(pkg, "s-"); ok {
			source := scripts[strings.ReplaceAll(name, "-", " ")].source
			files = append(files, gittest.File{Path: "fn.yaml", Data: fmt.Appendf(nil, "apiVersion: fn.kpt.dev/v1alpha1\nkind: StarlarkRun\nmetadata: {name: f, annotations: {config.kubernetes.io/local-config: 'true'}}\nsource: %q\n", source)})
		}
		w.publish(pkg, files)
		w.variant(pkg, "good", "")
	}
	r := w.apply("--allow-exec", "--function-timeout", "3s")
	w.wantServed(r)
	for pkg, c := range cases {
		w.wantRow(r, pkg, c.says)
	}
	w.wantOwners(r)
	w.wantNoChild("false")
	w.wantNoChild("true")
	w.wantNoLeak("good")
	w.repos["good"].Fsck(t)
}

// wantOwners looks whether what is drafted is still its variant's.
func (w *world) wantOwners(r ran) {
	w.t.Helper()
	refs := w.repos["good"].Refs(w.t)
	for name, v := range r.variants {
		pkg := strings.TrimPrefix(name, "good/")
		if v.Action != "create" {
			continue
		}
		kpt := w.repos["good"].Show(w.t, refs["refs/heads/drafts/"+pkg+"/packagevariant-1"], pkg+"/Kptfile")
		for _, want := range []string{"variform.dev/variant: mgr/default/" + pkg + "-good", "upstreamLock:"} {
			if !strings.Contains(kpt, want) {
				w.t.Errorf("%s: the Kptfile lacks %q:\n%s", pkg, want, kpt)
			}
		}
	}
}

// wantNoChild looks whether a process that a function left is still there.
func (w *world) wantNoChild(which string) {
	w.t.Helper()
	text, err := os.ReadFile(filepath.Join(w.dir, "pid-"+which))
	if err != nil {
		w.t.Errorf("no child was started: %v", err)
		return
	}
	pid, err := strconv.Atoi(string(bytes.TrimSpace(text)))
	if err != nil {
		w.t.Fatal(err)
	}
	state, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err == nil && !strings.Contains(string(state), ") Z ") {
		w.t.Errorf("a process that a function started is still there")
		if p, err := os.FindProcess(pid); err == nil {
			_ = p.Kill()
		}
	}
}

// wantServed looks whether the package that means well was drafted.
func (w *world) wantServed(r ran) {
	w.t.Helper()
	if a := r.variants["good/foo"].Action; a != "create" || w.repos["good"].Refs(w.t)["refs/heads/drafts/foo/packagevariant-1"] == "" {
		w.t.Errorf("the healthy neighbour: %q", a)
	}
}

var steers = regexp.MustCompile(`[\x00-\x08\x0b-\x1f\x7f\x{202a}-\x{202e}]`)

// wantRow looks whether a package was taken, or refused with a word.
func (w *world) wantRow(r ran, pkg, says string) {
	w.t.Helper()
	v := r.variants["good/"+pkg]
	switch {
	case says == "" && v.Action != "create":
		w.t.Errorf("%s: %q, want it taken: %.600s", pkg, v.Action, v.Error)
	case says != "" && v.Action != "fail":
		w.t.Errorf("%s: %q, want a failure that says %q", pkg, v.Action, says)
	case says != "" && !slices.ContainsFunc(strings.Split(says, "|"), func(s string) bool { return strings.Contains(v.Error, s) }):
		w.t.Errorf("%s: the error lacks %q: %.600s", pkg, says, v.Error)
	}
	if said := v.Error + strings.Join(v.Warnings, ""); steers.MatchString(said) {
		w.t.Errorf("%s: what is said steers the terminal: %.2000q", pkg, said)
	}
}
