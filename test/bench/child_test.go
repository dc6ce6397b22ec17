package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"runtime"
	"runtime/metrics"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/variform/variform/internal/cli"
)

// childVar makes the test program a variform that says at its end what it used.
const childVar = "VARIFORM_BENCH_CHILD"

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == runFunction {
		os.Exit(catalogueMain(os.Args[2]))
	}
	if os.Getenv(childVar) != "" {
		os.Exit(childMain())
	}
	os.Exit(withState(m))
}

// withState runs the tests with a folder of their own for what this machine states.
func withState(m *testing.M) int {
	dir, err := os.MkdirTemp("", "variform-state")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := os.Setenv("XDG_STATE_HOME", dir); err != nil {
		panic(err)
	}
	return m.Run()
}

// childCost is what a run of the command in its own process took.
type childCost struct {
	Peak int64         // bytes of resident memory at most
	GC   float64       // the part of the processor time that went into collecting garbage
	cpu  time.Duration // user and system, with the git programs that it ran
	wall time.Duration
}

func childMain() int {
	runtime.MemProfileRate = 0 // as in the command, which the linker leaves the profile out of
	status := cli.Main(context.Background(), os.Args[1:], cli.Streams{In: os.Stdin, Out: io.Discard, Err: os.Stderr, State: cli.StateDir()})
	if err := json.NewEncoder(os.Stdout).Encode(childCost{Peak: peak(), GC: collecting()}); err != nil {
		return 2
	}
	return status
}

// collecting is the part of this process's processor time that went into collecting
// garbage, beside what was idle.
func collecting() float64 {
	runtime.GC() // else what is not yet counted is missing
	samples := []metrics.Sample{{Name: "/cpu/classes/gc/total:cpu-seconds"}, {Name: "/cpu/classes/total:cpu-seconds"}, {Name: "/cpu/classes/idle:cpu-seconds"}, {Name: "/cpu/classes/gc/mark/idle:cpu-seconds"}}
	metrics.Read(samples)
	of := func(i int) float64 { return samples[i].Value.Float64() }
	return (of(0) - of(3)) / (of(1) - of(2) - of(3))
}

// peak is the largest resident memory of this process where the system says it
// (Linux), what the Go runtime took from the system elsewhere. The maximum that
// wait4 gives would not do: it begins with that of the process that forked.
func peak() int64 {
	if f, err := os.Open("/proc/self/status"); err == nil {
		defer f.Close()
		for lines := bufio.NewScanner(f); lines.Scan(); {
			fields := strings.Fields(lines.Text())
			if len(fields) == 3 && fields[0] == "VmHWM:" {
				kib, _ := strconv.ParseInt(fields[1], 10, 64)
				return kib << 10
			}
		}
	}
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.Sys)
}

func runChild(b testing.TB, w *world) childCost {
	b.Helper()
	return runSelf(b, w.applyArgs()...)
}

// runSelf runs the command with other arguments in a process of its own.
func runSelf(b testing.TB, args ...string) childCost {
	b.Helper()
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), childVar+"=1")
	cmd.Stderr = os.Stderr
	start := time.Now()
	out, err := cmd.Output()
	wall := time.Since(start)
	if err != nil {
		b.Fatalf("variform %s in a process of its own: %v", args[0], err)
	}
	var c childCost
	if err := json.Unmarshal(out, &c); err != nil {
		b.Fatal(err)
	}
	c.wall = wall
	c.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	return c
}
