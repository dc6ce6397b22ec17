package source

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/variform/variform/api"
	"github.com/variform/variform/api/config/v1alpha1"
	variformv1alpha1 "github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/internal/count"
)

// The fields that have addresses of repositories.
const (
	fieldRepo    = "spec.git.repo"
	fieldSources = "spec.sources"
)

// isRelative reports whether an address of a repository is a relative path.
func isRelative(address string) bool {
	return address != "" && !filepath.IsAbs(address) && (!strings.Contains(address, ":") || strings.HasPrefix(address, "."))
}

// PathFrom returns an address as a file in dir has it: a relative path of the current
// folder becomes one of dir.
func PathFrom(dir, address string) string {
	if !isRelative(address) {
		return address
	}
	return relative(dir, address)
}

// Absolute returns an address as any file may have it: a relative path of the current
// folder becomes absolute.
func Absolute(address string) string {
	if isRelative(address) {
		if path, err := filepath.Abs(address); err == nil {
			return path
		}
	}
	return address
}

// relative is a path as one of dir.
func relative(dir, address string) string {
	from, err := filepath.Abs(dir)
	if err != nil {
		return address
	}
	to, err := filepath.Abs(address)
	if err != nil {
		return address
	}
	if rel, err := filepath.Rel(from, to); err == nil {
		return written(rel)
	}
	return to
}

// written is a relative path that no scheme or host can be read into.
func written(path string) string {
	if path = filepath.ToSlash(path); strings.Contains(path, ":") && !strings.HasPrefix(path, ".") {
		path = "./" + path
	}
	return path
}

// astray is an address that names a repository from the current folder only.
type astray struct {
	at              Origin
	field           string
	address, better string
}

// relocate makes relative paths of repositories ones of the management directory: in a
// file they are relative to the file. An address that leads to nothing there, and
// somewhere from the current folder, stays for now and gets a warning.
func (f *Fleet) relocate(root string) {
	var found []astray
	relocate := func(at Origin, field string, address *string) {
		if !isRelative(*address) {
			return
		}
		local := filepath.FromSlash(*address)
		path := filepath.Join(filepath.Dir(filepath.FromSlash(at.File)), local)
		if exists(filepath.Join(root, path)) || !exists(local) {
			*address = written(path)
			return
		}
		found = append(found, astray{at, field, *address, relative(filepath.Join(root, filepath.Dir(filepath.FromSlash(at.File))), local)})
	}
	for _, r := range f.Repositories {
		if r.Spec.Git != nil {
			key := Key{Group: v1alpha1.Group, Kind: v1alpha1.KindRepository, Namespace: r.Namespace, Name: r.Name}
			relocate(f.FieldOrigin(key, fieldRepo), fieldRepo, &r.Spec.Git.Repo)
		}
	}
	for _, c := range f.Catalogs {
		key := Key{Group: variformv1alpha1.Group, Kind: variformv1alpha1.KindCatalog, Namespace: c.Namespace, Name: c.Name}
		for i := range c.Spec.Sources {
			if git := c.Spec.Sources[i].Git; git != nil {
				relocate(f.FieldOrigin(key, fieldSources), fmt.Sprintf("%s[%d].git.repo", fieldSources, i), &git.Repo)
			}
		}
	}
	if len(found) > 0 {
		f.Warnings = append(f.Warnings, warnAstray(found))
		byPlace(f.Warnings)
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// warnAstray is one warning about all of them, at the first.
func warnAstray(found []astray) api.Issue {
	first := found[0]
	message := fmt.Sprintf("%s: %s is a path from the current folder", first.field, first.address)
	if more := len(found) - 1; more > 0 {
		message += ", like " + count.Of(more, "more address", "more addresses")
	}
	return issue(first.at, first.field, message,
		fmt.Sprintf("write %s: a path is relative to the file that has it, and the next release reads it only so", first.better))
}
