package catalog

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/variform/variform/resolver"
)

// Graph is what a target is to have and who needs whom there.
type Graph struct {
	Target string `json:"target"`
	Nodes  []Node `json:"nodes"`
	Edges  []Edge `json:"edges"`
}

// Node is one installation.
type Node struct {
	// ID is namespace/name, or the name of a global one.
	ID      string `json:"id"`
	Package string `json:"package"`
	Version string `json:"version"`
	// Asked says that an Installation asks for it, Existing that it is there.
	Asked    bool `json:"asked,omitempty"`
	Existing bool `json:"existing,omitempty"`
	// Unanswered is the version, or the range, that was asked for and has no answer: what
	// stands in its place is drawn.
	Unanswered string `json:"unanswered,omitempty"`
}

// Edge is one need that an installation meets.
type Edge struct {
	From  string `json:"from"`
	To    string `json:"to"`
	Alias string `json:"alias,omitempty"`
}

// Graph draws the target's resolution, in its order. Needs that an API of the
// target or its platform meets are no edges. A target without an answer is drawn as it
// is locked.
func (t *Target) Graph() Graph {
	g := Graph{Target: t.Name, Nodes: []Node{}, Edges: []Edge{}}
	if t.Resolution == nil {
		t.drawLocked(&g)
	} else {
		t.draw(&g)
	}
	t.drawUnanswered(&g)
	return g
}

func (t *Target) draw(g *Graph) {
	for _, i := range t.Resolution.Instances {
		g.Nodes = append(g.Nodes, Node{ID: i.Ref(), Package: i.Package, Version: i.Version, Asked: i.Requested, Existing: i.Existing})
		for _, b := range i.Bindings {
			if b.Installation != "" {
				to := resolver.Installation{Name: b.Installation, Namespace: b.Namespace}
				g.Edges = append(g.Edges, Edge{i.Ref(), to.Ref(), b.Alias})
			}
		}
	}
}

func (t *Target) drawLocked(g *Graph) {
	locked := t.locked()
	for _, ref := range slices.Sorted(maps.Keys(locked)) {
		p := locked[ref]
		g.Nodes = append(g.Nodes, Node{ID: ref, Package: cmp.Or(p.Package, p.Name), Version: p.Version, Existing: true})
		for _, d := range p.Dependencies {
			g.Edges = append(g.Edges, Edge{From: ref, To: d.Ref(), Alias: d.Alias})
		}
	}
}

func (t *Target) drawUnanswered(g *Graph) {
	for _, r := range t.unanswered() {
		at := slices.IndexFunc(g.Nodes, func(n Node) bool { return n.ID == r.Ref() })
		if at < 0 {
			at = len(g.Nodes)
			g.Nodes = append(g.Nodes, Node{ID: r.Ref(), Package: r.Package})
		}
		g.Nodes[at].Asked, g.Nodes[at].Unanswered = true, cmp.Or(r.Version, "any")
	}
}

// Dot writes graphs in Graphviz' language, one cluster a target.
func Dot(graphs ...Graph) string {
	var b strings.Builder
	b.WriteString("digraph variform {\n  rankdir=LR;\n  node [shape=box, fontname=\"sans-serif\"];\n")
	for n, g := range graphs {
		fmt.Fprintf(&b, "  subgraph cluster_%d {\n    label=%q;\n", n, g.Target)
		for _, v := range g.Nodes {
			style := ""
			if v.Asked {
				style = ", style=bold"
			} else if v.Existing {
				style = ", style=dashed"
			}
			fmt.Fprintf(&b, "    %q [label=%q%s];\n", key(g, v.ID), v.label("\n"), style)
		}
		for _, e := range g.Edges {
			fmt.Fprintf(&b, "    %q -> %q [label=%q];\n", key(g, e.From), key(g, e.To), e.Alias)
		}
		b.WriteString("  }\n")
	}
	b.WriteString("}\n")
	return b.String()
}

// Mermaid writes graphs as forges draw them in Markdown.
func Mermaid(graphs ...Graph) string {
	var b strings.Builder
	b.WriteString("flowchart LR\n")
	for n, g := range graphs {
		ids := map[string]string{}
		fmt.Fprintf(&b, "  subgraph t%d[\"%s\"]\n", n, mermaidText(g.Target))
		for i, v := range g.Nodes {
			ids[v.ID] = fmt.Sprintf("t%dn%d", n, i)
			open, end := "[", "]"
			if v.Asked {
				open, end = "[[", "]]"
			}
			fmt.Fprintf(&b, "    %s%s\"%s\"%s\n", ids[v.ID], open, mermaidText(v.label("<br/>")), end)
		}
		for _, e := range g.Edges {
			arrow := "-->"
			if e.Alias != "" {
				arrow = `-- "` + mermaidText(e.Alias) + `" -->`
			}
			fmt.Fprintf(&b, "    %s %s %s\n", ids[e.From], arrow, ids[e.To])
		}
		b.WriteString("  end\n")
	}
	return b.String()
}

func key(g Graph, id string) string { return g.Target + ":" + id }

func (n Node) label(newline string) string {
	text := n.ID
	if !strings.HasSuffix(n.ID, "/"+n.Package) && n.ID != n.Package {
		text += newline + n.Package
	}
	if n.Version != "" {
		text += newline + n.Version
	}
	if n.Unanswered != "" {
		text += newline + "no answer: " + n.Unanswered
	}
	return text
}

func mermaidText(s string) string { return strings.ReplaceAll(s, `"`, "#quot;") }
