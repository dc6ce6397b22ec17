// Package programs has the project's programs for tests that run them as
// processes: those of VARIFORM_BIN, which make sets after it built them, or
// programs that it builds once for the test binary.
package programs

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
)

// Command returns the path of the command variform.
func Command(t testing.TB) string {
	t.Helper()
	return filepath.Join(folder(t), "variform"+suffix())
}

// Functions returns the folder that has a program for each function.
func Functions(t testing.TB) string {
	t.Helper()
	return filepath.Join(folder(t), "functions")
}

// Main runs the tests and removes what was built for them. It returns the exit
// status.
func Main(m *testing.M) int {
	defer func() { _ = os.RemoveAll(made) }()
	return m.Run()
}

func folder(t testing.TB) string {
	t.Helper()
	dir, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func suffix() string {
	if runtime.GOOS == "windows" {
		return ".exe"
	}
	return ""
}

// made is the folder that build made, empty where it made none.
var made string

// build returns a folder with the programs.
var build = sync.OnceValues(func() (string, error) {
	if dir := os.Getenv("VARIFORM_BIN"); dir != "" {
		if _, err := os.Stat(filepath.Join(dir, "variform"+suffix())); err != nil {
			return "", fmt.Errorf("VARIFORM_BIN does not have the programs, run make build: %w", err)
		}
		return filepath.Abs(dir)
	}
	dir, err := os.MkdirTemp("", "variform-programs-")
	if err != nil {
		return "", err
	}
	made = dir
	if err := os.Mkdir(filepath.Join(dir, "functions"), 0o755); err != nil {
		return "", err
	}
	const module = "github.com/variform/variform/"
	for to, packages := range map[string]string{"": module + "cmd/variform", "functions": module + "functions/..."} {
		c := exec.Command("go", "build", "-o", filepath.Join(dir, to)+string(filepath.Separator), packages)
		if out, err := c.CombinedOutput(); err != nil {
			return "", fmt.Errorf("%s: %w\n%s", c, err, out)
		}
	}
	return dir, nil
})
