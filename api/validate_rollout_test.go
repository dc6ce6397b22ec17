package api

import (
	"strings"
	"testing"
	"time"

	"github.com/variform/variform/api/variform/v1alpha1"
)

const rolloutText = `apiVersion: variform.dev/v1alpha1
kind: Rollout
metadata: {name: web-v2-prod}
spec:
  strategy:
    waves:
    - {name: canary, selector: {matchLabels: {ring: canary}}}
    - {name: first, percent: 10, groupBy: region}
    - {name: rest}
    gates:
    - {soak: 24h}
    - {calendar: {allow: "0 8-16 * * 1-4", timeZone: Europe/Berlin}}
    - {manual: {after: canary}}
  members:
  - target: c1
    wave: canary
    packages:
    - {name: web, draft: "1", tree: "2", change: "sha256:3"}
`

func TestRollouts(t *testing.T) {
	for name, c := range map[string]struct{ from, to, want string }{
		"as written":                      {},
		"a percentage of all is the rest": {"{name: rest}", "{name: rest, percent: 100}", ""},
		"an unknown field":                {"  members:", "  member:", `spec.member`},
		"a strategy that leaves some out": {"    - {name: rest}\n", "", "spec.strategy.waves[1]: the last wave, first, leaves targets out (hint: add a wave without selector and percent after it)"},
		"no waves":                        {"    waves:\n    - {name: canary, selector: {matchLabels: {ring: canary}}}\n    - {name: first, percent: 10, groupBy: region}\n    - {name: rest}\n", "    waves: []\n", "spec.strategy.waves is a required field"},
		"two waves of one name":           {"name: first", "name: canary", "spec.strategy.waves"},
		"a percentage above 100":          {"percent: 10", "percent: 101", "must be at most 100, not 101"},
		"groupBy alone":                   {"percent: 10, ", "", "groupBy has no effect without percent"},
		"a gate of two":                   {"{soak: 24h}", "{soak: 24h, manual: {after: rest}}", "spec.strategy.gates[0]"},
		"a gate of none":                  {"{soak: 24h}", "{}", "spec.strategy.gates[0]"},
		"no time":                         {"24h", "a day", `"a day" is no time (hint: write it as 30m or 24h)`},
		"no time at all":                  {"24h", "-1h", `"-1h" is no time`},
		"a calendar of minutes":           {"0 8-16", "15 8-16", "with the minute 0"},
		"a calendar of four fields":       {" 1-4", "", "does not have five fields"},
		"hours that are none":             {"8-16", "8-24", `"8-24" is no list of numbers from 0 to 23`},
		"a range that goes back":          {"8-16", "16-8", `"16-8" is no list of numbers`},
		"a word for a day":                {"1-4", "mon", `"mon" is no list of numbers`},
		"a number with more behind it":    {"8-16", "8x", `"8x" is no list of numbers`},
		"a step of nothing":               {"8-16", "*/0", `"*/0" is no list of numbers`},
		"a day that never comes":          {"* * 1-4", "30 2 *", "allows no hour of any year"},
		"a time zone that there is not":   {"Europe/Berlin", "Europe/Atlantis", `there is no time zone "Europe/Atlantis"`},
		"the machine's time zone":         {"Europe/Berlin", "Local", `there is no time zone "Local"`},
		"a manual gate after no wave":     {"after: canary", "after: canarx", `the strategy has no wave "canarx" (hint: did you mean `},
		"a member of no wave":             {"wave: canary", "wave: last", `spec.members[0].wave: the strategy has no wave "last"`},
		"a member without content":        {", change: \"sha256:3\"", "", "spec.members[0].packages[0].change is a required field"},
		"no members":                      {"  members:\n  - target: c1\n    wave: canary\n    packages:\n    - {name: web, draft: \"1\", tree: \"2\", change: \"sha256:3\"}\n", "  members: []\n", "spec.members is a required field"},
		"a member of no packages":         {"    packages:\n    - {name: web, draft: \"1\", tree: \"2\", change: \"sha256:3\"}\n", "    packages: []\n", "spec.members[0].packages is a required field"},
		"an exception that is no member":  {"  members:", "  except: [c2]\n  members:", `spec.except[0]: no member has the target "c2"`},
		"a passed wave that is not there": {"  members:", "  passed: [all]\n  members:", `spec.passed[0]: the strategy has no wave "all"`},
		"fewer failures than none":        {"    gates:", "    maxFailures: -1\n    gates:", "spec.strategy.maxFailures must be at least 0, not -1"},
		"a selector that is none":         {"{ring: canary}", "{\"a b\": canary}", "spec.strategy.waves[0].selector.matchLabels"},
	} {
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(rolloutText, c.from) {
				t.Fatal("nothing is changed")
			}
			obj, report := Parse([]byte(strings.Replace(rolloutText, c.from, c.to, 1)))
			got := ""
			if err := report.Err(); err != nil {
				got = err.Error()
			}
			if !strings.Contains(got, c.want) || c.want == "" && got != "" {
				t.Errorf("got %s", got)
			}
			if r, ok := obj.(*v1alpha1.Rollout); !ok || r.Namespace != DefaultNamespace {
				t.Errorf("%+v", obj)
			}
		})
	}
	_, report := Parse([]byte("apiVersion: variform.dev/v1alpha1\nkind: RolloutStrategy\nmetadata: {name: prod}\nspec: {waves: [{name: a, percent: 5}]}\n"))
	if err := report.Err(); err == nil || !strings.Contains(err.Error(), "spec.waves[0]: the last wave, a, leaves targets out") {
		t.Error(err)
	}
}

func TestCalendar(t *testing.T) {
	for _, c := range []struct{ allow, zone, at, next string }{
		{"0 8-16 * * 1-4", "Europe/Berlin", "2026-03-02 07:00", "2026-03-02 07:00"}, // 08:00 there
		{"0 8-16 * * 1-4", "Europe/Berlin", "2026-03-02 15:59", "2026-03-02 15:59"},
		{"0 8-16 * * 1-4", "Europe/Berlin", "2026-03-02 16:00", "2026-03-03 07:00"},
		{"0 8-16 * * 1-4", "Europe/Berlin", "2026-03-05 16:30", "2026-03-09 07:00"}, // over the weekend
		{"0 8-16 * * 1-4", "Europe/Berlin", "2026-03-26 20:00", "2026-03-30 06:00"}, // summer time came
		{"* * * * *", "", "2026-03-02 07:31", "2026-03-02 07:31"},
		{"0 22-23/1,0-2 1,15 * *", "", "2026-03-02 07:31", "2026-03-15 00:00"},
		{"0 0 1 * 0", "", "2026-03-02 00:00", "2026-03-08 00:00"}, // a first, or a Sunday
		{"0 6 * * 7", "", "2026-03-02 00:00", "2026-03-08 06:00"},
		{"0 */6 * 12 *", "", "2026-03-02 07:31", "2026-12-01 00:00"},
	} {
		cal, err := ParseCalendar(&v1alpha1.RolloutCalendar{Allow: c.allow, TimeZone: c.zone})
		if err != nil {
			t.Fatal(err)
		}
		at, err := time.Parse("2006-01-02 15:04", c.at)
		if err != nil {
			t.Fatal(err)
		}
		next := cal.Next(at)
		if got := next.UTC().Format("2006-01-02 15:04"); got != c.next {
			t.Errorf("%s in %s after %s: %s, want %s", c.allow, c.zone, c.at, got, c.next)
		}
		if cal.Allows(at) != next.Equal(at) {
			t.Errorf("%s at %s: Allows and Next differ", c.allow, c.at)
		}
	}
}
