package api

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/variform/variform/api/variform/v1alpha1"
)

// ValidateRolloutStrategy checks waves and gates.
func ValidateRolloutStrategy(s *v1alpha1.RolloutStrategy) Issues {
	var i Issues
	i.metadata(&s.ObjectMeta)
	validateWaves(&i, "spec", &s.Spec)
	return i
}

// ValidateRollout checks an approval as it was written.
func ValidateRollout(r *v1alpha1.Rollout) Issues {
	var i Issues
	i.metadata(&r.ObjectMeta)
	s := &r.Spec
	i.shape("spec.members", reflect.ValueOf(s.Members), rules{})
	waves := validateWaves(&i, "spec.strategy", &s.Strategy)
	if len(s.Members) == 0 {
		i.required("spec.members", "variform approve --rollout writes them")
	}
	var targets []string
	for n := range s.Members {
		m, at := &s.Members[n], index("spec.members", n)
		targets = append(targets, m.Target)
		if m.Wave != "" && !slices.Contains(waves, m.Wave) {
			i.add(at+".wave", fmt.Sprintf("%s.wave: the strategy has no wave %q", at, m.Wave), DidYouMean(m.Wave, waves))
		}
		if len(m.Packages) == 0 {
			i.required(at+".packages", "")
		}
	}
	i.unique("spec.members", "target", targets)
	for n, name := range s.Except {
		if at := index("spec.except", n); !slices.Contains(targets, name) {
			i.add(at, fmt.Sprintf("%s: no member has the target %q", at, name), DidYouMean(name, targets))
		}
	}
	for n, name := range s.Passed {
		if at := index("spec.passed", n); !slices.Contains(waves, name) {
			i.add(at, fmt.Sprintf("%s: the strategy has no wave %q", at, name), DidYouMean(name, waves))
		}
	}
	return i
}

// validateWaves returns the names of the waves.
func validateWaves(i *Issues, at string, s *v1alpha1.RolloutWaves) (names []string) {
	i.shape(at, reflect.ValueOf(s), rules{})
	for n := range s.Waves {
		w, at := &s.Waves[n], index(at+".waves", n)
		names = append(names, w.Name)
		if w.Selector != nil {
			i.selector(at+".selector", w.Selector)
		}
		if w.Percent > 100 {
			i.add(at+".percent", fmt.Sprintf("%s.percent must be at most 100, not %d", at, w.Percent), "")
		}
		if w.GroupBy != "" && w.Percent == 0 {
			i.add(at+".groupBy", at+".groupBy has no effect without percent", "give percent, or leave it out")
		}
	}
	if n := len(s.Waves); n == 0 {
		i.required(at+".waves", "name one wave or more")
	} else if last := &s.Waves[n-1]; last.Selector != nil || last.Percent%100 != 0 {
		at := index(at+".waves", n-1)
		i.add(at, fmt.Sprintf("%s: the last wave, %s, leaves targets out", at, last.Name), "add a wave without selector and percent after it")
	}
	i.unique(at+".waves", "name", names)
	for n := range s.Gates {
		validateGate(i, index(at+".gates", n), &s.Gates[n], names)
	}
	return names
}

func validateGate(i *Issues, at string, g *v1alpha1.RolloutGate, waves []string) {
	i.exactlyOne(at, map[string]bool{"soak": g.Soak != "", "calendar": g.Calendar != nil, "manual": g.Manual != nil})
	if g.Soak != "" {
		if d, err := time.ParseDuration(g.Soak); err != nil || d <= 0 {
			i.add(at+".soak", fmt.Sprintf("%s.soak: %q is no time", at, g.Soak), "write it as 30m or 24h")
		}
	}
	if c := g.Calendar; c != nil && c.Allow != "" {
		if _, err := ParseCalendar(c); err != nil {
			i.add(at+".calendar", at+".calendar: "+err.Error(), "")
		}
	}
	if m := g.Manual; m != nil && m.After != "" && !slices.Contains(waves, m.After) {
		i.add(at+".manual.after", fmt.Sprintf("%s.manual.after: the strategy has no wave %q", at, m.After), DidYouMean(m.After, waves))
	}
}

// Calendar is a set of whole hours in a time zone.
type Calendar struct {
	zone                        *time.Location
	hours, days, months, weekly uint64 // one bit for each value
	anyDay, anyWeekday          bool
}

// ParseCalendar reads cron's five fields. The minute must be 0 or *.
func ParseCalendar(spec *v1alpha1.RolloutCalendar) (*Calendar, error) {
	zone, err := time.LoadLocation(spec.TimeZone)
	if err != nil || spec.TimeZone == "Local" {
		return nil, fmt.Errorf("timeZone: there is no time zone %q: write a name such as Europe/Berlin", spec.TimeZone)
	}
	f := strings.Fields(spec.Allow)
	if len(f) != 5 || f[0] != "0" && f[0] != "*" {
		return nil, fmt.Errorf("allow: %q does not have five fields with the minute 0: write it as \"0 8-16 * * 1-5\"", spec.Allow)
	}
	c := &Calendar{zone: zone, anyDay: strings.HasPrefix(f[2], "*"), anyWeekday: strings.HasPrefix(f[4], "*")}
	for _, field := range []struct {
		to        *uint64
		text      string
		low, high int
	}{{&c.hours, f[1], 0, 23}, {&c.days, f[2], 1, 31}, {&c.months, f[3], 1, 12}, {&c.weekly, f[4], 0, 7}} {
		if *field.to, err = cronField(field.text, field.low, field.high); err != nil {
			return nil, fmt.Errorf("allow: %w", err)
		}
	}
	if c.weekly&(1<<7) != 0 { // Sunday is 0 and 7
		c.weekly |= 1
	}
	if c.Next(time.Date(2000, 1, 1, 0, 0, 0, 0, zone)).IsZero() {
		return nil, fmt.Errorf("allow: %q allows no hour of any year", spec.Allow)
	}
	return c, nil
}

// cronField reads a list of numbers, ranges and steps: "*", "1-5", "8-16/2", "1,3".
func cronField(text string, low, high int) (bits uint64, err error) {
	for part := range strings.SplitSeq(text, ",") {
		from, to, step := low, high, 1
		span, by, stepped := strings.Cut(part, "/")
		if stepped {
			_, err = fmt.Sscanf(by+"\n", "%d\n", &step)
		}
		if first, last, ranged := strings.Cut(span, "-"); err == nil && span != "*" {
			if _, err = fmt.Sscanf(first+"\n", "%d\n", &from); err == nil && ranged {
				_, err = fmt.Sscanf(last+"\n", "%d\n", &to)
			} else if !stepped {
				to = from
			}
		}
		if err != nil || from < low || to > high || from > to || step < 1 {
			return 0, fmt.Errorf("%q is no list of numbers from %d to %d: write it as 1-5 or 1,3", text, low, high)
		}
		for v := from; v <= to; v += step {
			bits |= 1 << v
		}
	}
	return bits, nil
}

// Allows reports whether the calendar holds the hour of a time.
func (c *Calendar) Allows(t time.Time) bool {
	t = t.In(c.zone)
	has := func(bits uint64, v int) bool { return bits&(1<<v) != 0 }
	day, weekday := has(c.days, t.Day()), has(c.weekly, int(t.Weekday()))
	if !c.anyDay && !c.anyWeekday { // as cron has it, either is enough
		day, weekday = day || weekday, true
	}
	return has(c.hours, t.Hour()) && has(c.months, int(t.Month())) && day && weekday
}

// Next returns the first allowed time from a time on, zero where there is none within five
// years.
func (c *Calendar) Next(t time.Time) time.Time {
	end := t.AddDate(5, 0, 0)
	for at := t.In(c.zone); at.Before(end); at = time.Date(at.Year(), at.Month(), at.Day(), at.Hour()+1, 0, 0, 0, c.zone) {
		if c.Allows(at) {
			return at
		}
	}
	return time.Time{}
}
