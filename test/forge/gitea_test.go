package forge

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/variform/variform/test/gittest"
)

// The account that the fleet's repositories and pull requests are made by.
const user, password = "ann", "not-a-secret-1"

// server is a running Gitea.
type server struct {
	t   *testing.T
	url string
	// data is where its repositories are, in folders of their own.
	data string
}

// newServer starts the Gitea that GITEA names; GITEA_ROOT is the folder of its
// sources, where its templates and texts are.
func newServer(t *testing.T) *server {
	t.Helper()
	gittest.RequireGit(t)
	program, root := os.Getenv("GITEA"), os.Getenv("GITEA_ROOT")
	if program == "" || root == "" {
		t.Skip("GITEA and GITEA_ROOT name no Gitea: make forge builds one, and runs this")
	}
	dir := t.TempDir()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	_ = listener.Close()
	s := &server{t, fmt.Sprintf("http://127.0.0.1:%d", port), filepath.Join(dir, "data")}
	config := filepath.Join(dir, "app.ini")
	text := fmt.Sprintf(`RUN_MODE = prod
I_AM_BEING_UNSAFE_RUNNING_AS_ROOT = true
WORK_PATH = %[1]s
[server]
STATIC_ROOT_PATH = %[2]s
HTTP_ADDR = 127.0.0.1
HTTP_PORT = %[3]d
ROOT_URL = %[4]s/
OFFLINE_MODE = true
DISABLE_SSH = true
[database]
DB_TYPE = sqlite3
PATH = %[1]s/gitea.db
[security]
INSTALL_LOCK = true
[log]
LEVEL = Warn
[mailer]
ENABLED = false
[api]
MAX_RESPONSE_ITEMS = 3
[indexer]
ISSUE_INDEXER_TYPE = db
[cron]
ENABLED = false
`, dir, root, port, s.url)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	command := func(args ...string) *exec.Cmd {
		c := exec.CommandContext(t.Context(), program, append(args, "--config", config)...)
		c.Env = append(os.Environ(), "HOME="+dir, "GIT_CONFIG_GLOBAL="+filepath.Join(dir, "gitconfig"))
		return c
	}
	for _, args := range [][]string{
		{"migrate"},
		{"admin", "user", "create", "--admin", "--username", user, "--password", password, "--email", user + "@example.com", "--must-change-password=false"},
	} {
		if out, err := command(args...).CombinedOutput(); err != nil {
			t.Fatalf("gitea %v: %v\n%s", args, err, out)
		}
	}
	var logged bytes.Buffer
	web := command("web")
	web.Stdout, web.Stderr = &logged, &logged
	if err := web.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = web.Process.Signal(os.Interrupt)
		_ = web.Wait()
		if t.Failed() {
			t.Logf("gitea:\n%.4000s", logged.String())
		}
	})
	s.until("start", func() bool {
		res, err := http.Get(s.url + "/api/healthz") //nolint:noctx // this machine's own
		if err == nil {
			_ = res.Body.Close()
		}
		return err == nil && res.StatusCode == http.StatusOK
	})
	return s
}

// until asks again until the answer is yes: a forge does much later on.
func (s *server) until(what string, ok func() bool) {
	s.t.Helper()
	for range 600 {
		if ok() {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	s.t.Fatalf("%s: Gitea did not within a minute", what)
}

// call asks the API, and wants a good answer.
func (s *server) call(method, path string, body, out any) {
	s.t.Helper()
	if status, text := s.ask(method, path, body, out); status/100 != 2 {
		s.t.Fatalf("%s %s: %d %s", method, path, status, text)
	}
}

func (s *server) ask(method, path string, body, out any) (int, string) {
	s.t.Helper()
	return s.askAs(user, method, path, body, out)
}

func (s *server) askAs(user, method, path string, body, out any) (int, string) {
	s.t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		s.t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.url+"/api/v1"+path, bytes.NewReader(data))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.SetBasicAuth(user, password)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err == nil && out != nil && res.StatusCode/100 == 2 {
		err = json.Unmarshal(text, out)
	}
	if err != nil {
		s.t.Fatalf("%s %s: %v", method, path, err)
	}
	return res.StatusCode, string(text)
}

type object = map[string]any

// repository makes one with a protected main branch, whose merged branches go, and
// where tags asks for that, with tags that nobody may make.
func (s *server) repository(name string, tags bool) {
	s.t.Helper()
	s.call("POST", "/user/repos", object{"name": name, "auto_init": true, "default_branch": "main"}, nil)
	at := "/repos/" + user + "/" + name
	s.call("PATCH", at, object{"has_pull_requests": true, "allow_fast_forward_only_merge": true, "default_delete_branch_after_merge": true}, nil)
	s.call("POST", at+"/branch_protections", object{"rule_name": "main", "enable_push": false}, nil)
	if tags { // somebody else's alone
		const other = "robot"
		s.call("POST", "/admin/users", object{"username": other, "email": other + "@example.com", "password": password, "must_change_password": false}, nil)
		s.call("PUT", at+"/collaborators/"+other, object{"permission": "write"}, nil)
		s.call("POST", at+"/tag_protections", object{"name_pattern": "*", "whitelist_usernames": []string{other}}, nil)
	}
}

// address is a repository's, for Git.
func (s *server) address(name string) string { return s.url + "/" + user + "/" + name + ".git" }

// merge makes a pull request of a branch and merges it.
func (s *server) merge(repo, branch, style string) {
	s.t.Helper()
	at := "/repos/" + user + "/" + repo + "/pulls"
	var pull struct{ Number int }
	s.call("POST", at, object{"head": branch, "base": "main", "title": "Update " + repo}, &pull)
	last := ""
	s.until(style+" of "+repo, func() bool {
		status, text := s.ask("POST", fmt.Sprintf("%s/%d/merge", at, pull.Number), object{"Do": style, "delete_branch_after_merge": true}, nil)
		if text != last && status/100 != 2 {
			s.t.Logf("%s of %s: %d %s", style, repo, status, text)
		}
		last = cmp.Or(text, last)
		return status/100 == 2
	})
	s.until("deleting "+branch, func() bool {
		status, _ := s.ask("GET", "/repos/"+user+"/"+repo+"/branches/"+branch, nil, nil)
		return status == http.StatusNotFound
	})
}
