package decide

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMissingBranch(t *testing.T) {
	t.Parallel()
	for reason, c := range map[string]struct {
		r    Registered
		want []string // branches of the error
		ok   bool
	}{
		"the branch exists":                            {Registered{Exists: true, Branches: []string{"main"}, Tags: true, Begun: true}, nil, true},
		"a repository without any commit":              {Registered{}, nil, true},
		"createBranch, beside another branch":          {Registered{Create: true, Branches: []string{"trunk"}, Tags: true, Begun: true}, nil, true},
		"renamed: another branch has its commits":      {Registered{Branches: []string{"trunk"}, Begun: true}, []string{"trunk"}, false},
		"mistyped, before anything is drafted":         {Registered{Branches: []string{"trunk", "dev"}}, []string{"dev", "trunk"}, false},
		"deleted: a tag shows that there was a branch": {Registered{Tags: true}, nil, false},
		"deleted: a Draft was made upon it":            {Registered{Begun: true}, nil, false},
	} {
		err := c.r.Missing("/git/c1.git", "main")
		var missing *NoBranchError
		if ok := err == nil; ok != c.ok {
			t.Errorf("%s: %v", reason, err)
		} else if !ok && (!errors.As(err, &missing) || !IsStalled(err) || cmp.Diff(c.want, missing.Branches) != "") {
			t.Errorf("%s: %v", reason, err)
		}
	}
	few := (&NoBranchError{Address: "/git/c1.git", Branch: "main", Branches: []string{"a", "b"}}).Error()
	if want := "branch main does not exist in /git/c1.git; there are: a, b: correct spec.git.branch or restore the branch; only spec.git.createBranch: true creates it, without the repository's other files"; few != want {
		t.Error(few)
	}
}
