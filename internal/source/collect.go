package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sort"
	"strings"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"

	"github.com/variform/variform/api"
	"github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/api/config/v1alpha2"
	variformv1alpha1 "github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/internal/check"
	"github.com/variform/variform/internal/cores"
	"github.com/variform/variform/internal/yamltree"
)

// collector gathers a Fleet.
type collector struct {
	fleet  *Fleet
	limits Limits
	found  []item
}

// item is one object with what its reading found. obj is nil where it cannot
// be used.
type item struct {
	key    Key
	origin Origin
	fields []int // lines of those that are edited
	obj    any
	report api.Report
}

func (c *collector) problem(at Origin, message, hint string) {
	c.fleet.Problems = append(c.fleet.Problems, issue(at, "", message, hint))
}

func issue(at Origin, field, message, hint string) api.Issue {
	return api.Issue{File: at.File, Line: at.Line, Field: field, Message: message, Hint: hint}
}

// parse parses the files side by side and keeps their order.
func (c *collector) parse(ctx context.Context, files []file) error {
	results := make([]fileResult, len(files))
	err := cores.Each(ctx, 0, len(files), func(i int) error {
		results[i] = files[i].parse(c.limits)
		return nil
	})
	found := 0
	for _, r := range results {
		found += len(r.items)
	}
	c.found = slices.Grow(c.found, found)
	for _, r := range results {
		c.found = append(c.found, r.items...)
		if r.foreign != nil {
			c.fleet.Offered = append(c.fleet.Offered, r.foreign.Packages...)
			c.fleet.Installations = append(c.fleet.Installations, r.foreign.Installations...)
			if r.foreign.Lock != nil {
				c.fleet.Locks = append(c.fleet.Locks, r.foreign.Lock)
			}
		}
		c.fleet.Problems = append(c.fleet.Problems, r.problems...)
		c.fleet.Warnings = append(c.fleet.Warnings, r.warnings...)
	}
	return err
}

// manager takes the manager's name from the root Kptfile. It stands in every
// owned package, so that a Kptfile that cannot be read is a Problem.
func (c *collector) manager(kptfile file, override string) {
	if override != "" {
		c.fleet.Manager, c.fleet.Claimed = override, true
		return
	}
	at := Origin{File: kptfileName}
	if errors.Is(kptfile.err, fs.ErrNotExist) {
		return
	}
	if kptfile.err != nil {
		c.problem(at, "the file cannot be read: "+plain(kptfile.err), "the manager's name stands in it: make it readable, or give a manager")
		return
	}
	docs, err := chunk{data: kptfile.data}.parse()
	var se *syntaxError
	if errors.As(err, &se) {
		at.Line = se.line
		c.problem(at, "the file is not YAML: "+se.text, "the manager's name stands in it: correct the file")
		return
	}
	if len(docs) == 0 || yamltree.Text(docs[0].root, "kind") != kptfilev1.KptFileGVK().Kind {
		c.problem(at, "the file is not a Kptfile", "give it apiVersion kpt.dev/v1, kind Kptfile and metadata.name, or remove it")
		return
	}
	name := yamltree.Path(docs[0].root, "metadata", "name")
	if name != nil {
		at.Line = name.Line
	}
	if err := api.CheckName(yamltree.Text(name)); err != nil {
		c.fleet.Problems = append(c.fleet.Problems, issue(at, "metadata.name", "metadata.name: "+err.Error(),
			"the manager's name stands in it: use lower-case letters, digits, dashes and dots"))
		return
	}
	c.fleet.Manager = yamltree.Text(name)
}

// finish parts the good objects from the others and sorts what was said.
func (c *collector) finish() *Fleet {
	f := c.fleet
	f.origins = map[fieldKey]Origin{}
	c.duplicates()
	for _, it := range c.found {
		f.Problems = append(f.Problems, it.report.Errors...)
		f.Warnings = append(f.Warnings, it.report.Warnings...)
		if it.report.Err() != nil {
			f.Rejected = append(f.Rejected, Rejected{Key: it.key, Origin: it.origin, Issues: it.report.Errors})
			continue
		}
		if o, ok := it.obj.(*Object); ok {
			f.Objects = append(f.Objects, o)
			continue
		}
		f.origins[fieldKey{it.key, ""}] = it.origin
		for n, line := range it.fields {
			f.origins[fieldKey{it.key, edited[it.key.Kind][n]}] = Origin{it.origin.File, line}
		}
		switch o := it.obj.(type) {
		case *v1alpha1.Repository:
			f.Repositories = append(f.Repositories, o)
		case *v1alpha2.PackageVariantSet:
			f.Sets = append(f.Sets, o)
		case *v1alpha1.PackageVariant:
			f.Variants = append(f.Variants, o)
		case *variformv1alpha1.Installation:
			f.Installations = append(f.Installations, o)
		case *variformv1alpha1.Catalog:
			f.Catalogs = append(f.Catalogs, o)
		case *variformv1alpha1.PackageLock:
			f.Locks = append(f.Locks, o)
		case *variformv1alpha1.Rollout:
			f.Rollouts = append(f.Rollouts, o)
		case *variformv1alpha1.RolloutStrategy:
			f.Strategies = append(f.Strategies, o)
		}
	}
	f.objects = slices.SortedFunc(slices.Values(f.Objects), func(a, b *Object) int { return a.compare(b.Key) })
	byPlace(f.Problems)
	byPlace(f.Warnings)
	return f
}

// checks reads the severities of checks from the root Kptfile; manager reports one that cannot
// be read.
func (c *collector) checks(kptfile []byte) {
	docs, err := chunk{data: kptfile}.parse()
	if err != nil || len(docs) == 0 {
		return
	}
	list := yamltree.Path(docs[0].root, "metadata", "annotations", variformv1alpha1.ChecksAnnotation)
	if c.fleet.Checks, err = check.ParseSeverities(yamltree.Text(list)); err != nil {
		field := "metadata.annotations[" + variformv1alpha1.ChecksAnnotation + "]"
		c.fleet.Problems = append(c.fleet.Problems, issue(Origin{kptfileName, list.Line}, field, field+": "+err.Error(), "correct it"))
	}
}

// duplicates rejects all objects of one identity: which of them is meant
// nobody can tell, and a wrong guess would be written to a fleet.
func (c *collector) duplicates() {
	places := make(map[Key][]int, len(c.found))
	for i, it := range c.found {
		if it.key.Name != "" {
			places[it.key] = append(places[it.key], i)
		}
	}
	for key, at := range places {
		if len(at) < 2 {
			continue
		}
		for _, i := range at {
			var others []string
			for _, j := range at {
				if j != i {
					others = append(others, c.found[j].origin.String())
				}
			}
			found := &c.found[i]
			found.report.Errors = append(found.report.Errors, issue(found.origin, "metadata.name",
				fmt.Sprintf("%s is defined again at %s", key, strings.Join(others, ", ")),
				"keep one of them, or give them different names or namespaces"))
		}
	}
}

// byPlace sorts by file and line; findings of one line keep their order.
func byPlace(list api.Issues) {
	sort.SliceStable(list, func(i, j int) bool {
		if list[i].File != list[j].File {
			return list[i].File < list[j].File
		}
		return list[i].Line < list[j].Line
	})
}
