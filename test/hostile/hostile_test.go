package hostile

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/variform/variform/internal/gittest"
)

const (
	canary   = "canary-4f1d9c-secret"
	maxBytes = 512 << 20 // of memory, for the command
)

// server is one that means harm. It keeps the logins that it was sent.
type server struct {
	*httptest.Server
	mu     sync.Mutex
	logins []string
}

func serve(t *testing.T, h func(w http.ResponseWriter, r *http.Request, over <-chan struct{})) *server {
	t.Helper()
	s, over := &server{}, make(chan struct{})
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.logins = append(s.logins, r.Header.Get("Authorization"))
		s.mu.Unlock()
		h(w, r, over)
	}))
	t.Cleanup(func() {
		close(over)
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

func refsHead(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
}

const refsBegin = "001e# service=git-upload-pack\n0000"

// line is a pkt-line.
func line(s string) string { return fmt.Sprintf("%04x%s", len(s)+4, s) }

func oneRef() string {
	return refsBegin + line(strings.Repeat("1", 40)+" refs/heads/main\x00 ofs-delta side-band-64k\n") + "0000"
}

// pour writes for ever.
func pour(w io.Writer, s string) {
	for {
		if _, err := io.WriteString(w, s); err != nil {
			return
		}
	}
}

// bad are the ways of a Git server.
var bad = map[string]func(w http.ResponseWriter, r *http.Request, over <-chan struct{}){
	"hang": func(_ http.ResponseWriter, _ *http.Request, over <-chan struct{}) { <-over },
	"trickle": func(w http.ResponseWriter, _ *http.Request, over <-chan struct{}) {
		refsHead(w)
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-over:
				return
			case <-tick.C:
				if _, err := io.WriteString(w, "0"); err != nil {
					return
				}
				_ = http.NewResponseController(w).Flush()
			}
		}
	},
	"cut": func(w http.ResponseWriter, _ *http.Request, _ <-chan struct{}) {
		refsHead(w)
		w.Header().Set("Content-Length", "5000")
		_, _ = io.WriteString(w, refsBegin+"00")
	},
	"nothing": func(w http.ResponseWriter, _ *http.Request, _ <-chan struct{}) { refsHead(w) },
	"garbage": func(w http.ResponseWriter, _ *http.Request, _ <-chan struct{}) {
		refsHead(w)
		_, _ = w.Write(bytes.Repeat([]byte{0xff, 0, 0x1b, '[', '2', 'J'}, 1000))
	},
	"page": func(w http.ResponseWriter, _ *http.Request, _ <-chan struct{}) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<html>Sign in")
	},
	"refsbomb": func(w http.ResponseWriter, _ *http.Request, _ <-chan struct{}) {
		refsHead(w)
		_, _ = io.WriteString(w, strings.TrimSuffix(oneRef(), "0000"))
		for i := 0; ; i++ {
			if _, err := io.WriteString(w, line(fmt.Sprintf("%040x refs/heads/%060d\n", i+1, i))); err != nil {
				return
			}
		}
	},
	"gzipbomb": func(w http.ResponseWriter, _ *http.Request, _ <-chan struct{}) {
		refsHead(w)
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		_, _ = io.WriteString(z, strings.TrimSuffix(oneRef(), "0000"))
		pour(z, strings.Repeat(line(strings.Repeat("1", 40)+" refs/heads/x\n"), 1000))
	},
	"refusal": func(w http.ResponseWriter, r *http.Request, _ <-chan struct{}) {
		w.WriteHeader(http.StatusForbidden)
		pour(w, strings.Repeat("you sent "+r.Header.Get("Authorization")+"\x1b[2J", 1000))
	},
	"packbomb": func(w http.ResponseWriter, r *http.Request, _ <-chan struct{}) {
		if r.Method == http.MethodGet {
			refsHead(w)
			_, _ = io.WriteString(w, oneRef())
			return
		}
		w.Header().Set("Content-Type", "application/x-git-upload-pack-result")
		_, _ = io.WriteString(w, "0008NAK\n")
		z := &bytes.Buffer{} // a pack of one object that says it has 2^40 bytes
		z.WriteString("PACK\x00\x00\x00\x02\x00\x00\x00\x01\x90\x80\x80\x80\x80\x80\x02")
		_, _ = io.WriteString(w, line("\x01"+z.String()))
		pour(w, line("\x01"+strings.Repeat("x", 60000)))
	},
}

// variform builds the command, once.
var variform = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "hostile")
	if err != nil {
		return "", err
	}
	bin := filepath.Join(dir, "variform")
	out, err := exec.Command("go", "build", "-o", bin, "github.com/variform/variform/cmd/variform").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return bin, nil
})

func TestMain(m *testing.M) {
	status := m.Run()
	if bin, err := variform(); err == nil {
		_ = os.RemoveAll(filepath.Dir(bin))
	}
	os.Exit(status)
}

func repository(name, url string) string {
	return fmt.Sprintf("apiVersion: config.porch.kpt.dev/v1alpha1\nkind: Repository\nmetadata: {name: %s, labels: {e: p}}\nspec: {type: git, deployment: true, git: {repo: %q, branch: main}}\n", name, url)
}

const set = `apiVersion: config.porch.kpt.dev/v1alpha2
kind: PackageVariantSet
metadata: {name: s}
spec:
  upstream: {repo: cat, package: foo, revision: v1}
  targets: [{repositorySelector: {matchLabels: {e: p}}}]
`

// One fleet has them all for neighbours, beside one healthy repository.
func TestHostileServers(t *testing.T) {
	bin, err := variform()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	git := gittest.NewServer(t)
	catalog, good := git.NewRepo(t, "cat"), git.NewRepo(t, "good")
	kptfile := "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: foo}\n"
	catalog.Tag(t, "foo/v1", catalog.Commit(t, "main", "foo", gittest.Text{"foo/Kptfile": kptfile}))
	good.Commit(t, "main", "init", gittest.Text{"README": "x\n"})
	fleet := filepath.Join(dir, "fleet")
	write := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(fleet, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(fleet, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("Kptfile", "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: mgr}\n")
	write("set.yaml", set)
	write("cat.yaml", strings.Replace(repository("cat", git.RepoURL("cat")), "labels: {e: p}", "labels: {}", 1))
	write("good.yaml", repository("good", git.RepoURL("good")))
	thief := serve(t, func(w http.ResponseWriter, _ *http.Request, _ <-chan struct{}) {
		w.WriteHeader(http.StatusUnauthorized)
	})
	ways := map[string]*server{}
	for name, h := range bad {
		ways[name] = serve(t, h)
	}
	ways["redirect"] = serve(t, func(w http.ResponseWriter, r *http.Request, _ <-chan struct{}) {
		http.Redirect(w, r, thief.URL+r.URL.RequestURI(), http.StatusFound)
	})
	for name, s := range ways {
		write(name+".yaml", repository(name, strings.Replace(s.URL, "://", "://bob:"+canary+"@", 1)+"/x.git"))
	}

	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, bin, "apply", "-v", "-f", fleet, "--cache-dir", filepath.Join(dir, "cache"), "--server-timeout", "3s", "-o", "json")
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "HOME="+dir)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	if code := cmd.ProcessState.ExitCode(); code != 1 {
		t.Fatalf("status %d, %v\n%.3000s", code, err, errs.String())
	}
	var plan struct {
		Variants []struct{ Variant, Action, Error string }
	}
	if err := json.Unmarshal(out.Bytes(), &plan); err != nil {
		t.Fatal(err)
	}
	actions := map[string]string{}
	for _, v := range plan.Variants {
		actions[v.Variant] = v.Action
		if v.Action == "fail" && v.Error == "" || len(v.Error) > 4000 {
			t.Errorf("%s: the error has %d bytes", v.Variant, len(v.Error))
		}
	}
	if actions["good/foo"] != "create" || good.Refs(t)["refs/heads/drafts/foo/packagevariant-1"] == "" {
		t.Errorf("the healthy neighbour: %q", actions["good/foo"])
	}
	for name := range ways {
		if a := actions[name+"/foo"]; a != "fail" {
			t.Errorf("%s: %q", name, a)
		}
	}
	said := out.String() + errs.String()
	for _, secret := range []string{canary, base64.StdEncoding.EncodeToString([]byte("bob:" + canary))} {
		if strings.Contains(said, secret) {
			t.Errorf("the output holds the login")
		}
	}
	if strings.ContainsAny(errs.String(), "\x1b\u009b") {
		t.Error("the output steers the terminal")
	}
	for _, sent := range thief.logins {
		if sent != "" {
			t.Errorf("the thief was sent %q", sent)
		}
	}
	if len(thief.logins) == 0 {
		t.Error("nobody was redirected")
	}
	if use, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		t.Logf("%d MB, %s of processor", use.Maxrss>>10, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
		if use.Maxrss<<10 > maxBytes {
			t.Errorf("it took %d bytes of memory", use.Maxrss<<10)
		}
	}
}

// The command ends when it is told to, whatever it waits for.
func TestStopsWhenTold(t *testing.T) {
	bin, err := variform()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	asked := make(chan struct{}, 100)
	s := serve(t, func(_ http.ResponseWriter, _ *http.Request, over <-chan struct{}) {
		asked <- struct{}{}
		<-over
	})
	for name, text := range map[string]string{"Kptfile": "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: mgr}\n", "r.yaml": repository("r", s.URL+"/r.git")} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second) // tenfold
	defer cancel()
	cmd := exec.CommandContext(ctx, bin, "plan", "-f", dir, "--cache-dir", filepath.Join(dir, "cache"))
	var errs bytes.Buffer
	cmd.Stderr = &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	<-asked
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 2 || !strings.Contains(errs.String(), "interrupted") {
		t.Errorf("status %d: %s", code, errs.String())
	}
}
