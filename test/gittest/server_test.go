package gittest

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"
)

// What a client asked for before it gave up is waited for.
func TestWaitServed(t *testing.T) {
	s := NewServer(t)
	s.NewRepo(t, "a")
	s.WaitServed()
	ctx, giveUp := context.WithCancel(t.Context())
	goOn, gone := make(chan struct{}), make(chan error, 1)
	s.Before(func(string, string) {
		giveUp()
		<-goOn
	})
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.RepoURL("a")+"/info/refs?service=git-upload-pack", nil)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		resp, err := http.DefaultClient.Do(req)
		if err == nil {
			_ = resp.Body.Close()
		}
		gone <- err
	}()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	waited := make(chan struct{})
	go func() {
		s.WaitServed()
		close(waited)
	}()
	select {
	case <-waited:
		t.Fatal("not waited for")
	case <-time.After(50 * time.Millisecond):
	}
	s.Before(nil)
	close(goOn)
	<-waited
	if n := s.Count(ReadRefs); n != 1 {
		t.Errorf("%d requests", n)
	}
}
