package review

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/variform/variform/internal/count"
)

// Digest is a run in the few things that a person must read: what to look at,
// in classes, and what changes, in classes. Markdown, GitHub and GitLab write
// it for the systems that people read it in.
type Digest struct {
	// Command is what ran: plan, apply or review.
	Command string `json:"command"`
	// Fleet is the management directory, for findings without a file.
	Fleet string `json:"fleet,omitempty"`
	// Source is that fleet at its commit.
	Source Source `json:"source,omitzero"`
	// Summary is one sentence over the run.
	Summary string `json:"summary"`
	// Findings are in the order of Kinds, each kind's smallest first.
	Findings []Finding `json:"findings,omitempty"`
	// Changes are what apply writes, or wrote; nil where that was not asked.
	Changes *Report `json:"changes,omitempty"`
}

// Kind is what a finding is about.
type Kind string

// The kinds of findings.
const (
	Deletion Kind = "deletion" // something goes, or changes hands
	Conflict Kind = "conflict" // an update loses an edit by hand
	Failure  Kind = "failure"  // could not be read or done
	Waiting  Kind = "waiting"  // a person must decide first
	Warning  Kind = "warning"
	Notice   Kind = "notice" // done without a change of content
)

// Kinds are all kinds, in the order in which they are read.
var Kinds = []Kind{Deletion, Conflict, Failure, Waiting, Warning, Notice}

// Finding is one thing to look at, and the variants that it is the same for.
type Finding struct {
	Kind Kind `json:"kind"`
	// ID is 12 hexadecimal digits over kind, message and file: it stays while
	// members come and go and lines move.
	ID string `json:"id"`
	// Message may have several lines. Where there are several members, their
	// own names in it are placeholders.
	Message string `json:"message"`
	// Members are the variants, sorted; none where it is about the fleet.
	Members []string `json:"members,omitempty"`
	// File is where the remedy begins, a slash-separated path from the folder
	// in which the command ran, and Line its line from 1; "" and 0 where unknown.
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
}

// Note is a finding about one variant, or about none.
type Note struct {
	Kind    Kind   `json:"kind"`
	Message string `json:"message"`
	Variant string `json:"variant,omitempty"`
	// Aliases are as in Change.
	Aliases map[string]string `json:"aliases,omitempty"`
	File    string            `json:"file,omitempty"`
	Line    int               `json:"line,omitempty"`
}

// Cause is what a message says of a variant when the variant's own names, as in
// Change.Aliases, are left aside: that of others is the same.
func Cause(message string, aliases map[string]string) string {
	return newNormaliser(aliases).message(message)
}

// Group makes one finding of the notes that say the same in one place, when
// the variants' own names are left aside.
func Group(notes []Note) []Finding {
	type key struct {
		kind          Kind
		message, file string
		line          int
		alone         bool
	}
	groups := map[key][]*Note{}
	for i := range notes {
		n := &notes[i]
		k := key{n.Kind, Cause(n.Message, n.Aliases), n.File, n.Line, n.Variant == ""}
		groups[k] = append(groups[k], n)
	}
	out := make([]Finding, 0, len(groups))
	for k, list := range groups {
		f := Finding{Kind: k.kind, ID: findingID(string(k.kind), k.message, k.file), Message: k.message, File: k.file, Line: k.line}
		members := map[string]bool{}
		for _, n := range list {
			if n.Variant != "" {
				members[n.Variant] = true
			}
		}
		if f.Members = slices.Sorted(maps.Keys(members)); len(f.Members) == 1 {
			f.Message = list[0].Message
		}
		out = append(out, f)
	}
	slices.SortFunc(out, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(slices.Index(Kinds, a.Kind), slices.Index(Kinds, b.Kind)), cmp.Compare(len(a.Members), len(b.Members)),
			slices.Compare(a.Members, b.Members), cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Message, b.Message))
	})
	// The same at several lines of a file: numbered in their order.
	seen := map[string]int{}
	for i := range out {
		id := out[i].ID
		if seen[id]++; seen[id] > 1 {
			out[i].ID = findingID(id, fmt.Sprint(seen[id]))
		}
	}
	return out
}

func findingID(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:])[:12]
}

// who counts a finding's members: "37 variants", or "the fleet".
func (f *Finding) who() string {
	if len(f.Members) == 0 {
		return "the fleet"
	}
	return count.Of(len(f.Members), "variant")
}

// named lists at most n names and counts the rest.
func named(names []string, n int) string {
	if len(names) <= n {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:n], ", ") + " and " + count.Of(len(names)-n, "more variant")
}
