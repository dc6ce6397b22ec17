package decide

import (
	"slices"
	"strings"
	"testing"
)

type refNames []string

func (r refNames) Has(name string) bool { return slices.Contains(r, name) }

func (r refNames) Below(folder string) (string, bool) {
	i := slices.IndexFunc(r, func(name string) bool { return strings.HasPrefix(name, folder) })
	if i < 0 {
		return "", false
	}
	return r[i], true
}

func TestBlocked(t *testing.T) {
	t.Parallel()
	for reason, c := range map[string]struct {
		refs refNames
		want string
	}{
		"nothing is in the way":             {refNames{"refs/heads/main", "refs/heads/drafts/apps/web-2/packagevariant-1", "refs/tags/apps/web2", "refs/tags/v1"}, ""},
		"a branch is called drafts":         {refNames{"refs/heads/drafts"}, "branch drafts exists in /git/c1, so Git can create no branch drafts/apps/web/ beside it: rename or delete that branch"},
		"a branch is called proposed":       {refNames{"refs/heads/proposed"}, "branch proposed exists"},
		"a branch is called as the folder":  {refNames{"refs/heads/drafts/apps"}, "branch drafts/apps exists"},
		"a branch is called as the package": {refNames{"refs/heads/drafts/apps/web"}, "branch drafts/apps/web exists"},
		"a tag is called as the package":    {refNames{"refs/tags/apps/web"}, "tag apps/web exists in /git/c1, so Git can create no tag apps/web/v1 beside it: rename or delete that tag"},
		"a tag is called as the folder":     {refNames{"refs/tags/apps"}, "tag apps exists"},
		"a tag is below the revision's":     {refNames{"refs/tags/apps/web/v1/x"}, "tag apps/web/v1/x exists"},
		"a branch is below the Draft's":     {refNames{"refs/heads/drafts/apps/web/packagevariant-1/x"}, "branch drafts/apps/web/packagevariant-1/x exists"},
	} {
		err := Blocked("/git/c1", c.refs, append(NewPackage("apps/web", nil).Refs(), "refs/heads/drafts/apps/web/packagevariant-1")...)
		if (err == nil) != (c.want == "") || err != nil && (!strings.HasPrefix(err.Error(), c.want) || !IsStalled(err)) {
			t.Errorf("%s: %v", reason, err)
		}
	}
}
