package wiring

import "github.com/variform/variform/injector"

// Objects are context objects, by namespace. They are safe for concurrent use;
// nil holds none. Built once for a run, they read each object once.
type Objects struct{}

// NewObjects indexes the objects of an injector.Context, in their order.
func NewObjects(objects []injector.Object) *Objects { return &Objects{} }
