package gitrepo

import (
	"context"
	"crypto/ed25519"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/crypto/ssh"

	"github.com/variform/variform/test/gittest"
)

func TestSSHArgs(t *testing.T) {
	const batch = "-o BatchMode=yes "
	for name, tc := range map[string]struct {
		program, address, want string
	}{
		"an alias":              {"ssh", "work:a/b.git", batch + "work git-upload-pack 'a/b.git'"},
		"a user":                {"ssh", "git@work:a/b.git", batch + "git@work git-upload-pack 'a/b.git'"},
		"a port":                {"ssh", "ssh://git@host:2222/a", batch + "-p 2222 git@host git-upload-pack '/a'"},
		"the usual port":        {"ssh", "ssh://host:22/a", batch + "-p 22 host git-upload-pack '/a'"},
		"no port":               {"ssh", "ssh://host/a", batch + "host git-upload-pack '/a'"},
		"a user's folder":       {"ssh", "ssh://host/~ann/a", batch + "host git-upload-pack '~ann/a'"},
		"IPv6":                  {"ssh", "ssh://[::1]:2222/a", batch + "-p 2222 ::1 git-upload-pack '/a'"},
		"quotes":                {"ssh", "ssh://host/it's!", batch + `host git-upload-pack '/it'\''s'\!''`},
		"options":               {"/opt/bin/ssh -i key", "work:a", batch + "work git-upload-pack 'a'"},
		"plink":                 {`plink.exe`, "ssh://host:2222/a", "-batch -P 2222 host git-upload-pack '/a'"},
		"another program":       {"wrapper", "ssh://host:2222/a", "-p 2222 host git-upload-pack '/a'"},
		"an option as host":     {"ssh", "ssh://-oProxyCommand=x/a", "error"},
		"an option as user":     {"ssh", "ssh://-oProxyCommand=x@host/a", "error"},
		"an option as path":     {"ssh", "host:--upload-pack=x", "error"},
		"a shell in the host":   {"ssh", "ssh://a$(x)/a", "error"},
		"a shell in the user":   {"ssh", "ssh://a`x`@host/a", "error"},
		"a command in the user": {"ssh", "a;x@host:a", "error"},
	} {
		t.Run(name, func(t *testing.T) {
			loc, err := parseLocation(tc.address)
			var args []string
			if err == nil {
				args, err = sshArgs(tc.program, &loc.endpoint, "upload-pack")
			}
			got := strings.Join(args, " ")
			if err != nil {
				got = "error"
			}
			if got != tc.want {
				t.Errorf("got %q (%v), want %q", got, err, tc.want)
			}
		})
	}
}

// program makes a program out of shell text; $log is a file for what it notes.
func program(t *testing.T, text string) (path, log string) {
	t.Helper()
	dir := t.TempDir()
	path, log = filepath.Join(dir, "wrapper"), filepath.Join(dir, "log")
	if err := os.WriteFile(path, []byte("#!/bin/sh\nlog='"+log+"'\n"+text), 0o755); err != nil {
		t.Fatal(err)
	}
	return path, log
}

// fleetOver reads and writes a repository at an address.
func fleetOver(t *testing.T, address string) {
	t.Helper()
	r := openWith(t, address, Options{CacheDir: t.TempDir()})
	cs, err := r.Commits(t.Context(), r.Refs().All()[0].Commit)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Fetch(t.Context(), cs[0].Hash); err != nil {
		t.Fatal(err)
	}
	b := r.NewBatch()
	draft(t, b, "app", "w", cs[0], files("app", 2))
	push(t, b)
}

// The program is the one that git would run, and gets what it needs to read and to write.
func TestSSHProgram(t *testing.T) {
	// Both the text of a shell and a program have the command last.
	const serve = "for last; do :; done\necho \"$0 $1 $2\" >>\"$log\"\neval \"$last\"\n"
	for name, tc := range map[string]struct {
		command, config, program bool
		want                     string
	}{
		"GIT_SSH_COMMAND before all":       {command: true, config: true, program: true, want: "--command"},
		"core.sshCommand before GIT_SSH":   {config: true, program: true, want: "--config"},
		"GIT_SSH, which is a program":      {program: true, want: "-p"},
		"GIT_SSH_COMMAND without a config": {command: true, want: "--command"},
	} {
		t.Run(name, func(t *testing.T) {
			git := gittest.NewServer(t).NewRepo(t, "fleet")
			git.Commit(t, "main", "start", gittest.Text{"web/Kptfile": kptfile("web")})
			path, log := program(t, serve)
			config := ""
			if tc.config {
				config = "[core]\n\tsshCommand = '" + path + "' --config\n"
			}
			configured(t, config, nil)
			t.Setenv("GIT_SSH_COMMAND", "")
			t.Setenv("GIT_SSH", "")
			if tc.command {
				t.Setenv("GIT_SSH_COMMAND", "'"+path+"' --command")
			}
			if tc.program {
				t.Setenv("GIT_SSH", path)
			}
			fleetOver(t, "ssh://git@work:2222"+git.Dir)
			noted, err := os.ReadFile(log)
			if err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(string(noted)) {
				if !strings.HasPrefix(line, path+" "+tc.want) {
					t.Errorf("it ran as %q", line)
				}
			}
			if refs := git.Refs(t); refs["refs/heads/drafts/app/w"] == "" {
				t.Errorf("no Draft in %v", refs)
			}
		})
	}
}

// A session that ends before it began says why, in words of the program.
func TestSSHFailures(t *testing.T) {
	for name, tc := range map[string]struct {
		text    string
		is      error
		passing bool
		want    []string
	}{
		"a key that is refused":      {text: "echo 'git@work: Permission denied (publickey).' >&2; exit 255", is: ErrAuth, want: []string{"git@work:a", "Permission denied (publickey)", "known_hosts", "GIT_SSH_COMMAND"}},
		"a host that is not known":   {text: "echo 'Host key verification failed.' >&2; exit 255", is: ErrAuth, want: []string{"Host key verification failed", "known_hosts"}},
		"a repository that is not":   {text: "echo 'ERROR: Repository not found.' >&2; exit 1", is: ErrNoRepository, want: []string{"git@work:a", "Repository not found"}},
		"a server that is away":      {text: "echo 'ssh: connect to host work port 22: Connection refused' >&2; exit 255", passing: true, want: []string{"Connection refused"}},
		"a program that fails":       {text: "echo 'no such tunnel' >&2; exit 3", want: []string{"exit status 3", "no such tunnel", "GIT_SSH_COMMAND"}},
		"a server that writes a lot": {text: "yes 'a banner' | head -c 100000 >&2; exit 3", want: []string{"exit status 3"}},
	} {
		t.Run(name, func(t *testing.T) {
			path, _ := program(t, tc.text)
			configured(t, "", nil)
			t.Setenv("GIT_SSH_COMMAND", path)
			_, err := NewStore(Options{}).Open(context.Background(), "git@work:a")
			if err == nil || tc.is != nil && !errors.Is(err, tc.is) || IsPassing(err) != tc.passing {
				t.Fatalf("got %v, passing %t", err, IsPassing(err))
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is not in: %v", want, err)
				}
			}
			if len(err.Error()) > 800 {
				t.Errorf("%d bytes", len(err.Error()))
			}
		})
	}
	t.Run("no ssh", func(t *testing.T) {
		configured(t, "", nil)
		t.Setenv("GIT_SSH_COMMAND", "")
		t.Setenv("GIT_SSH", "")
		t.Setenv("PATH", t.TempDir())
		if _, err := NewStore(Options{}).Open(context.Background(), "git@work:a"); !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), "install OpenSSH") {
			t.Errorf("got %v", err)
		}
	})
}

// A push that finds the door closed is known not to have moved anything.
func TestSSHPushRefused(t *testing.T) {
	git := gittest.NewServer(t).NewRepo(t, "fleet")
	git.Commit(t, "main", "start", gittest.Text{"web/Kptfile": kptfile("web")})
	path, _ := program(t, "for last; do :; done\ncase $last in *receive*) echo 'Permission denied (publickey).' >&2; exit 255;; esac\neval \"$last\"\n")
	configured(t, "", nil)
	t.Setenv("GIT_SSH_COMMAND", path)
	r := open(t, "ssh://git@work"+git.Dir)
	b := r.NewBatch()
	draft(t, b, "app", "w", head(t, r, "main"), files("app", 2))
	if _, err := b.Push(t.Context(), PushOptions{}); !errors.Is(err, ErrAuth) || errors.Is(err, ErrUnknownOutcome) {
		t.Errorf("got %v", err)
	}
}

// sshServer serves a machine's repositories to one user with one key.
func sshServer(t *testing.T, user string, key ssh.PublicKey, host ssh.Signer) (port string) {
	t.Helper()
	config := &ssh.ServerConfig{PublicKeyCallback: func(c ssh.ConnMetadata, k ssh.PublicKey) (*ssh.Permissions, error) {
		if c.User() != user || string(k.Marshal()) != string(key.Marshal()) {
			return nil, errors.New("another user or key")
		}
		return &ssh.Permissions{}, nil
	}}
	config.AddHostKey(host)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go serveSSH(c, config)
		}
	}()
	_, port, _ = net.SplitHostPort(l.Addr().String())
	return port
}

func serveSSH(c net.Conn, config *ssh.ServerConfig) {
	_, channels, requests, err := ssh.NewServerConn(c, config)
	if err != nil {
		return
	}
	go ssh.DiscardRequests(requests)
	for n := range channels {
		ch, requests, err := n.Accept()
		if err != nil {
			return
		}
		go func() {
			for r := range requests {
				_ = r.Reply(r.Type == "exec", nil)
				if r.Type != "exec" {
					continue
				}
				var asked struct{ Command string }
				_ = ssh.Unmarshal(r.Payload, &asked)
				cmd := exec.Command("sh", "-c", asked.Command)
				cmd.Env = gittest.Env()
				in, _ := cmd.StdinPipe()
				cmd.Stdout, cmd.Stderr = ch, ch.Stderr()
				go func() { defer in.Close(); _, _ = io.Copy(in, ch) }()
				_ = cmd.Run()
				_, _ = ch.SendRequest("exit-status", false, ssh.Marshal(struct{ Status uint32 }{uint32(cmd.ProcessState.ExitCode())}))
				_ = ch.Close()
			}
		}()
	}
}

// An alias of ssh's configuration names the host, port, user and key.
func TestSSHAlias(t *testing.T) {
	if _, err := exec.LookPath("ssh"); err != nil {
		t.Skip("skipped: ssh is not installed here")
	}
	signer := func() (ssh.Signer, []byte) {
		_, key, err := ed25519.GenerateKey(nil)
		if err != nil {
			t.Fatal(err)
		}
		block, err := ssh.MarshalPrivateKey(key, "")
		if err != nil {
			t.Fatal(err)
		}
		s, err := ssh.NewSignerFromKey(key)
		if err != nil {
			t.Fatal(err)
		}
		return s, pem.EncodeToMemory(block)
	}
	host, _ := signer()
	user, key := signer()
	_, other := signer()
	port := sshServer(t, "deploy", user.PublicKey(), host)
	git := gittest.NewServer(t).NewRepo(t, "fleet")
	git.Commit(t, "main", "start", gittest.Text{"web/Kptfile": kptfile("web")})
	dir := t.TempDir()
	for name, data := range map[string][]byte{
		"key": key, "other": other, "hosts": fmt.Appendf(nil, "[127.0.0.1]:%s %s", port, ssh.MarshalAuthorizedKey(host.PublicKey())),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	alias := func(name, user, key, hosts string) string {
		return strings.Join([]string{"Host " + name, "HostName 127.0.0.1", "Port " + port, "User " + user, "IdentityFile " + filepath.Join(dir, key), "UserKnownHostsFile " + filepath.Join(dir, hosts), ""}, "\n")
	}
	text := alias("work", "deploy", "key", "hosts") + alias("theirs", "deploy", "other", "hosts") + alias("new", "deploy", "key", "none") +
		"Host *\nIdentitiesOnly yes\nIdentityAgent none\nGlobalKnownHostsFile none\n"
	file := filepath.Join(dir, "config")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	configured(t, "[core]\n\tsshCommand = ssh -F '"+file+"'\n", nil)
	t.Setenv("GIT_SSH_COMMAND", "")
	fleetOver(t, "work:"+git.Dir)
	if diff := cmp.Diff(true, git.Refs(t)["refs/heads/drafts/app/w"] != ""); diff != "" {
		t.Error(diff)
	}
	for name, want := range map[string]string{"theirs": "Permission denied", "new": "Host key verification failed"} {
		if _, err := NewStore(Options{}).Open(t.Context(), name+":"+git.Dir); !errors.Is(err, ErrAuth) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if _, err := NewStore(Options{}).Open(t.Context(), "work:"+git.Dir+"-gone"); !errors.Is(err, ErrNoRepository) {
		t.Errorf("got %v", err)
	}
}
