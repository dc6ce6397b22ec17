package docs

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"html"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/internal/cli"
	"github.com/variform/variform/internal/demo"
	"github.com/variform/variform/test/gittest"
)

var update = flag.Bool("update", false, "rewrite docs/reviews.md")

// A review of the demo's fleet is read at once. A screen has 40 lines; the first one is
// of nine packages that are new to somebody.
const screen, firstScreen = 40, 50

// shown is the page on what review, blame and the page print of the demo's fleet.
type shown struct {
	bytes.Buffer
	dir string
}

var (
	members = regexp.MustCompile(`@[0-9a-f]{12}\b`)
	hashes  = regexp.MustCompile(`\b[0-9a-f]{40}\b`)
	source  = regexp.MustCompile(`(?m)^(fleet \S+ @ )[0-9a-f]{7}`)
	read    = regexp.MustCompile(`(?m)^(fleet .*, read ).*$`)
)

// stable is a text without what goes by where it was made.
func (s *shown) stable(text string) string {
	text = strings.ReplaceAll(text, s.dir, "demo")
	text = read.ReplaceAllString(source.ReplaceAllString(text, "$1…"), "$1…")
	return hashes.ReplaceAllString(members.ReplaceAllString(text, "@…"), "…")
}

func (s *shown) add(title, says, command, text string) {
	fmt.Fprintf(s, "\n## %s\n\n%s\n\n```text\n$ variform %s\n%s```\n", title, says, command, s.stable(text))
}

var (
	unseen = regexp.MustCompile(`(?s)<(style|script|title)\b.*?</(style|script|title)>`)
	breaks = regexp.MustCompile(`</(p|h1|h2|h3|li|tr|summary|div|header|nav)>|<br>`)
	tags   = regexp.MustCompile(`<[^>]*>`)
)

// text is what a page says to who sees no page.
func text(page string) string {
	page = tags.ReplaceAllString(breaks.ReplaceAllString(unseen.ReplaceAllString(page, ""), "\n"), " ")
	var out strings.Builder
	for line := range strings.Lines(html.UnescapeString(page)) {
		if line = strings.Join(strings.Fields(line), " "); line != "" {
			out.WriteString(line + "\n")
		}
	}
	return out.String()
}

// TestReviews writes what the demo's fleet shows a reviewer to docs/reviews.md, so that a
// change of the wording is read by somebody.
func TestReviews(t *testing.T) {
	gittest.RequireGit(t)
	s := &shown{dir: filepath.Join(t.TempDir(), "demo")}
	state := t.TempDir()
	fleet := []string{"-f", filepath.Join(s.dir, "git", "fleet.git"), "--cache-dir", filepath.Join(s.dir, "cache")}
	run := func(args ...string) string {
		var out, errs bytes.Buffer
		if status := cli.Main(t.Context(), append(args, fleet...), cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs, State: state}); status != 0 {
			t.Fatalf("variform %s: status %d\n%s", args, status, errs.String())
		}
		return out.String()
	}
	s.WriteString("# How a review reads\n\nWhat `review`, `blame` and the page show of the fleet of `make demo`, from its first Drafts to an update.\n" +
		"Generated: `go test ./test/docs -run TestReviews -update`. Folders and what stands for commits are shortened.\n")
	reviews := 0
	err := demo.Run(t.Context(), demo.Config{Dir: s.dir, Out: io.Discard, Variform: func(ctx context.Context, out, _ io.Writer, args ...string) int {
		var said bytes.Buffer
		status := cli.Main(ctx, args, cli.Streams{In: strings.NewReader(""), Out: io.MultiWriter(out, &said), Err: io.Discard, State: state})
		if args[0] != "review" || slices.Contains(args, "-o") {
			return status
		}
		title, says, most := "First Drafts", "38 packages that are new to 12 clusters, in nine classes. What to look at stands first, then rare classes.", firstScreen
		if reviews++; reviews > 1 {
			title, most = "An update", screen
			says = "A new version of one package: 18 variants change alike, and one was edited by hand. Two other packages still wait."
		}
		if n := strings.Count(said.String(), "\n"); n > most {
			t.Errorf("review %d has %d lines, and a screen %d", reviews, n, most)
		}
		s.add(title, says, "review --no-diff", said.String())
		if reviews == 2 {
			s.add("Where values come from", "The values that one variant has for itself, each with the line that sets it; of one resource.", "blame cluster-02/web-app ConfigMap/endpoints", run("blame", "cluster-02/web-app", "ConfigMap/endpoints"))
			s.add("One field over the fleet", "The same field of all variants, rare values first.", "blame --all --field ConfigMap/endpoints:data.CATALOG_URL",
				run("blame", "--all", "--field", "ConfigMap/endpoints:data.CATALOG_URL"))
			s.add("The page", "What `-o html` says without its style, of one class.", "review cluster-01/web-app -o html", text(run("review", "cluster-01/web-app", "-o", "html")))
		}
		return status
	}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join("..", "..", "docs", "reviews.md")
	if *update {
		if err := os.WriteFile(file, s.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), s.String()); d != "" {
		t.Errorf("%s is stale: run go test ./test/docs -run TestReviews -update (-file +now):\n%s", file, d)
	}
}
