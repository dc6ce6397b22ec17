package reconcile

import (
	"os"
	"path/filepath"
	"testing"
)

func TestFileStatements(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	s := OpenStatements(dir)
	if s.Has("built", "a") {
		t.Error("an empty folder states something")
	}
	s.Put("built", "a")
	s.Put("built", "a")
	s.Put("built", "b")
	again := OpenStatements(dir)
	for words, want := range map[[2]string]bool{{"built", "a"}: true, {"built", "b"}: true, {"built", "c"}: false, {"builta", ""}: false} {
		if got := again.Has(words[:]...); got != want {
			t.Errorf("%q is stated: %t, want %t", words, got, want)
		}
	}
	if st, err := os.Stat(filepath.Join(dir, "built")); err != nil || st.Size() != 2*int64(len(statement{})) {
		t.Errorf("two statements are %v, %v", st, err)
	}

	// A file that was copied from another machine states nothing, and neither does one
	// without its key.
	data, err := os.ReadFile(filepath.Join(dir, "built"))
	if err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(t.TempDir(), "state")
	OpenStatements(other).Put("built", "c")
	if err := os.WriteFile(filepath.Join(other, "built"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	if OpenStatements(other).Has("built", "a") {
		t.Error("another machine's statement is believed")
	}
	if err := os.WriteFile(filepath.Join(other, "key"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if s := OpenStatements(other); s.Has("built", "a") || s.Has("built", "c") {
		t.Error("statements under no key are believed")
	}

	// Nothing fails where nothing can be written: the run knows what it built itself.
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if s = OpenStatements(filepath.Join(file, "state")); s.Has("built", "a") {
		t.Error("no folder states something")
	}
	if s.Put("built", "a"); !s.Has("built", "a") {
		t.Error("the run forgets what it built")
	}
}
