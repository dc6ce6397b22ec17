package decide

import (
	"testing"

	"github.com/variform/variform/internal/lifecycle"
	"github.com/variform/variform/internal/record"
)

func TestNumbers(t *testing.T) {
	t.Parallel()
	at := func(n byte) Hash { return Hash{n} }
	tagged := func(n int) Published {
		return Published{Number: n, Ref: Ref{Name: lifecycle.PublishedRef("web", n), Commit: at(byte(n))}}
	}
	past := func(n int, commit Hash) record.Entry {
		return record.Entry{Path: "web", Place: record.Past, Revision: n, Commit: commit.String()}
	}
	draft := &Revision{Phase: lifecycle.Draft, Workspace: "packagevariant-3", Inputs: Inputs{Published: "v2"}}
	for reason, c := range map[string]struct {
		tags    []Published
		numbers []Numbered
		entries []record.Entry
		open    *Revision
		next    int
		lost    int  // whose tag is set again
		waits   bool // for a person
	}{
		"a new package":                                   {next: 1},
		"the newest has its tag":                          {tags: []Published{tagged(1), tagged(2)}, next: 3},
		"an older tag is missing":                         {tags: []Published{tagged(2)}, numbers: []Numbered{{1, at(1)}}, next: 3},
		"a deletion was approved":                         {entries: []record.Entry{{Path: "web", Place: record.Gone, Revision: 4}}, next: 5},
		"the branch's lines name what the tags lost":      {numbers: []Numbered{{3, at(3)}, {2, at(2)}}, next: 4, lost: 3},
		"the newest tag is lost":                          {tags: []Published{tagged(1)}, numbers: []Numbered{{2, at(2)}}, next: 3, lost: 2},
		"two commits say that they are one revision":      {numbers: []Numbered{{2, at(2)}, {2, at(9)}}, next: 3, waits: true},
		"one commit is named twice":                       {numbers: []Numbered{{2, at(2)}, {2, at(2)}}, next: 3, lost: 2},
		"the record alone knows the number":               {tags: []Published{tagged(1)}, entries: []record.Entry{past(2, at(2))}, next: 3, waits: true},
		"an open Draft started from what has no tag":      {open: draft, next: 3, waits: true},
		"the branch knows less than the Draft":            {open: draft, numbers: []Numbered{{1, at(1)}}, next: 3, waits: true},
		"the Draft started from the newest that is there": {open: draft, tags: []Published{tagged(2)}, next: 3},
	} {
		var revisions []*Revision
		if c.open != nil {
			revisions = append(revisions, c.open)
		}
		p := NewPackage("web", c.tags, revisions...)
		p.Entries, p.Numbers = c.entries, c.numbers
		lost, ok, err := p.Untagged()
		if p.Next() != c.next || ok != (c.lost > 0) || lost.Number != c.lost || (err != nil) != c.waits || err != nil && !IsStalled(err) {
			t.Errorf("%s: next %d, lost %v, %v", reason, p.Next(), lost, err)
		}
	}
}

func TestMisplacedTag(t *testing.T) {
	t.Parallel()
	latest := &Revision{Number: 1, Phase: lifecycle.Published, Ref: Ref{Name: "refs/tags/web/v1", Commit: Hash{1}}}
	for reason, c := range map[string]struct {
		entry record.Entry
		fails bool
	}{
		"as the record has it":           {record.Entry{Place: record.Past, Revision: 1, Commit: Hash{1}.String()}, false},
		"another revision":               {record.Entry{Place: record.Past, Revision: 2, Commit: Hash{2}.String()}, false},
		"a person moved it":              {record.Entry{Place: record.Past, Revision: 1, Commit: Hash{2}.String()}, true},
		"the record does not know where": {record.Entry{Place: record.Past, Revision: 1}, false},
	} {
		p := NewPackage("web", []Published{{Number: 1, Ref: latest.Ref}}, latest)
		p.Entries = []record.Entry{c.entry}
		if err := p.misplaced(); (err != nil) != c.fails {
			t.Errorf("%s: %v", reason, err)
		}
	}
}

func TestRetag(t *testing.T) {
	t.Parallel()
	open := &Revision{Phase: lifecycle.Draft, Workspace: "packagevariant-4", Ref: Ref{Name: "refs/heads/drafts/web/packagevariant-4", Commit: Hash{9}}}
	p := NewPackage("web", nil, open)
	if _, _, ok := Retag(p); ok {
		t.Error("nothing is lost")
	}
	p.Lost = &Revision{Number: 3, Phase: lifecycle.Published, Ref: Ref{Name: "refs/tags/web/v3", Hash: Hash{3}, Commit: Hash{3}}}
	ruling, next, ok := Retag(p)
	if tag, is := ruling.Decision.(Tag); !ok || !is || tag.Ref != "refs/tags/web/v3" || tag.Commit != (Hash{3}) || !tag.Again {
		t.Errorf("%+v", ruling)
	}
	if next.Latest != p.Lost || next.Next() != 4 || next.Open() != open || next.Lost != nil {
		t.Errorf("%+v", next)
	}
}

// Where no record tells what was Published, the registered branch is asked for numbers.
func TestTagsAlone(t *testing.T) {
	of := func(place record.Place) func(*Package) {
		return func(p *Package) { p.Entries = []record.Entry{{Place: place, Revision: 1, Commit: Hash{9}.String()}} }
	}
	for name, c := range map[string]struct {
		reason string
		p      *Package
		change func(*Package)
		want   bool
	}{
		"no record":          {"a newer tag may be lost", webPackage(tags(tag(1, 9)), publishedOf(1, 9)), nil, true},
		"a Draft's entry":    {"it does not tell what was Published", webPackage(tags(tag(1, 9)), publishedOf(1, 9)), of(record.Open), true},
		"recorded":           {"the record tells it", webPackage(tags(tag(1, 9)), publishedOf(1, 9)), of(record.Past), false},
		"on the branch":      {"the record tells it", webPackage(tags(tag(1, 9)), publishedOf(1, 9)), of(record.Main), false},
		"nothing Published":  {"no tag was there", webPackage(nil, draftOf(1, 9)), nil, false},
		"of nobody":          {"it is no variant's", webPackage(tags(tag(1, 9)), publishedOf(1, 9, by(""))), nil, false},
		"tagged in this run": {"the branch was asked", webPackage(tags(tag(1, 9)), publishedOf(1, 9)), func(p *Package) { p.tagged = true }, false},
	} {
		if c.change != nil {
			c.change(c.p)
		}
		if got := c.p.TagsAlone(); got != c.want {
			t.Errorf("%s: %t: %s", name, got, c.reason)
		}
	}
}
