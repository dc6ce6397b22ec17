package resolver

import (
	"slices"
	"strings"
)

// Use says how a requirement was met.
type Use string

// The ways in which a requirement is met.
const (
	UseNew      Use = "new"
	UseExisting Use = "existing"
	UseAPI      Use = "api"
	UsePlatform Use = "platform"
)

// Binding is what one requirement got.
type Binding struct {
	Alias   string `json:"alias"`
	Use     Use    `json:"use"`
	Package string `json:"package,omitempty"`
	Version string `json:"version,omitempty"`
	Tag     string `json:"tag,omitempty"`
	// Installation is the name of the instance, Namespace where it is.
	Installation string `json:"installation,omitempty"`
	Namespace    string `json:"namespace,omitempty"`
	// Alternative is the alternative of anyOf that was taken, from 1; 0 where there was none.
	Alternative int `json:"alternative,omitempty"`
	// OutputMap maps the interface's names of outputs to those of the instance.
	OutputMap map[string]string `json:"outputMap,omitempty"`
	// CreatedBy is the installation that the instance was made for.
	CreatedBy string `json:"createdBy,omitempty"`
	GVK       *GVK   `json:"gvk,omitempty"`
	// Needs is what was asked for, as a person would say it.
	Needs string `json:"needs,omitempty"`
	// Range is the range of versions, or the digest, in that; empty for any.
	Range string `json:"-"`
	// Created tells that this resolution makes the instance for this parent.
	Created bool `json:"created,omitempty"`

	passed []string // what is there of the package and lacks what is used of it
}

// Instance is one installation of the solution.
type Instance struct {
	Name      string
	Namespace string
	Package   string
	Version   string
	Tag       string
	Source    string
	Digest    string
	// From is the version that an existing installation has now; empty for a new one.
	From string
	// Existing tells that it is there already, Requested that it was asked for by itself.
	Existing  bool
	Requested bool
	// Create tells that it is to be made now, or kept where an earlier resolution made it.
	Create bool
	// Direct tells that it was asked for or is a direct dependency of what was.
	Direct bool
	// Owner is the instance that it is made for: the first that needs it. ManagedBy is set where the requirement is managed.
	Owner      string
	ManagedBy  string
	Alias      string
	Share      Share
	Labels     map[string]string
	Parameters map[string]string
	Bindings   []Binding

	manifest *version
	slot     *slot
	scope    Scope // how many of it there can be
	root     *Request
	maker    *Instance // the parent that it is made for
	locked   bool
}

// stays tells that it is there as it is, and is not looked into.
func (i *Instance) stays() bool {
	return i.Existing && i.From == i.Version && (!i.Requested || i.root != nil && i.root.SkipDependencies)
}

// Ref is "namespace/name", or the name alone of a global instance.
func (i *Instance) Ref() string { return Installation{Name: i.Name, Namespace: i.Namespace}.Ref() }

// Change is an installation that gets another version.
type Change struct {
	Installation string `json:"installation"`
	From         string `json:"from"`
	To           string `json:"to"`
	Kind         string `json:"kind"` // upgrade or downgrade
}

// Skipped is an optional dependency that is left out.
type Skipped struct {
	Parent  string `json:"parent"`
	Alias   string `json:"alias"`
	Because string `json:"because"`
}

// Inputs are values that a person has to give.
type Inputs struct {
	Parameters  []string `json:"parameters,omitempty"`
	Credentials []string `json:"credentials,omitempty"`
}

func (i Inputs) empty() bool { return len(i.Parameters)+len(i.Credentials) == 0 }

// Wire passes a value to a parameter, a credential or an output of an instance.
type Wire struct {
	// To is the instance (by Ref) and Field "parameters.x", "credentials.x" or "outputs.x".
	To    string `json:"to"`
	Field string `json:"field"`
	// Template is the value; its expressions read the scope of Parent, outputs.* that of From.
	Template string `json:"template"`
	Parent   string `json:"parent"`
	From     string `json:"from,omitempty"`
}

// Resolution is the answer: every instance, how each requirement is met, and the order of execution.
type Resolution struct {
	// Instances are in the order of a walk from what was asked for, breadth first, aliases sorted.
	Instances []*Instance
	Changes   []Change
	Skipped   []Skipped
	// SkippedDependencies are the aliases that were left alone because dependencies are switched off.
	SkippedDependencies []string
	// Creates are the names of the instances that are to be made now.
	Creates []string
	// Plan are waves of instances by Ref: all of a wave may run at once, after all waves before it.
	Plan   [][]string
	Wiring []Wire
	// RequiredOutputs are the outputs that are read, by the alias of the dependency that has them.
	RequiredOutputs map[string][]string
	// Unmapped are inputs of dependencies that nothing maps, by alias. Asked adds those of what was asked
	// for, under "root": all that a person has to give.
	Unmapped map[string]Inputs
	Asked    map[string]Inputs
	Lock     *Lock
	// Preferred tells that no better resolution exists; false only where the search for one was cut short.
	Preferred   bool
	IgnoredTags []string
	// Disputes are what those who share an instance cannot agree on, as far as that is known without any
	// outputs; with them [Resolution.Sharing] tells the rest.
	Disputes []*DisputeError
	// Effort counts the work of the search.
	Effort Effort

	// made is the wiring that existing installations got when they were made, and would get again.
	made []Wire
}

// Effort counts the work of a search. Steps are what [Input.Budget] bounds.
type Effort struct {
	Decisions, Conflicts, Searches int
	Steps                          int64
}

// Root is the instance of the first request.
func (r *Resolution) Root() *Instance {
	for _, i := range r.Instances {
		if i.Requested {
			return i
		}
	}
	return nil
}

// Find is the instance of that Ref or name, or nil.
func (r *Resolution) Find(ref string) *Instance {
	for _, i := range r.Instances {
		if i.Ref() == ref {
			return i
		}
	}
	for _, i := range r.Instances {
		if i.Name == ref {
			return i
		}
	}
	return nil
}

// Binding is what an alias of the first request got, or nil.
func (r *Resolution) Binding(alias string) *Binding {
	root := r.Root()
	if root == nil {
		return nil
	}
	for i := range root.Bindings {
		if root.Bindings[i].Alias == alias {
			return &root.Bindings[i]
		}
	}
	return nil
}

// Render computes the outputs of every instance and the values of all wiring, given the outputs that running
// things gave, by "alias.outputs.name", "instance.outputs.name" or Ref in its place. The result has the keys
// "instance.outputs.name", "instance.parameters.name" and "instance.credentials.name"; what cannot be known yet is left out.
func (r *Resolution) Render(outputs map[string]string) map[string]string {
	have := map[string]string{}
	for _, i := range r.Instances {
		if i.slot != nil && i.slot.inst != nil {
			for k, v := range i.slot.inst.Values {
				have[i.Ref()+".outputs."+k] = v
			}
		}
	}
	for k, v := range outputs {
		name, rest, ok := strings.Cut(k, ".outputs.")
		if b := r.Binding(name); ok && b != nil && b.Installation != "" {
			have[ref(b)+".outputs."+rest] = v
		} else if i := r.Find(name); ok && i != nil {
			have[i.Ref()+".outputs."+rest] = v
		}
	}
	out := map[string]string{}
	for range r.Wiring { // each round may make values that others wait for
		before := len(out)
		for _, w := range r.Wiring {
			r.renderWire(w, have, out)
		}
		if len(out) == before {
			break
		}
	}
	return out
}

// Reaches are all that an instance needs, by Ref, itself too.
func (r *Resolution) Reaches(of string) []string {
	out := []string{of}
	for n := 0; n < len(out); n++ {
		if i := r.Find(out[n]); i != nil {
			for k := range i.Bindings {
				if b := &i.Bindings[k]; b.Installation != "" && !slices.Contains(out, ref(b)) {
					out = append(out, ref(b))
				}
			}
		}
	}
	return out
}

func ref(b *Binding) string { return Installation{Name: b.Installation, Namespace: b.Namespace}.Ref() }

func (r *Resolution) renderWire(w Wire, have, out map[string]string) {
	to, parent := r.Find(w.To), r.Find(w.Parent)
	text, ok := expand(w.Template, func(path string) (string, bool) { return r.value(w, parent, path, have, out) })
	if !ok {
		return
	}
	out[to.Name+"."+w.Field] = text
	have[to.Ref()+"."+w.Field] = text
}

// value is what an expression reads.
func (r *Resolution) value(w Wire, parent *Instance, path string, have, _ map[string]string) (string, bool) {
	if o, ok := strings.CutPrefix(path, "outputs."); ok {
		v, ok := have[w.From+".outputs."+o]
		return v, ok
	}
	if d, ok := dependencyOutput(path); ok {
		for i := range parent.Bindings {
			b := &parent.Bindings[i]
			if b.Alias != d.alias {
				continue
			}
			name := d.output
			if mapped, ok := b.OutputMap[name]; ok {
				name = mapped
			}
			v, ok := have[ref(b)+".outputs."+name]
			return v, ok
		}
		return "", false
	}
	if p, ok := strings.CutPrefix(path, "bundle."); ok && (strings.HasPrefix(p, "parameters.") || strings.HasPrefix(p, "credentials.")) {
		if v, ok := have[parent.Ref()+"."+p]; ok {
			return v, true
		}
		if name, ok := strings.CutPrefix(p, "parameters."); ok {
			v, ok := parent.Parameters[name]
			return v, ok
		}
		return "", false
	}
	return r.scoped(path, parent)
}

// scoped is what an expression about a package or an installation reads.
func (r *Resolution) scoped(path string, i *Instance) (string, bool) {
	root := r.Root()
	if i.root != nil {
		root = r.rootOf(i)
	}
	switch strings.ToLower(path) {
	case "bundle.name":
		return i.Package, true
	case "bundle.version":
		return i.Version, true
	case "installation.name":
		return i.Name, true
	case "installation.namespace":
		return i.Namespace, true
	case "installation.id":
		return i.Namespace + "/" + i.Name, true
	case "installation.root.id":
		return root.Namespace + "/" + root.Name, true
	case "installation.root.name":
		return root.Name, true
	case "installation.root.namespace":
		return root.Namespace, true
	}
	return "", false
}

// rootOf is the instance of the request that an instance was made for.
func (r *Resolution) rootOf(i *Instance) *Instance {
	for _, o := range r.Instances {
		if o.Requested && o.root == i.root {
			return o
		}
	}
	return r.Root()
}

// Manifest is what the catalogue says of the instance's version, nil where it does not know it.
func (i *Instance) Manifest() *Package {
	if i.manifest == nil {
		return nil
	}
	return i.manifest.Package
}

// RootRef is the Ref of the request that an instance was made for, its own for what was asked for by itself.
func (r *Resolution) RootRef(i *Instance) string {
	if i.root == nil {
		return ""
	}
	return r.rootOf(i).Ref()
}

// Outputs are the known values of a dependency's outputs under the names that its parent uses, by
// "alias.outputs.name", for the first request.
func (r *Resolution) Outputs() map[string]string {
	out := map[string]string{}
	root := r.Root()
	if root == nil {
		return out
	}
	for _, b := range root.Bindings {
		i := r.Find(ref(&b))
		if i == nil || i.slot == nil || i.slot.inst == nil {
			continue
		}
		for k, v := range i.slot.inst.Values {
			out[b.Alias+".outputs."+k] = v
		}
		for want, has := range b.OutputMap {
			if v, ok := i.slot.inst.Values[has]; ok {
				out[b.Alias+".outputs."+want] = v
			}
		}
	}
	return out
}

// Installations is the environment after the resolution has been carried out: what was there, changed, and
// what is new. Outputs that pass a parameter of the same name on are known.
func (r *Resolution) Installations(before []Installation) []Installation {
	out := slices.Clone(before)
	for _, i := range r.Instances {
		if !i.Existing && !slices.Contains(r.Creates, i.Name) {
			continue
		}
		at := slices.IndexFunc(out, func(o Installation) bool { return o.Name == i.Name && o.Namespace == i.Namespace })
		if at < 0 {
			out = append(out, i.installation())
			continue
		}
		out[at].Version = i.Version
		if out[at].Bindings == nil && len(i.Bindings) > 0 {
			out[at].Bindings = map[string]string{}
		}
		for _, b := range i.Bindings {
			if b.Installation != "" {
				out[at].Bindings[b.Alias] = ref(&b)
			}
		}
	}
	return out
}

func (i *Instance) installation() Installation {
	o := Installation{
		Name: i.Name, Namespace: i.Namespace, Package: i.Package, Version: i.Version, Mode: i.Share.Mode, Group: i.Share.Group,
		Labels: i.Labels, Owner: i.Owner, ManagedBy: i.ManagedBy, Bindings: map[string]string{}, Values: map[string]string{},
	}
	for _, b := range i.Bindings {
		if b.Installation != "" {
			o.Bindings[b.Alias] = ref(&b)
		}
	}
	if i.manifest != nil {
		for _, f := range i.manifest.Outputs {
			if v, ok := i.Parameters[f.Name]; ok {
				o.Values[f.Name] = v
			}
		}
	}
	return o
}
