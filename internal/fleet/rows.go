package fleet

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/reconcile"
	"github.com/variform/variform/internal/review"
)

// A Row is the variants that a screen shows in one line: those of one set with the same
// action.
type Row struct {
	Set    string // the package's name where no set made the variants
	Action decide.Action
	Names  []string // of the variants, repository/package, each once, in the plan's order
}

// A Reason is why variants of a set have their action.
type Reason struct {
	Set   string
	Text  string   // as of the first variant
	Names []string // as in Row; nil means all of the set's rows
}

// Rows groups items by set and action, and finds the reasons of each set: messages that
// differ in the variants' own names alone are one reason. Errors are none: they are told
// by themselves. Both are sorted by set, and otherwise in the order of the items.
func Rows(items []*reconcile.Item) ([]Row, []Reason) {
	type rowKey struct {
		set    string
		action decide.Action
	}
	type reasonKey struct{ set, cause string }
	rows, reasons := map[rowKey]*Row{}, map[reasonKey]*Reason{}
	var rowOrder []*Row
	var reasonOrder []*Reason
	of := map[string]map[string]bool{} // names of each set
	for _, i := range items {
		set, name := cmp.Or(i.Set, path.Base(i.Package)), i.Identity.String()
		if of[set] == nil {
			of[set] = map[string]bool{}
		}
		of[set][name] = true
		key := rowKey{set, actionOf(i)}
		if rows[key] == nil {
			rows[key] = &Row{Set: set, Action: key.action}
			rowOrder = append(rowOrder, rows[key])
		}
		rows[key].Names = addName(rows[key].Names, name)
		if i.Err != nil {
			continue
		}
		for _, text := range ReasonsOf(i) {
			cause := reasonKey{set, review.Cause(text, i.Aliases())}
			if reasons[cause] == nil {
				reasons[cause] = &Reason{Set: set, Text: text}
				reasonOrder = append(reasonOrder, reasons[cause])
			}
			reasons[cause].Names = addName(reasons[cause].Names, name)
		}
	}
	var outRows []Row
	for _, r := range rowOrder {
		outRows = append(outRows, *r)
	}
	var outReasons []Reason
	for _, r := range reasonOrder {
		if len(r.Names) == len(of[r.Set]) {
			r.Names = nil
		}
		outReasons = append(outReasons, *r)
	}
	slices.SortStableFunc(outRows, func(a, b Row) int { return strings.Compare(a.Set, b.Set) })
	slices.SortStableFunc(outReasons, func(a, b Reason) int { return strings.Compare(a.Set, b.Set) })
	return outRows, outReasons
}

// actionOf is what a row shows of an item: a revision that approve refuses comes first.
func actionOf(i *reconcile.Item) decide.Action {
	if len(i.Invalid) > 0 && i.Err == nil && Open(i) {
		return decide.Action(strings.TrimSuffix(decide.DoesNotValidate, ": "))
	}
	return i.Action
}

// ReasonsOf returns the reasons of an item, with those that keep its open revision from
// being valid, proved, and its gates from being met.
func ReasonsOf(i *reconcile.Item) []string {
	out := slices.Clone(i.Reasons)
	for _, what := range i.Invalid {
		out = append(out, decide.DoesNotValidate+what)
	}
	p := i.Proof
	if p == nil {
		return out
	}
	if p.Why != "" && !i.Action.Pending() && !strings.Contains(strings.Join(out, "; "), p.Why) { // else the reasons have it
		out = append(out, p.Why)
	}
	if len(p.Unmet) > 0 {
		out = append(out, "gates not met: "+decide.GateTypes(p.Unmet))
	}
	return out
}

// addName adds a name that is not the last one: items of one variant follow each other.
func addName(names []string, name string) []string {
	if n := len(names); n > 0 && names[n-1] == name {
		return names
	}
	return append(names, name)
}
