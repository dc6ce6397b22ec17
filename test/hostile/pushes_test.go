package hostile

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/variform/variform/test/gittest"
)

// report is what a server says of a push, in its band.
func report(lines ...string) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(line(l + "\n"))
	}
	return line("\x01"+b.String()+"0000") + "0000"
}

const draftOfFoo = "refs/heads/drafts/foo/packagevariant-1"

// badPushes are the ways in which a server takes a push.
func badPushes(thief string) map[string]func(w http.ResponseWriter, r *http.Request, over <-chan struct{}) {
	answer := func(text string) func(http.ResponseWriter, *http.Request, <-chan struct{}) {
		return func(w http.ResponseWriter, r *http.Request, _ <-chan struct{}) {
			_, _ = io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", "application/x-git-receive-pack-result")
			_, _ = io.WriteString(w, text)
		}
	}
	return map[string]func(w http.ResponseWriter, r *http.Request, over <-chan struct{}){
		"push-hang":  func(_ http.ResponseWriter, _ *http.Request, over <-chan struct{}) { <-over },
		"push-reset": func(_ http.ResponseWriter, _ *http.Request, _ <-chan struct{}) { panic(http.ErrAbortHandler) },
		"push-flood": func(w http.ResponseWriter, r *http.Request, _ <-chan struct{}) {
			_, _ = io.Copy(io.Discard, r.Body)
			pour(w, strings.Repeat(line("\x02"+strings.Repeat("x\x1b[2J", 10_000)), 10))
		},
		"push-report-flood": func(w http.ResponseWriter, r *http.Request, _ <-chan struct{}) {
			_, _ = io.Copy(io.Discard, r.Body)
			pour(w, line("\x01"+strings.Repeat(line("ok "+draftOfFoo+"\n"), 1000)))
		},
		"push-lies":      answer(report("unpack ok", "ok "+draftOfFoo)),
		"push-no-word":   answer(""),
		"push-half":      answer(report("unpack ok")),
		"push-another":   answer(report("unpack ok", "ok refs/heads/other")),
		"push-refuses":   answer(report("unpack ok", "ng "+draftOfFoo+" \x1b[2J\u202eall is well")),
		"push-unpack":    answer(report("unpack \x1b[2J"+strings.Repeat("x", 60_000), "ng "+draftOfFoo+" no")),
		"push-garbage":   answer("\xff\x00garbage\x1b[2J"),
		"push-bad-line":  answer("fffgxxxx"),
		"push-long-line": answer("ffff" + strings.Repeat("x", 100)),
		"push-page":      answer("<html>Sign in"),
		"push-error":     answer(line("\x03fatal: \x1b[2J\u202eall is well")),
		"push-redirect": func(w http.ResponseWriter, r *http.Request, _ <-chan struct{}) {
			_, _ = io.Copy(io.Discard, r.Body)
			http.Redirect(w, r, thief+r.URL.RequestURI(), http.StatusTemporaryRedirect)
		},
		"push-echo": func(w http.ResponseWriter, r *http.Request, _ <-chan struct{}) {
			_, _ = io.Copy(io.Discard, r.Body)
			w.WriteHeader(http.StatusForbidden)
			_, _ = fmt.Fprintf(w, "you sent %s\x1b[2J", r.Header.Get("Authorization"))
		},
	}
}

// Servers that can be read like any other, and do what they want of pushes.
func TestHostilePushes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "good")
	w.publish("foo", gittest.Files{{Path: "Kptfile", Data: []byte(kptfile)}})
	w.variant("foo", "good", "")
	thief := serve(t, func(w http.ResponseWriter, _ *http.Request, _ <-chan struct{}) {
		w.WriteHeader(http.StatusUnauthorized)
	})
	real, err := url.Parse(w.git.URL)
	if err != nil {
		t.Fatal(err)
	}
	ways := badPushes(thief.URL)
	for name, h := range ways {
		w.repos[name] = w.git.NewRepo(t, name)
		w.repos[name].Commit(t, "main", "init", gittest.Text{"README": "x\n"})
		proxy := &httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(real) }}
		s := serve(t, func(w http.ResponseWriter, r *http.Request, over <-chan struct{}) {
			if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/git-receive-pack") {
				h(w, r, over)
				return
			}
			proxy.ServeHTTP(w, r)
		})
		w.write("repo-"+name+".yaml", repository(name, withLogin(s.URL)+"/"+name+".git"))
		w.variant("foo", name, "")
	}
	r := w.apply()
	w.wantServed(r)
	for name := range ways {
		want := "fail"
		if name == "push-lies" {
			want = "create" // the next run finds out
		}
		if v := r.variants[name+"/foo"]; v.Action != want {
			t.Errorf("%s: %q, want %q", name, v.Action, want)
		}
		if refs := w.repos[name].Refs(t); len(refs) != 1 {
			t.Errorf("%s: the repository holds %v", name, refs)
		}
	}
	if again := w.run("plan", "-f", w.fleet(), "-o", "json"); !strings.Contains(again.out, `"push-lies/foo"`) || strings.Count(again.out, `"action": "create"`) != len(ways) {
		t.Errorf("the next run plans %d to create, want %d", strings.Count(again.out, `"action": "create"`), len(ways))
	}
	thief.mu.Lock()
	defer thief.mu.Unlock()
	for _, sent := range thief.logins {
		if sent != "" {
			t.Errorf("the thief was sent %q", sent)
		}
	}
}

// listen takes connections and says nothing.
func listen(t *testing.T) string {
	t.Helper()
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
			t.Cleanup(func() { _ = c.Close() })
		}
	}()
	return l.Addr().String()
}
