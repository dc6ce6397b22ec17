package check

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseSeverities(t *testing.T) {
	got, err := ParseSeverities("required=error,\nname=off type=warning")
	if d := cmp.Diff(map[string]string{Required: Error, Name: Off, Type: Warning}, got); d != "" || err != nil {
		t.Errorf("%v, %s", err, d)
	}
	for _, bad := range []string{"required", "required=fatal", "replicas=off", "=off"} {
		if _, err := ParseSeverities(bad); err == nil || !strings.Contains(err.Error(), "must be CHECK=error") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
