package krmtest_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/test/krmtest"
)

func TestPackageAndBack(t *testing.T) {
	want := map[string]string{"Kptfile": "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: p\n", "a/b.yaml": "kind: X # kept\n", "README.md": "text"}
	if d := cmp.Diff(want, krmtest.Texts(t, krmtest.Package(t, want))); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
