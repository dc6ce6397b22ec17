package pulls

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func draft(name, commit, class string) Draft {
	return Draft{Name: "c1/" + name, Path: "apps/" + name, Branch: "drafts/apps/" + name + "/packagevariant-1", Commit: commit, Class: class, Says: "image 1 → 2"}
}

// had is the request that a run before made of Drafts, with its number.
func had(number int, mode Mode, drafts ...Draft) Open {
	t := Terms{Manager: "fleet"}
	r := Group(mode, "fleet", drafts)[0]
	r.Text = "text"
	return Open{Number: number, Branch: r.Branch, Commit: "h", Title: r.Title, Body: r.body(&t, "", "", "")}
}

func with(o Open, change func(*Open)) Open {
	change(&o)
	return o
}

func TestGroup(t *testing.T) {
	a, b, c := draft("alpha", "1", "k1"), draft("beta", "2", "k2"), draft("gamma", "3", "k1")
	for name, tt := range map[string]struct {
		mode Mode
		want map[string][]string
	}{
		"variant":    {ByVariant, map[string][]string{a.Branch: {"c1/alpha"}, b.Branch: {"c1/beta"}, c.Branch: {"c1/gamma"}}},
		"class":      {ByClass, map[string][]string{"variform/fleet/k1": {"c1/alpha", "c1/gamma"}, "variform/fleet/k2": {"c1/beta"}}},
		"repository": {ByRepository, map[string][]string{"variform/fleet/all": {"c1/alpha", "c1/beta", "c1/gamma"}}},
	} {
		got := map[string][]string{}
		last := ""
		for _, r := range Group(tt.mode, "fleet", []Draft{c, b, a}) {
			if r.Branch <= last {
				t.Errorf("%s: %s after %s", name, r.Branch, last)
			}
			last = r.Branch
			for _, d := range r.Drafts {
				got[r.Branch] = append(got[r.Branch], d.Name)
			}
			if made := tt.mode != ByVariant; r.Made() != made {
				t.Errorf("%s: made: %t", name, r.Made())
			}
		}
		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("%s: -want +got:\n%s", name, d)
		}
	}
}

func TestTitle(t *testing.T) {
	long := draft("alpha", "1", "k")
	long.Says = strings.Repeat("ä\n", 200)
	from := func(d Draft, pkg, was, now string) Draft {
		d.Package, d.Was, d.Now = pkg, was, now
		return d
	}
	a, b, other := draft("alpha", "1", "k"), draft("beta", "2", "k"), draft("gamma", "2", "l")
	for want, drafts := range map[string][]Draft{
		"image 1 → 2 (c1/alpha)":                                {a},
		"image 1 → 2 (c1/alpha and 1 more)":                     {a, b},
		"web v1→v2: image 1 → 2 (c1/alpha and 1 more)":          {from(a, "web", "v1", "v2"), from(b, "web", "v1", "v2")},
		"web: image 1 → 2 (c1/alpha and 1 more)":                {from(a, "web", "v1", "v2"), from(b, "web", "v0", "v2")},
		"web v2: image 1 → 2 (c1/alpha)":                        {from(a, "web", "", "v2")},
		"web v1: image 1 → 2 (c1/alpha)":                        {from(a, "web", "v1", "")},
		"web v1: image 1 → 2 (c1/beta)":                         {from(b, "web", "v1", "v1")},
		"web v1→v2: 2 classes of change (c1/alpha and 1 more)":  {from(a, "web", "v1", "v2"), from(other, "web", "v1", "v2")},
		"2 packages: 2 classes of change (c1/alpha and 2 more)": {from(a, "web", "v1", "v2"), from(other, "db", "v1", "v2"), from(b, "web", "v1", "v2")},
	} {
		if got := title(drafts); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := title([]Draft{long}); len(got) > maxTitle || strings.Contains(got, "\n") || !strings.HasSuffix(got, "… (c1/alpha)") || strings.Contains(got, "\uFFFD") {
		t.Errorf("%d: %q", len(got), got)
	}
}

func TestParseMode(t *testing.T) {
	for _, s := range []string{"variant", "class", "repository"} {
		if m, err := ParseMode(s); err != nil || string(m) != s {
			t.Errorf("%s: %v", s, err)
		}
	}
	if _, err := ParseMode("all"); err == nil || !strings.Contains(err.Error(), "choose variant, class or repository") {
		t.Error(err)
	}
}

// The table of what becomes of requests. Each step is action, branch, what its head
// needs, and part of why.
func TestPlan(t *testing.T) {
	a, b, c := draft("alpha", "1", "k1"), draft("beta", "2", "k1"), draft("gamma", "3", "k2")
	a2 := draft("alpha", "9", "k9") // its next Draft: another commit, another class
	k1 := had(1, ByClass, a, b)
	unmarked := func(o *Open) { o.Body = "gone" }
	type step struct {
		Action Action
		Number int
		Branch string
		Build  bool
		Why    string
	}
	for name, tt := range map[string]struct {
		reason string
		mode   Mode
		drafts []Draft
		there  []Open
		terms  Terms
		want   []step
	}{
		"first":            {"", ByClass, []Draft{a, b}, nil, Terms{}, []step{{ActionOpen, 0, "variform/fleet/k1", true, ""}}},
		"again":            {"nothing has moved", ByClass, []Draft{a, b}, []Open{k1}, Terms{}, []step{{ActionNone, 1, "variform/fleet/k1", false, ""}}},
		"a commit moved":   {"", ByClass, []Draft{a, draft("beta", "8", "k1")}, []Open{k1}, Terms{}, []step{{ActionUpdate, 1, "variform/fleet/k1", true, ""}}},
		"another key":      {"it is known by its Drafts", ByClass, []Draft{a2}, []Open{k1}, Terms{}, []step{{ActionUpdate, 1, "variform/fleet/k1", true, ""}}},
		"its class in two": {"the larger part keeps it", ByClass, []Draft{a2, b, c}, []Open{had(1, ByRepository, a, b, c)}, Terms{}, []step{{ActionUpdate, 1, "variform/fleet/all", true, ""}, {ActionOpen, 0, "variform/fleet/k2", true, ""}, {ActionOpen, 0, "variform/fleet/k9", true, ""}}},
		"two become one":   {"the one with more in common stays", ByRepository, []Draft{a, b, c}, []Open{had(3, ByClass, c), had(4, ByClass, a, b)}, Terms{Whole: true}, []step{{ActionUpdate, 4, "variform/fleet/k1", true, ""}, {ActionClose, 3, "", false, "waits any more"}}},
		"the mark is gone": {"its branch tells", ByClass, []Draft{a, b}, []Open{with(k1, unmarked)}, Terms{}, []step{{ActionUpdate, 1, "variform/fleet/k1", true, ""}}},
		"nothing waits":    {"", ByClass, nil, []Open{k1}, Terms{Whole: true}, []step{{ActionClose, 1, "", false, "waits any more"}}},
		"a part":           {"what was not given may wait", ByClass, []Draft{c}, []Open{k1}, Terms{}, []step{{ActionOpen, 0, "variform/fleet/k2", true, ""}}},
		"a person's":       {"theirs is nobody's to close", ByClass, nil, []Open{{Number: 7, Branch: "feature", Title: "x"}}, Terms{Whole: true}, nil},
		"another fleet's": {"", ByClass, nil, []Open{with(k1, func(o *Open) {
			o.Branch, o.Body = "variform/other/k1", strings.Replace(o.Body, "fleet=fleet", "fleet=other", 1)
		})}, Terms{Whole: true}, nil},
		"merged":          {"its Drafts wait for a run that tags", ByClass, []Draft{a, b}, []Open{with(k1, func(o *Open) { o.Merged = true })}, Terms{}, []step{{ActionOpen, 0, "variform/fleet/k1", true, ""}}},
		"closed":          {"it is turned down", ByClass, []Draft{a, b}, []Open{with(k1, func(o *Open) { o.Closed = true })}, Terms{}, []step{{ActionKeep, 1, "variform/fleet/k1", false, "it was closed"}}},
		"closed, changed": {"this was not seen", ByClass, []Draft{a, draft("beta", "8", "k1")}, []Open{with(k1, func(o *Open) { o.Closed = true })}, Terms{}, []step{{ActionOpen, 0, "variform/fleet/k1", true, ""}}},
		"closed, asked":   {"", ByClass, []Draft{a, b}, []Open{with(k1, func(o *Open) { o.Closed = true })}, Terms{Asked: func(d Draft) bool { return d.Name == "c1/beta" }}, []step{{ActionOpen, 0, "variform/fleet/k1", true, ""}}},
		"astray":          {"what its Drafts are not goes", ByClass, []Draft{a, b}, []Open{k1}, Terms{Astray: func(*Request) bool { return true }}, []step{{ActionUpdate, 1, "variform/fleet/k1", true, "was not what its Drafts make"}}},
		"astray, a person's": {"who committed is asked", ByClass, []Draft{a, b}, []Open{k1}, Terms{
			Astray: func(*Request) bool { return true }, Theirs: func(string, string) string { return "Ann" },
		}, []step{{ActionNone, 1, "variform/fleet/k1", false, ""}}},
		"edited, as it is": {"", ByClass, []Draft{a, b}, []Open{k1}, Terms{Theirs: func(string, string) string { return "Ann" }}, []step{{ActionNone, 1, "variform/fleet/k1", false, ""}}},
		"edited, moved": {"their commit would go", ByClass, []Draft{a, c}, []Open{k1}, Terms{Theirs: func(branch, commit string) string {
			return map[string]string{"variform/fleet/k1": "Ann at " + branch + " " + commit}[branch]
		}}, []step{{ActionKeep, 1, "variform/fleet/k1", false, "Ann at variform/fleet/k1 h committed"}, {ActionOpen, 0, "variform/fleet/k2", true, ""}}},
		"edited, and left": {"their commit would go", ByClass, []Draft{a, b}, nil, Terms{
			Theirs: func(branch, commit string) string { return map[string]string{"variform/fleet/k1": "Ann"}[branch] },
			Tip:    func(branch string) string { return map[string]string{"variform/fleet/k1": "abc"}[branch] },
		}, []step{{ActionOpen, 0, "variform/fleet/k1-" + short("abc")[:6], true, ""}}},
		"no head":          {"its branch was deleted", ByClass, []Draft{a, b}, []Open{k1}, Terms{Tip: func(string) string { return "" }}, []step{{ActionUpdate, 1, "variform/fleet/k1", true, ""}}},
		"a head":           {"", ByClass, []Draft{a, b}, []Open{k1}, Terms{Tip: func(string) string { return "h" }}, []step{{ActionNone, 1, "variform/fleet/k1", false, ""}}},
		"a part of one":    {"the rest would go", ByClass, []Draft{a}, []Open{k1}, Terms{Others: func(p string) bool { return p == b.Path }}, []step{{ActionKeep, 1, "variform/fleet/k1", false, "name apps/beta as well, or give --all"}}},
		"what is left":     {"nothing else waits", ByClass, []Draft{a}, []Open{k1}, Terms{Others: func(p string) bool { return p == c.Path }}, []step{{ActionUpdate, 1, "variform/fleet/k1", true, ""}}},
		"variant":          {"its own branch", ByVariant, []Draft{a}, nil, Terms{}, []step{{ActionOpen, 0, a.Branch, false, ""}}},
		"variant, moved":   {"the text says which commit", ByVariant, []Draft{draft("alpha", "8", "k1")}, []Open{had(1, ByVariant, a)}, Terms{}, []step{{ActionUpdate, 1, a.Branch, false, ""}}},
		"by hand":          {"one branch has one request", ByVariant, []Draft{a}, []Open{{Number: 5, Branch: a.Branch, Title: "mine"}}, Terms{Whole: true}, []step{{ActionKeep, 5, a.Branch, false, "opened by hand"}}},
		"class to variant": {"", ByVariant, []Draft{a, b}, []Open{k1}, Terms{Whole: true}, []step{{ActionOpen, 0, a.Branch, false, ""}, {ActionOpen, 0, b.Branch, false, ""}, {ActionClose, 1, "", false, "waits any more"}}},
		"variant to class": {"", ByClass, []Draft{a}, []Open{had(1, ByVariant, a)}, Terms{Whole: true}, []step{{ActionOpen, 0, "variform/fleet/k1", true, ""}, {ActionClose, 1, "", false, "waits any more"}}},
	} {
		t.Run(name, func(t *testing.T) {
			wanted := Group(tt.mode, "fleet", tt.drafts)
			for i := range wanted {
				wanted[i].Text = "text"
			}
			tt.terms.Manager = "fleet"
			var got []step
			for i, s := range Plan(tt.terms, wanted, tt.there) {
				g := step{Action: s.Action, Build: s.Build, Why: s.Why}
				if s.Open != nil {
					g.Number = s.Open.Number
				}
				if s.Request != nil {
					g.Branch = s.Request.Branch
				}
				if i < len(tt.want) && strings.Contains(g.Why, tt.want[i].Why) && (g.Why == "") == (tt.want[i].Why == "") {
					g.Why = tt.want[i].Why
				}
				got = append(got, g)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("%s: -want +got:\n%s", tt.reason, d)
			}
		})
	}
}

// What people write around the run's own text stays, and a title that they gave.
func TestBody(t *testing.T) {
	a := draft("alpha", "1", "k1")
	terms := Terms{Manager: "fleet"}
	request := func(commit, text string) Request {
		d := a
		d.Commit, d.Says = commit, "image 2 → "+commit
		r := Group(ByClass, "fleet", []Draft{d})[0]
		r.Text = text
		return r
	}
	first := request("1", "one")
	o := Open{Number: 1, Branch: first.Branch, Title: first.Title, Body: "Ann: good\n\n" + first.body(&terms, "", "", "") + "\n\nBen: yes"}
	again := func(r Request) Step { return Plan(terms, []Request{r}, []Open{o})[0] }
	if s := again(first); s.Action != ActionNone {
		t.Errorf("%+v", s)
	}
	s := again(request("2", "two"))
	if s.Action != ActionUpdate || !strings.HasPrefix(s.Body, "Ann: good\n\n<!-- variform: fleet=fleet ") || !strings.HasSuffix(s.Body, "\n\nBen: yes") ||
		strings.Contains(s.Body, "\none\n") || !strings.Contains(s.Body, "\ntwo\n") || s.Title != "image 2 → 2 (c1/alpha)" {
		t.Errorf("%+v", s)
	}
	o.Title = "Ours"
	if s := again(request("2", "two")); s.Title != "Ours" {
		t.Errorf("%+v", s)
	}
	o.Body = "all new"
	if s := again(first); s.Action != ActionUpdate || !strings.HasPrefix(s.Body, "all new\n\n<!-- variform:") {
		t.Errorf("%+v", s)
	}
}

// Only what people close is turned down.
func TestClosedByTheRun(t *testing.T) {
	a := draft("alpha", "1", "k1")
	terms := Terms{Manager: "fleet", Whole: true}
	o := had(1, ByVariant, a)
	o.Body = "Ann: good\n\n" + o.Body
	steps := Plan(terms, nil, []Open{o, {Number: 2, Branch: "variform/fleet/k9", Body: "no mark"}})
	if len(steps) != 2 || steps[0].Body == o.Body || !strings.HasPrefix(steps[0].Body, "Ann: good\n\n<!-- variform: fleet=fleet ") || steps[1].Body != "no mark" {
		t.Fatalf("%+v", steps)
	}
	o.Body, o.Closed = steps[0].Body, true
	if s := Plan(terms, Group(ByVariant, "fleet", []Draft{a}), []Open{o}); s[0].Action != ActionOpen {
		t.Errorf("%+v", s)
	}
}

// A text that has marks of its own neither ends the request's mark nor begins
// another one: a run with nothing to do writes nothing.
func TestMarksInATextAreText(t *testing.T) {
	terms := Terms{Manager: "fleet", Whole: true}
	a := draft("alpha", "1", "k1")
	for name, text := range map[string]string{
		"an end":          "one <!-- /variform --> two",
		"a beginning":     "one <!-- variform: fleet=evil digest=x members=p9 --> two",
		"both, many":      strings.Repeat("<!-- /variform --><!-- variform: fleet=evil -->\n", 3),
		"none":            "one <!-- comment --> two",
		"of other spaces": "<!--  /variform -->",
	} {
		t.Run(name, func(t *testing.T) {
			r := Group(ByVariant, "fleet", []Draft{a})[0]
			r.Text = text
			body := r.body(&terms, "Ann: good", "h", "")
			if m, ok := findMark(body); !ok || m.fleet != "fleet" || m.end != len(body) {
				t.Errorf("the mark of %q is %+v", body, m)
			}
			if again := r.body(&terms, body, "h", ""); again != body {
				t.Errorf("%q became %q", body, again)
			}
			r.Text = "three"
			if later := r.body(&terms, body, "h", ""); strings.Contains(later, "two") || strings.Contains(later, "evil") || !strings.Contains(later, "three") {
				t.Errorf("an earlier text is left in %q", later)
			}
		})
	}
}

// Words of packages in a title neither mention nor close, and skip no checks.
func TestTitleIsInert(t *testing.T) {
	d := draft("alpha", "1", "k1")
	d.Says = "ConfigMap c: data[a [skip ci] closes #1] @org/all"
	r := Group(ByVariant, "fleet", []Draft{d})[0]
	if want := "ConfigMap c: data[a ［skip ci］ closes ＃1] ＠org/all (c1/alpha)"; r.Title != want {
		t.Errorf("the title is %q, want %q", r.Title, want)
	}
}

// Anybody may write a mark: what is none is no mark.
func TestFindMark(t *testing.T) {
	for text, want := range map[string]*mark{
		"":                           nil,
		"<!-- variform:":             nil,
		"<!-- variform: x=y -->":     nil,
		"<!-- variform: fleet=f -->": {fleet: "f", end: 26},
		"é <!-- variform: fleet=f digest=d members=a/b,e --> t <!-- /variform --> u": {fleet: "f", digest: "d", members: []string{"a/b", "e"}, begin: 3, end: 73},
	} {
		m, ok := findMark(text)
		if ok != (want != nil) {
			t.Errorf("%q: %t", text, ok)
		}
		if want != nil {
			if d := cmp.Diff(*want, m, cmp.AllowUnexported(mark{})); d != "" {
				t.Errorf("%q: %s", text, d)
			}
		}
	}
}

func TestUnused(t *testing.T) {
	a, b := draft("alpha", "1", "k1"), draft("beta", "2", "k2")
	tips := map[string]string{"main": "m", a.Branch: "1", "variform/fleet/k1": "h", "variform/fleet/k0": "o", "variform/fleet/theirs": "p", "variform/other/k1": "q", "variform/fleet/k2": "r", "variform/fleet/k5": "s"}
	terms := Terms{Manager: "fleet", Whole: true, Theirs: func(_, commit string) string { return map[string]string{"p": "Ann"}[commit] }}
	closed := with(had(4, ByClass, b), func(o *Open) { o.Closed = true })
	steps := Plan(terms, Group(ByClass, "fleet", []Draft{a, b}), []Open{had(1, ByClass, a), had(3, ByClass, draft("gamma", "5", "k5")), closed})
	if d := cmp.Diff([]string{"variform/fleet/k0", "variform/fleet/k5"}, Unused(terms, steps, tips)); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	terms.Whole = false
	if got := Unused(terms, steps, tips); got != nil {
		t.Errorf("%v, though a part was given", got)
	}
}

func TestLongMarks(t *testing.T) {
	few, many, random := []string{"a/b", "c"}, make([]string, 10_000), make([]string, 5_000)
	for i := range many {
		many[i] = fmt.Sprintf("cluster-%05d-web", i)
	}
	r := rand.New(rand.NewPCG(1, 1))
	for i := range random {
		random[i] = fmt.Sprintf("%016x%016x", r.Uint64(), r.Uint64())
	}
	for name, c := range map[string]struct {
		paths []string
		least int // that the next run knows
	}{
		"a few": {few, len(few)}, "thousands": {many, len(many)}, "that do not pack": {random, 1000},
	} {
		req := Request{Title: "t", Text: "words"}
		for _, p := range c.paths {
			req.Drafts = append(req.Drafts, Draft{Path: p, Name: p})
		}
		body := req.body(&Terms{Manager: "f"}, "", "", "")
		if len(body) > MarkLimit+len(req.Text) {
			t.Errorf("%s: %d bytes", name, len(body))
		}
		m, ok := findMark(body)
		if !ok || len(m.members) < c.least || !slices.Equal(m.members, c.paths[:len(m.members)]) {
			t.Errorf("%s: %v, %d members", name, ok, len(m.members))
		}
	}
	var bomb bytes.Buffer
	w, _ := flate.NewWriter(&bomb, flate.BestCompression)
	_, _ = w.Write(make([]byte, 5<<20))
	_ = w.Close()
	for _, word := range []string{"", "-", "AAAA", base64.RawURLEncoding.EncodeToString(bomb.Bytes())} {
		if got := unpacked(word); got != nil {
			t.Errorf("%.10q gives %d members", word, len(got))
		}
	}
}

// What status says of each Draft.
func TestStanding(t *testing.T) {
	a, b, c := draft("alpha", "1", "k1"), draft("beta", "2", "k1"), draft("gamma", "3", "k2")
	at := func(o Open, change func(*Open)) Open {
		return with(o, func(o *Open) { o.URL = "https://example.com/1"; change(o) })
	}
	open, shut := at(had(1, ByClass, a, b), func(*Open) {}), at(had(1, ByClass, a, b), func(o *Open) { o.Closed = true })
	first, second := draft("beta", "1", "k1"), draft("beta", "2", "k1")
	second.Branch += "-too"
	const turnedDown = "turned down: request https://example.com/1 was closed; propose NAME --pull-requests opens another"
	for name, tt := range map[string]struct {
		there  []Open
		drafts []Draft
		want   map[string]string
	}{
		"open":           {[]Open{open}, []Draft{b, a, c}, map[string]string{a.Path: "request https://example.com/1 waits for its review", b.Path: "request https://example.com/1 waits for its review"}},
		"a draft":        {[]Open{at(open, func(o *Open) { o.Draft = true })}, []Draft{a}, map[string]string{a.Path: "request https://example.com/1 is a draft"}},
		"no head":        {[]Open{at(open, func(o *Open) { o.Headless = true })}, []Draft{a}, map[string]string{a.Path: "request https://example.com/1 lost its branch variform/fleet/k1: apply creates it again"}},
		"by its branch":  {[]Open{{Number: 1, Branch: c.Branch, URL: "https://example.com/1"}}, []Draft{a, c}, map[string]string{c.Path: "request https://example.com/1 waits for its review"}},
		"turned down":    {[]Open{shut}, []Draft{b, a, c}, map[string]string{a.Path: turnedDown, b.Path: turnedDown}},
		"changed since":  {[]Open{shut}, []Draft{a, draft("beta", "9", "k1")}, nil},
		"closed and new": {[]Open{shut, at(had(2, ByClass, a, b), func(o *Open) { o.URL = "https://example.com/2" })}, []Draft{a}, map[string]string{a.Path: "request https://example.com/2 waits for its review"}},
		"a path twice":   {[]Open{at(had(1, ByClass, second, a, first), func(o *Open) { o.Closed = true })}, []Draft{first, a, second}, map[string]string{a.Path: turnedDown, first.Path: turnedDown}},
		"merged":         {[]Open{at(open, func(o *Open) { o.Merged = true })}, []Draft{a, b}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := map[string]string{}
			for path, o := range Standing(tt.there, tt.drafts) {
				got[path] = o.Says()
			}
			if d := cmp.Diff(tt.want, got, cmpopts.EquateEmpty()); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}
