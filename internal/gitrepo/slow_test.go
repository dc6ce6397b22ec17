package gitrepo

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/variform/variform/internal/wire"
	"github.com/variform/variform/test/gittest"
)

// hanging is a Git server that never answers requests of a kind.
func hanging(t *testing.T, s *gittest.Server, is func(*http.Request) bool) (url string, hung *atomic.Int32) {
	t.Helper()
	over := make(chan struct{})
	hung = &atomic.Int32{}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if is(r) {
			hung.Add(1)
			<-over
			return
		}
		s.ServeHTTP(w, r)
	}))
	t.Cleanup(func() { close(over); srv.Close() })
	return srv.URL, hung
}

func hurried() Options {
	b := wire.Patience(time.Minute)
	b.FirstByte, b.Push = 2*time.Second, 2*time.Second // what does not hang answers in time, on a busy machine too
	return Options{Budget: b}
}

func TestFetchThatHangsIsWaitedForOnce(t *testing.T) {
	s := newSite(t)
	s.repo.Commit(t, "main", "base", gittest.Text{"a/Kptfile": kptfile("a")})
	s.repo.Commit(t, "other", "base", gittest.Text{"b/Kptfile": kptfile("b")})
	url, hung := hanging(t, s.srv, isFetch)
	store := NewStore(hurried())
	r, err := store.Open(context.Background(), url+"/fleet.git")
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range []string{"main", "other", "main"} {
		ref, _ := r.Refs().Branch(b)
		if err := r.Fetch(context.Background(), ref.Commit); !wire.IsSlow(err) || !strings.Contains(err.Error(), "--server-timeout") {
			t.Errorf("got %v", err)
		}
	}
	if n := hung.Load(); n != 1 {
		t.Errorf("asked %d times", n)
	}
	if _, err := store.Open(context.Background(), s.urls["http"]); err != nil {
		t.Errorf("its neighbour: %v", err)
	}
}

// A push without an answer may have happened: the refs are read again.
func TestPushThatHangsIsReadAgain(t *testing.T) {
	for title, arrives := range map[string]bool{"lost": false, "done": true} {
		t.Run(title, func(t *testing.T) {
			s := newSite(t)
			s.repo.Commit(t, "main", "base", gittest.Text{"a/Kptfile": kptfile("a")})
			url, hung := hanging(t, s.srv, func(r *http.Request) bool {
				if isPush(r) && arrives {
					s.srv.ServeHTTP(httptest.NewRecorder(), r)
				}
				return isPush(r)
			})
			o := hurried()
			o.Budget.Push = 5 * time.Second // git runs meanwhile
			if !arrives {
				o.Budget.Push = 2 * time.Second
			}
			o.Budget.FirstByte = time.Minute
			r := openWith(t, url+"/fleet.git", o)
			b := r.NewBatch()
			draft(t, b, "app", "w", head(t, r, "main"), files("app", 2))
			report, err := b.Push(context.Background(), PushOptions{})
			if n := hung.Load(); n != 1 {
				t.Errorf("pushed %d times", n)
			}
			if arrives {
				if err != nil || report.Refs[0].Outcome != Moved {
					t.Errorf("got %v, %v", report.Refs, err)
				}
				return
			}
			if !errors.Is(err, ErrUnknownOutcome) || !wire.IsSlow(err) || report.Refs[0].Outcome != Unmoved {
				t.Errorf("got %v, %v", report.Refs, err)
			}
		})
	}
}

// ssh and git's own protocol know no budget of their own.
func TestStreamThatHangs(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			if _, err := l.Accept(); err != nil {
				return
			}
		}
	}()
	o := hurried()
	o.Budget.Connect = time.Millisecond
	for _, scheme := range []string{"git", "ssh"} {
		_, err := NewStore(o).Open(context.Background(), scheme+"://"+l.Addr().String()+"/fleet.git")
		if err == nil || scheme == "git" && !wire.IsSlow(err) { // ssh may find no agent first
			t.Errorf("%s: got %v", scheme, err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		time.AfterFunc(20*time.Millisecond, cancel)
		if _, err := NewStore(Options{}).Open(ctx, scheme+"://"+l.Addr().String()+"/fleet.git"); scheme == "git" && !errors.Is(err, context.Canceled) {
			t.Errorf("%s, stopped: got %v", scheme, err)
		}
	}
}

func TestAnswersAreBounded(t *testing.T) {
	flood := func(status int, head string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
			w.WriteHeader(status)
			line := "003f" + strings.Repeat("1", 40) + " refs/heads/aaaaaa\n"
			_, err := w.Write([]byte(head))
			for err == nil {
				_, err = w.Write([]byte(strings.Repeat(line, 1000)))
			}
		}
	}
	for title, h := range map[string]http.HandlerFunc{
		"refs":      flood(http.StatusOK, "001e# service=git-upload-pack\n0000"+"0045"+strings.Repeat("1", 40)+" refs/heads/a\x00 ofs-delta\n"),
		"a refusal": flood(http.StatusForbidden, ""),
	} {
		srv := httptest.NewServer(h)
		_, err := NewStore(Options{Limits: Limits{RefsBytes: 1 << 20}}).Open(context.Background(), srv.URL+"/a")
		if title == "refs" && !errors.Is(err, ErrLimit) || title != "refs" && !errors.Is(err, ErrAuth) {
			t.Errorf("%s: got %v", title, err)
		}
		srv.CloseClientConnections()
		srv.Close()
	}
}
