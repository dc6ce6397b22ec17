package decide

import (
	"errors"
	"testing"

	"github.com/variform/variform/internal/record"
)

func TestOnMain(t *testing.T) {
	hotfix := func(changes ...func(*Branch)) *Branch {
		b := &Branch{Tree: Hash{50}, Came: Hash{90}, By: "Ann (5a5a5a5)", Owner: webOwner}
		for _, c := range changes {
			c(b)
		}
		return b
	}
	with := func(b *Branch, revisions ...*Revision) *Package {
		published := publishedOf(2, 9)
		p := webPackage(tags(tag(1, 8), tag(2, 9)), append(revisions, published)...)
		p.Branch, p.Trees = b, []Folder{{Hash{9}, Hash{40}}, {Hash{100}, Hash{50}}, {Hash{10}, Hash{51}}}
		return p
	}
	of := func(owner string, p *Package) *Package {
		p.Latest.Owner = owner
		return p
	}
	for name, c := range map[string]struct {
		p   *Package
		err string
	}{
		"a hotfix":               {p: with(hotfix())},
		"beside a Draft":         {p: with(hotfix(), draftOf(3, 10))},
		"a lost one":             {p: with(nil), err: "no local change: v2 is what is on main"},
		"never Published":        {p: webPackage(nil, draftOf(1, 10)), err: "no local change: no revision of it is Published"},
		"held":                   {p: saidOf(with(hotfix()), record.Entry{Hold: &ann}), err: "held by Ann: not now: variform hold --off c1/web"},
		"moved":                  {p: with(hotfix(func(b *Branch) { b.Tree, b.Now = Hash{}, []string{"apps/web"} })), err: "it was moved to apps/web on main by Ann (5a5a5a5)"},
		"deleted":                {p: with(hotfix(func(b *Branch) { b.Tree = Hash{} })), err: "deleted on main by Ann (5a5a5a5): apply --recreate c1/web"},
		"set back":               {p: with(hotfix(func(b *Branch) { b.Reverted = publishedOf(1, 8) })), err: "set back to v1 on main by Ann (5a5a5a5)"},
		"a merged Draft":         {p: with(hotfix(), draftOf(3, 100, func(r *Revision) { r.Machine.Commit = Hash{77} })), err: "a Draft was merged there: run apply"},
		"another's by its words": {p: with(hotfix(func(b *Branch) { b.Owner = "other/default/web" })), err: "does not say that it is of this fleet"},
		"another's":              {p: of("other/default/web", with(hotfix())), err: "Published v2 is no package of this fleet"},
	} {
		t.Run(name, func(t *testing.T) {
			published := c.p.Latest
			tag, now, err := OnMain(fleet, wanted(), repository(), c.p)
			if s := saying(err, c.err); s != "" {
				t.Fatal(s)
			}
			if errors.Is(err, ErrNoLocalChange) != (name == "a lost one" || name == "never Published") {
				t.Error(err)
			}
			if err != nil {
				return
			}
			if tag.Ref != "refs/tags/apps/web/v3" || tag.Commit != (Hash{90}) || tag.Draft != nil || !tag.Local || len(tag.Moves(Hash{})) != 1 {
				t.Errorf("%+v", tag)
			}
			l := now.Latest
			if l.Number != 3 || l.Owner != webOwner || l.Machine != published.Machine || l.Workspace != "" || now.Branch != nil {
				t.Errorf("%+v, %+v", l, now.Branch)
			}
			if c.p.Latest != published || c.p.Branch == nil {
				t.Error("the package is changed")
			}
		})
	}
}

func TestTagsMain(t *testing.T) {
	r := repository()
	for says, want := range map[string]bool{"": false, "never": false, "always": true} {
		r.Annotations = map[string]string{"variform.dev/tag-main": says}
		if r.TagsMain() != want {
			t.Errorf("%q: %t", says, r.TagsMain())
		}
	}
	p := webPackage(tags(tag(2, 9)), publishedOf(2, 9))
	p.Branch = &Branch{By: "Ann (5a5a5a5)"}
	if got := AtOnce(Tag{Local: true}, r, p); got.Decision.(Tag) != (Tag{Local: true}) || got.Reasons[0] != "main moved since v2 by Ann (5a5a5a5): becomes v3, for variform.dev/tag-main is always" {
		t.Errorf("%+v", got)
	}
}
