package forge

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/variform/variform/internal/cli"
	"github.com/variform/variform/test/forgetest"
)

// forty is a fleet of four repositories of ten packages. Nobody pushes to main
// there: it takes one approval by somebody else, and the proof.
type forty struct {
	*fleet
	repos []string
	// value is that of a.yaml which the present version has.
	value string
	own   int // packages of each repository that are a class of their own, the last ones
	// no are variants that people turned down; by are values that they wrote to b.yaml.
	// mine are those of which they changed main.
	no, mine map[string]bool
	by       map[string]string
	tags     map[string]string // as they were last
}

var packages = []string{"p0", "p1", "p2", "p3", "p4", "p5", "p6", "p7", "p8", "p9"}

// styles are those of merges, one for each repository.
var styles = []string{"merge", "rebase", "squash", "fast-forward-only"}

func newForty(t *testing.T) *forty {
	f := &forty{newFleet(t), nil, "", 4, map[string]bool{}, map[string]bool{}, map[string]string{}, map[string]string{}}
	f.call("POST", "/admin/users", object{"username": forgetest.Bob, "email": "bob@example.com", "password": password, "must_change_password": false}, nil)
	for i := range len(styles) {
		name := fmt.Sprintf("c%d", i)
		f.repos = append(f.repos, name)
		f.call("POST", "/user/repos", object{"name": name, "auto_init": true, "default_branch": "main"}, nil)
		f.call("PATCH", f.at(name, ""), object{"has_pull_requests": true, "allow_fast_forward_only_merge": true}, nil)
		f.call("PUT", f.at(name, "/collaborators/"+forgetest.Bob), object{"permission": "write"}, nil)
		f.call("POST", f.at(name, "/branch_protections"), object{
			"rule_name": "main", "enable_push": false, "required_approvals": 1, "dismiss_stale_approvals": true,
			"enable_status_check": true, "status_check_contexts": []string{"variform/proof"}, "block_admin_merge_override": true,
		}, nil)
		f.registers(name, name)
	}
	return f
}

func (f *forty) at(repo, path string) string { return "/repos/" + user + "/" + repo + path }

// registers makes a Repository of one on the forge.
func (f *forty) registers(name, repo string) {
	f.write(name+".yaml", fmt.Sprintf("apiVersion: config.porch.kpt.dev/v1alpha1\nkind: Repository\nmetadata: {name: %s, annotations: {variform.dev/forge: gitea, variform.dev/review: class}}\nspec: {type: git, deployment: true, git: {repo: %q, branch: main}}\n", name, f.address(repo)))
}

// wants publishes a version, or has the one there is wanted in other classes.
func (f *forty) wants(version, value string) {
	f.t.Helper()
	if value != f.value {
		f.publish(version, value)
	}
	f.value = value
	targets := func(names []string) (out string) {
		out = "  - repositories:\n"
		for i := range f.repos {
			out += fmt.Sprintf("    - {name: c%d, packageNames: [%s]}\n", i, strings.Join(names, ", "))
		}
		return out
	}
	plain := len(packages) - f.own
	f.write("set.yaml", "apiVersion: config.porch.kpt.dev/v1alpha2\nkind: PackageVariantSet\nmetadata: {name: web}\nspec:\n  upstream: {repo: catalog, package: web, workspaceName: "+version+"}\n"+
		"  targets:\n"+targets(packages[:plain])+targets(packages[plain:])+"    template: {packageContext: {data: {own: \""+value+"\"}}}\n")
}

// on runs Git in the forge's own copy of a repository.
func (f *forty) on(repo string, args ...string) string {
	f.t.Helper()
	out, err := f.tryOn(repo, args...)
	if err != nil {
		f.t.Fatalf("%s: git %v: %v\n%s", repo, args, err, out)
	}
	return out
}

func (f *forty) tryOn(repo string, args ...string) (string, error) {
	cmd := exec.CommandContext(f.t.Context(), "git", append([]string{"--git-dir", filepath.Join(f.data, "gitea-repositories", user, repo+".git")}, args...)...)
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

type openPull struct {
	pull
	holds []string // packages
}

// open are the open requests of a repository.
func (f *forty) open(repo string) (out []openPull) {
	f.t.Helper()
	for page := 1; ; page++ {
		var list []pull
		f.call("GET", f.at(repo, fmt.Sprintf("/pulls?state=open&page=%d", page)), nil, &list)
		if len(list) == 0 {
			break
		}
		for _, p := range list {
			o := openPull{pull: p}
			for file := range strings.Lines(f.on(repo, "diff", "--name-only", "main..."+p.Head.SHA)) {
				if pkg, _, _ := strings.Cut(file, "/"); !slices.Contains(o.holds, pkg) {
					o.holds = append(o.holds, pkg)
				}
			}
			out = append(out, o)
		}
	}
	slices.SortFunc(out, func(a, b openPull) int { return a.Number - b.Number })
	return out
}

// asking finds the open requests for a package, of which there is to be one at most.
func (f *forty) asking(repo, pkg string) []openPull {
	f.t.Helper()
	return slices.DeleteFunc(f.open(repo), func(o openPull) bool { return !slices.Contains(o.holds, pkg) })
}

// asks is the one.
func (f *forty) asks(repo, pkg string) openPull {
	f.t.Helper()
	list := f.asking(repo, pkg)
	if len(list) != 1 {
		f.t.Fatalf("%s: %d requests for %s", repo, len(list), pkg)
	}
	return list[0]
}

// holds says of the whole fleet: tags are on main, never move, and are of what main
// has; each variant is Published, or has a Draft that exactly one request asks for
// (at most one where a run might write no more), or was turned down; what people wrote
// is there. It returns how many requests there are.
func (f *forty) holds(after string, spent bool) (requests int) {
	f.t.Helper()
	failed := func(format string, args ...any) { f.t.Errorf("after "+after+": "+format, args...) }
	for i, repo := range f.repos {
		asked := map[string][]openPull{}
		for _, o := range f.open(repo) {
			requests++
			for _, pkg := range o.holds {
				asked[pkg] = append(asked[pkg], o)
			}
		}
		refs := map[string]string{}
		for line := range strings.Lines(f.on(repo, "for-each-ref", "--format=%(refname) %(objectname)")) {
			name, hash, _ := strings.Cut(strings.TrimSpace(line), " ")
			refs[name] = hash
		}
		onMain := strings.Fields(f.on(repo, "tag", "--merged", "main"))
		for name, hash := range refs {
			tag, ok := strings.CutPrefix(name, "refs/tags/")
			key := fmt.Sprintf("c%d %s", i, tag)
			switch was := f.tags[key]; {
			case !ok:
			case was != "" && was != hash:
				failed("%s: %s moved", repo, tag)
			case !slices.Contains(onMain, tag):
				failed("%s: %s is not on main", repo, tag)
			default:
				f.tags[key] = hash
			}
		}
		for key := range f.tags {
			if c, tag, _ := strings.Cut(key, " "); c == fmt.Sprintf("c%d", i) && refs["refs/tags/"+tag] == "" {
				failed("%s: %s is gone", repo, tag)
			}
		}
		read := func(ref, path string) string {
			out, err := f.tryOn(repo, "rev-parse", "-q", "--verify", ref+":"+path)
			if err != nil {
				return ""
			}
			return out
		}
		for _, pkg := range packages {
			name := fmt.Sprintf("c%d/%s", i, pkg)
			newest, draft := "", ""
			for n := 1; refs[fmt.Sprintf("refs/tags/%s/v%d", pkg, n)] != ""; n++ {
				newest = fmt.Sprintf("refs/tags/%s/v%d", pkg, n)
			}
			for ref := range refs {
				if strings.HasPrefix(ref, "refs/heads/drafts/"+pkg+"/") {
					if draft != "" {
						failed("%s: two Drafts: %s, %s", name, draft, ref)
					}
					draft = ref
				}
			}
			if newest != "" && !(draft != "" && f.mine[name]) && read(newest, pkg) != read("refs/heads/main", pkg) {
				failed("%s: main has another tree than %s", name, newest)
			}
			at := "refs/heads/main"
			switch n := len(asked[pkg]); {
			case n > 1:
				failed("%s: %d requests ask for it", name, n)
			case draft != "" && n == 1:
				if at = draft; read(asked[pkg][0].Head.SHA, pkg) != read(draft, pkg) && !spent {
					failed("%s: request %d holds something else than its Draft", name, asked[pkg][0].Number)
				}
			case draft != "":
				if at = draft; !f.no[name] && !spent {
					failed("%s: no request asks for its Draft", name)
				}
			case n == 1:
				failed("%s: request %d asks for it, and it has no Draft", name, asked[pkg][0].Number)
			case newest == "":
				failed("%s: it is lost", name)
			}
			if got := f.on(repo, "show", at+":"+pkg+"/a.yaml"); got != strings.TrimSpace(settings("a", f.value)) && !spent {
				failed("%s: %s has\n%s", name, at, got)
			}
			if by := f.by[name]; by != "" && f.on(repo, "show", at+":"+pkg+"/b.yaml") != strings.TrimSpace(settings("b", by)) {
				failed("%s: what a person wrote is not on %s", name, at)
			}
		}
	}
	if f.t.Failed() {
		for _, repo := range f.repos {
			for _, o := range f.open(repo) {
				f.t.Logf("%s#%d %s %v %s", repo, o.Number, o.Head.Ref, o.holds, o.Title)
			}
		}
		f.t.FailNow()
	}
	return requests
}

// all are numbers of requests.
func (f *forty) all() (out []string) {
	for _, repo := range f.repos {
		for _, o := range f.open(repo) {
			out = append(out, fmt.Sprintf("%s#%d", repo, o.Number))
		}
	}
	return out
}

// reviewed approves a request as somebody else, and merges it so.
func (f *forty) reviewed(repo string, number int, style string, remove bool) {
	f.t.Helper()
	at := f.at(repo, fmt.Sprintf("/pulls/%d", number))
	f.approved(repo, number)
	last := ""
	f.until(style+" of "+repo, func() bool {
		status, text := f.askAs(forgetest.Bob, "POST", at+"/merge", object{"Do": style, "delete_branch_after_merge": remove}, nil)
		if text != last && status/100 != 2 {
			f.t.Logf("%s of %s#%d: %d %s", style, repo, number, status, text)
		}
		last = text
		return status/100 == 2
	})
}

func (f *forty) approved(repo string, number int) {
	f.t.Helper()
	if status, text := f.askAs(forgetest.Bob, "POST", f.at(repo, fmt.Sprintf("/pulls/%d/reviews", number)), object{"event": "APPROVED"}, nil); status != http.StatusOK {
		f.t.Fatalf("%s#%d: %d %s", repo, number, status, text)
	}
}

// state closes a request, or opens it again.
func (f *forty) state(repo string, number int, state string) {
	f.t.Helper()
	f.call("PATCH", f.at(repo, fmt.Sprintf("/pulls/%d", number)), object{"state": state}, nil)
}

// spending runs apply with a budget until nothing waits for the next run.
func (f *forty) spending(most int) (runs int) {
	f.t.Helper()
	for {
		before := f.all()
		said := f.run("apply", "--max-writes", fmt.Sprint(most))
		runs++
		waits := strings.Contains(said, "the next one goes on") || strings.Contains(said, "wait for the next run")
		f.holds(fmt.Sprintf("run %d of %d writes", runs, most), waits)
		if opened := len(f.all()) - len(before); opened > most/2 {
			f.t.Errorf("%d requests are opened with %d writes", opened, most)
		}
		if !waits || runs > 20 {
			return runs
		}
	}
}

// TestFleetOfForty is the life of a fleet whose mains are protected, by its requests
// alone. After each step nothing is tagged wrongly, opened twice or lost.
func TestFleetOfForty(t *testing.T) {
	f := newForty(t)
	want := func(what string, got, want any) {
		t.Helper()
		if got != want {
			t.Fatalf("%s: %v, want %v", what, got, want)
		}
	}
	f.wants("v1", "1")
	if runs := f.spending(8); runs < 3 {
		t.Errorf("%d runs write it all", runs)
	}
	want("requests", f.holds("opening", false), 8)
	opened := strings.Join(f.all(), " ")
	f.run("apply")
	want("requests after one more run", strings.Join(f.all(), " "), opened)

	// Nobody gets around the review.
	first := f.asks("c0", "p0")
	if status, _ := f.ask("POST", f.at("c0", fmt.Sprintf("/pulls/%d/merge", first.Number)), object{"Do": "merge"}, nil); status/100 == 2 {
		t.Fatal("it is merged without an approval")
	}
	var out, errs bytes.Buffer
	if code := cli.Main(t.Context(), []string{"approve", "c0/p0", "-f", f.dir, "--cache-dir", t.TempDir()}, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs}); code != 1 {
		t.Fatalf("approve: %d\n%s%s", code, &out, &errs)
	}
	f.holds("a refused approve", false)

	// Every style of merge, with the branch deleted and kept.
	f.merging("p0", true)
	want("requests", f.holds("the first merges", false), 4)
	f.merging("p9", false)
	want("requests", f.holds("the second merges", false), 0)
	for _, repo := range f.repos {
		if got := f.on(repo, "for-each-ref", "--format=%(refname)", "refs/heads"); got != "refs/heads/main" {
			t.Errorf("%s: branches are left: %s", repo, got)
		}
	}
	want("tags", len(f.tags), 40)

	// Updates while requests are open are theirs, also where the budget runs out in the
	// middle.
	f.wants("v2", "2")
	f.run("apply")
	want("requests", f.holds("v2", false), 8)
	opened = strings.Join(f.all(), " ")
	f.approved("c1", f.asks("c1", "p0").Number)
	f.wants("v3", "3")
	if runs := f.spending(8); runs < 3 {
		t.Errorf("%d runs write it all", runs)
	}
	want("requests", strings.Join(f.all(), " "), opened)
	if status, _ := f.askAs(forgetest.Bob, "POST", f.at("c1", fmt.Sprintf("/pulls/%d/merge", f.asks("c1", "p0").Number)), object{"Do": "merge"}, nil); status/100 == 2 {
		t.Error("what was approved is something else now, and is merged")
	}

	// A person commits to a request's branch: that comes onto the Draft, which is a class
	// of its own then.
	o := f.asks("c2", "p0")
	f.edit("c2", o.Head.Ref, "p0/b.yaml", settings("b", "by hand"))
	f.by["c2/p0"] = "by hand"
	f.run("apply")
	want("requests", f.holds("a person's commit", false), 9)
	if got := f.on("c2", "log", "-1", "--format=%an, %s", "refs/heads/drafts/p0/packagevariant-2"); got != "Ann Tester, by hand" {
		t.Errorf("the Draft's last commit is %s", got)
	}

	// Main gets what conflicts, by a request of a person's.
	o = f.asks("c3", "p0")
	f.byHand("c3", "p0/a.yaml", settings("a", "mine"))
	f.mine["c3/p0"] = true
	mergeable := func() bool {
		var p struct{ Mergeable bool }
		f.call("GET", f.at("c3", fmt.Sprintf("/pulls/%d", o.Number)), nil, &p)
		return p.Mergeable
	}
	f.until("conflict", func() bool { return !mergeable() })
	f.run("apply")
	want("requests", f.holds("a conflict with main", false), 10)
	o = f.asks("c3", "p0")
	f.until("mend", mergeable)
	if !strings.Contains(o.Body, "mine") {
		t.Errorf("nothing is said of it:\n%s", o.Body)
	}

	// A closed one is turned down: until it is asked for, reopened, or the inputs change.
	own := []string{"p6", "p7", "p8", "p9"}
	f.turnsDown("c0", own...)
	f.turnsDown("c1", packages[:6]...)
	again := f.asks("c2", "p6").Number
	f.turnsDown("c2", own...)
	f.run("apply")
	want("requests", f.holds("closing", false), 7)
	f.run("propose", "c1/p0", "c1/p1", "c1/p2", "c1/p3", "c1/p4", "c1/p5", "--pull-requests")
	f.turnsUp("c1", packages[:6]...)
	want("requests", f.holds("asking for it", false), 8)
	f.state("c2", again, "open")
	f.turnsUp("c2", own...)
	f.run("apply")
	want("requests", f.holds("reopening", false), 9)
	want("reopened", f.asks("c2", "p6").Number, again)

	// What people rename is found again.
	numbers := strings.Join(f.all(), " ")
	o = f.asks("c3", "p1")
	f.call("PATCH", f.at("c3", fmt.Sprintf("/pulls/%d", o.Number)), object{"title": "Ours"}, nil)
	f.call("PATCH", f.at("c3", "/branches/"+f.asks("c3", "p6").Head.Ref), object{"name": "variform/fleet/ours"}, nil)
	f.run("apply")
	f.holds("a rename", false)
	want("requests", strings.Join(f.all(), " "), numbers)
	want("title", f.asks("c3", "p1").Title, "Ours")
	f.call("PATCH", f.at("c1", ""), object{"name": "moved"}, nil)
	f.repos[1] = "moved"
	f.run("apply")
	f.holds("a repository's rename", false)
	f.registers("c1", "moved")
	f.run("apply")
	f.holds("a repository's new address", false)
	want("requests", strings.Join(f.all(), " "), strings.ReplaceAll(numbers, "c1#", "moved#"))

	// Other classes, by two runs at once.
	f.own = 3
	f.wants("v4", "4")
	f.turnsUp("c0", own...)
	f.together(2)
	f.holds("two runs at once", true)
	f.run("apply")
	want("requests", f.holds("other classes", false), 14)
	numbers = strings.Join(f.all(), " ")
	f.run("apply")
	want("requests", strings.Join(f.all(), " "), numbers)

	for _, pkg := range []string{"p0", "p1", "p6", "p9"} {
		f.merging(pkg, pkg != "p9")
		f.holds("merging "+pkg, false)
	}
	want("requests", f.holds("the last merges", false), 0)
	want("tags", len(f.tags), 80)
	refs := f.everything()
	f.run("apply")
	want("refs after one more run", f.everything(), refs)
}

// merging merges the requests for a package everywhere.
func (f *forty) merging(pkg string, remove bool) {
	f.t.Helper()
	for i, repo := range f.repos {
		for _, o := range f.asking(repo, pkg) {
			if styles[i] == "fast-forward-only" && f.on(repo, "merge-base", "main", o.Head.SHA) != f.on(repo, "rev-parse", "main") {
				f.call("POST", f.at(repo, fmt.Sprintf("/pulls/%d/update", o.Number)), nil, nil)
				f.until("update of "+repo, func() bool { return f.asks(repo, pkg).Head.SHA != o.Head.SHA })
				f.run("apply") // the new head gets its check
			}
			f.reviewed(repo, o.Number, styles[i], remove)
		}
	}
	f.run("apply")
}

// everything are all refs.
func (f *forty) everything() (out string) {
	for _, repo := range f.repos {
		out += repo + "\n" + f.on(repo, "for-each-ref", "--format=%(refname) %(objectname)") + "\n"
	}
	return out
}

// byHand brings a person's change to main, by a request.
func (f *forty) byHand(repo, file, text string) {
	f.t.Helper()
	dir := filepath.Join(f.t.TempDir(), "clone")
	f.git(f.dir, "clone", "-q", f.address(repo), dir)
	f.git(dir, "checkout", "-q", "-b", "hand")
	if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
		f.t.Fatal(err)
	}
	f.git(dir, "commit", "-qam", "by hand")
	f.git(dir, "push", "-q", "origin", "hand")
	var p pull
	f.call("POST", f.at(repo, "/pulls"), object{"head": "hand", "base": "main", "title": "By hand"}, &p)
	f.call("POST", f.at(repo, "/statuses/"+p.Head.SHA), object{"context": "variform/proof", "state": "success"}, nil)
	f.reviewed(repo, p.Number, "merge", true)
}

// turnsDown closes the request for these packages.
func (f *forty) turnsDown(repo string, packages ...string) {
	f.t.Helper()
	o := f.asks(repo, packages[0])
	if !slices.Equal(o.holds, packages) {
		f.t.Fatalf("%s#%d holds %v", repo, o.Number, o.holds)
	}
	f.state(repo, o.Number, "closed")
	for _, p := range packages {
		f.no[repo+"/"+p] = true
	}
}

func (f *forty) turnsUp(repo string, packages ...string) {
	for _, p := range packages {
		delete(f.no, repo+"/"+p)
	}
}

// together runs apply as many times at once.
func (f *forty) together(n int) {
	f.t.Helper()
	var group sync.WaitGroup
	for range n {
		cache := f.t.TempDir()
		group.Go(func() {
			var out, errs bytes.Buffer
			if code := cli.Main(f.t.Context(), []string{"apply", "-f", f.dir, "--cache-dir", cache}, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs}); code > 1 {
				f.t.Errorf("%d: %s%s", code, &out, &errs)
			}
		})
	}
	group.Wait()
}
