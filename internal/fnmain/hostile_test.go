package fnmain

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kptdev/krm-functions-sdk/go/fn"

	"github.com/variform/variform/internal/function"
	"github.com/variform/variform/test/programs"
)

// What a function may use on any input: of memory what internal/render gives a
// container, of time what a slow machine under load takes.
const (
	maxPeak = 1 << 30
	maxTime = 2 * time.Minute
)

// hostile are lists that no function must take. Each is written in pieces, for
// a child's peak memory counts what its parent had when it started.
var hostile = map[string]struct {
	write func(w io.StringWriter)
	want  string // in the message
}{
	"empty stdin":          {text(""), "is empty"},
	"blank stdin":          {text(" \n\n"), "is empty"},
	"comments alone":       {text("# nothing\n"), "no mapping"},
	"no list":              {text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"), `kind is "ConfigMap"`},
	"another list":         {text("apiVersion: v1\nkind: List\nitems: []\n"), `kind is "List"`},
	"a text":               {text("hello"), "no mapping"},
	"two documents":        {text(head + item1 + "---\n" + head + item1), "second document"},
	"items null":           {text("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: null\n"), "items is missing or null"},
	"items without value":  {text("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\nresults: []\n"), "items is missing or null"},
	"items absent":         {text("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n"), "items is missing or null"},
	"items a map":          {text("kind: ResourceList\nitems: {a: b}\n"), "items must be a list"},
	"items a text":         {text("kind: ResourceList\nitems: a\n"), "items must be a list"},
	"items twice":          {text(head + item1 + "items: []\n"), `"items" stands twice`},
	"items of items":       {text(head + "- - kind: A\n"), "items[0]: it is no object"},
	"a null item":          {text(head + item1 + "-\n"), "items[1]: it is no object"},
	"a text for an item":   {text("kind: ResourceList\nitems: [a]\n"), "items[0]: it is no object"},
	"functionConfig text":  {text("functionConfig: a\n" + head + item1), "functionConfig must be a mapping"},
	"results text":         {text(head + item1 + "results: [a]\n"), "results: "},
	"truncated string":     {text(head + item1 + "- kind: \"A\n"), "not valid YAML"},
	"truncated flow":       {text(head + item1 + "- {kind: A, metadata: {name"), "not valid YAML"},
	"truncated JSON":       {text(`{"kind": "ResourceList", "items": [{"kind": "A"}, {`), "not valid YAML"},
	"truncated block":      {text(head + "- kind: A\n  metadata:\n    name: a\n   x"), "not valid YAML"},
	"UTF-8 that is none":   {text(head + item1 + "- kind: A\xff\n"), "line 7: it is not UTF-8"},
	"UTF-16":               {text("\xff\xfek\x00i\x00"), "not UTF-8"},
	"a NUL byte":           {text(head + item1 + "- kind: A\x00\n"), "line 7: it has a NUL byte"},
	"control characters":   {text(head + item1 + "- kind: \"\x01\"\n"), "not valid YAML"},
	"random bytes":         {text("\x7fELF\x02\x01\x01"), "not valid YAML"},
	"a path upwards":       {text(head + at("../../etc/cron.yaml", "0", "a")), `path "../../etc/cron.yaml" is not a clean path`},
	"a path within":        {text(head + at("a/../../b.yaml", "0", "a")), "is not a clean path"},
	"an absolute path":     {text(head + at("/etc/cron.yaml", "0", "a")), `path "/etc/cron.yaml" is not a clean path`},
	"a path with NUL":      {text(head + at(`a\0b.yaml`, "0", "a")), "is not a clean path"},
	"a long path":          {repeat(head+"- kind: A\n  metadata:\n    name: a\n    annotations:\n      internal.config.kubernetes.io/path: ", "a/", 1<<19, "b.yaml\n"), "items[0]: its path has"},
	"duplicate paths":      {text(head + at("a.yaml", "0", "a") + at("a.yaml", "0", "b")), `two items have the path "a.yaml"`},
	"an anchor in itself":  {text(head + "- &a\n  kind: A\n  spec: *a\n"), "items[0]: value is too large"},
	"an unknown alias":     {text(head + "- kind: A\n  spec: *a\n"), "unknown anchor"},
	"laughs in an item":    {text(head + "- kind: A\n  spec:\n" + laughs("    ")), "items[0]: value is too large"},
	"laughs in the config": {text("functionConfig:\n  kind: A\n  spec:\n" + laughs("    ") + head + item1), "functionConfig: value is too large"},
	"laughs in results":    {text("results:\n" + laughs("  ") + head + item1), "results: value is too large"},
	"laughs over items":    {text(head + "- kind: A\n  spec: &a0 [1]\n" + overItems(40)), "value is too large"},
	"deep flow":            {repeat(head+item1+"- kind: A\n  spec: ", "[", 1_000_000, "\n"), "not valid YAML"},
	"deep closed flow":     {text(head + item1 + "- kind: A\n  spec: " + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + "\n"), "items[1]: value is too large"},
	"deep block":           {deepBlock(2000), "items[0]: value is too large"},
	"deep dashes":          {repeat(head, "- ", 9000, "a\n"), "items[0]: it is no object"},
	"100,000 items":        {repeat(head, item1, 100_000, ""), "more than 50000 items"},
	"100,000 flow items":   {repeat("kind: ResourceList\nitems: [", "{kind: A},", 100_000, "]\n"), "it has 100000 items"},
	"64 MB and more":       {repeat(head+"- kind: A\n  spec: |\n", "    "+strings.Repeat("x", 1019)+"\n", 65<<10, ""), "MaxBytes"},
	"50 MB in one text":    {repeat(head+"- kind: A\n  spec: ", strings.Repeat("x", 1000), 50_000, "\n"), "items[0], line 4: it has 50"},
	"50 MB in the config":  {repeat("functionConfig:\n  kind: A\n  spec: |\n", "    "+strings.Repeat("x", 995)+"\n", 50_000, head+item1), "functionConfig: it has 50"},
	"50 MB of one key":     {repeat(head+"- ? ", strings.Repeat("x", 1000), 50_000, "\n  : 1\n"), "MaxItemBytes"},
	"50 MB of values":      {repeat(head+"- kind: A\n  spec: [", "a,", 25_000_000, "]\n"), "more than 2500000 values"},
	"50 MB of keys":        {repeat(head+"- kind: A\n  spec: {", "a:,", 16_000_000, "}\n"), "more than 2500000 values"},
	"50 MB of comments":    {repeat(head+item1, "#\n", 25_000_000, ""), "more than 2500000 values"},
	"50 MB of dashes":      {repeat(head, "- ", 25_000_000, "\n"), "more than 2500000 values"},
	"50 MB of brackets":    {repeat("", "[", 50_000_000, ""), "more than 2500000 values"},
	"50 MB of line ends":   {repeat("", "\n", 50_000_000, ""), "is empty"},
	"50 MB of NUL":         {repeat("", strings.Repeat("\x00", 1000), 50_000, ""), "NUL byte"},
}

const (
	head  = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n"
	item1 = "- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: a}\n"
)

func text(s string) func(io.StringWriter) {
	return func(w io.StringWriter) { _, _ = w.WriteString(s) }
}

func repeat(before, s string, n int, after string) func(io.StringWriter) {
	return func(w io.StringWriter) {
		_, _ = w.WriteString(before)
		for range n {
			_, _ = w.WriteString(s)
		}
		_, _ = w.WriteString(after)
	}
}

// at is an item with kpt's path annotations.
func at(path, index, name string) string {
	return fmt.Sprintf("- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: %s\n    annotations:\n"+
		"      internal.config.kubernetes.io/path: %q\n      internal.config.kubernetes.io/index: %q\n", name, path, index)
}

// laughs doubles a list thirty times.
func laughs(indent string) string {
	var b strings.Builder
	b.WriteString(indent + "- &a0 [lol]\n")
	for i := range 30 {
		fmt.Fprintf(&b, "%s- &a%d [*a%d, *a%d]\n", indent, i+1, i, i)
	}
	return b.String()
}

func overItems(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "- kind: A\n  spec: &a%d [*a%d, *a%d]\n", i+1, i, i)
	}
	return b.String()
}

func deepBlock(levels int) func(io.StringWriter) {
	return func(w io.StringWriter) {
		_, _ = w.WriteString(head + "- kind: A\n")
		for i := range levels {
			_, _ = w.WriteString(strings.Repeat(" ", i+2) + "a:\n")
		}
	}
}

// child runs a function's own binary on a file and tells its peak memory.
func child(t *testing.T, binary, input string, args ...string) (out []byte, stderr string, code int, peak int64) {
	t.Helper()
	in, err := os.Open(input)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	cmd := osexec.CommandContext(t.Context(), binary, args...)
	var stdout, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, &stdout, &errs
	start := time.Now()
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	if took := time.Since(start); took > maxTime {
		t.Errorf("it took %s, more than %s", took, maxTime)
	}
	return stdout.Bytes(), errs.String(), cmd.ProcessState.ExitCode(), peakOf(cmd.ProcessState)
}

func writeInput(t *testing.T, write func(io.StringWriter)) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "list.yaml")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriter(f)
	write(w)
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestHostile gives each function's binary each hostile list: exit 1, a list
// with an error result that says why, no panic, bounded memory.
func TestHostile(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: hostile lists are up to 64 MB large: they do not run with -short")
	}
	bin := programs.Functions(t)
	for name, c := range hostile {
		t.Run(name, func(t *testing.T) {
			input := writeInput(t, c.write)
			for f := range function.Builtin {
				out, stderr, code, peak := child(t, filepath.Join(bin, f), input)
				if code != exitFailed || strings.Contains(stderr, "panic") || strings.Contains(stderr, "goroutine") || strings.Contains(stderr, "the function broke") {
					t.Errorf("%s: exit %d: %.500s", f, code, stderr)
				}
				if peak > maxPeak {
					t.Errorf("%s: %d MiB, more than %d", f, peak>>20, maxPeak>>20)
				}
				t.Logf("%s: %d MiB", f, peak>>20)
				checkError(t, f, out, c.want)
			}
		})
	}
}

func checkError(t *testing.T, f string, out []byte, want string) {
	t.Helper()
	rl, err := fn.ParseResourceList(out)
	if err != nil {
		t.Errorf("%s: the output is no ResourceList: %v", f, err)
		return
	}
	for _, r := range rl.Results {
		if r.Severity == fn.Error && strings.Contains(r.Message, want) {
			return
		}
	}
	t.Errorf("%s: no error result says %q: %.500v", f, want, rl.Results)
}

// large are lists within the bounds that cost as much as a list can.
var large = map[string]func(w io.StringWriter){
	"50,000 items":    manyItems(50_000),
	"many values":     repeat(head+"- kind: A\n  spec: {", "a,", 2_499_000, "}\n"),
	"many comments":   repeat(head+item1, "#\n", 2_499_000, ""),
	"60 MB of text":   repeat(head, "- kind: A\n  spec: "+strings.Repeat("x", 6000)+"\n", 10_000, ""),
	"50 MB in a flow": repeat("kind: ResourceList\nitems: [{kind: A, spec: ", strings.Repeat("x", 1000), 50_000, "}]\n"),
	"aliases":         repeat(head, "- kind: A\n  spec: &a {a: &b ["+strings.Repeat("a,", 1000)+"], b: ["+strings.Repeat("*b,", 250)+"]}\n", 1_900, ""),
	"sets by objects": setsByObjects(1000, 20_000),
}

func manyItems(n int) func(io.StringWriter) {
	return func(w io.StringWriter) {
		_, _ = w.WriteString(head)
		for i := range n {
			_, _ = w.WriteString(deployment(i))
		}
	}
}

func deployment(i int) string {
	return fmt.Sprintf(`- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: web-%[1]d
    annotations:
      internal.config.kubernetes.io/path: 'apps/web-%[1]d.yaml'
      internal.config.kubernetes.io/index: '0'
  spec:
    replicas: 3 # three
    selector:
      matchLabels: {app: web}
    template:
      metadata:
        labels: {app: web}
      spec:
        containers:
        # the one container
        - name: web
          image: "nginx:1.27"
          args: ['--flag', "yes"]
          env:
          - name: LEVEL
            value: info
          ports:
          - containerPort: 80
            name: http
          resources:
            requests: {cpu: 100m, memory: 64Mi}
`, i)
}

// setsByObjects asks for the product of targets and objects.
func setsByObjects(targets, objects int) func(io.StringWriter) {
	return func(w io.StringWriter) {
		_, _ = w.WriteString(head + `- apiVersion: config.porch.kpt.dev/v1alpha2
  kind: PackageVariantSet
  metadata: {name: all}
  spec:
    upstream: {repo: catalog, package: web, revision: v1}
    targets:
`)
		for i := range targets {
			_, _ = w.WriteString(fmt.Sprintf("    - objectSelector: {apiVersion: v1, kind: Team}\n      template: {downstream: {repo: r%d}}\n", i))
		}
		for i := range objects {
			_, _ = w.WriteString(fmt.Sprintf("- {apiVersion: v1, kind: Team, metadata: {name: t%d}}\n", i))
		}
	}
}

// TestLarge gives the largest lists that are taken to a function that makes
// items of them and to one that looks at each.
func TestLarge(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: large lists do not run with -short")
	}
	bin := programs.Functions(t)
	for name, write := range large {
		t.Run(name, func(t *testing.T) {
			input := writeInput(t, write)
			for _, f := range []string{"generate-variants", "validate-package"} {
				start := time.Now()
				_, stderr, code, peak := child(t, filepath.Join(bin, f), input)
				t.Logf("%s: exit %d, %d MiB, %s", f, code, peak>>20, time.Since(start))
				if code != exitDone && code != exitFailed || strings.Contains(stderr, "panic") || peak > maxPeak {
					t.Errorf("%s: exit %d, %d MiB (at most %d): %.500s", f, code, peak>>20, maxPeak>>20, stderr)
				}
			}
		})
	}
}
