package histories

import (
	"path"
	"regexp"
	"strings"
)

// The branches and tags of a package, as the layout has them.
const (
	onMain   = "main"
	draft    = "drafts"
	proposed = "proposed"
	deletion = "deletionProposed"
	tag      = "tag"
	ours     = "ours" // what no person reads
	head     = "head" // of a request
	other    = "other"
)

// heads are what the branches of requests begin with.
const heads = "refs/heads/variform/"

// parsed is what a ref's name says.
type parsed struct{ kind, pkg, last string }

func parse(ref string) parsed {
	if ref == mainRef {
		return parsed{kind: onMain}
	}
	if strings.HasPrefix(ref, "refs/variform/") || strings.HasPrefix(ref, "refs/heads/variform-record/") {
		return parsed{kind: ours}
	}
	if rest, ok := strings.CutPrefix(ref, "refs/tags/"); ok {
		return parsed{tag, path.Dir(rest), path.Base(rest)}
	}
	if strings.HasPrefix(ref, heads) {
		return parsed{kind: head}
	}
	for _, kind := range []string{draft, proposed, deletion} {
		if rest, ok := strings.CutPrefix(ref, "refs/heads/"+kind+"/"); ok {
			return parsed{kind, path.Dir(rest), path.Base(rest)}
		}
	}
	return parsed{kind: other}
}

func (p parsed) open() bool { return p.kind == draft || p.kind == proposed }

// below are the files of a package, by their path in it.
func (f files) below(pkg string) files {
	out := files{}
	for p, e := range f {
		if rest, ok := strings.CutPrefix(p, pkg+"/"); ok {
			out[rest] = e
		}
	}
	return out
}

// token is what a person's edit leaves in a file: no two edits have one.
var token = regexp.MustCompile(`\be[0-9]+x\b`)

// tokens are those in a package's files.
func (r *repository) tokens(f files) map[string]string {
	out := map[string]string{}
	for p, e := range f {
		for _, t := range token.FindAllString(string(r.blob(e.hash)), -1) {
			out[t] = p
		}
	}
	return out
}
