package yamltree

import "sigs.k8s.io/kustomize/kyaml/yaml"

// Copy copies a tree, places included; aliases in the copy point into the copy.
// Nodes and lists of children come from two slabs.
func Copy(n *yaml.Node) *yaml.Node {
	if n == nil {
		return nil
	}
	nodes, aliases := count(n)
	c := copier{nodes: make([]yaml.Node, 0, nodes), lists: make([]*yaml.Node, 0, nodes)}
	if aliases {
		c.seen = make(map[*yaml.Node]*yaml.Node)
	}
	root := c.copy(n)
	for _, a := range c.aliases {
		if to, ok := c.seen[a.Alias]; ok {
			a.Alias = to
		}
	}
	return root
}

type copier struct {
	nodes   []yaml.Node
	lists   []*yaml.Node
	seen    map[*yaml.Node]*yaml.Node
	aliases []*yaml.Node
}

func (c *copier) copy(n *yaml.Node) *yaml.Node {
	if n == nil {
		return nil
	}
	c.nodes = append(c.nodes, *n)
	to := &c.nodes[len(c.nodes)-1]
	if c.seen != nil {
		c.seen[n] = to
		if n.Kind == yaml.AliasNode {
			c.aliases = append(c.aliases, to)
		}
	}
	if len(n.Content) == 0 {
		to.Content = nil
		return to
	}
	start := len(c.lists)
	end := start + len(n.Content)
	c.lists = c.lists[:end]
	// The capacity ends with the list: appending to it must not reach its neighbour.
	to.Content = c.lists[start:end:end]
	for i, child := range n.Content {
		to.Content[i] = c.copy(child)
	}
	return to
}

func count(n *yaml.Node) (nodes int, aliases bool) {
	if n == nil {
		return 1, false
	}
	nodes, aliases = 1, n.Kind == yaml.AliasNode
	for _, c := range n.Content {
		cn, ca := count(c)
		nodes += cn
		aliases = aliases || ca
	}
	return nodes, aliases
}

// HasAlias says whether an alias stands anywhere in a tree.
func HasAlias(n *yaml.Node) bool {
	if n == nil {
		return false
	}
	if n.Kind == yaml.AliasNode {
		return true
	}
	for _, c := range n.Content {
		if HasAlias(c) {
			return true
		}
	}
	return false
}
