package histories

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/storer"
	"github.com/go-git/go-git/v5/storage/filesystem"
	"github.com/go-git/go-git/v5/storage/memory"

	"github.com/variform/variform/internal/cli"
	"github.com/variform/variform/test/gittest"
)

// place is where a variant's package is.
type place struct{ repo, pkg string }

func (p place) String() string { return p.repo + "/" + p.pkg }

// forge makes repositories and can race, or break, what goes to them.
type forge interface {
	make(name string) *repository
	url(name string) string
	Before(f func(kind, repo string))
	DropPushReply()
}

// memoryForge is a server in memory.
type memoryForge struct{ *gittest.Memory }

func (f memoryForge) url(name string) string { return "http://" + host + "/" + name + ".git" }

func (f memoryForge) make(name string) *repository {
	m := f.NewRepo(name)
	return &repository{name: name, with: func(use func(s storer.Storer)) { m.With(func(s *memory.Storage) { use(s) }) }}
}

// httpForge is git http-backend behind a socket; people work on its files.
type httpForge struct {
	t testing.TB
	*gittest.Server
}

func (f httpForge) url(name string) string { return f.RepoURL(name) }

func (f httpForge) make(name string) *repository {
	dir := f.NewRepo(f.t, name).Dir
	return &repository{name: name, with: func(use func(s storer.Storer)) {
		use(filesystem.NewStorage(osfs.New(dir), cache.NewObjectLRUDefault())) // anew: pushes bring packs
	}}
}

// target is a cluster's repository; in says that the sets select it.
type target struct {
	name string
	in   bool
}

// upstream is a package of the catalogue and the set that fans it out, as the
// model knows them.
type upstream struct {
	name    string
	version int
	// What a release may change.
	level, size, image int
	extras             []int
	functions          []string
	gated              bool
	comment            int // of config.yaml
	// What the set may change.
	set           string
	context, note int
	orphan        bool
	strategy      string
	keep          bool
	byHand        map[string]bool // targets whose variant a person wrote
}

// world is a fleet with its repositories, and what the model knows of them.
type world struct {
	ctx     context.Context
	forge   forge
	dir     string
	clock   int64
	repos   map[string]*repository
	targets []*target
	pkgs    []*upstream
	object  int // the context object's value; 0 where there is none
	serial  int // of edits, resources, renames
	applies int // that were checked

	orphans map[place]bool            // the deletion policy that an apply saw last is orphan
	either  map[place]bool            // another policy was seen since, and may be in force
	edited  map[place]bool            // a person wrote there
	removed map[place]map[string]bool // files that a person removed
	// held are packages that a person holds. left are those of which no Draft of
	// these inputs is to be made: a person discarded one, or took it off main.
	held map[place]bool
	left map[place]string
	// heldOnce are packages that were held when their record was changed, and may be still.
	heldOnce map[place]bool
	// waits are packages that a person may have to let go on.
	waits map[place]bool
	// deleted are wanted packages that a person deleted on main, of which revisions
	// are Published.
	deleted map[place]bool
	// tookBack are the words of main that a person set back with the command.
	tookBack map[string]string
	// made are what went into packages with the last apply.
	made map[place]string
	// branches are registered branches that are mistyped now, by repository. moved counts the
	// moves of repositories to other addresses.
	branches map[string]string
	moved    map[string]int
	// unowned are Drafts without the history that a run made.
	unowned map[branch]bool
	// forgedWords are what was written in the machine's name and main never had, and the repository
	// of each; shown is what review printed last.
	forgedWords map[string]string
	shown       string
	records
	said    strings.Builder // all that was printed, and machine commits' messages
	tainted map[place]bool  // a known violation happened there
	found   []violation     // in the present step
	refresh int             // counts comparisons with a fresh fleet
	// commands counts those that ran.
	commands int
	// later is the program of the next version, which runs where byLater is set.
	later   string
	byLater bool
	door    *door // nil where there are no requests
	twinned
	log func(format string, args ...any)
}

func newWorld(ctx context.Context, f forge, dir string, targets, pkgs int) *world {
	w := &world{
		ctx: ctx, forge: f, dir: dir, repos: map[string]*repository{}, object: 1,
		orphans: map[place]bool{}, either: map[place]bool{}, edited: map[place]bool{}, removed: map[place]map[string]bool{}, tainted: map[place]bool{},
		held: map[place]bool{}, heldOnce: map[place]bool{}, waits: map[place]bool{}, deleted: map[place]bool{}, left: map[place]string{}, tookBack: map[string]string{}, branches: map[string]string{}, moved: map[string]int{}, unowned: map[branch]bool{}, made: map[place]string{}, forgedWords: map[string]string{}, records: newRecords(),
		log: func(string, ...any) {},
	}
	w.door, _ = f.(*door)
	w.add("catalog")
	for i := range targets {
		name := fmt.Sprintf("c%d", i+1)
		w.add(name)
		w.targets = append(w.targets, &target{name, true})
	}
	for i, name := range []string{"app", "db"}[:pkgs] {
		p := &upstream{name: name, set: name, level: 1, size: 1, image: 1, gated: i == 1, byHand: map[string]bool{}}
		if i == 0 {
			p.functions = []string{"set-labels:v0.2"}
		}
		w.pkgs = append(w.pkgs, p)
		w.release(p)
	}
	return w
}

func (w *world) add(name string) {
	r := w.forge.make(name)
	w.repos[name] = r
	r.set(mainRef, r.make(w.tick(), "start", files{"README.md": r.put("# " + name + "\n")}))
}

func (w *world) tick() int64 {
	w.clock++
	return w.clock
}

func (w *world) next() int {
	w.serial++
	return w.serial
}

// release commits and tags the next version of a package; its set follows.
func (w *world) release(p *upstream) {
	p.version++
	r := w.repos["catalog"]
	tip := r.ref(mainRef)
	f := maps.Clone(r.files(tip))
	maps.DeleteFunc(f, func(path string, _ entry) bool { return strings.HasPrefix(path, p.name+"/") })
	for path, text := range p.files() {
		f[p.name+"/"+path] = r.put(text)
	}
	c := r.make(w.tick(), fmt.Sprintf("%s v%d", p.name, p.version), f, tip)
	r.set(mainRef, c)
	r.set(fmt.Sprintf("refs/tags/%s/v%d", p.name, p.version), c)
}

const restless = "starlark:v0.5"

// functionConfigs are what the functions that a package may have are given.
var functionConfigs = map[string]string{
	// Run again it writes again: it has no fixed point.
	restless:          `{source: "for r in ctx.resource_list['items']:\n  if r['metadata']['name'] == 'config':\n    r['data']['count'] = r['data'].get('count', '') + 'x'\n"}`,
	"set-labels:v0.2": "{team: blue}", "apply-setters:v0.2": "{tier: gold}", "set-annotations:v0.1": "{by: pipeline}",
}

func (p *upstream) files() map[string]string {
	out := map[string]string{
		"Kptfile":              "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: " + p.name + "\n",
		"README.md":            fmt.Sprintf("# %s\n\nRelease %d.\n", p.name, p.version),
		"config.yaml":          configMap("config", fmt.Sprintf("  level: L%d # %s\n  size: S%d\n  tier: base # kpt-set: ${tier}\n", p.level, p.loudness(), p.size)),
		"package-context.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: kptfile.kpt.dev\n  annotations:\n    config.kubernetes.io/local-config: \"true\"\ndata:\n  name: example\n",
	}
	if len(p.functions) > 0 {
		out["Kptfile"] += "pipeline:\n  mutators:\n"
	}
	for _, f := range p.functions {
		out["Kptfile"] += fmt.Sprintf("    - image: ghcr.io/kptdev/krm-functions-catalog/%s\n      configMap: %s\n", f, functionConfigs[f])
	}
	if p.gated {
		out["settings.yaml"] = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\n  annotations:\n    kpt.dev/config-injection: required\ndata:\n  mode: none\n"
	}
	if !p.gated {
		out["deploy.yaml"] = fmt.Sprintf("apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\nspec:\n  template:\n    spec:\n      containers:\n      - name: main\n        image: example.com/app:I%d # {\"$imagepolicy\": \"flux-system:app\"}\n", p.image)
	}
	for _, n := range p.extras {
		out[extra(n)] = configMap(fmt.Sprintf("extra%d", n), fmt.Sprintf("  a: x%d\n", n))
	}
	return out
}

func extra(n int) string { return fmt.Sprintf("extra%d.yaml", n) }

func configMap(name, data string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + name + "\ndata:\n" + data
}

// loudness is the comment beside level.
func (p *upstream) loudness() string {
	if p.comment > 0 {
		return fmt.Sprintf("how loud, note %d", p.comment)
	}
	return "how loud"
}

// address is the server's name of a repository, which another host may have taken over.
func (w *world) address(name string) string {
	if n := w.moved[name]; n > 0 {
		return fmt.Sprintf("%s-at-%d", name, n)
	}
	return name
}

// wanted lists the places that variants make now, in order.
func (w *world) wanted() []place {
	var out []place
	for _, t := range w.targets {
		for _, p := range w.pkgs {
			if t.in {
				out = append(out, place{t.name, p.name})
			}
		}
	}
	return out
}

// places lists all that variants may ever make.
func (w *world) places() []place {
	var out []place
	for _, t := range w.targets {
		for _, p := range w.pkgs {
			out = append(out, place{t.name, p.name})
		}
	}
	return out
}

func (w *world) isWanted(p place) bool { return slices.Contains(w.wanted(), p) }

func (w *world) upstreamOf(p place) *upstream {
	return w.pkgs[slices.IndexFunc(w.pkgs, func(u *upstream) bool { return u.name == p.pkg })]
}

// describe writes a management directory; prefix leads to other repositories
// of the same names.
func (w *world) describe(folder, prefix string) {
	must(0, os.RemoveAll(folder))
	must(0, os.MkdirAll(folder, 0o755))
	save := func(name, text string) { must(0, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644)) }
	save("Kptfile", "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: histories\n")
	save("repo-catalog.yaml", w.repositoryObject("catalog", "none", w.forge.url("catalog"), "main", ""))
	for _, t := range w.targets {
		address, branch := t.name, "main"
		if prefix == "" {
			address, branch = w.address(t.name), cmp.Or(w.branches[t.name], branch)
		}
		save("repo-"+t.name+".yaml", w.repositoryObject(t.name, map[bool]string{true: "prod", false: "none"}[t.in], w.forge.url(prefix+address), branch, w.door.annotations(prefix)))
	}
	if w.object > 0 {
		save("settings.yaml", configMap("settings", fmt.Sprintf("  mode: M%d\n", w.object)))
	}
	for _, p := range w.pkgs {
		save("set-"+p.name+".yaml", p.want())
		for _, t := range w.targets {
			if t.in && p.byHand[t.name] {
				save(p.name+"-"+t.name+".yaml", p.variant(t.name))
			}
		}
	}
}

func (w *world) repositoryObject(name, env, url, branch, annotations string) string {
	return fmt.Sprintf("apiVersion: config.porch.kpt.dev/v1alpha1\nkind: Repository\nmetadata:\n  name: %s\n  labels: {env: %s}\n%sspec:\n  type: git\n  deployment: %t\n  git: {repo: '%s', branch: %s}\n", name, env, annotations, name != "catalog", url, branch)
}

// want is the package's PackageVariantSet.
func (p *upstream) want() string {
	return fmt.Sprintf("apiVersion: config.porch.kpt.dev/v1alpha2\nkind: PackageVariantSet\nmetadata:\n  name: %s\n%sspec:\n  upstream: {repo: catalog, package: %s, revision: v%d}\n  targets:\n  - repositorySelector: {matchLabels: {env: prod}}\n    template:\n%s",
		p.set, p.annotations(), p.name, p.version, indent("      ", p.spec()))
}

// variant is what the set makes of one target, as a person writes it.
func (p *upstream) variant(target string) string {
	return fmt.Sprintf("apiVersion: config.porch.kpt.dev/v1alpha1\nkind: PackageVariant\nmetadata:\n  name: %s-%s-%s\n%sspec:\n  upstream: {repo: catalog, package: %[5]s, revision: v%d}\n  downstream: {repo: %[2]s, package: %[5]s}\n%[7]s",
		p.set, target, p.name, p.annotations(), p.name, p.version, indent("  ", p.spec()))
}

func (p *upstream) annotations() string {
	return fmt.Sprintf("  annotations: {variform.dev/update-strategy: '%s', variform.dev/on-conflict: '%s'}\n", p.strategy, map[bool]string{true: "keep", false: "upstream"}[p.keep])
}

func (p *upstream) spec() []string {
	lines := []string{"adoptionPolicy: adoptExisting", "deletionPolicy: " + map[bool]string{true: "orphan", false: "delete"}[p.orphan]}
	if p.context > 0 {
		lines = append(lines, fmt.Sprintf("packageContext: {data: {color: K%d}}", p.context))
	}
	if p.note > 0 {
		lines = append(lines, fmt.Sprintf("pipeline: {mutators: [{image: 'ghcr.io/kptdev/krm-functions-catalog/set-annotations:v0.1', configMap: {note: N%d}}]}", p.note))
	}
	if p.gated {
		lines = append(lines, "injectors: [{kind: ConfigMap, name: settings}]")
	}
	return lines
}

func indent(by string, lines []string) string { return by + strings.Join(lines, "\n"+by) + "\n" }

// inputs are all that goes into a package now, but for what stands there.
func (w *world) inputs(p place) string {
	u := w.upstreamOf(p)
	return fmt.Sprint(u.files(), u.version, u.set, u.spec(), w.object, u.byHand[p.repo])
}

// standing is what stands on main of a package, and its revisions.
func (w *world) standing(p place) string {
	r := w.repos[p.repo]
	return fmt.Sprint(r.files(r.ref(mainRef)).below(p.pkg), r.tagged(p.pkg))
}

// result is what a command left behind.
type result struct {
	args     []string
	status   int
	out, err string
	approves bool // an approval raced with it
	merges   bool // a forge's merge did
	later    bool // the next version ran
}

// fails reports whether a run says, in a table or as JSON, that a package fails.
func (r result) fails(p place) bool {
	name := regexp.QuoteMeta(p.String())
	return regexp.MustCompile(`(?m)^` + name + ` +fail\b|"variant": "` + name + `",(\n.*){1,4}\n +"action": "fail"`).MatchString(r.out)
}

// name is the command, and what makes it another.
func (r result) name() string {
	if slices.Contains(r.args, "--prune") {
		return r.args[0] + " --prune"
	}
	return r.args[0]
}

// planned is what plan and apply print as JSON.
type planned struct {
	result       `json:"-"`
	Variants     []plannedVariant
	Problems     []string
	PruneBlocked []string
	PullRequests []plannedRequest
}

type plannedRequest struct {
	Repository, Action, Error string
	Number                    int
	Members                   []string
}

type plannedVariant struct {
	Variant, Action, Error, Lifecycle, Workspace, Ref string
	Reasons, Warnings, Conflicts                      []string
}

func (v plannedVariant) place() place {
	repo, pkg, _ := strings.Cut(v.Variant, "/")
	return place{repo, pkg}
}

// pending says whether an action moves a ref.
func (v plannedVariant) pending() bool {
	return !slices.Contains([]string{"none", "keep", "wait", "fail"}, v.Action)
}

// run runs the command line on the world's fleet, in this process.
func (w *world) run(args ...string) result { return w.runUnder(w.ctx, args...) }

func (w *world) runUnder(ctx context.Context, args ...string) result {
	folder := filepath.Join(w.dir, "fleet")
	w.describe(folder, "")
	r := w.runBoth(ctx, folder, args...)
	if args[0] == "review" {
		w.shown = r.out
	}
	if r.later {
		w.afterNext()
	}
	if args[0] != "apply" {
		return r
	}
	if ctx.Err() != nil {
		for _, p := range w.wanted() {
			if _, seen := w.orphans[p]; !seen {
				w.orphans[p] = w.upstreamOf(p).orphan
			}
			w.mayLearnPolicy(p)
		}
		return r
	}
	for _, p := range w.wanted() {
		if _, newer := w.newer[p]; (!newer || r.later) && !w.deleted[p] && !r.fails(p) { // else it is as it was
			w.made[p] = w.inputs(p)
		}
		delete(w.either, p)
		if w.orphans[p] = w.upstreamOf(p).orphan; !w.broken[p.repo] && w.isRecorded(p) {
			delete(w.forgotten, p)
		}
	}
	return r
}

// mayLearnPolicy is for what may write down the deletion policy as it is now, and be no
// whole apply: a killed one, and what discards a Draft.
func (w *world) mayLearnPolicy(p place) {
	if orphan, seen := w.orphans[p]; seen && orphan != w.upstreamOf(p).orphan {
		w.either[p] = true
	}
}

// orphaned says whether a package stays when its variant goes.
func (w *world) orphaned(p place) bool {
	if orphan, seen := w.orphans[p]; seen {
		return orphan
	}
	return w.upstreamOf(p).orphan
}

// runOn runs the command line on a management directory, and hears what it says.
func (w *world) runOn(ctx context.Context, folder string, args ...string) result {
	r := w.command(ctx, folder, args...)
	w.said.WriteString(spoken(r.out))
	w.said.WriteString(r.err)
	return r
}

func (w *world) command(ctx context.Context, folder string, args ...string) result {
	var out, errs bytes.Buffer
	full := slices.Concat(args, []string{"-f", folder, "--cache-dir", filepath.Join(w.dir, "cache"+w.machine)})
	var status int
	if w.byLater {
		status, out, errs = w.runNext(ctx, full)
	} else {
		status = cli.Main(ctx, full, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs, State: filepath.Join(w.dir, "state"+w.machine)})
	}
	// A run leaves the packs that it read open until its memory is collected,
	// which a process with one run never needs.
	if w.commands++; w.commands%20 == 0 {
		runtime.GC()
	}
	r := result{args: args, status: status, out: out.String(), err: errs.String(), later: w.byLater}
	w.log("variform %s: %d\n%s%s", strings.Join(args, " "), r.status, clip(r.out), clip(r.err))
	return r
}

// spoken is what a command's output says, less the diffs: a line that has gone is
// in every diff, and names no loss.
func spoken(out string) string {
	var object map[string]any
	if err := json.Unmarshal([]byte(out), &object); err != nil {
		return diffLine.ReplaceAllString(out, "")
	}
	delete(object, "changes")
	return string(must(json.Marshal(object)))
}

var diffLine = regexp.MustCompile(`(?m)^ *[-+ ].*$`)

func clip(s string) string {
	if len(s) > 20000 {
		return s[:20000] + "…\n"
	}
	return s
}

// planned reads what plan or apply printed; a command that printed nothing
// could not run.
func (w *world) planned(r result) planned {
	p := planned{result: r}
	if err := json.Unmarshal([]byte(r.out), &p); err != nil {
		w.violate("runs", place{}, "%s prints no JSON (status %d): %s", r.args[0], r.status, firstLine(r.err))
	}
	return p
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}

// named says whether anything printed so far, or a machine's commit, has a text.
func (w *world) named(text string) bool { return strings.Contains(w.said.String(), text) }

// snapshot is all refs, by repository.
func (w *world) snapshot() map[string]map[string]hash {
	out := map[string]map[string]hash{}
	for name, r := range w.repos {
		out[name] = r.refs()
	}
	return out
}
