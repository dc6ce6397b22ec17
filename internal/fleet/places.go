package fleet

import (
	"strconv"
	"sync"

	"github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/api/config/v1alpha2"
	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/injection"
	"github.com/variform/variform/internal/provenance"
	"github.com/variform/variform/internal/source"
	"github.com/variform/variform/internal/yamltree"
)

// Places says where the fields of a fleet's objects are written. It is safe for
// concurrent use.
type Places struct {
	files *source.Directory
	fleet *source.Fleet
	mu    sync.Mutex
	lines map[place]int
}

type place struct {
	at    source.Origin
	field string
}

// NewPlaces looks into the files that a fleet was read from.
func NewPlaces(files *source.Directory, fleet *source.Fleet) *Places {
	return &Places{files: files, fleet: fleet, lines: map[place]int{}}
}

// Template implements build.Places.
func (p *Places) Template(w *decide.Want, steps ...string) provenance.Origin {
	if w.Where == nil || w.Set == "" {
		field := "spec"
		for _, s := range steps {
			if _, err := strconv.Atoi(s); err == nil {
				field += "[" + s + "]"
				continue
			}
			field = yamltree.JoinField(field, s)
		}
		return p.at(provenance.Template, kindKey(v1alpha1.KindPackageVariant, w.Namespace, w.Name), field)
	}
	field, expression := w.Where(steps...)
	o := p.at(provenance.Template, kindKey(v1alpha2.KindPackageVariantSet, w.Namespace, w.Set), field)
	o.Expression = expression
	return o
}

// Object implements build.Places.
func (p *Places) Object(ref *injection.Ref, field string) provenance.Origin {
	return p.at(provenance.Object, source.Key{Group: ref.Group, Kind: ref.Kind, Namespace: ref.Namespace, Name: ref.Name}, field)
}

func (p *Places) at(kind provenance.Kind, k source.Key, field string) provenance.Origin {
	o := provenance.Origin{Kind: kind, Object: k.Kind + " " + k.Name, Field: field}
	at := p.fleet.Origin(k)
	if at.File == "" {
		return o
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	line, known := p.lines[place{at, field}]
	if !known {
		line = p.files.Line(at, field)
		p.lines[place{at, field}] = line
	}
	o.File, o.Line = at.File, line
	return o
}
