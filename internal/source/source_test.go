package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/examples"
	"github.com/variform/variform/internal/krm"
)

// fakeGit serves files and records what it was asked for.
type fakeGit struct {
	files         []krm.File
	err           error
	url, ref, dir string
}

func (g *fakeGit) ReadTree(_ context.Context, url, ref, dir string) ([]krm.File, error) {
	g.url, g.ref, g.dir = url, ref, dir
	return g.files, g.err
}

// write makes a folder of files; a name that ends in "/" is an empty folder.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, data := range files {
		file := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(data), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// Read reads and parses a management directory.
func Read(ctx context.Context, location string, opts Options) (*Fleet, error) {
	d, err := Open(ctx, location, opts)
	if err != nil {
		return nil, err
	}
	return d.Fleet(ctx)
}

// readBoth reads the same files from disk and from Git: both doors must give
// the same.
func readBoth(t *testing.T, files map[string]string, opts Options) *Fleet {
	t.Helper()
	fromDisk, err := Read(t.Context(), write(t, files), opts)
	if err != nil {
		t.Fatal(err)
	}
	git := &fakeGit{}
	for name, data := range files {
		git.files = append(git.files, krm.File{Path: name, Data: []byte(data)})
	}
	opts.Git = git
	fromGit, err := Read(t.Context(), "https://git.example.com/fleet.git", opts)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(summary(fromDisk), summary(fromGit)); diff != "" {
		t.Errorf("disk and Git differ (-disk +git):\n%s", diff)
	}
	return fromDisk
}

type fleetSummary struct {
	Manager, Problems, Warnings string
	Objects                     []string
}

// summary is what tests compare: every object with its place, every message.
func summary(f *Fleet) fleetSummary {
	s := fleetSummary{Manager: f.Manager, Problems: f.Problems.Error(), Warnings: f.Warnings.Error()}
	add := func(k Key) { s.Objects = append(s.Objects, k.String()+" @ "+f.Origin(k).String()) }
	for _, o := range f.Repositories {
		add(Key{"config.porch.kpt.dev", "Repository", o.Namespace, o.Name})
	}
	for _, o := range f.Sets {
		add(Key{"config.porch.kpt.dev", "PackageVariantSet", o.Namespace, o.Name})
	}
	for _, o := range f.Variants {
		add(Key{"config.porch.kpt.dev", "PackageVariant", o.Namespace, o.Name})
	}
	for _, o := range f.Objects {
		add(o.Key)
	}
	return s
}

func configMap(name string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + name + "\n"
}

func repository(name string) string {
	return "apiVersion: config.porch.kpt.dev/v1alpha1\nkind: Repository\nmetadata:\n  name: " + name +
		"\nspec:\n  type: git\n  git:\n    repo: https://git.example.com/" + name + ".git\n"
}

func TestReadExampleFleet(t *testing.T) {
	sub, err := fs.Sub(examples.FS, examples.Fleet)
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	if err := os.CopyFS(root, sub); err != nil {
		t.Fatal(err)
	}
	f, err := Read(t.Context(), root, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Problems) > 0 || len(f.Warnings) > 0 {
		t.Errorf("problems:\n%v\nwarnings:\n%v", f.Problems, f.Warnings)
	}
	got := map[string]int{"repositories": len(f.Repositories), "sets": len(f.Sets), "variants": len(f.Variants), "objects": len(f.Objects)}
	want := map[string]int{"repositories": 16, "sets": 4, "variants": 1, "objects": 14}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
	if f.Manager != "demo-fleet" {
		t.Errorf("manager %q, want demo-fleet", f.Manager)
	}
	if got := f.Origin(Key{"config.porch.kpt.dev", "Repository", "default", "cluster-02"}).String(); got != "repositories/clusters.yaml:18" {
		t.Errorf("cluster-02 stands at %s", got)
	}
}

func TestReadSelectsFiles(t *testing.T) {
	cases := map[string]struct {
		reason   string
		files    map[string]string
		want     []string
		packages []string // passed over
	}{
		"Extensions": {
			reason: "*.yaml and *.yml at any depth, nothing else.",
			files: map[string]string{
				"a.yaml": configMap("a"), "b/c/d.yml": configMap("d"), "e.json": configMap("e"), "f.yaml.bak": configMap("f"), "yaml": configMap("g"),
			},
			want: []string{"ConfigMap default/a @ a.yaml:1", "ConfigMap default/d @ b/c/d.yml:1"},
		},
		"DotFolders": {
			files: map[string]string{".git/a.yaml": configMap("a"), "b/.cache/c.yaml": configMap("c"), "b/d.yaml": configMap("d")},
			want:  []string{"ConfigMap default/d @ b/d.yaml:1"},
		},
		"NestedPackages": {
			reason: "A folder with a Kptfile below the root is a package, with all below it.",
			files: map[string]string{
				"Kptfile":       "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: root\n",
				"p/Kptfile":     "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: p\n",
				"p/a.yaml":      configMap("a"),
				"p/deep/b.yaml": configMap("b"),
				"q/c.yaml":      configMap("c"),
			},
			want:     []string{"ConfigMap default/c @ q/c.yaml:1"},
			packages: []string{"p"},
		},
		"KptfileInYAMLFile": {
			files: map[string]string{"a.yaml": "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: p\n---\n" + configMap("a")},
			want:  []string{"ConfigMap default/a @ a.yaml:6"},
		},
		"NoKRM": {
			reason: "Values, lists, scalars and empty documents are none of ours.",
			files: map[string]string{
				"values.yaml": "image: nginx\nkind: x\n", "list.yaml": "- a\n- b\n", "scalar.yaml": "hello\n", "empty.yaml": "", "comment.yaml": "# nothing\n---\n",
				"dup.yaml": "a: 1\na: 2\n",
			},
		},
		"Ignored": {
			reason: "gitignore's syntax: names, rooted paths, folders, negation, comments, ** and CRLF line ends.",
			files: map[string]string{
				".krmignore":     "# comment\r\nskip.yaml\r\n/rooted.yaml\ngone/\nx/**/z.yaml\n*.tmp.yaml\n!keep.tmp.yaml\n\\#hash.yaml\n\n",
				"skip.yaml":      configMap("a"),
				"sub/skip.yaml":  configMap("b"),
				"rooted.yaml":    configMap("c"),
				"s/rooted.yaml":  configMap("d"),
				"gone/a.yaml":    configMap("e"),
				"x/y/w/z.yaml":   configMap("f"),
				"a.tmp.yaml":     configMap("g"),
				"keep.tmp.yaml":  configMap("h"),
				"#hash.yaml":     configMap("i"),
				"sub/other.yaml": configMap("j"),
			},
			want: []string{
				"ConfigMap default/h @ keep.tmp.yaml:1", "ConfigMap default/d @ s/rooted.yaml:1", "ConfigMap default/j @ sub/other.yaml:1",
			},
		},
		"IgnoredBelow": {
			reason: "A .krmignore holds for its own folder and below, and no longer.",
			files: map[string]string{
				"a/.krmignore": "x.yaml\n", "a/x.yaml": configMap("a"), "a/b/x.yaml": configMap("b"), "c/x.yaml": configMap("c"), "x.yaml": configMap("d"),
			},
			want: []string{"ConfigMap default/c @ c/x.yaml:1", "ConfigMap default/d @ x.yaml:1"},
		},
		"Namespaces": {
			reason: "Absent, empty and default are one; kinds, groups and namespaces tell objects apart.",
			files: map[string]string{
				"a.yaml": configMap("a") + "  namespace: team\n---\n" + configMap("a") + "---\n" +
					"apiVersion: other.example.com/v1\nkind: ConfigMap\nmetadata: {name: a, namespace: \"\"}\n---\n" + repository("a"),
			},
			want: []string{
				"Repository.config.porch.kpt.dev default/a @ a.yaml:16", "ConfigMap team/a @ a.yaml:1", "ConfigMap default/a @ a.yaml:7", "ConfigMap.other.example.com default/a @ a.yaml:12",
			},
		},
		"Lists": {
			reason: "kubectl get -o yaml, mixed and of one kind; a kind that ends in List without items is an object.",
			files: map[string]string{
				"a.yaml": "apiVersion: v1\nkind: List\nitems:\n- " + strings.ReplaceAll(strings.TrimSpace(configMap("a")), "\n", "\n  ") +
					"\n- {apiVersion: x.example.com/v1, kind: Team, metadata: {name: t}}\n",
				"b.yaml": "apiVersion: x.example.com/v1\nkind: TeamList\nmetadata: {resourceVersion: \"7\"}\nitems:\n- metadata: {name: u}\n",
				"c.yaml": "apiVersion: x.example.com/v1\nkind: AllowList\nmetadata: {name: l}\nspec: {items: []}\n",
				"d.yaml": "apiVersion: v1\nkind: List\nitems: []\n",
			},
			want: []string{
				"ConfigMap default/a @ a.yaml:4", "Team.x.example.com default/t @ a.yaml:8", "Team.x.example.com default/u @ b.yaml:5", "AllowList.x.example.com default/l @ c.yaml:1",
			},
		},
		"Separators": {
			reason: "Comments after ---, CRLF, a byte order mark, an end marker, --- inside a block scalar.",
			files: map[string]string{
				"a.yaml": "\xef\xbb\xbf--- # first\r\n" + strings.ReplaceAll(configMap("a"), "\n", "\r\n") + "---\r\n" + configMap("b") +
					"data:\n  x: |\n    ---\n    text\n...\n---\n---\n" + configMap("c"),
			},
			want: []string{"ConfigMap default/a @ a.yaml:2", "ConfigMap default/b @ a.yaml:7", "ConfigMap default/c @ a.yaml:18"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			f := readBoth(t, tc.files, Options{})
			if diff := cmp.Diff(tc.want, summary(f).Objects); diff != "" {
				t.Errorf("%s\nobjects (-want +got):\n%s", tc.reason, diff)
			}
			if len(f.Problems) > 0 {
				t.Errorf("%s\nproblems:\n%v", tc.reason, f.Problems)
			}
			if diff := cmp.Diff(tc.packages, f.Packages); diff != "" {
				t.Errorf("%s\npackages (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestReadProblems(t *testing.T) {
	bomb := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: bomb}\na0: &a0 [x, x]\n"
	for i := 1; i < 20; i++ {
		a, b := string(rune('a'+i)), string(rune('a'+i-1))
		if i == 1 {
			b = "a0"
		}
		bomb += a + ": &" + a + " [*" + b + ", *" + b + ", *" + b + "]\n"
	}
	cases := map[string]struct {
		reason  string
		files   map[string]string
		limits  Limits
		objects []string
		want    []string // parts of the messages, one each
	}{
		"BrokenDocument": {
			reason: "The documents around a broken one are read; the line is the file's (yaml.v3 counts parser errors from 0).",
			files:  map[string]string{"a.yaml": configMap("a") + "---\nkey: [1\n---\n" + configMap("b")},
			objects: []string{
				"ConfigMap default/a @ a.yaml:1", "ConfigMap default/b @ a.yaml:8",
			},
			want: []string{"a.yaml:5: the document is not YAML:"},
		},
		"WrongGroup": {
			reason: "A known kind under a group that cannot have it is a mistake: its objects would look as if they had gone. Another system's kind of that name is an object.",
			files: map[string]string{
				"a.yaml": "apiVersion: v1\nkind: PackageVariantSet\nmetadata: {name: s}\n",
				"b.yaml": "kind: PackageVariant\nmetadata: {name: v}\n",
				"c.yaml": "apiVersion: variform.dev/v1alpha1\nkind: Repository\nmetadata: {name: r}\n",
				"d.yaml": "apiVersion: pipelinesascode.tekton.dev/v1alpha1\nkind: Repository\nmetadata: {name: r}\n",
				"e.yaml": "apiVersion: v1\nkind: PackageVariantSetList\nitems:\n- metadata: {name: t}\n",
			},
			objects: []string{"Repository.pipelinesascode.tekton.dev default/r @ d.yaml:1"},
			want: []string{
				"a.yaml:1: apiVersion \"v1\" of kind PackageVariantSet is not known (hint: use apiVersion: config.porch.kpt.dev/v1alpha2)",
				"use apiVersion: config.porch.kpt.dev/v1alpha1", "use apiVersion: config.porch.kpt.dev/v1alpha1", "use apiVersion: config.porch.kpt.dev/v1alpha2",
			},
		},
		"UnknownField": {
			reason: "api's findings have file, line and hint, and other objects stay.",
			files:  map[string]string{"r.yaml": configMap("a") + "---\n" + repository("r") + "  deploymnt: true\n"},
			objects: []string{
				"ConfigMap default/a @ r.yaml:1",
			},
			want: []string{"r.yaml:14: "},
		},
		"Duplicate": {
			reason: "Both are named and neither is used; a namespace of default is no difference.",
			files:  map[string]string{"a.yaml": configMap("x") + "  namespace: default\n", "b/c.yaml": configMap("y") + "---\n" + configMap("x")},
			objects: []string{
				"ConfigMap default/y @ b/c.yaml:1",
			},
			want: []string{
				"a.yaml:1: ConfigMap default/x is defined again at b/c.yaml:6", "b/c.yaml:6: ConfigMap default/x is defined again at a.yaml:1",
			},
		},
		"DuplicateAcrossVersions": {
			files: map[string]string{"a.yaml": "apiVersion: x/v1\nkind: T\nmetadata: {name: a}\n---\napiVersion: x/v2\nkind: T\nmetadata: {name: a}\n"},
			want:  []string{"a.yaml:1: T.x default/a is defined again at a.yaml:5", "a.yaml:5: T.x default/a is defined again at a.yaml:1"},
		},
		"AliasBomb": {
			files: map[string]string{"a.yaml": bomb + "---\n" + configMap("b")},
			objects: []string{
				"ConfigMap default/b @ a.yaml:25",
			},
			want: []string{"ConfigMap cannot be read: the document has more than 500000 nodes"},
		},
		"SelfReference": {
			files: map[string]string{"a.yaml": configMap("a") + "data: &d {x: *d}\n"},
			want:  []string{"a.yaml:5: ConfigMap cannot be read: the alias *d refers to itself"},
		},
		"TooDeep": {
			files: map[string]string{"a.yaml": configMap("a") + "data: " + strings.Repeat("[", 200) + strings.Repeat("]", 200) + "\n"},
			want:  []string{"a.yaml:5: ConfigMap cannot be read: the document is nested more than 100 levels deep"},
		},
		"KeyTwice": {
			files: map[string]string{"a.yaml": configMap("a") + "kind: Secret\n"},
			want:  []string{`a.yaml:5: ConfigMap cannot be read: the key "kind" stands twice in one mapping`},
		},
		"LabelNoString": {
			files: map[string]string{"a.yaml": configMap("a") + "  labels:\n    edge: true\n    n: 1\n  annotations: [x]\n"},
			want:  []string{"a.yaml:6: metadata.labels.edge is not a string", "a.yaml:7: metadata.labels.n is not a string", "a.yaml:8: metadata.annotations is not a mapping"},
		},
		"FileTooLarge": {
			files:  map[string]string{"a.yaml": configMap("a") + "# " + strings.Repeat("x", 100) + "\n", "b.yaml": configMap("b")},
			limits: Limits{FileBytes: 80},
			objects: []string{
				"ConfigMap default/b @ b.yaml:1",
			},
			want: []string{"a.yaml: the file is larger than 80 bytes"},
		},
		"ListItemWithoutKind": {
			files: map[string]string{"a.yaml": "apiVersion: v1\nkind: List\nitems:\n- metadata: {name: a}\n- scalar\n"},
			want:  []string{"a.yaml:4: an item of the list has no apiVersion and kind", "a.yaml:5: an item of the list has no apiVersion and kind"},
		},
		"KptfileIsNone": {
			files: map[string]string{"Kptfile": "apiVersion: v1\nkind: ConfigMap\n"},
			want:  []string{"Kptfile: the file is not a Kptfile"},
		},
		"KptfileBroken": {
			files: map[string]string{"Kptfile": "a: b\nkey: [1\n"},
			want:  []string{"the file is not YAML"},
		},
		"KptfileName": {
			reason: "A slash in the manager's name would forge another owner.",
			files:  map[string]string{"Kptfile": "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: a/b\n"},
			want:   []string{`Kptfile:4: metadata.name: "a/b" is not a valid name`},
		},
		"KptfileChecks": {
			reason: "A mistake must not leave a check on that somebody meant to switch off, or off one that counts.",
			files:  map[string]string{"Kptfile": "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: a\n  annotations:\n    variform.dev/checks: type=of\n"},
			want:   []string{`Kptfile:6: metadata.annotations[variform.dev/checks]: "type=of" must be CHECK=error, =warning or =off`},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			f := readBoth(t, tc.files, Options{Limits: tc.limits})
			if diff := cmp.Diff(tc.objects, summary(f).Objects); diff != "" {
				t.Errorf("%s\nobjects (-want +got):\n%s", tc.reason, diff)
			}
			if len(f.Problems) == 0 {
				t.Errorf("%s\nthe fleet counts as complete", tc.reason)
			}
			if len(f.Problems) != len(tc.want) {
				t.Fatalf("%s\nwant %d problems, got:\n%v", tc.reason, len(tc.want), f.Problems)
			}
			for i, want := range tc.want {
				if got := f.Problems[i].Error(); !strings.Contains(got, want) {
					t.Errorf("%s\nproblem %d is %q, want %q in it", tc.reason, i, got, want)
				}
				if f.Problems[i].Hint == "" {
					t.Errorf("%s\nproblem %q has no hint", tc.reason, f.Problems[i].Message)
				}
			}
		})
	}
}

func TestRejectedSetIsNamed(t *testing.T) {
	f := readBoth(t, map[string]string{
		"set.yaml": "apiVersion: config.porch.kpt.dev/v1alpha2\nkind: PackageVariantSet\nmetadata:\n  name: s\nspec:\n  target: []\n",
	}, Options{})
	if len(f.Sets) != 0 || len(f.Rejected) != 1 {
		t.Fatalf("want no set and one rejected, got %d and %+v", len(f.Sets), f.Rejected)
	}
	r := f.Rejected[0]
	if r.Key != (Key{"config.porch.kpt.dev", "PackageVariantSet", "default", "s"}) || r.Origin.String() != "set.yaml:1" || len(r.Issues) == 0 {
		t.Errorf("rejected: %+v", r)
	}
}

func TestWarnings(t *testing.T) {
	f := readBoth(t, map[string]string{
		"kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: []\n",
		"r.yaml":             repository("r") + "    secretRef:\n      name: s\n",
	}, Options{})
	if len(f.Problems) > 0 {
		t.Errorf("problems:\n%v", f.Problems)
	}
	if len(f.Warnings) != 2 || f.Warnings[0].File != "kustomization.yaml" || f.Warnings[1].Line != 10 && f.Warnings[1].Line != 9 {
		t.Errorf("warnings:\n%v", f.Warnings)
	}
}

func TestObjectHasNoAliases(t *testing.T) {
	f := readBoth(t, map[string]string{
		"a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  labels: &l {region: north}\n  annotations: *l\ndata: &d\n  x: y # kept\nother: *d\n",
	}, Options{})
	if len(f.Objects) != 1 {
		t.Fatalf("problems: %v", f.Problems)
	}
	o := f.Objects[0]
	want := "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  labels: {region: north}\n  annotations: {region: north}\ndata:\n  x: y # kept\nother:\n  x: y # kept\n"
	if diff := cmp.Diff(want, o.Node().MustString()); diff != "" {
		t.Errorf("node (-want +got):\n%s", diff)
	}
	if o.Labels["region"] != "north" || o.Annotations["region"] != "north" {
		t.Errorf("labels %v, annotations %v", o.Labels, o.Annotations)
	}
}

func TestManagerOverride(t *testing.T) {
	f := readBoth(t, map[string]string{"Kptfile": "not: [yaml"}, Options{Manager: "mine"})
	if f.Manager != "mine" || len(f.Problems) > 0 {
		t.Errorf("manager %q, problems %v", f.Manager, f.Problems)
	}
}

func TestSymlinksAreLeftOut(t *testing.T) {
	outside := write(t, map[string]string{"secret.yaml": configMap("outside"), "d/x.yaml": configMap("x")})
	root := write(t, map[string]string{"a.yaml": configMap("a")})
	for link, target := range map[string]string{
		"b.yaml": "a.yaml", "c.yaml": filepath.Join(outside, "secret.yaml"), "d": filepath.Join(outside, "d"), "e": ".",
	} {
		if err := os.Symlink(target, filepath.Join(root, link)); err != nil {
			t.Skipf("symlinks cannot be made here: %v", err)
		}
	}
	f, err := Read(t.Context(), root, Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := fleetSummary{Objects: []string{"ConfigMap default/a @ a.yaml:1"}}
	if diff := cmp.Diff(want, summary(f)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	f, err = Read(t.Context(), "https://git.example.com/x.git", Options{Git: &fakeGit{files: []krm.File{
		{Path: "l.yaml", Mode: krm.Symlink, Data: []byte(configMap("l"))}, {Path: "x.yaml", Mode: krm.Executable, Data: []byte(configMap("x"))},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	want = fleetSummary{Objects: []string{"ConfigMap default/x @ x.yaml:1"}}
	if diff := cmp.Diff(want, summary(f)); diff != "" {
		t.Errorf("Git (-want +got):\n%s", diff)
	}
}

// A pipe that takes a file's place after listing is read as empty where nobody writes.
func TestPipeIsNotWaitedFor(t *testing.T) {
	dir := t.TempDir()
	if err := exec.Command("mkfifo", filepath.Join(dir, "a.yaml")).Run(); err != nil {
		t.Skipf("pipes cannot be made here: %v", err)
	}
	files, err := open(t.Context(), Location{Folder: dir}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer files.close()
	if data, err := files.read("a.yaml", 10); err != nil || len(data) > 0 {
		t.Errorf("%q, %v", data, err)
	}
}

// Files are opened by their folders, which stay open: what is new in a folder that was replaced
// meanwhile, or leads elsewhere, is read as by its whole path, nothing outside is, and all is
// closed in the end.
func TestFoldersStayOpen(t *testing.T) {
	outside := write(t, map[string]string{"secret.yaml": "outside"})
	text := map[string]string{"a.yaml": "a", "in/b.yaml": "b", "in/deep/c.yaml": "c", "other/d.yaml": "d"}
	for i := range 2 * mostBelow {
		text[fmt.Sprintf("many/%d/e.yaml", i)] = fmt.Sprint(i)
	}
	dir := write(t, text)
	for link, target := range map[string]string{
		"in/link.yaml": "../other/d.yaml", "in/out.yaml": filepath.Join(outside, "secret.yaml"), "away": outside, "beside": "other",
	} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Skipf("symlinks cannot be made here: %v", err)
		}
	}
	openFiles := func() (n int) {
		links, err := filepath.Glob("/proc/self/fd/*")
		if err != nil || len(links) == 0 {
			t.Skip("skipped: needs /proc, to see what is open")
		}
		for _, l := range links {
			if file, _ := os.Readlink(l); strings.HasPrefix(file, dir) {
				n++
			}
		}
		return n
	}
	files, err := open(t.Context(), Location{Folder: dir}, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := func(name, content string) {
		t.Helper()
		if data, err := files.read(name, 10); err != nil || string(data) != content {
			t.Errorf("%s: %q, %v", name, data, err)
		}
	}
	for range 2 {
		for name, content := range text {
			want(name, content)
		}
		want("in/link.yaml", "d")
		want("beside/d.yaml", "d")
		for _, name := range []string{"in/out.yaml", "away/secret.yaml", "in/none.yaml", "none/a.yaml", "in/../../" + filepath.Base(outside) + "/secret.yaml"} {
			if data, err := files.read(name, 10); err == nil || len(data) > 0 {
				t.Errorf("%s: %q", name, data)
			}
		}
		if data, err := files.read("in/b.yaml", 0); !errors.Is(err, errTooLarge) {
			t.Errorf("%q, %v", data, err)
		}
	}
	if n := openFiles(); n == 0 || n > mostBelow+1 {
		t.Errorf("%d are open", n)
	}
	if err := errors.Join(os.Rename(filepath.Join(dir, "in"), filepath.Join(dir, "was")), os.Mkdir(filepath.Join(dir, "in"), 0o755),
		os.WriteFile(filepath.Join(dir, "in", "new.yaml"), []byte("new"), 0o644)); err != nil {
		t.Fatal(err)
	}
	want("in/new.yaml", "new")
	files.close()
	if n := openFiles(); n > 0 {
		t.Errorf("%d are left open", n)
	}
}

func TestUnreadableFolder(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root reads everything")
	}
	root := write(t, map[string]string{"a.yaml": configMap("a"), "b/c.yaml": configMap("c")})
	if err := os.Chmod(filepath.Join(root, "b"), 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(root, "b"), 0o777) })
	f, err := Read(t.Context(), root, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Problems) == 0 || len(f.Objects) != 1 {
		t.Errorf("objects %v, problems %v", summary(f).Objects, f.Problems)
	}
}

func TestReadFails(t *testing.T) {
	many := map[string]string{"a.yaml": configMap("a"), "b.yaml": configMap("b"), "c.yaml": configMap("c")}
	boom := errors.New("boom")
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	cases := map[string]struct {
		ctx      context.Context
		location string
		opts     Options
		want     error
	}{
		"Missing":    {location: filepath.Join(t.TempDir(), "absent"), want: ErrLocation},
		"NoGit":      {location: "https://git.example.com/x.git", want: ErrNoGit},
		"GitFails":   {location: "https://git.example.com/x.git", opts: Options{Git: &fakeGit{err: boom}}, want: boom},
		"TooMany":    {location: write(t, many), opts: Options{Limits: Limits{Files: 2}}, want: ErrLimit},
		"TooMuch":    {location: write(t, many), opts: Options{Limits: Limits{TotalBytes: 100}}, want: ErrLimit},
		"Cancelled":  {ctx: cancelled, location: write(t, many), want: context.Canceled},
		"TooDeep":    {location: "https://git.example.com/x.git", opts: Options{Git: &fakeGit{files: []krm.File{{Path: strings.Repeat("d/", 300) + "a.yaml"}}}}, want: ErrLimit},
		"EmptyInput": {location: "", want: ErrLocation},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			ctx := tc.ctx
			if ctx == nil {
				ctx = t.Context()
			}
			f, err := Read(ctx, tc.location, tc.opts)
			if !errors.Is(err, tc.want) || f != nil {
				t.Errorf("Read: want %v, got %v", tc.want, err)
			}
		})
	}
}

func TestGitLocationIsPassedOn(t *testing.T) {
	git := &fakeGit{}
	f, err := Read(t.Context(), "https://user:secret@git.example.com/fleet.git//a/b@feature/x", Options{Git: git})
	if err != nil {
		t.Fatal(err)
	}
	if git.url != "https://user:secret@git.example.com/fleet.git" || git.dir != "a/b" || git.ref != "feature/x" {
		t.Errorf("asked for %q %q %q", git.url, git.dir, git.ref)
	}
	if f.Location != "https://git.example.com/fleet.git//a/b@feature/x" {
		t.Errorf("location %q", f.Location)
	}
	git.err = errors.New("no such ref")
	if _, err := Read(t.Context(), "https://user:secret@git.example.com/fleet.git", Options{Git: git}); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("want an error without the password, got %v", err)
	}
}

// The digest of a directory changes with whatever is read of it, and is none where a
// part could not be read; what is not read does not count.
func TestDigest(t *testing.T) {
	base := map[string]string{"Kptfile": "kind: Kptfile\n", "a.yaml": configMap("a"), "sub/b.yaml": configMap("b"), "pkg/Kptfile": "kind: Kptfile\n", "notes.txt": "x"}
	with := func(change map[string]string) map[string]string {
		out := maps.Clone(base)
		maps.Copy(out, change)
		return out
	}
	digest := func(files map[string]string, opts Options) string {
		d, err := Open(t.Context(), write(t, files), opts)
		if err != nil {
			t.Fatal(err)
		}
		return d.Digest()
	}
	want := digest(base, Options{})
	if len(want) != 64 {
		t.Fatalf("digest %q", want)
	}
	for name, files := range map[string]map[string]string{
		"a file's text":    with(map[string]string{"a.yaml": configMap("c")}),
		"a file":           with(map[string]string{"c.yaml": ""}),
		"a name":           {"Kptfile": "kind: Kptfile\n", "aa.yaml": configMap("a"), "sub/b.yaml": configMap("b"), "pkg/Kptfile": "kind: Kptfile\n"},
		"what is left out": with(map[string]string{".krmignore": "sub\n"}),
		"the root Kptfile": with(map[string]string{"Kptfile": "kind: Kptfile\nmetadata: {name: x}\n"}),
		"a package":        with(map[string]string{"other/Kptfile": "kind: Kptfile\n"}),
	} {
		if digest(files, Options{}) == want {
			t.Errorf("%s: the same digest", name)
		}
	}
	for name, files := range map[string]map[string]string{
		"the same":         base,
		"a text":           with(map[string]string{"notes.txt": "y"}),
		"inside a package": with(map[string]string{"pkg/x.yaml": "a: b\n"}),
	} {
		if digest(files, Options{}) != want {
			t.Errorf("%s: another digest", name)
		}
	}
	if got := digest(base, Options{Limits: Limits{FileBytes: 20}}); got != "" {
		t.Errorf("with files that are too large: %s", got)
	}
}

// TestObjectsAreReadWhenAskedFor: each way in which an object stands in a file gives
// the document that was written there, as often as it is asked for.
func TestObjectsAreReadWhenAskedFor(t *testing.T) {
	one := func(name string) string {
		return "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + name + "\ndata:\n  of: " + name + " # kept\n"
	}
	f := readBoth(t, map[string]string{
		"alone.yaml":   one("alone"),
		"bom.yaml":     "\xef\xbb\xbf" + one("bom"),
		"several.yaml": "# first\n---\n" + one("one") + "---\n" + one("two") + "---\n",
		"list.yaml":    "apiVersion: v1\nkind: ConfigMapList\nitems:\n- metadata: {name: five}\n  data: {of: five}\n- metadata: {name: six}\n  data: {of: six}\n",
	}, Options{})
	if len(f.Problems) > 0 || len(f.Objects) != 6 {
		t.Fatalf("%d objects, problems: %v", len(f.Objects), f.Problems)
	}
	for _, o := range f.Objects {
		for range 2 {
			n := o.Node()
			if of := n.Field("data").Value.Field("of").Value.YNode().Value; of != o.Name || n.GetName() != o.Name || n.GetKind() != "ConfigMap" {
				t.Errorf("%s (%s) reads as:\n%s", o.Name, o.Origin, n.MustString())
			}
		}
	}
}

// TestObjectsTakeLittle: what a fleet of many targets holds is their texts and
// identities, and no parsed documents.
func TestObjectsTakeLittle(t *testing.T) {
	const n, most = 1000, 800 // bytes of each, of them 330 the map of labels; with parsed documents it is 5,000
	files := map[string]string{}
	for i := range n {
		files[fmt.Sprintf("c/%d.yaml", i)] = fmt.Sprintf("apiVersion: example.com/v1\nkind: Cluster\nmetadata:\n  name: cluster-%05d\n  labels:\n    env: prod\n    region: region-%d\nspec:\n  zones: [a, b]\n", i, i%5)
	}
	root := write(t, files)
	heap := func() int {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc)
	}
	before := heap()
	f, err := Read(t.Context(), root, Options{})
	if err != nil || len(f.Objects) != n {
		t.Fatalf("%d objects: %v", len(f.Objects), err)
	}
	if each := (heap() - before) / n; each > most {
		t.Errorf("%d bytes for each object, want at most %d", each, most)
	}
	runtime.KeepAlive(f)
	runtime.KeepAlive(files)
}
