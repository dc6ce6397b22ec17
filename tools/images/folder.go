package images

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// All is the name of the image with all functions: `variform-functions NAME`
// runs one, and so does its name as a program.
const All = "variform-functions"

// Command and Controller are the names of the images that are no functions.
const (
	Command    = "variform"
	Controller = "variform-controller"
)

// MaxBytes bounds a function's image as it is transferred, for one architecture.
const MaxBytes = 15 << 20

// programs are what is no function. The controller has Kubernetes' libraries.
var programs = map[string]struct {
	description, page string
	most              int64 // bytes, as MaxBytes
}{
	Command:    {"Keeps reviewed variants of kpt packages for a whole fleet", "docs/install.md", 20 << 20},
	Controller: {"Keeps fleets of package variants up to date on Kubernetes", "docs/controller.md", 30 << 20},
}

// Release is what the images of one build have in common.
type Release struct {
	Version  string // "" is no version, and the tag "latest"
	Revision string // the commit
	Created  time.Time
	// Registry is where archives say that they are from, "ghcr.io/variform".
	Registry string
	// About describes each function by its name.
	About map[string]About
}

// About is what a function's metadata.yaml says of it.
type About struct {
	Description string `yaml:"description"`
	SourceURL   string `yaml:"sourceURL"`
}

// Built is one image of BuildFolder.
type Built struct {
	Name   string
	Layout string // its layout folder
	Digest v1.Hash
	Bytes  int64 // of the largest architecture, as it is transferred
}

// BuildFolder packs every binary of bin/<GOARCH>/<name> and writes a layout
// out/<name> for each name, and an archive out/<name>-<GOARCH>.tar for each
// architecture; the result is sorted by name. The image All has the names of the
// other ones as aliases. All that is wrong is reported at once: a function that
// one architecture lacks, one that About does not know, images beyond MaxBytes.
func BuildFolder(bin, out string, r Release) ([]Built, error) {
	functions, err := readBinaries(bin)
	if err != nil {
		return nil, err
	}
	if err := r.describe(functions); err != nil {
		return nil, err
	}
	built := make([]Built, 0, len(functions))
	var errs []error
	for _, f := range functions {
		b, err := r.build(f, out)
		if err != nil {
			errs = append(errs, fmt.Errorf("image of function %q: %w", f.Name, err))
		}
		built = append(built, b)
	}
	return built, errors.Join(errs...)
}

func (r Release) describe(functions []Function) error {
	var errs []error
	var names []string
	for _, f := range functions {
		if _, program := programs[f.Name]; f.Name != All && !program {
			names = append(names, f.Name)
		}
	}
	for i := range functions {
		f := &functions[i]
		f.Version, f.Revision = r.Version, r.Revision
		if f.Name == All {
			f.Aliases = names
			f.Description, f.Documentation = "All functions of Variform, chosen by sub-command", Source+"/blob/main/docs/reference.md#functions"
			continue
		}
		if p, program := programs[f.Name]; program {
			f.Description, f.Documentation = p.description, Source+"/blob/main/"+p.page
			continue
		}
		about, ok := r.About[f.Name]
		if !ok || about.Description == "" || about.SourceURL == "" {
			errs = append(errs, fmt.Errorf("function %q has no description or no sourceURL: write them into functions/%s/metadata.yaml", f.Name, f.Name))
		}
		f.Description, f.Documentation = about.Description, about.SourceURL
	}
	return errors.Join(errs...)
}

func (r Release) build(f Function, out string) (Built, error) {
	b := Built{Name: f.Name, Layout: filepath.Join(out, f.Name)}
	idx, err := Index(f)
	if err != nil {
		return b, err
	}
	if b.Digest, err = idx.Digest(); err != nil {
		return b, err
	}
	if b.Bytes, err = size(idx); err != nil {
		return b, err
	}
	most := int64(MaxBytes)
	if p, program := programs[f.Name]; program {
		most = p.most
	}
	if b.Bytes > most {
		return b, fmt.Errorf("it has %d bytes, more than %d: see what made its binary grow (go version -m, go tool nm -size)", b.Bytes, most)
	}
	referrers, err := Referrers(f, idx, r.Created)
	if err != nil {
		return b, err
	}
	if err := WriteLayout(b.Layout, f.Name+":"+Tag(r.Version), idx, referrers...); err != nil {
		return b, err
	}
	for arch := range f.Binaries {
		ref := fmt.Sprintf("%s/%s:%s", r.Registry, f.Name, Tag(r.Version))
		if err := WriteArchive(fmt.Sprintf("%s-%s.tar", b.Layout, arch), ref, idx, arch); err != nil {
			return b, err
		}
	}
	return b, nil
}

// size is that of the largest image of an index, as it is transferred.
func size(idx v1.ImageIndex) (int64, error) {
	m, err := idx.IndexManifest()
	if err != nil {
		return 0, err
	}
	var most int64
	for _, d := range m.Manifests {
		img, err := idx.Image(d.Digest)
		if err != nil {
			return 0, err
		}
		manifest, err := img.Manifest()
		if err != nil {
			return 0, err
		}
		sum := d.Size + manifest.Config.Size
		for _, l := range manifest.Layers {
			sum += l.Size
		}
		most = max(most, sum)
	}
	return most, nil
}

// Tag is the tag of a version: tags have no plus.
func Tag(version string) string {
	if version == "" {
		return "latest"
	}
	return strings.ReplaceAll(version, "+", "_")
}

func readBinaries(bin string) ([]Function, error) {
	arches, err := os.ReadDir(bin)
	if err != nil {
		return nil, fmt.Errorf("reading the binaries of the functions: %w", err)
	}
	byName := map[string]map[string][]byte{}
	count := 0
	for _, arch := range arches {
		if !arch.IsDir() {
			continue
		}
		count++
		if err := readArch(filepath.Join(bin, arch.Name()), arch.Name(), byName); err != nil {
			return nil, err
		}
	}
	if len(byName) == 0 {
		return nil, fmt.Errorf("folder %q: %w", bin, ErrNoBinaries)
	}
	out := make([]Function, 0, len(byName))
	for name, binaries := range byName {
		if len(binaries) != count {
			err = errors.Join(err, fmt.Errorf("function %q is built for %d of %d architectures in %q: build the others", name, len(binaries), count, bin))
		}
		out = append(out, Function{Name: name, Binaries: binaries})
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out, err
}

func readArch(dir, arch string, byName map[string]map[string][]byte) error {
	files, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("reading the binaries for %s: %w", arch, err)
	}
	for _, f := range files {
		data, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			return fmt.Errorf("reading a function's binary: %w", err)
		}
		if byName[f.Name()] == nil {
			byName[f.Name()] = map[string][]byte{}
		}
		byName[f.Name()][arch] = data
	}
	return nil
}
