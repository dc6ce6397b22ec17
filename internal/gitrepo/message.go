package gitrepo

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/variform/variform/internal/boundary"
)

const (
	annotationPrefix = "kpt:"
	variantTrailer   = "Variform-Variant"
	inputsTrailer    = "Variform-Inputs"
	reviewTrailer    = "Variform-Review"
	hydratedTrailer  = "Variform-Hydrated"
	revertsTrailer   = "Variform-Reverts"
	classTrailer     = "Variform-Class"
	unprovedTrailer  = "Variform-Unproved"
	carriedTrailer   = "Variform-Carried"
	exemptTrailer    = "Variform-Exempt"
	invalidTrailer   = "Variform-Invalid"
)

// Trailers are Variform's own lines at the end of a commit message; "" where absent.
type Trailers struct {
	Variant string // <manager>/<namespace>/<name> of the variant that made the commit
	Inputs  string // sha256:… of all that went in (docs/design/git.md#layout)
	Review  string // "needed" where only a person may publish, and what to see first
	// Hydrated is the tree of the package as the machine made it, before the
	// edits that the commit holds (docs/design/hydration-and-update.md#hi).
	Hydrated string
	// Reverts is the Published revision that a person sets the package back to, and
	// who: "v1 by Ann".
	Reverts string
	// Class is the key of the class of review as which a person approved it.
	Class string
	// Unproved is why a person approved it although it could not be built.
	Unproved string
	// Carried is the tree of the Draft that a Rollout published upon a hotfix.
	Carried string
	// Exempt names the checks from which a person exempted it, and why.
	Exempt string
	// Invalid is what Kubernetes would refuse of a Draft.
	Invalid string
}

// Annotation is Porch's line in a commit message. Its JSON is Porch's, byte for byte.
type Annotation struct {
	// Package is the full path in the repository: directory and package.
	Package       string `json:"package,omitempty"`
	WorkspaceName string `json:"workspaceName,omitempty"`
	// Revision is decimal; Porch writes "0" for one that is not Published.
	Revision string `json:"revision,omitempty"`
	Task     *Task  `json:"task,omitempty"`
	// Trailers are those of its own message, where it stands in a message with others, as a
	// squash's; nil elsewhere.
	Trailers *Trailers `json:"-"`
	// Source is the workspace of the revision that an edit or upgrade task began with, "" for
	// other tasks.
	Source string `json:"-"`
}

// The task types that Porch reads back.
const (
	TaskInit    = "init"
	TaskClone   = "clone"
	TaskEdit    = "edit"
	TaskUpgrade = "upgrade"
	TaskRender  = "render"
)

// Task is Porch's task; the field that Type names is set.
type Task struct {
	Type    string       `json:"type"`
	Init    *InitTask    `json:"init,omitempty"`
	Clone   *CloneTask   `json:"clone,omitempty"`
	Edit    *EditTask    `json:"edit,omitempty"`
	Upgrade *UpgradeTask `json:"upgrade,omitempty"`
}

// source returns Annotation.Source.
func (t *Task) source() string {
	name := ""
	switch {
	case t == nil:
	case t.Edit != nil && t.Edit.Source != nil:
		name = t.Edit.Source.Name
	case t.Upgrade != nil:
		name = t.Upgrade.LocalPackageRevisionRef.Name
	}
	return name[strings.LastIndex(name, ".")+1:]
}

// InitTask made an empty package.
type InitTask struct {
	Subpackage  string   `json:"subpackage,omitempty"`
	Description string   `json:"description,omitempty"`
	Keywords    []string `json:"keywords,omitempty"`
	Site        string   `json:"site,omitempty"`
}

// CloneTask cloned an upstream package.
type CloneTask struct {
	Upstream UpstreamPackage `json:"upstreamRef"`
}

// UpstreamPackage is an upstream by address, or by the name of a PackageRevision.
type UpstreamPackage struct {
	Type        string       `json:"type,omitempty"` // git or oci
	Git         *GitPackage  `json:"git,omitempty"`
	Oci         *OCIPackage  `json:"oci,omitempty"`
	UpstreamRef *RevisionRef `json:"upstreamRef,omitempty"`
}

// GitPackage is a package at a Git address.
type GitPackage struct {
	Repo      string      `json:"repo"`
	Ref       string      `json:"ref"`
	Directory string      `json:"directory"`
	SecretRef RevisionRef `json:"secretRef"`
}

// OCIPackage is a package in a registry.
type OCIPackage struct {
	Image string `json:"image"`
}

// RevisionRef names an object, most often a PackageRevision.
type RevisionRef struct {
	Name string `json:"name"`
}

// EditTask copied the package's own earlier revision.
type EditTask struct {
	Source *RevisionRef `json:"sourceRef,omitempty"`
}

// UpgradeTask merged a new upstream revision.
type UpgradeTask struct {
	OldUpstream             RevisionRef `json:"oldUpstreamRef"`
	NewUpstream             RevisionRef `json:"newUpstreamRef"`
	LocalPackageRevisionRef RevisionRef `json:"localPackageRevisionRef"`
	Strategy                string      `json:"strategy,omitempty"`
}

// FormatMessage builds a commit message: text, Porch's line where a is not nil,
// and our trailers. Lines of text that would read as an annotation are quoted.
// A trailer with a line break is an error.
func FormatMessage(text string, a *Annotation, t Trailers) (string, error) {
	var b strings.Builder
	b.WriteString(quoteText(text))
	b.WriteByte('\n')
	if a != nil {
		line, err := json.Marshal(a)
		if err != nil {
			return "", fmt.Errorf("writing the commit annotation of package %q: %w", a.Package, err)
		}
		b.WriteString("\n" + annotationPrefix)
		b.Write(line)
		b.WriteByte('\n')
	}
	sep := "\n"
	for _, kv := range [][2]string{{variantTrailer, t.Variant}, {inputsTrailer, t.Inputs}, {reviewTrailer, t.Review}, {hydratedTrailer, t.Hydrated}, {revertsTrailer, t.Reverts}, {classTrailer, t.Class}, {unprovedTrailer, t.Unproved}, {carriedTrailer, t.Carried}, {exemptTrailer, t.Exempt}, {invalidTrailer, boundary.Inert(t.Invalid)}} {
		if kv[1] == "" {
			continue
		}
		if strings.ContainsAny(kv[1], "\r\n\x00") {
			return "", fmt.Errorf("the commit trailer %s holds a line break: %q", kv[0], kv[1])
		}
		b.WriteString(sep + kv[0] + ": " + kv[1] + "\n")
		sep = ""
	}
	return b.String(), nil
}

// quoteText returns a text in which no line is an annotation and no word steers a
// forge.
func quoteText(text string) string {
	text = boundary.Inert(text)
	text = strings.TrimRight(strings.ReplaceAll(text, "\x00", ""), " \t\r\n")
	if !strings.Contains(text, annotationPrefix) {
		return text
	}
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		if strings.HasPrefix(strings.TrimSpace(l), annotationPrefix) {
			lines[i] = "> " + l
		}
	}
	return strings.Join(lines, "\n")
}

// clone is a copy that does not hold on to the message that it was read from.
func (t Trailers) clone() Trailers {
	for _, field := range []*string{&t.Variant, &t.Inputs, &t.Review, &t.Hydrated, &t.Reverts, &t.Class, &t.Unproved, &t.Carried, &t.Exempt, &t.Invalid} {
		*field = strings.Clone(*field)
	}
	return t
}

// ParseMessage reads Porch's annotations (in order; lines that do not parse are
// left out, as Porch does) and our trailers (of the last paragraph).
func ParseMessage(message string) ([]Annotation, Trailers) {
	var as []Annotation
	var after []string // what stands below each
	if strings.Contains(message, annotationPrefix) {
		for below := message; below != ""; {
			var line string
			line, below, _ = strings.Cut(below, "\n")
			if a, ok := parseAnnotation(line); ok {
				as, after = append(as, a), append(after, below)
			}
		}
	}
	last := parseTrailers(message)
	// Where none end the message it is a person's text, whatever it quotes.
	if len(as) > 1 && last != (Trailers{}) {
		for i, below := range after {
			as[i].Trailers = firstTrailers(below)
		}
	}
	return as, last
}

// firstTrailers are those of the paragraph that follows an annotation, nil for none.
func firstTrailers(below string) *Trailers {
	paragraph, ok := strings.CutPrefix(below, "\n")
	if paragraph, _, _ = strings.Cut(paragraph, "\n\n"); !ok {
		return nil
	}
	if t := parseTrailers(paragraph); t != (Trailers{}) {
		return &t
	}
	return nil
}

func parseAnnotation(line string) (Annotation, bool) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(line), annotationPrefix)
	if !ok {
		return Annotation{}, false
	}
	if a, ok := plainAnnotation(rest); ok {
		return a, true
	}
	var a Annotation
	err := json.Unmarshal([]byte(rest), &a)
	return a, err == nil
}

// plainAnnotation reads an annotation in which no name is escaped, and whose task was read
// before, as of nearly all variants: the rest is the JSON library's to read.
func plainAnnotation(text string) (a Annotation, ok bool) {
	rest := text
	for _, m := range []struct {
		name string
		to   *string
	}{{`{"package":"`, &a.Package}, {`,"workspaceName":"`, &a.WorkspaceName}, {`,"revision":"`, &a.Revision}} {
		value, is := strings.CutPrefix(rest, m.name)
		if !is {
			continue
		}
		end := strings.IndexFunc(value, func(r rune) bool { return r < ' ' || r > '~' || r == '"' || r == '\\' })
		if end <= 0 || value[end] != '"' {
			return a, false
		}
		*m.to, rest = strings.Clone(value[:end]), value[end+1:]
	}
	task, is := strings.CutPrefix(rest, `,"task":`)
	task, whole := strings.CutSuffix(task, "}")
	if !is || !whole || a.Package == "" {
		return a, false
	}
	a.Task = tasks.of(task)
	return a, a.Task != nil
}

// knownTasks remember tasks by their JSON. The zero value is ready; it is safe for
// concurrent use.
type knownTasks struct {
	mu    sync.RWMutex
	known map[string]*Task
}

var tasks knownTasks

const (
	maxTasks    = 1000 // before they are forgotten
	maxTaskText = 1000 // of what is worth it
)

// of is the task of a JSON text, which nobody may change, nil for what is none.
func (k *knownTasks) of(text string) *Task {
	k.mu.RLock()
	t := k.known[text]
	k.mu.RUnlock()
	if t != nil || len(text) > maxTaskText {
		return t
	}
	if json.Unmarshal([]byte(text), &t) != nil || t == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.known == nil || len(k.known) >= maxTasks {
		k.known = map[string]*Task{}
	}
	k.known[strings.Clone(text)] = t
	return t
}

func parseTrailers(message string) Trailers {
	var t Trailers
	body := strings.TrimRight(message, " \t\r\n")
	if i := strings.LastIndex(body, "\n\n"); i >= 0 {
		body = body[i+2:]
	}
	for line := range strings.SplitSeq(body, "\n") {
		key, value, ok := strings.Cut(line, ":")
		if !ok {
			continue
		}
		switch key {
		case variantTrailer:
			t.Variant = strings.TrimSpace(value)
		case inputsTrailer:
			t.Inputs = strings.TrimSpace(value)
		case reviewTrailer:
			t.Review = strings.TrimSpace(value)
		case hydratedTrailer:
			t.Hydrated = strings.TrimSpace(value)
		case revertsTrailer:
			t.Reverts = strings.TrimSpace(value)
		case classTrailer:
			t.Class = strings.TrimSpace(value)
		case unprovedTrailer:
			t.Unproved = strings.TrimSpace(value)
		case carriedTrailer:
			t.Carried = strings.TrimSpace(value)
		case exemptTrailer:
			t.Exempt = strings.TrimSpace(value)
		case invalidTrailer:
			t.Invalid = strings.TrimSpace(value)
		}
	}
	return t
}

// FormatHead is the message of a commit with packages of many Drafts, as requests have
// them: a title, and a line with the place of each.
func FormatHead(title string, drafts []Place) string {
	var message strings.Builder
	fmt.Fprintf(&message, "%s\n\n", boundary.Inert(title))
	for _, d := range drafts {
		fmt.Fprintf(&message, "%s %s\n", d.Path, d.Commit)
	}
	return message.String()
}

// ParseHead lists the places that a message of FormatHead names, also one that a forge
// squashed it into.
func ParseHead(message string) (out []Place) {
	_, lines, _ := strings.Cut(message, "\n\n")
	for line := range strings.Lines(lines) {
		path, commit, _ := strings.Cut(strings.TrimSpace(line), " ")
		if h := plumbing.NewHash(commit); plumbing.IsHash(commit) && !h.IsZero() {
			out = append(out, Place{Commit: h, Path: path})
		}
	}
	return out
}
