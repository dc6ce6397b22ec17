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

	"github.com/go-git/go-git/v5/plumbing/format/pktline"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"
	"github.com/go-git/go-git/v5/plumbing/transport"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"
)

// This file asks for folders by themselves. By its commit a folder costs the root folder
// too, which is as long as its repository has packages. A server of Git's protocol v2
// gives out an object of any kind by its name (gitprotocol-v2, "fetch"), one of v0, which
// the library speaks, where it says so.

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
	wants := slices.Concat(commits, others)
	if r.mayTryV2() {
		err := r.retryRead(ctx, func() error { return r.fetchV2(ctx, len(commits) > 0, wants, keep) })
		switch {
		case err == nil:
			return finish()
		case isMissing(err), isFinal(ctx, err):
			return err
		case !isAuth(err) && !errors.Is(err, ErrAuth): // else v0 says it better
			r.without(byV2, err)
		}
		keep, finish = r.packSink(r.objects)
	}
	if !r.offersAny() {
		return errKind(ErrMissingObject, "%s gives out nothing but what refs lead to", r.URL())
	}
	if err := r.uploadOnce(ctx, wants, min(len(commits), 1), "", Hash{}, keep); err != nil {
		return err
	}
	return finish()
}

func (r *Repo) fetchV2(ctx context.Context, shallow bool, wants []Hash, keep func(io.Reader) error) error {
	return r.withSession(ctx, false, func(ctx context.Context, _ transport.Session) error {
		resp, err := r.postFetch(ctx, shallow, wants)
		if err != nil {
			return notOurRef(err, wants)
		}
		defer func() { _ = resp.Close() }()
		return notOurRef(r.keepLimited(sideband.NewDemuxer(sideband.Sideband64k, resp), keep), wants)
	})
}

// postFetch asks for objects, and returns the answer from its pack on.
func (r *Repo) postFetch(ctx context.Context, shallow bool, wants []Hash) (io.ReadCloser, error) {
	var said bytes.Buffer
	e := pktline.NewEncoder(&said)
	_ = e.EncodeString("command=fetch\n")
	said.WriteString(delimiter)
	_ = e.EncodeString("no-progress\n", "ofs-delta\n")
	if shallow { // commits, without what is behind them
		_ = e.EncodeString("deepen 1\n")
	}
	for _, h := range wants {
		_ = e.EncodeString("want " + h.String() + "\n")
	}
	_ = e.EncodeString("done\n")
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
			return errors.New(said)
		}
		if text == "packfile" {
			return nil
		}
	}
}
