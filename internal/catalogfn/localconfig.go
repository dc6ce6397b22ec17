package catalogfn

import (
	"context"
	"strings"

	"github.com/variform/variform/internal/function"
	"github.com/variform/variform/internal/yamltree"
)

// RemoveLocalConfigResources deletes the resources whose annotation
// config.kubernetes.io/local-config is "true": what serves the package's
// making, not the cluster. Kptfiles stay where they lack the annotation.
func RemoveLocalConfigResources(_ context.Context, c *function.Call) error {
	n := 0
	for _, r := range c.Resources() {
		if strings.ToLower(yamltree.Text(r.Node().YNode(), "metadata", "annotations", localConfigAnnotation)) != "true" {
			continue
		}
		n++
		say(c, r, "info", "", "removed")
		r.Delete()
	}
	if n == 0 {
		c.Results.Warningf("no resource has the local-config annotation")
		return nil
	}
	c.Results.Infof("number of resources pruned: %d", n)
	return nil
}
