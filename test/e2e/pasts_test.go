package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/variform/variform/test/gittest"
)

// pairs is how many variants have their past forgotten.
const pairs = 200

// A variant that nobody edited is made of its inputs alone: whatever came before,
// other versions, functions, context and injected objects, published or not.
func TestEqualInputsOtherPasts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1", "c2")
	catalog := w.repos["catalog"]
	const packages, versions = 10, 3
	r := rand.New(rand.NewPCG(1, 2))
	for v := range versions {
		for p := range packages {
			dir := fmt.Sprintf("p%d/", p)
			tree := gittest.Files{
				{Path: dir + "Kptfile", Data: []byte(kptfile(generatedPipeline(r)))},
				{Path: dir + "settings.yaml", Data: []byte(pointWith("settings", "x: "+one(r, "0", "1")))},
			}
			for f := range 4 {
				file := gittest.File{Path: fmt.Sprintf("%sf%d.yaml", dir, f), Data: []byte(generatedResource(r, f))}
				if r.IntN(4) == 0 {
					if v == 0 {
						continue
					}
					file.Data, file.Mode = nil, gittest.Deleted
					if !strings.Contains(catalog.Git(t, "ls-tree", "-r", "--name-only", "main"), file.Path) {
						continue
					}
				}
				tree = append(tree, file)
			}
			catalog.Tag(t, fmt.Sprintf("p%d/v%d", p, 11+v), catalog.Commit(t, "main", "generated", tree))
		}
	}
	variants := func(seed uint64, repo string) string {
		r := rand.New(rand.NewPCG(seed, 3))
		var b strings.Builder
		for i := range pairs {
			text := variantOf(fmt.Sprintf("web-%d", i), fmt.Sprintf("v%d", 11+r.IntN(versions)), repo, fmt.Sprintf("web-%d", i), generatedSpec(r))
			b.WriteString("---\n" + strings.Replace(text, "package: web,", fmt.Sprintf("package: p%d,", i%packages), 1))
		}
		return b.String()
	}
	w.write("context.yaml", configMap("small", "x: small")+"---\n"+configMap("large", "x: large", "y: large"))
	w.write("v.yaml", variants(1, "c1"))
	w.mustApply()
	w.write("v.yaml", variants(2, "c1"))
	w.mustApply() // Drafts go on
	w.mustRun(0, "approve", "--all")
	w.write("v.yaml", variants(3, "c1"))
	p := w.mustApply()
	for _, v := range p.Variants {
		if len(v.Conflicts) > 0 {
			t.Errorf("%s: %q", v.Variant, v.Conflicts)
		}
	}
	w.write("v.yaml", variants(3, "c2"))
	w.mustApply("--only", "c2")
	refs := w.refs()
	for i := range pairs {
		name := fmt.Sprintf("web-%d", i)
		at := "refs/heads/drafts/" + name + "/packagevariant-2"
		if refs["c1 "+at] == "" {
			at = "main" // the third inputs are the second's
		}
		got := w.repos["c1"].Git(t, "rev-parse", at+":"+name)
		if want := w.repos["c2"].Git(t, "rev-parse", "drafts/"+name+"/packagevariant-1:"+name); got != want {
			t.Errorf("%s is another package than one without a past: %s, %s", name, got, want)
		}
	}
}

func one(r *rand.Rand, of ...string) string { return of[r.IntN(len(of))] }

func generatedPipeline(r *rand.Rand) string {
	return one(r, "", "pipeline:\n  mutators:\n  - image: set-annotations:v0.1\n    configMap: {by: upstream}\n",
		"pipeline:\n  mutators:\n  - image: apply-setters:v0.2\n    configMap: {a: \""+one(r, "1", "2")+"\"}\n")
}

func generatedResource(r *rand.Rand, n int) string {
	value := func() string { return one(r, "one", "two", "three") }
	data := []string{"x: " + value(), `a: "` + one(r, "0", "7") + `" # kpt-set: ${a}`}
	if r.IntN(2) == 0 {
		data = append(data, "y: "+value()+" # "+value())
	}
	return one(r, "", "# head\n") + configMap(fmt.Sprintf("f%d", n), data...)
}

func generatedSpec(r *rand.Rand) string {
	return one(r, "", "  packageContext: {data: {region: "+one(r, "a", "b")+"}}\n") +
		one(r, "", "  injectors:\n  - {kind: ConfigMap, name: "+one(r, "small", "large")+"}\n") +
		one(r, "", mutator("set-labels:v0.2", "app: "+one(r, "x", "y")), mutator("apply-setters:v0.2", `a: "`+one(r, "5", "6")+`"`),
			mutator("ensure-name-substring:v0.2", "prepend: "+one(r, "dev-", "prod-")), mutator("set-namespace:v0.4", "namespace: "+one(r, "n", "m")))
}

// Real packages go through three versions of their upstreams, with functions: no
// conflict is told without a person's edit, and what comes is what a new variant
// would be.
func TestRealUpdates(t *testing.T) {
	t.Parallel()
	dir := sharedPackages(t)
	w := newWorld(t, "c1", "c2")
	catalog := w.repos["catalog"]
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	image, replicas, validators := regexp.MustCompile(`(image: *"?[^\s":]+:)[^\s"@]+`), regexp.MustCompile(`replicas: \d+`), regexp.MustCompile(`(?ms)^  validators:.*`)
	var packages []string
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		name := e.Name()
		packages = append(packages, name)
		for v := range 3 {
			tree := readTree(t, filepath.Join(dir, name), name)
			for i := range tree {
				text := string(tree[i].Data)
				switch {
				case strings.HasSuffix(tree[i].Path, "/Kptfile"):
					text = validators.ReplaceAllString(text, "") // their images are not here
				case v > 0 && strings.HasSuffix(tree[i].Path, ".yaml"):
					text = image.ReplaceAllString(text, fmt.Sprintf("${1}%d", v))
					text = replicas.ReplaceAllString(text, fmt.Sprintf("replicas: %d", 3+v))
				}
				tree[i].Data = []byte(text)
			}
			extra := gittest.File{Path: name + "/extra.yaml", Data: []byte(configMap("extra", "x: y"))}
			if v == 2 {
				extra.Data, extra.Mode = nil, gittest.Deleted
			}
			if v > 0 {
				tree = append(tree, extra)
			}
			catalog.Tag(t, fmt.Sprintf("%s/v%d", name, 11+v), catalog.Commit(t, "main", name, tree))
		}
	}
	write := func(version int, repo string) {
		for i, name := range packages {
			spec := []string{mutator("set-labels:v0.2", "team: blue"), mutator("set-namespace:v0.4", "namespace: shop"), mutator("set-annotations:v0.1", "by: me")}[i%3]
			w.write(name+".yaml", strings.Replace(variantOf(name, fmt.Sprintf("v%d", version), repo, name, spec), "package: web,", "package: "+name+",", 1))
		}
	}
	for v := range 3 {
		write(11+v, "c1")
		p := w.mustApply()
		if n := len(p.actions()); n != len(packages) {
			t.Fatalf("%d of %d variants changed with v%d", n, len(packages), 11+v)
		}
		for _, variant := range p.Variants {
			if len(variant.Conflicts) > 0 {
				t.Errorf("%s at v%d: %q", variant.Variant, 11+v, variant.Conflicts)
			}
		}
		w.mustRun(0, "approve", "--all")
	}
	write(13, "c2")
	w.mustApply("--only", "c2")
	for _, name := range packages {
		got, want := w.repos["c1"].Git(t, "rev-parse", "main:"+name), w.repos["c2"].Git(t, "rev-parse", "drafts/"+name+"/packagevariant-1:"+name)
		if got != want {
			t.Errorf("%s is another package than a new one", name)
		}
	}
}
