package reconcile

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/lifecycle"
	"github.com/variform/variform/internal/observe"
)

// Known is what runs of one fleet on this machine knew as Published, by address and
// path of the repository: nothing else names what a Repository has that was taken out
// of the fleet. It is in the state folder, for whoever fills a cache could claim
// packages in it.
type Known struct {
	file string     // "" where nothing can be written
	mu   sync.Mutex // of those that publish side by side
}

// OpenKnown returns what a state folder has of the fleet of a manager at a location, a
// folder or an address. Without a state folder nothing is known.
func OpenKnown(state, manager, location string) *Known {
	if state == "" {
		return &Known{}
	}
	if _, err := os.Stat(location); err == nil {
		if at, err := filepath.Abs(location); err == nil {
			location = at
		}
	}
	sum := sha256.Sum256([]byte(manager + "\x00" + location))
	return &Known{file: filepath.Join(state, "fleets", hex.EncodeToString(sum[:6])+".json")}
}

// read is empty where there is no file, or none that can be read.
func (k *Known) read() map[string][]string {
	out := map[string][]string{}
	if data, err := os.ReadFile(k.file); err == nil {
		_ = json.Unmarshal(data, &out)
	}
	return out
}

func (k *Known) write(known map[string][]string) {
	data, err := json.Marshal(known)
	if err == nil && k.file != "" && os.MkdirAll(filepath.Dir(k.file), 0o755) == nil {
		_ = os.WriteFile(k.file, append(data, '\n'), 0o600)
	}
}

// applied is the file that is there once the fleet was applied from this machine.
func (k *Known) applied() string { return strings.TrimSuffix(k.file, ".json") + ".applied" }

// claim notes that the fleet was applied: the packages of its name are its own.
func (k *Known) claim() {
	if k.file != "" && os.MkdirAll(filepath.Dir(k.file), 0o755) == nil {
		_ = os.WriteFile(k.applied(), nil, 0o600)
	}
}

// other returns why the fleet must not go on under its name.
func (e *Engine) other(s *observe.Snapshot) error {
	if e.cfg.Known == nil {
		return nil
	}
	p := e.read.Presence(s)
	_, err := os.Stat(e.cfg.Known.applied())
	p.Claimed, p.Known = e.cfg.Claimed, err == nil
	return p.Other()
}

// published notes what was approved: the Repository may be gone in the next run.
func (e *Engine) published(verdicts []*Verdict) {
	if e.cfg.Known == nil {
		return
	}
	e.cfg.Known.mu.Lock()
	defer e.cfg.Known.mu.Unlock()
	known, more := e.cfg.Known.read(), false
	for _, v := range verdicts {
		at := v.Repo.Git.URL()
		note := decide.Left{Path: v.Package.Path, Owner: v.Head.Owner}.String()
		if v.Err == nil && v.To == lifecycle.Published && e.manager.Signed(v.Head.Owner, v.Namespace) && !slices.Contains(known[at], note) {
			known[at], more = append(known[at], note), true
		}
	}
	if !more {
		return
	}
	for _, paths := range known {
		slices.Sort(paths)
	}
	e.cfg.Known.write(known)
}

// leftBehind warns of what is left where a Repository was taken out of the fleet.
func (e *Engine) leftBehind(ctx context.Context) []string {
	if e.cfg.Known == nil || len(e.cfg.Fleet.Problems) > 0 { // it may be in a file that could not be read
		return nil
	}
	before := e.cfg.Known.read()
	now, warnings := e.read.LeftBehind(ctx, before)
	if !maps.EqualFunc(before, now, slices.Equal) {
		e.cfg.Known.write(now)
	}
	return warnings
}
