package histories

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/storer"
	"github.com/go-git/go-git/v5/storage/memory"
	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/internal/cli"
	"github.com/variform/variform/test/gittest"
)

var record = flag.String("record-release", "", "save fleets that this program creates as testdata/upgrade/`NAME`.zip")

// fleetsOfRelease is the number of fleets of each generator that a release saves.
const fleetsOfRelease = 12

// classChanges lists the classes whose keys differ from those of the release that created the
// fleet, by fleet, each with the reason. A key that is missing here must stay.
var classChanges = map[string]string{}

// TestRecordRelease saves fleets that the present program creates, for TestUpgrade of
// later programs. Each release adds one file.
func TestRecordRelease(t *testing.T) {
	if *record == "" {
		t.Skip("skipped: name the release with -record-release to save its fleets")
	}
	gittest.RequireGit(t)
	file := filepath.Join("testdata", "upgrade", *record+".zip")
	must(0, os.MkdirAll(filepath.Dir(file), 0o755))
	out := must(os.Create(file))
	defer out.Close()
	z := zip.NewWriter(out)
	for seed := range uint64(fleetsOfRelease) {
		saved := recordGenerated(seed, scratch(t))
		saved.write(z, fmt.Sprintf("generated-%02d", seed))
		saved = recordHistory(seed+1, scratch(t))
		saved.write(z, fmt.Sprintf("history-%02d", seed+1))
	}
	must(0, z.Close())
}

// recordGenerated plays the first steps of a generated fleet.
func recordGenerated(seed uint64, dir string) *savedFleet {
	g := newGenerated(seed, dir)
	for step := range 6 {
		command := []string{"apply"}
		if step > 0 {
			command = g.step()
		}
		g.describe()
		g.run(command...)
	}
	return saveFleet(g.ctx, dir, filepath.Join(dir, "fleet"), g.repos)
}

// recordHistory plays the first steps of a random history.
func recordHistory(seed uint64, dir string) *savedFleet {
	ctx, f := inMemory(seed)
	h := generate(seed, 10, operations)
	w := newWorld(ctx, f, dir, h.targets, h.pkgs)
	for _, o := range h.steps {
		w.do(o)
	}
	w.describe(filepath.Join(dir, "fleet"), "")
	return saveFleet(ctx, dir, filepath.Join(dir, "fleet"), w.repos)
}

// savedFleet is a fleet as one program left it: its management directory, its repositories,
// and what the program printed about it.
type savedFleet struct {
	files map[string]string          // the management directory, by name
	refs  map[string]map[string]hash // by repository
	packs map[string][]byte          // every object of each repository
	plan  map[string]string          // the action of each revision, by variant and ref
	keys  []string                   // the class keys of review, in order
}

// saveFleet applies twice, so that the fleet rests, and reads the fleet.
func saveFleet(ctx context.Context, dir, folder string, repos map[string]*repository) *savedFleet {
	for range 2 {
		runCommand(ctx, dir, folder, "apply")
	}
	s := &savedFleet{files: map[string]string{}, refs: map[string]map[string]hash{}, packs: map[string][]byte{}}
	for _, e := range must(os.ReadDir(folder)) {
		s.files[e.Name()] = string(must(os.ReadFile(filepath.Join(folder, e.Name()))))
	}
	for name, r := range repos {
		s.refs[name] = r.refs()
		r.with(func(store storer.Storer) { s.packs[name] = packAll(store) })
	}
	s.plan, s.keys = plannedActions(ctx, dir, folder), classKeys(ctx, dir, folder)
	return s
}

// packAll returns a pack of every object.
func packAll(s storer.Storer) []byte {
	var all []hash
	it := must(s.IterEncodedObjects(plumbing.AnyObject))
	must(0, it.ForEach(func(o plumbing.EncodedObject) error {
		all = append(all, o.Hash())
		return nil
	}))
	slices.SortFunc(all, func(a, b hash) int { return bytes.Compare(a[:], b[:]) })
	var out bytes.Buffer
	must(packfile.NewEncoder(&out, s, false).Encode(all, 10))
	return out.Bytes()
}

func (s *savedFleet) write(z *zip.Writer, name string) {
	add := func(path string, data []byte) { must(must(z.Create(name + "/" + path)).Write(data)) }
	for _, file := range slices.Sorted(maps.Keys(s.files)) {
		add("fleet/"+file, []byte(s.files[file]))
	}
	for _, repo := range slices.Sorted(maps.Keys(s.packs)) {
		add("repos/"+repo+".pack", s.packs[repo])
	}
	said := struct {
		Refs map[string]map[string]string
		Plan map[string]string
		Keys []string
	}{map[string]map[string]string{}, s.plan, s.keys}
	for repo, refs := range s.refs {
		said.Refs[repo] = map[string]string{}
		for ref, h := range refs {
			said.Refs[repo][ref] = h.String()
		}
	}
	add("state.json", must(json.MarshalIndent(said, "", " ")))
}

// readSaved reads the fleets of a release, by name.
func readSaved(t *testing.T, file string) map[string]*savedFleet {
	t.Helper()
	z := must(zip.OpenReader(file))
	defer z.Close()
	out := map[string]*savedFleet{}
	for _, f := range z.File {
		name, path, _ := strings.Cut(f.Name, "/")
		if out[name] == nil {
			out[name] = &savedFleet{files: map[string]string{}, refs: map[string]map[string]hash{}, packs: map[string][]byte{}}
		}
		in := must(f.Open())
		data := must(io.ReadAll(in))
		must(0, in.Close())
		s := out[name]
		switch dir, base := filepath.Split(path); dir {
		case "fleet/":
			s.files[base] = string(data)
		case "repos/":
			s.packs[strings.TrimSuffix(base, ".pack")] = data
		default:
			var said struct {
				Refs map[string]map[string]string
				Plan map[string]string
				Keys []string
			}
			must(0, json.Unmarshal(data, &said))
			s.plan, s.keys = said.Plan, said.Keys
			for repo, refs := range said.Refs {
				s.refs[repo] = map[string]hash{}
				for ref, h := range refs {
					s.refs[repo][ref] = plumbing.NewHash(h)
				}
			}
		}
	}
	return out
}

// serve puts a saved fleet's repositories on a server, and its management directory into a folder.
func (s *savedFleet) serve(dir string) (ctx context.Context, folder string, repos map[string]*repository) {
	server := gittest.NewMemory()
	repos = map[string]*repository{}
	for name, pack := range s.packs {
		m := server.NewRepo(name)
		r := &repository{name: name, with: func(f func(s storer.Storer)) { m.With(func(s *memory.Storage) { f(s) }) }}
		r.with(func(store storer.Storer) {
			must(must(packfile.NewParserWithStorage(packfile.NewScanner(bytes.NewReader(pack)), store)).Parse())
		})
		for ref, h := range s.refs[name] {
			r.set(ref, h)
		}
		repos[name] = r
	}
	folder = filepath.Join(dir, "fleet")
	must(0, os.MkdirAll(folder, 0o755))
	for name, text := range s.files {
		must(0, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644))
	}
	return withServer(context.Background(), server), folder, repos
}

// runCommand runs the command line on a management directory.
func runCommand(ctx context.Context, dir, folder string, args ...string) (status int, stdout, stderr string) {
	var out, errs strings.Builder
	status = cli.Main(ctx, append(args, "-f", folder, "--cache-dir", filepath.Join(dir, "cache")),
		cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs, State: filepath.Join(dir, "state")})
	return status, out.String(), errs.String()
}

// plannedActions returns what plan would do, by variant and ref.
func plannedActions(ctx context.Context, dir, folder string) map[string]string {
	_, out, errs := runCommand(ctx, dir, folder, "plan", "-o", "json")
	var p planned
	if err := json.Unmarshal([]byte(out), &p); err != nil {
		panic("plan prints no JSON: " + errs)
	}
	actions := map[string]string{}
	for _, v := range p.Variants {
		actions[v.Variant+" "+v.Ref] = v.Action
	}
	return actions
}

// classKeys returns the keys of the classes that review shows, in order.
func classKeys(ctx context.Context, dir, folder string) []string {
	status, out, errs := runCommand(ctx, dir, folder, "review")
	if status > 1 {
		panic("review fails: " + errs)
	}
	var keys []string
	for _, m := range classLine.FindAllStringSubmatch(out, -1) {
		key, _, _ := strings.Cut(m[1], "@")
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// TestUpgrade reads fleets that earlier releases created. The present program plans what the
// release planned, moves no Draft, no tag and no branch, shows the same classes, and reads
// every record, with an empty cache and with a warm one.
func TestUpgrade(t *testing.T) {
	gittest.RequireGit(t)
	releases, err := filepath.Glob(filepath.Join("testdata", "upgrade", "*.zip"))
	if err != nil || len(releases) == 0 {
		t.Fatal("testdata/upgrade has no release", err)
	}
	for _, file := range releases {
		release := strings.TrimSuffix(filepath.Base(file), ".zip")
		for name, s := range readSaved(t, file) {
			t.Run(release+"/"+name, func(t *testing.T) {
				t.Parallel()
				s.checkUpgrade(t, release+"/"+name)
			})
		}
	}
}

func (s *savedFleet) checkUpgrade(t *testing.T, name string) {
	dir := scratch(t)
	ctx, folder, repos := s.serve(dir)
	for _, cache := range []string{"an empty", "a warm"} {
		if d := cmp.Diff(s.plan, plannedActions(ctx, dir, folder)); d != "" {
			t.Errorf("plan with %s cache (-release +now):\n%s", cache, d)
		}
	}
	if status, _, errs := runCommand(ctx, dir, folder, "record", "check"); status != 0 {
		t.Errorf("record check ends with %d: %s", status, errs)
	}
	if status, _, errs := runCommand(ctx, dir, folder, "status"); status > 1 {
		t.Errorf("status ends with %d: %s", status, errs)
	}
	if keys := classKeys(ctx, dir, folder); !slices.Equal(keys, s.keys) && classChanges[name] == "" {
		t.Errorf("class keys %v, of the release %v", keys, s.keys)
	}
	runCommand(ctx, dir, folder, "apply")
	for repo, r := range repos {
		is := r.refs()
		was := maps.Clone(s.refs[repo])
		for _, refs := range []map[string]hash{is, was} {
			maps.DeleteFunc(refs, func(ref string, _ hash) bool { return parse(ref).kind == ours })
		}
		if d := cmp.Diff(was, is); d != "" {
			t.Errorf("apply moves refs of %s (-release +now):\n%s", repo, d)
		}
	}
}
