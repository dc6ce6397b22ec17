package gitrepo

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/variform/variform/test/gittest"
)

// What one Store saw of repositories is what another sees, until any ref of them is
// another: a branch, a tag, a record, HEAD. An address with a login is not to be kept.
func TestSeen(t *testing.T) {
	s := newSite(t)
	s.repo.Tag(t, "v1", s.repo.Commit(t, "main", "base", gittest.Text{"a/Kptfile": kptfile("a")}))
	for name, url := range s.urls {
		t.Run(name, func(t *testing.T) {
			cache := t.TempDir()
			look := func() Seen {
				t.Helper()
				store := NewStore(Options{CacheDir: cache})
				if _, err := store.Open(t.Context(), url); err != nil {
					t.Fatal(err)
				}
				seen, ok := store.Seen()
				if !ok || len(seen.Refs) != 1 {
					t.Fatalf("%+v, %v", seen, ok)
				}
				data, err := json.Marshal(seen)
				if err == nil {
					seen = Seen{}
					err = json.Unmarshal(data, &seen)
				}
				if err != nil {
					t.Fatal(err)
				}
				return seen
			}
			same := func(then Seen) bool { return NewStore(Options{CacheDir: cache}).Sees(t.Context(), then) }
			for _, change := range [][]string{
				{"branch", "topic-" + name, "main"},
				{"tag", "-f", "v1", s.repo.Commit(t, "main", "later "+name, gittest.Text{"b.txt": name})},
				{"update-ref", "refs/variform/" + name, "main"},
				{"update-ref", "-d", "refs/variform/" + name},
				{"symbolic-ref", "HEAD", "refs/heads/topic-" + name},
				{"branch", "-m", "topic-" + name, "renamed-" + name},
			} {
				then := look()
				if !same(then) {
					t.Fatalf("before git %s: nothing moved", strings.Join(change, " "))
				}
				s.repo.Git(t, change...)
				if same(then) {
					t.Errorf("git %s is not seen", strings.Join(change, " "))
				}
			}
			then := look()
			if then.Places++; same(then) {
				t.Error("a cache that knows more is not seen")
			}
			then = look()
			then.Refs[s.urls["path"]+"-gone"] = "x"
			if same(then) {
				t.Error("a repository that is not there is as it was")
			}
		})
	}
	store := NewStore(Options{})
	if _, err := store.Open(t.Context(), strings.Replace(s.urls["http"], "://", "://user:secret@", 1)); err != nil {
		t.Fatal(err)
	}
	if seen, ok := store.Seen(); ok {
		t.Errorf("a login is kept: %+v", seen)
	}
}
