package wire

import (
	"crypto/x509"
	"sync"
	"sync/atomic"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

var bundled atomic.Bool

// TrustBundle has the certificates count that come with the program where the system has
// none, as in its image. A door of a program calls it that brings no others. They are read
// before the first request: that takes longer than the start of a command that makes none.
func TrustBundle() { bundled.Store(true) }

var trustBundle = sync.OnceFunc(func() {
	roots := x509.NewCertPool()
	for root := range bundle.Roots() {
		if c, err := x509.ParseCertificate(root.Certificate); err == nil {
			roots.AddCertWithConstraint(c, root.Constraint)
		}
	}
	x509.SetFallbackRoots(roots)
})
