package docs

import (
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// TestEditors: the page on editors has every schema, and settings that an editor reads,
// of schemas that there are.
func TestEditors(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs", "editors.md"))
	if err != nil {
		t.Fatal(err)
	}
	schemas, err := filepath.Glob(filepath.Join(root, "docs", "schema", "*.json"))
	if err != nil || len(schemas) < 5 {
		t.Fatalf("%d schemas: %v", len(schemas), err)
	}
	there := map[string]bool{}
	for _, file := range schemas {
		name := filepath.Base(file)
		there[name] = true
		if !strings.Contains(string(page), "](schema/"+name+")") {
			t.Errorf("docs/editors.md does not have %s", name)
		}
	}
	settings := 0
	for _, p := range parts(string(page)) {
		var set struct {
			Schemas map[string]string `json:"yaml.schemas"`
		}
		if !strings.HasPrefix(p.text, "{") {
			continue
		}
		settings++
		if err := json.Unmarshal([]byte(p.text), &set); err != nil || len(set.Schemas) == 0 {
			t.Errorf("docs/editors.md:%d: %v, %d schemas", p.line, err, len(set.Schemas))
		}
		for url := range set.Schemas {
			if !there[path.Base(url)] {
				t.Errorf("docs/editors.md:%d: there is no %s", p.line, path.Base(url))
			}
		}
	}
	if settings == 0 {
		t.Error("no settings of an editor are shown")
	}
}
