package check

import (
	"fmt"
	"slices"
	"strings"
)

// Severities. An error is not published, a warning is, and what is off is not reported.
const (
	Error   = "error"
	Warning = "warning"
	Off     = "off"
)

// SeverityOf returns the severity of a check in the packages of a fleet; own has those that the
// fleet gives. What may be right is a warning: a webhook of the cluster can add a missing field,
// a server takes a resource twice, and one of a version that is not stated may serve more.
func SeverityOf(name string, own map[string]string, stated bool) string {
	if s := own[name]; s != "" {
		return s
	}
	if name == Required || name == Duplicate || name == Version && !stated {
		return Warning
	}
	return Error
}

// ParseSeverities reads severities in words: "required=error, name=off".
func ParseSeverities(list string) (map[string]string, error) {
	out := map[string]string{}
	for _, word := range strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' || r == '\n' }) {
		name, severity, _ := strings.Cut(word, "=")
		if !slices.Contains(Names, name) || !slices.Contains([]string{Error, Warning, Off}, severity) {
			return nil, fmt.Errorf("%q must be CHECK=error, =warning or =off, where CHECK is one of %s", word, strings.Join(Names, ", "))
		}
		out[name] = severity
	}
	return out, nil
}
