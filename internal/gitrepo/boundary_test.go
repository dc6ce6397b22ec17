package gitrepo

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/variform/variform/internal/boundary"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/test/gittest"
)

// What a repository's package may hold is what one from elsewhere may: the same
// for reading and for writing.
func TestPackagesAreBounded(t *testing.T) {
	repo := gittest.NewRepo(t)
	for title, test := range map[string]struct {
		file gittest.File
		kind error
		want string
	}{
		"link out":      {gittest.File{Path: "a/l", Mode: gittest.Symlink, Data: []byte("/etc")}, boundary.ErrUnsafe, "l is a symbolic link that leads out of the package"},
		"link up":       {gittest.File{Path: "a/b/l", Mode: gittest.Symlink, Data: []byte("../../b/Kptfile")}, boundary.ErrUnsafe, "b/l is a symbolic link"},
		"link inside":   {gittest.File{Path: "a/b/l", Mode: gittest.Symlink, Data: []byte("../Kptfile")}, nil, ""},
		"controls":      {gittest.File{Path: "a/x\u009b31m", Data: []byte("x")}, boundary.ErrUnsafe, "control character"},
		"right to left": {gittest.File{Path: "a/x\u202ey", Data: []byte("x")}, boundary.ErrUnsafe, "control character"},
		"not UTF-8":     {gittest.File{Path: "a/x\xff", Data: []byte("x")}, boundary.ErrUnsafe, "UTF-8"},
		"backslash":     {gittest.File{Path: `a/..\x`, Data: []byte("x")}, boundary.ErrUnsafe, "backslash"},
		"deep":          {gittest.File{Path: "a/" + strings.Repeat("d/", boundary.MaxDepth+1) + "f", Data: []byte("x")}, ErrLimit, "deep"},
	} {
		branch := strings.ReplaceAll(title, " ", "-")
		commit := repo.CommitFrom(t, branch, "", title, gittest.Files{{Path: "a/Kptfile", Data: []byte(kptfile("a"))}, test.file})
		r := open(t, repo.Dir)
		ctx := context.Background()
		ref, _ := r.Refs().Branch(branch)
		if ref.Commit.String() != commit {
			t.Fatal(title)
		}
		tree, ok, err := r.TreeAt(ctx, ref.Commit, "a")
		if !ok || err != nil {
			t.Fatal(err)
		}
		_, err = r.ReadPackage(ctx, tree)
		if !errors.Is(err, test.kind) || (test.kind == nil) != (err == nil) || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("reading, %s: got %v", title, err)
		}
		f := krm.File{Path: strings.TrimPrefix(test.file.Path, "a/"), Data: test.file.Data}
		if test.file.Mode == gittest.Symlink {
			f.Mode = krm.Symlink
		}
		_, err = r.NewBatch().PackageTree([]krm.File{{Path: "Kptfile", Data: []byte(kptfile("a"))}, f})
		if (test.kind == nil) != (err == nil) {
			t.Errorf("writing, %s: got %v", title, err)
		}
	}
}
