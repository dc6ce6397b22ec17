package e2e

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/internal/record"
	"github.com/variform/variform/test/gittest"
)

func TestPushOverHTTP(t *testing.T) {
	t.Parallel()
	w := newHTTPWorld(t, "c1", "c2")
	w.write("sets/web.yaml", webSet)
	w.write("sets/more.yaml", listSet("more", "web", "v1", "c1", "a", "b", "c"))
	w.srv.ResetCounts()
	w.wantActions(w.mustApply(), all("create", "c1/web", "c2/web", "c1/a", "c1/b", "c1/c"))
	if n := w.srv.Count(gittest.Push); n != 2 {
		t.Errorf("%d pushes for two repositories", n)
	}

	// A second run reads refs and commits, and writes nothing.
	w.srv.ResetCounts()
	w.wantActions(w.mustApply(), map[string]string{})
	if n := w.srv.Count(gittest.Push) + w.srv.Count(gittest.WriteRefs); n != 0 {
		t.Errorf("%d requests to write with nothing to do", n)
	}
}

// --max-refs-per-push splits a push and changes nothing else.
func TestMaxRefsPerPush(t *testing.T) {
	t.Parallel()
	w := newHTTPWorld(t, "c1")
	w.write("sets/web.yaml", listSet("web", "web", "v1", "c1", "a", "b", "c", "d", "e"))
	w.srv.ResetCounts()
	w.mustApply("--max-refs-per-push", "2")
	if n := w.srv.Count(gittest.Push); n != 3 {
		t.Errorf("%d pushes of at most 2 refs for 5 Drafts", n)
	}
	if n := len(w.refNames("c1")); n != 6 {
		t.Errorf("refs: %v", w.refNames("c1"))
	}
	w.wantActions(w.mustApply(), map[string]string{})
}

// once runs f before the first request of a kind to a repository.
func (w *world) once(kind, repo string, f func()) {
	var done atomic.Bool
	w.srv.Before(func(k, r string) {
		if k == kind && r == repo && done.CompareAndSwap(false, true) {
			f()
		}
	})
}

// Somebody pushes to the Draft between plan and push: their commit is kept, and
// ours is made again on top of it.
func TestLostRace(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{gittest.WriteRefs, gittest.Push} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			w := newHTTPWorld(t, "c1", "c2")
			w.write("sets/web.yaml", webSet)
			w.write("sets/more.yaml", listSet("more", "web", "v1", "c1", "other"))
			w.mustApply()
			w.publishWeb(webV2, "v2")
			w.write("sets/web.yaml", strings.Replace(webSet, "revision: v1", "revision: v2", 1))
			w.write("sets/more.yaml", listSet("more", "web", "v2", "c1", "other"))
			var theirs string
			w.once(kind, "c1", func() {
				theirs = w.edit("c1", "drafts/web/packagevariant-1", "web/deployment.yaml", "replicas: 2", "replicas: 6")
			})
			p := w.mustApply()
			w.wantActions(p, all("update", "c1/web", "c2/web", "c1/other"))
			if theirs == "" {
				t.Fatal("the race did not happen")
			}
			w.repos["c1"].Git(t, "merge-base", "--is-ancestor", theirs, draft1)
			w.contains(w.show("c1", draft1, "web/deployment.yaml"), "replicas: 6", "web:2.0")
			if got, head := p.variant(t, "c1/web").Commit, w.refs()["c1 "+draft1]; got != head {
				t.Errorf("reported commit %s, the Draft is at %s", got, head)
			}
			w.wantActions(w.mustApply(), map[string]string{})
		})
	}
}

// Somebody else makes the same Draft first: nothing of theirs is overwritten, and
// the variant's own comes beside it.
func TestLostRaceToCreate(t *testing.T) {
	t.Parallel()
	w := newHTTPWorld(t, "c1")
	w.write("sets/web.yaml", webSet)
	w.write("sets/more.yaml", listSet("more", "web", "v1", "c1", "other"))
	var theirs string
	w.once(gittest.Push, "c1", func() {
		theirs = w.repos["c1"].CommitFrom(t, "drafts/web/packagevariant-1", "main", "theirs", gittest.Text{"web/Kptfile": "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: web\n"})
	})
	w.wantActions(w.mustApply(), all("create", "c1/web", "c1/other"))
	if got := w.refs()["c1 "+draft1]; got != theirs {
		t.Errorf("their Draft %s became %s", theirs, got)
	}
	w.contains(w.show("c1", "refs/heads/drafts/web/packagevariant-2", "web/Kptfile"), "variform.dev/variant: variform/default/web-c1-web")
	w.wantActions(w.mustApply(), map[string]string{})
}

// The registered branch moves while an approval is on its way: the approval is
// made again on top; a Draft that moved is not approved.
func TestApproveLosesRace(t *testing.T) {
	t.Parallel()
	w := newHTTPWorld(t, "c1")
	w.write("sets/web.yaml", listSet("web", "web", "v1", "c1", "a", "b"))
	w.mustApply()
	var theirs, moved string
	w.once(gittest.Push, "c1", func() {
		theirs = w.repos["c1"].Commit(t, "main", "in between", gittest.Text{"notes.md": "theirs\n"})
		moved = w.edit("c1", "drafts/b/packagevariant-1", "b/deployment.yaml", "replicas: 2", "replicas: 8")
	})
	r := w.mustRun(1, "approve", "--all")
	w.contains(r.out, "Published v1", "changed since it was shown")
	w.wantRefs("c1", "refs/heads/drafts/b/packagevariant-1", "refs/heads/main", "refs/tags/a/v1")
	w.repos["c1"].Git(t, "merge-base", "--is-ancestor", theirs, "main")
	w.contains(w.show("c1", "main", "notes.md"), "theirs")
	if got := w.refs()["c1 refs/heads/drafts/b/packagevariant-1"]; got != moved {
		t.Errorf("Draft b is %s, want %s", got, moved)
	}
}

// A server that dies in mid-push leaves nothing half done, and the next run
// gives what an undisturbed one gives.
func TestServerDiesInMidPush(t *testing.T) {
	t.Parallel()
	w := newHTTPWorld(t, "c1")
	w.repos["c1"].Git(t, "config", "uploadpack.allowFilter", "true")
	w.write("sets/web.yaml", listSet("web", "web", "v1", "c1", "a", "b", "c", "d"))
	start := w.refs()
	w.srv.ResetCounts()
	w.mustApply()
	whole, size := w.refs(), w.srv.Bytes(gittest.Push)
	reset := func() {
		for ref := range w.repos["c1"].AllRefs(t) {
			if record.IsRef(ref) {
				w.repos["c1"].Git(t, "update-ref", "-d", ref)
			}
		}
		for ref := range w.refs() {
			if name, ok := strings.CutPrefix(ref, "c1 "); ok && start[ref] == "" {
				w.repos["c1"].Git(t, "update-ref", "-d", name)
			}
		}
		w.unchanged(start)
	}
	cases := map[string]func(){
		"reply lost":  w.srv.DropPushReply,
		"empty reply": w.srv.EmptyPushReply,
	}
	for _, n := range []int64{0, 64, size / 2} {
		cases[fmt.Sprintf("cut after %d of some %d bytes", n, size)] = func() { w.srv.DropPushAfter(n) }
	}
	for _, n := range []int64{1, 21} { // in the pack's checksum, and before it
		cases[fmt.Sprintf("cut %d bytes before the end", n)] = func() { w.srv.DropPushBeforeEnd(n) }
	}
	for name, fault := range cases {
		t.Run(name, func(t *testing.T) {
			reset()
			// Each push of the first run dies, however often it is tried.
			var dying atomic.Bool
			dying.Store(true)
			w.srv.Before(func(kind, _ string) {
				if kind == gittest.WriteRefs && dying.Load() {
					fault()
				}
			})
			p := w.apply()
			dying.Store(false)
			cut := strings.HasPrefix(name, "cut")
			if now := w.refs(); !cmp.Equal(now, start) && (cut || !cmp.Equal(now, whole)) {
				t.Fatalf("half done (-whole +now):\n%s", cmp.Diff(whole, now))
			}
			if cut && p.status != 1 {
				t.Errorf("status %d although each push died", p.status)
			}
			if p.status != 0 {
				w.contains(strings.Join([]string{p.out, p.err}, "\n"), "run again")
			}
			w.mustApply()
			if d := cmp.Diff(whole, w.refs()); d != "" {
				t.Errorf("other refs than an undisturbed run gives:\n%s", d)
			}
			w.repos["c1"].Fsck(t)
		})
	}
}

// A hook that refuses one ref stops that variant and no other.
func TestHookRefusesOneRef(t *testing.T) {
	t.Parallel()
	w := newHTTPWorld(t, "c1", "c2")
	w.write("sets/web.yaml", webSet)
	w.write("sets/more.yaml", listSet("more", "web", "v1", "c1", "a", "bad", "c", "d", "e"))
	w.repos["c1"].Hook(t, "update", `case "$1" in */bad/*) echo "no bad packages here" >&2; exit 1;; esac`)
	p := w.apply()
	if p.status != 1 {
		t.Errorf("status %d, want 1", p.status)
	}
	want := all("create", "c1/web", "c2/web", "c1/a", "c1/c", "c1/d", "c1/e")
	want["c1/bad"] = "fail"
	w.wantActions(p, want)
	w.contains(p.variant(t, "c1/bad").Error, "no bad packages here")
	for name, action := range want {
		if action == "create" {
			v := p.variant(t, name)
			if got := w.refs()[v.Variant[:2]+" "+v.Ref]; got != v.Commit || got == "" {
				t.Errorf("%s: the ref is %q, reported %q", name, got, v.Commit)
			}
		}
	}
	w.repos["c1"].Hook(t, "update", "exit 0")
	w.wantActions(w.mustApply(), all("create", "c1/bad"))
}

// A repository that cannot be reached stops its own variants only.
func TestUnreachableRepository(t *testing.T) {
	t.Parallel()
	w := newHTTPWorld(t, "c1", "c2")
	w.write("sets/web.yaml", webSet)
	w.write("repositories/gone.yaml", repository("gone", w.srv.URL+"/gone.git", true, ""))
	p := w.apply()
	if p.status != 1 {
		t.Errorf("status %d, want 1", p.status)
	}
	w.wantActions(p, map[string]string{"c1/web": "create", "c2/web": "create", "gone/web": "fail"})
	w.contains(p.variant(t, "gone/web").Error, "gone")
	w.contains(strings.Join(p.Problems, "\n"), "Repository default/gone")
}

// A repository whose server hangs costs its own variants, and a wait that the user
// chooses; --timeout ends the run whatever it is at.
func TestHangingRepository(t *testing.T) {
	t.Parallel()
	w := newHTTPWorld(t, "c1", "c2")
	var hung atomic.Int32
	over := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		hung.Add(1)
		<-over
	}))
	t.Cleanup(func() { close(over); srv.Close() })
	w.write("sets/web.yaml", webSet)
	w.write("repositories/slow.yaml", repository("slow", srv.URL+"/slow.git", true, ""))
	// On a busy machine a short time is over before the server is asked at all.
	for timeout := 300 * time.Millisecond; ; timeout *= 2 {
		stopped := w.run("apply", "--timeout", timeout.String())
		if stopped.status != 2 {
			t.Errorf("status %d, want 2", stopped.status)
		}
		w.contains(stopped.err, timeout.String()+" of --timeout")
		asked := hung.Swap(0)
		if asked > 1 {
			t.Errorf("asked %d times", asked)
		}
		if asked > 0 {
			break
		}
		if timeout > 10*time.Second {
			t.Fatalf("in %s the server was not asked", timeout)
		}
	}
	p := w.apply("--server-timeout", "8s") // its neighbours answer in that, on a busy machine too
	if p.status != 1 {
		t.Errorf("status %d, want 1", p.status)
	}
	w.wantActions(p, map[string]string{"c1/web": "create", "c2/web": "create", "slow/web": "fail"})
	w.contains(p.variant(t, "slow/web").Error, srv.URL+" did not answer")
	if n := hung.Load(); n != 1 {
		t.Errorf("asked %d times", n)
	}
	w.contains(w.run("apply", "--timeout", "-1s").err, "--timeout")
}

// Credentials in an address reach neither a commit nor an error.
func TestNoCredentialsAnywhere(t *testing.T) {
	t.Parallel()
	w := newHTTPWorld(t, "c1")
	const user, secret = "robot", "hunter2-secret"
	w.srv.RequireLogin(user, secret)
	with := func(name, password string) string {
		return strings.Replace(w.srv.RepoURL(name), "http://", "http://"+user+":"+password+"@", 1)
	}
	w.write("sets/web.yaml", webSet)
	w.write("repositories/catalog.yaml", repository("catalog", with("catalog", secret), false, ""))
	w.write("repositories/c1.yaml", repository("c1", with("c1", secret), true, ""))
	p := w.mustApply("-v")
	w.lacks(w.repos["c1"].Git(t, "log", "--format=%B", draft1)+w.show("c1", draft1, "web/Kptfile"), secret)
	w.lacks(p.out+p.err, secret)
	w.write("repositories/c1.yaml", repository("c1", with("c1", secret+"-wrong"), true, ""))
	bad := w.apply("-v")
	if bad.status == 0 {
		t.Error("a wrong password was no problem")
	}
	w.lacks(bad.out+bad.err, secret)
}

// On a machine without Git, as the command's image is, a file has the logins and the
// environment says who approves.
func TestWithoutGit(t *testing.T) {
	w, path := newHTTPWorld(t, "c1"), os.Getenv("PATH")
	const secret = "hunter2-secret"
	w.srv.RequireLogin("robot", secret)
	w.write("sets/web.yaml", webSet)
	host, _, _ := strings.Cut(strings.TrimPrefix(w.srv.RepoURL("c1"), "http://"), "/")
	logins := filepath.Join(t.TempDir(), "credentials")
	if err := os.WriteFile(logins, []byte("http://robot:"+secret+"@"+host+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", t.TempDir())
	if p := w.apply(); p.status == 0 {
		t.Error("nobody was asked for a login")
	}
	t.Setenv("VARIFORM_GIT_CREDENTIALS", logins)
	p := w.mustApply("-v")
	w.lacks(p.out+p.err, secret)
	t.Setenv("GIT_AUTHOR_NAME", "")
	w.contains(w.mustRun(2, "approve", "--all").err, "set GIT_AUTHOR_NAME and GIT_AUTHOR_EMAIL")
	t.Setenv("GIT_AUTHOR_NAME", "Ann")
	t.Setenv("GIT_AUTHOR_EMAIL", "ann@example.com")
	w.mustRun(0, "approve", "--all")
	w.mustRun(0, "review")
	t.Setenv("PATH", path)
	w.contains(w.repos["c1"].Git(t, "log", "-1", "--format=%an %ae", "web/v1"), "Ann ann@example.com")
}

// The command logs in as a GitHub App that the environment describes, with tokens of an hour,
// and without a login of Git's own.
func TestGitHubApp(t *testing.T) {
	w := newHTTPWorld(t, "c1")
	const token = "ghs_hunter2"
	w.srv.RequireLogin("x-access-token", token)
	w.write("sets/web.yaml", webSet)
	given := 0
	front := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/v3/app/installations/42/access_tokens" {
			given++
			out.WriteHeader(http.StatusCreated)
			fmt.Fprintf(out, `{"token": %q, "expires_at": %q}`, token, time.Now().Add(time.Hour).Format(time.RFC3339))
			return
		}
		w.srv.ServeHTTP(out, r)
	}))
	defer front.Close()
	t.Setenv("GIT_CONFIG_COUNT", "1")
	t.Setenv("GIT_CONFIG_KEY_0", "url."+front.URL+"/.insteadOf")
	t.Setenv("GIT_CONFIG_VALUE_0", w.srv.URL+"/")
	if p := w.apply(); p.status == 0 {
		t.Error("nobody was asked for a login")
	}
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("VARIFORM_GITHUB_APP_ID", "7")
	t.Setenv("VARIFORM_GITHUB_APP_INSTALLATION_ID", "42")
	t.Setenv("VARIFORM_GITHUB_APP_BASE_URL", front.URL)
	w.contains(w.mustRun(2, "status").err, "VARIFORM_GITHUB_APP_PRIVATE_KEY is missing")
	t.Setenv("VARIFORM_GITHUB_APP_PRIVATE_KEY", string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})))
	p := w.mustApply("-v")
	w.lacks(p.out+p.err, token)
	if given != 1 {
		t.Errorf("%d tokens for one run", given)
	}
	if w.repos["c1"].Refs(t)["refs/heads/drafts/web/packagevariant-1"] == "" {
		t.Errorf("no Draft in %v", w.repos["c1"].Refs(t))
	}
}

// A run with nothing to do asks once for all Drafts beside which somebody wrote to
// the registered branch.
func TestDraftsBesideHotfixesAreReadAtOnce(t *testing.T) {
	t.Parallel()
	w := newHTTPWorld(t, "c1")
	names := []string{"a", "b", "c", "d"}
	w.write("sets/web.yaml", listSet("web", "web", "v1", "c1", names...))
	w.mustApply()
	w.mustRun(0, "approve", "--all")
	for _, p := range names {
		w.edit("c1", "main", p+"/settings.yaml", "level: info", "level: debug")
	}
	w.publishWeb(webV2, "v2")
	w.write("sets/web.yaml", listSet("web", "web", "v2", "c1", names...))
	w.mustApply()
	w.srv.ResetCounts()
	w.wantActions(w.mustApply(), map[string]string{})
	if n := w.srv.Count(gittest.Fetch); n > 1 {
		t.Errorf("%d requests for objects", n)
	}
}
