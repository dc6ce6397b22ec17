// Package browser opens the page of internal/page in headless Chromium. It has tests
// only, and skips where there is no Chromium:
//
//	go test ./test/browser
package browser
