// Package depcheck proves the layers of docs/architecture.md from the imports
// of the source files: a lower layer never imports a higher one, adapters never
// import one another, and pure packages reach no file system, network or clock.
//
//	pkgs, err := depcheck.Load(os.DirFS("."), "github.com/variform/variform")
//	for _, v := range depcheck.Check(pkgs, depcheck.Placement) { fmt.Println(v) }
//
// It also holds that one package alone, internal/yamltree, finds keys in YAML
// nodes and compares them. Its own test uses it, and mkpicture, which draws the
// layers on that page. A new package fails until it has a line in Placement.
package depcheck

import (
	"fmt"
	"path"
	"sort"
	"strings"
)

// Layer is a place in the order of docs/architecture.md#layers; a lower number
// is a lower layer.
type Layer int

// The layers, lowest first.
const (
	// Leaf packages import nothing of ours: data, one variable, or what every
	// layer needs.
	Leaf Layer = iota
	// API holds the KRM types; no I/O.
	API
	// Pure packages compute: no file system, network, process or clock.
	Pure
	// Shared packages hold what several adapters need of the outside world.
	Shared
	// Adapter packages each wrap one family of third-party code.
	Adapter
	// UseCase packages combine adapters through interfaces of their own.
	UseCase
	// Door packages are how people and pipelines come in.
	Door
	// Command packages are the mains: they call a door.
	Command
	// Tooling builds and tests the project; nothing of the product imports it.
	Tooling
)

// layers are what people read of each Layer.
var layers = [...]struct{ name, about string }{
	Leaf:    {"leaf", "data, or one variable; imports nothing of ours"},
	API:     {"api", "the KRM types: reading, defaults, validation; no I/O"},
	Pure:    {"pure", "computes: no file system, network, process or clock"},
	Shared:  {"shared", "what several adapters need of the outside world"},
	Adapter: {"adapter", "one family of third-party code each, or one kind of place; never one another"},
	UseCase: {"use case", "combines pure packages and adapters"},
	Door:    {"door", "how people and pipelines come in"},
	Command: {"command", "mains: they call a door and have no logic"},
	Tooling: {"tooling", "builds and tests the project; nothing above imports it"},
}

// String names the layer as messages do.
func (l Layer) String() string {
	if l < 0 || int(l) >= len(layers) {
		return fmt.Sprintf("layer %d", int(l))
	}
	return layers[l].name
}

// Placement says which layer each package is in, by its path below the module.
// A path covers the folders below it unless a longer one names them.
var Placement = map[string]Layer{
	"examples":            Leaf,
	"internal/cores":      Leaf,
	"internal/lazyregexp": Leaf,
	"internal/count":      Leaf,
	"internal/version":    Leaf,
	"internal/yamltree":   Leaf,

	"api": API,

	"resolver":            Pure,
	"variantgen":          Pure,
	"injector":            Pure,
	"internal/boundary":   Pure,
	"internal/catalogfn":  Pure,
	"internal/celexpr":    Pure,
	"internal/check":      Pure,
	"internal/contents":   Pure,
	"internal/function":   Pure,
	"internal/depend":     Pure,
	"internal/foreign":    Pure,
	"internal/decide":     Pure,
	"internal/importer":   Pure,
	"internal/injection":  Pure,
	"internal/krm":        Pure,
	"internal/krmignore":  Pure,
	"internal/lifecycle":  Pure,
	"internal/merge":      Pure,
	"internal/mutate":     Pure,
	"internal/page":       Pure,
	"internal/provenance": Pure,
	"internal/pulls":      Pure,
	"internal/record":     Pure,
	"internal/review":     Pure,
	"internal/revision":   Pure,
	"internal/shard":      Pure,
	"internal/wiring":     Pure,

	"internal/wire": Shared,

	"internal/forge":   Adapter,
	"internal/gitrepo": Adapter,
	"internal/ocirepo": Adapter,
	"internal/pkgdir":  Adapter,
	"internal/render":  Adapter,
	"internal/source":  Adapter,

	"internal/catalog":   UseCase,
	"internal/fleet":     UseCase,
	"internal/build":     UseCase,
	"internal/observe":   UseCase,
	"internal/publish":   UseCase,
	"internal/reconcile": UseCase,
	"internal/session":   UseCase,

	"internal/cli":    Door,
	"internal/demo":   Door,
	"internal/fnmain": Door,

	"functions": Command,
	"cmd":       Command,

	"tools": Tooling,
	"test":  Tooling,
}

// maxMainLines bounds the main.go of a function, which has no logic to test.
const maxMainLines = 30

// Package is what the rules need to know about one package's ordinary files;
// tests may import what they like.
type Package struct {
	Path    string   // below the module, "internal/krm"
	Doc     string   // the first sentence of its comment, on one line, "" for none
	Module  string   // the module's path
	Imports []string // whole import paths, sorted, each once
	Clock   []string // places that read the clock, "file.go:12: time.Now"
	Funcs   []string // names of functions and methods, in file order
	Main    int      // lines of main.go, 0 where there is none
	Trees   []TreeUse
	Size    Size
}

// Violation is one broken rule.
type Violation struct {
	Package string
	Rule    string
}

// String is one line for a person.
func (v Violation) String() string { return v.Package + ": " + v.Rule }

// Check applies every rule and lists what breaks them, sorted.
func Check(pkgs []Package, placement map[string]Layer) []Violation {
	var out []Violation
	for _, p := range pkgs {
		layer, root, ok := place(p.Path, placement)
		if !ok {
			out = append(out, Violation{p.Path, "has no layer: add it to Placement in test/depcheck"})
			continue
		}
		for _, rule := range p.rules(layer, root, placement) {
			out = append(out, Violation{p.Path, rule})
		}
		for _, rule := range p.treeRules(TreeAllowed) {
			out = append(out, Violation{p.Path, rule})
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].String() < out[j].String() })
	return out
}

func (p Package) rules(layer Layer, root string, placement map[string]Layer) []string {
	var out []string
	for _, imp := range p.Imports {
		if own, ok := strings.CutPrefix(imp, p.Module+"/"); ok {
			out = append(out, ownImport(layer, root, own, placement)...)
		} else if layer <= Pure && banned(imp) {
			out = append(out, fmt.Sprintf("is %s and imports %s", layer, imp))
		}
	}
	if layer <= Pure {
		for _, c := range p.Clock {
			out = append(out, fmt.Sprintf("is %s and reads the clock at %s", layer, c))
		}
	}
	return append(out, p.commandRules(root)...)
}

// ownImport judges an import of one of our packages.
func ownImport(layer Layer, root, imp string, placement map[string]Layer) []string {
	to, toRoot, ok := place(imp, placement)
	switch {
	case !ok:
		return nil // the imported package is reported by itself
	case to > layer:
		return []string{fmt.Sprintf("is %s and imports %s, which is %s", layer, imp, to)}
	case to == layer && root != toRoot && (layer == Adapter || layer == Leaf || layer == Command):
		return []string{fmt.Sprintf("is %s and imports another: %s", layer, imp)}
	default:
		return nil
	}
}

// commandRules keep logic out of mains.
func (p Package) commandRules(root string) []string {
	var out []string
	isFunction := root == "functions"
	if !isFunction && root != "cmd" {
		return nil
	}
	if isFunction && p.Main > maxMainLines {
		out = append(out, fmt.Sprintf("main.go has %d lines, more than %d", p.Main, maxMainLines))
	}
	for _, f := range p.Funcs {
		if f != "main" {
			out = append(out, fmt.Sprintf("declares %s: a main has no logic of its own", f))
		}
	}
	if isFunction {
		return out
	}
	for _, imp := range p.Imports {
		own, ok := strings.CutPrefix(imp, p.Module+"/")
		if ok && own != "internal/cli" && own != "internal/fnmain" {
			out = append(out, fmt.Sprintf("imports %s: a command calls a door, internal/cli or internal/fnmain, only", own))
		}
	}
	return out
}

// place finds the longest entry of placement that covers a path.
func place(pkg string, placement map[string]Layer) (layer Layer, root string, ok bool) {
	for root = pkg; root != "." && root != "/"; root = path.Dir(root) {
		if layer, ok = placement[root]; ok {
			return layer, root, true
		}
	}
	return 0, "", false
}

// bannedRoots are what a pure package never imports, with all below them.
var bannedRoots = []string{
	"io/ioutil", "net", "os", "plugin", "syscall",
	"github.com/go-git/go-git", "github.com/google/go-containerregistry",
	"github.com/spf13/cobra", "github.com/spf13/pflag", "golang.org/x/sys", "golang.org/x/term",
}

// allowedBelow are the exceptions: they compute and do not reach out.
var allowedBelow = map[string]bool{"net/netip": true, "net/url": true}

func banned(imp string) bool {
	if allowedBelow[imp] {
		return false
	}
	for _, b := range bannedRoots {
		if imp == b || strings.HasPrefix(imp, b+"/") {
			return true
		}
	}
	return false
}
