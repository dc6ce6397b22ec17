package merge

import (
	"fmt"
	"math/rand/v2"
	"path"
	"sort"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/yamltree"
)

// rounds is how many random packages a property is tried on.
const rounds = 100

// model is a package as data: what a document is and in which file.
type model map[string]*modelDoc

type modelDoc struct {
	file string
	root map[string]any
}

// modelEdit changes one slot of a package. Two edits are independent unless
// the slot of one is the other's or a part of it.
type modelEdit struct {
	slot  string
	apply func(model)
}

func (m model) copy() model {
	out := model{}
	for k, d := range m {
		out[k] = &modelDoc{file: d.file, root: copyValue(d.root).(map[string]any)}
	}
	return out
}

func copyValue(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, x := range v {
			out[k] = copyValue(x)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, x := range v {
			out[i] = copyValue(x)
		}
		return out
	}
	return v
}

func (m model) pkg(t testing.TB) *krm.Package { return m.marked(t, "") }

// marked is pkg with a comment at each name, which says where it is and who
// wrote it.
func (m model) marked(t testing.TB, mark string) *krm.Package {
	t.Helper()
	docs := map[string][]string{}
	for k, d := range m {
		docs[d.file] = append(docs[d.file], k)
	}
	var files []krm.File
	for f, keys := range docs {
		sort.Strings(keys)
		var b strings.Builder
		for i, k := range keys {
			if i > 0 {
				b.WriteString("---\n")
			}
			var root yaml.Node
			if err := root.Encode(m[k].root); err != nil {
				t.Fatal(err)
			}
			if mark != "" {
				eachNamed(&root, k, func(id string, name *yaml.Node) { name.LineComment = "# " + mark + " " + id })
			}
			data, err := yaml.Marshal(&root)
			if err != nil {
				t.Fatal(err)
			}
			b.Write(data)
		}
		files = append(files, krm.File{Path: f, Data: []byte(b.String())})
	}
	p, err := krm.Parse(files)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// eachNamed visits the fields "name" of a document: those of the resource itself
// and of the items of its lists. An id has the names on the way.
func eachNamed(n *yaml.Node, id string, visit func(id string, name *yaml.Node)) {
	if n.Kind == yaml.SequenceNode {
		for _, it := range n.Content {
			if name := yamltree.Child(it, "name"); name != nil {
				eachNamed(it, id+"/"+name.Value, visit)
			}
		}
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i].Value, n.Content[i+1]
		if key == "name" {
			visit(id, value)
			continue
		}
		eachNamed(value, id+"/"+key, visit)
	}
}

// modelOf reads a package back; lists of items with names are put in order, as
// two additions have none.
func modelOf(t testing.TB, p *krm.Package) map[string]any {
	t.Helper()
	out := map[string]any{}
	for _, r := range p.Resources() {
		var root any
		if err := r.Node().YNode().Decode(&root); err != nil {
			t.Fatal(err)
		}
		key := r.Kind() + "/" + r.Name()
		if _, ok := out[key]; ok {
			t.Errorf("%s is there twice", key)
		}
		out[key] = map[string]any{"file": r.Path(), "root": sorted(root)}
	}
	return out
}

func sorted(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			v[k] = sorted(x)
		}
	case []any:
		for i := range v {
			v[i] = sorted(v[i])
		}
		sort.SliceStable(v, func(i, j int) bool { return sortKey(v[i]) < sortKey(v[j]) })
	}
	return v
}

func sortKey(v any) string {
	if m, ok := v.(map[string]any); ok {
		for _, k := range []string{"name", "containerPort", "conditionType", "type", "image"} {
			if m[k] != nil {
				return fmt.Sprint(m[k])
			}
		}
	}
	return fmt.Sprint(v)
}

func randomModel(r *rand.Rand) model {
	m := model{}
	for i := range 2 + r.IntN(4) {
		file := fmt.Sprintf("f%d.yaml", r.IntN(3))
		if r.IntN(3) == 0 {
			file = "sub/" + file
		}
		name := fmt.Sprintf("r%d", i)
		head := func(apiVersion, kind string) map[string]any {
			return map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{
				"name": name, "labels": map[string]any{"a": "1", "b": "2", "c": "3"}, "finalizers": []any{"f0", "f1"},
			}}
		}
		var root map[string]any
		switch r.IntN(3) {
		case 0:
			root = head("apps/v1", "Deployment")
			var containers []any
			for c := range 1 + r.IntN(3) {
				item := randomItem(r, fmt.Sprintf("c%d", c))
				item["ports"] = []any{map[string]any{"name": "p80", "containerPort": 80}, map[string]any{"name": "p81", "containerPort": 81, "protocol": "UDP"}}
				containers = append(containers, item)
			}
			root["spec"] = map[string]any{"replicas": r.IntN(9), "template": map[string]any{"spec": map[string]any{"containers": containers}}}
		case 1:
			root = head("v1", "ConfigMap")
			root["data"] = map[string]any{"k0": "v", "k1": "v", "k2": "v"}
		default:
			root = head("example.com/v1", "Thing")
			root["spec"] = map[string]any{"users": []any{randomItem(r, "user0"), randomItem(r, "user1")}, "words": []any{"w0", "w1", "w2", "w3", "w4"}}
		}
		m[root["kind"].(string)+"/"+name] = &modelDoc{file: file, root: root}
	}
	m["Kptfile/app"] = &modelDoc{file: "Kptfile", root: kptfileModel("app")}
	m["Kptfile/sub"] = &modelDoc{file: "sub/Kptfile", root: kptfileModel("sub")}
	return m
}

func kptfileModel(name string) map[string]any {
	return map[string]any{
		"apiVersion": "kpt.dev/v1", "kind": "Kptfile", "metadata": map[string]any{"name": name},
		"info": map[string]any{"description": "d", "readinessGates": []any{map[string]any{"conditionType": "g0"}}},
		"pipeline": map[string]any{
			"mutators":   []any{map[string]any{"image": "fn0:v1", "configMap": map[string]any{"a": "b"}}, map[string]any{"image": "fn1:v1", "configMap": map[string]any{"a": "b"}}},
			"validators": []any{map[string]any{"image": "fn2:v1", "name": "named", "configMap": map[string]any{"a": "b"}}, map[string]any{"image": "fn3:v1", "configMap": map[string]any{"a": "b"}}},
		},
	}
}

func randomItem(r *rand.Rand, name string) map[string]any {
	return map[string]any{"name": name, "image": fmt.Sprintf("i%d", r.IntN(3)), "env": []any{
		map[string]any{"name": "E0", "value": "v"}, map[string]any{"name": "E1", "value": "v"},
	}}
}

// slotOf is where a document is, for comparing edits: what is in the subpackage
// goes with it.
func (m model) slotOf(k string) string { return path.Dir(m[k].file) + "/" + k }

// randomEdit changes, adds or deletes something. Values that it writes are
// unique, so that they can be found again.
func randomEdit(r *rand.Rand, m model, id string) modelEdit {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	k := keys[r.IntN(len(keys))]
	slot := m.slotOf(k)
	if strings.HasPrefix(k, "Kptfile/") {
		return kptfileEdit(r, k, slot, id)
	}
	switch r.IntN(10) {
	case 0:
		name, file := "new"+id, m[k].file
		return modelEdit{path.Dir(file) + "/ConfigMap/" + name, func(m model) {
			m["ConfigMap/"+name] = &modelDoc{file: file, root: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name}}}
		}}
	case 1:
		return modelEdit{slot + "/", func(m model) { delete(m, k) }}
	case 2:
		return modelEdit{slot + "/@file/", func(m model) {
			if d := m[k]; d != nil {
				d.file = path.Join(path.Dir(d.file), "moved"+id+".yaml")
			}
		}}
	}
	return walkEdit(r, m[k].root, k, slot, id, nil)
}

func kptfileEdit(r *rand.Rand, k, slot, id string) modelEdit {
	at := func(apply func(root map[string]any)) func(model) {
		return func(m model) {
			if d := m[k]; d != nil {
				apply(d.root)
			}
		}
	}
	list := []string{"mutators", "validators"}[r.IntN(2)]
	i := r.IntN(4)
	fn := func(change func(f map[string]any) bool) func(model) {
		return at(func(root map[string]any) { editFunction(root, i, change) })
	}
	switch r.IntN(7) {
	case 0:
		return modelEdit{slot + "/gate" + id, at(func(root map[string]any) {
			info := root["info"].(map[string]any)
			info["readinessGates"] = append(info["readinessGates"].([]any), map[string]any{"conditionType": "g" + id})
		})}
	case 1:
		return modelEdit{slot + "/new" + id, at(func(root map[string]any) {
			p := root["pipeline"].(map[string]any)
			p[list] = append(p[list].([]any), map[string]any{"image": "new" + id + ":v1"})
		})}
	case 2:
		return modelEdit{slot + "/description", at(func(root map[string]any) { root["info"].(map[string]any)["description"] = id })}
	case 3:
		return modelEdit{fmt.Sprintf("%s/fn%d/configMap/", slot, i), fn(func(f map[string]any) bool {
			f["configMap"].(map[string]any)["new"+id] = id
			return true
		})}
	case 4:
		return modelEdit{fmt.Sprintf("%s/fn%d/", slot, i), fn(func(map[string]any) bool { return false })}
	case 5:
		if k == "Kptfile/sub" && r.IntN(3) == 0 {
			return modelEdit{"sub/", func(m model) {
				for k, d := range m {
					if path.Dir(d.file) == "sub" {
						delete(m, k)
					}
				}
			}}
		}
	}
	return modelEdit{fmt.Sprintf("%s/fn%d/image/", slot, i), fn(func(f map[string]any) bool {
		f["image"] = fmt.Sprintf("fn%d:%s", i, id)
		return true
	})}
}

// editFunction changes the i-th function of the model's Kptfiles, or drops it
// where change returns false.
func editFunction(root map[string]any, i int, change func(map[string]any) bool) {
	p := root["pipeline"].(map[string]any)
	for _, list := range []string{"mutators", "validators"} {
		kept := []any{}
		for _, f := range p[list].([]any) {
			if f := f.(map[string]any); !strings.HasPrefix(f["image"].(string), fmt.Sprintf("fn%d:", i)) || change(f) {
				kept = append(kept, f)
			}
		}
		p[list] = kept
	}
}

// step goes from a value to a part of it; it returns nil where that is gone.
type step func(any) any

func field(name string) step {
	return func(v any) any {
		if m, ok := v.(map[string]any); ok {
			return m[name]
		}
		return nil
	}
}

func named(name string) step {
	return func(v any) any {
		if l, ok := v.([]any); ok {
			for _, it := range l {
				if m, ok := it.(map[string]any); ok && m["name"] == name {
					return m
				}
			}
		}
		return nil
	}
}

// walkEdit goes down at random and edits a field of a map.
func walkEdit(r *rand.Rand, at any, doc, slot, id string, path []step) modelEdit {
	find := func(m model) map[string]any {
		d := m[doc]
		if d == nil {
			return nil
		}
		var v any = d.root
		for _, s := range path {
			v = s(v)
		}
		out, _ := v.(map[string]any)
		return out
	}
	node := at.(map[string]any)
	var names []string
	for n := range node {
		if n != "apiVersion" && n != "kind" && n != "name" {
			names = append(names, n)
		}
	}
	sort.Strings(names)
	if len(names) == 0 || r.IntN(4) == 0 {
		return modelEdit{slot + "/new" + id + "/", func(m model) {
			if n := find(m); n != nil {
				n["new"+id] = id
			}
		}}
	}
	name := names[r.IntN(len(names))]
	slot += "/" + name
	switch v := node[name].(type) {
	case map[string]any:
		return walkEdit(r, v, doc, slot, id, append(path, field(name)))
	case []any:
		return listEdit(r, v, doc, slot, id, name, path, find)
	}
	if r.IntN(4) == 0 {
		return modelEdit{slot + "/", func(m model) {
			if n := find(m); n != nil {
				delete(n, name)
			}
		}}
	}
	return modelEdit{slot + "/", func(m model) {
		if n := find(m); n != nil {
			n[name] = id
		}
	}}
}

func listEdit(r *rand.Rand, v []any, doc, slot, id, name string, path []step, find func(model) map[string]any) modelEdit {
	i := r.IntN(len(v))
	item, isMap := v[i].(map[string]any)
	set := func(change func([]any) []any) func(model) {
		return func(m model) {
			if n := find(m); n != nil {
				if l, ok := n[name].([]any); ok {
					n[name] = change(l)
				}
			}
		}
	}
	if r.IntN(3) == 0 {
		return modelEdit{slot + "/+" + id + "/", set(func(l []any) []any {
			if isMap {
				return append(l, map[string]any{"name": "x" + id})
			}
			return append(l, "x"+id)
		})}
	}
	if !isMap {
		return modelEdit{slot + "/" + fmt.Sprint(v[i]) + "/", set(func(l []any) []any {
			var out []any
			for _, x := range l {
				if x != v[i] {
					out = append(out, x)
				}
			}
			return out
		})}
	}
	key := item["name"].(string)
	if len(v) > 1 && r.IntN(4) == 0 {
		return modelEdit{slot + "/" + key + "/", set(func(l []any) []any {
			var out []any
			for _, x := range l {
				if x.(map[string]any)["name"] != key {
					out = append(out, x)
				}
			}
			return out
		})}
	}
	return walkEdit(r, item, doc, slot+"/"+key, id, append(path, field(name), named(key)))
}

func independent(a, b modelEdit) bool {
	return !strings.HasPrefix(a.slot+"/", b.slot) && !strings.HasPrefix(b.slot+"/", a.slot)
}

// TestPropertyIndependentEdits: the merge of edits at different places is the
// base with all of them, without a conflict.
func TestPropertyIndependentEdits(t *testing.T) {
	for n := range uint64(rounds) {
		r := rand.New(rand.NewPCG(n, 1))
		base := randomModel(r)
		upstream, local, both := base.copy(), base.copy(), base.copy()
		var us, ls []modelEdit
		for i := range 1 + r.IntN(5) {
			us = append(us, randomEdit(r, base, fmt.Sprintf("EU%d", i)))
		}
		for i := range 1 + r.IntN(5) {
			e := randomEdit(r, base, fmt.Sprintf("EL%d", i))
			ok := true
			for _, u := range us {
				ok = ok && independent(e, u)
			}
			if ok {
				ls = append(ls, e)
			}
		}
		var slots []string
		for _, e := range us {
			e.apply(upstream)
			e.apply(both)
			slots = append(slots, "upstream "+e.slot)
		}
		for _, e := range ls {
			e.apply(local)
			e.apply(both)
			slots = append(slots, "local "+e.slot)
		}
		res, err := Packages(base.pkg(t), upstream.pkg(t), local.pkg(t), Options{})
		if err != nil {
			t.Fatalf("seed %d: %v", n, err)
		}
		if diff := cmp.Diff(modelOf(t, both.pkg(t)), modelOf(t, res.Package)); diff != "" {
			t.Fatalf("seed %d: edits\n%s\nmerged (-want +got):\n%s", n, strings.Join(slots, "\n"), diff)
		}
		if len(res.Conflicts) > 0 {
			t.Fatalf("seed %d: edits\n%s\nconflicts: %v", n, strings.Join(slots, "\n"), conflictLines(res))
		}
	}
}

// TestPropertyIdentities: for any edits, untouched local becomes upstream and
// untouched upstream leaves local, byte for byte; merging again changes
// nothing; and a local edit that is lost is told.
func TestPropertyIdentities(t *testing.T) {
	for n := range uint64(rounds) {
		r := rand.New(rand.NewPCG(n, 2))
		base := randomModel(r)
		upstream, local := base.copy(), base.copy()
		for i := range r.IntN(6) {
			randomEdit(r, base, fmt.Sprintf("EU%d", i)).apply(upstream)
		}
		for i := range r.IntN(6) {
			randomEdit(r, base, fmt.Sprintf("EL%d", i)).apply(local)
		}
		b, u, l := base.pkg(t), upstream.pkg(t), local.pkg(t)
		mustMerge := func(b, u, l *krm.Package) *Result {
			res, err := Packages(b, u, l, Options{})
			if err != nil {
				t.Fatalf("seed %d: %v", n, err)
			}
			return res
		}
		check := func(what, want, got string) {
			if want != got {
				t.Fatalf("seed %d: %s (-want +got):\n%s", n, what, cmp.Diff(want, got))
			}
		}
		check("merge(base, base, x) is not x", textOf(t, l), textOf(t, mustMerge(b, b, l).Package))
		res := mustMerge(b, u, b)
		if len(res.Conflicts) > 0 {
			t.Fatalf("seed %d: conflicts with untouched local: %v", n, conflictLines(res))
		}
		check("merge(base, x, base) is not x", withoutKptfiles(t, u), withoutKptfiles(t, res.Package))
		if diff := cmp.Diff(modelOf(t, u), modelOf(t, res.Package)); diff != "" {
			t.Fatalf("seed %d: merge(base, x, base) is not x:\n%s", n, diff)
		}
		res = mustMerge(b, u, l)
		check("merging again changes something", textOf(t, res.Package), textOf(t, mustMerge(b, u, res.Package).Package))
		check("merging an old upstream changes something", textOf(t, res.Package), textOf(t, mustMerge(u, u, res.Package).Package))
		if len(res.Conflicts) == 0 {
			for id := range 6 {
				for _, side := range []struct {
					name string
					p    *krm.Package
				}{{"EL", l}, {"EU", u}} {
					mark := fmt.Sprintf("%s%d", side.name, id)
					if strings.Contains(contents(t, side.p), mark) && !strings.Contains(contents(t, res.Package), mark) {
						t.Fatalf("seed %d: the edit %s is lost without a word:\n%s", n, mark, cmp.Diff(textOf(t, side.p), textOf(t, res.Package)))
					}
				}
			}
		}
	}
}

// TestPropertyComments: what local or upstream wrote beside a name is there
// after any merge as long as what it names is. Of two upstream's is taken, but not on
// what is the package's own.
func TestPropertyComments(t *testing.T) {
	for n := range uint64(rounds) {
		r := rand.New(rand.NewPCG(n, 3))
		base := randomModel(r)
		upstream, local := base.copy(), base.copy()
		for i := range r.IntN(6) {
			randomEdit(r, base, fmt.Sprintf("EU%d", i)).apply(upstream)
			randomEdit(r, base, fmt.Sprintf("EL%d", i)).apply(local)
		}
		for _, marks := range [][2]string{{"", "L"}, {"U", ""}, {"U", "L"}} {
			u, l := upstream.marked(t, marks[0]), local.marked(t, marks[1])
			res, err := Packages(base.pkg(t), u, l, Options{})
			if err != nil {
				t.Fatalf("seed %d: %v", n, err)
			}
			want := commentsOf(u)
			for id, mark := range commentsOf(l) {
				isOwn := strings.HasPrefix(id, "Kptfile/") && strings.HasSuffix(id, "/metadata") // a package's name is its own
				if mark != "" && want[id] == "" || isOwn {
					want[id] = mark
				}
			}
			for id, got := range commentsOf(res.Package) {
				if got != want[id] {
					t.Fatalf("seed %d, marks %v: the comment at %s is %q, want %q:\n%s", n, marks, id, got, want[id], textOf(t, res.Package))
				}
			}
		}
	}
}

// commentsOf are the marks beside all names of a package.
func commentsOf(p *krm.Package) map[string]string {
	out := map[string]string{}
	for _, r := range p.Resources() {
		eachNamed(r.Node().YNode(), r.Kind()+"/"+r.Name(), func(id string, name *yaml.Node) {
			mark, _, _ := strings.Cut(strings.TrimPrefix(name.LineComment, "# "), " ")
			out[id] = mark
		})
	}
	return out
}

// contents is a package without the names of its files.
func contents(t *testing.T, p *krm.Package) string {
	var b strings.Builder
	for _, path := range p.Paths() {
		f, _ := p.Read(path)
		b.Write(f.Data)
	}
	return b.String()
}

func withoutKptfiles(t *testing.T, p *krm.Package) string {
	c := p.Clone()
	for _, name := range p.Paths() {
		if path.Base(name) == "Kptfile" {
			c.Remove(name)
		}
	}
	return textOf(t, c)
}
