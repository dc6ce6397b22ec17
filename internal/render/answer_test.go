package render

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/variform/variform/internal/function"
	"github.com/variform/variform/internal/krm"
)

// answerer runs every function by one that answers as told.
type answerer func(list string) string

func (answerer) Name() string { return "exec" }

func (a answerer) Resolve(Function) (Invocation, error) {
	return &process{version: "answerer", cache: &onceCache[processOutput]{}, start: func(_ context.Context, in []byte) (processOutput, error) {
		return processOutput{stdout: []byte(a(string(in)))}, nil
	}}, nil
}

// withItem puts an item before the others.
func withItem(file, more string) answerer {
	return func(list string) string {
		return strings.Replace(list, "items:\n", fmt.Sprintf("items:\n- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: new, annotations: {%s: %s}}\n%s", annPath, file, more), 1)
	}
}

func bracketed(n int) string { return strings.Repeat("{a: ", n) + "b" + strings.Repeat("}", n) }

// laughs are lists of ten aliases each to the one before.
func laughs(n int) string {
	out := "  a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := 1; i < n; i++ {
		out += fmt.Sprintf("  a%d: &a%d [*a%d%s]\n", i, i, i-1, strings.Repeat(fmt.Sprintf(", *a%d", i-1), 9))
	}
	return out
}

// What a function writes is held to what a file may hold that is read: the error
// names function, file and bound.
func TestAnswersAreBounded(t *testing.T) {
	before := pkg(t, map[string]string{"Kptfile": kptfileOf("root", "pipeline:\n  mutators:\n  - image: example.com/x:v1\n"), "a.yaml": configMap("a")})
	// Anchors that the answer has before its items, or in one of them.
	shared := func(n int) string { return "&s [" + strings.Repeat("x,", n) + "]" }
	for name, tc := range map[string]struct {
		answer answerer
		want   string // of the error; "" where the answer is taken
	}{
		"Depth":          {withItem("new.yaml", "  data: "+bracketed(190)+"\n"), ""},
		"Deep":           {withItem("new.yaml", "  data: "+bracketed(300)+"\n"), `for "new.yaml": it is nested deeper than 200 levels`},
		"Laughs":         {withItem("new.yaml", laughs(9)), `for "new.yaml": its aliases stand for more than 100000 nodes`},
		"Laughs outside": {func(list string) string { return "x:\n" + laughs(9) + list }, "x, line 6: its aliases stand for more than 100000 nodes"},
		"Itself":         {withItem("new.yaml", "  data: &d {a: *d}\n"), "inside of its own anchor"},
		"Aliases":        {withItem("new.yaml", "  data: &d {a: b}\n  more: *d\n"), ""},
		"Shared": {func(list string) string {
			return withItem("two.yaml", "  data: {a: *s}\n")(withItem("new.yaml", "  data: {a: "+shared(10)+"}\n")(list))
		}, "unknown anchor"},
		"Shared backwards": {func(list string) string {
			return withItem("new.yaml", "  data: {a: "+shared(10)+"}\n")(withItem("two.yaml", "  data: {a: *s}\n")(list))
		}, ""},
		"Shared by many": {func(list string) string {
			return withItem("new.yaml", "  data: {a: "+shared(2000)+"}\n")(withItem("two.yaml", "  data: ["+strings.Repeat("*s, ", 60)+"]\n")(list))
		}, `for "two.yaml": aliases to other parts of the text stand for more than 100000 nodes`},
		"Shared with none": {func(list string) string {
			return "x: " + shared(2000) + "\n" + withItem("two.yaml", "  data: ["+strings.Repeat("*s, ", 60)+"]\n")(list)
		}, `for "two.yaml": aliases to other parts of the text stand for more than 100000 nodes`},
		"Bytes":      {withItem("new.yaml", "  data: {a: \xe9}\n"), "not YAML"},
		"NUL":        {withItem("new.yaml", "  data: {a: \"\\0\"}\n"), ""},
		"Kptfile":    {withItem("Kptfile", ""), `ConfigMap "new" was put into Kptfile`},
		"Another":    {withKptfile("Kptfile"), `Kptfile "new" was put into Kptfile`},
		"Below":      {withKptfile("sub/Kptfile"), ""},
		"No Kptfile": {withItem("sub/Kptfile", ""), `ConfigMap "new" was put into sub/Kptfile`},
		"Moved": {func(list string) string {
			before, a, _ := strings.Cut(list, "name: a\n")
			return before + "name: a\n" + strings.NewReplacer("path: 'a.yaml'", "path: Kptfile", "index: '0'", "index: '1'").Replace(a)
		}, `ConfigMap "a" was put into Kptfile`},
		"Edited": {func(list string) string { return strings.Replace(list, "mutators:", "validators:", 1) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			res, err := New(Options{Runtimes: []Runtime{tc.answer}}).Render(context.Background(), before)
			var failed *FunctionError
			switch {
			case tc.want != "" && (!errors.As(err, &failed) || !strings.Contains(err.Error(), tc.want) || failed.Function != "example.com/x:v1"):
				t.Fatalf("got %v", err)
			case tc.want != "":
				return
			case err != nil:
				t.Fatal(err)
			}
			files, err := res.Package.Files()
			if err != nil {
				t.Fatal(err)
			}
			again, err := krm.Parse(files)
			if err != nil || len(again.Problems()) > 0 {
				t.Errorf("what was written cannot be read: %v, %v", err, again.Problems())
			}
		})
	}
}

func withKptfile(file string) answerer {
	return func(list string) string {
		return strings.Replace(withItem(file, "")(list), "apiVersion: v1\n  kind: ConfigMap", "apiVersion: kpt.dev/v1\n  kind: Kptfile", 1)
	}
}

// A null is a null to a program, and when it comes back, however it is written.
func TestNullsArePassed(t *testing.T) {
	text := configMap("a") + "data: {e, f: , g: {h}, i: ''}\n"
	sent := ""
	echo := answerer(func(list string) string { sent = list; return list })
	res, err := New(Options{Runtimes: []Runtime{echo}}).Render(context.Background(), pkg(t, map[string]string{
		"Kptfile": kptfileOf("root", "pipeline:\n  mutators:\n  - image: example.com/x:v1\n"), "a.yaml": text,
	}))
	if err != nil {
		t.Fatal(err)
	}
	if got := contents(t, res.Package)["a.yaml"]; got != text || !strings.Contains(sent, "data: {e: null, f: null, g: {h: null}, i: ''}") {
		t.Errorf("sent\n%s\nmade\n%s", sent, got)
	}
}

// One large output is parsed at a time, whatever else runs; small ones do not wait.
func TestLargeOutputIsAlone(t *testing.T) {
	answer := func(size int) chan error {
		done := make(chan error, 1)
		p := &process{cache: &onceCache[processOutput]{}, start: func(_ context.Context, in []byte) (processOutput, error) {
			return processOutput{stdout: append(in, bytes.Repeat([]byte("#"), size)...)}, nil
		}}
		go func() {
			_, err := p.Run(context.Background(), &Call{Call: &function.Call{Package: &krm.Package{}}})
			done <- err
		}()
		return done
	}
	end := largeOutput.alone(largeOutput.least)
	if err := <-answer(1000); err != nil {
		t.Errorf("a small one: %v", err)
	}
	large := answer(largeOutput.least)
	for waits, until := false, time.Now().Add(10*time.Second); !waits; time.Sleep(time.Millisecond) {
		stacks := make([]byte, 1<<20)
		waits = bytes.Contains(stacks[:runtime.Stack(stacks, true)], []byte("(*turnstile).alone"))
		if len(large) > 0 || time.Now().After(until) {
			t.Fatalf("a large one does not wait for another: %d ended", len(large))
		}
	}
	end()
	if err := <-large; err != nil {
		t.Errorf("a large one, alone: %v", err)
	}
	largeOutput.alone(largeOutput.least)() // it is free again
}
