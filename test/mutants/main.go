// Command mutants says how many small random faults in a package its own tests
// find: it removes statements, turns conditions around and changes constants,
// one at a time, and runs the package's tests in a copy of the module that has
// nothing beside it, as a fresh clone has not.
//
//	go run ./test/mutants -n 40 -seed 1 ./internal/merge
//
// Faults that live are either ones that no test looks for, or no faults: the
// reader judges.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

func main() {
	var o options
	flag.IntVar(&o.count, "n", 40, "how many faults to try")
	flag.Uint64Var(&o.seed, "seed", 1, "which ones: the same seed takes the same faults of the same source")
	flag.StringVar(&o.files, "files", "", "only in files whose names match this regular expression")
	flag.StringVar(&o.tests, "run", "", "only the tests whose names match this regular expression")
	flag.Float64Var(&o.want, "want", 0, "fail where a smaller part of the faults is found")
	flag.DurationVar(&o.timeout, "timeout", 2*time.Minute, "how long the tests may run; a fault that lets them run on counts as found")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o, flag.Args(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		stop()
		os.Exit(2) //nolint:gocritic // stop has run
	}
}

type options struct {
	count   int
	seed    uint64
	files   string
	tests   string
	want    float64
	timeout time.Duration
}

func run(ctx context.Context, o options, packages []string, out io.Writer) error {
	if len(packages) != 1 {
		return errors.New("name one package folder, such as ./internal/merge")
	}
	pattern, err := regexp.Compile(o.files)
	if err != nil {
		return err
	}
	dir := filepath.Clean(packages[0])
	all, err := candidates(dir, pattern)
	if err != nil {
		return err
	}
	tmp, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(tmp) }()
	l := &lab{dir: dir, root: filepath.Join(tmp, "module", "clone"), tmp: tmp, tests: o.tests, timeout: o.timeout}
	if err := l.clone(ctx); err != nil {
		return err
	}
	r := rand.New(rand.NewPCG(o.seed, 0))
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return l.hunt(ctx, all, o, out)
}

// candidates are the faults of a package's sources.
func candidates(dir string, pattern *regexp.Regexp) ([]mutation, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	var all []mutation
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") || !pattern.MatchString(filepath.Base(name)) {
			continue
		}
		src, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		found, err := mutations(name, src)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s has no source to change", dir)
	}
	return all, nil
}

// lab is a copy of the module in which faults are tried.
type lab struct {
	dir, root, tmp, tests string
	timeout               time.Duration
}

// clone copies what Git knows of, and nothing that lies beside it.
func (l *lab) clone(ctx context.Context) error {
	files, err := exec.CommandContext(ctx, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		return fmt.Errorf("listing the files of the module: %w", err)
	}
	for name := range strings.SplitSeq(strings.TrimRight(string(files), "\x00"), "\x00") {
		if err := copyFile(name, filepath.Join(l.root, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	found, text, err := l.try(ctx, mutation{})
	if err == nil && found {
		err = fmt.Errorf("the tests of %s fail without any fault:\n%s", l.dir, text)
	}
	return err
}

func copyFile(from, to string) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, data, info.Mode().Perm())
}

// hunt tries faults until enough of them could be built.
func (l *lab) hunt(ctx context.Context, all []mutation, o options, out io.Writer) error {
	tried, found := 0, 0
	for _, m := range all {
		if tried == o.count {
			break
		}
		dead, _, err := l.try(ctx, m)
		if errors.Is(err, errNoBuild) {
			continue
		}
		if err != nil {
			return err
		}
		tried++
		word := "LIVED"
		if dead {
			found, word = found+1, "found"
		}
		_, _ = fmt.Fprintf(out, "%s %s\n", word, m)
	}
	_, _ = fmt.Fprintf(out, "%s: %d of %d faults found (seed %d)\n", l.dir, found, tried, o.seed)
	if float64(found) < o.want*float64(tried) {
		return fmt.Errorf("%s: fewer than %.0f %% of the faults are found", l.dir, 100*o.want)
	}
	return nil
}

var errNoBuild = errors.New("the fault does not compile")

// try builds the package's tests with a fault and runs them; found says that
// they fail.
func (l *lab) try(ctx context.Context, m mutation) (found bool, text string, err error) {
	overlay, err := l.overlay(m)
	if err != nil {
		return false, "", err
	}
	binary := filepath.Join(l.tmp, "tests")
	build := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-overlay", overlay, "-o", binary, "./"+filepath.ToSlash(l.dir))
	build.Dir = l.root
	if text, err := build.CombinedOutput(); err != nil {
		if ctx.Err() != nil {
			return false, "", ctx.Err()
		}
		return false, string(text), errNoBuild
	}
	limit, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	test := exec.CommandContext(limit, binary, "-test.failfast", "-test.run="+l.tests)
	test.Dir = filepath.Join(l.root, l.dir)
	test.WaitDelay = time.Second
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "CONFORMANCE_DIR=") {
			test.Env = append(test.Env, kv)
		}
	}
	output, err := test.CombinedOutput()
	if ctx.Err() != nil {
		return false, "", ctx.Err()
	}
	return err != nil, string(output), nil
}

// overlay writes the changed source, and the file that tells go of it.
func (l *lab) overlay(m mutation) (string, error) {
	replace := map[string]string{}
	if m.file != "" {
		src, err := os.ReadFile(filepath.Join(l.root, m.file))
		if err != nil {
			return "", err
		}
		changed := filepath.Join(l.tmp, "changed.go")
		if err := os.WriteFile(changed, m.apply(src), 0o600); err != nil {
			return "", err
		}
		replace[filepath.Join(l.root, m.file)] = changed
	}
	data, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	name := filepath.Join(l.tmp, "overlay.json")
	return name, os.WriteFile(name, data, 0o600)
}
