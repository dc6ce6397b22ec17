package resolver

import (
	"fmt"
	"slices"
	"strings"
)

// nextExpression finds the first expression of a text, "${ … }", Porter PEP003's template form, or the older "{{ … }}",
// and what stands in it; ok is false where there is none.
func nextExpression(text string) (start, end int, path string, ok bool) {
	for start = 0; start+1 < len(text); start++ {
		rest := text[start+2:]
		n := strings.IndexByte(rest, '}')
		switch {
		case n < 0:
			return 0, 0, "", false
		case text[start] == '$' && text[start+1] == '{':
			end = start + 2 + n + 1
		case text[start] == '{' && text[start+1] == '{' && strings.HasPrefix(rest[n+1:], "}"):
			end = start + 2 + n + 2
		default:
			continue
		}
		return start, end, strings.Trim(rest[:n], "\t\n\f\r "), true
	}
	return 0, 0, "", false
}

// expand replaces every expression of a template by what lookup knows; done is false when some are left.
func expand(text string, lookup func(path string) (string, bool)) (out string, done bool) {
	done = true
	for {
		start, end, path, ok := nextExpression(text)
		if !ok {
			return out + text, done
		}
		v, known := lookup(path)
		if !known {
			v, done = text[start:end], false
		}
		out, text = out+text[:start]+v, text[end:]
	}
}

// paths lists the expressions of a template.
func paths(text string) []string {
	var out []string
	for {
		_, end, path, ok := nextExpression(text)
		if !ok {
			return out
		}
		out, text = append(out, path), text[end:]
	}
}

// OutputReads lists the outputs of dependencies that a text reads with "${bundle.dependencies.ALIAS.outputs.NAME}",
// as pairs of alias and name, in order. For what reads outputs outside of any requirement (see [Uses]).
func OutputReads(text string) [][2]string {
	var out [][2]string
	for _, path := range paths(text) {
		if r, ok := dependencyOutput(path); ok {
			out = append(out, [2]string{r.alias, r.output})
		}
	}
	return out
}

// sourceRef is an output of a sibling dependency that a template reads.
type sourceRef struct{ alias, output string }

// dependencyOutput reads "bundle.dependencies.ALIAS.outputs.NAME".
func dependencyOutput(path string) (sourceRef, bool) {
	rest, ok := strings.CutPrefix(path, "bundle.dependencies.")
	if !ok {
		return sourceRef{}, false
	}
	alias, output, ok := strings.Cut(rest, ".outputs.")
	return sourceRef{alias, output}, ok && alias != "" && output != ""
}

// templates lists the templates of a requirement that set something on it, by where they stand.
func (r *Requirement) templates() []located {
	var out []located
	for _, k := range sortedKeys(r.Parameters) {
		out = append(out, located{"parameters." + k, r.Parameters[k]})
	}
	for _, k := range sortedKeys(r.Credentials) {
		out = append(out, located{"credentials." + k, r.Credentials[k]})
	}
	return out
}

type located struct{ field, text string }

// usedOutputs lists the outputs of a requirement that its parent reads: those that it names, those that any
// template of the package reads, and those that it promotes. Sorted.
func usedOutputs(p *Package, r *Requirement) []string {
	used := slices.Clone(r.Uses.Outputs)
	read := func(text string, promoted bool) {
		for _, path := range paths(text) {
			if ref, ok := dependencyOutput(path); ok && ref.alias == r.Alias {
				used = append(used, ref.output)
			}
			if o, ok := strings.CutPrefix(path, "outputs."); ok && promoted {
				used = append(used, o)
			}
		}
	}
	for i := range p.Requires {
		o := &p.Requires[i]
		for _, t := range o.templates() {
			read(t.text, false)
		}
		for _, k := range sortedKeys(o.Outputs) {
			read(o.Outputs[k], o.Alias == r.Alias)
		}
	}
	slices.Sort(used)
	return slices.Compact(used)
}

// problem is something wrong with a package's own declaration.
type problem struct {
	kind Kind
	text string
}

// check lists what is wrong with a package's declaration, whatever it is resolved with.
func (c *Catalog) check(p *Package, rs *ranges) []problem {
	var out []problem
	aliases := map[string]bool{}
	for i := range p.Requires {
		r := &p.Requires[i]
		if aliases[r.Alias] && r.Alias != "" {
			out = append(out, problem{InvalidDeclaration, fmt.Sprintf("requires[%s] is there twice", r.Alias)})
		}
		aliases[r.Alias] = true
	}
	for i := range p.Requires {
		r := &p.Requires[i]
		out = append(out, c.checkShape(r, r.Alias, rs)...)
		for _, t := range r.templates() {
			out = append(out, checkSources(r, t, aliases)...)
		}
		for _, k := range sortedKeys(r.Outputs) {
			out = append(out, checkPromoted(r, located{"outputs." + k, r.Outputs[k]}, aliases)...)
		}
	}
	return out
}

// checkShape looks at what a requirement names.
func (c *Catalog) checkShape(r *Requirement, where string, rs *ranges) []problem {
	bad := func(format string, args ...any) problem {
		return problem{InvalidDeclaration, "requires[" + where + "]" + fmt.Sprintf(format, args...)}
	}
	var out []problem
	kinds := 0
	for _, is := range []bool{r.Package != "" || r.Interface != nil, r.GVK != nil, r.Platform != "", len(r.AnyOf) > 0} {
		if is {
			kinds++
		}
	}
	if kinds != 1 {
		out = append(out, bad(" must be exactly one of package or interface, gvk, platform, anyOf; it is %d of them", kinds))
	}
	if _, err := rs.selection(r.Version); err != nil && r.Platform == "" {
		out = append(out, bad(".version: %q is neither a range of versions nor a digest: %v", r.Version, err))
	} else if _, err := rs.get(r.Version); err != nil && r.Platform != "" {
		out = append(out, bad(".version: %q is no range of versions: %v", r.Version, err))
	}
	if i := r.Interface; i != nil {
		if i.Reference != "" && i.Document != nil {
			out = append(out, bad(".interface has both reference and document; leave one of them out"))
		}
		if i.Reference != "" && c.reference(i.Reference) == nil {
			out = append(out, bad(".interface.reference: %s is not in the catalogue", i.Reference))
		}
		if _, err := rs.get(i.Version); err != nil {
			out = append(out, bad(".interface.version: %q is no range of versions: %v", i.Version, err))
		}
	}
	if m := r.Share.Mode; m != "" && m != ModeGroup && m != ModeNone {
		out = append(out, bad(".share.mode is %q; it must be none or group", m))
	}
	for n := range r.AnyOf {
		out = append(out, c.checkShape(&r.AnyOf[n], fmt.Sprintf("%s.anyOf[%d]", where, n), rs)...)
	}
	return out
}

// checkSources looks at where a parameter or a credential of a dependency comes from.
func checkSources(r *Requirement, t located, aliases map[string]bool) []problem {
	var out []problem
	for _, path := range paths(t.text) {
		at := fmt.Sprintf("requires[%s].%s reads ${%s}", r.Alias, t.field, path)
		ref, ok := dependencyOutput(path)
		switch {
		case ok && ref.alias == r.Alias:
			out = append(out, problem{SelfReference, fmt.Sprintf("%s: %s cannot wait for its own output %s", at, r.Alias, ref.output)})
		case ok && !aliases[ref.alias]:
			out = append(out, problem{DanglingReference, fmt.Sprintf("%s, but no dependency is called %s; it has %s", at, ref.alias, strings.Join(sortedKeys(aliases), ", "))})
		case ok:
		case strings.HasPrefix(path, "bundle.outputs."):
			out = append(out, problem{RootOutputAsSource, fmt.Sprintf("%s: outputs of a package exist only after its dependencies ran", at)})
		case strings.HasPrefix(path, "outputs."):
			out = append(out, problem{DanglingReference, fmt.Sprintf("%s: outputs.* can be read only under outputs; write bundle.dependencies.<alias>.outputs.*", at)})
		case !known(path):
			out = append(out, problem{DanglingReference, fmt.Sprintf("%s, which names nothing that exists", at)})
		}
	}
	return out
}

// checkPromoted looks at where an output that a dependency sets comes from.
func checkPromoted(r *Requirement, t located, aliases map[string]bool) []problem {
	var out []problem
	for _, path := range paths(t.text) {
		at := fmt.Sprintf("requires[%s].%s reads ${%s}", r.Alias, t.field, path)
		ref, ok := dependencyOutput(path)
		switch {
		case ok && !aliases[ref.alias]:
			out = append(out, problem{DanglingReference, fmt.Sprintf("%s, but no dependency is called %s", at, ref.alias)})
		case ok || strings.HasPrefix(path, "outputs.") || known(path):
		case strings.HasPrefix(path, "bundle.outputs."):
			out = append(out, problem{RootOutputAsSource, at + ": an output cannot be made of the package's own outputs"})
		default:
			out = append(out, problem{DanglingReference, at + ", which names nothing that exists"})
		}
	}
	return out
}

// known tells whether a path is one of the template variables of Porter PEP003.
func known(path string) bool {
	return strings.HasPrefix(path, "bundle.") && !strings.HasPrefix(path, "bundle.dependencies.") && !strings.HasPrefix(path, "bundle.outputs.") ||
		strings.HasPrefix(strings.ToLower(path), "installation.")
}
