// Package release makes what a release has: archives of the programs for each
// platform, lists of what is in them, checksums, a Homebrew formula and a krew
// manifest. The same commit gives the same bytes in every folder.
//
//	files, err := release.Release{Version: "v1.2.3", Commit: commit, Created: created}.Make(ctx, ".", "dist/release")
package release

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/variform/variform/internal/function"
	"github.com/variform/variform/tools/images"
)

// Release is what its files have in common.
type Release struct {
	Version string // a tag, or what stands for one
	Commit  string
	Created time.Time // of the commit
	// Platforms are those to build for; Platforms() where empty.
	Platforms []Platform
	// Images is a folder of images' archives (`make images`); "" leaves them out.
	Images string
}

// Platform is one that programs are built for.
type Platform struct{ OS, Arch string }

func (p Platform) String() string { return p.OS + "-" + p.Arch }

// Platforms are those of a release, sorted.
func Platforms() []Platform {
	var out []Platform
	for _, system := range []string{"darwin", "linux", "windows"} {
		for _, arch := range []string{"amd64", "arm64"} {
			out = append(out, Platform{system, arch})
		}
	}
	return out
}

// program is one that archives are made of.
type program struct {
	name, module string // the module is a folder of ours
	files        func(module string, p Platform, binary []byte) ([]entry, error)
	linux        bool // it is for Linux alone
}

func (r Release) programs() []program {
	return []program{
		{name: "variform", module: ".", files: r.withCommand},
		{name: images.All, module: ".", files: withFunctions},
		{name: images.Controller, module: "cmd/" + images.Controller, files: alone, linux: true},
	}
}

// Make builds the programs of a module's folder and writes the files into an
// empty or new folder; it returns their names, sorted.
func (r Release) Make(ctx context.Context, module, out string) ([]string, error) {
	if entries, err := os.ReadDir(out); err == nil && len(entries) > 0 {
		return nil, fmt.Errorf("%s is not empty: give an empty or a new folder", out)
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return nil, err
	}
	if len(r.Platforms) == 0 {
		r.Platforms = Platforms()
	}
	files := map[string][]byte{}
	for _, p := range r.Platforms {
		for _, prog := range r.programs() {
			if prog.linux && p.OS != "linux" {
				continue
			}
			if err := r.pack(ctx, module, prog, p, files); err != nil {
				return nil, fmt.Errorf("%s for %s: %w", prog.name, p, err)
			}
		}
	}
	if err := r.addImages(files); err != nil {
		return nil, err
	}
	if err := r.addManifests(module, files); err != nil {
		return nil, err
	}
	if err := r.addNotes(module, files); err != nil {
		return nil, err
	}
	sums := map[string]string{}
	for name, data := range files {
		sums[name] = fmt.Sprintf("%x", sha256.Sum256(data))
	}
	files["checksums.txt"] = checksums(sums)
	files["variform.rb"], files["krew.yaml"] = r.formula(sums), r.krew(sums)
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(out, name), data, 0o644); err != nil {
			return nil, err
		}
	}
	return slices.Sorted(maps.Keys(files)), nil
}

// number is the version as file names have it.
func (r Release) number() string { return strings.TrimPrefix(images.Tag(r.Version), "v") }

// archive names a program's archive.
func (r Release) archive(name string, p Platform) string {
	ending := ".tar.gz"
	if p.OS == "windows" {
		ending = ".zip"
	}
	return fmt.Sprintf("%s_%s_%s_%s%s", name, r.number(), p.OS, p.Arch, ending)
}

// pack adds a program's archive for a platform, and the list of its contents.
func (r Release) pack(ctx context.Context, module string, prog program, p Platform, into map[string][]byte) error {
	binary, err := r.build(ctx, module, prog, p)
	if err != nil {
		return err
	}
	entries, err := prog.files(module, p, binary)
	if err != nil {
		return err
	}
	exe := prog.name
	if p.OS == "windows" {
		exe += ".exe"
	}
	license, err := os.ReadFile(filepath.Join(module, "LICENSE"))
	if err != nil {
		return err
	}
	entries = append(entries, entry{name: exe, data: binary, executable: true}, entry{name: "LICENSE", data: license})
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	write := tarGz
	if p.OS == "windows" {
		write = zipped
	}
	var packed bytes.Buffer
	if err := write(&packed, entries, r.Created); err != nil {
		return err
	}
	list, err := images.Contents(prog.name, r.Version, p.String(), binary, r.Created)
	if err != nil {
		return err
	}
	name := r.archive(prog.name, p)
	into[name], into[name+".spdx.json"] = packed.Bytes(), list
	return nil
}

// build compiles a command; neither the folder nor the machine's settings reach
// the binary.
func (r Release) build(ctx context.Context, module string, prog program, p Platform) ([]byte, error) {
	dir, err := os.MkdirTemp("", "variform-release-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	to := filepath.Join(dir, "program")
	stamp := "github.com/variform/variform/internal/version."
	c := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false",
		"-ldflags", fmt.Sprintf("-s -w -X %[1]sVersion=%[2]s -X %[1]sCommit=%[3]s", stamp, r.Version, r.Commit), "-o", to, "github.com/variform/variform/cmd/"+prog.name)
	c.Dir = filepath.Join(module, filepath.FromSlash(prog.module))
	c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+p.OS, "GOARCH="+p.Arch, "GOAMD64=v1", "GOARM64=v8.0", "GOEXPERIMENT=")
	if said, err := c.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go build %s: %w\n%s", prog.name, err, said)
	}
	return os.ReadFile(to)
}

// withCommand are the files beside the command, which kubectl finds by name.
func (r Release) withCommand(module string, p Platform, binary []byte) ([]entry, error) {
	entries, err := documents(r.Created)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"README.md", "CHANGELOG.md"} {
		data, err := os.ReadFile(filepath.Join(module, name))
		if err != nil {
			return nil, err
		}
		entries = append(entries, entry{name: name, data: data})
	}
	if p.OS == "windows" { // where links need rights
		return append(entries, entry{name: "kubectl-variform.exe", data: binary, executable: true}), nil
	}
	return append(entries,
		entry{name: "kubectl-variform", link: "variform"},
		entry{name: "kubectl_complete-variform", data: []byte("#!/bin/sh\nexec variform __complete \"$@\"\n"), executable: true}), nil
}

// withFunctions are the names by which the one program is each function.
func withFunctions(_ string, p Platform, _ []byte) ([]entry, error) {
	var entries []entry
	if p.OS != "windows" {
		for _, name := range slices.Sorted(maps.Keys(function.Builtin)) {
			entries = append(entries, entry{name: name, link: images.All})
		}
	}
	return entries, nil
}

// alone is a program without files beside it.
func alone(string, Platform, []byte) ([]entry, error) { return nil, nil }

// addImages adds the archives of the images with all functions, of the command and of the
// controller, which container engines load.
func (r Release) addImages(into map[string][]byte) error {
	if r.Images == "" {
		return nil
	}
	for _, p := range r.Platforms {
		if p.OS != "linux" {
			continue
		}
		for _, name := range []string{images.All, images.Command, images.Controller} {
			data, err := os.ReadFile(filepath.Join(r.Images, fmt.Sprintf("%s-%s.tar", name, p.Arch)))
			if err != nil {
				return fmt.Errorf("%w: run make images first", err)
			}
			into[fmt.Sprintf("%s_%s_image_%s.tar", name, r.number(), p.Arch)] = data
		}
	}
	return nil
}

// ErrNoNotes says that CHANGELOG.md has no section for a version.
var ErrNoNotes = errors.New("CHANGELOG.md has no section of that name")

// addNotes takes the version's section of CHANGELOG.md; what is no release yet
// takes the first.
func (r Release) addNotes(module string, into map[string][]byte) error {
	data, err := os.ReadFile(filepath.Join(module, "CHANGELOG.md"))
	if err != nil {
		return err
	}
	notes, err := Notes(string(data), r.Version)
	into["notes.md"] = []byte(notes)
	return err
}

// Notes is the section "## VERSION" of a list of changes. A version that is not
// vMAJOR.MINOR.PATCH alone is none that was released: its notes are the first section.
func Notes(changes, version string) (string, error) {
	sections := strings.Split("\n"+changes, "\n## ")[1:]
	for i, s := range sections {
		title, body, _ := strings.Cut(s, "\n")
		name, _, _ := strings.Cut(title, " ")
		if name == version || i == 0 && !released.MatchString(version) {
			return strings.TrimSpace(body) + "\n", nil
		}
	}
	return "", fmt.Errorf("%s: %w", version, ErrNoNotes)
}

// checksums are lines as sha256sum writes and checks them.
func checksums(sums map[string]string) []byte {
	var b bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		b.WriteString(sums[name] + "  " + name + "\n")
	}
	return b.Bytes()
}
