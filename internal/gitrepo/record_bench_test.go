package gitrepo

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/lifecycle"
	"github.com/variform/variform/internal/record"
	"github.com/variform/variform/test/gittest"
)

// BenchmarkRecord says what the record adds to pushes of 10,000 packages of 20
// files over HTTP, of which one in a hundred is edited: the same pushes go to
// another repository without it. KiB are of the pack and of what the server keeps.
func BenchmarkRecord(b *testing.B) {
	const packages = 10_000
	for range b.N {
		sides := map[bool]*keeper{true: newKeeper(b, "uploadpack.allowFilter=true"), false: newKeeper(b, "uploadpack.allowFilter=true")}
		heads := map[bool]map[string]*Commit{true: {}, false: {}}
		for _, phase := range []struct {
			name     string
			packages int
		}{{"first", packages}, {"one", 1}, {"all", packages}} {
			took, sent, kept := map[bool]time.Duration{}, map[bool]int64{}, map[bool]int64{}
			for with, k := range sides {
				k.open(k.opts.CacheDir) // a new run, with the cache of the last
				batch := k.repo.NewBatch()
				for i := range phase.packages {
					k.change(batch, heads[with], fmt.Sprintf("app-%d", i), i%100 == 99, phase.name)
				}
				o := PushOptions{}
				if with {
					o.Record = &k.of
				}
				was, start := size(b, k.git), time.Now()
				rep, err := batch.Push(b.Context(), o)
				if err != nil {
					b.Fatal(err)
				}
				took[with], sent[with], kept[with] = time.Since(start), rep.Bytes, size(b, k.git)-was
			}
			b.ReportMetric(took[true].Seconds()/took[false].Seconds(), phase.name+":×without")
			b.ReportMetric(float64(took[true].Milliseconds()-took[false].Milliseconds()), phase.name+":+ms")
			b.ReportMetric(float64(sent[true]-sent[false])/1024, phase.name+":+KiB-sent")
			b.ReportMetric(float64(sent[false])/1024, phase.name+":KiB-sent-without")
			b.ReportMetric(float64(kept[true]-kept[false])/1024, phase.name+":+KiB-server")
		}
		sides[true].reading(b)
		sides[true].quiet()
	}
}

// change makes or updates a Draft, and says to the record what the machine made.
func (k *keeper) change(batch *Batch, heads map[string]*Commit, path string, edited bool, text string) {
	k.t.Helper()
	list := append(files(path, 20), krm.File{Path: "own.yaml", Data: []byte("text: " + path + " " + text + "\n")})
	tree, err := batch.PackageTree(list)
	if err != nil {
		k.t.Fatal(err)
	}
	was, ref := heads[path], lifecycle.DraftRef(path, "packagevariant-1")
	start, update := head(k.t, k.repo, "main"), RefUpdate{Name: ref}
	spec := CommitSpec{Root: start.Tree, Path: path, PackageTree: tree, Parents: []Hash{start.Hash}, Author: machine, Message: text + "\n"}
	if was != nil {
		spec.Parents, update.Old = []Hash{was.Hash}, was.Hash
	}
	c, err := batch.Commit(k.t.Context(), spec)
	if err != nil {
		k.t.Fatal(err)
	}
	hydrated := tree
	if edited {
		if hydrated, err = batch.PackageTree(append(list, krm.File{Path: "removed.yaml", Data: []byte(path)})); err != nil {
			k.t.Fatal(err)
		}
	}
	heads[path], update.New = c, c.Hash
	e := record.Entry{
		Path: path, Place: record.Open, Workspace: "packagevariant-1", Commit: c.Hash.String(), Tree: tree.String(), Hydrated: hydrated.String(),
		Inputs: "sha256:" + strings.Repeat("0", 64), Owner: "fleet/default/" + path, Set: "apps",
	}
	if err := batch.Recorded([]record.Edit{record.Put{Entry: e}}, update); err != nil {
		k.t.Fatal(err)
	}
}

// reading says what it takes to read the record, for who asks for it, and that a
// run that does not ask reads nothing.
func (k *keeper) reading(b *testing.B) {
	for _, cache := range []struct{ name, dir string }{{"cold", b.TempDir()}, {"warm", k.opts.CacheDir}} {
		start := time.Now()
		k.open(cache.dir)
		opened := time.Since(start)
		k.srv.ResetCounts()
		start = time.Now()
		if _, err := k.repo.Record(b.Context(), k.of); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(opened.Milliseconds()), cache.name+":refs-ms")
		b.ReportMetric(float64(time.Since(start).Milliseconds()), cache.name+":record-ms")
		b.ReportMetric(float64(k.srv.Count(gittest.Fetch)), cache.name+":requests")
		b.ReportMetric(float64(k.srv.Passed()[gittest.Stream{Kind: gittest.Fetch, Answer: true}])/1024, cache.name+":KiB-read")
	}
}

// size is what a repository's objects take on the disk.
func size(b testing.TB, r *gittest.Repo) (n int64) {
	b.Helper()
	err := filepath.WalkDir(filepath.Join(r.Dir, "objects"), func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		n += info.Size()
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	return n
}
