package browser

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/variform/variform/internal/page"
	"github.com/variform/variform/internal/review"
)

// evil is a value that would run, were it not text.
const evil = `<script>document.title='taken'</script><img src=x onerror="document.title='taken'">`

// fleet is a review of n variants in some classes, one of which is marked.
func fleet(n, classes int) *review.Digest {
	r := &review.Report{Packages: []review.Summary{{Package: "catalog/web", Summary: "web"}}}
	for k := range classes {
		c := review.Class{Package: "catalog/web", Key: fmt.Sprintf("%012x", k), Says: fmt.Sprintf("sets number %d to %s", k, evil), Lines: 1}
		c.ID = c.Key + "@" + c.Key
		for i := k * n / classes; i < (k+1)*n/classes; i++ {
			c.Members = append(c.Members, fmt.Sprintf("c%05d/web", i))
		}
		c.Example = c.Members[0]
		c.Diff = "--- a/e.yaml\n+++ b/e.yaml\n@@ -1,2 +1,2 @@\n a: 1\n-b: old\n+b: " + evil + "\n"
		c.Origins = map[string]string{review.LineOf("e.yaml", 2): "sets/web.yaml:7"}
		c.Values = []review.Values{{File: "e.yaml", Resource: "E e", Field: "b", Values: 2, Patterns: []review.Pattern{{Pattern: evil, Variants: len(c.Members)}}}}
		r.Classes, r.Variants = append(r.Classes, c), r.Variants+len(c.Members)
	}
	first := &r.Classes[0]
	first.Marks = []review.Mark{{Kind: review.ByHand, Text: "edited by hand", Members: first.Members[:1]}}
	r.Marks = []review.Mark{{Kind: review.ByHand, Text: "edited by hand", Members: first.Members[:1], Classes: []string{first.Key}}}
	return &review.Digest{Command: "review", Summary: "a fleet", Changes: r, Findings: []review.Finding{{Kind: review.Failure, Message: evil, Members: first.Members}}}
}

// chromium is the browser's path; without one the test skips and says so.
func chromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("SKIP: there is no Chromium: the page is not opened")
	return ""
}

var policy = regexp.MustCompile(`<meta http-equiv="Content-Security-Policy"[^>]*>`)

// opened writes a page, opens it at a fragment and returns the document as it is then.
// With a probe it has no policy, which would keep it from running: what it returns
// stands in the document's last element.
func opened(t *testing.T, d *review.Digest, fragment, probe string) string {
	t.Helper()
	browser := chromium(t)
	var b bytes.Buffer
	if err := page.Write(&b, d); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	if probe != "" {
		text = policy.ReplaceAllString(text, "") + "<script>(async () => {\nconst out = document.createElement('pre'); out.id = 'probe';\n" +
			"const key = (k, at) => (at || document.activeElement || document.body).dispatchEvent(new KeyboardEvent('keydown', {key: k, bubbles: true, cancelable: true}));\n" +
			"const later = (ms) => new Promise((done) => setTimeout(done, ms));\n" +
			"const open = () => [...document.querySelectorAll('details.class')].filter((c) => !c.hidden).length;\n" +
			"try { out.textContent = JSON.stringify(await (async () => {\n" + probe + "\n})()); } catch (e) { out.textContent = JSON.stringify({error: String(e)}); }\ndocument.body.append(out);\n})()</script>"
	}
	file := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	at := url.URL{Scheme: "file", Path: file, Fragment: fragment}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	flags := []string{
		"--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync",
		"--user-data-dir=" + t.TempDir(), "--dump-dom", at.String(),
	}
	if strings.Contains(probe, "await ") { // others end before the page is loaded, and see how time goes by
		flags = append([]string{"--virtual-time-budget=20000"}, flags...)
	}
	cmd := exec.CommandContext(ctx, browser, flags...)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", browser, err)
	}
	return string(out)
}

// probed runs a probe in a page and reads what it returns.
func probed(t *testing.T, d *review.Digest, fragment, probe string, into any) {
	t.Helper()
	_, text, ok := strings.Cut(opened(t, d, fragment, probe), `<pre id="probe">`)
	if !ok {
		t.Fatal("the probe did not end")
	}
	text, _, _ = strings.Cut(text, "</pre>")
	text = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&").Replace(text)
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
}

// Its own program runs under its policy, and no value does.
func TestOpensUnderItsPolicy(t *testing.T) {
	t.Parallel()
	dom := opened(t, fleet(30, 3), "", "")
	if strings.Contains(dom, "<title>taken") || strings.Contains(dom, "<img") {
		t.Error("a value ran")
	}
	if strings.Contains(dom, `id="controls" hidden`) || !strings.Contains(dom, `id="controls"`) {
		t.Error("the program did not run")
	}
}

func TestSearch(t *testing.T) {
	t.Parallel()
	var got struct {
		Error                                  string
		All, One, Marked, None, Escaped        int
		Hash, Shown, Focus, Title, Target, Tip string
		Reached                                bool
	}
	probed(t, fleet(3000, 5), "", `
		const got = {All: open(), Title: document.title};
		key("/");
		got.Focus = document.activeElement.id;
		const q = document.activeElement;
		const type = async (text) => { q.value = text; q.dispatchEvent(new Event("input", {bubbles: true})); await later(300); return open(); };
		got.One = await type("c01234/web");
		got.Hash = location.hash;
		got.Shown = document.getElementById("shown").value;
		got.None = await type("nowhere at all");
		key("Escape", q);
		got.Escaped = open();
		const show = document.getElementById("show");
		show.value = "marked";
		show.dispatchEvent(new Event("change", {bubbles: true}));
		got.Marked = open();
		location.hash = "#c-000000000004";
		await later(300);
		got.Target = document.activeElement.closest("details").id;
		const from = document.querySelector("details.class[open] .from");
		from.focus();
		got.Reached = document.activeElement === from;
		got.Tip = getComputedStyle(from.querySelector(".tip")).position;
		return got;`, &got)
	want := got
	want.All, want.One, want.Marked, want.None, want.Escaped = 5, 1, 1, 0, 5
	want.Hash, want.Shown, want.Focus, want.Target, want.Tip, want.Reached = "#q=c01234%2Fweb", "1 of 5 classes", "q", "c-000000000004", "static", true
	if got != want || got.Error != "" || strings.Contains(got.Title, "taken") {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// What was looked for stands in the address, and is looked for again there.
func TestAddress(t *testing.T) {
	t.Parallel()
	var got struct {
		Open  int
		Value string
		Error string
	}
	probed(t, fleet(300, 5), "q=c00299&show=plain", `return {Open: open(), Value: document.getElementById("q").value}`, &got)
	if got.Open != 1 || got.Value != "c00299" {
		t.Errorf("%+v", got)
	}
}

// A member is found among ten thousand, soon: the bound is tenfold of what is meant.
func TestManyVariants(t *testing.T) {
	t.Parallel()
	var got struct {
		Open, Next    int
		First, Second float64 // milliseconds until what was typed is shown
		Error         string
	}
	probed(t, fleet(10000, 400), "q=c09999/web", `
		const got = {Open: open()};
		const [q, show] = ["q", "show"].map((id) => document.getElementById(id));
		const type = (text) => {
			const start = performance.now();
			q.value = text;
			show.dispatchEvent(new Event("change", {bubbles: true})); // as after the pause of who types
			document.body.getBoundingClientRect();
			return performance.now() - start;
		};
		got.First = type("");
		got.Second = type("c09998/web");
		got.Next = open();
		return got;`, &got)
	if got.Open != 1 || got.Next != 1 || got.Error != "" {
		t.Errorf("%+v", got)
	}
	t.Logf("all again in %.0f ms, one of them in %.0f ms", got.First, got.Second)
	if got.First > 5000 || got.Second > 5000 {
		t.Errorf("all again in %.0f ms, one of them in %.0f ms", got.First, got.Second)
	}
}

// AXE names the file of axe-core (axe.min.js), a tool that finds what keeps people from
// using a page; without it that is not looked for.
func TestAccessible(t *testing.T) {
	t.Parallel()
	file := os.Getenv("AXE")
	if file == "" {
		t.Skip("SKIP: AXE names no axe.min.js: what keeps people from using the page is not looked for")
	}
	axe, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	type outcome struct {
		Error      string
		Passes     int
		Violations []struct {
			ID, Help string
			Nodes    []struct{ HTML string }
		}
	}
	for _, n := range []int{300, 3000} {
		var got outcome
		probed(t, fleet(n, n/10), "", string(axe)+`
		for (const d of document.querySelectorAll("details")) d.open = true;
		const found = await axe.run();
		return {Passes: found.passes.length, Violations: found.violations.map((v) => ({ID: v.id, Help: v.help, Nodes: v.nodes.slice(0, 2).map((n) => ({HTML: n.html}))}))};`, &got)
		if got.Passes < 10 || got.Error != "" {
			t.Errorf("of %d variants axe looked at %d things: %s", n, got.Passes, got.Error)
		}
		for _, v := range got.Violations {
			t.Errorf("%d variants: %s: %s: %+v", n, v.ID, v.Help, v.Nodes)
		}
	}
}
