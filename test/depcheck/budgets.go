package depcheck

import (
	"bufio"
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Budgets bounds sizes, by name: "total code-lines", "code-lines internal/krm",
// "methods internal/krm.Resource", "word landed".
type Budgets map[string]int

// limits are what each package or type may have of a measure. More of it needs a
// line in budgets.txt.
var limits = map[string]int{
	"code-lines":     3000, // of one package
	"exported-types": 40,   // of one package
	"imports":        15,   // of our packages, by one package
	"methods":        45,   // of one type
}

// Measure returns the totals of all packages but those below test and tools, and
// what exceeds a limit.
func Measure(pkgs []Package) Budgets {
	out := Budgets{}
	above := func(measure, name string, n int) {
		if n > limits[measure] {
			out[measure+" "+name] = n
		}
	}
	for _, p := range pkgs {
		if top, _, _ := strings.Cut(p.Path, "/"); top == "test" || top == "tools" {
			continue
		}
		s := p.Size
		if !slices.Contains(p.Funcs, "main") {
			out["total packages"]++
		}
		out["total code-lines"] += s.Code
		out["total functions"] += s.Functions
		out["total types"] += s.Types
		out["total fields"] += s.Fields
		out["total says"] += s.Says
		for word, n := range s.Words {
			out["word "+word] += n
		}
		own := 0
		for _, imp := range p.Imports {
			if strings.HasPrefix(imp, p.Module+"/") {
				own++
			}
		}
		above("code-lines", p.Path, s.Code)
		above("exported-types", p.Path, s.Exported)
		above("imports", p.Path, own)
		for name, n := range s.Methods {
			above("methods", p.Path+"."+name, n)
		}
	}
	out["total import-depth"] = depth(pkgs)
	return out
}

// depth returns the number of imports on the longest path from a package to one
// that imports none of ours.
func depth(pkgs []Package) (deepest int) {
	imports := map[string][]string{}
	for _, p := range pkgs {
		for _, imp := range p.Imports {
			if own, ok := strings.CutPrefix(imp, p.Module+"/"); ok {
				imports[p.Path] = append(imports[p.Path], own)
			}
		}
	}
	known := map[string]int{}
	var of func(string) int
	of = func(path string) (n int) {
		if n, ok := known[path]; ok {
			return n
		}
		for _, imp := range imports[path] {
			n = max(n, 1+of(imp))
		}
		known[path] = n
		return n
	}
	for path := range imports {
		deepest = max(deepest, of(path))
	}
	return deepest
}

// ParseBudgets reads lines "measure name number". A line "feature lines package
// why" states the size of a feature: it raises the budgets of that package and the
// totals by the lines, and by what so many lines hold of functions, fields and
// types. Empty lines and comments from # on are skipped.
func ParseBudgets(text []byte) (Budgets, error) {
	out, features := Budgets{}, Budgets{}
	s := bufio.NewScanner(bytes.NewReader(text))
	for n := 1; s.Scan(); n++ {
		line, _, _ := strings.Cut(s.Text(), "#")
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		if len(f) < 3 {
			return nil, fmt.Errorf("line %d: want a measure, a name and a number, got %q", n, line)
		}
		if f[0] == "feature" {
			lines, err := strconv.Atoi(f[1])
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", n, err)
			}
			for name, raise := range raises(f[2], lines) {
				features[name] += raise
			}
			continue
		}
		name := f[0] + " " + f[1]
		v, err := strconv.Atoi(f[2])
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		if _, twice := out[name]; twice {
			return nil, fmt.Errorf("line %d: %s is there twice", n, name)
		}
		out[name] = v
	}
	for name, raise := range features { // a package below its limit needs no raise
		if _, listed := out[name]; listed {
			out[name] += raise
		}
	}
	return out, s.Err()
}

// raises returns what a feature of so many lines in a package may add.
func raises(pkg string, lines int) Budgets {
	per := func(n int) int { return (lines + n - 1) / n }
	return Budgets{
		"total code-lines": lines, "total functions": per(12), "total fields": per(15), "total types": per(60),
		"code-lines " + pkg: lines, "exported-types " + pkg: per(60),
	}
}

// Exceeded lists how sizes differ from their budgets: what grew, and what is
// more than one part in a hundred below its budget, so that the budget follows.
func Exceeded(sizes, budgets Budgets) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(sizes)) {
		measure, what, _ := strings.Cut(name, " ")
		allowed, listed := budgets[name]
		if !listed {
			allowed = limits[measure]
		}
		if sizes[name] <= allowed {
			continue
		}
		remedy := "make it smaller, or something else of its kind"
		if word := PrivateWords[what]; measure == "word" {
			remedy = "write " + word
		}
		out = append(out, fmt.Sprintf("%s: %d, at most %d: %s", name, sizes[name], allowed, remedy))
	}
	for _, name := range slices.Sorted(maps.Keys(budgets)) {
		if n := budgets[name]; n-sizes[name] > max(2, n/100) || sizes[name] == 0 {
			out = append(out, fmt.Sprintf("%s: %d, and budgets.txt allows %d: run go test ./test/depcheck -shrink", name, sizes[name], n))
		}
	}
	return out
}

// Shrink returns the text of budgets.txt with lower numbers where sizes allow
// it, and without lines that nothing needs. It raises no number.
func Shrink(text []byte, sizes Budgets) ([]byte, error) {
	have, err := ParseBudgets(text)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	for line := range strings.Lines(string(text)) {
		rule, comment, commented := strings.Cut(line, "#")
		f := strings.Fields(rule)
		if len(f) < 3 || f[0] == "feature" {
			out.WriteString(line)
			continue
		}
		name := f[0] + " " + f[1]
		n, _ := strconv.Atoi(f[2])
		n -= max(have[name]-sizes[name], 0)
		if n <= 0 {
			continue
		}
		line = fmt.Sprintf("%-14s %-42s %6d", f[0], f[1], n)
		if commented {
			line += " #" + strings.TrimRight(comment, "\n")
		}
		out.WriteString(line + "\n")
	}
	return out.Bytes(), nil
}

// goals are the totals at commit b83eaca, and what they are to become.
var goals = []struct {
	measure      string
	before, goal int
}{
	{"code-lines", 94355, 75000},
	{"packages", 73, 36},
	{"import-depth", 17, 12},
	{"functions", 5891, 4800},
	{"types", 1195, 950},
	{"fields", 5079, 4000},
}

// Trend returns a table of the totals: at commit b83eaca, what budgets.txt allows,
// and the goal. With sizes it has what there is, too.
func Trend(sizes, budgets Budgets) string {
	var b strings.Builder
	b.WriteString("| | b83eaca |")
	if sizes != nil {
		b.WriteString(" now |")
	}
	b.WriteString(" at most | goal |\n|---|---:|")
	if sizes != nil {
		b.WriteString("---:|")
	}
	b.WriteString("---:|---:|\n")
	for _, g := range goals {
		fmt.Fprintf(&b, "| %s | %d |", strings.ReplaceAll(g.measure, "-", " "), g.before)
		if sizes != nil {
			fmt.Fprintf(&b, " %d |", sizes["total "+g.measure])
		}
		fmt.Fprintf(&b, " %d | %d |\n", budgets["total "+g.measure], g.goal)
	}
	return b.String()
}
