package demo

import (
	"bytes"
	"fmt"
	"io/fs"
	"path"

	"github.com/variform/variform/examples"
)

// The second story: a fleet whose packages need others.
const (
	platformFleet   = "platform"
	platformCatalog = "platform-catalog"
	approved        = "cluster-us"
)

// platformClusters are the clusters of the second story, and what they have
// before it.
var platformClusters = []struct{ name, has string }{
	{"cluster-eu", "nothing yet"},
	{"cluster-us", "an ingress controller, published by the network team"},
	{"cluster-ap", "a database for team shop, run by another tool"},
	{"cluster-plant", "no way to a public authority: certificates are the company's own"},
}

// platform is the second story.
func (d *demo) platform() []step {
	return []step{
		{"Packages that need others: the sets name three applications, what else is to come?", d.planPlatform},
		{"Write it all: applications, what they need, and one lock per cluster", d.applyPlatform},
		{"What packages say of themselves has flowed into those that need them", d.showWires},
		{"Which clusters get cert-manager, and who asked for it?", func() error { return d.variform("why", "cert-manager") }},
		{"Draw a cluster, as Mermaid", func() error { return d.variform("graph", approved) }},
		{"Approve a cluster: its lock and its packages move in one push", func() error { return d.variform("approve", approved) }},
		{"Again: nothing to do", func() error { return d.variform("apply") }},
	}
}

// layOutPlatform makes the repositories of the second story and returns how
// many.
func (d *demo) layOutPlatform() (int, error) {
	names := []string{platformCatalog, platformFleet}
	for _, c := range platformClusters {
		names = append(names, c.name)
	}
	for _, name := range names {
		if err := d.newRepository(name); err != nil {
			return 0, err
		}
	}
	if err := d.publishAll(examples.PlatformCatalog, platformCatalog, "v1.0.0"); err != nil {
		return 0, err
	}
	clusters, err := fs.ReadDir(examples.FS, examples.PlatformClusters)
	if err != nil {
		return 0, err
	}
	for _, c := range clusters {
		if !c.IsDir() {
			continue
		}
		if err := d.publishAll(path.Join(examples.PlatformClusters, c.Name()), c.Name(), "v1"); err != nil {
			return 0, err
		}
	}
	if err := d.copy(examples.Platform, d.tree(platformFleet)); err != nil {
		return 0, err
	}
	return len(names), d.commit(platformFleet, "Describe the fleet")
}

func (d *demo) planPlatform() error {
	d.fleet = platformFleet
	for _, c := range platformClusters {
		d.say("%-14s has %s\n", c.name, c.has)
	}
	return d.variform("plan")
}

func (d *demo) applyPlatform() error {
	var out bytes.Buffer
	if err := d.variformTo(&out, "apply", "-o", "name"); err != nil {
		return err
	}
	d.say("%d packages drafted\n", bytes.Count(out.Bytes(), []byte("\n")))
	return nil
}

// showWires shows the lines of an application that other packages decide.
func (d *demo) showWires() error {
	const branch, what, where = "drafts/shop/storefront/packagevariant-1", "issuer:|ClassName:|target:|DATABASE_HOST:", "shop/storefront"
	for _, c := range platformClusters {
		d.say("$ git -C %s grep -hE '%s' %s -- %s\n", d.bare(c.name), what, branch, where)
		if err := d.git(d.bare(c.name), "grep", "-hE", what, branch, "--", where); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	return nil
}
