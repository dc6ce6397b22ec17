package decide

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	variformv1alpha1 "github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/internal/check"
	"github.com/variform/variform/internal/krm"
)

// KubernetesOf is the version of Kubernetes that the target of a Repository runs, "" where its
// annotation does not have it.
func KubernetesOf(r *Repository) string {
	for _, word := range words(r.Annotations[variformv1alpha1.PlatformAnnotation]) {
		if version, ok := strings.CutPrefix(word, "kubernetes="); ok {
			return version
		}
	}
	return ""
}

// Finding is what Kubernetes would refuse of a resource.
type Finding = check.Finding

// Validator checks packages. Its zero value is one of a fleet that gives no severities; it is safe
// for concurrent use.
type Validator struct {
	// Checks are the severities that the fleet gives.
	Checks map[string]string

	cache check.Cache
}

// Check returns what Kubernetes would refuse of a package, and nothing if the repository is no
// deployment. published is the package that is live now, nil for none.
func (v *Validator) Check(r *Repository, p, published *krm.Package) []Finding {
	if !r.Deployment || p == nil {
		return nil
	}
	o := check.Options{Kubernetes: KubernetesOf(r), Cache: &v.cache}
	found := check.Resources(p, o).Findings
	if len(found) == 0 {
		return nil
	}
	var before []Finding
	if published != nil {
		before = check.Resources(published, o).Findings
	}
	return Weigh(found, before, v.Checks, o.Kubernetes != "")
}

// Weigh gives findings their severities; checks has those that a fleet gives, and stated is true
// where the version of Kubernetes is known. One that is Published already, in the same field of a
// resource, is a warning: it is deployed, and an update does not have to correct it. A name may
// differ, and the place in a list; then as many stay warnings as there were.
func Weigh(findings, published []Finding, checks map[string]string, stated bool) (out []Finding) {
	type place struct{ check, kind, name, field string }
	exact := func(f Finding) place { return place{f.Check, f.Kind, f.Name, f.Field} }
	loose := func(f Finding) place {
		return place{check: f.Check, kind: f.Kind, field: unindexed(f.Field)}
	}
	there, left := map[place]int{}, map[place]int{}
	for _, f := range published {
		there[exact(f)]++
		left[loose(f)]++
	}
	for _, f := range findings {
		if f.Severity = check.SeverityOf(f.Check, checks, stated); f.Severity == check.Off {
			continue
		}
		if there[exact(f)] > 0 {
			there[exact(f)]--
			left[loose(f)]--
			f.Severity = check.Warning
		}
		out = append(out, f)
	}
	for i, f := range out {
		if f.Severity == check.Error && left[loose(f)] > 0 {
			left[loose(f)]--
			out[i].Severity = check.Warning
		}
	}
	return out
}

// unindexed is a field without its places in lists.
func unindexed(field string) string {
	for {
		before, after, found := strings.Cut(field, "[")
		_, after, closed := strings.Cut(after, "]")
		if !found || !closed {
			return field
		}
		field = before + after
	}
}

// Invalid describes the errors among findings, each once: what several resources have in common
// is one.
func Invalid(findings []Finding) (out []string) {
	for _, f := range findings {
		if f.Severity == check.Error {
			out = append(out, mistake(f))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// mistake has no name and no line: those differ between variants.
func mistake(f Finding) string {
	return strings.Join(strings.Fields(f.Kind+": "+f.Text()+" ("+f.Check+")"), " ")
}

// betweenInvalid separates what a commit's trailer has of Invalid.
const betweenInvalid = " | "

// InvalidTrailer is the trailer of a Draft's commit for its findings, "" for no errors.
func InvalidTrailer(findings []Finding) string {
	return strings.Join(Limit(Invalid(findings), maxLost), betweenInvalid)
}

// Invalid are the errors in the trailer of the machine's commit. Nobody relies on it: approve checks
// the content.
func (r *Revision) Invalid() []string {
	if r == nil || !r.Phase.Open() || !r.Made() || r.Machine.Invalid == "" {
		return nil
	}
	return strings.Split(r.Machine.Invalid, betweenInvalid)
}

// DoesNotValidate begins each description of an error for people.
const DoesNotValidate = "does not validate: "

// NotValid is why a revision with these errors may not be published unseen, "" without errors.
func NotValid(invalid []string) string {
	if len(invalid) == 0 {
		return ""
	}
	return "it " + DoesNotValidate + strings.Join(invalid, "; ") + ": correct the package, or approve it with --exempt and --reason"
}

// RefuseInvalid refuses to publish errors, except for the checks that a person exempts with a
// reason.
func RefuseInvalid(list []*Candidate, exempt []string, reason string) {
	where := places(list)
	for _, c := range list {
		var used []string
		for _, f := range c.Findings {
			switch {
			case c.Err != nil || f.Severity != check.Error:
			case slices.Contains(exempt, f.Check):
				used = append(used, f.Check)
			default:
				c.Err = fmt.Errorf("it %s%s%s: correct the package, or add --exempt %s --reason TEXT", DoesNotValidate, where[mistake(f)], mistake(f), f.Check)
			}
		}
		if c.Err == nil && len(used) > 0 {
			c.Exempt = Exempts(used, reason)
		}
	}
}

// places returns where each mistake is, as "a.yaml:3: ". If candidates have it at different lines
// or in different files, that part is left out, so that all have the same error.
func places(list []*Candidate) map[string]string {
	file, line := map[string]string{}, map[string]string{}
	same := func(m map[string]string, key, value string) {
		if was, seen := m[key]; seen && was != value {
			value = ""
		}
		m[key] = value
	}
	for _, c := range list {
		own := map[string]bool{}
		for _, f := range c.Findings {
			if key := mistake(f); !own[key] { // its first
				own[key] = true
				same(file, key, f.File+": ")
				same(line, key, fmt.Sprintf("%s:%d: ", f.File, f.Line))
			}
		}
	}
	for key := range file {
		file[key] = cmp.Or(line[key], file[key])
	}
	return file
}

// Exempts is the trailer of an approval for checks that a person leaves aside.
func Exempts(checks []string, reason string) string {
	return strings.Join(slices.Compact(slices.Sorted(slices.Values(checks))), ", ") + ": " + strings.Join(strings.Fields(reason), " ")
}

// ExemptOf is the trailer of what a Rollout publishes, "" for none.
func ExemptOf(r *variformv1alpha1.Rollout) string {
	return r.Annotations[variformv1alpha1.ExemptAnnotation]
}

// ExemptBefore describes from which checks the latest Published revision was exempted, and why;
// "" where it was not.
func ExemptBefore(p *Package) string {
	if p.Latest == nil || p.Latest.Machine == nil || !p.Latest.Machine.Approval || p.Latest.Machine.Exempt == "" {
		return ""
	}
	return fmt.Sprintf("%s was exempted from %s", RevisionName(p.Latest.Number), p.Latest.Machine.Exempt)
}
