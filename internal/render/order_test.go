package render

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/internal/function"
	"github.com/variform/variform/internal/krm"
)

// annotated is a Kptfile whose metadata has annotations, given as `key: value`.
func annotated(name, pipeline string, annotations ...string) string {
	return kptfileOf(name, "  annotations:\n    "+strings.Join(annotations, "\n    ")+"\n"+pipeline)
}

const (
	downward = annParentsFirst + `: "true"`
	saving   = annSavePartial + `: "true"`
)

// orderFunctions are those of the other tests, and one that changes a resource
// before it fails.
func orderFunctions() map[string]function.Processor {
	fns := maps.Clone(testFunctions)
	fns["half"] = func(_ context.Context, c *function.Call) error {
		if err := c.Resources()[0].SetAnnotation("half", "done"); err != nil {
			return err
		}
		return errors.New("in the middle of it")
	}
	return fns
}

func mutating(calls ...string) string {
	return "pipeline:\n  mutators:\n  - " + strings.Join(calls, "\n  - ") + "\n"
}

func noting(key, value string) string {
	return fmt.Sprintf("{image: %s, configMap: {%s: %s}}", own("note"), key, value)
}

// last are the annotations `last` of all ConfigMaps, by name.
func last(p *krm.Package) map[string]string {
	out := map[string]string{}
	for _, r := range p.Resources() {
		if r.Kind() == "ConfigMap" {
			out[r.Name()], _ = r.Annotation("last")
		}
	}
	return out
}

// TestParentsFirst holds the order of `kpt.dev/bfs-rendering`, and who sees what.
func TestParentsFirst(t *testing.T) {
	tree := func(root, b string) map[string]string {
		return map[string]string{
			"Kptfile": root, "r.yaml": configMap("r"),
			"a/Kptfile": kptfileOf("a", mutating(noting("last", "a"))), "a/x.yaml": configMap("ax"),
			"a/c/Kptfile": kptfileOf("c", mutating(noting("last", "c"))), "a/c/x.yaml": configMap("cx"),
			"b/Kptfile": b, "b/x.yaml": configMap("bx"),
		}
	}
	noted := mutating(noting("last", "root"))
	plain := kptfileOf("b", mutating(noting("last", "b")))
	cases := map[string]struct {
		reason string
		files  map[string]string
		order  string
		want   map[string]string
	}{
		"Down": {
			reason: "level by level; a package has the last word on what is its own",
			files:  tree(annotated("root", noted, downward), plain),
			order:  ":8 a:4 b:2 a/c:2",
			want:   map[string]string{"r": "root", "ax": "a", "cx": "c", "bx": "b"},
		},
		"AnyCase": {
			reason: "kpt reads the value in any case",
			files:  tree(annotated("root", noted, annParentsFirst+`: "TRUE"`), plain),
			order:  ":8 a:4 b:2 a/c:2",
			want:   map[string]string{"r": "root", "ax": "a", "cx": "c", "bx": "b"},
		},
		"False": {
			reason: "any other value is the usual order",
			files:  tree(annotated("root", noted, annParentsFirst+`: "yes"`), plain),
			order:  "a/c:2 a:4 b:2 :8",
			want:   map[string]string{"r": "root", "ax": "root", "cx": "root", "bx": "root"},
		},
		"NotOfSubpackages": {
			reason: "only the package that is rendered says it",
			files:  tree(kptfileOf("root", noted), annotated("b", mutating(noting("last", "b")), downward)),
			order:  "a/c:2 a:4 b:2 :8",
			want:   map[string]string{"r": "root", "ax": "root", "cx": "root", "bx": "root"},
		},
		"GeneratedIsTheParents": {
			reason: "what the parent generates is its own, and no subpackage sees it",
			files:  tree(annotated("root", mutating("{image: "+own("generate")+"}"), downward), plain),
			order:  ":8 a:4 b:2 a/c:2",
			want:   map[string]string{"r": "", "ax": "a", "cx": "c", "bx": "b", "generated": ""},
		},
		"DroppedIsGone": {
			reason: "what the parent drops, no subpackage sees",
			files: map[string]string{
				"Kptfile":   annotated("root", mutating("{image: "+own("drop")+"}"), downward),
				"b/Kptfile": plain, "b/x.yaml": configMap("bx"), "b/y.yaml": configMap("drop-y"),
			},
			order: ":4 b:2",
			want:  map[string]string{"bx": "b"},
		},
		"ConfigOfAbove": {
			reason: "a subpackage's functionConfig is as the parent left it, for validators too",
			files: map[string]string{
				"Kptfile": annotated("root", mutating("{image: \"apply-setters:v0.2\", configMap: {word: new}}"), downward),
				"b/Kptfile": kptfileOf("b", mutating("{image: "+own("note")+", configPath: cfg.yaml}")+
					"  validators:\n  - {image: "+own("says")+", configPath: cfg.yaml}\n"),
				"b/cfg.yaml": configMap("cfg", "data:\n  last: old # kpt-set: ${word}\n"), "b/x.yaml": configMap("bx"),
			},
			order: ":4 b:2 b:2",
			want:  map[string]string{"cfg": "", "bx": "new"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			opts := testOptions()
			opts.Builtins = orderFunctions()
			opts.Builtins["says"] = func(_ context.Context, c *function.Call) error {
				if got := c.Config.GetDataMap()["last"]; got != "new" {
					return fmt.Errorf("the validator was configured with %q", got)
				}
				return nil
			}
			res := mustRender(t, opts, pkg(t, tc.files))
			var order []string
			for _, f := range res.Functions {
				order = append(order, fmt.Sprintf("%s:%d", f.Package, f.Selected))
			}
			if got := strings.Join(order, " "); got != tc.order {
				t.Errorf("%s: order %s, want %s", tc.reason, got, tc.order)
			}
			if diff := cmp.Diff(tc.want, last(res.Package)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestSavePartial holds what is left of a rendering that failed.
func TestSavePartial(t *testing.T) {
	failing := "{image: " + own("half") + "}"
	cases := map[string]struct {
		reason string
		files  map[string]string
		want   map[string]string // nil: nothing is left
	}{
		"Nothing": {
			reason: "without the annotation a failure leaves nothing",
			files:  map[string]string{"Kptfile": kptfileOf("root", mutating(noting("last", "root"), failing)), "a.yaml": configMap("a")},
		},
		"Mutator": {
			reason: "what earlier functions did stays, what the failing one did does not",
			files:  map[string]string{"Kptfile": annotated("root", mutating(noting("last", "root"), failing), saving), "a.yaml": configMap("a")},
			want:   map[string]string{"a": "root"},
		},
		"Validator": {
			reason: "mutators are done when a validator fails",
			files:  map[string]string{"Kptfile": annotated("root", mutating(noting("last", "root"))+"  validators:\n  - {image: "+own("fail")+"}\n", saving), "a.yaml": configMap("a")},
			want:   map[string]string{"a": "root"},
		},
		"BadAnswer": {
			reason: "an answer that is refused changes nothing",
			files:  map[string]string{"Kptfile": annotated("root", mutating(noting("last", "root"), "{image: "+own("escape")+"}"), saving), "a.yaml": configMap("a")},
			want:   map[string]string{"a": "root"},
		},
		"FilesStay": {
			reason: "a file whose resources are gone is taken away by a success alone",
			files:  map[string]string{"Kptfile": annotated("root", mutating("{image: "+own("drop")+"}", failing), saving), "a.yaml": configMap("a"), "d.yaml": configMap("drop-d")},
			want:   map[string]string{"a": "", "drop-d": ""},
		},
		"Subpackages": {
			reason: "what was rendered of other packages stays, at any depth",
			files: map[string]string{
				"Kptfile": annotated("root", mutating(noting("last", "root")), saving), "r.yaml": configMap("r"),
				"a/Kptfile": kptfileOf("a", mutating(noting("last", "a"))), "a/x.yaml": configMap("ax"),
				"b/c/Kptfile": kptfileOf("c", mutating(noting("last", "c"), failing)), "b/c/x.yaml": configMap("cx"),
				"b/Kptfile": kptfileOf("b", mutating(noting("last", "b"))), "b/x.yaml": configMap("bx"),
			},
			want: map[string]string{"r": "", "ax": "a", "cx": "c", "bx": ""},
		},
		"Down": {
			reason: "the same from above",
			files: map[string]string{
				"Kptfile": annotated("root", mutating(noting("last", "root")), saving, downward), "r.yaml": configMap("r"),
				"a/Kptfile": kptfileOf("a", mutating(noting("last", "a"), failing)), "a/x.yaml": configMap("ax"),
				"b/Kptfile": kptfileOf("b", mutating(noting("last", "b"))), "b/x.yaml": configMap("bx"),
			},
			want: map[string]string{"r": "root", "ax": "a", "bx": "root"},
		},
		"NotOfSubpackages": {
			reason: "only the package that is rendered says it",
			files: map[string]string{
				"Kptfile": kptfileOf("root", ""), "a/Kptfile": annotated("a", mutating(noting("last", "a"), failing), saving), "a/x.yaml": configMap("ax"),
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			opts := testOptions()
			opts.Builtins = orderFunctions()
			p := pkg(t, tc.files)
			res, err := New(opts).Render(context.Background(), p)
			if err == nil {
				t.Fatal("the rendering did not fail")
			}
			if tc.want == nil {
				if res.Package != nil {
					t.Errorf("%s: something is left", tc.reason)
				}
				return
			}
			if diff := cmp.Diff(tc.want, last(res.Package)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			for _, r := range res.Package.Resources() {
				if _, ok := r.Annotation("half"); ok {
					t.Errorf("%s: the failing function's change of %s is left", tc.reason, r.Name())
				}
			}
			if diff := cmp.Diff(tc.files, contents(t, p)); diff != "" {
				t.Errorf("the input changed:\n%s", diff)
			}
		})
	}
}

// TestCancelledIsNotSaved: who interrupts a rendering wants nothing written.
func TestCancelledIsNotSaved(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	opts := testOptions()
	opts.Builtins = map[string]function.Processor{"stop": func(ctx context.Context, _ *function.Call) error { cancel(); return ctx.Err() }}
	p := pkg(t, map[string]string{"Kptfile": annotated("root", mutating("{image: "+own("stop")+"}"), saving), "a.yaml": configMap("a")})
	res, err := New(opts).Render(ctx, p)
	if !errors.Is(err, context.Canceled) || res.Package != nil {
		t.Errorf("got %v, %v", res.Package, err)
	}
}

// TestKptOrder renders the generated packages with both annotations, where kpt is
// new enough to know them.
func TestKptOrder(t *testing.T) {
	kpt := needKpt(t)
	if !knowsOrder(t, kpt) {
		t.Skip("SKIPPED: this kpt does not know " + annParentsFirst)
	}
	for i := range 100 {
		for _, annotations := range [][]string{{downward}, {saving}, {downward, saving}} {
			t.Run(fmt.Sprint(i, annotations), func(t *testing.T) {
				t.Parallel()
				files := generated(uint64(i))
				files["Kptfile"] = strings.Replace(files["Kptfile"], "metadata:\n", "metadata:\n  annotations:\n    "+strings.Join(annotations, "\n    ")+"\n", 1)
				p := pkg(t, files)
				mapped, dir := withExec(t, p), t.TempDir()
				save(t, mapped, dir)
				kptErr := kptRender(t, kpt, dir)
				res, err := New(Options{AllowExec: true, NoContainers: true}).Render(context.Background(), mapped)
				if (err == nil) != (kptErr == nil) {
					t.Fatalf("kpt: %v\nours: %v", kptErr, err)
				}
				if res.Package == nil || deepFailure(err, annotations) {
					res.Package = mapped
				}
				if diff := cmp.Diff(withoutStatus(trees(t, load(t, dir))), withoutStatus(trees(t, res.Package))); diff != "" {
					t.Errorf("(-kpt +ours):\n%s\n%v", diff, kptErr)
				}
			})
		}
	}
}

// deepFailure says whether kpt forgets what is to be kept: below the root's own
// subpackages, children first (docs/kpt.md).
func deepFailure(err error, annotations []string) bool {
	var failed *FunctionError
	return errors.As(err, &failed) && strings.Contains(failed.Package, "/") && !slices.Contains(annotations, downward)
}

// knowsOrder asks kpt to render a package in which the order shows.
func knowsOrder(t *testing.T, kpt string) bool {
	t.Helper()
	dir := t.TempDir()
	p := withExec(t, pkg(t, map[string]string{
		"Kptfile":   annotated("root", "pipeline:\n  mutators:\n  - image: set-annotations:v0.1\n    configMap: {last: root}\n", downward),
		"a/Kptfile": kptfileOf("a", "pipeline:\n  mutators:\n  - image: set-annotations:v0.1\n    configMap: {last: a}\n"), "a/x.yaml": configMap("ax"),
	}))
	save(t, p, dir)
	cmd := exec.Command(kpt, "fn", "render", dir, "--allow-exec")
	cmd.Env = append(os.Environ(), "KPT_DISABLE_ATTRIBUTION=true")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return last(load(t, dir))["ax"] == "a"
}

// withoutStatus leaves out what newer kpt writes into the root's Kptfile about the
// rendering itself.
func withoutStatus(trees map[string][]any) map[string][]any {
	for _, d := range trees["Kptfile"] {
		delete(d.(map[string]any), "status")
	}
	return trees
}
