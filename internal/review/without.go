package review

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/yamltree"
)

// ErrNoEdit says that no edit has a name.
var ErrNoEdit = errors.New("no edit is called that")

// Name returns the name of an edit that no other edit of its package has: its file, and
// its resource and field.
func (e Edit) Name() string { return e.File + " " + e.what() }

// Called finds the one edit that a name means: its resource and field, "Deployment
// web spec.replicas", with the file before that where two have it, or a file, a
// field or a resource that one edit alone is about.
func Called(edits []Edit, name string) (Edit, error) {
	var found, all []string
	var the Edit
	for _, e := range edits {
		all = append(all, e.what())
		if slices.Contains([]string{e.what(), e.Name(), e.File, e.Field, e.Resource}, name) && name != "" {
			found, the = append(found, e.Name()), e
		}
	}
	switch len(found) {
	case 0:
		return the, fmt.Errorf("%q: %w; there is: %s", name, ErrNoEdit, strings.Join(all, "; "))
	case 1:
		return the, nil
	}
	return the, fmt.Errorf("%q may mean each of: %s", name, strings.Join(found, "; "))
}

// Without is the package after with some of its edits taken back, of those that
// Edits(before, after) lists. Nothing else changes, or it is an error.
func Without(before, after *krm.Package, edits ...Edit) (*krm.Package, error) {
	want, err := Edits(before, after)
	if err != nil {
		return nil, err
	}
	want = slices.DeleteFunc(want, func(e Edit) bool { return slices.Contains(edits, e) })
	out := after.Clone()
	for _, e := range edits {
		if err := takeBack(before, out, e); err != nil {
			return nil, fmt.Errorf("%s %s: %w", e.File, e.what(), err)
		}
	}
	for _, e := range edits {
		// Where nothing is left of a file's edits it is what it was, to the byte.
		old, had := before.Read(e.File)
		if had && !slices.ContainsFunc(want, func(o Edit) bool { return o.File == e.File }) {
			out.Write(old)
		}
	}
	if err := out.Reread(); err != nil { // a comment may be in the text still
		return nil, err
	}
	have, err := Edits(before, out)
	if err == nil && !slices.Equal(have, want) {
		err = fmt.Errorf("%s %s: %w", edits[0].File, edits[0].what(), errTogether)
	}
	return out, err
}

// errTogether says that an edit is bound up with another one.
var errTogether = errors.New("it cannot be taken back without changing another edit: change it by hand")

func takeBack(before, out *krm.Package, e Edit) error {
	if e.Resource == "" || e.Op == Comment && e.Field == "" {
		restore(before, out, e)
		return nil
	}
	was, is := resourceOf(before, e), resourceOf(out, e)
	switch {
	case e.Op == Remove && e.Field == "" && was != nil:
		out.Add(e.File, yaml.NewRNode(yamltree.Copy(was.Node().YNode())))
		return nil
	case is == nil:
		return errTogether
	case e.Op == Add && e.Field == "":
		is.Delete()
		return nil
	case e.Op == Move:
		is.Move(e.Before)
		return nil
	case was == nil:
		return errTogether
	}
	is.WriteComments()
	return setBack("", e, was.Node().YNode(), is.Edit().YNode(), nil)
}

// restore gives a file its content or its mode back.
func restore(before, out *krm.Package, e Edit) {
	old, had := before.Read(e.File)
	now, _ := out.Read(e.File)
	switch {
	case e.Op == Mode && old.Mode != krm.Symlink && now.Mode != krm.Symlink:
		if now.Mode = krm.Regular; had {
			now.Mode = old.Mode
		}
		out.Write(now)
	case had:
		out.Write(old)
	default:
		out.Remove(e.File)
	}
}

// resourceOf is the resource that an edit is about, in its file or in another.
func resourceOf(p *krm.Package, e Edit) (found *krm.Resource) {
	for _, r := range p.Resources() {
		switch {
		case title(r) != e.Resource || r.ID() != e.ID:
		case r.Path() == e.File:
			return r
		case found == nil:
			found = r
		}
	}
	return found
}

// setBack gives the field of b that an edit changed the value that a has. It is an
// error where there is no such field. It goes down as the walker does; put replaces b.
func setBack(field string, e Edit, a, b *yaml.Node, put func(*yaml.Node)) error {
	a, b = yamltree.Deref(a), yamltree.Deref(b)
	switch {
	case field == e.Field && put != nil:
		put(a)
		return nil
	case !strings.HasPrefix(e.Field, field) || b == nil:
		return errTogether
	case b.Kind == yaml.MappingNode && (a == nil || a.Kind == yaml.MappingNode):
		return setBackIn(field, e, a, b)
	case b.Kind == yaml.SequenceNode && a != nil && a.Kind == yaml.SequenceNode:
		return setBackItem(field, e, a, b)
	}
	return errTogether
}

func setBackIn(field string, e Edit, a, b *yaml.Node) error {
	old, order := entriesOf(a), []string{}
	for k := range yamltree.Fields(a) {
		order = append(order, k.Value)
	}
	for k, v := range yamltree.Fields(b) {
		was, _ := old.of(k.Value)
		if at := yamltree.JoinField(field, k.Value); at == e.Field && e.Op == Comment {
			k.HeadComment, k.LineComment, k.FootComment = was.key.HeadComment, was.key.LineComment, was.key.FootComment
			v.HeadComment, v.LineComment, v.FootComment = was.value.HeadComment, was.value.LineComment, was.value.FootComment
			return nil
		} else if err := setBack(at, e, was.value, v, func(n *yaml.Node) {
			if n == nil {
				yamltree.Remove(b, k.Value)
				return
			}
			b.Content[yamltree.Index(b, k.Value)+1] = yamltree.Copy(n)
		}); err == nil {
			return nil
		}
	}
	for _, key := range order {
		if yamltree.JoinField(field, key) == e.Field {
			was, _ := old.of(key)
			yamltree.Set(b, order, key, yamltree.Copy(was.value))
			return nil
		}
	}
	return errTogether
}

func setBackItem(field string, e Edit, a, b *yaml.Node) error {
	key := yamltree.ListKey(a, b)
	name := func(i int, n *yaml.Node) string {
		if key == "" {
			return field + "[" + strconv.Itoa(i) + "]"
		}
		return field + "[" + key + "=" + yamltree.ItemID(n, key) + "]"
	}
	old := map[string]*yaml.Node{}
	for i, n := range a.Content {
		old[name(i, n)] = n
	}
	for i, n := range b.Content {
		if err := setBack(name(i, n), e, old[name(i, n)], n, func(was *yaml.Node) {
			if was == nil {
				b.Content = slices.Delete(b.Content, i, i+1)
				return
			}
			b.Content[i] = yamltree.Copy(was)
		}); err == nil {
			return nil
		}
	}
	for i, n := range a.Content {
		if name(i, n) == e.Field {
			b.Content = slices.Insert(b.Content, min(i, len(b.Content)), yamltree.Copy(n))
			return nil
		}
	}
	return errTogether
}
