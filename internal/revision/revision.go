// Package revision says what the text of an upstream's revision means: which
// rules are tried, in which order, over the tags, branches and commits of a Git
// repository as over the tags and digests of a registry. It is pure; a store of
// packages gives the names that it has (Names), and gets back where the text
// leads, or why nowhere.
//
// No text is read as a range of versions that can be a name: a range has an
// operator, a star, or an x in the place of a number.
package revision

import (
	"context"
	"strconv"
	"strings"

	"github.com/variform/variform/internal/lazyregexp"
)

// Query names a revision of a package. With both, Revision decides; with
// neither, it is the latest Published.
type Query struct{ Revision, Workspace string }

// Rule is one way of finding a revision.
type Rule string

// The rules.
const (
	RuleLatest     Rule = "latest"            // nothing asked, or latest where no name is that: the highest Published
	RuleWorkspace  Rule = "workspace"         // workspaceName
	RuleRegistered Rule = "registered branch" // -1: the registered branch's content, as Porch numbers it
	RuleRevision   Rule = "revision"          // N or vN: the Published revision N
	RulePackageTag Rule = "package tag"       // tag <package>/<revision>
	RuleTag        Rule = "tag"               // tag <revision>
	RuleBranch     Rule = "branch"            // branch <revision>
	RuleCommit     Rule = "commit"            // commit, whole or abbreviated
	RuleDigest     Rule = "digest"            // sha256:…
	RuleRange      Rule = "range"             // semver range over the package's tags
)

// Cascade is the rules for a revision's text in the order in which they are
// tried, and what a user calls the names that they look for.
type Cascade struct {
	Rules []Rule
	Names string
}

// The cascades.
var (
	// Git is that of Git repositories.
	Git = Cascade{[]Rule{RuleRegistered, RuleRevision, RulePackageTag, RuleTag, RuleBranch, RuleCommit, RuleLatest, RuleRange}, "tag, branch or commit"}
	// Registry is that of OCI registries.
	Registry = Cascade{[]Rule{RuleRevision, RuleTag, RuleDigest, RuleLatest, RuleRange}, "tag or digest"}
)

// Names is what a store knows of one package; T is where a name leads. Its
// answers must not change while Find runs.
type Names[T any] interface {
	// Look finds what one rule says: text is the workspace for RuleWorkspace, the
	// number in digits for RuleRevision, one of Versions' tags for RuleRange, ""
	// for RuleLatest, else the revision as it was written. ok is false where there
	// is none; an error ends the search.
	Look(ctx context.Context, rule Rule, text string) (at T, ok bool, err error)
	// Versions are the tags that are whole semantic versions; where there are none,
	// the Published revisions (Published).
	Versions(ctx context.Context) ([]Version, error)
	// None is the error for a query that no rule answers; reason says why, and
	// there, where it is not nil, what was to be had instead.
	None(ctx context.Context, reason string, there []string) error
}

// Find is where a query leads, and by which rule.
func Find[T any](ctx context.Context, q Query, c Cascade, names Names[T]) (at T, rule Rule, err error) {
	q.Revision, q.Workspace = strings.TrimSpace(q.Revision), strings.TrimSpace(q.Workspace)
	switch {
	case q.Revision != "":
		return find(ctx, q.Revision, c, names)
	case q.Workspace != "":
		return look(ctx, RuleWorkspace, q.Workspace, names, "it has no such workspace")
	}
	return look(ctx, RuleLatest, "", names, "no revision of it is Published")
}

func find[T any](ctx context.Context, text string, c Cascade, names Names[T]) (at T, rule Rule, err error) {
	for _, rule := range c.Rules {
		asked, fits := form(rule, text)
		if !fits {
			continue
		}
		if rule == RuleRange {
			return inRange(ctx, text, c, names)
		}
		if at, ok, err := names.Look(ctx, rule, asked); ok || err != nil {
			return at, rule, err
		}
	}
	return at, "", names.None(ctx, c.reason(text), nil)
}

func look[T any](ctx context.Context, rule Rule, text string, names Names[T], reason string) (T, Rule, error) {
	at, ok, err := names.Look(ctx, rule, text)
	if !ok && err == nil {
		err = names.None(ctx, reason, nil)
	}
	return at, rule, err
}

// reason says why a text is no name of anything.
func (c Cascade) reason(text string) string {
	switch {
	case c.has(RuleCommit) && commitForm.MatchString(text):
		return "no tag or branch has that name, and no known commit begins so"
	case c.has(RuleDigest) && digestForm.MatchString(text):
		return "there is no such digest"
	case c.has(RuleDigest) && strings.Contains(text, ":"):
		return "a digest is written sha256: and 64 hexadecimal digits, in lower case"
	case c.has(RuleDigest):
		return "there is no such tag (branches and commits are Git's: a registry has tags and digests)"
	}
	return "no " + c.Names + " has that name"
}

func (c Cascade) has(rule Rule) bool {
	for _, r := range c.Rules {
		if r == rule {
			return true
		}
	}
	return false
}

var (
	commitForm = lazyregexp.New(`^[0-9a-fA-F]{4,40}$`)
	digestForm = lazyregexp.New(`^sha256:[0-9a-f]{64}$`)
	// rangeForm: an operator, a star, or an x in the place of a number.
	rangeForm = lazyregexp.New(`[<>=!~^|,*]|\s-\s|(?:^|[.v\s])[xX](?:$|[.\s])`)
)

// form says whether a rule could take a text, and what it is to look for.
func form(rule Rule, text string) (asked string, fits bool) {
	switch rule {
	case RuleRegistered:
		return text, text == "-1"
	case RuleRevision:
		n, ok := Number(text)
		return strconv.Itoa(n), ok && n > 0
	case RuleCommit:
		return text, commitForm.MatchString(text)
	case RuleDigest:
		return text, digestForm.MatchString(text)
	case RuleLatest:
		return "", text == "latest"
	case RuleRange:
		return text, IsRange(text)
	default:
		return text, true
	}
}

// Number is N of a revision written as N or vN, without leading zeros. Porch
// numbers the registered branch's own content -1.
func Number(text string) (int, bool) {
	digits := strings.TrimPrefix(text, "v")
	n, err := strconv.Atoi(digits)
	return n, err == nil && strconv.Itoa(n) == digits
}

// IsRange says whether a text is read as a range of semantic versions.
func IsRange(text string) bool { return rangeForm.MatchString(text) }
