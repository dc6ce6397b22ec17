package resolver

import (
	"fmt"
	"strings"
)

// Kind says what sort of conflict there is.
type Kind string

// The kinds of conflicts.
const (
	// NoSolution is that requirements cannot hold together, or that no version meets one.
	NoSolution Kind = "NoSolution"
	// MissingDependency is that something is not there, where nothing may be installed.
	MissingDependency Kind = "MissingDependency"
	// MissingProvider is that an API is neither served nor provided.
	MissingProvider Kind = "MissingProvider"
	// MissingInstallation is that an installation which the user named does not exist.
	MissingInstallation Kind = "MissingInstallation"
	// InterfaceMismatch is that what the user chose lacks what is used of it.
	InterfaceMismatch Kind = "InterfaceMismatch"
	// InputNeeded is that the user has to choose; see [NeedsInputError].
	InputNeeded Kind = "NeedsInput"
	// InvalidDeclaration is that a package's own declaration is wrong.
	InvalidDeclaration Kind = "InvalidDeclaration"
	// InvalidRequest is that what was asked for, or said to be there, contradicts itself or names what is not there.
	InvalidRequest Kind = "InvalidRequest"
	// DanglingReference is wiring that reads what nothing sets.
	DanglingReference Kind = "DanglingReference"
	// SelfReference is wiring of a dependency to itself.
	SelfReference Kind = "SelfReference"
	// RootOutputAsSource is wiring of a dependency to an output of its parent.
	RootOutputAsSource Kind = "RootOutputAsSource"
	// Cycle is that packages, or their wiring, wait for one another.
	Cycle Kind = "Cycle"
	// OwnershipConflict is that one API would have two owners.
	OwnershipConflict Kind = "OwnershipConflict"
	// SearchLimit is that the search was given up: neither an answer was found, nor that there is none.
	SearchLimit Kind = "SearchLimit"
	// DigestMismatch is that a locked version is no longer what was locked.
	DigestMismatch Kind = "DigestMismatch"
)

// ConflictError says why there is no resolution.
type ConflictError struct {
	Kind Kind
	// Summary is one line; Reasons, one each, are what cannot hold together, and none of them can be left out;
	// Hints are what would help, each tried and found to.
	Summary string
	Reasons []string
	Hints   []Hint
	// Asked are the requests that take part in it, as [Installation.Ref] names what they ask for, sorted; nil where
	// that is not known.
	Asked []string
	// Moved are the versions that a [DigestMismatch] is about, each "package@version".
	Moved []string
}

// Hint is what would help.
type Hint struct {
	// Text says what to do; with a Field also what to write there.
	Text string
	// Field is one of what decides about the package that Of names, as [Installation.Ref] does, or about all that was
	// asked for, where Of is empty: [FieldDefaults] of a Catalog, the others of an Installation.
	Field, Of string
}

// The fields that hints name.
const (
	FieldOverrides       = "spec.dependencies.overrides"
	FieldAllowChanges    = "spec.dependencies.allowChanges"
	FieldSearchProviders = "spec.dependencies.searchProviders"
	FieldDefaults        = "spec.defaults"
)

// String is the hint in one line.
func (h Hint) String() string {
	switch {
	case h.Field == "":
		return h.Text
	case h.Field == FieldDefaults:
		return h.Text + " in " + h.Field + " of a Catalog"
	case h.Of == "":
		return h.Text + " in " + h.Field + " of all Installations of the target"
	}
	return h.Text + " in " + h.Field + " of the Installation of " + h.Of
}

// maxLines is how long an explanation may get: a screen.
const maxLines = 22

// Error is the whole explanation, a line each, a screen at most.
func (e *ConflictError) Error() string {
	lines := []string{e.Summary}
	room := maxLines - 1 - min(len(e.Hints), 4)
	for i, r := range e.Reasons {
		if i == room-1 && len(e.Reasons) > room {
			lines = append(lines, fmt.Sprintf("  and %d more", len(e.Reasons)-i))
			break
		}
		lines = append(lines, "  "+r)
	}
	for i, h := range e.Hints {
		if i == 3 && len(e.Hints) > 4 {
			lines = append(lines, fmt.Sprintf("hint: or one of %d more", len(e.Hints)-i))
			break
		}
		lines = append(lines, "hint: "+h.String())
	}
	return strings.Join(lines, "\n")
}

// NeededInput is a choice that a person has to make.
type NeededInput struct {
	Alias  string   `json:"alias"`
	Kind   string   `json:"kind"`
	Offers []string `json:"offers"`
}

// NeedsInputError says that there is no resolution until a person has chosen.
type NeedsInputError struct {
	Needs    []NeededInput
	Conflict *ConflictError
}

// Error lists the choices.
func (e *NeedsInputError) Error() string { return e.Conflict.Error() }

// Unwrap returns the explanation.
func (e *NeedsInputError) Unwrap() error { return e.Conflict }

// Event is the reason under which the conflict is reported as an event.
func (e *ConflictError) Event() string {
	switch e.Kind {
	case MissingDependency, MissingProvider:
		return "MissingDependencies"
	case OwnershipConflict:
		return "ConflictingOwners"
	}
	return string(e.Kind)
}
