package release

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

var created = time.Unix(1767603600, 0)

// TestMake makes a release for this platform twice, from two folders: the
// programs say what they are, and the bytes are the same.
func TestMake(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: it builds the programs")
	}
	here := Platform{runtime.GOOS, runtime.GOARCH}
	r := Release{Version: "v0.1.0", Commit: "0123456789012345678901234567890123456789", Created: created, Platforms: []Platform{here}}
	t.Setenv("VARIFORM_FLEET", "/a/folder/of/this/machine")
	first := makeIn(t, r, "../..")
	copied := t.TempDir()
	if out, err := exec.Command("sh", "-c", `tar -C ../.. --exclude=./.git --exclude=./bin --exclude=./dist -cf - . | tar -xf - -C "$0"`, copied).CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: the module cannot be copied: %s", out)
	}
	t.Setenv("TZ", "Asia/Tokyo")
	if d := cmp.Diff(first, makeIn(t, r, copied)); d != "" {
		t.Errorf("another folder gives other bytes:\n%.2000s", d)
	}

	dir := t.TempDir()
	unpack(t, []byte(first[r.archive("variform", here)]), dir)
	for _, tc := range []struct{ args, want string }{
		{"variform version", "v0.1.0"}, {"variform version", r.Commit}, {"kubectl-variform plan --help", "kubectl variform plan [flags]"},
	} {
		args := strings.Fields(tc.args)
		out, err := exec.Command(filepath.Join(dir, args[0]), args[1:]...).CombinedOutput()
		if err != nil || !strings.Contains(string(out), tc.want) {
			t.Errorf("%s: %v, without %q:\n%s", tc.args, err, tc.want, out)
		}
	}
	mainJob(t, filepath.Join(dir, "variform"))
	for _, name := range []string{"man/man1/variform-plan.1", "completions/variform.bash", "completions/_variform", "LICENSE", "CHANGELOG.md"} {
		data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil || len(data) == 0 || bytes.Contains(data, []byte("/a/folder/of/this/machine")) {
			t.Errorf("%s: %v, %d bytes, or it has what is this machine's", name, err, len(data))
		}
	}
	unpack(t, []byte(first[r.archive("variform-functions", here)]), dir)
	if out, err := exec.Command(filepath.Join(dir, "inject-config"), "--help").CombinedOutput(); err != nil || !bytes.Contains(out, []byte("inject-config")) {
		t.Errorf("inject-config --help: %v\n%s", err, out)
	}
	if runtime.GOOS == "linux" {
		unpack(t, []byte(first[r.archive("variform-controller", here)]), dir)
		if out, err := exec.Command(filepath.Join(dir, "variform-controller"), "-help").CombinedOutput(); err != nil || !bytes.Contains(out, []byte("-git-credentials")) {
			t.Errorf("variform-controller -help: %v\n%s", err, out)
		}
	}
	var sums []string
	for name := range first {
		if strings.Contains(name, "_") {
			sums = append(sums, name)
		}
	}
	for line := range strings.Lines(first["checksums.txt"]) {
		name := strings.Fields(line)[1]
		sums = slices.DeleteFunc(sums, func(n string) bool { return n == name })
	}
	if len(sums) > 0 {
		t.Errorf("without checksum: %v", sums)
	}
}

// mainJob is that of the README, by a released command where Git is all that there is.
func mainJob(t *testing.T, command string) {
	t.Helper()
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("SKIPPED: there is no git")
	}
	dir := t.TempDir()
	if err := os.Symlink(git, filepath.Join(dir, "git")); err != nil {
		t.Fatal(err)
	}
	fleet := filepath.Join(dir, "demo", "work", "fleet")
	for _, tc := range []struct{ args, want string }{
		{"demo --layout --dir " + filepath.Join(dir, "demo"), "bare repositories"},
		{"plan -f " + fleet, "38 variants: 38 to create"},
		{"apply -f " + fleet, "38 variants: 38 created"},
		{"review -f " + fleet, "38 variants of 3 packages in 9 classes"},
		{"approve -f " + fleet + " cluster-07", "Published v1"},
		{"status -f " + fleet + " cluster-07/web-app", "Published"},
	} {
		c := exec.Command(command, strings.Fields(tc.args)...)
		c.Dir = dir
		c.Env = []string{"PATH=" + dir, "HOME=" + dir, "GIT_AUTHOR_NAME=Ann", "GIT_AUTHOR_EMAIL=ann@example.com", "GIT_COMMITTER_NAME=Ann", "GIT_COMMITTER_EMAIL=ann@example.com"}
		if out, err := c.CombinedOutput(); err != nil || !strings.Contains(string(out), tc.want) {
			t.Errorf("variform %s: %v, without %q:\n%s", tc.args, err, tc.want, out)
		}
	}
}

func makeIn(t *testing.T, r Release, module string) map[string]string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "release")
	names, err := r.Make(t.Context(), module, out)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(out, name))
		if err != nil {
			t.Fatal(err)
		}
		files[name] = string(data)
	}
	return files
}

func unpack(t *testing.T, data []byte, dir string) {
	t.Helper()
	cmd := exec.Command("tar", "-xzf", "-", "-C", dir)
	cmd.Stdin = bytes.NewReader(data)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("tar: %v\n%s", err, out)
	}
}

// TestCommandsPage holds that docs/commands.md has what --help says today.
func TestCommandsPage(t *testing.T) {
	t.Setenv("VARIFORM_FLEET", "/a/folder/of/this/machine")
	want, err := CommandsPage()
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join("..", "..", "docs", "commands.md"))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("docs/commands.md is stale: run go generate ./tools/release\n%s", d)
	}
	for _, line := range []string{"## variform plan\n", "## variform catalog add\n", "| `-f`, `--fleet string` |"} {
		if !strings.Contains(string(got), line) {
			t.Errorf("docs/commands.md lacks %q", line)
		}
	}
}

// TestManagers reads what Homebrew and krew are told: the address and the
// checksum of each archive, once.
func TestManagers(t *testing.T) {
	r := Release{Version: "v0.1.0", Platforms: Platforms()}
	sums := map[string]string{}
	for i, p := range r.Platforms {
		sums[r.archive("variform", p)] = fmt.Sprintf("%064x", i+1)
	}
	formula, krew := string(r.formula(sums)), r.krew(sums)
	for name, sum := range sums {
		wanted := 1
		if strings.Contains(name, "windows") {
			wanted = 0
		}
		text := fmt.Sprintf("url %q\n      sha256 %q\n", "https://github.com/variform/variform/releases/download/v0.1.0/"+name, sum)
		if n := strings.Count(formula, text); n != wanted {
			t.Errorf("the formula has %d times, want %d:\n%s", n, wanted, text)
		}
	}
	var plugin struct {
		Spec struct {
			Version   string
			Platforms []struct {
				Selector struct {
					MatchLabels map[string]string `yaml:"matchLabels"`
				}
				URI, SHA256, Bin string
			}
		}
	}
	if err := yaml.Unmarshal(krew, &plugin); err != nil || len(plugin.Spec.Platforms) != len(sums) || plugin.Spec.Version != "v0.1.0" {
		t.Fatalf("%v: %s", err, krew)
	}
	for _, p := range plugin.Spec.Platforms {
		system := p.Selector.MatchLabels["os"]
		name := r.archive("variform", Platform{system, p.Selector.MatchLabels["arch"]})
		if filepath.Base(p.URI) != name || p.SHA256 != sums[name] || (p.Bin == "variform.exe") != (system == "windows") {
			t.Errorf("%+v is not of %s", p, name)
		}
	}
}

func TestNotes(t *testing.T) {
	const changes = "# Changes\n\n## v0.2.0 (2026-12-01)\n\nsecond\n\n## v0.1.0\n\nfirst\n"
	for version, want := range map[string]string{"v0.2.0": "second\n", "v0.1.0": "first\n", "v0.1.0-3-gabcdef0-dirty": "second\n", "abcdef0": "second\n"} {
		if got, err := Notes(changes, version); got != want || err != nil {
			t.Errorf("%s: %q, %v; want %q", version, got, err, want)
		}
	}
	if _, err := Notes(changes, "v0.3.0"); !errors.Is(err, ErrNoNotes) {
		t.Errorf("a release without notes: %v", err)
	}
}

// TestArchives: both kinds hold the same, with the commit's time; only a tar has
// links.
func TestArchives(t *testing.T) {
	entries := []entry{{name: "a", data: []byte("text")}, {name: "b", data: []byte("run"), executable: true}}
	var tarred, zip1 bytes.Buffer
	if err := errors.Join(tarGz(&tarred, append(entries, entry{name: "c", link: "b"}), created), zipped(&zip1, entries, created)); err != nil {
		t.Fatal(err)
	}
	zr, err := gzip.NewReader(&tarred)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	tr := tar.NewReader(zr)
	for h, err := tr.Next(); err != io.EOF; h, err = tr.Next() {
		if err != nil {
			t.Fatal(err)
		}
		data, _ := io.ReadAll(tr)
		got = append(got, fmt.Sprintf("%s %o %d %q %s", h.Name, h.Mode, h.ModTime.Unix(), data, h.Linkname))
	}
	if d := cmp.Diff([]string{`a 644 1767603600 "text" `, `b 755 1767603600 "run" `, `c 777 1767603600 "" b`}, got); d != "" {
		t.Errorf("tar (-want +got):\n%s", d)
	}
	zipRead, err := zip.NewReader(bytes.NewReader(zip1.Bytes()), int64(zip1.Len()))
	if err != nil || len(zipRead.File) != 2 || zipRead.File[0].Modified.Unix() != created.Unix() {
		t.Errorf("zip: %v, %+v", err, zipRead)
	}
}

// TestManifests: what installs the controller names the image of the version.
func TestManifests(t *testing.T) {
	files := map[string][]byte{}
	if err := (Release{Version: "v9.9.9+x"}).addManifests("../..", files); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"variform-controller.yaml":            "image: ghcr.io/variform/variform-controller:v9.9.9_x\n",
		"variform-controller-namespaced.yaml": "- -namespaces=fleets\n",
		"porch-crds.yaml":                     "name: repositories.config.porch.kpt.dev\n",
	} {
		text := string(files[name])
		if porch := strings.Contains(text, "name: repositories.config.porch.kpt.dev\n"); !strings.Contains(text, want) || porch != (name == "porch-crds.yaml") {
			t.Errorf("%s: without %q:\n%.300s", name, want, text)
		}
	}
}
