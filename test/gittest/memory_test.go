package gittest

import (
	"bytes"
	"compress/zlib"
	"context"
	"crypto/sha1"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"
	"github.com/go-git/go-git/v5/plumbing/transport"
	"github.com/go-git/go-git/v5/plumbing/transport/file"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"
	"github.com/go-git/go-git/v5/storage/memory"
	"github.com/google/go-cmp/cmp"
)

// wire is a client of one empty repository, byte by byte as requests are.
type wire struct {
	t      *testing.T
	url    string
	client transport.Transport
	local  *memory.Storage // what the client has
	drop   func()
}

// TestServers holds the server in memory to what git http-backend does.
func TestServers(t *testing.T) {
	RequireGit(t)
	cases := map[string]func(w *wire){
		"CreateUpdateDelete":    createUpdateDelete,
		"StaleUpdate":           staleUpdate,
		"CreateWhatIsThere":     createWhatIsThere,
		"StaleDelete":           staleDelete,
		"AtomicMovesNone":       atomicMovesNone,
		"NotAtomicMovesSome":    notAtomicMovesSome,
		"MissingObjects":        missingObjects,
		"RefusedObjectsStay":    refusedObjectsStay,
		"FolderOfAnother":       folderOfAnother,
		"DeleteAndBelow":        deleteAndBelow,
		"CurrentBranchStays":    currentBranchStays,
		"BranchesHoldCommits":   branchesHoldCommits,
		"NamesAreChecked":       namesAreChecked,
		"FetchWhatRefsLeadTo":   fetchWhatRefsLeadTo,
		"FetchShallow":          fetchShallow,
		"LostAnswer":            lostAnswer,
		"Advertisement":         advertisement,
		"NoRepository":          noRepository,
		"ThinPack":              thinPack,
		"TheSameAgainIsNothing": theSameAgain,
	}
	for name, run := range cases {
		t.Run(name+"/git", func(t *testing.T) {
			s := NewServer(t)
			s.NewRepo(t, "r")
			run(&wire{t, s.RepoURL("r"), githttp.NewClient(&http.Client{}), memory.NewStorage(), s.DropPushReply})
		})
		t.Run(name+"/memory", func(t *testing.T) {
			m := NewMemory()
			m.NewRepo("r")
			run(&wire{t, "http://git.test/r.git", githttp.NewClient(&http.Client{Transport: m}), memory.NewStorage(), m.DropPushReply})
		})
	}
}

// TestTipsOnly holds the server in memory to what git upload-pack does in a
// conversation.
func TestTipsOnly(t *testing.T) {
	RequireGit(t)
	run := func(w *wire) {
		a := w.commit("a")
		b := w.commit("b", a)
		w.push(true, w.cmd(mainBranch, none, b))
		if _, _, err := w.fetch(0, a); err == nil {
			w.t.Error("a commit below a branch is given out")
		}
		if got, _, err := w.fetch(0, b); err != nil || got.Commits[a] == nil {
			w.t.Errorf("fetching a branch: %v", err)
		}
	}
	t.Run("git", func(t *testing.T) {
		run(&wire{t: t, url: NewRepo(t).URL(), client: file.DefaultClient, local: memory.NewStorage()})
	})
	t.Run("memory", func(t *testing.T) {
		m := NewMemory()
		m.TipsOnly = true
		m.NewRepo("r")
		run(&wire{t: t, url: "http://git.test/r.git", client: githttp.NewClient(&http.Client{Transport: m}), local: memory.NewStorage()})
	})
}

const (
	mainBranch = "refs/heads/main"
	sideBranch = "refs/heads/side"
)

var none plumbing.Hash

func createUpdateDelete(w *wire) {
	a := w.commit("a")
	b := w.commit("b", a)
	w.want(w.push(true, w.cmd(mainBranch, none, a), w.cmd(sideBranch, none, a)), mainBranch, "ok", sideBranch, "ok")
	w.want(w.push(true, w.cmd(sideBranch, a, b)), sideBranch, "ok")
	w.wantRefs(mainBranch, a, sideBranch, b)
	w.want(w.push(true, w.cmd(sideBranch, b, none)), sideBranch, "ok")
	w.wantRefs(mainBranch, a)
}

func staleUpdate(w *wire) {
	a := w.commit("a")
	b := w.commit("b", a)
	w.push(true, w.cmd(mainBranch, none, a))
	w.want(w.push(true, w.cmd(mainBranch, b, w.commit("c", a))), mainBranch, "ng")
	w.wantRefs(mainBranch, a)
}

func createWhatIsThere(w *wire) {
	a := w.commit("a")
	w.push(true, w.cmd(mainBranch, none, a))
	w.want(w.push(true, w.cmd(mainBranch, none, w.commit("b"))), mainBranch, "ng")
	w.wantRefs(mainBranch, a)
}

func staleDelete(w *wire) {
	a := w.commit("a")
	b := w.commit("b", a)
	w.push(true, w.cmd(mainBranch, none, b), w.cmd(sideBranch, none, b))
	w.want(w.push(true, w.cmd(sideBranch, a, none)), sideBranch, "ng")
	w.wantRefs(mainBranch, b, sideBranch, b)
}

func atomicMovesNone(w *wire) {
	a := w.commit("a")
	b := w.commit("b", a)
	w.push(true, w.cmd(mainBranch, none, a))
	w.want(w.push(true, w.cmd(sideBranch, none, b), w.cmd(mainBranch, b, b)), mainBranch, "ng", sideBranch, "ng")
	w.wantRefs(mainBranch, a)
}

func notAtomicMovesSome(w *wire) {
	a := w.commit("a")
	b := w.commit("b", a)
	w.push(true, w.cmd(mainBranch, none, a))
	w.want(w.push(false, w.cmd(sideBranch, none, b), w.cmd(mainBranch, none, b)), mainBranch, "ng", sideBranch, "ok")
	w.wantRefs(mainBranch, a, sideBranch, b)
}

func missingObjects(w *wire) {
	a := w.commit("a")
	b := w.commit("b", a)
	w.want(w.pushObjects(true, []plumbing.Hash{b}, w.cmd(mainBranch, none, b)), mainBranch, "ng")
	w.want(w.pushObjects(true, w.reach(a), w.cmd(mainBranch, none, a)), mainBranch, "ok")
	w.wantRefs(mainBranch, a)
}

func refusedObjectsStay(w *wire) {
	a := w.commit("a")
	b := w.commit("b")
	w.push(true, w.cmd(mainBranch, none, a))
	w.want(w.push(true, w.cmd(mainBranch, none, b)), mainBranch, "ng")
	w.want(w.pushObjects(true, []plumbing.Hash{a}, w.cmd(sideBranch, none, b)), sideBranch, "ok")
	w.wantRefs(mainBranch, a, sideBranch, b)
}

func folderOfAnother(w *wire) {
	a := w.commit("a")
	w.push(true, w.cmd(sideBranch, none, a))
	w.want(w.push(true, w.cmd(sideBranch+"/x", none, a)), sideBranch+"/x", "ng")
	w.wantRefs(sideBranch, a)
}

func deleteAndBelow(w *wire) {
	a := w.commit("a")
	w.push(true, w.cmd(mainBranch, none, a), w.cmd(sideBranch+"/x", none, a))
	w.want(w.push(true, w.cmd(sideBranch+"/x", a, none)), sideBranch+"/x", "ok")
	w.want(w.push(true, w.cmd(sideBranch, none, a)), sideBranch, "ok")
	w.wantRefs(mainBranch, a, sideBranch, a)
}

func currentBranchStays(w *wire) {
	a := w.commit("a")
	w.push(true, w.cmd(mainBranch, none, a))
	w.want(w.push(true, w.cmd(mainBranch, a, none)), mainBranch, "ng")
	w.wantRefs(mainBranch, a)
}

func branchesHoldCommits(w *wire) {
	a := w.commit("a")
	tree := w.tree(a)
	w.push(true, w.cmd(mainBranch, none, a))
	w.want(w.push(true, w.cmd(sideBranch, none, tree)), sideBranch, "ng")
	w.want(w.push(true, w.cmd("refs/tags/t", none, tree)), "refs/tags/t", "ok")
}

func namesAreChecked(w *wire) {
	a := w.commit("a")
	for _, name := range []string{"refs/heads/a..b", "refs/heads/a.lock", "nothing"} {
		w.want(w.push(true, w.cmd(name, none, a)), name, "ng")
	}
	w.wantRefs()
}

func fetchWhatRefsLeadTo(w *wire) {
	a := w.commit("a")
	b := w.commit("b", a)
	stray := w.commit("stray")
	w.push(true, w.cmd(mainBranch, none, b), w.cmd(sideBranch, none, stray))
	w.push(true, w.cmd(sideBranch, stray, none))
	got, _, err := w.fetch(0, a)
	if err != nil || got.Commits[a] == nil || got.Commits[b] != nil || got.Trees[w.tree(a)] == nil {
		w.t.Errorf("fetching a commit that a branch leads to: %v, %d objects", err, len(got.Objects))
	}
	if _, _, err := w.fetch(0, stray); err == nil {
		w.t.Error("a commit that no ref leads to is given out")
	}
}

func fetchShallow(w *wire) {
	a := w.commit("a")
	b := w.commit("b", a)
	c := w.commit("c", b)
	w.push(true, w.cmd(mainBranch, none, c))
	for depth, want := range map[int][]plumbing.Hash{1: {c}, 2: {b, c}, 9: {a, b, c}} {
		got, shallow, err := w.fetch(depth, c)
		if err != nil {
			w.t.Fatal(err)
		}
		if len(got.Commits) != len(want) {
			w.t.Errorf("depth %d brings %d commits, want %d", depth, len(got.Commits), len(want))
		}
		for _, h := range want {
			if got.Commits[h] == nil || got.Trees[w.tree(h)] == nil {
				w.t.Errorf("depth %d lacks %s or its tree", depth, h)
			}
		}
		if cut := depth < 3; cut != (len(shallow) == 1) || cut && shallow[0] != want[0] {
			w.t.Errorf("depth %d is cut at %v", depth, shallow)
		}
	}
}

func lostAnswer(w *wire) {
	a := w.commit("a")
	w.drop()
	if _, err := w.receive(true, w.pack(w.reach(a)), w.cmd(mainBranch, none, a)); err == nil {
		w.t.Error("the answer came")
	}
	w.wantRefs(mainBranch, a)
}

// advertisement: what the server in memory offers, git's own offers as well.
func advertisement(w *wire) {
	a := w.commit("a")
	w.push(true, w.cmd(mainBranch, none, a))
	for _, c := range []capability.Capability{capability.OFSDelta, capability.Sideband64k, capability.Shallow, capability.NoProgress} {
		if !w.adv(false).Capabilities.Supports(c) {
			w.t.Errorf("upload-pack does not offer %s", c)
		}
	}
	for _, c := range []capability.Capability{capability.OFSDelta, capability.Sideband64k, capability.ReportStatus, capability.DeleteRefs, capability.Quiet, capability.Atomic} {
		if !w.adv(true).Capabilities.Supports(c) {
			w.t.Errorf("receive-pack does not offer %s", c)
		}
	}
	if w.adv(false).Capabilities.Supports(capability.Filter) {
		w.t.Error("filters are offered")
	}
	if d := cmp.Diff([]string{"HEAD:" + mainBranch}, w.adv(false).Capabilities.Get(capability.SymRef)); d != "" {
		w.t.Error(d)
	}
}

func noRepository(w *wire) {
	w.url = strings.Replace(w.url, "/r.git", "/none.git", 1)
	_, err := w.session(false).AdvertisedReferences()
	if !errors.Is(err, transport.ErrRepositoryNotFound) {
		w.t.Errorf("a repository that is not there: %v", err)
	}
}

// thinPack: a pack may stand on what the server has.
func thinPack(w *wire) {
	a := w.commitOf("a", strings.Repeat("line\n", 200)+"1\n")
	b := w.commitOf("b", strings.Repeat("line\n", 200)+"2\n", a)
	w.push(true, w.cmd(mainBranch, none, a))
	w.want(w.pushPack(w.deltaPack(a, b), true, w.cmd(mainBranch, a, b)), mainBranch, "ok")
	got, _, err := w.fetch(1, b)
	if err != nil || len(got.Blobs) != 1 {
		w.t.Errorf("after a push of deltas: %v, %d blobs", err, len(got.Blobs))
	}
}

// deltaPack holds one commit whose file is a delta of another's, that is not in it.
func (w *wire) deltaPack(base, next plumbing.Hash) []byte {
	w.t.Helper()
	content := func(commit plumbing.Hash) []byte {
		in, _ := w.local.Objects[w.blobs(commit)[0]].Reader()
		data, _ := io.ReadAll(in)
		return data
	}
	delta := packfile.DiffDelta(content(base), content(next))
	if len(delta) > 100 {
		w.t.Fatalf("the delta has %d bytes: it is none", len(delta))
	}
	var pack bytes.Buffer
	pack.WriteString("PACK\x00\x00\x00\x02\x00\x00\x00\x03")
	for _, h := range []plumbing.Hash{next, w.tree(next)} {
		data, err := packEntry(w.local.Objects[h])
		if err != nil {
			w.t.Fatal(err)
		}
		pack.Write(data)
	}
	pack.Write([]byte{byte(plumbing.REFDeltaObject)<<4 | byte(len(delta)&15) | 0x80, byte(len(delta) >> 4)})
	from := w.blobs(base)[0]
	pack.Write(from[:])
	z := zlib.NewWriter(&pack)
	_, _ = z.Write(delta)
	_ = z.Close()
	sum := sha1.Sum(pack.Bytes())
	pack.Write(sum[:])
	return pack.Bytes()
}

func theSameAgain(w *wire) {
	a := w.commit("a")
	w.push(true, w.cmd(mainBranch, none, a))
	w.want(w.push(true, w.cmd(mainBranch, a, a)), mainBranch, "ok")
	w.wantRefs(mainBranch, a)
}

// commit makes a commit with one file.
func (w *wire) commit(text string, parents ...plumbing.Hash) plumbing.Hash {
	return w.commitOf(text, text, parents...)
}

func (w *wire) commitOf(message, text string, parents ...plumbing.Hash) plumbing.Hash {
	w.t.Helper()
	blob := w.local.NewEncodedObject()
	blob.SetType(plumbing.BlobObject)
	out, _ := blob.Writer()
	_, _ = io.WriteString(out, text)
	h := w.store(blob)
	tree := w.local.NewEncodedObject()
	if err := (&object.Tree{Entries: []object.TreeEntry{{Name: "file", Mode: filemode.Regular, Hash: h}}}).Encode(tree); err != nil {
		w.t.Fatal(err)
	}
	sig := object.Signature{Name: "Ann", Email: "ann@example.com", When: time.Unix(1700000000, 0).UTC()}
	c := w.local.NewEncodedObject()
	if err := (&object.Commit{Author: sig, Committer: sig, Message: message, TreeHash: w.store(tree), ParentHashes: parents}).Encode(c); err != nil {
		w.t.Fatal(err)
	}
	return w.store(c)
}

func (w *wire) store(o plumbing.EncodedObject) plumbing.Hash {
	w.t.Helper()
	h, err := w.local.SetEncodedObject(o)
	if err != nil {
		w.t.Fatal(err)
	}
	return h
}

func (w *wire) tree(commit plumbing.Hash) plumbing.Hash {
	return links(w.local.Objects[commit])[0]
}

func (w *wire) blobs(commit plumbing.Hash) []plumbing.Hash {
	return links(w.local.Objects[w.tree(commit)])
}

// reach are all objects that some lead to.
func (w *wire) reach(tips ...plumbing.Hash) []plumbing.Hash {
	var out []plumbing.Hash
	seen := map[plumbing.Hash]bool{}
	for len(tips) > 0 {
		h := tips[0]
		if tips = tips[1:]; !seen[h] {
			seen[h] = true
			out = append(out, h)
			tips = append(tips, links(w.local.Objects[h])...)
		}
	}
	return out
}

func (w *wire) cmd(ref string, before, after plumbing.Hash) *packp.Command {
	return &packp.Command{Name: plumbing.ReferenceName(ref), Old: before, New: after}
}

// push sends all that the commands need, and says what became of each.
func (w *wire) push(atomic bool, commands ...*packp.Command) map[string]string {
	w.t.Helper()
	var tips []plumbing.Hash
	for _, c := range commands {
		if !c.New.IsZero() {
			tips = append(tips, c.New)
		}
	}
	return w.pushObjects(atomic, w.reach(tips...), commands...)
}

func (w *wire) pushObjects(atomic bool, objects []plumbing.Hash, commands ...*packp.Command) map[string]string {
	w.t.Helper()
	return w.pushPack(w.pack(objects), atomic, commands...)
}

// pack is a pack of whole objects; none of none.
func (w *wire) pack(objects []plumbing.Hash) []byte {
	w.t.Helper()
	if len(objects) == 0 {
		return nil
	}
	var pack bytes.Buffer
	if _, err := packfile.NewEncoder(&pack, w.local, true).Encode(objects, 10); err != nil {
		w.t.Fatal(err)
	}
	return pack.Bytes()
}

func (w *wire) pushPack(pack []byte, atomic bool, commands ...*packp.Command) map[string]string {
	w.t.Helper()
	status, err := w.receive(atomic, pack, commands...)
	if status == nil {
		w.t.Fatalf("no answer: %v", err)
	}
	out := map[string]string{}
	for _, c := range status.CommandStatuses {
		out[c.ReferenceName.String()] = map[bool]string{true: "ok", false: "ng"}[c.Status == "ok"]
	}
	return out
}

func (w *wire) receive(atomic bool, pack []byte, commands ...*packp.Command) (*packp.ReportStatus, error) {
	s, err := w.client.NewReceivePackSession(w.endpoint(), nil)
	if err != nil {
		w.t.Fatal(err)
	}
	adv, err := s.AdvertisedReferences()
	if err != nil && !errors.Is(err, transport.ErrEmptyRemoteRepository) {
		w.t.Fatal(err)
	}
	req := packp.NewReferenceUpdateRequestFromCapabilities(adv.Capabilities)
	if atomic {
		_ = req.Capabilities.Set(capability.Atomic)
	}
	_ = req.Capabilities.Set(capability.Sideband64k)
	req.Commands = commands
	if len(pack) > 0 {
		req.Packfile = io.NopCloser(bytes.NewReader(pack))
	}
	return s.ReceivePack(context.Background(), req)
}

func (w *wire) endpoint() *transport.Endpoint {
	w.t.Helper()
	ep, err := transport.NewEndpoint(w.url)
	if err != nil {
		w.t.Fatal(err)
	}
	return ep
}

func (w *wire) session(write bool) transport.Session {
	w.t.Helper()
	var s transport.Session
	var err error
	if write {
		s, err = w.client.NewReceivePackSession(w.endpoint(), nil)
	} else {
		s, err = w.client.NewUploadPackSession(w.endpoint(), nil)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

func (w *wire) adv(write bool) *packp.AdvRefs {
	w.t.Helper()
	adv, err := w.session(write).AdvertisedReferences()
	if errors.Is(err, transport.ErrEmptyRemoteRepository) {
		return packp.NewAdvRefs()
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return adv
}

// fetch asks for one commit; depth 0 is all.
func (w *wire) fetch(depth int, want plumbing.Hash) (*memory.Storage, []plumbing.Hash, error) {
	s, err := w.client.NewUploadPackSession(w.endpoint(), nil)
	if err != nil {
		w.t.Fatal(err)
	}
	adv, err := s.AdvertisedReferences()
	if err != nil {
		w.t.Fatal(err)
	}
	req := packp.NewUploadPackRequestFromCapabilities(adv.Capabilities)
	req.Wants = []plumbing.Hash{want}
	if depth > 0 {
		req.Depth = packp.DepthCommits(depth)
		_ = req.Capabilities.Set(capability.Shallow)
	}
	got := memory.NewStorage()
	resp, err := s.UploadPack(context.Background(), req)
	if err != nil {
		return got, nil, err
	}
	defer resp.Close()
	return got, resp.Shallows, packfile.UpdateObjectStorage(got, sideband.NewDemuxer(sideband.Sideband64k, resp))
}

// want compares what became of commands: ref, status, ref, status…
func (w *wire) want(have map[string]string, pairs ...string) {
	w.t.Helper()
	want := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		want[pairs[i]] = pairs[i+1]
	}
	if d := cmp.Diff(want, have); d != "" {
		w.t.Errorf("status (-want +got):\n%s", d)
	}
}

// wantRefs compares what is there: ref, hash, ref, hash…
func (w *wire) wantRefs(pairs ...any) {
	w.t.Helper()
	want := map[string]plumbing.Hash{}
	for i := 0; i < len(pairs); i += 2 {
		want[pairs[i].(string)] = pairs[i+1].(plumbing.Hash)
	}
	if d := cmp.Diff(want, w.adv(false).References); d != "" {
		w.t.Errorf("refs (-want +got):\n%s", d)
	}
}
