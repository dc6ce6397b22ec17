package render

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"sync/atomic"
	"time"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/function"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/krmignore"
	"github.com/variform/variform/internal/provenance"
)

// Renderer renders packages. It is safe for concurrent use, and keeps what
// programs answered for as long as it lives: they are not asked the same twice.
type Renderer struct {
	opts     Options
	runtimes []Runtime
	outside  atomic.Bool
}

// New makes a Renderer.
func New(opts Options) *Renderer {
	if opts.Registry == "" {
		opts.Registry = DefaultRegistry
	}
	if opts.Timeout <= 0 {
		opts.Timeout = defaultTimeout
	}
	if opts.Memory <= 0 {
		opts.Memory = defaultMemory
	}
	if opts.PIDs <= 0 {
		opts.PIDs = defaultPIDs
	}
	r := &Renderer{opts: opts, runtimes: opts.Runtimes}
	if r.runtimes == nil {
		env := newEnviron(opts.Environ)
		r.runtimes = []Runtime{ // asked in this order
			newBuiltins(opts),
			newExecRuntime(opts, env),
			newContainerRuntime(opts, env),
		}
	}
	return r
}

// The limits of one function; the time is kpt's.
const (
	defaultTimeout = 5 * time.Minute
	defaultMemory  = 1 << 30
	defaultPIDs    = 256
)

// Close ends the containers and workers that wait for further calls. A Renderer
// that is not closed leaves them until this process ends, containers for half a
// minute at most.
func (r *Renderer) Close() {
	for _, rt := range r.runtimes {
		switch rt := rt.(type) {
		case *containerRuntime:
			rt.close()
		case *builtins:
			rt.workers.close()
		}
	}
}

// step is one function with what will run it.
type step struct {
	Function
	runtime string
	call    Invocation
}

// Render runs the pipelines of p and of its subpackages and returns the result
// as a new package; p stays as it is. Without any function the result is p.
//
// Errors are PipelineErrors, UnreadableErrors and FunctionErrors: all that cannot
// be read, or all functions that cannot run, before anything runs; later the first
// mutator that fails, or all failing validators of one package. The Result then
// lists the functions that ran, and has a Package only where the root's Kptfile asks
// for what was done before the failure (`kpt.dev/save-on-render-failure`).
func (r *Renderer) Render(ctx context.Context, p *krm.Package) (*Result, error) {
	if root, err := buildTree(p, r.opts.Registry); err == nil {
		if packages, functions := root.count(); functions == 0 {
			return &Result{Package: p, Packages: packages, Notes: root.allNotes()}, nil
		}
	}
	return r.render(ctx, p, nil)
}

// Watch is Render that shows each mutator's work. Built-in functions can be run again.
func (r *Renderer) Watch(ctx context.Context, p *krm.Package, show func(provenance.Call)) (*Result, error) {
	return r.render(ctx, p, show)
}

func (r *Renderer) render(ctx context.Context, p *krm.Package, show func(provenance.Call)) (*Result, error) {
	work := p.Clone()
	root, err := buildTree(work, r.opts.Registry)
	if err != nil {
		return &Result{}, err
	}
	plan, err := r.plan(root)
	if err != nil {
		return &Result{}, err
	}
	h := &hydration{r: r, work: work, plan: plan, show: show, pkgDir: map[*krm.Resource]string{}, added: map[*krm.Resource]bool{}, result: &Result{Notes: root.allNotes()}}
	h.down, h.save = asks(p, annParentsFirst), asks(p, annSavePartial)
	if h.down {
		err = h.parentsFirst(ctx, root)
	} else {
		_, err = h.childrenFirst(ctx, root)
	}
	switch {
	case err == nil:
		h.result.Package = work
	case h.save && ctx.Err() == nil:
		h.result.Package = h.partial(p)
	}
	return h.result, err
}

// Versions identifies the functions that rendering p would run, in order, each
// with its place: inputs is what an input digest has to contain besides p itself,
// versions has the built-in functions' versions, too. Functions that cannot run are
// listed as unavailable.
func (r *Renderer) Versions(p *krm.Package) (inputs, versions []string) {
	root, err := buildTree(p, r.opts.Registry)
	if err != nil {
		unreadable := []string{"unreadable pipeline"}
		return unreadable, unreadable
	}
	_ = root.walk(func(n *pkgNode) error {
		for _, f := range n.functions {
			place := path.Join(n.dir, "Kptfile") + " " + f.field() + " "
			input, version := r.version(f)
			inputs, versions = append(inputs, place+input), append(versions, place+version)
		}
		return nil
	})
	return inputs, versions
}

// Version names what would run for a function that a package is still to get, as
// Versions does: of an image and an exec one is set, and tag may be empty.
func (r *Renderer) Version(image, exec, tag string) (input, version string) {
	f, errs := functionDoc{Image: image, Exec: exec, Tag: tag}.function(nil, "", "", 0, r.opts.Registry)
	if len(errs) > 0 {
		unreadable := "unreadable " + image + exec
		return unreadable, unreadable
	}
	return r.version(f)
}

func (r *Renderer) version(f Function) (input, version string) {
	s, err := r.resolve(f)
	if err != nil {
		unavailable := "unavailable " + f.id()
		return unavailable, unavailable
	}
	return s.call.Input(), s.call.Version()
}

// plan finds a runtime for each function, or says of all that have none what
// to install or allow.
func (r *Renderer) plan(root *pkgNode) (map[*pkgNode][]step, error) {
	plan := map[*pkgNode][]step{}
	var missing unavailable
	_ = root.walk(func(n *pkgNode) error {
		for _, f := range n.functions {
			s, err := r.resolve(f)
			if err != nil {
				missing.add(f, err)
				continue
			}
			plan[n] = append(plan[n], s)
		}
		return nil
	})
	return plan, missing.join()
}

// unavailable are functions that cannot run, each image or program once.
type unavailable struct {
	first []*FunctionError
	users map[string]int // functions, by what they name and why it does not run
}

func (u *unavailable) add(f Function, err error) {
	key := f.id() + "\n" + err.Error()
	if u.users == nil {
		u.users = map[string]int{}
	}
	if u.users[key]++; u.users[key] == 1 {
		u.first = append(u.first, f.fail(err))
	}
}

func (u *unavailable) join() error {
	errs := make([]error, len(u.first))
	for i, e := range u.first {
		if n := u.users[e.Function+"\n"+e.Err.Error()]; n > 1 {
			e.Err = fmt.Errorf("%w (it is named %d times in all)", e.Err, n)
		}
		errs[i] = e
	}
	return errors.Join(errs...)
}

// Outside says that some function was asked for that is not built in: what runs then
// is up to the machine.
func (r *Renderer) Outside() bool { return r.outside.Load() }

func (r *Renderer) resolve(f Function) (step, error) {
	for _, rt := range r.runtimes {
		if _, builtin := rt.(*builtins); !builtin {
			r.outside.Store(true)
		}
		call, err := rt.Resolve(f)
		if errors.Is(err, ErrNotMine) {
			continue
		}
		var none *UnavailableError
		if versions := builtinVersions(f.Image); errors.As(err, &none) && versions != "" {
			return step{}, &UnavailableError{Reason: none.Reason, Hint: none.Hint + ", or use what is built in: " + versions}
		}
		if err != nil {
			return step{}, err
		}
		return step{Function: f, runtime: rt.Name(), call: call}, nil
	}
	return step{}, &UnavailableError{Reason: "no runtime knows this function"}
}

// hydration is one rendering under way.
type hydration struct {
	r      *Renderer
	work   *krm.Package
	plan   map[*pkgNode][]step
	pkgDir map[*krm.Resource]string // package of each resource seen so far
	added  map[*krm.Resource]bool   // by functions
	result *Result
	down   bool         // parents are rendered before their subpackages
	save   bool         // what was done before a failure is wanted
	undone *krm.Package // the work before the mutator that failed, where save is set
	show   func(provenance.Call)
}

func (h *hydration) pipeline(ctx context.Context, n *pkgNode, input []*krm.Resource, configs map[string]*yaml.RNode) ([]*krm.Resource, error) {
	steps := h.plan[n]
	if len(steps) == 0 {
		return input, nil
	}
	if err := h.unnamed(n, input); err != nil {
		return nil, err
	}
	var failures []error
	for _, s := range steps {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		var err error
		if s.Type == mutators {
			input, err = h.mutate(ctx, n, s, input, configs)
		} else {
			err = h.validate(ctx, n, s, input, configs)
			if err != nil {
				failures, err = append(failures, err), nil
			}
		}
		if err != nil {
			return nil, err
		}
	}
	return input, errors.Join(failures...)
}

// The two lists of a pipeline.
const (
	mutators   = "mutators"
	validators = "validators"
)

// unnamed refuses resources without a name, as kpt does where a pipeline runs.
func (h *hydration) unnamed(n *pkgNode, input []*krm.Resource) error {
	var errs []error
	for _, res := range input {
		if err := checkKRM(res.Node(), res.Path()); err != nil {
			errs = append(errs, &PipelineError{Package: n.dir, Err: err})
		}
	}
	return errors.Join(errs...)
}

// checkKRM follows kpt: apiVersion, kind and name, kustomizations excepted.
func checkKRM(n *yaml.RNode, file string) error {
	kind, version := n.GetKind(), n.GetApiVersion()
	if strings.HasPrefix(version, "kustomize.config.k8s.io") || isKustomization(path.Base(file)) {
		return nil
	}
	switch {
	case version == "" || kind == "":
		return fmt.Errorf("%s: resource without apiVersion or kind", file)
	case n.GetName() == "":
		return fmt.Errorf("%s: %s without metadata.name; name it, or list the file in %s", file, kind, krmignore.Name)
	}
	return nil
}

func isKustomization(base string) bool {
	return base == "kustomization.yaml" || base == "kustomization.yml" || base == "Kustomization"
}

// originalConfigs are the functionConfigs as they were before the pipeline:
// kpt gives those to validators, and to mutators whose config an earlier
// function took away.
func originalConfigs(n *pkgNode) map[string]*yaml.RNode {
	out := map[string]*yaml.RNode{}
	for _, f := range n.functions {
		if f.ConfigPath == "" || out[f.ConfigPath] != nil {
			continue
		}
		if found := configsAt(n.local, n.dir, f.ConfigPath); len(found) > 0 {
			out[f.ConfigPath] = found[0].Node().Copy()
		}
	}
	return out
}

func (h *hydration) mutate(ctx context.Context, n *pkgNode, s step, input []*krm.Resource, configs map[string]*yaml.RNode) ([]*krm.Resource, error) {
	config := h.config(n, s, input, configs)
	call := &Call{
		Call: &function.Call{Package: h.work, Selected: h.selected(n, s, input), Config: config},
		Dir:  n.dir, PkgDir: func(res *krm.Resource) string { return h.pkgDir[res] },
	}
	before := resourcePaths(h.work)
	var saved *krm.Package
	if h.save {
		saved = h.work.Clone()
	}
	var seen *provenance.Call
	if h.show != nil {
		seen = h.seen(ctx, s, call)
	}
	entry := h.entryOf(n, s, call)
	err := h.run(ctx, s, call)
	if err == nil {
		entry.keep(h.work.Kptfile(n.dir), s.Type)
		input, err = h.settle(n, s, input, before)
	}
	if err != nil {
		h.undone = saved
		return nil, err
	}
	if seen != nil {
		seen.After = h.work
		h.show(*seen)
	}
	return input, nil
}

// config is what the function is configured with. A mutator gets its resource
// as earlier mutators left it, a validator as it was: but for packages that are
// rendered from above, which is younger in kpt than the validator's own rule.
func (h *hydration) config(n *pkgNode, s step, input []*krm.Resource, configs map[string]*yaml.RNode) *yaml.RNode {
	switch {
	case s.ConfigPath != "" && (s.Type == mutators || h.down):
		for _, res := range input {
			if h.pkgDir[res] == n.dir && res.Path() == path.Join(n.dir, s.ConfigPath) {
				return res.Node()
			}
		}
		return configs[s.ConfigPath]
	case s.ConfigPath != "":
		return configs[s.ConfigPath]
	case len(s.ConfigMap) > 0:
		return configMapNode(s.ConfigMap)
	}
	return nil
}

// settle finds out what a mutator deleted and added, and puts additions where
// they belong.
func (h *hydration) settle(n *pkgNode, s step, input []*krm.Resource, before map[*krm.Resource]string) ([]*krm.Resource, error) {
	var added []*krm.Resource
	live := map[*krm.Resource]bool{}
	for _, res := range h.work.Resources() {
		live[res] = true
		if _, ok := before[res]; !ok {
			added = append(added, res)
		}
	}
	out := make([]*krm.Resource, 0, len(input)+len(added))
	for _, res := range input {
		if live[res] {
			out = append(out, res)
		}
	}
	var errs []error
	for _, res := range added {
		if err := h.place(n, res); err != nil {
			errs = append(errs, s.fail(err))
			continue
		}
		out = append(out, res)
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	if err := h.intoKptfiles(before); err != nil {
		return nil, s.fail(err)
	}
	return out, h.duplicates(s, out, added)
}

// intoKptfiles refuses what a function put into a Kptfile beside the Kptfile, or in
// its place: nobody could say any more which pipeline is the package's.
func (h *hydration) intoKptfiles(before map[*krm.Resource]string) error {
	held := map[string]int{}
	var put []*krm.Resource
	for _, res := range h.work.Resources() {
		if file := res.Path(); path.Base(file) == "Kptfile" {
			held[file]++
			if before[res] != file {
				put = append(put, res)
			}
		}
	}
	for _, res := range put {
		if held[res.Path()] > 1 || res.Kind() != "Kptfile" || res.APIVersion() != kptfileAPIVersion {
			return fmt.Errorf("output: %s %q was put into %s: a package's Kptfile holds the Kptfile alone; functions may edit it", res.Kind(), res.Name(), res.Path())
		}
	}
	return nil
}

// place checks an added resource and moves it below the function's package
// where its path was meant relative to that.
func (h *hydration) place(n *pkgNode, res *krm.Resource) error {
	file := res.Path()
	if !inside(n.dir, file) {
		file = path.Join(n.dir, file)
	}
	if err := checkTarget(h.work, n.dir, file); err != nil {
		return err
	}
	res.Move(file)
	if err := checkKRM(res.Node(), file); err != nil {
		return fmt.Errorf("output: %w", err)
	}
	h.pkgDir[res] = n.dir
	return nil
}

// duplicates is kpt's invariant on outputs, on what is left of it here: one
// resource is added once, by one function or by several.
func (h *hydration) duplicates(s step, resources, added []*krm.Resource) error {
	for _, res := range added {
		h.added[res] = true
	}
	seen := map[string]bool{}
	for _, res := range resources {
		if !h.added[res] {
			continue
		}
		id := strings.Join([]string{res.Path(), res.APIVersion(), res.Kind(), res.Namespace(), res.Name()}, "|")
		if seen[id] {
			return s.fail(fmt.Errorf("output: %s %q was added twice to %s", res.Kind(), res.Name(), res.Path()))
		}
		seen[id] = true
	}
	return nil
}

func resourcePaths(p *krm.Package) map[*krm.Resource]string {
	rs := p.Resources()
	paths := make(map[*krm.Resource]string, len(rs))
	for _, res := range rs {
		paths[res] = res.Path()
	}
	return paths
}

// validate runs a validator on a copy; what it changes is dropped.
func (h *hydration) validate(ctx context.Context, n *pkgNode, s step, input []*krm.Resource, configs map[string]*yaml.RNode) error {
	chosen := h.selected(n, s, input)
	return h.run(ctx, s, h.twin(&Call{Call: &function.Call{Selected: chosen, Config: h.config(n, s, input, configs)}, Dir: n.dir}, h.work.Clone()))
}

// twin is a call on a copy of the work.
func (h *hydration) twin(c *Call, copied *krm.Package) *Call {
	twin := map[*krm.Resource]*krm.Resource{}
	dirs := map[*krm.Resource]string{}
	originals, copies := h.work.Resources(), copied.Resources()
	for i, res := range originals {
		twin[res] = copies[i]
		dirs[copies[i]] = h.pkgDir[res]
	}
	chosen := make([]*krm.Resource, len(c.Selected))
	for i, res := range c.Selected {
		chosen[i] = twin[res]
	}
	return &Call{
		Call: &function.Call{Package: copied, Selected: chosen, Config: c.Config},
		Dir:  c.Dir, PkgDir: func(res *krm.Resource) string { return dirs[res] },
	}
}

// run calls one function and records what it did.
func (h *hydration) run(ctx context.Context, s step, call *Call) error {
	res := FunctionResult{
		Package: s.Package, Type: s.Type, Index: s.Index, Name: s.Name, Image: s.Image, Exec: s.Exec,
		Runtime: s.runtime, Version: s.call.Version(), Selected: len(call.Selected), Outcome: Passed,
	}
	ctx, cancel := context.WithTimeout(ctx, h.r.opts.Timeout)
	defer cancel()
	start := time.Now()
	out, err := safely(func() (Output, error) { return s.call.Run(ctx, call) })
	res.Duration = time.Since(start)
	res.Results, res.Stderr, res.ExitCode = call.Results, out.Stderr, out.ExitCode
	if err != nil {
		res.Outcome = Failed
		if res.ExitCode == 0 {
			res.ExitCode = 1
		}
	}
	h.result.Functions = append(h.result.Functions, res)
	if err == nil {
		return nil
	}
	failure := s.fail(err)
	failure.Results, failure.Stderr, failure.ExitCode = res.Results, res.Stderr, res.ExitCode
	return failure
}

// safely keeps a function that breaks from taking the program with it.
func safely(run func() (Output, error)) (out Output, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("the function broke: %v", v)
		}
	}()
	return run()
}
