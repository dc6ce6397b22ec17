package decide

import "testing"

func TestBase(t *testing.T) {
	for name, tc := range map[string]struct {
		reason         string
		base           Base
		trusted, known bool
	}{
		"Claimed":  {"a trailer of a Draft, or the record, is all that names it", Base{}, false, false},
		"Approved": {"the approval built it, and the registered branch is trusted", Base{Approved: true}, true, true},
		"Stated":   {"this machine built it", Base{Stated: true}, true, true},
		"Rebuilt":  {"building gives it again", Base{Rebuilt: true}, false, true},
		"Restored": {"it differs in what the variant sets, and in nothing else", Base{Restored: true}, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tc.base.Trusted(); got != tc.trusted {
				t.Errorf("%s: Trusted() = %t, want %t", tc.reason, got, tc.trusted)
			}
			if got := tc.base.Known(); got != tc.known {
				t.Errorf("%s: Known() = %t, want %t", tc.reason, got, tc.known)
			}
		})
	}
}
