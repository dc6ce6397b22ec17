package controller_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/variform/variform/cmd/variform-controller/controller"
	"github.com/variform/variform/internal/cli"
	"github.com/variform/variform/test/gittest"
)

const hookSecret = "s3cret of the hook"

// hook is a request of a forge.
func hook(header, body string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
	mac := hmac.New(sha256.New, []byte(hookSecret))
	mac.Write([]byte(body))
	switch sum := hex.EncodeToString(mac.Sum(nil)); header {
	case "X-Hub-Signature-256":
		r.Header.Set(header, "sha256="+sum)
	case "X-Gitea-Signature":
		r.Header.Set(header, sum)
	case "X-Gitlab-Token":
		r.Header.Set(header, hookSecret)
	}
	return r
}

// TestWebhooks: who knows the secret wakes by any spelling of an address, others nobody.
func TestWebhooks(t *testing.T) {
	var woken []string
	secret, failure := hookSecret, error(nil)
	w := &controller.Webhooks{Wake: func(keys []string) { woken = append(woken, keys...) }, Secret: func() ([]byte, error) { return []byte(secret), failure }}
	serve := func(r *http.Request) (int, string) {
		woken = nil
		out := httptest.NewRecorder()
		w.ServeHTTP(out, r)
		if strings.Contains(out.Body.String(), hookSecret) {
			t.Errorf("the secret is told: %s", out.Body)
		}
		return out.Code, strings.Join(woken, " ")
	}
	const github = `{"ref": "refs/heads/main", "repository": {"clone_url": "https://git.example.com/a/b.git", "html_url": "https://git.example.com/a/b", "ssh_url": "git@git.example.com:a/b.git", "url": 5}}`
	code, want := serve(hook("X-Hub-Signature-256", github))
	if code != http.StatusAccepted || want == "" || strings.Contains(want, " ") {
		t.Fatalf("%d %q", code, want)
	}
	for header, body := range map[string]string{
		"X-Gitea-Signature": `{"repository": {"clone_url": "https://git.example.com/a/b.git"}}`,
		"X-Gitlab-Token":    `{"project": {"git_http_url": "https://GIT.example.com:443/a/b.git"}, "repository": {"git_ssh_url": "git@git.example.com:a/b.git"}}`,
	} {
		if code, got := serve(hook(header, body)); code != http.StatusAccepted || got != want {
			t.Errorf("%s: %d %q, want %q", header, code, got, want)
		}
	}
	other := hook("X-Hub-Signature-256", github)
	other.Body = http.NoBody
	wrong := hook("", github)
	wrong.Header.Set("X-Gitlab-Token", "guess")
	get := hook("X-Gitlab-Token", github)
	get.Method = http.MethodGet
	large := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(make([]byte, 9<<20)))
	large.Header.Set("X-Gitlab-Token", hookSecret)
	for name, tc := range map[string]struct {
		r    *http.Request
		code int
	}{
		"unsigned": {hook("", github), http.StatusUnauthorized}, "another body": {other, http.StatusUnauthorized}, "another token": {wrong, http.StatusUnauthorized},
		"read": {get, http.StatusMethodNotAllowed}, "too much": {large, http.StatusRequestEntityTooLarge}, "no JSON": {hook("X-Gitlab-Token", "payload=x"), http.StatusBadRequest},
	} {
		if code, got := serve(tc.r); code != tc.code || got != "" {
			t.Errorf("%s: %d %q, want %d", name, code, got, tc.code)
		}
	}
	for _, failure = range []error{nil, errors.New("gone")} {
		secret = ""
		if code, _ := serve(hook("", github)); code != http.StatusServiceUnavailable {
			t.Errorf("without a secret: %d", code)
		}
	}
}

// TestWebhookBodies: what an event holds beside its repository is not kept, however long it
// is, and changes nothing.
func TestWebhookBodies(t *testing.T) {
	var woken []string
	w := &controller.Webhooks{Wake: func(keys []string) { woken = append(woken, keys...) }, Secret: func() ([]byte, error) { return []byte(hookSecret), nil }}
	const repo = `"repository": {"name": "b", "clone_url": "https://git.example.com/a/b.git"}`
	long := strings.Repeat("x", 5000)
	for name, tc := range map[string]struct {
		body string
		code int
		keys int
	}{
		"alone":                  {`{` + repo + `}`, http.StatusAccepted, 1},
		"behind long text":       {`{"m": "` + long + `", ` + repo + `}`, http.StatusAccepted, 1},
		"behind long escapes":    {`{"m": "` + strings.Repeat(`\"\u00fc\\`, 2000) + `", ` + repo + `}`, http.StatusAccepted, 1},
		"behind shifted escapes": {`{"m": "x` + strings.Repeat(`\u00fc`, 2000) + `", "n": "xx` + strings.Repeat(`\u00fc`, 2000) + `", "o": "xxx` + strings.Repeat(`\u00fc`, 2000) + `", ` + repo + `}`, http.StatusAccepted, 1},
		"behind many":            {`{"commits": [` + strings.Repeat(`{"id": 1, "repository": {"clone_url": "https://other.example.com"}}, `, 2000) + `null], ` + repo + `}`, http.StatusAccepted, 1},
		"before more":            {`{` + repo + `, "sender": {"url": "https://git.example.com/me", "repository": {"url": "https://git.example.com/no"}}}`, http.StatusAccepted, 1},
		"no repository":          {`{"zen": "x"}`, http.StatusAccepted, 0},
		"of other types":         {`{"repository": [{"clone_url": "https://git.example.com"}], "project": {"url": 5, "homepage": ["https://git.example.com/x"]}}`, http.StatusAccepted, 0},
		"a long address":         {`{"repository": {"url": "https://git.example.com/` + long + `"}}`, http.StatusAccepted, 1},
		"a long number":          {`{"n": ` + strings.Repeat("1", 5000) + `, ` + repo + `}`, http.StatusBadRequest, 0},
		"deep":                   {strings.Repeat("[", 1000000), http.StatusBadRequest, 0},
		"cut":                    {`{` + repo, http.StatusBadRequest, 0},
		"more behind it":         {`{` + repo + `} x`, http.StatusBadRequest, 0},
	} {
		for _, header := range []string{"X-Hub-Signature-256", "X-Gitlab-Token"} {
			woken = nil
			out := httptest.NewRecorder()
			w.ServeHTTP(out, hook(header, tc.body))
			if out.Code != tc.code || len(woken) != tc.keys {
				t.Errorf("%s, %s: %d %v, want %d and %d keys", name, header, out.Code, woken, tc.code, tc.keys)
			}
		}
	}
}

// TestWebhookFlood: bodies that nobody vouches for are not held while they arrive, and who
// knows the secret is heard meanwhile.
func TestWebhookFlood(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_ = l.Close()
	var woken atomic.Int64
	w := &controller.Webhooks{Address: address, Wake: func(keys []string) { woken.Add(int64(len(keys))) }, Secret: func() ([]byte, error) { return []byte(hookSecret), nil }}
	go func() { _ = w.Start(t.Context()) }()
	for dial := false; !dial; time.Sleep(10 * time.Millisecond) {
		c, err := net.Dial("tcp", address)
		if dial = err == nil; dial {
			_ = c.Close()
		}
	}
	held := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := held()
	const connections, size = 100, 8<<20 - 1
	body := []byte(`{"m": "` + strings.Repeat("x", size-8) + `"`) // all but its end
	var sending sync.WaitGroup
	for n := range connections {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		sending.Go(func() {
			signature := []string{"X-Gitea-Signature: " + strings.Repeat("00", 32), "X-Gitlab-Token: guess", "X-No: signature"}[n%3]
			_, _ = fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: x\r\n%s\r\nContent-Length: %d\r\n\r\n", signature, size+1)
			_, _ = c.Write(body) // refused ones are cut
		})
	}
	sending.Wait()
	if grown := int64(held()) - int64(before); grown > 32<<20 { // of some 280 MB that arrived
		t.Errorf("%d unsigned bodies are held in %d MiB", connections, grown>>20)
	}
	r := hook("X-Gitea-Signature", `{"repository": {"clone_url": "https://git.example.com/a/b.git"}}`)
	r.URL, r.RequestURI = &url.URL{Scheme: "http", Host: address, Path: "/"}, ""
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusAccepted || woken.Load() != 1 {
		t.Errorf("meanwhile: %s, %d keys", resp.Status, woken.Load())
	}
	runtime.KeepAlive(body)
}

// TestWoken: a push is seen at once where a forge tells one replica of it, whichever has
// the Fleet; Git that is down for a while is told, and that it is there again, too.
func TestWoken(t *testing.T) {
	w := newWorld(t)
	w.pkg(w.repo("catalog"), "web")
	c1 := w.repo("c1")
	files := gittest.Text{
		"Kptfile":    "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: me\n",
		"repos.yaml": repository("catalog", w.git.RepoURL("catalog"), false) + "---\n" + repository("c1", w.git.RepoURL("c1"), true),
	}
	management := w.git.NewRepo(t, "management")
	management.Commit(t, "main", "fleet", files)
	fleet := "apiVersion: variform.dev/v1alpha1\nkind: Fleet\nmetadata: {name: prod}\nspec: {source: {git: {repo: " + w.git.RepoURL("management") + "}}, interval: 10m}\n"
	w.apply(fleet)
	for range 2 {
		w.replica(2 * time.Second)
	}
	w.says(fleet, "Ready", "True Reconciled")
	management.Commit(t, "main", "set", gittest.Text{"set.yaml": strings.Replace(webSet, "[%s]", "[{name: c1}]", 1)})
	body := `{"repository": {"clone_url": "` + w.git.RepoURL("management") + `"}}`
	tell := func(to *controller.Reconciler) {
		out := httptest.NewRecorder()
		(&controller.Webhooks{Wake: to.Wake, Secret: func() ([]byte, error) { return []byte(hookSecret), nil }}).ServeHTTP(out, hook("X-Gitea-Signature", body))
		if out.Code != http.StatusAccepted {
			t.Fatal(out.Code, out.Body)
		}
	}
	held := func() (out []float64) {
		for _, registry := range w.metrics {
			out = append(out, w.metricOf(registry, "variform_shards_held"))
		}
		return out
	}
	// The one that came first may give the shard to the other yet.
	w.until("one replica has the one shard", func() bool { got := held(); return slices.Max(got) == 1 && slices.Min(got) == 0 })
	without := w.replicas[0] // the one that does not have the Fleet
	if without.Leases.Has(client.ObjectKeyFromObject(w.object(fleet))) {
		without = w.replicas[1]
	}
	tell(without)
	w.until("woken", func() bool { return len(branches(c1, t)) == 1 })
	w.says(fleet, "Ready", "True Reconciled: 1 package variants")

	var said bytes.Buffer
	if status := cli.Main(context.Background(), []string{"approve", "--all", "-f", w.git.RepoURL("management"), "--cache-dir", t.TempDir()}, cli.Streams{In: strings.NewReader(""), Out: &said, Err: &said}); status != 0 {
		t.Fatal(said.String())
	}
	body = `{"project": {"git_http_url": "` + w.git.RepoURL("c1") + `"}}`
	tell(without)
	w.until("approved", func() bool { return w.metric("variform_fleet_package_variants Published") == 1 })

	for range 2 { // the second time it comes back to what was found to be settled
		w.git.RequireLogin("nobody", "has it")
		tell(w.replicas[0])
		w.says(fleet, "Ready", "False Error")
		w.git.RequireLogin("", "")
		w.says(fleet, "Ready", "True Reconciled: 1 package variants") // tried again, later and later
	}
	for line, most := range map[string]float64{
		`variform_fleet_runs_total ready`: 100, `variform_fleet_runs_total error`: 100, `variform_fleet_package_variants Published`: 1,
	} {
		if got := w.metric(line); got < 1 || got > most {
			t.Errorf("%s: %v", line, got)
		}
	}
	if err := w.api.Delete(context.Background(), w.object(fleet)); err != nil {
		t.Fatal(err)
	}
	w.until("forgotten", func() bool { return w.metric("variform_fleet_package_variants Published") == 0 })
}

// metric is the sum of a name's values over all replicas, with a label of a value where one
// is given; each replica has its own registry, as a process has.
func (w *world) metric(name string) (sum float64) {
	w.Helper()
	for _, registry := range w.metrics {
		sum += w.metricOf(registry, name)
	}
	return sum
}

func (w *world) metricOf(registry *prometheus.Registry, name string) (sum float64) {
	w.Helper()
	families, err := registry.Gather()
	if err != nil {
		w.Fatal(err)
	}
	name, label, _ := strings.Cut(name, " ")
	for _, f := range families {
		for _, m := range f.GetMetric() {
			labelled := label == "" || slices.ContainsFunc(m.GetLabel(), func(l *dto.LabelPair) bool { return l.GetValue() == label })
			if f.GetName() == name && labelled {
				sum += m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	return sum
}

// TestAgain: what failed is tried again, later and later, and within a minute at last.
func TestAgain(t *testing.T) {
	limiter, last := controller.Again(), time.Duration(0)
	for range 40 {
		next := limiter.When(controller.Request{})
		if next < last || next > time.Minute {
			t.Fatalf("%s after %s", next, last)
		}
		last = next
	}
	if last != time.Minute {
		t.Errorf("at last after %s", last)
	}
}
