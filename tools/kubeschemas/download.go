package kubeschemas

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
)

// Download returns the file trees of the modules of Releases. With an environment, such
// as GOPROXY=off, it runs Go in that one besides the process's own.
func Download(env ...string) ([]fs.FS, error) {
	out := make([]fs.FS, len(Releases))
	for i, r := range Releases {
		cmd := exec.Command("go", "mod", "download", "-json", "k8s.io/kubernetes@v"+r.Version)
		cmd.Env = append(os.Environ(), env...)
		cmd.Dir = os.TempDir() // no go.mod has to know it
		data, err := cmd.Output()
		var m struct{ Dir, Sum, Error string }
		if jerr := json.Unmarshal(data, &m); jerr != nil || m.Error != "" {
			return nil, fmt.Errorf("downloading kubernetes %s: %w", r.Version, errors.Join(err, jerr, errors.New(m.Error)))
		}
		if m.Sum != r.Sum {
			return nil, fmt.Errorf("kubernetes %s has the digest %s and must have %s", r.Version, m.Sum, r.Sum)
		}
		out[i] = os.DirFS(m.Dir)
	}
	return out, nil
}
