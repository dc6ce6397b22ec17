package ci

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
)

// forge plays the part of a forge that keeps comments, for real curl.
type forge struct {
	URL string

	mu    sync.Mutex
	notes []note
}

type note struct {
	ID     int            `json:"id"`
	Author map[string]int `json:"author"`
	Body   string         `json:"body"`
}

// The people on the forge.
const (
	us   = 7
	them = 8
)

// newForge has 130 comments, so that pages count; the routes are those of the
// platform. Who does not send the header's value is refused.
func newForge(t *testing.T, header, value string, routes func(f *forge, mux *http.ServeMux)) *forge {
	t.Helper()
	f := &forge{}
	for i := range 130 {
		f.notes = append(f.notes, note{ID: i + 1, Author: map[string]int{"id": them}, Body: fmt.Sprintf("comment %d", i)})
	}
	mux := http.NewServeMux()
	routes(f, mux)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get(header) != value {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(srv.Close)
	f.URL = srv.URL
	return f
}

// bodies are the texts of all comments.
func (f *forge) bodies() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []string
	for _, n := range f.notes {
		out = append(out, n.Body)
	}
	return out
}

// list answers one page.
func (f *forge) list(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	page, _ := strconv.Atoi(r.URL.Query().Get("page"))
	size, _ := strconv.Atoi(r.URL.Query().Get("per_page"))
	if page < 1 || size < 1 || size > 100 {
		http.Error(w, "bad page", http.StatusBadRequest)
		return
	}
	from := min((page-1)*size, len(f.notes))
	_ = json.NewEncoder(w).Encode(f.notes[from:min(from+size, len(f.notes))])
}

// write adds a comment of ours, or changes one where the route names it.
func (f *forge) write(w http.ResponseWriter, r *http.Request, body string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if body == "" {
		http.Error(w, "no body", http.StatusBadRequest)
		return
	}
	if r.PathValue("id") == "" {
		f.notes = append(f.notes, note{ID: 1000 + len(f.notes), Author: map[string]int{"id": us}, Body: body})
		return
	}
	for i := range f.notes {
		if strconv.Itoa(f.notes[i].ID) == r.PathValue("id") && f.notes[i].Author["id"] == us {
			f.notes[i].Body = body
			return
		}
	}
	http.Error(w, "not yours", http.StatusForbidden)
}
