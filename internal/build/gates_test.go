package build

import (
	"slices"
	"strings"
	"testing"

	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/test/krmtest"
)

const gated = `apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: web
upstreamLock:
  type: git
  git: {repo: https://example.com/catalog, directory: /web, ref: web/v1, commit: "1"}
info:
  description: a web server
  readinessGates:
  - conditionType: sec.review
  - conditionType: load.test
status:
  conditions:
  - {type: sec.review, status: "True", reason: Reviewed}
  - {type: load.test, status: "False"}
`

func gatedPackage(t *testing.T, kptfile string, more ...string) *krm.Package {
	t.Helper()
	files := map[string]string{"Kptfile": kptfile}
	for i, text := range more {
		files[[]string{"config.yaml", "README.md"}[i]] = text
	}
	return krmtest.Package(t, files)
}

// What gates are met for is what a package holds, and not what is said of it.
func TestSameContent(t *testing.T) {
	config := func(v string) string {
		return "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: config\ndata:\n  a: " + v + "\n"
	}
	one := gatedPackage(t, gated, config("1"))
	replaced := func(pairs ...string) *krm.Package {
		return gatedPackage(t, strings.NewReplacer(pairs...).Replace(gated), config("1"))
	}
	for name, c := range map[string]struct {
		other *krm.Package
		same  bool
	}{
		"the same":       {one, true},
		"a condition":    {replaced("reason: Reviewed", "reason: Seen"), true},
		"no status":      {gatedPackage(t, gated[:strings.Index(gated, "status:")], config("1")), true},
		"labels":         {replaced("  name: web\n", "  name: web\n  labels: {team: a}\n"), true},
		"annotations":    {replaced("  name: web\n", "  name: web\n  annotations: {a: b}\n"), true},
		"the lock":       {replaced("web/v1", "web/v2"), true},
		"its info":       {replaced("a web server", "another"), false},
		"another gate":   {replaced("conditionType: load.test", "conditionType: audit"), false},
		"a value":        {gatedPackage(t, gated, config("2")), false},
		"a file":         {gatedPackage(t, gated, config("1"), "x\n"), false},
		"a resource out": {gatedPackage(t, gated), false},
	} {
		if same, err := sameContent(one, c.other); err != nil || same != c.same {
			t.Errorf("%s: %t, %v", name, same, err)
		}
	}
}

func TestMetByHand(t *testing.T) {
	is := gatedPackage(t, gated)
	none := gatedPackage(t, gated[:strings.Index(gated, "status:")])
	for name, c := range map[string]struct {
		others []*krm.Package
		want   []string
	}{
		"by nobody else":      {nil, []string{"sec.review"}},
		"not by the machine":  {[]*krm.Package{none}, []string{"sec.review"}},
		"by the machine, too": {[]*krm.Package{none, is}, nil},
	} {
		if got, err := metByHand(is, c.others...); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}
