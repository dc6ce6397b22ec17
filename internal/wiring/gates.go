package wiring

import (
	"errors"

	"github.com/variform/variform/internal/krm"
)

// ConditionPrefix begins the type of each gate's condition, followed by its
// name, as the injector's config.injection does.
const ConditionPrefix = "config.wiring."

// The reasons of a condition whose Gate has none.
const (
	ReasonWired = "ValueWired" // status True
	ReasonWaits = "ValueWaits" // status False
)

// Gate is a value that a package needs before it is ready.
type Gate struct {
	Name            string // the parameter's
	Met             bool
	Reason, Message string // of the condition; an empty reason is ReasonWired or ReasonWaits
}

// SetGates makes gates the only ones of wiring in the root Kptfile: a condition
// and a readiness gate each, at their place by type. Those of earlier runs that
// are not among them go; nothing else moves. With none and none there before it
// changes nothing.
func SetGates(p *krm.Package, gates []Gate) error { return errors.ErrUnsupported }
