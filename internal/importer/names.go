package importer

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// PathNames returns what the matches of a glob have in common of their paths, and the
// names that the rest gives.
func PathNames(glob, template string) (prefix string, names func(string) []Name, err error) {
	parts := strings.Split(glob, "/")
	first := slices.IndexFunc(parts, func(s string) bool { return strings.ContainsAny(s, "*?[") })
	if first < 0 {
		return "", nil, fmt.Errorf("%s is one folder: give a pattern of folders, such as 'clusters/*'", glob)
	}
	prefix, parts = strings.Join(parts[:first], "/"), parts[first:]
	given := make([]string, len(parts))
	if template != "" {
		given = strings.Split(template, "/")
	}
	if len(given) != len(parts) {
		return "", nil, fmt.Errorf("--path-names %s has %d parts, and the folders have %d: name each, such as {region}/{name}", template, len(given), len(parts))
	}
	last := -1
	for i, part := range slices.Backward(parts) {
		name, braces := strings.CutPrefix(given[i], "{")
		switch {
		case braces && strings.HasSuffix(name, "}"):
			given[i] = strings.TrimSuffix(name, "}")
		case template != "" || !strings.ContainsAny(part, "*?["):
			given[i] = ""
		case last < 0:
			given[i] = "name"
		default:
			given[i] = "group"
		}
		if last < 0 && given[i] != "" {
			last = i
		}
	}
	if last < 0 || repeats(given) {
		return "", nil, errors.New("name the parts of the folders' paths with --path-names, such as {region}/{zone}/{name}")
	}
	return prefix, func(folder string) (out []Name) {
		for i, part := range slices.Backward(strings.Split(folder, "/")) {
			if given[i] != "" {
				out = append(out, Name{Parameter: given[i], Value: part})
			}
		}
		return out
	}, nil
}

func repeats(names []string) bool {
	seen := map[string]bool{"": false}
	return slices.ContainsFunc(names, func(n string) bool {
		again := seen[n]
		seen[n] = n != ""
		return again
	})
}
