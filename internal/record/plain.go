package record

import (
	"strconv"
	"strings"
)

// plainEntry reads an entry from a line in which nothing is escaped, as in nearly all: its
// fields are parts of the line. It takes none that would be written in other bytes; false is
// all else, which is the JSON library's to read. A record of a fleet has tens of thousands,
// and the library takes eight times as long to read one and to write it again.
func plainEntry(line string) (e Entry, ok bool) {
	p := plainReader{rest: line, before: "{"}
	p.text("path", &e.Path)
	p.text("place", (*string)(&e.Place))
	p.text("workspace", &e.Workspace)
	p.number("revision", &e.Revision)
	p.text("commit", &e.Commit)
	p.text("tree", &e.Tree)
	p.text("hydrated", &e.Hydrated)
	p.text("inputs", &e.Inputs)
	p.number("hydration", &e.Hydration)
	p.text("owner", &e.Owner)
	p.text("set", &e.Set)
	p.text("for", &e.For)
	p.text("deletionPolicy", &e.DeletionPolicy)
	p.labels("labels", &e.Labels)
	// Hold and Discarded are few.
	p.text("reverts", &e.Reverts)
	p.number("withdrawn", &e.Withdrawn)
	p.text("restless", &e.Restless)
	p.text("failure", &e.Failure)
	p.text("at", &e.At)
	return e, p.rest == "}" && e.Path != "" && e.Place != ""
}

// plainReader reads the members of a JSON object in a given order.
type plainReader struct {
	rest   string // "" where something is not plain
	before string // the next member
}

// member begins one by its name, where that is the next.
func (p *plainReader) member(name string) bool {
	rest, ok := strings.CutPrefix(p.rest, p.before)
	if ok {
		rest, ok = strings.CutPrefix(rest, `"`)
	}
	if ok {
		rest, ok = strings.CutPrefix(rest, name)
	}
	if ok {
		rest, ok = strings.CutPrefix(rest, `":`)
	}
	if ok {
		p.rest, p.before = rest, ","
	}
	return ok
}

func (p *plainReader) text(name string, to *string) {
	if p.member(name) {
		*to = p.value()
	}
}

// value is a string that is not empty.
func (p *plainReader) value() string {
	if len(p.rest) > 1 && p.rest[0] == '"' {
		for i := 1; i < len(p.rest); i++ {
			switch c := p.rest[i]; {
			case c == '"' && i > 1:
				value := p.rest[1:i]
				p.rest = p.rest[i+1:]
				return value
			case c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&': // written as escapes
				p.rest = ""
				return ""
			}
		}
	}
	p.rest = ""
	return ""
}

func (p *plainReader) number(name string, to *int) {
	if !p.member(name) {
		return
	}
	end := strings.IndexAny(p.rest, ",}")
	n, err := strconv.Atoi(p.rest[:max(end, 0)])
	if err != nil || n == 0 || strconv.Itoa(n) != p.rest[:end] {
		p.rest = ""
		return
	}
	*to, p.rest = n, p.rest[end:]
}

func (p *plainReader) labels(name string, to *map[string]string) {
	if !p.member(name) {
		return
	}
	last := ""
	for out, more := map[string]string{}, strings.HasPrefix(p.rest, "{"); more; more = strings.HasPrefix(p.rest, ",") {
		p.rest = p.rest[1:]
		key := p.value()
		if key <= last || !strings.HasPrefix(p.rest, ":") {
			break
		}
		p.rest = p.rest[1:]
		out[key], last = p.value(), key
		if rest, ended := strings.CutPrefix(p.rest, "}"); ended {
			*to, p.rest = out, rest
			return
		}
	}
	p.rest = ""
}
