package wire

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// TestSlowBetweenRuns: what was too slow in one run is not waited for by the next, of the
// same Slow, and is asked again a minute later.
func TestSlowBetweenRuns(t *testing.T) {
	url, asked := stub(t, func(w http.ResponseWriter, r *http.Request, over <-chan struct{}) {
		if r.URL.Path == "/hangs" {
			<-over
		}
		_, _ = w.Write([]byte("fine"))
	})
	b := short()
	b.FirstByte, b.Slow = 50*time.Millisecond, &Slow{}
	for run, want := range []int32{1, 1, 1} {
		if _, err := fetch(t, transport(b), http.MethodGet, url+"/hangs"); !IsSlow(err) {
			t.Errorf("run %d: %v", run, err)
		}
		if n := asked.Load(); n != want {
			t.Errorf("run %d: it was asked %d times, want %d", run, n, want)
		}
	}
	if got, err := fetch(t, transport(b), http.MethodGet, url+"/else"); got != "fine" || err != nil {
		t.Errorf("another repository of that server: %q %v", got, err)
	}
	other := b
	other.Slow = &Slow{}
	if _, err := fetch(t, transport(other), http.MethodGet, url+"/hangs"); !IsSlow(err) || asked.Load() != 3 {
		t.Errorf("one that shares nothing: %v, asked %d times", err, asked.Load())
	}
}

func TestSlowPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Slow{}
		known := func() bool { return s.known(time.Now(), "other", "a") != nil }
		slow := func() { s.remember(time.Now(), "a", &SlowError{Server: "a"}, firstPause) }
		for _, pause := range []time.Duration{1, 2, 4, 5, 5} {
			slow()
			time.Sleep(pause*time.Minute - time.Second)
			if !known() {
				t.Errorf("asked again before %d minutes", pause)
			}
			if time.Sleep(time.Second); known() {
				t.Errorf("not asked again after %d minutes", pause)
			}
		}
		s.forget("a")
		slow()
		if time.Sleep(time.Minute); known() {
			t.Error("one that answered in between is left alone for longer than at first")
		}
	})
}

// TestSlowIsForgotten: an answer in time ends the pauses.
func TestSlowIsForgotten(t *testing.T) {
	url, _ := stub(t, func(w http.ResponseWriter, _ *http.Request, _ <-chan struct{}) { _, _ = w.Write([]byte("fine")) })
	b := short()
	b.Slow = &Slow{}
	b.Slow.remember(time.Now().Add(-time.Hour), "/a", &SlowError{}, firstPause)
	if _, err := fetch(t, transport(b), http.MethodGet, url+"/a"); err != nil || len(b.Slow.seen) != 0 {
		t.Errorf("%v, known are %v", err, b.Slow.seen)
	}
}
