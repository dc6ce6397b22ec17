package gitrepo

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"

	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"

	"github.com/variform/variform/internal/wire"
)

// This file spares a push the request for what the server can do. Git asks for that to learn the
// refs, too, which a run has read: what it moves is in the push, and the server compares.

// receives is what a server said of its git-receive-pack.
type receives struct {
	// Of tells the repository's address and what its git-upload-pack said of itself then, its
	// version for one: another server at that address is asked anew.
	Of    string
	Login bool // it was told a login
	Can   string
}

// unaskedBytes bounds a push that is sent unasked: should a ref have moved, it was in vain.
const unaskedBytes = 1 << 20

// receivesOf is what Of says now; "" where nothing is known of git-upload-pack.
func (r *Repo) receivesOf() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.caps == nil || r.caps.IsEmpty() {
		return ""
	}
	sum := sha256.Sum256([]byte(r.endpoint.String() + "\x00" + r.caps.String()))
	return hex.EncodeToString(sum[:])
}

// hasLogin says that a push is sent with a login.
func (r *Repo) hasLogin() bool {
	r.mu.Lock()
	at, err := url.Parse(r.endpoint.String())
	r.mu.Unlock()
	return err == nil && r.logins.get(wire.OriginOf(at)) != nil
}

// usually is what servers can do. None minds to be told what it does not know, but for one that
// moves each ref on its own.
const usually = "report-status delete-refs side-band-64k quiet atomic ofs-delta"

// unasked is what the server can do, with the refs as they were read, where a push need not ask
// for it: where that is known of this very server, it moves all refs or none, and it has the
// login that it wants, so that it takes in what is sent. Of a server that this machine never
// asked it is what most can do, where it has a record, and so took pushes like this from
// another machine, and refs may move on their own. It is nil otherwise.
func (p *pusher) unasked(updates []RefUpdate, full bool) (can *capability.List, refs map[string]Hash) {
	r := p.repo
	if !r.loc.http() || full || p.batch.stage.size() > unaskedBytes {
		return nil, nil
	}
	known, ever := r.knownReceives()
	if !ever && !p.opts.RequireAtomic && p.recorded() && r.receivesOf() != "" {
		known = receives{Of: r.receivesOf(), Can: usually}
	}
	if known.Of == "" || known.Of != r.receivesOf() || known.Login && !r.hasLogin() {
		return nil, nil
	}
	can = capability.NewList()
	if can.Decode([]byte(known.Can)) != nil || !can.Supports(capability.Atomic) || !can.Supports(capability.ReportStatus) {
		return nil, nil
	}
	deletes := slices.ContainsFunc(updates, func(u RefUpdate) bool { return u.New.IsZero() })
	if deletes && !can.Supports(capability.DeleteRefs) { // an administrator may have allowed it since
		return nil, nil
	}
	if refs = r.Refs().hashes(); len(staleRefs(updates, refs)) > 0 {
		return nil, nil
	}
	return can, refs
}

// recorded says that the push is of a manager that has a record there.
func (p *pusher) recorded() bool {
	return p.opts.Record != nil && !p.repo.Refs().Record(p.repo.refOf(*p.opts.Record)).IsZero()
}

// knownReceives reads it once, of the cache; the zero value is of none. ever says that it was
// known of some server there, though it may be forgotten.
func (r *Repo) knownReceives() (known receives, ever bool) {
	r.receivesMu.Lock()
	defer r.receivesMu.Unlock()
	if !r.receivesRead && r.cacheDir != "" {
		data, err := os.ReadFile(r.receivesFile())
		r.receivesEver = !errors.Is(err, fs.ErrNotExist)
		if err != nil || json.Unmarshal(data, &r.receives) != nil {
			r.receives = receives{} // only a cache
		}
	}
	r.receivesRead = true
	return r.receives, r.receivesEver
}

func (r *Repo) receivesFile() string { return filepath.Join(r.cacheDir, "receives") }

// learnReceives keeps what a server has said of its git-receive-pack before a push that it
// took; nil forgets it.
func (r *Repo) learnReceives(can *capability.List) {
	if !r.loc.http() {
		return
	}
	var now receives
	if can != nil {
		now = receives{Of: r.receivesOf(), Login: r.hasLogin(), Can: can.String()}
	}
	if known, ever := r.knownReceives(); ever && now == known {
		return
	}
	r.receivesMu.Lock()
	defer r.receivesMu.Unlock()
	r.receives, r.receivesEver = now, true
	if r.cacheDir == "" {
		return
	}
	data, err := json.Marshal(now)
	if err == nil {
		err = replaceFile(r.receivesFile(), func(w io.Writer) error {
			_, err := w.Write(data)
			return err
		})
	}
	if err != nil {
		r.store.opts.Log("writing the cache: %v", err)
	}
}
