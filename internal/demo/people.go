package demo

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// What people do beside Variform, in clusters whose update waits.
const (
	fixed, fixedFrom, fixedTo = "cluster-02", "minReplicas: 2\n", "minReplicas: 6\n"
	squashed                  = "cluster-03"
	updated                   = "drafts/web-app/packagevariant-2"
)

// people is how the first story ends.
func (d *demo) people() []step {
	return []step{
		{"Meanwhile, a hotfix: somebody commits to main of a cluster", d.hotfix},
		{"What did people change? Every edit is listed", func() error { return d.variform("edits") }},
		{"The next run brings the hotfix into the update that waits", d.keep},
		{"A pull request is squash-merged on the forge: the next run tags it", d.squash},
		{"Approve a part of the class first: two clusters", d.approvePart},
		{"Where does that value come from?", func() error { return d.variform("blame", fixed+"/web-app", "HorizontalPodAutoscaler/web-app") }},
		{"The review as a page, for who does not use a terminal", d.page},
	}
}

func (d *demo) hotfix() error {
	tree := d.tree(fixed)
	if err := errors.Join(d.git(tree, "fetch", "--quiet", "origin"), d.git(tree, "checkout", "--quiet", "-B", "main", "origin/main")); err != nil {
		return err
	}
	file := filepath.Join(tree, filepath.FromSlash(editedFile))
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	changed := bytes.Replace(data, []byte(fixedFrom), []byte(fixedTo), 1)
	if bytes.Equal(changed, data) {
		return fmt.Errorf("%s has no line %q to fix", editedFile, fixedFrom)
	}
	if err := os.WriteFile(file, changed, 0o644); err != nil {
		return err
	}
	d.say("in %s, branch main:\n", d.bare(fixed))
	if err := d.git(tree, "--no-pager", "diff", "--unified=0", "--no-color"); err != nil {
		return err
	}
	return d.commit(fixed, "Hotfix: the sale began")
}

// keep shows that the Draft has the hotfix and the update.
func (d *demo) keep() error {
	if err := d.variform("apply"); err != nil {
		return err
	}
	d.say("$ git -C %s show %s:%s\n", d.bare(fixed), updated, editedFile)
	var out bytes.Buffer
	if err := d.gitTo(&out, d.bare(fixed), "show", updated+":"+editedFile); err != nil {
		return err
	}
	for line := range strings.Lines(out.String()) {
		if strings.Contains(line, "Replicas:") {
			d.say("%s", line)
		}
	}
	if !bytes.Contains(out.Bytes(), []byte(fixedTo)) {
		return fmt.Errorf("the hotfix %q was lost", fixedTo)
	}
	return nil
}

// squash merges as a forge does.
func (d *demo) squash() error {
	tree := d.tree(squashed)
	for _, args := range [][]string{
		{"fetch", "--quiet", "origin"},
		{"checkout", "--quiet", "-B", "main", "origin/main"},
		{"merge", "--quiet", "--squash", "origin/" + updated},
	} {
		if err := d.git(tree, args...); err != nil {
			return err
		}
	}
	if err := d.commit(squashed, "web-app 1.5.0 (#1)"); err != nil {
		return err
	}
	return d.variform("apply")
}

// approvePart approves two members of the class of the update.
func (d *demo) approvePart() error {
	classes, err := d.classes()
	if err != nil {
		return err
	}
	for _, c := range classes {
		if c.has(fixed + "/web-app") {
			return d.variform("approve", "--class", c.ID, "cluster-04/web-app", "cluster-05/web-app")
		}
	}
	return errors.New("review shows no class of the update")
}

// page writes the page where it can be opened.
func (d *demo) page() error {
	file := filepath.Join(d.Dir, "review.html")
	var out bytes.Buffer
	if err := d.variformTo(&out, "review", "-o", "html"); err != nil {
		return err
	}
	d.say("written to %s; \"variform review --open\" opens it in the browser\n", file)
	return os.WriteFile(file, out.Bytes(), 0o644)
}
