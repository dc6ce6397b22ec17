package render

import (
	"context"
	"os"
	"runtime"
	"strings"
	"testing"
)

// TestFloods holds that what a function writes is cut while it arrives, and the
// function ended, whatever runs it.
func TestFloods(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct{ function, want string }{
		"Output":   {"flood-stdout", "wrote more than 64 MiB"},
		"Errors":   {"flood-stderr", "wrote more than 64 MiB"},
		"Values":   {"flood-values", "values, more than 2000000"},
		"Messages": {"flood-messages", ""},
		"NoList":   {"no-list", "not a ResourceList"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := pkg(t, map[string]string{"Kptfile": kptfileOf("p", "pipeline:\n  mutators:\n  - exec: "+self+" "+runFunction+" "+tc.function+"\n"), "a.yaml": configMap("a")})
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			res, err := New(Options{AllowExec: true, NoContainers: true}).Render(context.Background(), p)
			runtime.ReadMemStats(&after)
			if got := after.TotalAlloc - before.TotalAlloc; got > 3*maxOutput {
				t.Errorf("%d MiB were allocated", got>>20)
			}
			switch {
			case tc.want == "" && err != nil:
				t.Fatal(err)
			case tc.want == "":
				if got := res.Functions[0].Stderr; len(got) > maxMessages+100 || !strings.Contains(got, "bytes more)") {
					t.Errorf("%d bytes of messages were kept", len(got))
				}
			case err == nil || !strings.Contains(err.Error(), tc.want):
				t.Errorf("got %v, want %q in it", err, tc.want)
			}
		})
	}
}

// TestContainerFlood is the same for a container that serves many calls, and for
// one a call.
func TestContainerFlood(t *testing.T) {
	needEngine(t)
	for _, reuse := range []bool{true, false} {
		r := containerRenderer(t, reuse, nil)
		for _, name := range []string{"flood-stdout", "flood-stderr"} {
			if _, err := call(context.Background(), t, r, testImage(name), 0); err == nil || !strings.Contains(err.Error(), "wrote more than 64 MiB") {
				t.Errorf("%s: got %v", name, err)
			}
		}
	}
}
