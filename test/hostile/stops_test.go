package hostile

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/variform/variform/test/gittest"
	"github.com/variform/variform/test/programs"
)

// commands are all that the program has, as it tells shells.
func commands(t *testing.T, bin string, under ...string) (out []string) {
	t.Helper()
	list, err := exec.Command(bin, append(append([]string{"__complete"}, under...), "")...).Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.SplitSeq(string(list), "\n") {
		if name, _, ok := strings.Cut(line, "\t"); ok && name[0] != '-' { // no flag
			path := append(append([]string{}, under...), name)
			out = append(append(out, strings.Join(path, " ")), commands(t, bin, path...)...)
		}
	}
	return out
}

// stopped is a fleet whose only server never answers, and what each command is to
// do there. What asks nobody and reads no input ends by itself.
type stopped struct {
	bin, dir string
	asked    chan struct{}
	args     map[string][]string
}

var byThemselves = map[string]bool{
	"catalog": true, "catalog add": true, "catalog remove": true, "check": true, "create": true, "create installation": true, "create repository": true,
	"create set": true, "create variant": true, "help": true, "record": true, "set": true, "version": true,
	"rollout": true, "rollout pause": true, "rollout resume": true, "rollout stop": true,
	"completion": true, "completion bash": true, "completion fish": true, "completion powershell": true, "completion zsh": true,
}

func newStopped(t *testing.T, bin string) *stopped {
	t.Helper()
	w := &stopped{bin: bin, dir: t.TempDir(), asked: make(chan struct{}, 1000)}
	s := serve(t, func(_ http.ResponseWriter, _ *http.Request, over <-chan struct{}) {
		w.asked <- struct{}{}
		<-over
	})
	fleet, pkg, host := filepath.Join(w.dir, "fleet"), filepath.Join(w.dir, "pkg"), strings.TrimPrefix(s.URL, "http://")
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"fleet/Kptfile": "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: mgr}\n",
		"fleet/r.yaml":  repository("r", s.URL+"/r.git"),
		"fleet/c.yaml":  "apiVersion: variform.dev/v1alpha1\nkind: Catalog\nmetadata: {name: c}\nspec: {sources: [{git: {repo: '" + s.URL + "/r.git'}}]}\n",
		"fleet/i.yaml":  "apiVersion: variform.dev/v1alpha1\nkind: Installation\nmetadata: {name: i}\nspec: {target: r, package: foo}\n",
		"fleet/pv.yaml": "apiVersion: config.porch.kpt.dev/v1alpha1\nkind: PackageVariant\nmetadata: {name: foo}\nspec:\n  upstream: {repo: r, package: foo, revision: v1}\n  downstream: {repo: r, package: foo}\n",
		"fleet/w.yaml":  "apiVersion: variform.dev/v1alpha1\nkind: Rollout\nmetadata: {name: w}\nspec:\n  strategy: {waves: [{name: all}]}\n  members: [{target: r, wave: all, packages: [{name: foo, draft: d, tree: t, change: c}]}]\n",
		"pkg/Kptfile":   kptfile + fmt.Sprintf("pipeline: {mutators: [{exec: %q}], validators: [{image: '%s/x:v1'}]}\n", exe+" "+asFunction+" asks "+s.URL, host),
		"run/Kptfile":   kptfile + fmt.Sprintf("pipeline: {mutators: [{exec: %q}]}\n", exe+" "+asFunction+" asks "+s.URL),
	} {
		name = filepath.Join(w.dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f, cache := []string{"-f", fleet, "--cache-dir", filepath.Join(w.dir, "cache")}, []string{"--cache-dir", filepath.Join(w.dir, "cache")}
	with := func(more ...string) []string { return append(more, f...) }
	w.args = map[string][]string{
		"plan": f, "apply": f, "diff": f, "review": f, "edits": f, "status": f, "outdated": f, "resolve": f, "explain": f, "graph": f, "catalog list": f,
		"catalog import": append([]string{s.URL + "/r.git"}, cache...),
		"import":         append([]string{s.URL + "/r.git//*@main", "--package", "p", "--catalog", filepath.Join(w.dir, "catalog"), "--to", filepath.Join(w.dir, "imported")}, cache...),
		"record show":    f, "record check": f, "record rebuild": f, "blame": with("foo"), "impact": with("pv.yaml:1"), "why": with("foo"), "why-not": with("foo", "1.0.0"),
		"approve": with("--all"), "propose": with("--all"), "reject": with("foo"),
		"edits keep": with("foo"), "edits drop": with("foo"), "rollout advance": f, "rollout status": f, "rollout rollback": with("w", "all"),
		"hold": with("foo", "--reason", "x"), "discard": with("foo", "--reason", "x"), "revert": with("foo", "v1"),
		"render": {filepath.Join(w.dir, "run"), "--allow-exec"},
		"pin":    {pkg, "--allow-image", host + "/*"},
		"push":   append([]string{pkg, host + "/p:v1"}, cache...),
		"report": {}, "report join": {"-"},
		"demo": {"--dir", filepath.Join(w.dir, "demo")},
		"init": append([]string{filepath.Join(w.dir, "new"), "--name", "n", "--catalog", s.URL + "/r.git", "--layout", "folders", "--to", s.URL + "/r.git", "--package", "p", "--version", "v1"}, cache...),
	}
	return w
}

// Each command ends soon after Ctrl-C, whatever it waits for: a server, a function,
// its input, or git.
func TestStopsWhenTold(t *testing.T) {
	bin := programs.Command(t)
	for _, name := range commands(t, bin) {
		if byThemselves[name] || strings.HasPrefix(name, "help ") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			w := newStopped(t, bin)
			args, ok := w.args[name]
			if !ok {
				t.Fatal("a command that this test does not know: say how it is made to wait")
			}
			c := &interrupted{t: t, args: append(strings.Fields(name), args...), bin: bin, dir: w.dir}
			c.start()
			switch name {
			case "report", "report join": // has begun to read when its pipe takes more than a pipe holds
				if _, err := c.in.Write(bytes.Repeat([]byte(" "), 256<<10)); err != nil {
					t.Fatal(err)
				}
			case "demo":
				if _, err := c.out.Read(make([]byte, 1)); err != nil {
					t.Fatal(err, c.errs.String())
				}
				go func() { _, _ = io.Copy(io.Discard, c.out) }()
			default:
				go func() { _, _ = io.Copy(io.Discard, c.out) }()
				select {
				case <-w.asked:
				case <-c.ended:
					t.Fatalf("ended by itself: %s", c.errs.String())
				}
			}
			c.stop()
		})
	}
}

// A push under way ends as soon.
func TestPushStopsWhenTold(t *testing.T) {
	w := newWorld(t, "good")
	w.publish("foo", gittest.Files{{Path: "Kptfile", Data: []byte(kptfile)}})
	real, err := url.Parse(w.git.URL)
	if err != nil {
		t.Fatal(err)
	}
	pushed := make(chan struct{}, 10)
	proxy := &httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(real) }}
	s := serve(t, func(w http.ResponseWriter, r *http.Request, over <-chan struct{}) {
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/git-receive-pack") {
			pushed <- struct{}{}
			<-over
			return
		}
		proxy.ServeHTTP(w, r)
	})
	w.write("repo-good.yaml", repository("good", withLogin(s.URL)+"/good.git"))
	w.variant("foo", "good", "")
	c := &interrupted{t: t, args: []string{"apply", "-f", w.fleet(), "--cache-dir", filepath.Join(w.dir, "cache")}, bin: w.bin, dir: w.dir}
	c.start()
	go func() { _, _ = io.Copy(io.Discard, c.out) }()
	select {
	case <-pushed:
	case <-c.ended:
		t.Fatalf("ended by itself: %s", c.errs.String())
	}
	c.stop()
}

// A search for versions ends as soon, with all that waits for it.
func TestSearchStopsWhenTold(t *testing.T) {
	w := newWorld(t, "good")
	const versions = 9
	for v := 1; v <= versions; v++ { // each excludes its own number of all others: there are too few for all
		for p := range versions + 1 {
			text := fmt.Sprintf("apiVersion: variform.dev/v1alpha1\nkind: PackageManifest\nmetadata: {name: p%d}\nspec:\n  scope: Cluster\n  requires:\n", p)
			for o := range versions + 1 {
				if o != p {
					text += fmt.Sprintf("  - {alias: d%d, package: p%[1]d, version: '!=%d.0.0'}\n", o, v)
				}
			}
			name := fmt.Sprintf("p%d", p)
			w.repos["cat"].Tag(t, fmt.Sprintf("%s/v%d.0.0", name, v), w.repos["cat"].Commit(t, "main", name, gittest.Text{
				name + "/Kptfile": kptfile, name + "/package.yaml": text,
			}))
		}
	}
	w.write("catalog.yaml", "apiVersion: variform.dev/v1alpha1\nkind: Catalog\nmetadata: {name: c}\nspec: {sources: [{git: {repo: '"+w.url("cat")+"'}}]}\n")
	w.write("i.yaml", "apiVersion: variform.dev/v1alpha1\nkind: Installation\nmetadata: {name: i}\nspec: {target: good, package: p0}\n")
	for _, command := range []string{"resolve", "plan"} {
		t.Run(command, func(t *testing.T) {
			c := &interrupted{t: t, args: []string{command, "-f", w.fleet(), "--cache-dir", filepath.Join(w.dir, "cache")}, bin: w.bin, dir: w.dir}
			c.start()
			go func() { _, _ = io.Copy(io.Discard, c.out) }()
			c.computes(time.Second)
			c.stop()
		})
	}
}

// computes waits until the command has used so much processor time: all but the search takes less.
func (c *interrupted) computes(least time.Duration) {
	c.t.Helper()
	const tick = 10 * time.Millisecond
	for {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.cmd.Process.Pid))
		if _, rest, ok := strings.Cut(string(stat), ") "); err == nil && ok {
			user, err := strconv.Atoi(strings.Fields(rest)[11])
			if err == nil && time.Duration(user)*tick >= least {
				return
			}
		}
		select {
		case <-c.ended:
			c.t.Fatalf("ended by itself: %s", c.errs.String())
		case <-time.After(tick):
		}
	}
}

// interrupted is a command that is told to stop.
type interrupted struct {
	t        *testing.T
	bin, dir string
	args     []string

	cmd   *exec.Cmd
	in    io.WriteCloser
	out   io.ReadCloser
	errs  bytes.Buffer // to be read when ended
	ended chan struct{}
}

func (c *interrupted) start() {
	c.t.Helper()
	c.cmd = exec.Command(c.bin, c.args...)
	c.cmd.Dir = c.dir
	c.cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "HOME="+c.dir,
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
	c.cmd.Stderr = &c.errs
	var err error
	if c.in, err = c.cmd.StdinPipe(); err == nil {
		c.out, err = c.cmd.StdoutPipe()
	}
	if err == nil {
		err = c.cmd.Start()
	}
	if err != nil {
		c.t.Fatal(err)
	}
	c.ended = make(chan struct{})
	go func() {
		defer close(c.ended)
		_ = c.cmd.Wait()
	}()
}

// stop interrupts it, and waits for tenfold of what it may take.
func (c *interrupted) stop() {
	c.t.Helper()
	if err := c.cmd.Process.Signal(os.Interrupt); err != nil {
		c.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	select {
	case <-c.ended:
	case <-ctx.Done():
		_ = c.cmd.Process.Kill()
		<-c.ended
		c.t.Fatalf("%v does not end", c.args)
	}
	if code := c.cmd.ProcessState.ExitCode(); code != 2 || !strings.Contains(c.errs.String(), "interrupted") {
		c.t.Errorf("status %d: %s", code, c.errs.String())
	}
}
