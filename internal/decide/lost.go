package decide

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/count"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/merge"
)

// LostEdit is an edit by hand that updates of an open revision replaced, so that
// publishing the revision loses it.
type LostEdit struct {
	File     string `json:"file"`
	Resource string `json:"resource,omitempty"` // kind.group/namespace/name
	Field    string `json:"field,omitempty"`    // "" for all of the resource or file
	// Was is the edit's value and Now what the revision has, "" for nothing.
	Was string `json:"was,omitempty"`
	Now string `json:"now,omitempty"`
	// By is the edit's author with the commit, "" where that is not known.
	By string `json:"by,omitempty"`
	// Instead names where to make the edit, because the variant or its pipeline sets
	// the field; "" for most.
	Instead string `json:"instead,omitempty"`

	id krm.ID
}

// Update is one update of an open revision.
type Update struct {
	// Conflicts are the edits by hand that it met, and what became of them.
	Conflicts []merge.Conflict
	// Package is what the revision holds now, nil where that is not made yet.
	Package *krm.Package
}

// LostEdits returns the edits by hand that updates of an open revision, the newest first,
// replaced and that the revision still lacks. Of one place the newest update counts. An
// edit that people took back on the registered branch is not lost: branch is the package
// there, nil where that is not known, and made returns who made a conflict's edit, and
// whether on that branch. The newest update has compared the branch itself.
func LostEdits(updates []Update, branch *krm.Package, made func(merge.Conflict) (by string, onBranch bool)) []LostEdit {
	type place struct {
		file, field string
		id          krm.ID
	}
	decided := map[place]bool{}
	var out []LostEdit
	for n, u := range updates {
		var places []place
		for _, last := range u.Conflicts {
			at := place{last.Path, last.Field, last.Resource}
			places = append(places, at)
			if decided[at] || !last.LosesEdit() {
				continue
			}
			c, n := replaced(updates, n, last)
			now, known := c.In(u.Package)
			if !c.LosesEdit() || known && now == c.Local || isMachines(c, u.Package) || isAddition(c, u.Package) {
				continue
			}
			by, onBranch := made(c)
			if there, told := c.In(branch); n > 0 && onBranch && told && there != c.Local {
				continue
			}
			l := LostEdit{File: c.Path, Field: c.PlainField(), Was: c.Local, Now: last.Upstream, By: by, Instead: last.Instead, id: c.Resource}
			if c.Resource != (krm.ID{}) {
				l.Resource = c.Resource.String()
			}
			if known {
				l.Now = now
			}
			out = append(out, l)
		}
		for _, at := range places {
			decided[at] = true
		}
	}
	return out
}

// replaced returns the conflict in which the edit was replaced that update n has a conflict
// about, and the number of its update: where an earlier update put the value there that
// this one replaced, nobody edited it in between.
func replaced(updates []Update, n int, c merge.Conflict) (first merge.Conflict, at int) {
	for i := n + 1; i < len(updates); i++ {
		j := slices.IndexFunc(updates[i].Conflicts, c.SamePlace)
		if j < 0 {
			continue
		}
		earlier := updates[i].Conflicts[j]
		if earlier.Winner != merge.Upstream || earlier.Upstream != c.Local {
			break
		}
		c, n = earlier, i
	}
	return c, n
}

// isMachines reports whether a conflict is about a field that is the machine's in every
// merge: nobody edits it. The machine's gates return where a person deleted all of info.
func isMachines(c merge.Conflict, p *krm.Package) bool {
	if c.Resource.Kind != kptfilev1.KptFileKind {
		return false
	}
	if c.Field == "info" && c.Local == "" {
		info, _ := yaml.Parse(c.Upstream)
		if p != nil && p.Kptfile(path.Dir(c.Path)) != nil {
			info, _ = p.Kptfile(path.Dir(c.Path)).Node().Pipe(yaml.Lookup("info"))
		}
		fields, err := info.Fields()
		return err == nil && slices.Equal(fields, []string{"readinessGates"})
	}
	for _, field := range []string{"upstreamLock", "status", "info.readinessGates"} {
		rest, ok := strings.CutPrefix(c.Field, field)
		if ok && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			return true
		}
	}
	return false
}

// isAddition reports whether a conflict is about a resource that a person added and in
// which the machine set fields: the resource is still there.
func isAddition(c merge.Conflict, p *krm.Package) bool {
	if c.Fate != merge.Overruled && c.Fate != merge.Lost || c.Resource == (krm.ID{}) || c.Field != "" || c.Local == "" {
		return false
	}
	if p == nil {
		return c.Fate == merge.Overruled && c.Upstream != ""
	}
	return slices.ContainsFunc(p.Resources(), func(r *krm.Resource) bool { return r.ID() == c.Resource })
}

// Of reports whether the edit is lost by a conflict.
func (l LostEdit) Of(c merge.Conflict) bool {
	return l.File == c.Path && l.id == c.Resource && l.Field == c.PlainField()
}

// ID is the resource's, the zero value for a file.
func (l LostEdit) ID() krm.ID { return l.id }

// String describes the edit: "spec.replicas 9 → 3 (by Ann) of Deployment web".
func (l LostEdit) String() string {
	text := cmp.Or(l.Field, l.File)
	of := ""
	if l.id != (krm.ID{}) {
		if of = strings.TrimSpace(l.id.Kind + " " + strings.TrimPrefix(l.id.Namespace+"/"+l.id.Name, "/")); l.Field == "" {
			text, of = of, ""
		}
	} else if l.Field != "" {
		of = l.File
	}
	text += fmt.Sprintf(" %s → %s", orNothing(l.Was), orNothing(l.Now))
	if by, _, _ := strings.Cut(l.By, " ("); by != "" {
		text += " (by " + by + ")"
	}
	if of != "" {
		text += " of " + of
	}
	return text
}

func orNothing(value string) string { return cmp.Or(value, "(none)") }

// Loses describes lost edits in one line, "" for none.
func Loses(list []LostEdit) string {
	if len(list) == 0 {
		return ""
	}
	texts := make([]string, len(list))
	for i, l := range list {
		texts[i] = l.String()
	}
	return fmt.Sprintf("loses %s: %s", count.Of(len(list), "edit"), strings.Join(Limit(texts, maxLost), ", "))
}

// maxLost bounds how many lost edits one line describes.
const maxLost = 5

// RefuseLost refuses to publish revisions that lose edits by hand. It accepts those
// that a person saw as members of a class, which shows the loss, and with accept all.
func RefuseLost(list []*Candidate, accept bool) {
	for _, c := range list {
		if c.Err == nil && c.From.Open() && len(c.Lost) > 0 && c.Class == "" && !accept {
			c.Err = fmt.Errorf("%s: run review and approve the class ID that shows it, or add --accept-lost; to keep the edit, run edits keep %s", Loses(c.Lost), c.Identity)
		}
	}
}
