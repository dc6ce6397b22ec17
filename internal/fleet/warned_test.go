package fleet

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestUnseen(t *testing.T) {
	file := filepath.Join(t.TempDir(), "warned", "f.json")
	for n, tt := range []struct {
		file           string
		warnings, want []string
	}{
		{file, []string{"a", "b"}, []string{"a", "b"}},
		{file, []string{"b", "c", "a"}, []string{"c"}},
		{file, []string{"a"}, nil},
		{file, []string{"a", "b"}, []string{"b"}}, // it had gone
		{file, nil, nil},
		{file, []string{"a"}, []string{"a"}},
		{"", []string{"a"}, []string{"a"}},
	} {
		if d := cmp.Diff(tt.want, Unseen(tt.file, tt.warnings)); d != "" {
			t.Errorf("run %d: -want +got:\n%s", n, d)
		}
	}
	if err := os.WriteFile(file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := Unseen(file, []string{"a"}); len(got) != 1 {
		t.Errorf("a damaged file hides %v", got)
	}
}
