package render

import (
	"path"
	"slices"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/yamltree"
)

// selected returns the resources that a function may see and change: those that its
// selectors choose, without its own functionConfig (docs/kpt.md#what-functions-write).
func (h *hydration) selected(n *pkgNode, s step, input []*krm.Resource) []*krm.Resource {
	chosen := selectResources(input, s.Selectors, s.Exclude)
	if s.ConfigPath == "" {
		return chosen
	}
	own := path.Join(n.dir, s.ConfigPath)
	return slices.DeleteFunc(chosen, func(res *krm.Resource) bool { return h.pkgDir[res] == n.dir && res.Path() == own })
}

// ownEntry is the entry of a Kptfile's pipeline that calls a mutator, and its list
// before the call.
type ownEntry struct {
	list []*yaml.Node // copies
	at   int
}

// entryOf returns the entry that calls a mutator; nil where the call cannot change the
// Kptfile, or an earlier function took the entry out.
func (h *hydration) entryOf(n *pkgNode, s step, call *Call) *ownEntry {
	kf := h.work.Kptfile(n.dir)
	if kf == nil || !slices.Contains(call.Selected, kf) {
		return nil
	}
	list := yamltree.Items(kf.Node().YNode(), "pipeline", s.Type)
	at := slices.IndexFunc(list, func(e *yaml.Node) bool { return yamltree.SameText(e, s.entry) })
	if s.Index < len(list) && (at < 0 || yamltree.SameText(list[s.Index], s.entry)) {
		at = s.Index
	}
	if at < 0 {
		return nil
	}
	e := &ownEntry{at: at}
	for _, n := range list {
		e.list = append(e.list, yaml.CopyYNode(n))
	}
	return e
}

// keep puts an entry back as it was if its own function changed it. Other entries stay
// as the function left them.
func (e *ownEntry) keep(kf *krm.Resource, kind string) {
	if e == nil || kf == nil {
		return
	}
	own := e.list[e.at]
	same := func(n *yaml.Node) bool { return yamltree.SameText(n, own) }
	list := yamltree.Items(kf.Node().YNode(), "pipeline", kind)
	if slices.ContainsFunc(list, same) {
		return
	}
	root := kf.Edit().YNode()
	pipeline := yamltree.Ensure(root, nil, "pipeline")
	if pipeline == nil {
		return
	}
	seq := yamltree.Child(pipeline, kind)
	if seq == nil || seq.Kind != yaml.SequenceNode {
		seq = yamltree.Seq()
		yamltree.Set(pipeline, nil, kind, seq)
	}
	if i := e.find(seq.Content); i >= 0 {
		seq.Content[i] = own
		return
	}
	seq.Content = slices.Insert(seq.Content, min(e.at, len(seq.Content)), own)
}

// find returns where the changed entry is in the list that its function left; -1 if the
// function removed the entry.
func (e *ownEntry) find(list []*yaml.Node) int {
	if len(list) == len(e.list) {
		return e.at
	}
	return slices.IndexFunc(list, func(n *yaml.Node) bool {
		other := slices.ContainsFunc(e.list, func(o *yaml.Node) bool { return yamltree.SameText(n, o) })
		return !other && calls(n) == calls(e.list[e.at])
	})
}

// calls is what tells the functions of a pipeline apart: name, image and program.
func calls(n *yaml.Node) [3]string {
	return [3]string{yamltree.Text(n, "name"), yamltree.Text(n, "image"), yamltree.Text(n, "exec")}
}
