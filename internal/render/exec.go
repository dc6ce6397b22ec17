package render

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
)

// execRuntime runs `exec:` functions: programs of this machine. They run in
// the current directory, as with kpt, but with a small environment, so that tokens
// and keys of the caller do not reach what a package names.
type execRuntime struct {
	allow   bool
	env     environ
	inherit []string
	cache   *onceCache[processOutput]
	digests sync.Map // path → string
}

func newExecRuntime(opts Options, env environ) *execRuntime {
	return &execRuntime{
		allow: opts.AllowExec, env: env, inherit: env.safe(),
		cache: newProcessCache(),
	}
}

func (e *execRuntime) Name() string { return "exec" }

func (e *execRuntime) Resolve(f Function) (Invocation, error) {
	if f.Exec == "" {
		return nil, ErrNotMine
	}
	if !e.allow {
		return nil, &UnavailableError{
			Reason: "exec functions run programs of this machine and are off",
			Hint:   "review the package, then allow them with --allow-exec",
		}
	}
	words, err := splitWords(f.Exec)
	if err != nil || len(words) == 0 {
		return nil, fmt.Errorf("exec command %q cannot be read: %w", f.Exec, err)
	}
	file, err := e.env.lookPath(words[0])
	if err != nil {
		return nil, &UnavailableError{
			Reason: fmt.Sprintf("program %q was not found: %v", words[0], err),
			Hint:   "install it on the PATH, or give its path (relative ones start at the working directory)",
		}
	}
	return &process{
		version: fmt.Sprintf("exec %q %s", f.Exec, e.digest(file)), cache: e.cache,
		start: program{path: file, args: words[1:], env: e.inherit, whole: true}.run,
	}, nil
}

// digest identifies the program that would run.
func (e *execRuntime) digest(file string) string {
	if d, ok := e.digests.Load(file); ok {
		return d.(string)
	}
	d := "unreadable"
	if f, err := os.Open(filepath.Clean(file)); err == nil {
		defer f.Close()
		h := sha256.New()
		if _, err := io.Copy(h, f); err == nil {
			d = fmt.Sprintf("sha256:%x", h.Sum(nil))
		}
	}
	e.digests.Store(file, d)
	return d
}
