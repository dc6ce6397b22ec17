package docs

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestRenovatePreset: the preset finds the version in what its page shows, in flow and block
// style, and nothing without the comment. Renovate matches by RE2, as Go does.
func TestRenovatePreset(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(root, "docs/ci/renovate.json"))
	if err != nil {
		t.Fatal(err)
	}
	var preset struct {
		CustomManagers []struct {
			MatchStrings           []string
			ExtractVersionTemplate string
		}
	}
	if err := json.Unmarshal(data, &preset); err != nil {
		t.Fatal(err)
	}
	manager := preset.CustomManagers[0]
	re := regexp.MustCompile(manager.MatchStrings[0])
	page, err := os.ReadFile(filepath.Join(root, "docs/ci/README.md"))
	if err != nil {
		t.Fatal(err)
	}
	const comment = "# renovate: https://git.example.com/catalog.git web-app\n"
	for name, tt := range map[string]struct {
		text, want string
	}{
		"the page":   {string(page), "v1"},
		"block":      {"spec:\n  " + comment + "  upstream:\n    repo: catalog\n    package: web-app\n    workspaceName: \"v2\"\n", "v2"},
		"revision":   {"spec:\n  " + comment + "  upstream:\n    repo: catalog\n    revision: v3\n    package: web-app\n", "v3"},
		"no comment": {"spec:\n  upstream: {repo: catalog, package: web-app, workspaceName: v1}\n", ""},
		"another's":  {"spec:\n  " + comment + "  upstream: {repo: catalog, package: web-app}\n  # other\n  downstream: {revision: v9}\n", ""},
	} {
		got, m := "", re.FindStringSubmatch(tt.text)
		if m != nil {
			got = m[re.SubexpIndex("currentValue")]
			address, pkg := m[re.SubexpIndex("packageName")], m[re.SubexpIndex("depName")]
			tags := regexp.MustCompile(strings.ReplaceAll(manager.ExtractVersionTemplate, "{{{depName}}}", pkg))
			if tag := tags.FindStringSubmatch("web-app/" + got); address != "https://git.example.com/catalog.git" || tag == nil || tag[1] != got {
				t.Errorf("%s: %q %q reads tag web-app/%s as %q", name, address, pkg, got, tag)
			}
		}
		if got != tt.want {
			t.Errorf("%s: version %q, want %q", name, got, tt.want)
		}
	}
}
