package demo

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// The third story: many clusters, in which people did what people do since the
// last update.
const (
	many     = 300
	hotfixed = 20
	setBack  = 10
	deleted  = 5
	held     = 5
	canaries = 50 // approved first
)

// largeSteps is the third story.
func (d *demo) largeSteps() []step {
	d.fleet = "fleet"
	return []step{
		{fmt.Sprintf("Lay out a fleet of %d clusters, folders of one repository", many), d.layOutLarge},
		{"The first two versions, written and approved everywhere", func() error {
			return errors.Join(d.release("v1", "1.0", "100m"), d.approveAll(), d.release("v2", "2.0", "100m"), d.approveAll())
		}},
		{fmt.Sprintf("Since then: %d hotfixes, %d clusters set back, %d deletions, %d holds", hotfixed, setBack, deleted, held), d.live},
		{"What people changed, before anything is updated", func() error { return d.brief("edits") }},
		{"The third version: what would happen?", func() error {
			if err := d.want("v3", "3.0", "100m"); err != nil {
				return err
			}
			return d.brief("plan")
		}},
		{"Write the Drafts", func() error { return d.brief("apply") }},
		{"Read each change once", func() error { return d.variform("review", "--no-diff") }},
		{fmt.Sprintf("Approve a part of the largest class: its first %d clusters", canaries), func() error { return d.approveLargest("--max", fmt.Sprint(canaries)) }},
		{"The rest of it later, exactly as it is shown then", func() error { return d.approveLargest() }},
		{"What is left waits for people, whatever else moved on that branch", func() error { return d.brief("status") }},
		{"Again: nothing to do, and nothing is lost", func() error { return errors.Join(d.brief("apply"), d.checkLarge()) }},
	}
}

func clusterName(i int) string { return fmt.Sprintf("c%03d", i) }

// place is a cluster's package in the work tree.
func place(i int) string { return "clusters/" + clusterName(i) + "/web" }

func (d *demo) layOutLarge() error {
	for _, name := range []string{"catalog", "clusters", "fleet"} {
		if err := d.newRepository(name); err != nil {
			return err
		}
	}
	var b strings.Builder
	b.WriteString("apiVersion: config.porch.kpt.dev/v1alpha1\nkind: Repository\nmetadata: {name: catalog}\nspec: {type: git, git: {repo: " + filepath.ToSlash(d.bare("catalog")) + ", branch: main}}\n")
	for i := 1; i <= many; i++ {
		fmt.Fprintf(&b, "---\napiVersion: config.porch.kpt.dev/v1alpha1\nkind: Repository\nmetadata: {name: %[1]s, labels: {env: prod}}\nspec: {type: git, deployment: true, git: {repo: %[2]s, branch: main, directory: clusters/%[1]s}}\n", clusterName(i), filepath.ToSlash(d.bare("clusters")))
	}
	return errors.Join(
		d.file("fleet", "Kptfile", "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: large-fleet}\n"),
		d.file("fleet", "clusters.yaml", b.String()),
		d.file("catalog", "web/Kptfile", "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: web\n"),
	)
}

func (d *demo) file(repo, name, text string) error {
	at := filepath.Join(d.tree(repo), filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		return err
	}
	return os.WriteFile(at, []byte(text), 0o644)
}

// deployment is the package's one resource.
func deployment(version, cpu string) string {
	return "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\nspec:\n  template:\n    spec:\n      containers:\n      - name: web\n        image: registry.example.com/web:" + version + "\n        resources:\n          requests:\n            cpu: " + cpu + "\n"
}

// want publishes a version in the catalogue and moves the set to it.
func (d *demo) want(revision, version, cpu string) error {
	return errors.Join(
		d.file("catalog", "web/deployment.yaml", deployment(version, cpu)),
		d.commit("catalog", "web "+revision), d.tag("catalog", "web/"+revision),
		d.file("fleet", "web.yaml", "apiVersion: config.porch.kpt.dev/v1alpha2\nkind: PackageVariantSet\nmetadata: {name: web}\nspec:\n  upstream: {repo: catalog, package: web, workspaceName: "+revision+"}\n  targets:\n  - repositorySelector: {matchLabels: {env: prod}}\n    template:\n      packageContext:\n        dataExprs: [{key: cluster, valueExpr: repository.name}]\n"),
		d.commit("fleet", "web: "+revision),
	)
}

func (d *demo) release(revision, version, cpu string) error {
	return errors.Join(d.want(revision, version, cpu), d.brief("apply"))
}

func (d *demo) approveAll() error { return d.brief("approve", "--all") }

// brief runs a command and shows how its answer begins and ends.
func (d *demo) brief(args ...string) error {
	var out bytes.Buffer
	if err := d.variformTo(&out, args...); err != nil {
		d.say("%s", out.String())
		return err
	}
	lines := strings.SplitAfter(strings.TrimSuffix(out.String(), "\n"), "\n")
	const shown, last = 10, 4
	if n := len(lines); n > shown+last+1 {
		lines = slices.Concat(lines[:shown], []string{fmt.Sprintf("… %d lines\n", n-shown-last)}, lines[n-last:])
	}
	d.say("%s\n", strings.Join(lines, ""))
	return nil
}

// live is what people did on the branch, and what they asked to be let be.
func (d *demo) live() error {
	tree := d.tree("clusters")
	if err := d.git(tree, "pull", "--quiet", "--tags", "origin", "main"); err != nil {
		return err
	}
	i := 1
	next := func(n int) (paths []string) {
		for ; n > 0; n-- {
			paths = append(paths, place(i))
			i++
		}
		return paths
	}
	for _, p := range next(hotfixed) {
		if err := d.file("clusters", p+"/deployment.yaml", deployment("2.0", "900m")); err != nil {
			return err
		}
	}
	if err := d.commit("clusters", "More room: incident 12"); err != nil {
		return err
	}
	for _, p := range next(setBack) {
		if err := d.git(tree, "checkout", "--quiet", p+"/v1", "--", p); err != nil {
			return err
		}
	}
	if err := d.commit("clusters", "Back to v1"); err != nil {
		return err
	}
	if err := errors.Join(d.git(tree, append([]string{"rm", "-rq"}, next(deleted)...)...), d.commit("clusters", "Not here any more")); err != nil {
		return err
	}
	var names []string
	for _, p := range next(held) {
		names = append(names, strings.TrimPrefix(p, "clusters/"))
	}
	return d.brief(append([]string{"hold", "--reason", "launch week"}, names...)...)
}

// approveLargest approves the largest class, or a part of it.
func (d *demo) approveLargest(more ...string) error {
	var out bytes.Buffer
	if err := d.variformTo(&out, "review", "-o", "json"); err != nil {
		return err
	}
	var report struct {
		Classes []struct {
			ID      string
			Members []string
		}
	}
	if err := json.Unmarshal(out.Bytes(), &report); err != nil {
		return err
	}
	id, members := "", 0
	for _, c := range report.Classes {
		if len(c.Members) > members {
			id, members = c.ID, len(c.Members)
		}
	}
	return d.brief(append([]string{"approve", "--class", id}, more...)...)
}

// checkLarge looks at what people did: it stands on the branch.
func (d *demo) checkLarge() error {
	tree := d.tree("clusters")
	if err := d.git(tree, "pull", "--quiet", "origin", "main"); err != nil {
		return err
	}
	count := map[string]int{}
	for i := 1; i <= many; i++ {
		data, err := os.ReadFile(filepath.Join(tree, filepath.FromSlash(place(i)), "deployment.yaml"))
		switch text := string(data); {
		case errors.Is(err, fs.ErrNotExist):
			count["deleted"]++
		case err != nil:
			return err
		case text == deployment("3.0", "900m"):
			count["fixed"]++
		default:
			count[strings.TrimPrefix(strings.Fields(text)[15], "registry.example.com/web:")]++
		}
	}
	d.say("on main: %d at 3.0, %d at 3.0 with the hotfix, %d held at 2.0, %d set back to 1.0, %d deleted\n", count["3.0"], count["fixed"], count["2.0"], count["1.0"], count["deleted"])
	return nil
}
