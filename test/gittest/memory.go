package gittest

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/format/pktline"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"
	"github.com/go-git/go-git/v5/storage/memory"
)

// Memory is a Git server that keeps its repositories in memory and is reached
// without a socket: it is an http.RoundTripper, and an http.Handler too. It
// speaks the part of the smart protocol that clients of this repository use and
// keeps a real server's promises: a push is checked as a whole before any ref
// moves, each ref moves only from where the client saw it, atomic pushes move
// all or none, and only commits that refs lead to are given out. The tests hold
// it and git http-backend to the same cases.
type Memory struct {
	// TipsOnly gives out nothing but what refs name, as git does where a
	// connection holds a conversation (ssh, git://), and not commits below them.
	TipsOnly bool

	mu     sync.Mutex
	repos  map[string]*MemoryRepo
	before func(kind, repo string)
	drop   map[string]int
}

// NewMemory makes a server without repositories.
func NewMemory() *Memory {
	return &Memory{repos: map[string]*MemoryRepo{}, drop: map[string]int{}}
}

// MemoryRepo is a bare repository whose HEAD is main.
type MemoryRepo struct {
	mu    sync.Mutex
	store *memory.Storage
	// packed are objects as packs hold them.
	packed map[plumbing.Hash][]byte
}

// NewRepo makes an empty repository. Its path below the host is NAME.git.
func (m *Memory) NewRepo(name string) *MemoryRepo {
	r := &MemoryRepo{store: memory.NewStorage(), packed: map[plumbing.Hash][]byte{}}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.repos[name] = r
	return r
}

// Rename moves a repository to another path: the old one is not found any more.
func (m *Memory) Rename(from, to string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.repos[to] = m.repos[from]
	delete(m.repos, from)
}

// With calls f with the repository's storage, while nobody else uses it.
func (r *MemoryRepo) With(f func(s *memory.Storage)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f(r.store)
}

// Before runs f before each request: a test's chance to race, or to give up.
func (m *Memory) Before(f func(kind, repo string)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.before = f
}

// DropPushReply lets the next push happen and loses the answer.
func (m *Memory) DropPushReply() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.drop[Push]++
}

// RoundTrip implements http.RoundTripper.
func (m *Memory) RoundTrip(req *http.Request) (*http.Response, error) {
	var body []byte
	if req.Body != nil {
		var err error
		body, err = io.ReadAll(req.Body)
		_ = req.Body.Close()
		if err != nil {
			return nil, err
		}
	}
	r := req.Clone(req.Context())
	r.Body = io.NopCloser(bytes.NewReader(body))
	w := httptest.NewRecorder()
	dropped := m.serve(w, r)
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	if dropped {
		return nil, io.ErrUnexpectedEOF
	}
	resp := w.Result()
	resp.Request = req
	return resp, nil
}

// ServeHTTP implements http.Handler.
func (m *Memory) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if m.serve(w, r) {
		drop(w)
	}
}

// serve answers a request, and says whether the answer is to be lost.
func (m *Memory) serve(w http.ResponseWriter, r *http.Request) (dropped bool) {
	kind, name := kindOf(r), strings.TrimPrefix(repoOf(r.URL.Path), "/")
	m.mu.Lock()
	repo, before := m.repos[name], m.before
	m.mu.Unlock()
	if before != nil {
		before(kind, name)
	}
	if r.Context().Err() != nil {
		return true // the client has gone, before anything happened
	}
	if repo == nil {
		http.NotFound(w, r)
		return false
	}
	m.mu.Lock()
	dropped = m.drop[kind] > 0
	if dropped {
		m.drop[kind]--
	}
	m.mu.Unlock()
	if err := repo.answer(w, r, kind, m.TipsOnly); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return false
	}
	return dropped
}

func (r *MemoryRepo) answer(w http.ResponseWriter, req *http.Request, kind string, tipsOnly bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch kind {
	case ReadRefs, WriteRefs:
		return r.advertise(w, strings.TrimPrefix(req.URL.Query().Get("service"), "git-"))
	case Fetch:
		return r.upload(w, req.Body, tipsOnly)
	case Push:
		return r.receive(w, req.Body)
	}
	return fmt.Errorf("no such service: %s", req.URL.Path)
}

const headRef = "refs/heads/main"

// advertise writes the refs and what a service can do.
func (r *MemoryRepo) advertise(w http.ResponseWriter, service string) error {
	adv := packp.NewAdvRefs()
	adv.Prefix = [][]byte{[]byte("# service=git-" + service), pktline.Flush}
	for name, ref := range r.store.ReferenceStorage {
		adv.References[name.String()] = ref.Hash()
		if tag, err := object.GetTag(r.store, ref.Hash()); err == nil {
			adv.Peeled[name.String()] = tag.Target
		}
	}
	caps := []capability.Capability{capability.OFSDelta, capability.Sideband64k}
	if service == "upload-pack" {
		caps = append(caps, capability.Shallow, capability.NoProgress)
		_ = adv.Capabilities.Set(capability.SymRef, "HEAD:"+headRef)
		if ref, ok := r.store.ReferenceStorage[headRef]; ok {
			h := ref.Hash()
			adv.Head = &h
		}
	} else {
		caps = append(caps, capability.ReportStatus, capability.DeleteRefs, capability.Quiet, capability.Atomic)
	}
	for _, c := range caps {
		_ = adv.Capabilities.Set(c)
	}
	w.Header().Set("Content-Type", "application/x-git-"+service+"-advertisement")
	return adv.Encode(w)
}

// upload sends the wanted commits and all that they lead to, as far back as the
// client asks.
func (r *MemoryRepo) upload(w http.ResponseWriter, body io.Reader, tipsOnly bool) error {
	req := packp.NewUploadPackRequest()
	if err := req.UploadRequest.Decode(body); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/x-git-upload-pack-result")
	led := r.led(tipsOnly)
	for _, h := range req.Wants {
		if !led[h] {
			return pktline.NewEncoder(w).Encodef("ERR upload-pack: not our ref %s", h)
		}
	}
	depth, _ := req.Depth.(packp.DepthCommits)
	objects, shallow, err := r.reachable(req.Wants, int(depth))
	if err != nil {
		return err
	}
	if depth > 0 {
		if err := (&packp.ShallowUpdate{Shallows: shallow}).Encode(w); err != nil {
			return err
		}
	}
	if err := pktline.NewEncoder(w).EncodeString("NAK\n"); err != nil {
		return err
	}
	pack, err := r.pack(objects)
	if err != nil {
		return err
	}
	if !req.Capabilities.Supports(capability.Sideband64k) {
		_, err = w.Write(pack)
		return err
	}
	if _, err := sideband.NewMuxer(sideband.Sideband64k, w).Write(pack); err != nil {
		return err
	}
	return pktline.NewEncoder(w).Flush()
}

// led are the commits, and tags, that refs lead to, or name.
func (r *MemoryRepo) led(tipsOnly bool) map[plumbing.Hash]bool {
	out := map[plumbing.Hash]bool{}
	var next []plumbing.Hash
	for _, ref := range r.store.ReferenceStorage {
		next = append(next, ref.Hash())
	}
	for len(next) > 0 {
		h := next[0]
		next = next[1:]
		o, err := r.store.EncodedObject(plumbing.AnyObject, h)
		if err != nil || out[h] {
			continue
		}
		out[h] = true
		switch l := links(o); {
		case tipsOnly:
		case o.Type() == plumbing.CommitObject:
			next = append(next, l[1:]...)
		case o.Type() == plumbing.TagObject:
			next = append(next, l...)
		}
	}
	return out
}

// reachable lists what commits lead to, depth commits deep (0 is all), and the
// commits whose parents were left out.
func (r *MemoryRepo) reachable(wants []plumbing.Hash, depth int) (objects, shallow []plumbing.Hash, err error) {
	seen := map[plumbing.Hash]bool{}
	add := func(h plumbing.Hash) bool {
		if seen[h] {
			return false
		}
		seen[h] = true
		objects = append(objects, h)
		return true
	}
	level := wants
	for n := 1; len(level) > 0; n++ {
		var next []plumbing.Hash
		for i := 0; i < len(level); i++ {
			h := level[i]
			o, err := r.store.EncodedObject(plumbing.AnyObject, h)
			if err != nil {
				return nil, nil, fmt.Errorf("the object %s: %w", h, err)
			}
			if !add(h) {
				continue
			}
			if o.Type() == plumbing.TagObject {
				level = append(level, links(o)...) // no step of its own
				continue
			}
			l := links(o)
			r.below(l[0], add)
			switch {
			case len(l) == 1:
			case n == depth:
				shallow = append(shallow, h)
			default:
				next = append(next, l[1:]...)
			}
		}
		level = next
	}
	return objects, shallow, nil
}

// below adds a tree and all that is in it.
func (r *MemoryRepo) below(h plumbing.Hash, add func(plumbing.Hash) bool) {
	if !add(h) {
		return
	}
	o, err := r.store.EncodedObject(plumbing.AnyObject, h)
	if err != nil || o.Type() != plumbing.TreeObject {
		return
	}
	for _, l := range links(o) {
		r.below(l, add)
	}
}

// links are the objects that one names: a commit's tree and then its parents, a
// tree's entries but submodules, a tag's target.
func links(o plumbing.EncodedObject) []plumbing.Hash {
	switch o.Type() {
	case plumbing.CommitObject:
		var c object.Commit
		if c.Decode(o) == nil {
			return append([]plumbing.Hash{c.TreeHash}, c.ParentHashes...)
		}
	case plumbing.TreeObject:
		var t object.Tree
		var out []plumbing.Hash
		if t.Decode(o) == nil {
			for _, e := range t.Entries {
				if e.Mode != filemode.Submodule {
					out = append(out, e.Hash)
				}
			}
		}
		return out
	case plumbing.TagObject:
		var t object.Tag
		if t.Decode(o) == nil {
			return []plumbing.Hash{t.Target}
		}
	}
	return nil
}

// pack encodes whole objects. What an object looks like in a pack is kept.
func (r *MemoryRepo) pack(objects []plumbing.Hash) ([]byte, error) {
	var out bytes.Buffer
	out.WriteString("PACK")
	_ = binary.Write(&out, binary.BigEndian, [2]uint32{2, uint32(len(objects))})
	for _, h := range objects {
		data, ok := r.packed[h]
		if !ok {
			o, err := r.store.EncodedObject(plumbing.AnyObject, h)
			if err != nil {
				return nil, fmt.Errorf("the object %s: %w", h, err)
			}
			if data, err = packEntry(o); err != nil {
				return nil, err
			}
			r.packed[h] = data
		}
		out.Write(data)
	}
	sum := sha1.Sum(out.Bytes())
	out.Write(sum[:])
	return out.Bytes(), nil
}

func packEntry(o plumbing.EncodedObject) ([]byte, error) {
	var out bytes.Buffer
	size := o.Size()
	b := byte(o.Type())<<4 | byte(size&15)
	for size >>= 4; size > 0; size >>= 7 {
		out.WriteByte(b | 0x80)
		b = byte(size & 0x7f)
	}
	out.WriteByte(b)
	in, err := o.Reader()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	z, _ := zlib.NewWriterLevel(&out, zlib.BestSpeed)
	if _, err := io.Copy(z, in); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// quarantine holds a push's objects apart until all that they lead to is known
// to be there. They stay then, as in git, even where no ref moves.
type quarantine struct {
	*memory.Storage
	base *memory.Storage
}

// EncodedObject implements storer.EncodedObjectStorer.
func (q *quarantine) EncodedObject(t plumbing.ObjectType, h plumbing.Hash) (plumbing.EncodedObject, error) {
	if o, err := q.Storage.EncodedObject(t, h); err == nil {
		return o, nil
	}
	return q.base.EncodedObject(t, h)
}

// HasEncodedObject implements storer.EncodedObjectStorer.
func (q *quarantine) HasEncodedObject(h plumbing.Hash) error {
	_, err := q.EncodedObject(plumbing.AnyObject, h)
	return err
}

// receive judges a push and moves its refs.
func (r *MemoryRepo) receive(w http.ResponseWriter, body io.Reader) error {
	req := packp.NewReferenceUpdateRequest()
	if err := req.Decode(io.NopCloser(body)); err != nil {
		return err
	}
	report := packp.NewReportStatus()
	report.UnpackStatus = "ok"
	q := &quarantine{memory.NewStorage(), r.store}
	if needsPack(req.Commands) {
		if err := packfile.UpdateObjectStorage(q, req.Packfile); err != nil && !errors.Is(err, packfile.ErrEmptyPackfile) {
			report.UnpackStatus = err.Error()
		}
	}
	refused := r.judge(q, req, report.UnpackStatus)
	if q.whole(req.Commands) {
		for _, o := range q.Storage.Objects {
			_, _ = r.store.SetEncodedObject(o) // memory never fails
		}
	}
	for _, c := range req.Commands {
		status := refused[c]
		if status == "" {
			status = "ok"
			r.move(c)
		}
		report.CommandStatuses = append(report.CommandStatuses, &packp.CommandStatus{ReferenceName: c.Name, Status: status})
	}
	w.Header().Set("Content-Type", "application/x-git-receive-pack-result")
	if !req.Capabilities.Supports(capability.Sideband64k) {
		return report.Encode(w)
	}
	var text bytes.Buffer
	if err := report.Encode(&text); err != nil {
		return err
	}
	if _, err := sideband.NewMuxer(sideband.Sideband64k, w).Write(text.Bytes()); err != nil {
		return err
	}
	return pktline.NewEncoder(w).Flush()
}

func needsPack(commands []*packp.Command) bool {
	for _, c := range commands {
		if !c.New.IsZero() {
			return true
		}
	}
	return false
}

// judge says which commands cannot be done, and why. Later ones are judged
// beside what the earlier ones leave.
func (r *MemoryRepo) judge(q *quarantine, req *packp.ReferenceUpdateRequest, unpacked string) map[*packp.Command]string {
	after := map[plumbing.ReferenceName]bool{}
	for name := range r.store.ReferenceStorage {
		after[name] = true
	}
	for _, c := range req.Commands {
		if c.New.IsZero() {
			delete(after, c.Name)
		}
	}
	refused := map[*packp.Command]string{}
	for _, c := range req.Commands {
		why := ""
		switch {
		case unpacked != "ok":
			why = "unpacker error"
		case c.Name == headRef && c.New.IsZero():
			why = "deletion of the current branch prohibited"
		case c.Name.Validate() != nil || !strings.HasPrefix(c.Name.String(), "refs/"):
			why = "funny refname"
		case r.at(c.Name) != c.Old:
			why = "failed to update ref"
		case !c.New.IsZero() && !q.complete(c.New):
			why = "missing necessary objects"
		case !c.New.IsZero() && (clashes(c.Name, after) || c.Name.IsBranch() && !q.isCommit(c.New)):
			why = "failed to update ref"
		}
		if why != "" {
			refused[c] = why
			continue
		}
		after[c.Name] = !c.New.IsZero()
	}
	if len(refused) > 0 && req.Capabilities.Supports(capability.Atomic) {
		for _, c := range req.Commands {
			if refused[c] == "" {
				refused[c] = "atomic transaction failed"
			}
		}
	}
	return refused
}

func (r *MemoryRepo) at(name plumbing.ReferenceName) plumbing.Hash {
	if ref, ok := r.store.ReferenceStorage[name]; ok {
		return ref.Hash()
	}
	return plumbing.ZeroHash
}

// clashes reports a name that is a folder of another, or the other way round.
func clashes(name plumbing.ReferenceName, after map[plumbing.ReferenceName]bool) bool {
	for other, there := range after {
		if there && (strings.HasPrefix(other.String(), name.String()+"/") || strings.HasPrefix(name.String(), other.String()+"/")) {
			return true
		}
	}
	return false
}

// complete says whether all that h leads to is here. What the repository has
// was checked when it came.
func (q *quarantine) complete(h plumbing.Hash) bool {
	if q.base.HasEncodedObject(h) == nil {
		return true
	}
	o, ok := q.Storage.Objects[h]
	if !ok {
		return false
	}
	for _, l := range links(o) {
		if !q.complete(l) {
			return false
		}
	}
	return true
}

// whole says whether all that the commands' commits lead to is here.
func (q *quarantine) whole(commands []*packp.Command) bool {
	for _, c := range commands {
		if !c.New.IsZero() && !q.complete(c.New) {
			return false
		}
	}
	return true
}

func (q *quarantine) isCommit(h plumbing.Hash) bool {
	_, err := q.EncodedObject(plumbing.CommitObject, h)
	return err == nil
}

// move moves a ref.
func (r *MemoryRepo) move(c *packp.Command) {
	if c.New.IsZero() {
		_ = r.store.RemoveReference(c.Name)
		return
	}
	_ = r.store.SetReference(plumbing.NewHashReference(c.Name, c.New))
}
