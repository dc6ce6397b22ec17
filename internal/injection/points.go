package injection

import (
	"bytes"
	"fmt"
	"net/url"
	"strings"

	"github.com/variform/variform/internal/krm"
)

// Point is one injection point of a package.
type Point struct {
	File  string // path of its file in the package
	Index int    // its place among the documents of the file, from 0

	APIVersion, Group, Version, Kind string
	Namespace, Name                  string

	ConditionType string // ConditionPrefix, kind, name
	Required      bool
	Problems      []string // what is wrong with it; nil for a valid one

	resource *krm.Resource // nil for a point that Find did not make
}

// Problem is one thing that is wrong with a point or with a file that may hold
// one. Only Message is always there.
type Problem struct {
	File    string
	Index   int    // place among the documents of the file
	Field   string // such as metadata.annotations[kpt.dev/config-injection]
	Message string // a whole sentence that names file and resource

	APIVersion, Kind, Namespace, Name string
}

// PointsError lists everything that is wrong with a package's injection
// points. Its text is Porch's.
type PointsError struct {
	Problems []Problem
}

// Error joins the messages.
func (e *PointsError) Error() string {
	messages := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		messages[i] = p.Message
	}
	return "errors in injection points: " + strings.Join(messages, ", ")
}

// pointField is where a point's mistake stands.
const pointField = "metadata.annotations[" + AnnotationPoint + "]"

func (p *Point) problem(field, message string) Problem {
	return Problem{
		File: p.File, Index: p.Index, Field: field, Message: message,
		APIVersion: p.APIVersion, Kind: p.Kind, Namespace: p.Namespace, Name: p.Name,
	}
}

// Find lists the injection points of a package and its subpackages, by path
// and place. Points with a wrong annotation are in the list with Problems.
func Find(p *krm.Package) []Point { return FindIn(p.Resources()) }

// FindIn is Find for some resources of a package, in their order.
func FindIn(resources []*krm.Resource) []Point {
	var out []Point
	for _, r := range resources {
		if mode, ok := r.Annotation(AnnotationPoint); ok {
			out = append(out, newPoint(r, mode))
		}
	}
	return out
}

func newPoint(r *krm.Resource, mode string) Point {
	p := Point{
		File: r.Path(), Index: r.Index(),
		APIVersion: r.APIVersion(), Group: r.Group(), Version: r.Version(), Kind: r.Kind(),
		Namespace: r.Namespace(), Name: r.Name(),
		ConditionType: ConditionPrefix + r.Kind() + "." + r.Name(),
		Required:      mode == Required,
		resource:      r,
	}
	if mode != Required && mode != Optional {
		p.Problems = append(p.Problems, fmt.Sprintf("%s: %s/%s has invalid %q annotation value of %.80q",
			p.File, p.Kind, p.Name, AnnotationPoint, mode))
	}
	if p.Name == "" {
		p.Problems = append(p.Problems, fmt.Sprintf("%s: %s has the annotation %q but no metadata.name",
			p.File, p.Kind, AnnotationPoint))
	}
	return p
}

// Word names what is selected by: apiVersion, kind and name, without blanks or commas.
func (p *Point) Word() string {
	return strings.Join([]string{url.PathEscape(p.APIVersion), url.PathEscape(p.Kind), url.PathEscape(p.Name)}, "/")
}

// Named is the point that a Word names, for Select; false of what is none.
func Named(word string) (Point, bool) {
	parts := strings.Split(word, "/")
	if len(parts) != 3 {
		return Point{}, false
	}
	for i, s := range parts {
		var err error
		if parts[i], err = url.PathUnescape(s); err != nil {
			return Point{}, false
		}
	}
	p := Point{APIVersion: parts[0], Version: parts[0], Kind: parts[1], Name: parts[2], ConditionType: ConditionPrefix + parts[1] + "." + parts[2]}
	if group, version, ok := strings.Cut(p.APIVersion, "/"); ok {
		p.Group, p.Version = group, version
	}
	return p, true
}

// Validate returns a *PointsError with the problems of all points and each
// condition type that two points share, or nil.
func Validate(points []Point) error {
	var problems []Problem
	last := make(map[string]string, len(points)) // condition type -> file
	for i := range points {
		p := &points[i]
		for _, message := range p.Problems {
			problems = append(problems, p.problem(pointField, message))
		}
		if file, ok := last[p.ConditionType]; ok {
			problems = append(problems, p.problem("metadata.name", fmt.Sprintf("duplicate injection conditionType %q (%s and %s)",
				p.ConditionType, file, p.File)))
		}
		last[p.ConditionType] = p.File
	}
	if len(problems) == 0 {
		return nil
	}
	return &PointsError{Problems: problems}
}

// unreadable lists the files that could hold a point that nobody can see.
func unreadable(p *krm.Package) []Problem {
	var out []Problem
	for _, problem := range p.Problems() {
		f, ok := p.Read(problem.Path)
		if ok && bytes.Contains(f.Data, []byte(AnnotationPoint)) {
			out = append(out, Problem{File: problem.Path, Message: fmt.Sprintf(
				"%s names %q but its YAML cannot be read: %v", problem.Path, AnnotationPoint, problem.Err)})
		}
	}
	return out
}
