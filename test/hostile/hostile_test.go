package hostile

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/variform/variform/test/gittest"
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
		if r.Method == http.MethodHead {
			w = headOnly{w}
		}
		h(w, r, over)
	}))
	t.Cleanup(func() {
		close(over)
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

// headOnly ends what pours for ever: without a body no write would ever fail.
type headOnly struct{ http.ResponseWriter }

func (headOnly) Write([]byte) (int, error) { return 0, http.ErrBodyNotAllowed }

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

// One fleet has them all for neighbours, beside one healthy repository.
func TestHostileServers(t *testing.T) {
	w := newWorld(t, "good")
	w.publish("foo", gittest.Files{{Path: "Kptfile", Data: []byte(kptfile)}})
	w.variant("foo", "good", "")
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
		w.write(name+".yaml", repository(name, withLogin(s.URL)+"/x.git"))
		w.variant("foo", name, "")
	}
	for name, url := range map[string]string{"ssh": "ssh://git@" + listen(t) + "/x.git", "git": "git://" + listen(t) + "/x.git"} {
		ways[name] = nil
		w.write(name+".yaml", repository(name, url))
		w.variant("foo", name, "")
	}
	r := w.apply()
	if a := r.variants["good/foo"].Action; a != "create" || w.repos["good"].Refs(t)["refs/heads/drafts/foo/packagevariant-1"] == "" {
		t.Errorf("the healthy neighbour: %q", a)
	}
	for name := range ways {
		if a := r.variants[name+"/foo"].Action; a != "fail" {
			t.Errorf("%s: %q", name, a)
		}
	}
	thief.wantNoLogin(t)
}

// wantNoLogin fails where the server was sent a login, or was never asked.
func (s *server) wantNoLogin(t *testing.T) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sent := range s.logins {
		if sent != "" {
			t.Errorf("the thief was sent %q", sent)
		}
	}
	if len(s.logins) == 0 {
		t.Error("nobody was redirected")
	}
}
