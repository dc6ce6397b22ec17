package observe

import (
	"path/filepath"
	"testing"

	"github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/internal/shard"
)

// All Repositories of one Git repository are of one shard, however its address is
// spelled and whatever they show of it.
func TestShardKey(t *testing.T) {
	git := func(address, branch, dir string) *v1alpha1.Repository {
		obj := &v1alpha1.Repository{}
		obj.Name = address + branch + dir
		obj.Spec.Git = &v1alpha1.GitRepository{Repo: address, Branch: branch, Directory: dir}
		return obj
	}
	here, err := filepath.Abs("repos/one")
	if err != nil {
		t.Fatal(err)
	}
	for want, spellings := range map[string][]string{
		"git.example.com/fleet/one": {
			"https://git.example.com/fleet/one", "https://git.example.com/fleet/one.git", "https://git.example.com/fleet/one/", "https://GIT.example.com:443/fleet/one.git",
			"https://me:secret@git.example.com/fleet/one", "http://git.example.com/fleet/one", "ssh://git@git.example.com/fleet/one.git", "git@git.example.com:fleet/one.git",
		},
		filepath.ToSlash(here): {"repos/one", "./repos/one", here, "file://" + here, here + ".git"},
	} {
		for _, at := range spellings {
			if got := ShardKey(git(at, "main", "")); got != want {
				t.Errorf("%s: %s, want %s", at, got, want)
			}
			if got := ShardKey(git(at, "next", "edge")); got != want {
				t.Errorf("another branch and folder of %s: %s, want %s", at, got, want)
			}
		}
	}
}

// What is wanted of a Repository that is not registered is told by one shard, too.
func TestMineOfNoRepository(t *testing.T) {
	mine := 0
	for i := 1; i <= 4; i++ {
		if New(Config{Shard: shard.Shard{Index: i, Of: 4}}).Mine("default", "nowhere") {
			mine++
		}
	}
	if mine != 1 {
		t.Errorf("%d shards of 4 have it", mine)
	}
}
