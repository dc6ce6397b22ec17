package depcheck

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

const module = "github.com/variform/variform"

// TestRepository is the proof: the packages as they are break no rule.
func TestRepository(t *testing.T) {
	pkgs, err := Load(os.DirFS(filepath.Join("..", "..")), module)
	if err != nil {
		t.Fatal(err)
	}
	if len(pkgs) < 5 {
		t.Fatalf("only %d packages found: the walk is broken", len(pkgs))
	}
	for _, v := range Check(pkgs, Placement) {
		t.Error(v)
	}
}

func TestCheck(t *testing.T) {
	own := func(paths ...string) []string {
		out := make([]string, 0, len(paths))
		for _, p := range paths {
			out = append(out, module+"/"+p)
		}
		return out
	}
	cases := map[string]struct {
		reason string
		pkg    Package
		want   []string
	}{
		"PureImportsAPI": {
			reason: "Downwards is what layers are for.",
			pkg:    Package{Path: "resolver", Imports: own("api", "internal/krm", "api/config/v1alpha1")},
		},
		"PureImportsPure": {
			reason: "Pure packages may use one another.",
			pkg:    Package{Path: "injector", Imports: own("internal/krm", "internal/celexpr")},
		},
		"PureImportsAdapter": {
			pkg:  Package{Path: "variantgen", Imports: own("internal/gitrepo")},
			want: []string{"variantgen: is pure and imports internal/gitrepo, which is adapter"},
		},
		"PureSubpackage": {
			reason: "A folder below a placed one has its layer.",
			pkg:    Package{Path: "resolver/dialect/porter", Imports: own("internal/cli")},
			want:   []string{"resolver/dialect/porter: is pure and imports internal/cli, which is door"},
		},
		"APIImportsPure": {
			pkg:  Package{Path: "api", Imports: own("internal/krm")},
			want: []string{"api: is api and imports internal/krm, which is pure"},
		},
		"PureImportsBanned": {
			reason: "Everything below a banned root is banned, net/url and net/netip are not.",
			pkg: Package{Path: "internal/merge", Imports: []string{
				"github.com/go-git/go-git/v5/plumbing", "github.com/spf13/cobra",
				"net", "net/http", "net/netip", "net/url", "os", "os/exec", "osutil", "strings",
			}},
			want: []string{
				"internal/merge: is pure and imports github.com/go-git/go-git/v5/plumbing",
				"internal/merge: is pure and imports github.com/spf13/cobra",
				"internal/merge: is pure and imports net",
				"internal/merge: is pure and imports net/http",
				"internal/merge: is pure and imports os",
				"internal/merge: is pure and imports os/exec",
			},
		},
		"PureReadsClock": {
			pkg:  Package{Path: "injector", Clock: []string{"injector/a.go:3:7: time.Now"}},
			want: []string{"injector: is pure and reads the clock at injector/a.go:3:7: time.Now"},
		},
		"AdapterReadsClockAndDisk": {
			pkg: Package{Path: "internal/gitrepo", Imports: []string{"os", "net/http"}, Clock: []string{"x"}},
		},
		"AdapterImportsAdapter": {
			pkg:  Package{Path: "internal/source", Imports: own("internal/gitrepo", "internal/krm")},
			want: []string{"internal/source: is adapter and imports another: internal/gitrepo"},
		},
		"AdapterImportsItself": {
			reason: "An adapter may have inner packages.",
			pkg:    Package{Path: "internal/gitrepo", Imports: own("internal/gitrepo/thinpack")},
		},
		"UseCaseImportsCLI": {
			pkg:  Package{Path: "internal/reconcile", Imports: own("internal/cli", "internal/gitrepo")},
			want: []string{"internal/reconcile: is use case and imports internal/cli, which is door"},
		},
		"ProductImportsTooling": {
			pkg:  Package{Path: "internal/cli", Imports: own("tools/images", "examples")},
			want: []string{"internal/cli: is door and imports tools/images, which is tooling"},
		},
		"Unplaced": {
			pkg:  Package{Path: "internal/util", Imports: own("internal/cli")},
			want: []string{"internal/util: has no layer: add it to Placement in test/depcheck"},
		},
		"FunctionMain": {
			pkg: Package{Path: "functions/inject-config", Imports: own("internal/fnmain", "injector"), Funcs: []string{"main"}, Main: 30},
		},
		"LongFunctionMain": {
			pkg: Package{Path: "functions/inject-config", Funcs: []string{"main", "parse"}, Main: 31},
			want: []string{
				"functions/inject-config: declares parse: a main has no logic of its own",
				"functions/inject-config: main.go has 31 lines, more than 30",
			},
		},
		"CommandWithLogic": {
			pkg: Package{Path: "cmd/variform", Imports: append(own("internal/cli", "internal/reconcile"), "os"), Funcs: []string{"run", "main"}},
			want: []string{
				"cmd/variform: declares run: a main has no logic of its own",
				"cmd/variform: imports internal/reconcile: a command calls a door, internal/cli or internal/fnmain, only",
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.pkg.Module = module
			var got []string
			for _, v := range Check([]Package{tc.pkg}, Placement) {
				got = append(got, v.String())
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\nCheck (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestLoad(t *testing.T) {
	root := fstest.MapFS{}
	for name, data := range map[string]string{
		"injector/a.go": "// Package injector fills\n// points. More of it.\npackage injector\n\nimport (\n\t\"os\"\n\tclock \"time\"\n)\n\nvar A = clock.Now\n\nfunc F() { clock.Sleep(0); os.Exit(1) }\n",
		"injector/b.go": "//go:build never\n\npackage injector\n\nimport \"time\"\n\nvar (\n\tD = time.Second\n\tB = time.Since(time.Time{})\n)\n",
		"injector/c.go": "package injector\n\nimport . \"time\"\n\nvar C = Now()\n",
		// What must not be read: tests, testdata, dot-folders, nested modules.
		"injector/a_test.go":     "package injector\n\nimport _ \"net/http\"\n",
		"injector/testdata/x.go": "package broken(",
		".hidden/x.go":           "package broken(",
		"internal/tools/go.mod":  "module tools\n",
		"internal/tools/x.go":    "package broken(",
		"functions/f/main.go":    "package main\n\nfunc main() {}\n",
	} {
		root[name] = &fstest.MapFile{Data: []byte(data)}
	}
	got, err := Load(root, module)
	if err != nil {
		t.Fatal(err)
	}
	want := []Package{
		{Path: "functions/f", Module: module, Funcs: []string{"main"}, Main: 3},
		{
			Path: "injector", Doc: "Package injector fills points.", Module: module, Imports: []string{"os", "time"}, Funcs: []string{"F"},
			Clock: []string{
				"injector/a.go:10:15: time.Now", "injector/a.go:12:18: time.Sleep",
				"injector/b.go:9:11: time.Since", "injector/c.go:5:9: time.Now",
			},
		},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(Package{}, "Size")); diff != "" {
		t.Errorf("Load (-want +got):\n%s", diff)
	}
}

func TestLoadReportsBrokenSource(t *testing.T) {
	root := fstest.MapFS{"x.go": &fstest.MapFile{Data: []byte("package (")}}
	if _, err := Load(root, module); err == nil || !strings.Contains(err.Error(), "x.go") {
		t.Errorf("Load: want an error that names x.go, got %v", err)
	}
}

func TestPicture(t *testing.T) {
	long := "Package resolver answers which packages, at which versions, are to be where, so that all that they need is met, in one go: of this nothing."
	got := Picture([]Package{
		{Path: "cmd/variform", Doc: "Command variform plans (see docs/design)."},
		{Path: "nowhere", Doc: "Package nowhere has no layer."},
		{Path: "resolver", Doc: long},
		{Path: "test/docs"},
	}, Placement)
	for _, want := range []string{
		"COMMAND: mains: they call a door and have no logic\n│  cmd/variform                    plans\n▼\nDOOR: ",
		"│  resolver                        answers which packages, at which versions, are to be where, so that all that they\n" +
			"│                                  need is met, in one go\n▼\nAPI: ",
		"\n\nTOOLING: builds and tests the project; nothing above imports it\n   test/docs\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("Picture: it lacks\n%s\nin\n%s", want, got)
		}
	}
	if strings.Contains(got, "nowhere") || strings.Count(got, "▼") != int(Command) {
		t.Errorf("Picture: packages without a layer, or layers, are wrong:\n%s", got)
	}
}
