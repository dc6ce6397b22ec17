package gitrepo

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/test/gittest"
)

// benchFiles is a 20-file package of which each variant changes three files.
func benchFiles(shared []krm.File, i int) []krm.File {
	fs := append([]krm.File(nil), shared...)
	for k, at := range []int{0, 5, 11} {
		fs[at].Data = fmt.Appendf(nil, "%s# variant %d, %d\n", shared[at].Data, i, k)
	}
	return fs
}

func benchRepo(b *testing.B) (*gittest.Repo, *gittest.Server) {
	srv := gittest.NewServer(b)
	repo := srv.NewRepo(b, "fleet")
	tree := gittest.Text{}
	for i := range 50 {
		tree[fmt.Sprintf("published-%02d/Kptfile", i)] = kptfile("p")
	}
	repo.Commit(b, "main", "base", tree)
	return repo, srv
}

// ours writes n drafts and says how long that took.
func ours(b *testing.B, url string, n int, shared []krm.File) (time.Duration, *PushReport) {
	ctx := context.Background()
	start := time.Now()
	r := open(b, url)
	base := head(b, r, "main")
	batch := r.NewBatch()
	for i := range n {
		p := fmt.Sprintf("app-%04d", i)
		draft(b, batch, p, "packagevariant-1", base, benchFiles(shared, i))
	}
	rep, err := batch.Push(ctx, PushOptions{})
	if err != nil {
		b.Fatal(err)
	}
	return time.Since(start), rep
}

// floor is git fast-import of the same objects into a clone, and one git push.
func floor(b *testing.B, repo *gittest.Repo, url string, n int, shared []krm.File) time.Duration {
	clone := filepath.Join(b.TempDir(), "clone.git")
	gittest.Run(b, "", nil, "clone", "-q", "--bare", repo.Dir, clone)
	main := repo.Git(b, "rev-parse", "main")
	var in bytes.Buffer
	for k, f := range shared {
		fmt.Fprintf(&in, "blob\nmark :%d\ndata %d\n%s\n", k+1, len(f.Data), f.Data)
	}
	for i := range n {
		msg := fmt.Sprintf("Create app-%04d", i)
		fmt.Fprintf(&in, "commit refs/heads/drafts/app-%04d/packagevariant-1\ncommitter Variform <variform@localhost> 1700000000 +0000\ndata %d\n%s\nfrom %s\n", i, len(msg), msg, main)
		fs := benchFiles(shared, i)
		for k, f := range fs {
			if bytes.Equal(f.Data, shared[k].Data) {
				fmt.Fprintf(&in, "M 100644 :%d app-%04d/%s\n", k+1, i, f.Path)
				continue
			}
			fmt.Fprintf(&in, "M 100644 inline app-%04d/%s\ndata %d\n%s\n", i, f.Path, len(f.Data), f.Data)
		}
		in.WriteString("\n")
	}
	start := time.Now()
	gittest.Run(b, clone, in.Bytes(), "fast-import", "--quiet", "--force")
	gittest.Run(b, clone, nil, "push", "-q", "--atomic", url, "refs/heads/drafts/*:refs/heads/drafts/*")
	return time.Since(start)
}

// BenchmarkWriteDrafts writes Drafts of a 20-file package, three files of which
// differ, and in the same run does the same with git fast-import and git push.
func BenchmarkWriteDrafts(b *testing.B) {
	for _, kind := range []string{"path", "http"} {
		for _, n := range []int{500, 2000} {
			b.Run(fmt.Sprintf("%s/%d", kind, n), func(b *testing.B) {
				shared := files("app", 20)
				var mine, gits time.Duration
				var rep *PushReport
				for b.Loop() {
					b.StopTimer()
					repo, srv := benchRepo(b)
					repo2, srv2 := benchRepo(b)
					url := map[string]string{"path": repo.Dir, "http": srv.RepoURL("fleet")}[kind]
					url2 := map[string]string{"path": repo2.Dir, "http": srv2.RepoURL("fleet")}[kind]
					b.StartTimer()
					d, r := ours(b, url, n, shared)
					b.StopTimer()
					mine, rep = mine+d, r
					gits += floor(b, repo2, url2, n, shared)
					b.StartTimer()
				}
				b.ReportMetric(float64(mine)/float64(gits), "×git")
				b.ReportMetric(float64(rep.Bytes), "pack-B")
				b.ReportMetric(float64(mine.Nanoseconds())/float64(b.N)/float64(n)/1e3, "µs/draft")
			})
		}
	}
}

// BenchmarkNothingToDo opens a repository of n Drafts and reads their heads, as a
// run without changes does, against git ls-remote in the same run.
func BenchmarkNothingToDo(b *testing.B) {
	for _, kind := range []string{"path", "http"} {
		for _, n := range []int{500, 2000} {
			b.Run(fmt.Sprintf("%s/%d", kind, n), func(b *testing.B) {
				repo, srv := benchRepo(b)
				ours(b, repo.Dir, n, files("app", 20))
				url := map[string]string{"path": repo.Dir, "http": srv.RepoURL("fleet")}[kind]
				o := Options{CacheDir: b.TempDir()}
				readHeads(b, url, o)
				var gits time.Duration
				for b.Loop() {
					readHeads(b, url, o)
					b.StopTimer()
					start := time.Now()
					cmd := exec.Command("git", "ls-remote", url)
					cmd.Env = append(os.Environ(), gittest.Env()...)
					if _, err := cmd.Output(); err != nil {
						b.Fatal(err)
					}
					gits += time.Since(start)
					b.StartTimer()
				}
				b.ReportMetric(float64(b.Elapsed())/float64(gits), "×ls-remote")
			})
		}
	}
}

func readHeads(b *testing.B, url string, o Options) {
	r := openWith(b, url, o)
	var tips []Hash
	x := r.Index("")
	for _, p := range x.Packages() {
		tips = append(tips, x.Package(p).Drafts[0].Ref.Commit)
	}
	if _, err := r.Commits(context.Background(), tips...); err != nil {
		b.Fatal(err)
	}
}

func BenchmarkReadPackages(b *testing.B) {
	repo, _ := benchRepo(b)
	ours(b, repo.Dir, 500, files("app", 20))
	ctx := context.Background()
	for b.Loop() {
		r := open(b, repo.Dir)
		x := r.Index("")
		for _, p := range x.Packages() {
			ref := x.Package(p).Drafts[0].Ref
			tree, _, err := r.TreeAt(ctx, ref.Commit, p)
			if err != nil {
				b.Fatal(err)
			}
			if _, err := r.ReadFiles(ctx, tree); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/500, "µs/package")
}
