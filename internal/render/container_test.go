package render

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/variform/variform/test/enginetest"
)

// engineEnv is the environment of an engine that works here.
func engineEnv() []string {
	return slices.Concat(os.Environ(), enginetest.Environ(), []string{"HTTP_PROXY=http://user:secret@proxy.example.com"})
}

// needEngine skips the test where there is no engine, or where the test binary
// cannot run in an empty image.
func needEngine(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("SKIPPED: -short leaves out what runs in containers")
	}
	enginetest.Need(t)
	if !static(testBinary(t)) {
		t.Skip("SKIPPED: the test binary is not static; run with CGO_ENABLED=0 to run it in a container")
	}
	switch err := images(); {
	case errors.Is(err, enginetest.ErrNoEngine):
		t.Skip("SKIPPED:", err)
	case err != nil:
		t.Fatal(err)
	}
}

func testBinary(t testing.TB) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return exe
}

// testImage is the name of the image of one of the tests' functions.
func testImage(fnName string) string {
	return fmt.Sprintf("example.com/test-%d/%s:v1", os.Getpid(), fnName)
}

// images are the test binary as each of these functions, loaded once: they
// share their layer. "broken" names a program that is not there.
var images = sync.OnceValue(func() error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	all := map[string][]string{testImage("broken"): {"/missing"}}
	for _, fnName := range []string{"note", "exit3", "probe", "turns", "hog", "spin", "hang", "flood", "flood-stdout", "flood-stderr"} {
		all[testImage(fnName)] = []string{"/fn", runFunction, fnName}
	}
	return enginetest.Load(exe, all)
})

// renderer is warm or cold: with or without the helper.
func containerRenderer(t *testing.T, warm bool, change func(*Options)) *Renderer {
	t.Helper()
	opts := Options{Environ: engineEnv(), ImagePullPolicy: PullNever, AllowedImages: []string{"example.com/*"}, Timeout: time.Minute}
	if warm {
		opts.ContainerHelper = testBinary(t)
	}
	if change != nil {
		change(&opts)
	}
	r := New(opts)
	t.Cleanup(func() {
		r.Close()
		noContainers(t)
	})
	return r
}

// mine are the containers of this process's images.
func myContainers(t *testing.T) string {
	t.Helper()
	out, err := enginetest.Run("ps", "--all", "--format", "{{.Labels}} {{.Names}} {{.Status}}", "--filter", "label="+containerLabel)
	if err != nil {
		t.Fatal(err, out)
	}
	var mine []string
	for _, line := range strings.Split(out, "\n") {
		if strings.Contains(line, fmt.Sprintf("/test-%d/", os.Getpid())) {
			mine = append(mine, line)
		}
	}
	return strings.Join(mine, "\n")
}

// none fails where a container of this test is still there.
func noContainers(t *testing.T) {
	t.Helper()
	if left := myContainers(t); left != "" {
		t.Errorf("containers are left:\n%s", left)
	}
}

// call renders a package with one function; n makes its input another one.
func call(ctx context.Context, t *testing.T, r *Renderer, image string, n int) (*Result, error) {
	t.Helper()
	return r.Render(ctx, pkg(t, map[string]string{
		"Kptfile": kptfileOf("root", "pipeline:\n  mutators:\n  - image: "+image+"\n    configMap: {k: v}\n"),
		"a.yaml":  configMap(fmt.Sprintf("a%d # kept", n)),
	}))
}

// stderrOf is what the function of a call said.
func stderrOf(t *testing.T, r *Renderer, image string, n int) string {
	t.Helper()
	res, err := call(context.Background(), t, r, image, n)
	if err != nil {
		t.Fatal(err)
	}
	return res.Functions[0].Stderr
}

func TestContainer(t *testing.T) {
	needEngine(t)
	for mode, warm := range map[string]bool{"Warm": true, "Cold": false} {
		t.Run(mode, func(t *testing.T) {
			r := containerRenderer(t, warm, nil)
			for n := range 3 {
				res, err := call(context.Background(), t, r, testImage("note"), n)
				if err != nil {
					t.Fatal(err)
				}
				want := configMap(fmt.Sprintf("a%d # kept", n)) + "  annotations:\n    k: v\n"
				if diff := gocmp.Diff(want, contents(t, res.Package)["a.yaml"]); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				if res.Functions[0].Runtime != "container" {
					t.Errorf("runtime %q", res.Functions[0].Runtime)
				}
			}
			var fe *FunctionError
			if _, err := call(context.Background(), t, r, testImage("exit3"), 0); !errors.As(err, &fe) || fe.ExitCode != 3 ||
				!strings.Contains(fe.Stderr, "went wrong") || len(fe.Results) != 1 || fe.Results[0].Message != "why" {
				t.Errorf("got %v", err)
			}
			var ue *UnavailableError
			if _, err := call(context.Background(), t, r, "example.com/test/gone:v1", 0); !errors.As(err, &ue) || !strings.Contains(ue.Hint, "IfNotPresent") {
				t.Errorf("a missing image: got %v", err)
			}
			if _, err := call(context.Background(), t, r, testImage("broken"), 0); err == nil || !strings.Contains(err.Error(), "cannot be run") {
				t.Errorf("a missing program: got %v", err)
			}
		})
	}
}

// TestContainerIsolation compares what a function can reach in a container of
// its own and in one that serves many calls: the same, and nothing.
func TestContainerIsolation(t *testing.T) {
	needEngine(t)
	image := testImage("probe")
	cold := stderrOf(t, containerRenderer(t, false, nil), image, 0)
	warm := containerRenderer(t, true, nil)
	for n := range 2 {
		if diff := gocmp.Diff(cold, stderrOf(t, warm, image, n)); diff != "" {
			t.Errorf("call %d (-cold +warm):\n%s", n, diff)
		}
	}
	for _, want := range []string{
		"user 65534 65534\n", "CapEff 0000000000000000\n", "CapBnd 0000000000000000\n", "NoNewPrivs 1\n", "Seccomp 2\n",
		"network lo\n", "env OF_THE_IMAGE=yes\n",
	} {
		if !strings.Contains(cold, want) {
			t.Errorf("no %q in:\n%s", want, cold)
		}
	}
	for _, bad := range []string{"can ", "secret"} {
		if strings.Contains(cold, bad) {
			t.Errorf("%q in:\n%s", bad, cold)
		}
	}
	if strings.Count(cold, "network ") != 1 {
		t.Errorf("more than the loopback interface in:\n%s", cold)
	}
}

// TestContainerLeavings: no process, and no shared memory, reaches another call.
func TestContainerLeavings(t *testing.T) {
	needEngine(t)
	r := containerRenderer(t, true, nil)
	first := stderrOf(t, r, testImage("turns"), 0) // see
	for n, after := range []string{"left <nil>\n", "shared memory <nil>\n"} {
		if got := stderrOf(t, r, testImage("turns"), 1+2*n); got != after {
			t.Fatalf("it did not leave anything: %q", got)
		}
		got := stderrOf(t, r, testImage("turns"), 2+2*n)
		if !strings.HasPrefix(got, "processes 0 segments 0 ") {
			t.Errorf("after %q: %s", after, got)
		}
		if same := got == first; same != (n == 0) {
			t.Errorf("after %q: container %q, the first was %q", after, got, first)
		}
	}
}

// TestContainerGone: somebody removes a container that waits; the next call has a new one.
func TestContainerGone(t *testing.T) {
	needEngine(t)
	r := containerRenderer(t, true, nil)
	first := stderrOf(t, r, testImage("turns"), 0) // see
	for _, line := range strings.Split(myContainers(t), "\n") {
		for _, word := range strings.Fields(line) {
			if strings.HasPrefix(word, "variform-") {
				if out, err := enginetest.Run("rm", "--force", word); err != nil {
					t.Fatal(err, out)
				}
			}
		}
	}
	if second := stderrOf(t, r, testImage("turns"), 2); second == first {
		t.Errorf("the container was not removed: %q", second)
	}
}

func TestContainerLimits(t *testing.T) {
	needEngine(t)
	for mode, warm := range map[string]bool{"Warm": true, "Cold": false} {
		t.Run(mode, func(t *testing.T) {
			r := containerRenderer(t, warm, func(o *Options) { o.Memory = 128 << 20 })
			var fe *FunctionError
			if _, err := call(context.Background(), t, r, testImage("hog"), 0); !errors.As(err, &fe) || fe.ExitCode != signalled+9 {
				t.Errorf("memory: got %v", err)
			}
			r.Close()
			r = containerRenderer(t, warm, func(o *Options) { o.Timeout = time.Second })
			if _, err := call(context.Background(), t, r, testImage("spin"), 0); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("time: got %v", err)
			}
			noContainers(t) // before Close too
		})
	}
}

// TestContainerCancel stops calls while their container is being made, and later.
func TestContainerCancel(t *testing.T) {
	needEngine(t)
	for mode, warm := range map[string]bool{"Warm": true, "Cold": false} {
		t.Run(mode, func(t *testing.T) {
			r := containerRenderer(t, warm, nil)
			for _, ms := range []int{30, 60, 90, 120, 500} {
				ctx, cancel := context.WithTimeout(context.Background(), time.Duration(ms)*time.Millisecond)
				if _, err := call(ctx, t, r, testImage("hang"), 0); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("after %d ms: got %v", ms, err)
				}
				cancel()
				noContainers(t)
			}
		})
	}
}

// TestContainerKilled kills the process that renders, so that nobody cleans up
// in its place but the helper.
func TestContainerKilled(t *testing.T) {
	needEngine(t)
	dir := t.TempDir()
	save(t, pkg(t, map[string]string{
		"Kptfile": kptfileOf("root", "pipeline:\n  mutators:\n  - image: "+testImage("hang")+"\n"), "a.yaml": configMap("a"),
	}), dir)
	cmd := exec.Command(testBinary(t), renderFolder, dir)
	cmd.Env = slices.Concat(engineEnv(), []string{"TMPDIR=" + t.TempDir()})
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	until(t, "a container is started", func() bool { return myContainers(t) != "" })
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	until(t, "its container is gone", func() bool { return myContainers(t) == "" })
}

func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !done(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("20 s were not enough until %s", what)
		}
	}
}

// TestContainersSideBySide: each call has a container to itself, and all output
// arrives.
func TestContainersSideBySide(t *testing.T) {
	needEngine(t)
	r := containerRenderer(t, true, nil)
	var all sync.WaitGroup
	for n := range 6 {
		all.Go(func() {
			res, err := call(context.Background(), t, r, testImage("note"), n)
			if err != nil {
				t.Error(err)
			} else if got := contents(t, res.Package)["a.yaml"]; !strings.Contains(got, fmt.Sprintf("a%d # kept", n)) {
				t.Errorf("call %d got the answer of another:\n%s", n, got)
			}
		})
	}
	all.Wait()
	if got := len(stderrOf(t, r, testImage("flood"), 0)); got != 500_000 {
		t.Errorf("%d bytes of standard error arrived", got)
	}
}

// TestHelperRefuses: outside of a container it would end all that the user runs.
func TestHelperRefuses(t *testing.T) {
	if err := Helper([]string{"true"}, strings.NewReader(""), io.Discard); err == nil {
		t.Error("the helper started outside of a container")
	}
}
