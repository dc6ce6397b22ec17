package hostile

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/variform/variform/test/enginetest"
	"github.com/variform/variform/test/gittest"
)

// inContainers are the programs that are images as well: what differs there is who
// ends them, and how what they write arrives. The error may be another.
var inContainers = map[string]string{
	"sleeps": "was stopped", "ignores signals": "was stopped", "computes": "was stopped",
	"floods": "more than 64 MiB|was stopped", "floods its errors": "more than 64 MiB|was stopped",
	"says nothing": "output", "garbage": "output", "cut off": "not YAML", "laughs in an item": "stand for more",
	"exits with 1": "exit code 1", "exits with 255": "exit code 255", "steers its user": "exit code 3",
	"forks": "was stopped|exit code 137|its container ended before it did", "takes memory": "exit code 137|was stopped", "leaves a process": "", "its environment": "", "up": "../../x.yaml",
}

// apart are programs that no test runs on this machine without bounds of its own.
var apart = map[string]hostileProgram{
	"forks": {do: func(string) {
		for {
			_ = exec.Command(os.Args[0], asFunction, "sleeps", "/").Start() // until the bound of processes, and on
		}
	}},
	"takes memory": {do: func(string) {
		for all := [][]byte{}; ; {
			piece := make([]byte, 16<<20)
			for i := 0; i < len(piece); i += 4096 {
				piece[i] = 1
			}
			all = append(all, piece)
		}
	}},
	"leaves a process": {answer: and(""), do: func(string) {
		_ = exec.Command(os.Args[0], asFunction, "sleeps", "/").Start()
	}},
	// asks somebody, and never gets an answer.
	"asks": {do: func(url string) {
		if resp, err := http.Get(url); err == nil {
			_ = resp.Body.Close()
		}
		time.Sleep(time.Hour)
	}},
}

// Functions in containers, in one fleet whose user allowed their images.
func TestHostileContainers(t *testing.T) {
	enginetest.Need(t)
	if info, ok := debug.ReadBuildInfo(); ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "CGO_ENABLED", Value: "1"}) {
		t.Skip("skipped: this program is the images', which have no C library: make test builds it with CGO_ENABLED=0")
	}
	w := newWorld(t, "good")
	w.env = enginetest.Environ()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	commands := map[string][]string{}
	image := func(name string) string {
		return fmt.Sprintf("example.com/hostile-%d/%s:v1", os.Getpid(), strings.ReplaceAll(name, " ", "-"))
	}
	for name := range inContainers {
		commands[image(name)] = []string{"/fn", asFunction, strings.ReplaceAll(name, " ", "-"), "/"}
	}
	switch err := enginetest.Load(exe, commands); {
	case errors.Is(err, enginetest.ErrNoEngine):
		t.Skip("SKIPPED:", err)
	case err != nil:
		t.Fatal(err)
	}
	w.publish("foo", gittest.Files{{Path: "Kptfile", Data: []byte(kptfile + pipeline)}, {Path: "cm.yaml", Data: []byte(configMap("c", "data: {a: b}\n"))}})
	w.variant("foo", "good", "")
	for name := range inContainers {
		pkg := strings.ReplaceAll(name, " ", "-")
		w.publish(pkg, named(fmt.Sprintf("pipeline: {mutators: [{image: %q}]}\n", image(name)), "cm.yaml", configMap("c", "data: {a: b}\n")))
		w.variant(pkg, "good", "")
	}
	for i, more := range []string{"--fresh-containers=false", "--fresh-containers"} {
		if i > 0 { // what was drafted is to be drafted again
			for ref := range w.repos["good"].Refs(t) {
				if ref != "refs/heads/main" {
					w.repos["good"].Git(t, "update-ref", "-d", ref)
				}
			}
		}
		r := w.apply("--allow-image", "example.com/*", "--image-pull-policy", "Never", "--function-timeout", "10s", "--container-memory", "256Mi", more)
		w.wantServed(r)
		for name, says := range inContainers {
			w.wantRow(r, strings.ReplaceAll(name, " ", "-"), says)
		}
		if left := containers(t); left != "" {
			t.Errorf("with %s, containers are left:\n%s", more, left)
		}
	}
	w.wantNoLeak("good")
}

// containers are those of this process's images, once the engine had time to
// remove the last ones.
func containers(t *testing.T) (left string) {
	t.Helper()
	for range 40 {
		out, err := enginetest.Run("ps", "--all", "--format", "{{.Image}} {{.Names}} {{.Status}}")
		if err != nil {
			t.Fatal(err, out)
		}
		left = ""
		for line := range strings.SplitSeq(out, "\n") {
			if strings.Contains(line, fmt.Sprintf("/hostile-%d/", os.Getpid())) {
				left += line + "\n"
			}
		}
		if left == "" {
			return ""
		}
		time.Sleep(250 * time.Millisecond)
	}
	return left
}
