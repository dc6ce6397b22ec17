package resolver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/variform/variform/resolver/internal/solve"
)

// Why tells how an instance came into the resolution: the shortest chain of needs from what was asked for,
// then everyone else who needs it, and why it has its version. It is nil when nothing of that name or package is there.
func (r *Resolution) Why(name string) []string {
	target := r.Find(name)
	for _, i := range r.Instances {
		if target == nil && i.Package == name {
			target = i
		}
	}
	if target == nil {
		return nil
	}
	var out []string
	out = append(out, r.chain(target)...)
	for _, p := range r.Instances {
		for _, b := range p.Bindings {
			line := needLine(p, b)
			if ref(&b) == target.Ref() && b.Installation != "" && !slices.Contains(out, line) {
				out = append(out, line)
			}
		}
	}
	if target.Requested {
		out = append([]string{fmt.Sprintf("%s %s was asked for", target.Package, target.Version)}, out...)
	}
	return append(out, r.whyVersion(target))
}

func needLine(p *Instance, b Binding) string {
	return fmt.Sprintf("%s %s needs %s, and got %s %s", p.Package, p.Version, b.Needs, b.Package, b.Version)
}

// chain is the shortest way of needs to an instance.
func (r *Resolution) chain(target *Instance) []string {
	type step struct {
		from *Instance
		line string
	}
	came := map[*Instance]step{}
	var queue []*Instance
	for _, i := range r.Instances {
		if i.Requested {
			queue = append(queue, i)
			came[i] = step{}
		}
	}
	for at := 0; at < len(queue); at++ {
		for _, b := range queue[at].Bindings {
			d := r.Find(ref(&b))
			if _, seen := came[d]; d == nil || seen || b.Installation == "" {
				continue
			}
			came[d] = step{queue[at], needLine(queue[at], b)}
			queue = append(queue, d)
		}
	}
	var out []string
	for s := came[target]; s.from != nil; s = came[s.from] {
		out = append([]string{s.line}, out...)
	}
	return out
}

func (r *Resolution) whyVersion(i *Instance) string {
	switch {
	case i.Existing && i.From == i.Version:
		return fmt.Sprintf("%s is installed already as %s", i.Version, i.Ref())
	case i.manifest != nil && i.manifest.Gone:
		return fmt.Sprintf("%s is the locked version, which no source has any more", i.Version)
	}
	newer := i.newer()
	held, all := r.heldBy(i, newer)
	switch {
	case len(newer) > 0 && all:
		return fmt.Sprintf("%s is the newest version in %s", i.Version, shorten(held, 4))
	case i.locked:
		return fmt.Sprintf("%s is the locked version", i.Version)
	case len(newer) == 0:
		return fmt.Sprintf("%s is the newest version", i.Version)
	}
	return fmt.Sprintf("%s is the newest version that fits; newer ones: %d, and why-not tells what is against each", i.Version, len(newer))
}

// newer are the candidates in an instance's place above its version.
func (i *Instance) newer() (out []cand) {
	have, err := parseVersion(i.Version)
	if err != nil || i.slot == nil {
		return nil
	}
	for _, c := range i.slot.cands {
		if c.sem != nil && c.sem.GreaterThan(have) {
			out = append(out, c)
		}
	}
	return out
}

// heldBy are the ranges that leave some of an instance's newer versions out, with who has them; all says that they leave
// out every one.
func (r *Resolution) heldBy(i *Instance, newer []cand) (held []string, all bool) {
	out := make([]bool, len(newer))
	hold := func(text, who string) {
		sel, err := (&ranges{}).selection(text)
		if err != nil || text == "" {
			return
		}
		some := false
		for n, c := range newer {
			if !sel.admits(c.sem, c.digest, nil) {
				out[n], some = true, true
			}
		}
		if line := at("", text) + who; some && !slices.Contains(held, line) {
			held = append(held, line)
		}
	}
	if i.Requested && i.root != nil {
		hold(i.root.Version, ", as was asked for")
	}
	for _, p := range r.Instances {
		for n := range p.Bindings {
			if b := &p.Bindings[n]; b.Installation != "" && ref(b) == i.Ref() {
				hold(b.Range, fmt.Sprintf(" of %s %s", p.Package, p.Version))
			}
		}
	}
	return held, !slices.Contains(out, false)
}

// force is a version that a package must have, to see what speaks against it.
type force struct{ pkg, version string }

// WhyNot tells why a package does not have a version (a number, or the digest of one) in the resolution of an input: reasons, none of which
// can be left out, or that it could have it, but that another is preferred.
func WhyNot(ctx context.Context, in Input, pkg, version string) ([]string, error) {
	if in.Catalog == nil {
		in.Catalog = emptyCatalog()
	}
	found := in.Catalog.find(pkg, version)
	if found == nil {
		return []string{newUniverse(in).offers(pkg, version)}, nil
	}
	version = found.Version
	res, err := Resolve(ctx, in)
	if err != nil {
		return nil, err
	}
	var have []string
	scopes := map[string]Scope{}
	for _, i := range res.Instances {
		scopes[i.Package] = i.scope
		if i.Package == pkg {
			have = append(have, i.Version)
		}
	}
	switch {
	case len(have) == 0:
		return []string{"nothing that was asked for needs " + pkg}, nil
	case slices.ContainsFunc(have, func(v string) bool { return sameVersion(v, version) }):
		return []string{fmt.Sprintf("%s %s is in the resolution", pkg, version)}, nil
	}
	scopes[pkg] = found.Scope
	w := newWork(ctx, in)
	u := universeOf(in, scopes)
	u.work, u.force = w, &force{pkg, version}
	s := solve.New(u)
	defer s.Release()
	answer, ok := s.Solve(solve.WithAny(), solve.WithWork(w))
	if ok {
		return []string{fmt.Sprintf("%s %s is possible, but %s comes first: what is there or locked, then the newest, is preferred", pkg, version, strings.Join(have, ", "))}, nil
	}
	err = u.refuse(s, answer)
	if conflict, ok := errors.AsType[*ConflictError](err); ok && conflict.Kind != SearchLimit {
		return slices.DeleteFunc(conflict.Reasons, func(r string) bool { return strings.Contains(r, asideText) }), nil
	}
	return nil, err
}

const asideText = "is set aside to see what speaks against"

// aside is the need that makes a version impossible while another is asked about, or where its package is to have no
// stricter scope.
func (u *universe) aside(s *slot, c cand) []info {
	if scope := u.scope(s.pkg); c.v != nil && u.relaxed[s.pkg] && stricter(scope, c.v.Scope) != scope {
		return []info{failed(nil, &failure{kind: NoSolution, text: "allows no other beside it, and others are needed"})}
	}
	if u.force == nil || s.pkg != u.force.pkg || sameVersion(c.text, u.force.version) {
		return nil
	}
	return []info{failed(nil, &failure{kind: NoSolution, text: asideText + " " + u.force.version})}
}

func sameVersion(a, b string) bool { return strings.TrimPrefix(a, "v") == strings.TrimPrefix(b, "v") }
