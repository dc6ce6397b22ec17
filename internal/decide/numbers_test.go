package decide

import (
	"strings"
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
	gone := func(n int) []record.Entry { return []record.Entry{{Path: "web", Place: record.Gone, Revision: n}} }
	line := func(n int, commit byte) Numbered { return Numbered{Number: n, Commit: at(commit)} }
	deleted := func(n int) Numbered { return Numbered{Number: n, Commit: at(byte(n)), Deleted: true} }
	draft := &Revision{Phase: lifecycle.Draft, Workspace: "packagevariant-3", Newest: Numbered{Number: 2}}
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
		"an older tag is missing":                         {tags: []Published{tagged(2)}, numbers: []Numbered{line(1, 1)}, next: 3},
		"a deletion was approved":                         {entries: gone(4), next: 5},
		"a deletion was approved, and no record has it":   {numbers: []Numbered{deleted(4), deleted(3)}, next: 5},
		"it was Published again since":                    {numbers: []Numbered{line(5, 5), deleted(4)}, next: 6, lost: 5},
		"the branch's lines name what the tags lost":      {numbers: []Numbered{line(3, 3), line(2, 2)}, next: 4, lost: 3},
		"the newest tag is lost":                          {tags: []Published{tagged(1)}, numbers: []Numbered{line(2, 2)}, next: 3, lost: 2},
		"two commits say that they are one revision":      {numbers: []Numbered{line(2, 2), line(2, 9)}, next: 3, waits: true},
		"one commit is named twice":                       {numbers: []Numbered{line(2, 2), line(2, 2)}, next: 3, lost: 2},
		"a record that nothing confirms stops nothing":    {tags: []Published{tagged(1)}, entries: []record.Entry{past(7, at(2))}, next: 8},
		"a record that lies about a deletion":             {tags: []Published{tagged(1)}, entries: gone(7), numbers: []Numbered{line(2, 2)}, next: 8, lost: 2},
		"a record that lies about a commit":               {tags: []Published{tagged(1)}, entries: []record.Entry{past(2, at(9))}, numbers: []Numbered{line(2, 2)}, next: 3, lost: 2},
		"an open Draft started from what has no tag":      {open: draft, tags: []Published{tagged(1)}, next: 3, waits: true},
		"no revision has a tag, and a Draft names one":    {open: draft, next: 3},
		"the branch knows less than the Draft":            {open: draft, numbers: []Numbered{line(1, 1)}, next: 3, waits: true},
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

// The record's number of a merged Draft is used again for just that commit.
func TestNextAt(t *testing.T) {
	t.Parallel()
	p := NewPackage("web", []Published{{Number: 1, Ref: Ref{Name: lifecycle.PublishedRef("web", 1), Commit: Hash{1}}}})
	p.Entries = []record.Entry{
		{Path: "web", Place: record.Past, Revision: 1, Commit: Hash{5}.String()},
		{Path: "web", Place: record.Past, Revision: 3, Commit: Hash{3}.String()},
		{Path: "web", Place: record.Past, Revision: 4, Commit: Hash{4}.String()},
	}
	for reason, c := range map[string]struct {
		commit Hash
		want   int
	}{
		"it had this number":           {Hash{3}, 3},
		"the record does not know it":  {Hash{9}, 5},
		"another commit has that one":  {Hash{5}, 5},
		"the newest that is not there": {Hash{4}, 4},
	} {
		if got := p.nextAt(c.commit); got != c.want {
			t.Errorf("%s: %d, want %d", reason, got, c.want)
		}
	}
}

func TestMisplacedTag(t *testing.T) {
	t.Parallel()
	own, other := Hash{1}, Hash{2}
	for reason, c := range map[string]struct {
		revision Revision
		numbers  []Numbered
		entries  []record.Entry
		says     string // "" where the tag is right
	}{
		"its own commit has its number":               {Revision{Approved: true, Newest: Numbered{Number: 2, Commit: own}}, nil, nil, ""},
		"a copy of its commit came to the branch":     {Revision{Approved: true, Newest: Numbered{Number: 2, Commit: own}}, []Numbered{{Number: 2, Commit: other}}, nil, ""},
		"a forge merged it, made from the one before": {Revision{Newest: Numbered{Number: 1}}, nil, nil, ""},
		"people committed upon the one before":        {Revision{Newest: Numbered{Number: 1, Commit: other}}, nil, nil, ""},
		"no commit has a number":                      {Revision{}, nil, nil, ""},
		"the record has it elsewhere":                 {Revision{}, nil, []record.Entry{{Place: record.Past, Revision: 2, Commit: other.String()}}, ""},
		"it was moved to a later commit":              {Revision{Newest: Numbered{Number: 2, Commit: other}}, nil, nil, "was Published at 0200000"},
		"it was moved to an earlier commit":           {Revision{Newest: Numbered{Number: 1, Commit: Hash{3}}}, []Numbered{{Number: 2, Commit: other}}, nil, "was Published at 0200000"},
		"it was deleted since":                        {Revision{Newest: Numbered{Number: 1, Commit: Hash{3}}}, []Numbered{{Number: 2, Commit: other, Deleted: true}}, nil, ""},
		"it was moved to another revision":            {Revision{Newest: Numbered{Number: 1, Commit: own}}, nil, nil, "where v1 was Published"},
		"it was moved to a Draft made from it":        {Revision{Newest: Numbered{Number: 2}}, nil, nil, "which was made from v2"},
	} {
		r := c.revision
		r.Number, r.Phase, r.Ref = 2, lifecycle.Published, Ref{Name: "refs/tags/web/v2", Commit: own}
		p := NewPackage("web", []Published{{Number: 2, Ref: r.Ref}}, &r)
		p.Entries, p.Numbers = c.entries, c.numbers
		switch err := p.misplaced(); {
		case err == nil && c.says == "":
		case err == nil || c.says == "" || !strings.Contains(err.Error(), c.says) || !IsStalled(err):
			t.Errorf("%s: %v, want %q", reason, err, c.says)
		}
		if p.tagged = true; p.misplaced() != nil {
			t.Errorf("%s: this run sets the tag", reason)
		}
	}
}

// A moved tag stops the package only if an open Draft was built from the commit before.
func TestMovedUnder(t *testing.T) {
	t.Parallel()
	own, other, tree := Hash{1}, Hash{2}, Hash{50}
	entry := record.Entry{Place: record.Main, Revision: 2, Commit: other.String(), Tree: Hash{51}.String()}
	changed := func(change func(e *record.Entry)) record.Entry { e := entry; change(&e); return e }
	for reason, c := range map[string]struct {
		entry record.Entry
		since string
		says  bool
	}{
		"moved under the Draft":          {entry, "v2", true},
		"the Draft is of the branch":     {changed(func(e *record.Entry) { e.Inputs = "the branch" }), "v2", false},
		"the Draft is older":             {entry, "v1", false},
		"the Draft has no revision":      {entry, "", false},
		"the record has it there":        {changed(func(e *record.Entry) { e.Commit = own.String() }), "v2", false},
		"the record has what it holds":   {changed(func(e *record.Entry) { e.Tree = tree.String() }), "v2", false},
		"the record has an earlier one":  {changed(func(e *record.Entry) { e.Revision = 1 }), "v2", false},
		"the record has no commit of it": {changed(func(e *record.Entry) { e.Commit = "2" }), "v2", false},
		"the Draft is of another commit": {changed(func(e *record.Entry) { e.Commit = Hash{3}.String() }), "v2", false},
		"the record tells of the past":   {changed(func(e *record.Entry) { e.Place = record.Past }), "v2", false},
	} {
		latest := publishedOf(2, 1)
		latest.Ref = Ref{Name: "refs/tags/" + webPath + "/v2", Commit: own}
		draft := draftOf(3, 10, since(c.since))
		draft.Machine = &Machine{Parents: []Hash{other}}
		if c.entry.Inputs != "" {
			draft.Inputs.Main = c.entry.Inputs
		}
		p := NewPackage(webPath, []Published{{Number: 2, Ref: latest.Ref}}, latest, draft)
		p.Entries = []record.Entry{c.entry}
		p.Learn(own, tree)
		err := p.misplaced()
		if (err != nil) != c.says || err != nil && (!IsStalled(err) || !strings.Contains(err.Error(), "the record has it at 0200000, which Draft packagevariant-3 was made from")) {
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
func TestUnconfirmed(t *testing.T) {
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
		"another revision":   {"a newer tag may be lost", webPackage(tags(tag(2, 9)), publishedOf(2, 9)), of(record.Past), true},
		"at another commit":  {"the tag may be moved", webPackage(tags(tag(1, 8)), publishedOf(1, 8)), of(record.Past), true},
		"a Draft's entry":    {"it does not tell what was Published", webPackage(tags(tag(1, 9)), publishedOf(1, 9)), of(record.Open), true},
		"recorded":           {"the record tells it", webPackage(tags(tag(1, 9)), publishedOf(1, 9)), of(record.Past), false},
		"on the branch":      {"the record tells it", webPackage(tags(tag(1, 9)), publishedOf(1, 9)), of(record.Main), false},
		"nothing Published":  {"no tag was there", webPackage(nil, draftOf(1, 9)), nil, false},
		"of nobody":          {"its tag may be moved as well", webPackage(tags(tag(1, 9)), publishedOf(1, 9, by(""))), nil, true},
		"tagged in this run": {"the branch was asked", webPackage(tags(tag(1, 9)), publishedOf(1, 9)), func(p *Package) { p.tagged = true }, false},
	} {
		if c.change != nil {
			c.change(c.p)
		}
		if got := c.p.Unconfirmed(); got != c.want {
			t.Errorf("%s: %t: %s", name, got, c.reason)
		}
	}
}
