package e2e

import (
	"fmt"
	"testing"

	"github.com/variform/variform/internal/decide"
)

// What a newer Variform made waits for it; what an older one made waits for the
// next change, or for --rehydrate.
func TestHydrationVersions(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1")
	w.publishWeb(webV2, "v2")
	w.write("v.yaml", variantOf("one", "v1", "c1", "web", ""))
	w.mustApply()
	w.contains(w.mustRun(0, "record", "show", "-o", "yaml").out, fmt.Sprintf("hydration: %d", decide.Hydration))
	now := fmt.Sprintf(`"hydration":%d`, decide.Hydration)
	w.forgeRecord(now, `"hydration":99`)
	w.wantActions(w.mustApply(), map[string]string{})
	w.write("v.yaml", variantOf("one", "v2", "c1", "web", ""))
	before := w.refs()
	p := w.mustApply()
	w.wantActions(p, all("wait", "c1/web"))
	w.contains(p.variant(t, "c1/web").Reasons[0], "made by a newer Variform, of hydration version 99")
	w.unchanged(before)
	w.forgeRecord(`"hydration":99`, now)
	w.wantActions(w.mustApply(), all("update", "c1/web"))

	// Of an older one, with an edit.
	w.edit("c1", "drafts/web/packagevariant-1", "web/deployment.yaml", "kind: Deployment", "kind: Deployment # mine")
	w.approveSeen()
	w.forgeRecord(","+now, "")
	before = w.refs()
	w.wantActions(w.mustApply(), map[string]string{})
	w.wantActions(w.mustApply("--rehydrate"), map[string]string{}) // nothing is made otherwise
	w.unchanged(before)
}
