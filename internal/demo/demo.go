// Package demo shows the main job on an embedded fleet: it lays out a
// catalogue, cluster repositories and a management repository as local Git
// repositories, and walks through plan, apply, review, approval and an update,
// by the same commands that a user would type; then the same on a fleet whose
// packages need others. It needs Git, and no network, engine or cluster.
package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/variform/variform/examples"
)

// Config says where and how the demo runs.
type Config struct {
	// Dir takes the repositories; it is made, and must be empty.
	Dir string
	Out io.Writer
	// Variform runs one variform command and returns its exit status.
	Variform func(ctx context.Context, out, errs io.Writer, args ...string) int
	// LayOut stops when the repositories are there, for who goes on by hand.
	LayOut bool
	// Large is the story of a fleet of many clusters, in place of the others.
	Large bool
	// Wait is called after each step but the last; nil goes on.
	Wait func() error
}

// step is one heading of the demo.
type step struct {
	title string
	do    func() error
}

// Run walks through the demo.
func Run(ctx context.Context, c Config) error {
	d := &demo{Config: c, ctx: ctx, fleet: "fleet"}
	if err := d.prepare(); err != nil {
		return err
	}
	steps := []step{
		{"Lay out two fleets: their catalogues, clusters and management repositories", d.layOut},
		{"What would happen? Nothing is written", func() error { return d.variform("plan") }},
		{"Write one Draft branch per variant", func() error { return d.variform("apply") }},
		{"Again: nothing to do", func() error { return d.variform("apply") }},
		{"Read each change once, not once a variant", func() error { return d.variform("review", "--no-diff") }},
		{"Approve one class, exactly as it was shown", d.approve},
		{"The other clusters are reviewed too, all but the first", d.approveOthers},
		{"Somebody edits a Draft by hand", d.edit},
		{"The catalogue publishes web-app v2, and the fleet moves to it", d.publish},
		{"What changes, and why?", func() error { return d.variform("plan") }},
		{"Update the fleet", func() error { return d.variform("apply") }},
		{"The hand-made edit is still there, beside the new image", d.check},
		{"What waits for review now: the same few lines, once", func() error { return d.variform("review", "--no-diff") }},
	}
	steps = append(append(steps, d.people()...), d.platform()...)
	if d.Large {
		steps = d.largeSteps()
	}
	if d.LayOut {
		steps = steps[:1]
	}
	for i, s := range steps {
		d.say("\n== %d. %s\n", i+1, s.title)
		if err := s.do(); err != nil {
			return fmt.Errorf("step %d (%s): %w", i+1, s.title, err)
		}
		if c.Wait != nil && i < len(steps)-1 {
			if err := c.Wait(); err != nil {
				return err
			}
		}
	}
	if !d.LayOut && !d.Large {
		d.epilogue()
	}
	return nil
}

type demo struct {
	Config
	ctx   context.Context
	repo  string // bare repositories
	work  string // work trees of the people in the story
	fleet string // the management repository that commands are about
}

func (d *demo) say(format string, args ...any) { _, _ = fmt.Fprintf(d.Out, format, args...) }

func (d *demo) prepare() error {
	if entries, err := os.ReadDir(d.Dir); err == nil && len(entries) > 0 {
		return fmt.Errorf("%s is not empty: give an empty or a new folder", d.Dir)
	}
	abs, err := filepath.Abs(d.Dir)
	if err != nil {
		return err
	}
	d.Dir, d.repo, d.work = abs, filepath.Join(abs, "git"), filepath.Join(abs, "work")
	for _, dir := range []string{d.repo, d.work} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	return nil
}

// variform runs a command on the management repository and shows a screen of what
// it prints.
func (d *demo) variform(args ...string) error {
	var said bytes.Buffer
	err := d.run(&said, &said, args...)
	d.say("%s", screenful(said.String()))
	return err
}

// variformTo is variform with the output for somebody else, who shows what matters of
// it.
func (d *demo) variformTo(out io.Writer, args ...string) error {
	var errs bytes.Buffer
	err := d.run(out, &errs, args...)
	d.say("%s", screenful(errs.String()))
	return err
}

func (d *demo) run(out, errs io.Writer, args ...string) error {
	args = append(args, "-f", d.bare(d.fleet))
	d.say("$ variform %s\n", strings.Join(args, " "))
	if status := d.Variform(d.ctx, out, errs, append(args, "--cache-dir", filepath.Join(d.Dir, "cache"))...); status != 0 {
		return fmt.Errorf("variform %s ended with status %d", args[0], status)
	}
	return nil
}

// A screen of a terminal, with room for the step's heading and command.
const (
	screenLines, screenColumns = 30, 160
	screenEnd                  = 14 // lines of the end that are shown: the sum, and what to look at
)

// screenful is a text as far as one screen shows it: of a long one the beginning and
// the end.
func screenful(text string) string {
	lines := slices.Collect(strings.Lines(text))
	if more := len(lines) - screenLines; more > 1 {
		begin := screenLines - screenEnd - 1
		lines = slices.Concat(lines[:begin], []string{fmt.Sprintf("… %d lines more …\n", len(lines)-begin-screenEnd)}, lines[len(lines)-screenEnd:])
	}
	for i, line := range lines {
		if runes := []rune(line); len(runes) > screenColumns {
			lines[i] = string(runes[:screenColumns-1]) + "…\n"
		}
	}
	return strings.Join(lines, "")
}

func (d *demo) bare(name string) string { return filepath.Join(d.repo, name+".git") }

// clusters is how many cluster repositories the example fleet has.
const clusters = 12

// layOut makes the repositories.
func (d *demo) layOut() error {
	names := []string{"catalog", "fleet", "tenants"}
	for i := 1; i <= clusters; i++ {
		names = append(names, fmt.Sprintf("cluster-%02d", i))
	}
	for _, name := range names {
		if err := d.newRepository(name); err != nil {
			return err
		}
	}
	if err := d.publishAll(examples.Catalog, "catalog", "v1"); err != nil {
		return err
	}
	if err := d.copy(examples.Fleet, d.tree("fleet")); err != nil {
		return err
	}
	if err := d.commit("fleet", "Describe the fleet"); err != nil {
		return err
	}
	more, err := d.layOutPlatform()
	if err != nil {
		return err
	}
	d.say("%d bare repositories in %s\ntheir work trees in %s\n", len(names)+more, d.repo, d.work)
	return nil
}

func (d *demo) tree(name string) string { return filepath.Join(d.work, name) }

func (d *demo) newRepository(name string) error {
	if err := d.git("", "init", "--quiet", "--bare", "--initial-branch=main", d.bare(name)); err != nil {
		return err
	}
	if err := d.git("", "clone", "--quiet", d.bare(name), d.tree(name)); err != nil {
		return err
	}
	if err := d.git(d.tree(name), "checkout", "--quiet", "-B", "main"); err != nil {
		return err
	}
	readme := filepath.Join(d.tree(name), "README.md")
	if err := os.WriteFile(readme, []byte("# "+name+"\n"), 0o644); err != nil {
		return err
	}
	return d.commit(name, "Start")
}

// publishAll commits a folder of packages and tags each of them.
func (d *demo) publishAll(from, to, revision string) error {
	if err := d.copy(from, d.tree(to)); err != nil {
		return err
	}
	if err := d.commit(to, "Publish the first packages"); err != nil {
		return err
	}
	packages, err := fs.ReadDir(examples.FS, from)
	if err != nil {
		return err
	}
	var tags []string
	for _, p := range packages {
		if p.IsDir() {
			tags = append(tags, p.Name()+"/"+revision)
		}
	}
	return d.tag(to, tags...)
}

// copy writes an embedded folder, with the place of the repositories filled in.
func (d *demo) copy(from, to string) error {
	return fs.WalkDir(examples.FS, from, func(p string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		target := filepath.Join(to, filepath.FromSlash(strings.TrimPrefix(strings.TrimPrefix(p, from), "/")))
		if e.IsDir() {
			return os.MkdirAll(target, 0o755)
		}
		data, err := fs.ReadFile(examples.FS, p)
		if err != nil {
			return err
		}
		data = bytes.ReplaceAll(data, []byte(examples.ReposPlaceholder), []byte(filepath.ToSlash(d.repo)))
		return os.WriteFile(target, data, 0o644)
	})
}

// edited is the variant whose Draft a person edits: one line, beside one that
// the second revision changes.
const (
	edited       = "cluster-01/web-app"
	editedRepo   = "cluster-01"
	editedBranch = "drafts/web-app/packagevariant-1"
	editedFile   = "web-app/autoscaling.yaml"
)

var (
	handFrom = []byte("minReplicas: 2\n")
	handTo   = []byte("minReplicas: 4\n")
)

// class is one that review shows.
type class struct {
	ID      string
	Members []string
}

func (c class) has(member string) bool { return slices.Contains(c.Members, member) }

func (d *demo) classes() ([]class, error) {
	var out bytes.Buffer
	if status := d.Variform(d.ctx, &out, io.Discard, "review", "-o", "json", "-f", d.bare("fleet"), "--cache-dir", filepath.Join(d.Dir, "cache")); status != 0 {
		return nil, fmt.Errorf("variform review ended with status %d", status)
	}
	var report struct{ Classes []class }
	err := json.Unmarshal(out.Bytes(), &report)
	return report.Classes, err
}

// approve approves the largest class that does not hold the edited variant.
func (d *demo) approve() error {
	classes, err := d.classes()
	if err != nil {
		return err
	}
	for _, c := range slices.Backward(classes) {
		if !c.has(edited) {
			return d.variform("approve", "--class", c.ID)
		}
	}
	return errors.New("review shows no class to approve")
}

// approveOthers publishes what waits in every cluster but the first.
func (d *demo) approveOthers() error {
	args := []string{"approve", "-o", "name"}
	for i := 2; i <= clusters; i++ {
		args = append(args, fmt.Sprintf("cluster-%02d", i))
	}
	var out bytes.Buffer
	if err := d.variformTo(&out, args...); err != nil {
		return err
	}
	d.say("%d packages published\n", bytes.Count(out.Bytes(), []byte("\n")))
	return nil
}

// edit changes a Draft as a person would: clone, edit, commit, push.
func (d *demo) edit() error {
	branch, tree := editedBranch, d.tree(editedRepo)
	if err := errors.Join(
		d.git(tree, "fetch", "--quiet", "origin"),
		d.git(tree, "checkout", "--quiet", "-B", branch, "origin/"+branch),
	); err != nil {
		return err
	}
	file := filepath.Join(tree, filepath.FromSlash(editedFile))
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	changed := bytes.Replace(data, handFrom, handTo, 1)
	if bytes.Equal(changed, data) {
		return fmt.Errorf("%s has no line %q to edit", editedFile, handFrom)
	}
	if err := os.WriteFile(file, changed, 0o644); err != nil {
		return err
	}
	d.say("in %s, branch %s:\n", d.bare(editedRepo), branch)
	if err := d.git(tree, "--no-pager", "diff", "--unified=0", "--no-color"); err != nil {
		return err
	}
	return errors.Join(
		d.git(tree, "commit", "--quiet", "--all", "--message", "More room for the launch"),
		d.git(tree, "push", "--quiet", "origin", branch),
	)
}

// publish commits the second revision of web-app and points the set at it.
func (d *demo) publish() error {
	const pkg = "web-app"
	if err := d.copy(path.Join(examples.CatalogV2, pkg), filepath.Join(d.tree("catalog"), pkg)); err != nil {
		return err
	}
	if err := errors.Join(d.commit("catalog", "web-app: second revision"), d.tag("catalog", pkg+"/v2")); err != nil {
		return err
	}
	set := filepath.Join(d.tree("fleet"), "sets", "web-app.yaml")
	data, err := os.ReadFile(set)
	if err != nil {
		return err
	}
	changed := bytes.Replace(data, []byte("workspaceName: v1"), []byte("workspaceName: v2"), 1)
	if bytes.Equal(changed, data) {
		return fmt.Errorf("%s has no line \"workspaceName: v1\"", set)
	}
	if err := os.WriteFile(set, changed, 0o644); err != nil {
		return err
	}
	d.say("in %s:\n", d.tree("fleet"))
	if err := d.git(d.tree("fleet"), "--no-pager", "diff", "--unified=0", "--no-color"); err != nil {
		return err
	}
	return d.commit("fleet", "web-app: move the fleet to v2")
}

// check shows that the edit survived the update.
func (d *demo) check() error {
	branch, tree := editedBranch, d.tree(editedRepo)
	if err := d.git(tree, "fetch", "--quiet", "origin"); err != nil {
		return err
	}
	d.say("$ git log --format='%%an: %%s' %s\n", branch)
	if err := d.git(tree, "--no-pager", "log", "--format=%an: %s", "origin/"+branch); err != nil {
		return err
	}
	var out bytes.Buffer
	if err := d.gitTo(&out, tree, "show", "origin/"+branch+":"+editedFile); err != nil {
		return err
	}
	if !bytes.Contains(out.Bytes(), handTo) {
		return fmt.Errorf("the edit %q was lost:\n%s", handTo, out.String())
	}
	d.say("%s still has %q\n", editedFile, strings.TrimSpace(string(handTo)))
	return nil
}

func (d *demo) epilogue() {
	d.say(`
Done. Long outputs were cut to a screen; run the commands yourself, everything is in %s
  variform status -f %s -o wide
  variform review -f %s          the same classes, with an example diff each
  git -C %s log --graph --oneline --all
  edit %s, commit, push, and run plan and apply again
  give cluster-plant an address in %s, commit, push;
  then apply and approve cluster-plant with -f %s
`, d.Dir, d.bare("fleet"), d.bare("fleet"), d.bare(editedRepo), filepath.Join(d.tree("fleet"), "sets"),
		filepath.Join(d.tree(platformFleet), "context", "ingress.yaml"), d.bare(platformFleet))
}
