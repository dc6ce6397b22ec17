package gitrepo

import (
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/variform/variform/test/gittest"
)

// daemon serves a repository by git's own protocol, in which a server answers while
// it is still being asked, as over ssh.
func daemon(t testing.TB, r *gittest.Repo) (url string) {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := free.Addr().String()
	_ = free.Close()
	_, port, _ := net.SplitHostPort(at)
	programs, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		t.Fatal(err)
	}
	// Not by git, which would live on as its parent is killed, and the daemon beyond it.
	cmd := exec.Command(filepath.Join(strings.TrimSpace(string(programs)), "git-daemon"), "--listen=127.0.0.1", "--port="+port, "--reuseaddr", "--export-all", "--enable=receive-pack", "--base-path="+filepath.Dir(r.Dir))
	cmd.Env = gittest.Env()
	if err := cmd.Start(); err != nil {
		t.Skipf("skipped: git has no daemon here: %v", err)
	}
	gone := make(chan error, 1)
	go func() { gone <- cmd.Wait() }()
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	for {
		if c, err := net.Dial("tcp", at); err == nil {
			_ = c.Close()
			return "git://" + at + "/" + filepath.Base(r.Dir)
		}
		select {
		case err := <-gone:
			t.Skipf("skipped: git has no daemon here: %v", err)
		default:
		}
	}
}

// Commits and trees are read over a stream, with a cache folder and without.
func TestFetchStream(t *testing.T) {
	for _, filter := range []string{"true", "false"} {
		t.Run("filter "+filter, func(t *testing.T) {
			git := gittest.NewServer(t).NewRepo(t, "fleet")
			git.Git(t, "config", "uploadpack.allowFilter", filter)
			at := git.Commit(t, "main", "start", gittest.Text{"web/Kptfile": kptfile("web")})
			url := daemon(t, git)
			for _, cache := range []string{"", t.TempDir()} {
				r := openWith(t, url, Options{CacheDir: cache})
				cs, err := r.Commits(t.Context(), hashOf(at))
				if err != nil {
					t.Fatal(err)
				}
				if err := r.Fetch(t.Context(), cs[0].Hash); err != nil {
					t.Fatal(err)
				}
				if _, ok, err := r.TreeAt(t.Context(), cs[0].Hash, "web"); err != nil || !ok {
					t.Errorf("%t, %v", ok, err)
				}
			}
		})
	}
}
