package render

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// environ is the caller's environment.
type environ []string

func newEnviron(env []string) environ {
	if env == nil {
		return os.Environ()
	}
	return env
}

func (e environ) get(key string) string {
	for i := len(e) - 1; i >= 0; i-- {
		if k, v, ok := strings.Cut(e[i], "="); ok && k == key {
			return v
		}
	}
	return ""
}

// safe is what exec functions inherit: enough to run, no credentials.
func (e environ) safe() []string {
	keep := map[string]bool{"PATH": true, "HOME": true, "TMPDIR": true, "LANG": true, "TZ": true}
	out := []string{}
	for _, kv := range e {
		if k, _, ok := strings.Cut(kv, "="); ok && (keep[k] || strings.HasPrefix(k, "LC_")) {
			out = append(out, kv)
		}
	}
	return out
}

// lookPath finds a program: a bare name in the environment's PATH, a path as it
// is, or relative to the current directory.
func (e environ) lookPath(name string) (string, error) {
	if strings.ContainsRune(name, filepath.Separator) || strings.ContainsRune(name, '/') {
		if abs, err := filepath.Abs(name); err == nil {
			name = abs
		}
		return exec.LookPath(name)
	}
	for _, d := range filepath.SplitList(e.get("PATH")) {
		if !filepath.IsAbs(d) {
			continue // never a program of the package that happens to lie here
		}
		if p, err := exec.LookPath(filepath.Join(d, name)); err == nil {
			return p, nil
		}
	}
	return "", &exec.Error{Name: name, Err: exec.ErrNotFound}
}
