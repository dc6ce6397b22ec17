// Package page writes a digest as one HTML file: for people who read a change of a
// whole fleet in a browser (docs/design/review.md#the-page). It shows and links;
// deciding stays with the command and the forge.
//
//	err := page.Write(w, digest)
//
// The file asks for nothing from elsewhere and holds no program but its own, which
// its content security policy names by hash. Without JavaScript all of it is there.
package page

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/variform/variform/internal/count"
	"github.com/variform/variform/internal/review"
)

// Limit is how long a page is to be, in bytes. Examples go first, and then the tables
// of values and the members, those of the classes that are read last before others;
// what each class does is always there.
const Limit = 1_500_000

// mostOfOne is the part of what is left that the diff of one class may take.
const mostOfOne = 4

var (
	//go:embed page.html
	pageHTML string
	//go:embed page.css
	pageCSS string
	//go:embed page.js
	pageJS string

	layout = sync.OnceValue(func() *template.Template {
		return template.Must(template.New("page").Funcs(template.FuncMap{
			"visible": review.Visible,
			"ranges":  ranges,
			"count":   count.Of,
			"names":   func(s []string) string { return review.Visible(strings.Join(s, ", ")) },
		}).Parse(pageHTML))
	})
)

// hash is a source of a content security policy.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// ranges are names in as few words as they take.
func ranges(names []string) string { return review.Visible(strings.Join(review.Ranges(names), ", ")) }

// view is what the template shows.
type view struct {
	*review.Digest
	CSS      template.CSS
	JS       template.JS
	Policy   string
	Marks    []review.Mark
	Kinds    []findings
	Packages []packageView
	Classes  int
	Short    int // classes that are named only
}

type findings struct {
	Title string
	List  []review.Finding
}

type packageView struct {
	review.Summary
	Name    string
	Classes []*classView
}

// classView is a class with what there is room for.
type classView struct {
	*review.Class
	Command       string
	Marked        string // the kinds of its marks
	Details, Diff template.HTML
}

// Write writes the page of a digest.
func Write(w io.Writer, d *review.Digest) error { return write(w, d, Limit) }

func write(w io.Writer, d *review.Digest, limit int) error {
	v := &view{
		Digest: d, CSS: template.CSS(pageCSS), JS: template.JS(pageJS),
		Policy: "default-src 'none'; base-uri 'none'; form-action 'none'; style-src " + hash(pageCSS) + "; script-src " + hash(pageJS),
	}
	for _, kind := range review.Kinds {
		f := findings{Title: kind.Title()}
		for i := range d.Findings {
			if d.Findings[i].Kind == kind {
				f.List = append(f.List, d.Findings[i])
			}
		}
		if len(f.List) > 0 {
			v.Kinds = append(v.Kinds, f)
		}
	}
	var all []*classView
	if d.Changes != nil {
		all = v.changes(d.Changes)
	}
	var bare bytes.Buffer
	v.Short = v.Classes // which takes most
	if err := layout().Execute(&bare, v); err != nil {
		return fmt.Errorf("writing the page: %w", err)
	}
	room := limit - bare.Len()
	v.Short = 0
	render := func(name string, c *classView, most int) (template.HTML, error) {
		var text bytes.Buffer
		if err := layout().ExecuteTemplate(&text, name, c); err != nil {
			return "", fmt.Errorf("writing class %s: %w", c.ID, err)
		}
		if text.Len() > most {
			return "", nil
		}
		room -= text.Len()
		return template.HTML(text.String()), nil
	}
	for _, c := range all {
		var err error
		if c.Details, err = render("details", c, room); err != nil {
			return err
		}
		if c.Details == "" {
			v.Short++
		}
	}
	for _, c := range all {
		most := room / mostOfOne
		if len(c.Class.Diff) > most {
			continue
		}
		var err error
		if c.Diff, err = render("diff", c, most); err != nil {
			return err
		}
	}
	if err := layout().Execute(w, v); err != nil {
		return fmt.Errorf("writing the page: %w", err)
	}
	return nil
}

// Explained says that values have origins.
func (c *classView) Explained() bool {
	return slices.ContainsFunc(c.Values, func(v review.Values) bool { return v.From != "" })
}

// changes takes the classes of a report over, and returns them in the order in which
// they are given room.
func (v *view) changes(r *review.Report) []*classView {
	v.Marks = r.Marks
	v.Classes = len(r.Classes)
	var all []*classView
	for i := range r.Classes {
		c := &classView{Class: &r.Classes[i], Command: "variform diff " + r.Classes[i].Example}
		if v.Command == "review" {
			c.Command = "variform approve --class " + c.ID
		}
		for _, m := range c.Marks {
			if !strings.Contains(c.Marked, string(m.Kind)) {
				c.Marked = strings.TrimSpace(c.Marked + ", " + string(m.Kind))
			}
		}
		c.Marked = strings.TrimPrefix(c.Marked, ", ")
		all = append(all, c)
		if n := len(v.Packages); n == 0 || v.Packages[n-1].Package != c.Package {
			p := packageView{Summary: review.Summary{Package: c.Package}, Name: cmp.Or(c.Package, "deletions and packages of no known upstream")}
			if at := slices.IndexFunc(r.Packages, func(s review.Summary) bool { return s.Package == c.Package }); at >= 0 {
				p.Summary = r.Packages[at]
			}
			v.Packages = append(v.Packages, p)
		}
		p := &v.Packages[len(v.Packages)-1]
		p.Classes = append(p.Classes, c)
	}
	slices.SortStableFunc(all, func(a, b *classView) int { return a.Class.Compare(b.Class) })
	return all
}

// Files are the class's example, file by file and side by side.
func (c *classView) Files() []file { return sideBySide(c.Class) }
