package hostile

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/variform/variform/test/enginetest"
	"github.com/variform/variform/test/gittest"
	"github.com/variform/variform/test/programs"
)

const (
	canary   = "canary-4f1d9c-secret"
	maxBytes = 512 << 20 // of memory, for the command
)

func TestMain(m *testing.M) {
	status := programs.Main(m)
	enginetest.Close()
	os.Exit(status)
}

func repository(name, url string) string {
	return fmt.Sprintf("apiVersion: config.porch.kpt.dev/v1alpha1\nkind: Repository\nmetadata: {name: %s, labels: {e: p}}\nspec: {type: git, deployment: true, git: {repo: %q, branch: main}}\n", name, url)
}

const kptfile = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: foo}\n"

// world is a management directory beside a Git server that wants a login.
type world struct {
	t     *testing.T
	bin   string
	dir   string
	env   []string // more of the command's environment
	git   *gittest.Server
	repos map[string]*gittest.Repo
}

func newWorld(t *testing.T, repos ...string) *world {
	t.Helper()
	w := &world{t: t, bin: programs.Command(t), dir: t.TempDir(), git: gittest.NewServer(t), repos: map[string]*gittest.Repo{}}
	w.git.RequireLogin("bob", canary)
	if err := os.WriteFile(filepath.Join(w.dir, "gitconfig"), []byte("[user]\nname = Ann\nemail = ann@example.com\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.write("Kptfile", "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: mgr}\n")
	for _, name := range append(repos, "cat") {
		w.repos[name] = w.git.NewRepo(t, name)
		text := repository(name, w.url(name))
		if name == "cat" {
			text = strings.Replace(text, "labels: {e: p}", "labels: {}", 1)
		} else {
			w.repos[name].Commit(t, "main", "init", gittest.Text{"README": "x\n"})
		}
		w.write("repo-"+name+".yaml", text)
	}
	return w
}

// url holds the login, as a careless user writes it.
func (w *world) url(name string) string { return withLogin(w.git.RepoURL(name)) }

func withLogin(url string) string { return strings.Replace(url, "://", "://bob:"+canary+"@", 1) }

func (w *world) fleet() string { return filepath.Join(w.dir, "fleet") }

func (w *world) write(name, text string) {
	w.t.Helper()
	if err := os.MkdirAll(w.fleet(), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(w.fleet(), name), []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// publish puts a package into the catalogue at v1.
func (w *world) publish(pkg string, files gittest.Files) {
	w.t.Helper()
	for i := range files {
		files[i].Path = pkg + "/" + files[i].Path
	}
	w.repos["cat"].Tag(w.t, pkg+"/v1", w.repos["cat"].Commit(w.t, "main", pkg, files))
}

// variant wants a package of the catalogue in a repository.
func (w *world) variant(pkg, repo, more string) {
	w.t.Helper()
	w.write("pv-"+pkg+"-"+repo+".yaml", fmt.Sprintf(`apiVersion: config.porch.kpt.dev/v1alpha1
kind: PackageVariant
metadata: {name: %s-%s}
spec:
  upstream: {repo: cat, package: %s, revision: v1}
  downstream: {repo: %s, package: %s}
%s`, pkg, repo, pkg, repo, pkg, more))
}

// ran is what became of a run.
type ran struct {
	code      int
	out, errs string
	rss       int64
	variants  map[string]row
}

type row struct {
	Variant, Action, Error string
	Reasons, Warnings      []string
}

// run runs the command within bounds of time and memory, and looks for the login
// and for what steers a terminal in what it says.
func (w *world) run(args ...string) ran {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, w.bin, args...)
	cmd.Dir = w.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+filepath.Join(w.dir, "gitconfig"), "HOME="+w.dir,
		"VARIFORM_CACHE_DIR="+filepath.Join(w.dir, "cache"), "SECRET_TOKEN="+canary)
	cmd.Env = append(cmd.Env, w.env...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	r := ran{variants: map[string]row{}}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGQUIT) } // says what it is at
	start := time.Now()
	err := cmd.Start()
	if err == nil {
		over, peak := make(chan struct{}), make(chan int64)
		go func() { peak <- highest(cmd.Process.Pid, over) }()
		err = cmd.Wait()
		close(over)
		r.rss = <-peak
	}
	if ctx.Err() != nil || cmd.ProcessState == nil {
		w.t.Fatalf("%v: %v after %s\n%.90000s", args, err, time.Since(start), errs.String())
	}
	r.code, r.out, r.errs = cmd.ProcessState.ExitCode(), out.String(), errs.String()
	w.t.Logf("%s: %d MB, %s of processor, %s", args[0], r.rss>>20, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime(), time.Since(start).Round(time.Millisecond))
	if r.rss > maxBytes {
		w.t.Errorf("%s took %d MB of memory", args[0], r.rss>>20)
	}
	quiet(w.t, r.out, "its output")
	quiet(w.t, r.errs, "what it says")
	if strings.ContainsAny(r.errs, "\x1b\u009b\u202e\u2066") {
		w.t.Errorf("%s steers the terminal", args[0])
	}
	return r
}

// highest is the most memory that a process has at once, where Linux tells it.
// What wait tells holds that of this process too, which the other was forked from.
func highest(pid int, over <-chan struct{}) (peak int64) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if _, rest, ok := strings.Cut(string(status), "VmHWM:"); ok {
			var kb int64
			if _, err := fmt.Sscanf(rest, "%d kB", &kb); err == nil {
				peak = max(peak, kb<<10)
			}
		}
		select {
		case <-over:
			return peak
		case <-tick.C:
		}
	}
}

// quiet looks for the login.
func quiet(t *testing.T, text, what string) {
	t.Helper()
	for _, secret := range []string{canary, base64.StdEncoding.EncodeToString([]byte("bob:" + canary))} {
		if strings.Contains(text, secret) {
			t.Errorf("%s holds the login", what)
		}
	}
}

// apply is a run of apply; most of it fails, so that the status is 1.
func (w *world) apply(more ...string) ran {
	w.t.Helper()
	r := w.run(append([]string{"apply", "-v", "-f", w.fleet(), "-o", "json", "--server-timeout", "3s"}, more...)...)
	if r.code != 1 {
		w.t.Fatalf("status %d\n%.3000s", r.code, r.errs)
	}
	var plan struct{ Variants []row }
	if err := json.Unmarshal([]byte(r.out), &plan); err != nil {
		w.t.Fatal(err)
	}
	for _, v := range plan.Variants {
		r.variants[v.Variant] = v
		if v.Action == "fail" && v.Error == "" || len(v.Error) > 8000 {
			w.t.Errorf("%s: the error has %d bytes: %.300s", v.Variant, len(v.Error), v.Error)
		}
	}
	return r
}

// wantNoLeak looks for the login in all that a repository holds.
func (w *world) wantNoLeak(repo string) {
	w.t.Helper()
	r := w.repos[repo]
	objects := r.Git(w.t, "cat-file", "--batch-all-objects", "--batch-check=%(objectname) %(objecttype)")
	var in strings.Builder
	for line := range strings.SplitSeq(objects, "\n") {
		if name, kind, _ := strings.Cut(line, " "); kind != "tree" && name != "" {
			in.WriteString(name + "\n")
		}
	}
	quiet(w.t, gittest.Run(w.t, r.Dir, []byte(in.String()), "cat-file", "--batch"), "the repository "+repo)
}
