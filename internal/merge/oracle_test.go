package merge

import (
	"bytes"
	"cmp"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/yamltree"
)

// TestOracle compares merges of real packages with git merge-file: both sides
// change random lines of a file, and where Git finds no conflict the merged file
// is Git's to the byte. Not compared are changes for which a merge of lines is
// wrong: see comparable.
func TestOracle(t *testing.T) {
	needGit(t)
	files := realFiles(t)
	rnd := rand.New(rand.NewPCG(54, 1))
	dir := t.TempDir()
	compared, failed := 0, 0
	changes := 2000
	if testing.Short() {
		changes = 200
	}
	for round := 0; compared < changes; round++ {
		if round > 20*changes {
			t.Fatalf("only %d of %d changes could be compared", compared, round)
		}
		f := files[rnd.IntN(len(files))]
		g := &generator{Rand: rnd, base: slices.Collect(strings.Lines(string(f.Data)))}
		u, what := g.side("u")
		l, whatL := g.side("l")
		if what == "" || whatL == "" {
			continue
		}
		b, ours, theirs := f, f, f
		ours.Data, theirs.Data = []byte(l), []byte(u)
		if !comparable(b, theirs, ours) {
			continue
		}
		want, clean := gitMerge(t, dir, string(b.Data), u, l)
		if !clean || doubled([]byte(want)) {
			continue
		}
		compared++
		res, err := Packages(one(t, b), one(t, theirs), one(t, ours), Options{})
		if err != nil {
			t.Fatalf("%s, upstream %s, local %s: %v", f.Path, what, whatL, err)
		}
		got, _ := res.Package.Read(f.Path)
		if diff := gocmp.Diff(want, string(got.Data)); diff != "" || len(res.Conflicts) > 0 {
			failed++
			t.Errorf("round %d, %s, upstream %s, local %s: conflicts %v (-git +got):\n%s", round, f.Path, what, whatL, conflictLines(res), diff)
		}
		if failed >= 10 {
			t.Fatal("and so on")
		}
	}
}

// one is a package of one file.
func one(t *testing.T, f krm.File) *krm.Package {
	p, err := krm.Parse([]krm.File{f})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// realFiles reads the YAML files of real packages, other than Kptfiles.
func realFiles(t *testing.T) []krm.File {
	shared := cmp.Or(os.Getenv("SHARED"), filepath.Join("..", "..", "..", "shared"))
	root := filepath.Join(shared, "packages")
	if _, err := os.Stat(root); err != nil {
		t.Skipf("there are no real packages at %s (SHARED names another folder)", root)
	}
	var out []krm.File
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Ext(name) != ".yaml" {
			return err
		}
		data, err := os.ReadFile(name)
		if err == nil && len(data) < 20_000 && !bytes.Contains(data, []byte("\r")) && comparableFile(krm.File{Path: "f.yaml", Data: data}) {
			out = append(out, krm.File{Path: filepath.ToSlash(name[len(root)+1:]), Data: data})
		}
		return err
	})
	if err != nil || len(out) < 50 {
		t.Fatalf("%d files: %v", len(out), err)
	}
	return out
}

// comparableFile reports whether a file is YAML without anchors.
func comparableFile(f krm.File) bool {
	docs, err := parse(f.Data)
	if err != nil {
		return false
	}
	for _, d := range docs {
		if yamltree.HasAlias(d) {
			return false
		}
	}
	return true
}

// comparable leaves out changes that are to be merged in another way than by
// lines: results that are not YAML, changed identities of resources and items, and
// a key or an item that both sides added.
func comparable(b, u, l krm.File) bool {
	for _, f := range []krm.File{u, l} {
		if !comparableFile(f) || doubled(f.Data) {
			return false
		}
	}
	keepsNames := func(f krm.File) bool {
		now := identityField.FindAllString(string(f.Data), -1)
		for _, name := range identityField.FindAllString(string(b.Data), -1) {
			i := slices.Index(now, name)
			if i < 0 {
				return false
			}
			now = slices.Delete(now, i, i+1)
		}
		return true
	}
	return keepsNames(u) && keepsNames(l)
}

// identityField is a field by which a resource or an item of a list is known.
var identityField = regexp.MustCompile(`(?m)^\s*(?:- )*(?:apiVersion|kind|name|namespace|generateName|key|containerPort|port|mountPath|devicePath|topologyKey|ip|host|type|uid): *(.*)$`)

// doubled reports whether a mapping has a key twice.
func doubled(data []byte) bool {
	docs, err := parse(data)
	return err != nil || slices.ContainsFunc(docs, repeats)
}

func repeats(n *yaml.Node) bool {
	return yamltree.Repeated(n) != nil || slices.ContainsFunc(n.Content, repeats)
}

// generator makes changes of a text, no two on one line.
type generator struct {
	*rand.Rand
	base    []string
	changed []int // lines of base
}

// side changes one to three places, and says how.
func (g *generator) side(mark string) (text, what string) {
	lines := map[int][]string{} // in place of a line of base
	var hows []string
	for range 1 + g.IntN(3) {
		for range 40 {
			i := g.IntN(len(g.base))
			if slices.ContainsFunc(g.changed, func(j int) bool { return max(i-j, j-i) < 2 }) {
				continue
			}
			how, n, now := g.edit(i, mark)
			if how == "" || slices.ContainsFunc(g.changed, func(j int) bool { return j > i && j < i+n+1 }) {
				continue
			}
			hows = append(hows, fmt.Sprintf("%s at %d", how, i+1))
			lines[i] = now
			for j := range n {
				g.changed = append(g.changed, i+j)
				if j > 0 {
					lines[i+j] = []string{}
				}
			}
			break
		}
	}
	var b strings.Builder
	for i, line := range g.base {
		if now, ok := lines[i]; ok {
			b.WriteString(strings.Join(now, ""))
			continue
		}
		b.WriteString(line)
	}
	return b.String(), strings.Join(hows, ", ")
}

var (
	fieldLine   = regexp.MustCompile(`^(\s*(?:- )*)([\w./-]+):( +)([^\s#|>&*{\["'-][^#]*?)?( *#.*)?$`)
	itemLine    = regexp.MustCompile(`^(\s*)- ([\w./=:-]+)( *#.*)?$`)
	keyLine     = regexp.MustCompile(`^(\s*)([\w./-]+):( *#.*)?$`)
	commentLine = regexp.MustCompile(`^(\s*)#`)
	flowLine    = regexp.MustCompile(`^(\s*(?:- )?[\w./-]+: )\[(.*)\]( *#.*)?$`)
)

// edit makes another text of n lines from line i on.
func (g *generator) edit(i int, mark string) (how string, n int, now []string) {
	line := strings.TrimRight(g.base[i], "\n")
	indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
	id := fmt.Sprintf("%s%d", mark, g.IntN(1000))
	field, item, key := fieldLine.FindStringSubmatch(line), itemLine.FindStringSubmatch(line), keyLine.FindStringSubmatch(line)
	put := func(how string, lines ...string) (string, int, []string) {
		for i := range lines {
			lines[i] += "\n"
		}
		return how, 1, lines
	}
	flow := flowLine.FindStringSubmatch(line)
	switch k := g.IntN(15); {
	case k == 0 && field != nil:
		return put("a value", field[1]+field[2]+":"+field[3]+id+field[5])
	case k == 1 && field != nil:
		return put("quotes", field[1]+field[2]+":"+field[3]+`"`+strings.TrimSpace(field[4])+`"`+field[5])
	case k == 2 && field != nil:
		return put("a value and its comment", field[1]+field[2]+": "+id+"  # "+id)
	case k == 3 && (field != nil || item != nil || key != nil) && strings.Contains(line, " #"):
		return put("a line comment removed", strings.TrimRight(line[:strings.LastIndex(line, " #")], " "))
	case k == 4 && (field != nil || item != nil || key != nil):
		return put("a line comment", strings.TrimRight(regexp.MustCompile(` #.*`).ReplaceAllString(line, ""), " ")+strings.Repeat(" ", 1+g.IntN(3))+"# "+id)
	case k == 5 && strings.TrimSpace(line) != "":
		return put("a comment above", indent+"# "+id, line)
	case k == 6 && commentLine.MatchString(line):
		if g.IntN(2) == 0 {
			return put("a comment removed")
		}
		return put("a comment changed", indent+"# "+id)
	case k == 7:
		return put("a blank line", line, "")
	case k == 8 && strings.TrimSpace(line) == "":
		return put("a blank line removed")
	case k == 9 && field != nil && !strings.Contains(field[1], "-") && field[4] != "":
		return put("a field added", line, indent+id+`: "v"`)
	case k == 10 && field != nil && field[4] != "" && !strings.Contains(field[1], "-"):
		return put("a field removed")
	case k == 11 && item != nil:
		return put("an item added", line, indent+"- "+id)
	case k == 12 && item != nil:
		if g.IntN(2) == 0 {
			return put("an item removed")
		}
		return put("an item changed", indent+"- "+id)
	case k == 13 && field != nil && !strings.Contains(field[1], "-") && field[4] != "":
		return put("an empty value added", line, indent+id+":")
	case k == 14 && flow != nil && flow[2] != "":
		return put("an item in brackets", flow[1]+"["+flow[2]+", "+id+"]"+flow[3])
	case k == 14 && key != nil: // with what is below it
		n := 1
		for i+n < len(g.base) && strings.HasPrefix(g.base[i+n], indent+" ") {
			n++
		}
		if n < 8 {
			return "a mapping removed", n, []string{}
		}
	case k == 0 && field == nil && item == nil && key == nil && strings.TrimSpace(line) != "" && !commentLine.MatchString(line):
		return put("a line of text", line+" "+id)
	case k == 10 && field == nil && item == nil && key == nil && strings.TrimSpace(line) != "" && !commentLine.MatchString(line) && !strings.HasPrefix(line, "---"):
		return put("a line of text removed")
	}
	return "", 0, nil
}
