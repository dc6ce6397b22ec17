package fnmain

import (
	"bytes"
	"strings"
	"testing"
)

func TestAll(t *testing.T) {
	cases := map[string]struct {
		args []string
		code int
		want string
	}{
		"SubCommand": {[]string{"/usr/local/bin/variform-functions", "inject-config", "--help"}, exitDone, "inject-config: "},
		"Link":       {[]string{"/usr/local/bin/validate-package", "--help"}, exitDone, "validate-package: "},
		"LinkFirst":  {[]string{"validate-package", "inject-config", "--help"}, exitDone, "validate-package: "},
		"Nothing":    {[]string{"variform-functions"}, exitUsage, "give one of apply-variant, "},
		"Unknown":    {[]string{"variform-functions", "inject"}, exitUsage, `"inject" is no function`},
		"NoName":     {nil, exitUsage, "give one of"},
		"Third":      {[]string{"variform-functions", "--help", "inject-config"}, exitUsage, "give one of"},
	}
	for name, tc := range cases {
		var out bytes.Buffer
		code := All(tc.args, Streams{In: strings.NewReader(""), Out: &out, Err: &out})
		if code != tc.code || !strings.Contains(out.String(), tc.want) {
			t.Errorf("%s: exit %d, %q; want %d, %q", name, code, out.String(), tc.code, tc.want)
		}
	}
}
