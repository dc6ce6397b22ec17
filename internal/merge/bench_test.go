package merge

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/variform/variform/internal/krm"
)

// BenchmarkPackages merges packages in which upstream changed the image of
// every resource and local a label of every one: no file can be taken whole.
// Reading the three packages and writing the result is part of it, as it is
// with kpt.
func BenchmarkPackages(b *testing.B) {
	for _, n := range []int{50, 200, 1000, 5000} {
		b.Run(fmt.Sprintf("resources=%d", n), func(b *testing.B) {
			var in [3][]krm.File
			for i, side := range []string{"", "u", "l"} {
				in[i], _ = synthetic(b, n, side).Files()
			}
			b.ReportAllocs()
			for b.Loop() {
				var p [3]*krm.Package
				for i := range in {
					p[i], _ = krm.Parse(in[i])
				}
				res, err := Packages(p[0], p[1], p[2], Options{})
				if err != nil {
					b.Fatal(err)
				}
				if files, err := res.Package.Files(); err != nil || len(files) == 0 {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*n), "µs/resource")
		})
	}
}

// BenchmarkPackagesOneChange merges packages in which upstream changed one
// resource.
func BenchmarkPackagesOneChange(b *testing.B) {
	for _, n := range []int{1000, 5000} {
		b.Run(fmt.Sprintf("resources=%d", n), func(b *testing.B) {
			base, local := synthetic(b, n, ""), synthetic(b, n, "l")
			upstream := base.Clone()
			if err := upstream.Resources()[n/2].SetLabel("new", "label"); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if _, err := Packages(base, upstream, local, Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkKptPkgUpdate is kpt on the same packages, from a local Git
// repository: VARIFORM_BENCH_KPT=1 with kpt and git on the PATH. It takes half
// a minute at 1,000 resources.
func BenchmarkKptPkgUpdate(b *testing.B) {
	if os.Getenv("VARIFORM_BENCH_KPT") == "" {
		b.Skip("set VARIFORM_BENCH_KPT=1 to run kpt pkg update, which is slow")
	}
	if _, err := exec.LookPath("kpt"); err != nil {
		b.Skip("SKIPPED: kpt is not on the PATH")
	}
	for _, n := range []int{50, 200, 1000} {
		b.Run(fmt.Sprintf("resources=%d", n), func(b *testing.B) {
			repo := kptUpstream(b, n)
			for b.Loop() {
				b.StopTimer()
				dir := kptLocal(b, repo, n)
				b.StartTimer()
				run(b, dir, "kpt", "pkg", "update", "pkg@v2", "--strategy=resource-merge")
			}
		})
	}
}

const benchKptfile = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: pkg\n"

// kptUpstream is a repository with the package at v1 and v2.
func kptUpstream(b *testing.B, n int) string {
	repo := filepath.Join(b.TempDir(), "upstream.git") // kpt finds the repository's end by .git
	run(b, "", "git", "init", "-q", repo)
	writePackage(b, filepath.Join(repo, "pkg"), synthetic(b, n, ""), benchKptfile)
	commit(b, repo, "v1")
	writePackage(b, filepath.Join(repo, "pkg"), synthetic(b, n, "u"), benchKptfile)
	commit(b, repo, "v2")
	return repo
}

// kptLocal is a work tree with the package of v1, edited.
func kptLocal(b *testing.B, repo string, n int) string {
	dir := b.TempDir()
	run(b, dir, "git", "init", "-q")
	run(b, dir, "kpt", "pkg", "get", "file://"+repo+"/pkg@v1", "pkg")
	writePackage(b, filepath.Join(dir, "pkg"), synthetic(b, n, "l"), "")
	commit(b, dir, "local")
	return dir
}

func commit(b *testing.B, dir, tag string) {
	run(b, dir, "git", "add", "-A")
	run(b, dir, "git", "-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-qm", tag)
	run(b, dir, "git", "tag", tag)
}

func writePackage(b *testing.B, dir string, p *krm.Package, kptfile string) {
	files, err := p.Files()
	if err != nil {
		b.Fatal(err)
	}
	if kptfile != "" {
		files = append(files, krm.File{Path: "Kptfile", Data: []byte(kptfile)})
	}
	for _, f := range files {
		name := filepath.Join(dir, filepath.FromSlash(f.Path))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(name, f.Data, 0o644); err != nil {
			b.Fatal(err)
		}
	}
}

func run(b *testing.B, dir, name string, args ...string) {
	b.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
}
