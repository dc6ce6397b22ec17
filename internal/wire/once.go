package wire

import (
	"fmt"
	"sync"
)

// Once hands each text on once, to nobody where warn is nil. The result is safe
// for concurrent use.
func Once(warn func(format string, args ...any)) func(format string, args ...any) {
	if warn == nil {
		return func(string, ...any) {}
	}
	var mu sync.Mutex
	said := map[string]bool{}
	return func(format string, args ...any) {
		text := fmt.Sprintf(format, args...)
		mu.Lock()
		defer mu.Unlock()
		if !said[text] {
			said[text] = true
			warn("%s", text)
		}
	}
}
