package histories

import (
	"context"
	"errors"
	"net/http"
	"os"
	"strings"

	"github.com/variform/variform/test/forgetest"
	"github.com/variform/variform/test/gittest"
)

// person is who approves; git and Variform read it from the environment.
var person = map[string]string{
	"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.DevNull, "GIT_TERMINAL_PROMPT": "0",
	"GIT_AUTHOR_NAME": "Rae Viewer", "GIT_AUTHOR_EMAIL": "rae@example.com", "GIT_AUTHOR_DATE": "1700000500 +0000",
	"GIT_COMMITTER_NAME": "Rae Viewer", "GIT_COMMITTER_EMAIL": "rae@example.com", "GIT_COMMITTER_DATE": "1700000500 +0000",
	"GITEA_TOKEN": forgetest.Token(forgetest.Ann), "GITEA_SERVER_URL": requestsURL,
	"GH_TOKEN": forgetest.Token(forgetest.Ann), "GH_HOST": requestsURL,
	"GITLAB_TOKEN": forgetest.Token(forgetest.Ann), "GITLAB_HOST": requestsURL,
}

// prepare gives this process what histories need: who works, and the way to servers in
// memory. undo takes it back.
func prepare() (undo func()) {
	was, transport := map[string]string{}, http.DefaultTransport
	keep := func(k string) {
		if v, ok := os.LookupEnv(k); ok {
			was[k] = v
		}
		_ = os.Unsetenv(k)
	}
	for k, v := range person {
		keep(k)
		_ = os.Setenv(k, v)
	}
	for _, k := range []string{"VARIFORM_FLEET", "VARIFORM_CACHE_DIR", "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"} {
		keep(k)
	}
	http.DefaultTransport = dispatcher{transport}
	return func() {
		http.DefaultTransport = transport
		for k := range person {
			_ = os.Unsetenv(k)
		}
		for k, v := range was {
			_ = os.Setenv(k, v)
		}
	}
}

// host is that of every server in memory: addresses are part of what commits
// hold, so they are the same in every run.
const host = "git.test"

type serverKey struct{}

// withServer makes host mean a server, for all that is done under the context.
func withServer(ctx context.Context, m *gittest.Memory) context.Context {
	return context.WithValue(ctx, serverKey{}, m)
}

// dispatcher leads requests to the server in memory of their context.
type dispatcher struct{ network http.RoundTripper }

func (d dispatcher) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasPrefix(r.URL.String(), requestsURL) {
		return answerOf(r)
	}
	if r.URL.Host != host {
		return d.network.RoundTrip(r)
	}
	m, ok := r.Context().Value(serverKey{}).(*gittest.Memory)
	if !ok {
		return nil, errors.New("no server in the context of a request to " + r.URL.String())
	}
	return m.RoundTrip(r)
}
