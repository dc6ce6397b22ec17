package review

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/yamltree"
	"github.com/variform/variform/test/krmtest"
)

const deployment = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  replicas: 1
  template:
    spec:
      containers:
      - name: web
        image: web:v1 # keep
`

var pkg = krmtest.Package

func edited(s, old, with string) string { return strings.ReplaceAll(s, old, with) }

// fleet makes n variants that change the image, the first with a change of its
// own besides, the second with a new resource instead.
func fleet(t *testing.T, n int) []Change {
	t.Helper()
	var out []Change
	for i := range n {
		repo := fmt.Sprintf("cluster-%02d", i)
		before := map[string]string{
			"deploy.yaml": deployment,
			"cm.yaml":     "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: site\ndata:\n  cluster: " + repo + "\n",
		}
		after := map[string]string{
			"deploy.yaml": edited(deployment, "web:v1", "web:v2"),
			"cm.yaml":     edited(before["cm.yaml"], "cluster: "+repo, "cluster: "+repo+"\n  zone: "+repo+"-a"),
		}
		switch i {
		case 0:
			after["deploy.yaml"] = edited(after["deploy.yaml"], "replicas: 1", "replicas: 5")
		case 1:
			after = map[string]string{"deploy.yaml": deployment, "cm.yaml": before["cm.yaml"], "new.yaml": "apiVersion: v1\nkind: Service\nmetadata:\n  name: extra\n"}
		}
		out = append(out, Change{
			Variant: repo + "/web", Before: pkg(t, before), After: pkg(t, after),
			Aliases: map[string]string{repo: "repo"}, Version: fmt.Sprint("c", i),
		})
	}
	return out
}

func TestClassifyOutliersFirst(t *testing.T) {
	report, err := Classify(fleet(t, 20))
	if err != nil {
		t.Fatal(err)
	}
	var sizes []int
	for _, c := range report.Classes {
		sizes = append(sizes, len(c.Members))
	}
	if diff := cmp.Diff([]int{1, 1, 18}, sizes); diff != "" {
		t.Errorf("class sizes (-want +got):\n%s", diff)
	}
	want := "20 variants: 18 × image of Deployment web v1 → v2; sets data.zone of ConfigMap site to ${repo}-a; " +
		"1 × image of Deployment web v1 → v2; spec.replicas of Deployment web 1 → 5; sets data.zone of ConfigMap site to ${repo}-a; 1 × creates Service extra"
	if report.Summary != want {
		t.Errorf("summary\n got %s\nwant %s", report.Summary, want)
	}
	if d := report.Classes[2].Diff; !strings.Contains(d, "-        image: web:v1 # keep\n+        image: web:v2 # keep\n") {
		t.Errorf("example diff lacks the change:\n%s", d)
	}
	if got := report.Classes[2].Edits[0].After; got != "${repo}-a" {
		t.Errorf("the repository's own name is not normalised: %q", got)
	}
}

func TestPackagesAreApart(t *testing.T) {
	changes := fleet(t, 6)
	for i := range changes {
		changes[i].Package = []string{"catalog/a", "catalog/b"}[i%2]
	}
	report, err := Classify(changes)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range report.Packages {
		got = append(got, fmt.Sprintf("%s: %d variants, %d classes", p.Package, p.Variants, p.Classes))
	}
	if diff := cmp.Diff([]string{"catalog/a: 3 variants, 2 classes", "catalog/b: 3 variants, 2 classes"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if want := "6 variants of 2 packages in 4 classes"; report.Summary != want {
		t.Errorf("summary %q, want %q", report.Summary, want)
	}
}

func TestClassIDFollowsContentAndMembers(t *testing.T) {
	first, err := Classify(fleet(t, 6))
	if err != nil {
		t.Fatal(err)
	}
	again, err := Classify(fleet(t, 6))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(first, again); diff != "" {
		t.Errorf("the same changes give another report:\n%s", diff)
	}
	id := first.Classes[len(first.Classes)-1].ID
	for name, change := range map[string]func([]Change) []Change{
		"a member moved":   func(c []Change) []Change { c[4].Version = "other"; return c },
		"a member went":    func(c []Change) []Change { return c[:5] },
		"the change moved": func(c []Change) []Change { c[4].After = c[0].After; return c },
	} {
		moved, err := Classify(change(fleet(t, 6)))
		if err != nil {
			t.Fatal(err)
		}
		if moved.Find(id) != nil {
			t.Errorf("%s: class %s is still found", name, id)
		}
	}
	if first.Find(id) == nil {
		t.Errorf("class %s is not found in its own report", id)
	}
}

func TestEdits(t *testing.T) {
	list := func(items string) string { return "apiVersion: v1\nkind: X\nmetadata:\n  name: x\nspec:\n" + items }
	tests := map[string]struct {
		before, after map[string]string
		want          []Edit
	}{
		"named item of a list": {
			before: map[string]string{"a.yaml": deployment},
			after:  map[string]string{"a.yaml": edited(deployment, "web:v1", "web:v2")},
			want:   []Edit{{File: "a.yaml", Resource: "Deployment web", Op: Update, Field: "spec.template.spec.containers[name=web].image", Before: "web:v1", After: "web:v2"}},
		},
		"plain item in the middle": {
			before: map[string]string{"a.yaml": list("- a\n- c\n")},
			after:  map[string]string{"a.yaml": list("- a\n- b\n- c\n")},
			want:   []Edit{{File: "a.yaml", Resource: "X x", Op: Add, Field: "spec[1]", After: "b"}},
		},
		"moved to another file": {
			before: map[string]string{"a.yaml": deployment},
			after:  map[string]string{"b.yaml": deployment},
			want:   []Edit{{File: "b.yaml", Resource: "Deployment web", Op: Move, Before: "a.yaml", After: "b.yaml"}},
		},
		"comment alone": {
			before: map[string]string{"a.yaml": deployment},
			after:  map[string]string{"a.yaml": edited(deployment, "# keep", "# kept")},
			want:   []Edit{{File: "a.yaml", Resource: "Deployment web", Op: Comment, Field: "spec.template.spec.containers[name=web].image", Before: "# keep", After: "# kept"}},
		},
		"comment beside a change": {
			before: map[string]string{"a.yaml": deployment},
			after:  map[string]string{"a.yaml": edited(edited(deployment, "# keep", "# kept"), "replicas: 1", "replicas: 2")},
			want: []Edit{
				{File: "a.yaml", Resource: "Deployment web", Op: Update, Field: "spec.replicas", Before: "1", After: "2"},
				{File: "a.yaml", Resource: "Deployment web", Op: Comment, Field: "spec.template.spec.containers[name=web].image", Before: "# keep", After: "# kept"},
			},
		},
		"order alone": {
			before: map[string]string{"a.yaml": list("  a: 1\n  b: 2\n")},
			after:  map[string]string{"a.yaml": list("  b: 2\n  a: 1\n")},
		},
		"a comment of the file": {
			before: map[string]string{"a.yaml": list("  a: 1\n")},
			after:  map[string]string{"a.yaml": "# ours\n\n" + list("  a: 1\n")},
			want:   []Edit{{File: "a.yaml", Op: Comment}},
		},
		"a type is a change": {
			before: map[string]string{"a.yaml": list("  n: 1\n")},
			after:  map[string]string{"a.yaml": list("  n: \"1\"\n")},
			want:   []Edit{{File: "a.yaml", Resource: "X x", Op: Update, Field: "spec.n", Before: "1", After: "1"}},
		},
		"one name in two subpackages": {
			before: map[string]string{"a/d.yaml": deployment, "b/d.yaml": deployment},
			after:  map[string]string{"a/d.yaml": edited(deployment, "web:v1", "web:v2"), "b/d.yaml": edited(deployment, "replicas: 1", "replicas: 2")},
			want: []Edit{
				{File: "a/d.yaml", Resource: "Deployment web", Op: Update, Field: "spec.template.spec.containers[name=web].image", Before: "web:v1", After: "web:v2"},
				{File: "b/d.yaml", Resource: "Deployment web", Op: Update, Field: "spec.replicas", Before: "1", After: "2"},
			},
		},
		"one of two of a name goes": {
			before: map[string]string{"a/d.yaml": deployment, "b/d.yaml": deployment},
			after:  map[string]string{"b/d.yaml": edited(deployment, "replicas: 1", "replicas: 2")},
			want: []Edit{
				{File: "a/d.yaml", Resource: "Deployment web", Op: Remove},
				{File: "b/d.yaml", Resource: "Deployment web", Op: Update, Field: "spec.replicas", Before: "1", After: "2"},
			},
		},
		"other files": {
			before: map[string]string{"README.md": "a", "old.txt": "x"},
			after:  map[string]string{"README.md": "b", "new.txt": "y"},
			want:   []Edit{{File: "README.md", Op: Update}, {File: "new.txt", Op: Add}, {File: "old.txt", Op: Remove}},
		},
		"a secret's values are not shown": {
			before: map[string]string{"s.yaml": "apiVersion: v1\nkind: Secret\nmetadata:\n  name: s\nstringData:\n  p: hunter2\n"},
			after:  map[string]string{"s.yaml": "apiVersion: v1\nkind: Secret\nmetadata:\n  name: s\nstringData:\n  p: hunter3\n"},
			want:   []Edit{{File: "s.yaml", Resource: "Secret s", Op: Update, Field: "stringData.p"}},
		},
		"bookkeeping is no change": {
			before: map[string]string{"Kptfile": "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: a\n  annotations:\n    variform.dev/variant: x\nupstreamLock:\n  git:\n    commit: aaa\n"},
			after:  map[string]string{"Kptfile": "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: a\n  annotations:\n    variform.dev/variant: y\nupstreamLock:\n  git:\n    commit: bbb\n"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := &Change{Before: pkg(t, tt.before), After: pkg(t, tt.after)}
			got, err := diffPackages(c)
			if err != nil {
				t.Fatal(err)
			}
			for i := range got {
				got[i].Digest, got[i].ID = "", krm.ID{}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A file's mode and its comments are two edits.
func TestModeAndFormat(t *testing.T) {
	before, after := pkg(t, map[string]string{"a.yaml": "apiVersion: v1\nkind: X\nmetadata: {name: x}\n"}), pkg(t, nil)
	after.Write(krm.File{Path: "a.yaml", Mode: krm.Executable, Data: []byte("# ours\n\napiVersion: v1\nkind: X\nmetadata:\n  name: x\n")})
	edits, err := Edits(before, after)
	if err != nil || len(edits) != 2 || edits[0].Op != Comment || edits[1].Op != Mode {
		t.Errorf("%v %v", edits, err)
	}
}

// A package's own name and path in its context part no class, be it added or changed.
func TestOwnNamesInAContext(t *testing.T) {
	file := func(name, data string) map[string]string {
		return map[string]string{"package-context.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: kptfile.kpt.dev\ndata:\n  name: " + name + "\n  package-path: eu/" + name + "\n" + data}
	}
	for text, want := range map[string]int{"": 0, "# said\n": 1} {
		after := file("a", "")
		after["package-context.yaml"] = strings.Replace(after["package-context.yaml"], "data:\n", "data:\n"+text, 1)
		if got, err := Edits(pkg(t, file("up", "")), pkg(t, after)); err != nil || len(got) != want {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	var changes []Change
	for i, before := range []map[string]string{nil, file("up", "")} {
		for _, name := range []string{"a", "b"} {
			changes = append(changes, Change{Variant: fmt.Sprintf("c%d/%s", i, name), Before: pkg(t, before), After: pkg(t, file(name, "  more: x\n"))})
		}
	}
	report, err := Classify(changes)
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Classes) != 2 || len(report.Classes[0].Members) != 2 {
		t.Errorf("%d classes: %s", len(report.Classes), report.Summary)
	}
}

// What tells members apart leads in the table: not their own names, and of a lock the
// version before its digest.
func TestWhatTellsMembersApartLeads(t *testing.T) {
	lock := func(target, version string) map[string]string {
		return map[string]string{"lock.yaml": "apiVersion: variform.dev/v1alpha1\nkind: PackageLock\nmetadata:\n  name: lock\nspec:\n  at: " + target +
			"\n  packages:\n  - name: db\n    digest: git:" + strings.Repeat(version[:1], 8) + "\n    version: " + version + "\n"}
	}
	var changes []Change
	for i, version := range []string{"2.0.0", "2.0.0", "1.0.0", "2.0.0"} {
		target, p := fmt.Sprintf("cluster-%d", i), krmtest.Package(t, lock(fmt.Sprintf("cluster-%d", i), version))
		changes = append(changes, Change{Variant: target, After: p, Machine: p, Aliases: map[string]string{target: "target"}, First: true})
	}
	report, err := Classify(changes)
	if err != nil || len(report.Classes) != 1 {
		t.Fatal(report, err)
	}
	var got []string
	for _, v := range report.Classes[0].Values {
		got = append(got, v.Field)
	}
	want := []string{"spec.packages[name=db].version", "spec.at", "spec.packages[name=db].digest"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// A Draft that only records another upstream is to be decided, too.
func TestBookkeepingAloneIsAClass(t *testing.T) {
	kptfile := "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: a\nupstreamLock:\n  git:\n    commit: %s\n"
	report, err := Classify([]Change{
		{Variant: "c1/a", Before: pkg(t, map[string]string{"Kptfile": fmt.Sprintf(kptfile, "aaa")}), After: pkg(t, map[string]string{"Kptfile": fmt.Sprintf(kptfile, "bbb")})},
		{Variant: "c2/a", Before: pkg(t, map[string]string{"Kptfile": fmt.Sprintf(kptfile, "aaa")}), After: pkg(t, map[string]string{"Kptfile": fmt.Sprintf(kptfile, "ccc")})},
		{Variant: "c3/a", Before: pkg(t, map[string]string{"Kptfile": kptfile}), After: pkg(t, map[string]string{"Kptfile": kptfile})},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := "2 variants: changes only what records where it comes from; 1 unchanged"
	if report.Summary != want || len(report.Classes) != 1 || len(report.Classes[0].Members) != 2 {
		t.Errorf("got %q, %d classes; want %q", report.Summary, len(report.Classes), want)
	}
}

// How Porch rendered a package is no edit of it, whatever stands beside it.
func TestRenderStatusIsNoEdit(t *testing.T) {
	const head = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: a\n"
	rendered := "  renderStatus: {errorSummary: x}\n"
	conditions := func(types ...string) (out string) {
		for _, c := range types {
			out += "  - {type: " + c + ", status: \"False\"}\n"
		}
		return "  conditions:\n" + out
	}
	for name, c := range map[string]struct {
		before, after string
		want          []string
	}{
		"added":               {"", "status:\n" + rendered + conditions("Rendered"), nil},
		"removed":             {"status:\n" + rendered + conditions("Rendered"), "", nil},
		"changed":             {"status:\n" + rendered, "status:\n  renderStatus: {errorSummary: y}\n", nil},
		"added with another":  {"", "status:\n" + rendered + conditions("Rendered", "ready"), []string{"add status.conditions[type=ready]"}},
		"added beside one":    {"status:\n" + conditions("ready"), "status:\n" + rendered + conditions("ready", "Rendered"), nil},
		"another one removed": {"status:\n" + conditions("ready"), "status:\n" + rendered, []string{"remove status.conditions[type=ready]"}},
	} {
		edits, err := Edits(pkg(t, map[string]string{"Kptfile": head + c.before}), pkg(t, map[string]string{"Kptfile": head + c.after}))
		var got []string
		for _, e := range edits {
			got = append(got, string(e.Op)+" "+e.Field)
		}
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q (%v)", name, got, c.want, err)
		}
	}
}

// What Porch notes on a resource is no edit, whatever else the annotations hold.
func TestUpstreamIdentifierIsNoEdit(t *testing.T) {
	const head = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n"
	const note = "    internal.kpt.dev/upstream-identifier: '|ConfigMap|default|a'\n"
	for _, c := range []struct {
		before, after string
		want          []string
	}{
		{"", "  annotations:\n" + note, nil},
		{"  annotations:\n" + note, "", nil},
		{"  annotations:\n    a: b\n", "  annotations:\n    a: b\n" + note, nil},
		{"", "  annotations: {}\n", []string{"add metadata.annotations"}},
		{"", "  annotations:\n    a: b\n" + note, []string{"add metadata.annotations"}},
	} {
		edits, err := Edits(pkg(t, map[string]string{"a.yaml": head + c.before}), pkg(t, map[string]string{"a.yaml": head + c.after}))
		var got []string
		for _, e := range edits {
			got = append(got, string(e.Op)+" "+e.Field)
		}
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%q to %q: %q, want %q (%v)", c.before, c.after, got, c.want, err)
		}
	}
}

// Porch writes an upstream in another form: that is no edit, and another upstream is one.
func TestFormOfUpstreamIsNoEdit(t *testing.T) {
	kptfile := func(directory, more string) map[string]string {
		return map[string]string{"Kptfile": "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: a\nupstream:\n  type: git\n  git: {repo: r, directory: " + directory + ", ref: v1}\n" + more}
	}
	const usual, other = "  updateStrategy: resource-merge\n", "  updateStrategy: force-delete-replace\n"
	for _, c := range []struct {
		before, after map[string]string
		want          int
	}{
		{kptfile("/web", usual), kptfile("web", ""), 0},
		{kptfile("web", ""), kptfile("/web", usual), 0},
		{kptfile("/web", usual), kptfile("/api", usual), 1},
		{kptfile("/web", usual), kptfile("/web", other), 1},
		{kptfile("/web", other), kptfile("/web", ""), 1},
		{kptfile("/web", usual), kptfile("/web", "  updateStrategy: resource-merge # why\n"), 1},
	} {
		if edits, err := Edits(pkg(t, c.before), pkg(t, c.after)); err != nil || len(edits) != c.want {
			t.Errorf("%q to %q: %v, want %d (%v)", c.before, c.after, edits, c.want, err)
		}
	}
}

func TestDiffRedactsSecrets(t *testing.T) {
	secret := "apiVersion: v1\nkind: Secret\nmetadata:\n  name: s\nstringData:\n  password: %s\n  user: root\n"
	got, err := Diff(pkg(t, map[string]string{"s.yaml": fmt.Sprintf(secret, "hunter2")}), pkg(t, map[string]string{"s.yaml": fmt.Sprintf(secret, "hunter3")}))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(got, "hunter") || strings.Contains(got, "root") {
		t.Errorf("a secret value is shown:\n%s", got)
	}
	if !strings.Contains(got, "+  password: <redacted, changed>") {
		t.Errorf("the diff does not say that the value changed:\n%s", got)
	}
}

// TestDiffRedactsOddSecrets holds that a value is not shown either where a
// cluster would refuse the Secret.
func TestDiffRedactsOddSecrets(t *testing.T) {
	const head = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: s\n"
	for name, body := range map[string]string{
		"a field twice": "data:\n  a: %[1]s\ndata:\n  b: %[1]s\n",
		"a map":         "data:\n  a: {b: %s}\n",
		"a list":        "stringData:\n  a: [%s]\n",
		"a merge key":   "data:\n  <<: {a: %s}\n",
		"an alias":      "data: &d\n  a: %s\nstringData: *d\n",
	} {
		before, after := map[string]string{"s.yaml": head + fmt.Sprintf(body, "hunter2")}, map[string]string{"s.yaml": head + fmt.Sprintf(body, "hunter3")}
		got, err := Diff(pkg(t, before), pkg(t, after))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(got, "hunter") || !strings.Contains(got, redactedChanged) {
			t.Errorf("%s:\n%s", name, got)
		}
	}
}

// Of names that hold each other the longest is masked.
func TestLongestName(t *testing.T) {
	n := newNormaliser(map[string]string{"east": "variant", "east-1": "repository", "us": "set", "12": "package"})
	if got, want := n.text("east-1.east-x.us.12"), "${repository}.${variant}-x.us.12"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := n.identity("east/us"), "${variant}/${set}"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestReplaceWord(t *testing.T) {
	for in, want := range map[string]string{
		"web":            "*",
		"web-1":          "*-1",
		"webby web":      "webby *",
		"a/web:web,xweb": "a/*:*,xweb",
		"éweb":           "éweb",
	} {
		if got := replaceWord(in, "web", "*"); got != want {
			t.Errorf("replaceWord(%q) = %q, want %q", in, got, want)
		}
	}
}

// A variant's own names are masked where they mean the variant.
func TestOwnNamesAreMasked(t *testing.T) {
	n := newNormaliser(map[string]string{"latest": "repository", "eu": "package", "1": "variant", "prod-eu": "variant"})
	for _, tt := range []struct{ field, in, want string }{
		{"spec.host", "shop.latest.example.com", "shop.${repository}.example.com"},
		{"spec.host", "https://latest:8080/prod-eu", "https://${repository}:8080/${variant}"},
		{"spec.host", "eu.example.com", "eu.example.com"},
		{"spec.host", "latestandmore", "latestandmore"},
		{"spec.replicas", "1", "1"},
		{"spec.version", "v1.2-latest", "v1.2-latest"},
		{"spec.version", "1.2.0+latest", "1.2.0+latest"},
		{"spec.from", "registry.example.com/latest/web:latest", "registry.example.com/latest/web:latest"},
		{"spec.from", "latest/web@sha256:00", "latest/web@sha256:00"},
		{"args[0]", "--image=web:latest", "--image=web:latest"},
		{"containers[name=a].image", "latest", "latest"},
		{"images[name=web].newTag", "latest", "latest"},
		{"initImage", "latest/web", "latest/web"},
	} {
		if got := n.value(tt.field, tt.in); got != tt.want {
			t.Errorf("%s: %q is masked as %q, want %q", tt.field, tt.in, got, tt.want)
		}
	}
	for in, want := range map[string]string{"RoleBinding eu-1": "RoleBinding ${package}-1", "latest.yaml": "${repository}.yaml"} {
		if got := n.identity(in); got != want {
			t.Errorf("the name %q is masked as %q, want %q", in, got, want)
		}
	}
}

// A number is shown as the writer writes it, without asking the writer; a quoted or
// anchored one is not that.
func TestValueTextOfNumbers(t *testing.T) {
	for _, value := range []string{"2", "-1", "0x10", "1_000", ".5", "1e3", ".inf", "true", "False", "~", "'2'", "&x 2", "!!int 2", "yes", "2001-01-01"} {
		var doc yaml.Node
		if err := yaml.Unmarshal([]byte("v: "+value+" # why\n"), &doc); err != nil {
			t.Fatal(err)
		}
		n := yamltree.Child(doc.Content[0], "v")
		bare := *n
		bare.LineComment = ""
		want := yamlText(&bare)
		if n.ShortTag() == yaml.NodeTagString {
			want = n.Value
		}
		if got := valueText(n); got != want {
			t.Errorf("%s: got %q, want %q", value, got, want)
		}
	}
}

func TestEditString(t *testing.T) {
	for want, e := range map[string]Edit{
		"data.a of ConfigMap x 1 → 9":             {Op: Update, Resource: "ConfigMap x", Field: "data.a", Before: "1", After: "9"},
		`data.a of ConfigMap x "" → "b c"`:        {Op: Update, Resource: "ConfigMap x", Field: "data.a", After: "b c"},
		"added data.a of ConfigMap x 9":           {Op: Add, Resource: "ConfigMap x", Field: "data.a", After: "9"},
		"added ConfigMap x":                       {Op: Add, Resource: "ConfigMap x", After: "{}"},
		"removed data.a of ConfigMap x":           {Op: Remove, Resource: "ConfigMap x", Field: "data.a", Before: "1"},
		"removed a.txt":                           {Op: Remove, File: "a.txt"},
		"a.txt":                                   {Op: Update, File: "a.txt"},
		"data.a of ConfigMap x (comment added)":   {Op: Comment, Resource: "ConfigMap x", Field: "data.a", After: "# why"},
		"data.a of ConfigMap x (comment removed)": {Op: Comment, Resource: "ConfigMap x", Field: "data.a", Before: "# why"},
		"data.a of ConfigMap x (comment changed)": {Op: Comment, Resource: "ConfigMap x", Field: "data.a", Before: "# why", After: "# how"},
		"a.yaml (reformat)":                       {Op: Format, File: "a.yaml"},
		`data.a of ConfigMap x 1 → <U+202E>9`:     {Op: Update, Resource: "ConfigMap x", Field: "data.a", Before: "1", After: "\u202e9"},
	} {
		if got := e.String(); got != want {
			t.Errorf("%q, wanted %q", got, want)
		}
	}
}
