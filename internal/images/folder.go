package images

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// Built is one image of BuildFolder.
type Built struct {
	Name   string
	Layout string // its layout folder
	Digest v1.Hash
}

// BuildFolder packs every binary of bin/<GOARCH>/<name> and writes a layout
// out/<name> for each name; the result is sorted by name. A function that one
// architecture lacks is an error, not a smaller image.
func BuildFolder(bin, out, version string) ([]Built, error) {
	functions, err := readBinaries(bin)
	if err != nil {
		return nil, err
	}
	built := make([]Built, 0, len(functions))
	for _, f := range functions {
		f.Version = version
		idx, err := Index(f)
		if err != nil {
			return nil, err
		}
		digest, err := idx.Digest()
		if err != nil {
			return nil, fmt.Errorf("image of function %q: %w", f.Name, err)
		}
		dir := filepath.Join(out, f.Name)
		if err := WriteLayout(dir, f.Name+":"+tag(version), idx); err != nil {
			return nil, err
		}
		built = append(built, Built{Name: f.Name, Layout: dir, Digest: digest})
	}
	return built, nil
}

func tag(version string) string {
	if version == "" {
		return "latest"
	}
	return version
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
