package cli

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestStartIsSmall bounds what the variables of our packages take before a command begins:
// what only some commands need is made when they need it. Together with those of others
// they stay below what the runtime collects first.
func TestStartIsSmall(t *testing.T) {
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	total, packages := 0, 0
	var most strings.Builder
	for line := range strings.Lines(string(out)) { // init <path> @<at> ms, <took> ms clock, <n> bytes, <m> allocs
		name, figures, ok := strings.Cut(strings.TrimPrefix(line, "init "), " @")
		if !ok || !strings.Contains(name, "variform") {
			continue
		}
		var at, took float64
		var bytes, allocs int
		if _, err := fmt.Sscanf(figures, "%f ms, %f ms clock, %d bytes, %d allocs", &at, &took, &bytes, &allocs); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		total, packages = total+bytes, packages+1
		most.WriteString(line)
	}
	if total > 60_000 || packages < 10 {
		t.Errorf("%d bytes in %d packages, want at most 60,000:\n%s", total, packages, most.String())
	}
}
