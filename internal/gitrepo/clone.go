package gitrepo

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/go-git/go-git/v5/config"
)

// CloneOf says which repository a local folder is a clone of, by its remote origin,
// and which folder of that; "" where it is none. No git is run for that, and only its
// own configuration is read.
func CloneOf(folder string) (url, dir string) {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return "", ""
	}
	for root := folder; ; root = filepath.Dir(root) {
		data, err := os.ReadFile(filepath.Join(root, ".git", "config"))
		if errors.Is(err, fs.ErrNotExist) && root != filepath.Dir(root) {
			continue
		}
		if err != nil {
			return "", ""
		}
		c, err := config.ReadConfig(bytes.NewReader(data))
		if err != nil || c.Remotes["origin"] == nil || len(c.Remotes["origin"].URLs) == 0 {
			return "", ""
		}
		if dir, err = filepath.Rel(root, folder); err != nil || dir == "." {
			dir = ""
		}
		return c.Remotes["origin"].URLs[0], filepath.ToSlash(dir)
	}
}
