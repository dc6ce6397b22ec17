package gitrepo

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"

	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/lifecycle"
	"github.com/variform/variform/test/gittest"
)

func modelOf(text string) *modelText { return newModelText(plumbing.BlobObject, []byte(text)) }

// A delta makes of one text the other, whatever they are.
func TestLineDelta(t *testing.T) {
	random := rand.New(rand.NewSource(3))
	lines := []string{"", "a: b", "name: x", "  image: registry.example.com/app:v1.0.0", "  image: registry.example.com/app:v1.0.1", strings.Repeat("long ", 60), strings.Repeat("long ", 40) + "short", "a,b,", `{"name":"x","long":"the same","name":"y"}`, "- item of a list", "- item"}
	text := func() string {
		out := make([]string, random.Intn(12))
		for i := range out {
			out[i] = lines[random.Intn(len(lines))]
			if random.Intn(4) == 0 && len(out[i]) > 0 {
				at := random.Intn(len(out[i]))
				out[i] = out[i][:at] + "?" + out[i][at:]
			}
		}
		return strings.Join(out, "\n") + []string{"", "\n"}[random.Intn(2)]
	}
	for range 20000 {
		was, now := text(), text()
		if was == "" || now == "" { // those are whole
			continue
		}
		delta := modelOf(was).lineDelta([]byte(now))
		if got, err := packfile.PatchDelta([]byte(was), delta); err != nil || string(got) != now {
			t.Fatalf("%v: of\n%q\nit makes\n%q, want\n%q", err, was, got, now)
		}
	}
}

// What differs in little is written as little.
func TestLineDeltaIsShort(t *testing.T) {
	was := kptfile("cluster-00001") + strings.Repeat("# this line is the same\n", 20) + "message: injected resource region-1 from the fleet\nlast: line\n"
	for name, tc := range map[string]struct {
		now  string
		most int
	}{
		"nothing":          {was, 10},
		"a character":      {strings.Replace(was, "00001", "00002", 1), 20},
		"two lines":        {strings.NewReplacer("00001", "00002", "region-1", "region-2").Replace(was), 30},
		"a line more":      {strings.Replace(was, "last:", "another: one\nlast:", 1), 35},
		"a line less":      {strings.Replace(was, "kind: Kptfile\n", "", 1), 20},
		"lines elsewhere":  {"last: line\n" + was, 30},
		"a longer ending":  {was + "more\n", 20},
		"no final newline": {strings.TrimSuffix(was, "\n"), 30},
	} {
		delta := modelOf(was).lineDelta([]byte(tc.now))
		if got, err := packfile.PatchDelta([]byte(was), delta); err != nil || string(got) != tc.now {
			t.Errorf("%s: %v: it makes\n%s", name, err, got)
		}
		if len(delta) > tc.most {
			t.Errorf("%s: %d bytes, want at most %d: %q", name, len(delta), tc.most, delta)
		}
	}
}

// A commit's task is one long line that names its package twice.
func TestLineDeltaOfATask(t *testing.T) {
	was := `kpt:{"package":"cluster-00001","task":{"type":"upgrade","upgrade":{"oldUpstreamRef":{"name":"catalog.app.v1"},"localPackageRevisionRef":{"name":"fleet.cluster-00001.v1"}}}}` + "\n"
	now := strings.ReplaceAll(was, "00001", "00002")
	delta := modelOf(was).lineDelta([]byte(now))
	if got, err := packfile.PatchDelta([]byte(was), delta); err != nil || string(got) != now {
		t.Errorf("%v: it makes\n%s", err, got)
	}
	if len(delta) > 20 {
		t.Errorf("%d bytes, want at most 20: %q", len(delta), delta)
	}
}

// Models are few and small.
func TestModels(t *testing.T) {
	var m models
	k := modelKey{plumbing.BlobObject, "f"}
	for i := range modelsOfPath + 2 {
		m.put(k, &newObject{hash: Hash{byte(i + 1)}}, 7)
	}
	if got := m.near(k); len(got) != modelsOfPath || got[0].hash != (Hash{3}) || m.size != modelsOfPath*7 {
		t.Errorf("%d models, %d bytes", len(got), m.size)
	}
	m.put(k, &newObject{hash: Hash{99}}, modelBytes+1)
	if got := m.near(k); got[len(got)-1].hash == (Hash{99}) {
		t.Error("a large object is a model")
	}
	for i := range 2 * modelsBytes / modelBytes {
		m.put(modelKey{plumbing.BlobObject, fmt.Sprint(i)}, &newObject{hash: Hash{byte(i)}}, modelBytes)
		if m.size > modelsBytes {
			t.Fatalf("%d bytes of models", m.size)
		}
	}
	o := &newObject{hash: Hash{1}, data: bytes.Repeat([]byte("text\n"), 100)}
	read := func(text string, err error) func(*newObject) ([]byte, error) {
		return func(*newObject) ([]byte, error) { return []byte(text), err }
	}
	same := read(string(o.data), nil)
	for name, tc := range map[string]struct {
		model *newObject
		read  func(*newObject) ([]byte, error)
		delta bool
	}{
		"one like it":               {&newObject{hash: Hash{2}, typ: plumbing.BlobObject}, same, true},
		"itself":                    {&newObject{hash: o.hash, typ: plumbing.BlobObject}, same, false},
		"what is not like it":       {&newObject{hash: Hash{2}, typ: plumbing.BlobObject}, read("other\n", nil), false},
		"what could not be read":    {&newObject{hash: Hash{2}, typ: plumbing.BlobObject}, func(*newObject) ([]byte, error) { return nil, errors.New("gone") }, false},
		"a tree that is not a tree": {&newObject{hash: Hash{2}, typ: plumbing.TreeObject}, same, true},
	} {
		o.base, o.delta = Hash{}, nil
		var texts modelTexts
		if o.differ([]*model{{newObject: tc.model}}, func(m *model) *modelText { return texts.get(m, tc.read) }); o.base.IsZero() == tc.delta || (o.delta == nil) == tc.delta {
			t.Errorf("%s: a delta of %s", name, o.base)
		}
	}
}

// Texts of models are read once while they are used, and few are held.
func TestModelTexts(t *testing.T) {
	var c modelTexts
	reads := 0
	read := func(*newObject) ([]byte, error) {
		reads++
		return bytes.Repeat([]byte("a line of some length\n"), 1000), nil
	}
	const n = 1000
	list := make([]*model, n)
	for i := range list {
		list[i] = &model{newObject: &newObject{hash: Hash{byte(i)}, typ: plumbing.BlobObject}}
		for range 2 {
			if got := c.get(list[i], read); len(got.text) != 22000 || len(got.lines) != 1 {
				t.Fatalf("%d bytes, %d lines", len(got.text), len(got.lines))
			}
		}
		held := 0
		for _, m := range c.of {
			held += len(m.text)
		}
		if held > modelTextBytes {
			t.Fatalf("%d bytes are held", held)
		}
	}
	if reads != n {
		t.Errorf("%d reads of %d models", reads, n)
	}
	if c.get(list[n-1], read); reads != n {
		t.Error("the last one is read again")
	}
}

// variant is one package of many that differ in a name.
func variant(i int) []krm.File {
	name := fmt.Sprintf("cluster-%05d", i)
	fs := files(name, 20)
	fs[0].Data = append(fs[0].Data, strings.Repeat("# the same in each\n", 30)...)
	return append(fs, krm.File{Path: "sub/name.yaml", Data: fmt.Appendf(nil, "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\ndata:\n  name: %s\n  text: the same in every package, whoever made it\n", name)})
}

// Variants of one package are sent as what differs, in whatever pushes they go, and
// whether the ones that they differ from go along or not.
func TestVariantsAreDeltas(t *testing.T) {
	const variants = 30
	for name, tc := range map[string]struct {
		batches, refs int
		most          int64 // bytes sent in all
	}{
		"in one push":       {1, 0, 18000},
		"by threes":         {1, 3, 18000},
		"in three batches":  {3, 0, 32000}, // which share a stage, as when a race was lost
		"in two batches":    {2, 0, 29000},
		"without the first": {-1, 0, 36000},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			s.repo.Commit(t, "main", "start", gittest.Text{"README.md": "# fleet\n"})
			var log []string
			r := openWith(t, s.urls["http"], Options{CacheDir: t.TempDir(), Log: func(f string, args ...any) { log = append(log, fmt.Sprintf(f, args...)) }})
			main := head(t, r, "main")
			stage := r.NewStage()
			trees := make([]Hash, variants)
			for i := range trees {
				var err error
				if trees[i], err = stage.PackageTree(variant(i)); err != nil {
					t.Fatal(err)
				}
			}
			parts := tc.batches
			first := 0
			if parts < 0 { // the models are never sent
				parts, first = 1, 1
			}
			var sent int64
			for part := parts - 1; part >= 0; part-- { // what they differ from comes last
				b := stage.NewBatch()
				for i := first; i < variants; i++ {
					if i*parts/variants == part {
						draftOf(t, b, i, main, trees[i])
					}
				}
				rep, err := b.Push(t.Context(), PushOptions{MaxRefsPerPush: tc.refs})
				if err != nil {
					t.Fatal(err)
				}
				sent += rep.Bytes
			}
			if len(log) > 0 {
				t.Errorf("the server could not do with it: %q", log)
			}
			if sent > tc.most {
				t.Errorf("%d bytes sent, want at most %d", sent, tc.most)
			}
			s.repo.Fsck(t)
			for i := first; i < variants; i++ {
				ref := lifecycle.DraftRef(fmt.Sprintf("p%d", i), "v1")
				if got, want := s.repo.Git(t, "show", ref+fmt.Sprintf(":p%d/Kptfile", i)), strings.TrimSpace(string(variant(i)[0].Data)); got != want {
					t.Fatalf("%s has\n%s", ref, got)
				}
				h, _ := r.Refs().Get(ref)
				if c := r.commits.get(h.Commit); c == nil || !strings.Contains(c.Message, fmt.Sprintf("package %d\n", i)) {
					t.Fatalf("the cache has another commit of %s: %+v", ref, c)
				}
			}
		})
	}
}

func draftOf(t *testing.T, b *Batch, i int, main *Commit, tree Hash) {
	t.Helper()
	path := fmt.Sprintf("p%d", i)
	c, err := b.Commit(t.Context(), CommitSpec{
		Root: main.Tree, Parents: []Hash{main.Hash}, Path: path, PackageTree: tree, Author: machine,
		Message: fmt.Sprintf("package %d\n\n%s", i, strings.Repeat("what is the same in each\n", 20)),
	})
	if err == nil {
		err = b.Create(lifecycle.DraftRef(path, "v1"), c.Hash)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// What deltas stand on is kept within one bound for all repositories, the last of it, and
// can be let go for one.
func TestBaseCache(t *testing.T) {
	a, b := &packFile{dir: &objectDir{}}, &packFile{dir: &objectDir{}}
	c := &baseCache{}
	has := func(p *packFile, off int64) bool {
		typ, data, ok := c.get(p, off)
		if ok && (typ != plumbing.TreeObject || len(data) == 0 || int64(data[0]) != off) {
			t.Errorf("at %d: a %s of %d bytes", off, typ, len(data))
		}
		return ok
	}
	put := func(p *packFile, off int64, size int) {
		c.put(p, off, plumbing.TreeObject, append([]byte{byte(off)}, make([]byte, size-1)...))
	}
	put(a, 1, baseCacheBytes/2+1)
	if has(a, 1) {
		t.Error("what takes most of it is kept")
	}
	const piece = baseCacheBytes / 4
	for i := range int64(40) {
		put(a, 100, piece) // asked for all the time
		put([]*packFile{a, b}[i%2], 1+i, piece)
		held := c.bytes
		for _, it := range c.older {
			held += len(it.data)
		}
		if !has(a, 100) || !has([]*packFile{a, b}[i%2], 1+i) || held > 2*baseCacheBytes {
			t.Fatalf("after %d pieces: %d bytes, %d and %d pieces", i, held, len(c.items), len(c.older))
		}
	}
	if has(a, 1) || has(b, 2) {
		t.Error("the oldest are kept")
	}
	c.drop(a.dir)
	if has(a, 100) || has(a, 39) || !has(b, 40) {
		t.Error("not those of one repository were let go")
	}
	if c.bytes != len(c.items)*piece {
		t.Errorf("%d bytes in %d pieces", c.bytes, len(c.items))
	}
}
