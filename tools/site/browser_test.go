package main

import (
	"context"
	"encoding/json"
	"html"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// looker is a page that opens each page of the site in a frame as wide as a telephone,
// says which are wider than it, and what axe-core finds in some.
const looker = `<!doctype html><meta charset="utf-8"><body><script>AXE</script><script id="pages" type="application/json">PAGES</script><script>
(async () => {
	const out = document.createElement("pre"), found = [];
	out.id = "probe";
	try {
		for (const {Name, Text, Closely} of JSON.parse(document.getElementById("pages").textContent)) {
			const frame = document.createElement("iframe");
			frame.width = 400; frame.height = 800; frame.srcdoc = Text;
			document.body.append(frame);
			await new Promise((done) => frame.onload = done);
			const root = frame.contentDocument.documentElement;
			if (root.scrollWidth > 400) found.push(Name + " is " + root.scrollWidth + " wide");
			if (window.axe && Closely) {
				const tool = frame.contentDocument.createElement("script");
				tool.textContent = document.scripts[0].textContent;
				frame.contentDocument.head.append(tool);
				for (const v of (await frame.contentWindow.axe.run()).violations) found.push(Name + ": " + v.id + ": " + v.help + ": " + v.nodes[0].html);
			}
			frame.remove();
		}
		out.textContent = JSON.stringify(found);
	} catch (e) { out.textContent = JSON.stringify([String(e)]); }
	document.body.append(out);
})()</script>`

// closely are the pages that axe-core looks at: one of each kind, for it takes its time.
var closely = []string{"index.html", "docs/tutorial.html", "docs/kpt.html", "docs/how-to/index.html"}

type framed struct {
	Name, Text string
	Closely    bool
}

// TestInBrowser looks at all pages in Chromium, in light and in dark; AXE names the
// file of axe-core, without which only widths are seen.
func TestInBrowser(t *testing.T) {
	browser, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("SKIP: there is no Chromium: the site is not opened")
	}
	var axe []byte
	if file := os.Getenv("AXE"); file != "" {
		if axe, err = os.ReadFile(file); err != nil {
			t.Fatal(err)
		}
	}
	host := hostPage(t, string(axe))
	for scheme, setting := range map[string]string{"light": "1", "dark": "0"} {
		t.Run(scheme, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			out, err := exec.CommandContext(ctx, browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
				"--user-data-dir="+t.TempDir(), "--blink-settings=preferredColorScheme="+setting, "--virtual-time-budget=600000", "--dump-dom", host).Output()
			if err != nil {
				t.Fatal(err)
			}
			_, said, ok := strings.Cut(string(out), `<pre id="probe">`)
			said, _, _ = strings.Cut(said, "</pre>")
			var found []string
			if err := json.Unmarshal([]byte(html.UnescapeString(said)), &found); err != nil || !ok {
				t.Fatalf("the pages were not looked at: %v: %s", err, said)
			}
			for _, f := range found {
				t.Error(f)
			}
		})
	}
}

// hostPage writes the looker with all pages of the site, and returns its address.
func hostPage(t *testing.T, axe string) string {
	t.Helper()
	dir := t.TempDir()
	site := filepath.Join(dir, "site")
	if _, err := build(os.DirFS("../.."), site); err != nil {
		t.Fatal(err)
	}
	var pages []framed
	err := fs.WalkDir(os.DirFS(site), ".", func(name string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(name) != ".html" {
			return err
		}
		data, err := os.ReadFile(filepath.Join(site, name))
		pages = append(pages, framed{name, string(data), slices.Contains(closely, name)})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(pages) // no "<" is left in it
	if err != nil {
		t.Fatal(err)
	}
	host := filepath.Join(dir, "looker.html")
	if err := os.WriteFile(host, []byte(strings.NewReplacer("AXE", axe, "PAGES", string(data)).Replace(looker)), 0o600); err != nil {
		t.Fatal(err)
	}
	return "file://" + host
}
