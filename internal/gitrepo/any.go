package gitrepo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/go-git/go-git/v5/plumbing/format/pktline"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"
	"github.com/go-git/go-git/v5/plumbing/transport"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"

	"github.com/variform/variform/internal/wire"
)

// This file asks by Git's protocol v2 (gitprotocol-v2, "fetch"), which costs a server less than
// v0, that the library speaks: it does not read its refs, a fleet's being many. And it gives
// out an object of any kind by its name: by its commit a folder costs the root folder too, which
// is as long as its repository has packages. A server of v0 does so where it says so.

// givesAny says whether objects of any kind may be asked for: of v2 that is tried.
func (r *Repo) givesAny() bool { return r.mayTryV2() || r.offersAny() }

func (r *Repo) mayTryV2() bool { return r.loc.http() && !r.lacks(byV2) }

func (r *Repo) offersAny() bool {
	caps := r.capabilities()
	return caps.Supports(capability.AllowReachableSHA1InWant) || caps.Supports("allow-any-sha1-in-want")
}

// fetchAny reads objects with all below them into the object store, commits without
// what is behind them: ErrMissingObject where the server does not give out one of them,
// or none without the ref that leads to it.
func (r *Repo) fetchAny(ctx context.Context, commits, others []Hash) error {
	keep, finish := r.packSink(r.objects)
	q := request{wants: slices.Concat(commits, others), depth: min(len(commits), 1), any: true}
	if err := r.uploadOnce(ctx, q, keep); err != nil {
		return err
	}
	return finish()
}

// request is what a server is asked for.
type request struct {
	wants  []Hash
	depth  int          // of history, 1 is the wants alone; 0 is all of it
	filter packp.Filter // "" leaves nothing out
	any    bool         // not commits alone
	// haves are commits of which it is to send nothing, nor of what is behind them.
	haves []Hash
	// alone says that nothing behind the haves is here, and that deltas may be upon what they hold.
	alone bool
}

// fetchV2 asks by v2 and hands the pack to keep. It is not answered where the server does
// not know that, or where v0 may do better: it has the better word for a login. A server that
// has not answered so yet is asked once for what v0 gives out, too, and what fails in passing
// then is left to that.
func (r *Repo) fetchV2(ctx context.Context, q request, keep func(io.Reader) error) (answered bool, err error) {
	once := func() error {
		return r.withSession(ctx, false, func(ctx context.Context, _ transport.Session) error {
			resp, err := r.postFetch(ctx, q)
			if err != nil {
				return notOurRef(err, q.wants)
			}
			defer func() { _ = resp.Close() }()
			return notOurRef(r.keepLimited(sideband.NewDemuxer(sideband.Sideband64k, resp), keep), q.wants)
		})
	}
	known, _ := r.store.speakV2.LoadOrStore(wire.OriginOf(r.loc.url()), &speech{})
	server := known.(*speech)
	speaks := server.answered.Load()
	if speaks || q.any {
		err = r.retryRead(ctx, once)
	} else {
		err = once()
	}
	var no *declined
	switch {
	case err == nil:
		server.answered.Store(true)
		return true, nil
	case isMissing(err), isFinal(ctx, err), errors.Is(err, ErrNoRepository), speaks && isTemporary(err),
		q.filter != "" && errors.As(err, &no) && strings.Contains(no.said, "filter"):
		return true, err
	case speaks, isAuth(err), errors.Is(err, ErrAuth), !q.any && isTemporary(err) && server.failed.Add(1) < readAttempts:
		return false, err
	}
	r.without(byV2, err)
	return false, err
}

// speech is what is known of a server's v2.
type speech struct {
	answered atomic.Bool
	failed   atomic.Int32 // requests, in passing, before it answered one
}

// declined is what a server says of a request that it understood.
type declined struct{ said string }

func (e *declined) Error() string { return e.said }

// postFetch asks for objects, and returns the answer from its pack on.
func (r *Repo) postFetch(ctx context.Context, q request) (io.ReadCloser, error) {
	var said bytes.Buffer
	e := pktline.NewEncoder(&said)
	line := func(format string, args ...any) { _ = e.EncodeString(fmt.Sprintf(format+"\n", args...)) }
	line("command=fetch")
	said.WriteString(delimiter)
	line("no-progress")
	line("ofs-delta")
	if q.alone {
		line("thin-pack")
		for _, h := range q.haves {
			line("shallow %s", h)
		}
	}
	if q.depth > 0 {
		line("deepen %d", q.depth)
	}
	if q.filter != "" {
		line("filter %s", q.filter)
	}
	for _, h := range q.wants {
		line("want %s", h)
	}
	for _, h := range q.haves {
		line("have %s", h)
	}
	line("done")
	_ = e.Flush()

	r.mu.Lock()
	url := r.endpoint.String() + "/" + transport.UploadPackServiceName
	r.mu.Unlock()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, &said)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Git-Protocol", "version=2")
	req.Header.Set("Content-Type", "application/x-git-upload-pack-request")
	req.Header.Set("Accept", "application/x-git-upload-pack-result")
	resp, err := r.store.client.Do(req)
	if err != nil {
		return nil, err
	}
	if err := githttp.NewErr(resp); err != nil { // which closes it
		return nil, err
	}
	before := &limitedReader{r: resp.Body, left: r.store.opts.Limits.RefsBytes, what: "what comes before the pack is"}
	if err := skipToPack(before); err != nil {
		_ = resp.Body.Close()
		return nil, err
	}
	return resp.Body, nil
}

// delimiter is a pkt-line that the library does not know.
const delimiter = "0001"

// skipToPack reads an answer as far as its pack.
func skipToPack(r io.Reader) error {
	for {
		var size [4]byte
		if _, err := io.ReadFull(r, size[:]); err != nil {
			if errors.Is(err, io.EOF) { // no passing failure: it ended well
				return errors.New("the answer has no pack")
			}
			return fmt.Errorf("the answer has no pack: %w", err)
		}
		n, err := strconv.ParseUint(string(size[:]), 16, 16)
		if err != nil {
			return errors.New("the answer is not of Git's protocol v2")
		}
		if n <= uint64(len(size)) { // flush, delimiter
			continue
		}
		line := make([]byte, n-uint64(len(size)))
		if _, err := io.ReadFull(r, line); err != nil {
			return fmt.Errorf("the answer has no pack: %w", err)
		}
		text := strings.TrimSuffix(string(line), "\n")
		if said, refused := strings.CutPrefix(text, "ERR "); refused {
			return &declined{said}
		}
		if text == "packfile" {
			return nil
		}
	}
}
