package render

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/variform/variform/internal/krm"
)

// checkTarget refuses places where a function's output must not be written:
// outside of the package, through a symlink, or into a file that holds
// something else.
func checkTarget(p *krm.Package, dir, file string) error {
	if err := checkInside(dir, file); err != nil {
		return err
	}
	for d := file; d != "."; d = path.Dir(d) {
		if f, ok := p.Read(d); ok && f.Mode == krm.Symlink {
			return fmt.Errorf("output: %s: %s is a symlink; functions write to plain files only", file, d)
		} else if ok && d != file {
			return fmt.Errorf("output: %s: %s is a file, not a directory", file, d)
		}
	}
	if path.Base(file) != "Kptfile" && !slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(file)) {
		return fmt.Errorf("output: %s: resources are written to .yaml, .yml and .json files only", file)
	}
	for _, problem := range p.Problems() {
		if problem.Path == file {
			return fmt.Errorf("output: %s cannot be read, nothing is added to it: %w", file, problem.Err)
		}
	}
	return nil
}

func checkInside(dir, file string) error {
	if path.IsAbs(file) || path.Clean(file) != file || file == ".." || strings.HasPrefix(file, "../") || !inside(dir, file) {
		return fmt.Errorf("output: path %q leads out of package %s; functions change their own package only", file, dirName(dir))
	}
	if file == ".git" || strings.HasPrefix(file, ".git/") || strings.Contains(file, "/.git/") {
		return fmt.Errorf("output: path %q is Git's own", file)
	}
	return nil
}
