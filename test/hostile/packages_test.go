package hostile

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/variform/variform/test/gittest"
)

// hostilePackage is one that means harm. It fails and says why, or it is taken
// since nothing of it does anything.
type hostilePackage struct {
	files gittest.Files
	tree  func(t *testing.T, r *gittest.Repo) string // a tree object that git itself would not write
	spec  string                                     // more of the variant's spec
	says  string                                     // what the error says; "" where the package is taken
}

func text(pairs ...string) gittest.Files {
	out := gittest.Files{{Path: "Kptfile", Data: []byte(kptfile)}}
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, gittest.File{Path: pairs[i], Data: []byte(pairs[i+1])})
	}
	return out
}

// named is a package whose Kptfile says more.
func named(more string, pairs ...string) gittest.Files {
	out := text(pairs...)
	out[0].Data = []byte(kptfile + more)
	return out
}

func moded(path, mode, data string) gittest.Files {
	return append(text(), gittest.File{Path: path, Mode: mode, Data: []byte(data)})
}

func link(path, to string) gittest.Files { return moded(path, gittest.Symlink, to) }

// entry is one of a raw tree: mode, name, and content, or the entries of a tree.
type entry struct {
	mode, name, data string
	tree             []entry
}

// raw writes a tree as it stands, without git's checks.
func raw(entries ...entry) func(*testing.T, *gittest.Repo) string {
	entries = append([]entry{{mode: "100644", name: "Kptfile", data: kptfile}}, entries...)
	return func(t *testing.T, r *gittest.Repo) string { t.Helper(); return writeTree(t, r, entries) }
}

func writeTree(t *testing.T, r *gittest.Repo, entries []entry) string {
	t.Helper()
	var b strings.Builder
	blobs := map[string]string{}
	for _, e := range entries {
		hash := blobs[e.data]
		switch {
		case e.tree != nil:
			hash = writeTree(t, r, e.tree)
		case hash == "":
			hash = gittest.Run(t, r.Dir, []byte(e.data), "hash-object", "-w", "--stdin")
			blobs[e.data] = hash
		}
		fmt.Fprintf(&b, "%s %s\x00", e.mode, e.name)
		for i := 0; i < len(hash); i += 2 {
			var c byte
			_, _ = fmt.Sscanf(hash[i:i+2], "%02x", &c)
			b.WriteByte(c)
		}
	}
	return gittest.Run(t, r.Dir, []byte(b.String()), "hash-object", "-t", "tree", "-w", "--stdin", "--literally")
}

func file(name, data string) entry { return entry{mode: "100644", name: name, data: data} }

// within is a tree in n folders.
func within(n int, e entry) entry {
	for range n {
		e = entry{mode: "40000", name: "d", tree: []entry{e}}
	}
	return e
}

func configMap(name, data string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\n" + data
}

// laughs are n lists of ten aliases each to the one before.
func laughs(n int) string {
	var b strings.Builder
	b.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := 1; i < n; i++ {
		fmt.Fprintf(&b, "a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 10), ", "))
	}
	return b.String()
}

func many(n int, name func(i int) string, data string) []entry {
	out := make([]entry, n)
	for i := range out {
		out[i] = file(name(i), data)
	}
	return out
}

const pipeline = "pipeline: {mutators: [{image: 'set-annotations:v0.1', configMap: {a: b}}]}\n"

// hostilePackages need a folder for what must never be written: pwned.
func hostilePackages(pwned string) map[string]hostilePackage {
	touch := "touch " + pwned
	nested := strings.Repeat("a: {", 1200) + strings.Repeat("}", 1200)
	return map[string]hostilePackage{
		// Names and places.
		"up":              {tree: raw(within(0, entry{mode: "40000", name: "..", tree: []entry{file("x", "x")}})), says: ".. is no name"},
		"dot":             {tree: raw(entry{mode: "40000", name: ".", tree: []entry{file("x", "x")}}), says: ". is no name"},
		"slash":           {tree: raw(file("../../etc/x", "x")), says: "slash"},
		"absolute":        {tree: raw(file("/etc/x", "x")), says: "slash"},
		"backslash":       {tree: raw(file(`..\..\x`, "x")), says: "backslash"},
		"git":             {tree: raw(entry{mode: "40000", name: ".git", tree: []entry{file("config", "[core]\nfsmonitor = "+touch+"\n")}}), says: "reserved for Git"},
		"git-case":        {tree: raw(entry{mode: "40000", name: ".GiT", tree: []entry{file("config", "x")}}), says: "reserved for Git"},
		"git-short":       {tree: raw(entry{mode: "40000", name: "GIT~1", tree: []entry{file("config", "x")}}), says: "reserved for Git"},
		"git-dots":        {tree: raw(entry{mode: "40000", name: ".git. .", tree: []entry{file("config", "x")}}), says: "reserved for Git"},
		"git-unseen":      {tree: raw(entry{mode: "40000", name: ".g\u200cit", tree: []entry{file("config", "x")}}), says: "reserved for Git"},
		"git-stream":      {tree: raw(entry{mode: "40000", name: ".git::$INDEX_ALLOCATION", tree: []entry{file("config", "x")}}), says: "reserved for Git"},
		"newline":         {tree: raw(file("a\nb.yaml", configMap("x", ""))), says: "control character"},
		"escape":          {tree: raw(file("a\x1b[2J.yaml", configMap("x", ""))), says: "control character"},
		"no-utf8":         {tree: raw(file("a\xff.yaml", configMap("x", ""))), says: "UTF-8"},
		"direction":       {tree: raw(file("a\u202elmay.exe", "x")), says: "control character"},
		"long-name":       {tree: raw(file(strings.Repeat("n", 300), "x")), says: "more than 255"},
		"long-path":       {tree: raw(entry{mode: "40000", name: strings.Repeat("d", 250), tree: []entry{within(99, file("x", "x"))}}), says: ""},
		"deep":            {tree: raw(within(150, file("x", "x"))), says: "100 deep"},
		"twice":           {tree: raw(file("a.yaml", configMap("x", "")), file("a.yaml", configMap("y", ""))), says: "twice"},
		"file-and-folder": {tree: raw(file("a", "x"), entry{mode: "40000", name: "a", tree: []entry{file("b", "x")}}), says: "twice"},
		"case":            {files: text("a.yaml", configMap("x", ""), "A.yaml", configMap("y", "")), says: "differ only in"},
		"unicode":         {files: text("\u00e9.yaml", configMap("x", ""), "e\u0301.yaml", configMap("y", "")), says: "differ only in"},
		"case-folder":     {files: text("a/x.yaml", configMap("x", ""), "A/y.yaml", configMap("y", "")), says: "differ only in"},

		// Kinds.
		"submodule":     {files: append(text(".gitmodules", "[submodule \"s\"]\npath = s\nurl = ext::sh -c '"+touch+"'\n"), gittest.File{Path: "s", Mode: gittest.Submodule, Data: []byte(strings.Repeat("1", 40))}), says: "submodule"},
		"modules":       {files: text(".gitmodules", "[submodule \"s\"]\npath = s\nurl = ext::sh -c '"+touch+"'\n")},
		"mode":          {tree: raw(entry{mode: "104755", name: "suid", data: "x"}), says: "mode 104755"},
		"device":        {tree: raw(entry{mode: "20000", name: "null", data: "x"}), says: "mode"},
		"link-out":      {files: link("l", "../../etc/passwd"), says: "leads out of the package"},
		"link-absolute": {files: link("l", "/etc/shadow"), says: "leads out of the package"},
		"link-round":    {files: link("l", "a/../../../x"), says: "leads out of the package"},
		"link-git":      {files: link("l", ".git/config"), says: "reserved for Git"},
		"link-empty":    {tree: raw(entry{mode: "120000", name: "l", data: ""}), says: "leads out"},
		"link-long":     {files: link("l", strings.Repeat("d/", 4000)+"x"), says: "more than 4096"},
		"link-control":  {files: link("l", "a\x1b[2J"), says: "not written plainly"},
		"link-itself":   {files: link("l", "l")},
		"link-kptfile": {tree: func(t *testing.T, r *gittest.Repo) string {
			return writeTree(t, r, []entry{{mode: "120000", name: "Kptfile", data: "k"}, file("k", kptfile)})
		}, says: "Kptfile"},
		"below-link":     {tree: raw(entry{mode: "120000", name: "l", data: "m"}, entry{mode: "40000", name: "l", tree: []entry{file("x", "x")}}), says: "below the symbolic link"},
		"modules-short":  {tree: raw(file("GI7EBA~1", "[submodule \"s\"]\nurl = -u\n")), says: "reserved for Git"},
		"gitlink":        {files: append(text(), gittest.File{Path: "s", Mode: gittest.Submodule, Data: []byte(strings.Repeat("1", 40))}), says: "submodule"},
		"attribute-line": {files: text(".gitattributes", strings.Repeat("a", 3000)+" text\n"), says: "more than the 2048"},
		"attributes":     {files: text(".gitattributes", "* filter=evil\n", ".gitconfig", "[filter \"evil\"]\nsmudge = "+touch+"\n")},
		"hooks":          {files: moded("hooks/pre-receive", gittest.Executable, "#!/bin/sh\n"+touch+"\n")},
		"lfs":            {files: text("x.yaml", "version https://git-lfs.github.com/spec/v1\noid sha256:"+strings.Repeat("1", 64)+"\nsize 99999999999\n"), says: ""},

		// YAML.
		"laughs":        {files: named(pipeline, "a.yaml", configMap("x", laughs(9))), says: "alias"},
		"alias-itself":  {files: named(pipeline, "a.yaml", configMap("x", "a: &a [*a]\n")), says: "a.yaml"},
		"merge-keys":    {files: named(pipeline, "a.yaml", configMap("x", strings.ReplaceAll(laughs(9), "[", "[{<<: ")+"\n")), says: "a.yaml"},
		"nested":        {files: named(pipeline, "a.yaml", configMap("x", "data: {"+nested+"}\n")), says: "200"},
		"brackets":      {files: named(pipeline, "a.yaml", configMap("x", "a: "+strings.Repeat("[", 1<<20)+"\n")), says: "a.yaml"},
		"indents":       {files: named(pipeline, "a.yaml", configMap("x", deepBlock(3000))), says: "200"},
		"values":        {files: named(pipeline, "a.yaml", configMap("x", "a:\n"+strings.Repeat("- a\n", 3<<20))), says: "values"},
		"many-values":   {tree: raw(many(20, func(i int) string { return fmt.Sprintf("v%02d.yaml", i) }, configMap("x", "a:\n"+strings.Repeat("- a\n", 900_000)))...), says: "values"},
		"documents":     {files: named(pipeline, "a.yaml", strings.Repeat("---\n"+configMap("x", ""), 11_000)), says: "documents"},
		"broken":        {files: named(pipeline, "a.yaml", "name: {broken"), says: "a.yaml"},
		"bytes":         {files: named(pipeline, "a.yaml", configMap("x", "data: {a: \"\xe9\"}\n")), says: "a.yaml"},
		"nul":           {files: named(pipeline, "a.yaml", configMap("x", "data: {a: \"\x00\"}\n")), says: "a.yaml"},
		"bom16":         {files: named(pipeline, "a.yaml", "\xff\xfea\x00:\x00 \x001\x00"), says: "a.yaml"},
		"binary-tag":    {files: named(pipeline, "a.yaml", configMap("x", "data: {a: !!binary '%%%'}\n"))},
		"custom-tag":    {files: named(pipeline, "a.yaml", configMap("x", "data: {a: !!python/object/apply:os.system ['"+touch+"']}\n"))},
		"keys-twice":    {files: named(pipeline, "a.yaml", configMap("x", "data: {a: b}\ndata: {c: d}\n"))},
		"long-key":      {files: named(pipeline, "a.yaml", configMap("x", "data: {? "+strings.Repeat("k", 1<<20)+" : v}\n"))},
		"number":        {files: named(pipeline, "a.yaml", configMap("x", "data: {a: "+strings.Repeat("9", 1<<20)+"}\n"))},
		"controls":      {files: text("a.yaml", configMap("x", "data: {a: \"\\e[2J\\u202e\"}\n"))},
		"name-controls": {files: named(pipeline, "a.yaml", "apiVersion: v1\nkind: \"Con\\e[2JfigMap\"\nmetadata: {name: \"x\\e[2J\\u202e\"}\n")},

		// Sizes and counts.
		"big-file": {files: text("big", strings.Repeat("x", 17<<20)), says: "has 17825792 bytes, more than 16777216"},
		"big": {tree: raw(many2(20, func(i int) entry {
			return file(fmt.Sprintf("b%02d", i), strings.Repeat(fmt.Sprintf("0123456789abc%03d", i), 15<<16))
		})...), says: "more than 268435456"},
		"files":     {tree: manyFiles, says: "more than 20000 files"},
		"tree-bomb": {tree: treeBomb, says: "files"},

		// Kptfiles.
		"no-kptfile": {tree: func(t *testing.T, r *gittest.Repo) string {
			return writeTree(t, r, []entry{file("a.yaml", configMap("x", ""))})
		}, says: "Kptfile"},
		"kptfile-binary": {tree: func(t *testing.T, r *gittest.Repo) string {
			return writeTree(t, r, []entry{file("Kptfile", "\x00\x01\x02")})
		}, says: "Kptfile"},
		"kptfile-list": {tree: func(t *testing.T, r *gittest.Repo) string {
			return writeTree(t, r, []entry{file("Kptfile", "- a\n- b\n")})
		}, says: "Kptfile"},
		"kptfile-owner": {files: named("info: {description: x}\n", "Kptfile.bak", "x")},
		"owned": {tree: func(t *testing.T, r *gittest.Repo) string {
			return writeTree(t, r, []entry{file("Kptfile", "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: x, annotations: {variform.dev/variant: other/default/x, variform.dev/deletion-policy: orphan}}\n")})
		}},
		"exec":            {files: named("pipeline: {mutators: [{exec: \"sh -c '" + touch + "'\"}]}\n"), says: "exec functions run programs of this machine and are off"},
		"image":           {files: named("pipeline: {mutators: [{image: 'evil.example.com/x:v1'}]}\n"), says: "evil.example.com/x:v1"},
		"image-option":    {files: named("pipeline: {mutators: [{image: '--privileged'}]}\n"), says: "--privileged"},
		"image-and-exec":  {files: named("pipeline: {mutators: [{image: 'set-labels:v0.2', exec: 'true'}]}\n"), says: "both"},
		"config-path":     {files: named("pipeline: {mutators: [{image: 'set-labels:v0.2', configPath: ../../../etc/passwd}]}\n"), says: "configPath"},
		"config-absolute": {files: named("pipeline: {mutators: [{image: 'set-labels:v0.2', configPath: /etc/passwd}]}\n"), says: "configPath"},
		"many-functions":  {files: named("pipeline:\n  mutators:\n"+strings.Repeat("  - {image: 'search-replace:v0.2', configMap: {by-value-regex: '(.*)', put-value: '${1}${1}', by-path: data.a}}\n", 64), "a.yaml", configMap("x", "data: {a: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx}\n")), says: "more than 64 MiB"},
		"upstream-inside": {files: text("sub/Kptfile", kptfile+"upstream: {type: git, git: {repo: \"ext::sh -c '"+touch+"'\", directory: /, ref: main}}\nupstreamLock: {type: git, git: {repo: \"--upload-pack="+touch+"\", directory: /, ref: main, commit: \"1111111111111111111111111111111111111111\"}}\n")},
		"lock-outside":    {files: named("upstream: {type: git, git: {repo: \"file:///etc\", directory: ../.., ref: '--exec=" + touch + "'}}\n")},
		"gates":           {files: named("info: {readinessGates: [" + strings.TrimSuffix(strings.Repeat("{conditionType: \"\\e[2J\"}, ", 100), ", ") + "]}\n")},
		"subpackages": {tree: raw(many2(300, func(i int) entry {
			return entry{mode: "40000", name: fmt.Sprintf("s%03d", i), tree: []entry{file("Kptfile", kptfile)}}
		})...)},
		"point-secret":    {files: text("s.yaml", "apiVersion: v1\nkind: Secret\nmetadata: {name: s, annotations: {kpt.dev/config-injection: required}}\n"), spec: "  injectors: [{kind: Secret, name: s}]\n"},
		"point-name":      {files: text("s.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: \"x\\e[2J\", annotations: {kpt.dev/config-injection: required}}\n"), spec: "  injectors: [{name: own}]\n"},
		"point-nowhere":   {files: text("s.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, annotations: {kpt.dev/config-injection: \""+strings.Repeat("z", 1<<16)+"\"}}\n"), spec: "  injectors: [{name: own}]\n", says: "invalid"},
		"krmignore":       {files: text(".krmignore", strings.Repeat("**/a*b*c*d*e*f*/\n", 2000)+"!**\n", "a/"+strings.Repeat("abcdef", 30)+"/x.yaml", configMap("x", ""))},
		"krmignore-bytes": {files: text(".krmignore", "\xff\x00[\n"+strings.Repeat("[", 5000)+"\n", "x.yaml", configMap("x", ""))},
		"setters":         {files: named("pipeline: {mutators: [{image: 'apply-setters:v0.2', configMap: {a: '"+strings.Repeat("x", 1<<20)+"'}}]}\n", "a.yaml", configMap("x", "data:\n"+setterLines(20_000))), says: "more than 64 MiB"},
		"setter-patterns": {files: named("pipeline: {mutators: [{image: 'apply-setters:v0.2', configMap: {a: '${b}${b}${b}${b}', b: '${c}${c}${c}${c}', c: '"+strings.Repeat("x", 1<<19)+"'}}]}\n", "a.yaml", configMap("x", "data: {a: x} # none\ndata2:\n  a: x # kpt-set: ${a}${a}${a}${a}${a}${a}${a}${a}${a}${a}\n")), says: "more than 64 MiB"},
		"manifest":        {files: text("package.yaml", "apiVersion: variform.dev/v1alpha1\nkind: PackageManifest\nmetadata: {name: foo, annotations: {config.kubernetes.io/local-config: 'true'}}\nspec: {version: \"\\e[2J\", requires: [{package: ../../x}]}\n")},
	}
}

func deepBlock(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	return b.String()
}

func setterLines(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "  k%d: x # kpt-set: ${a}${a}\n", i)
	}
	return b.String()
}

func many2(n int, of func(i int) entry) []entry {
	out := make([]entry, n)
	for i := range out {
		out[i] = of(i)
	}
	return out
}

// manyFiles is a tree of more files than a package may have, all alike.
func manyFiles(t *testing.T, r *gittest.Repo) string {
	t.Helper()
	kpt := gittest.Run(t, r.Dir, []byte(kptfile), "hash-object", "-w", "--stdin")
	var in strings.Builder
	fmt.Fprintf(&in, "100644 blob %s\tKptfile\n", kpt)
	for i := range 20_001 {
		fmt.Fprintf(&in, "100644 blob %s\tf%05d\n", kpt, i)
	}
	return gittest.Run(t, r.Dir, []byte(in.String()), "mktree")
}

// treeBomb is ten folders, each ten times the one before: 10^10 files.
func treeBomb(t *testing.T, r *gittest.Repo) string {
	t.Helper()
	tree := writeTree(t, r, []entry{file("x", "x")})
	for range 10 {
		var in strings.Builder
		for i := range 10 {
			fmt.Fprintf(&in, "040000 tree %s\td%d\n", tree, i)
		}
		tree = gittest.Run(t, r.Dir, []byte(in.String()), "mktree")
	}
	kpt := gittest.Run(t, r.Dir, []byte(kptfile), "hash-object", "-w", "--stdin")
	return gittest.Run(t, r.Dir, []byte(fmt.Sprintf("100644 blob %s\tKptfile\n040000 tree %s\tz\n", kpt, tree)), "mktree")
}

// add puts a package's raw tree into the catalogue at v1.
func (w *world) add(pkg string, tree string) {
	w.t.Helper()
	r := w.repos["cat"]
	root := gittest.Run(w.t, r.Dir, []byte(fmt.Sprintf("040000 tree %s\t%s\n", tree, pkg)), "mktree", "--missing")
	r.Tag(w.t, pkg+"/v1", r.Git(w.t, "commit-tree", "-m", pkg, root))
}

// All of them are in one fleet, beside packages that mean well.
func TestHostilePackages(t *testing.T) {
	w := newWorld(t, "good")
	pwned := filepath.Join(w.dir, "pwned")
	cases := hostilePackages(pwned)
	w.publish("foo", gittest.Files{{Path: "Kptfile", Data: []byte(kptfile + pipeline)}, {Path: "cm.yaml", Data: []byte(configMap("c", "data: {a: b}\n"))}})
	w.variant("foo", "good", "")
	w.write("own.yaml", configMap("own", "data: {own: value}\n"))
	w.write("secret.yaml", "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {token: "+canary+"}\n")
	w.repos["cat"].Git(t, "config", "pack.window", "0") // it would compare large files
	for name, c := range cases {
		if c.tree == nil {
			w.publish(name, c.files)
		} else {
			w.add(name, c.tree(t, w.repos["cat"]))
		}
		w.variant(name, "good", c.spec)
	}
	r := w.apply("--function-timeout", "10s")
	if a := r.variants["good/foo"].Action; a != "create" || w.repos["good"].Refs(t)["refs/heads/drafts/foo/packagevariant-1"] == "" {
		t.Errorf("the healthy neighbour: %q", a)
	}
	for name, c := range cases {
		v := r.variants["good/"+name]
		switch {
		case c.says == "" && v.Action != "create":
			t.Errorf("%s: %q, want it taken: %.600s", name, v.Action, v.Error)
		case c.says != "" && v.Action != "fail":
			t.Errorf("%s: %q, want a failure that says %q", name, v.Action, c.says)
		case c.says != "" && !strings.Contains(v.Error, c.says):
			t.Errorf("%s: the error lacks %q: %.600s", name, c.says, v.Error)
		}
		if regexp.MustCompile(`[\x00-\x08\x0b-\x1f\x7f\x{202a}-\x{202e}]`).MatchString(v.Error + strings.Join(v.Warnings, "")) {
			t.Errorf("%s: what is said steers the terminal: %q", name, v.Error+strings.Join(v.Warnings, ""))
		}
	}
	if _, err := os.Stat(pwned); err == nil {
		t.Error("something of a package ran")
	}
	w.wantNoLeak("good")
	w.repos["good"].Fsck(t)
	w.readers()
}

// readers run what shows, and publishes, what is there.
func (w *world) readers() {
	w.t.Helper()
	for _, args := range [][]string{{"review"}, {"review", "-o", "json"}, {"approve", "--all"}, {"plan", "-o", "markdown"}} {
		r := w.run(append(args, "-f", w.fleet())...)
		if r.code == 2 {
			w.t.Errorf("%v: status 2: %.2000s", args, r.errs)
		}
	}
}
