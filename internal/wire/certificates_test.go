package wire

import (
	"crypto/x509"
	"net/http"
	"testing"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// TestTrustBundle holds that the certificates of the program count where the system's do
// not, from the first request on.
func TestTrustBundle(t *testing.T) {
	t.Setenv("GODEBUG", "x509usefallbackroots=1")
	url, _ := stub(t, func(http.ResponseWriter, *http.Request, <-chan struct{}) {})
	TrustBundle()
	TrustBundle() // as a process does that runs several commands
	t.Cleanup(func() { bundled.Store(false) })
	for range 2 {
		if _, err := fetch(t, transport(short()), http.MethodGet, url); err != nil {
			t.Fatal(err)
		}
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for root := range bundle.Roots() {
		c, err := x509.ParseCertificate(root.Certificate)
		if err != nil {
			t.Fatal(err)
		}
		n++
		if _, err := c.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: c.NotBefore, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}}); err != nil {
			t.Errorf("%s: %v", c.Subject, err)
		}
	}
	if n < 50 {
		t.Errorf("%d certificates", n)
	}
}
