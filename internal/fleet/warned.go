package fleet

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// Unseen returns the warnings that the run before did not print, in their order, and stores
// all of them in the file for the run after. A file that is missing, damaged or cannot be
// written hides no warning; "" stores nothing.
func Unseen(file string, warnings []string) (fresh []string) {
	digest := func(w string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(w)))[:16] }
	seen := map[string]bool{}
	if data, err := os.ReadFile(file); err == nil {
		_ = json.Unmarshal(data, &seen)
	}
	now := map[string]bool{}
	for _, w := range warnings {
		if now[digest(w)] = true; !seen[digest(w)] {
			fresh = append(fresh, w)
		}
	}
	data, err := json.Marshal(now)
	if err == nil && file != "" && len(seen)+len(now) > 0 && os.MkdirAll(filepath.Dir(file), 0o700) == nil {
		_ = os.WriteFile(file, data, 0o600)
	}
	return fresh
}
