package fleet

import (
	"errors"
	"fmt"
	"strings"

	"github.com/variform/variform/internal/count"
	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/lazyregexp"
	"github.com/variform/variform/internal/reconcile"
	"github.com/variform/variform/variantgen"
)

// A Cause is what is wrong beside single variants, said once: a set's field that fails
// for each of its targets is one.
type Cause struct {
	Err  error    // of the first target
	More []string // the other targets that it is the same for
}

// Causes are those of a plan, in its order.
func Causes(p *reconcile.Plan) []Cause {
	all := p.Problems
	for _, s := range p.Sets {
		all = append(all[:len(all):len(all)], s.Failures...)
	}
	var out []Cause
	type target struct{ namespace, set, field, cause string }
	first := map[target]int{}
	for _, err := range all {
		var f variantgen.Failure
		if errors.As(err, &f) && f.Set != "" && f.Description != "" {
			at := target{f.Namespace, f.Set, f.Field, f.Cause()}
			if i, ok := first[at]; ok {
				out[i].More = append(out[i].More, entry(f.Description))
				continue
			}
			first[at] = len(out)
		}
		out = append(out, Cause{Err: err})
	}
	return out
}

// entry is what a target's description says in brackets: which of its entries it is.
func entry(description string) string {
	if _, in, ok := strings.Cut(description, " ("); ok {
		return strings.TrimSuffix(in, ")")
	}
	return description
}

// With is a message about the first target, and the others that it is the same for.
func (c Cause) With(message string) string {
	if len(c.More) == 0 {
		return message
	}
	return fmt.Sprintf("%s; the same for %s: %s", message, count.Of(len(c.More), "more target"), strings.Join(decide.Limit(c.More, 3), "; "))
}

// atLine is the file and line that a problem begins with.
var atLine = lazyregexp.New(`^(\S+:[0-9]+): `)

// OncePerText makes one of problems that differ in the file and line alone, in the order of
// the first of each.
func OncePerText(problems []string) []string {
	var out []string
	first, more := map[string]int{}, map[int][]string{}
	for _, p := range problems {
		at := atLine.Regexp().FindStringSubmatch(p)
		if at == nil {
			out = append(out, p)
			continue
		}
		text := strings.TrimPrefix(p, at[0])
		if n, seen := first[text]; seen {
			more[n] = append(more[n], at[1])
			continue
		}
		first[text] = len(out)
		out = append(out, p)
	}
	for n, places := range more {
		out[n] += "; the same at " + strings.Join(decide.Limit(places, 3), ", ")
	}
	return out
}
