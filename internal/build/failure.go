package build

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"slices"
	"strings"

	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/gitrepo"
	"github.com/variform/variform/internal/ocirepo"
	"github.com/variform/variform/internal/render"
	"github.com/variform/variform/internal/wire"
)

// maxFailure bounds what is remembered of a failure.
const maxFailure = 1000

// memorable is what the record may say of a failure: that of what went in, in a
// bounded text, without what context objects hold. It is "" where another try may
// do: a server was not there, time ran out.
func (m *maker) memorable(err error) string {
	var here *render.UnavailableError
	for _, kind := range []error{context.Canceled, context.DeadlineExceeded, gitrepo.ErrAuth, ocirepo.ErrAuth} {
		if errors.Is(err, kind) {
			return ""
		}
	}
	if !decide.IsStalled(err) || wire.IsSlow(err) || errors.As(err, &here) && here.Passing {
		return ""
	}
	return bounded(m.hidden(err.Error()))
}

func bounded(text string) string {
	text = strings.TrimSpace(strings.ToValidUTF8(text, ""))
	if len(text) <= maxFailure {
		return text
	}
	return strings.ToValidUTF8(text[:maxFailure], "") + "…"
}

// shortest is the length of the shortest text that is taken out of a message:
// what is shorter tells nothing, and stands in every other word.
const shortest = 4

// hidden takes out of a message what was injected, and values of other packages.
func (m *maker) hidden(message string) string {
	words := m.Context.Texts(m.injected)
	if m.Wires != nil {
		for _, v := range m.Wires.values {
			words = append(words, v.Text)
		}
	}
	var out []string
	for _, w := range words {
		if plain, err := base64.StdEncoding.DecodeString(w); err == nil {
			out = append(out, strings.Split(string(plain), "\n")...)
		}
		out = append(out, strings.Split(w, "\n")...)
	}
	slices.SortFunc(out, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	for _, w := range out {
		if w = strings.TrimSpace(w); len(w) >= shortest {
			message = strings.ReplaceAll(message, w, "***")
		}
	}
	return message
}
