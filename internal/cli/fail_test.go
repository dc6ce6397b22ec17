package cli

import (
	"bytes"
	"errors"
	"testing"
)

// Names of files in an error are text, for terminals and for runners.
func TestErrorsAreInert(t *testing.T) {
	var out bytes.Buffer
	a := &app{Streams: Streams{Err: &out}}
	a.fail("%v", errors.Join(errors.New("::stop-commands::x.yaml: bad"), errors.New("a\x1b[31m.yaml: ##[error]bad")))
	if want := "> ::stop-commands::x.yaml: bad\n  a<U+001B>[31m.yaml: ## [error]bad\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}
