package merge

import (
	_ "embed"
	"sort"
	"strings"
	"sync"

	"github.com/variform/variform/internal/krm"
)

// mergeKeysTable is what the Kubernetes and kustomize schemas say about lists,
// cut down to the types and fields that lead to a list with merge keys. It is
// written by the test TestMergeKeysTable -update from kyaml's schemas, so that
// merging neither parses those at run time nor touches kyaml's global state.
//
//	T apps/v1 Deployment 7     the type's definition
//	D 7 metadata 3             a field that is a map
//	D 9 * 4                    any other field
//	D 8 containers [name] 12   a list keyed by name, and its items
//	D 5 finalizers {}          a list that is a set of scalars
//	D 6 versions [] 9          a list without keys whose items matter
//
//go:embed mergekeys.txt
var mergeKeysTable string

// schema is one definition of the table; nil where nothing is known.
type schema struct {
	fields map[string]schemaField
}

// schemaField is what is known about one field.
type schemaField struct {
	list      bool
	set       bool     // a list of scalars without order or duplicates
	functions bool     // the functions of a Kptfile's pipeline
	keys      []string // merge keys of a list of maps, the primary one first
	next      *schema  // of the map, or of the list's items
}

// field returns what is known about a field; the zero value is nothing.
func (s *schema) field(name string) schemaField {
	if s == nil {
		return schemaField{}
	}
	if f, ok := s.fields[name]; ok {
		return f
	}
	return s.fields["*"]
}

// schemaFor returns the schema of a type. Types of an unknown version get the
// schema of the newest known one, as list keys do not change with versions.
func schemaFor(apiVersion, kind string) *schema {
	t := loadSchemas()
	if s, ok := t[apiVersion+" "+kind]; ok {
		return s
	}
	return t[krm.GroupOf(apiVersion)+"/* "+kind]
}

var loadSchemas = sync.OnceValue(func() map[string]*schema {
	return parseSchemas(mergeKeysTable)
})

func parseSchemas(table string) map[string]*schema {
	types := map[string]*schema{}
	defs := map[string]*schema{}
	def := func(id string) *schema {
		if defs[id] == nil {
			defs[id] = &schema{fields: map[string]schemaField{}}
		}
		return defs[id]
	}
	var names []string
	for line := range strings.SplitSeq(table, "\n") {
		w := strings.Fields(line)
		switch {
		case len(w) == 4 && w[0] == "T":
			name := w[1] + " " + w[2]
			types[name] = def(w[3])
			names = append(names, name)
		case len(w) >= 4 && w[0] == "D":
			def(w[1]).fields[w[2]] = parseSchemaField(w[3:], def)
		}
	}
	sort.Strings(names)
	for _, name := range names { // the last version in order stands for the unknown ones
		apiVersion, kind, _ := strings.Cut(name, " ")
		types[krm.GroupOf(apiVersion)+"/* "+kind] = types[name]
	}
	return types
}

func parseSchemaField(w []string, def func(string) *schema) schemaField {
	var f schemaField
	switch {
	case w[0] == "{}":
		return schemaField{list: true, set: true}
	case strings.HasPrefix(w[0], "["):
		f.list = true
		if keys := strings.Trim(w[0], "[]"); keys != "" {
			f.keys = strings.Split(keys, ",")
		}
		w = w[1:]
	}
	if len(w) > 0 {
		f.next = def(w[0])
	}
	return f
}
