package gitrepo_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/variform/variform/internal/gitrepo"
	"github.com/variform/variform/test/gittest"
)

// A relative path is one of the Store's folder, and else of the current one. It is shown
// as it was written, from wherever a command runs.
func TestFolder(t *testing.T) {
	r := gittest.NewRepo(t)
	at := filepath.Dir(r.Dir)
	fleet := filepath.Join(at, "fleet")
	if err := os.Mkdir(fleet, 0o755); err != nil {
		t.Fatal(err)
	}
	name := filepath.Base(r.Dir)
	for reason, tt := range map[string]struct{ current, folder, address string }{
		"of the folder":                {t.TempDir(), fleet, "../" + name},
		"only of the current folder":   {at, fleet, name},
		"of the current without other": {fleet, "", "../" + name},
	} {
		t.Run(reason, func(t *testing.T) {
			t.Chdir(tt.current)
			store := gitrepo.NewStore(gitrepo.Options{Folder: tt.folder})
			defer store.Close()
			repo, err := store.Open(t.Context(), tt.address)
			if err != nil {
				t.Fatal(err)
			}
			absolute, err := store.Open(t.Context(), r.Dir)
			if err != nil || absolute != repo || repo.URL() != tt.address {
				t.Errorf("%v, %v: %s", absolute == repo, err, repo.URL())
			}
		})
	}
}
