package ci

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/variform/variform/internal/review"
	"github.com/variform/variform/test/gittest"
)

// Every kind of thing that a person must see reaches the reports, and a report
// of a plan's JSON is what the plan itself prints.
func TestReports(t *testing.T) {
	w := newWorld(t, "git")
	w.env["VARIFORM_FLEET"], w.env["VARIFORM_CACHE_DIR"] = "fleet", w.home
	w.srv.RequireLogin("", "")
	w.write("fleet/sets/old.yaml", set("old", "v1"))
	if r := w.bash("variform apply", nil); r.status != 0 {
		t.Fatal(r.out, r.err)
	}
	reviewed := w.bash("variform review -o markdown", nil)
	for _, text := range []string{"### Variform review · ", ", class `", "`c1/old`, `c1/web`, `c2/old`, `c2/web`", "\n```diff\n"} {
		if reviewed.status != 0 || !strings.Contains(reviewed.out, text) {
			t.Errorf("review lacks %q:\n%s%s", text, reviewed.out, reviewed.err)
		}
	}

	// A local edit that the next version overrules, a variant that has gone,
	// and a set that selects nothing.
	w.git["c1"].Commit(t, "drafts/web/packagevariant-1", "a fork of the image", gittest.Text{"web/deployment.yaml": fmt.Sprintf(web, "1.0-hotfix")})
	w.write("fleet/sets/old.yaml", "")
	w.write("fleet/sets/web.yaml", set("web", "v2"))
	w.write("fleet/sets/none.yaml", strings.Replace(set("none", "v1"), "env: prod", "env: nowhere", 1))
	r := w.bash("variform plan --prune --max-delete 2 -o json | tee plan.json", nil)
	var plan struct {
		review.Digest
		Variants []struct{ Variant, Action string }
	}
	if err := json.Unmarshal([]byte(r.out), &plan); err != nil || r.status != 0 {
		t.Fatalf("status %d, %v\n%s", r.status, err, r.err)
	}
	var kinds []review.Kind
	for _, f := range plan.Findings {
		kinds = append(kinds, f.Kind)
	}
	if want := []review.Kind{review.Deletion, review.Conflict, review.Warning}; !slices.Equal(kinds, want) {
		t.Errorf("findings %v, want %v:\n%+v", kinds, want, plan.Findings)
	}
	for format, texts := range map[string][]string{
		"markdown": {
			"#### Deletions\n\n**2 variants**: the open Draft goes: ", "`c1/old`, `c2/old`",
			"#### Lost edits\n\n**1 variant**: `", "image registry.example.com/web:1.0-hotfix → registry.example.com/web:2.0", "see `fleet/sets/web.yaml:1`",
			"#### Changes\n\n**1 variant** `v1→v2`: ", "#### Warnings\n\n**the fleet**: `", "+        image: registry.example.com/web:2.0\n",
		},
		"github": {"::warning title=2 variants%3A deletion::", "::warning file=fleet/sets/web.yaml,line=1,title=1 variant%3A conflict::"},
		"gitlab": {`"check_name": "variform/conflict"`, `"path": "fleet"`},
	} {
		direct := w.bash("variform plan --prune --max-delete 2 -o "+format, nil)
		later := w.bash("variform report -o "+format+" plan.json", nil)
		piped := w.bash("variform report -o "+format+" < plan.json", nil)
		if direct.status+later.status+piped.status != 0 || direct.out != later.out || later.out != piped.out {
			t.Errorf("%s: the plan's own, of its file and of stdin:\n%s\n%s\n%s\n%s", format, direct.out, later.out, piped.out, later.err)
		}
		for _, text := range texts {
			if !strings.Contains(later.out, text) {
				t.Errorf("%s lacks %q:\n%s", format, text, later.out)
			}
		}
	}
	for name, script := range map[string]string{
		"no file":        "variform report gone.json",
		"no JSON":        "echo '# text' | variform report",
		"other JSON":     "variform status -o json | variform report",
		"another format": "variform report -o table plan.json",
	} {
		if r := w.bash(script, nil); r.status != 2 || r.out != "" || !strings.Contains("\n"+r.err, "\nvariform: ") {
			t.Errorf("%s: status %d, %q, %q", name, r.status, r.out, r.err)
		}
	}
}
