package render

import (
	"debug/elf"
	"fmt"
	"os"
	"strings"
	"sync"
)

// engineVariable chooses the container engine, as for kpt.
const engineVariable = "KPT_FN_RUNTIME"

// containerRuntime runs images with podman, docker or nerdctl: without network,
// as nobody, without new privileges or capabilities, on a read-only file
// system, within limits, and without any of the caller's environment or files.
type containerRuntime struct {
	opts   Options
	env    environ
	cache  *onceCache[processOutput]
	helper string // this machine's path of a helper for containers, "" for none

	mu     sync.Mutex
	images map[string]*image // by reference
	folder string            // where the engine runs, "" before it did
}

func newContainerRuntime(opts Options, env environ) *containerRuntime {
	c := &containerRuntime{
		opts: opts, env: env, cache: newProcessCache(), images: map[string]*image{},
	}
	if static(opts.ContainerHelper) {
		c.helper = opts.ContainerHelper
	}
	return c
}

func (c *containerRuntime) Name() string { return "container" }

func (c *containerRuntime) Resolve(f Function) (Invocation, error) {
	if f.Image == "" {
		return nil, ErrNotMine
	}
	ref, err := parseImage(f.Image)
	if err != nil {
		return nil, err
	}
	if ref, err = withTag(ref, f.Tag); err != nil {
		return nil, err
	}
	if err := c.permitted(ref); err != nil {
		return nil, err
	}
	name, file, err := c.engine()
	if err != nil {
		return nil, err
	}
	img := c.image(engine{name: name, file: file, env: c.env}, ref)
	return &process{version: "container " + ref.String(), cache: c.cache, start: img.run}, nil
}

// image is the one of that reference; all calls share what is known of it.
func (c *containerRuntime) image(e engine, ref reference) *image {
	c.mu.Lock()
	defer c.mu.Unlock()
	img := c.images[ref.String()]
	if img == nil {
		img = &image{engine: e, ref: ref, pull: c.opts.ImagePullPolicy, helper: c.helper, folder: c.workFolder, limits: limits{
			memory: c.opts.Memory, pids: c.opts.PIDs, timeout: c.opts.Timeout,
		}}
		c.images[ref.String()] = img
	}
	return img
}

// workFolder is where engines run, for they leave files there: conmon an empty
// one named oom.
func (c *containerRuntime) workFolder() (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var err error
	if c.folder == "" {
		c.folder, err = os.MkdirTemp("", "variform-engine-")
	}
	return c.folder, err
}

// close ends the containers that wait for calls. It may be used afterwards.
func (c *containerRuntime) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all sync.WaitGroup
	for _, img := range c.images {
		for _, waiting := range img.takeAll() {
			all.Go(waiting.end)
		}
	}
	all.Wait()
	c.images = map[string]*image{}
	if c.folder != "" {
		_ = os.RemoveAll(c.folder)
		c.folder = ""
	}
}

// withTag applies the Kptfile's tag. A constraint needs a listing of the
// registry, which rendering does not make.
func withTag(ref reference, tag string) (reference, error) {
	if tag == "" {
		return ref, nil
	}
	if isConstraint(tag) {
		return ref, &UnavailableError{
			Reason: fmt.Sprintf("tag %q of %s is a range, and no builtin version fits it", tag, ref.repository),
			Hint:   "name one tag, or pin the image to a digest",
		}
	}
	if ref.digest == "" {
		ref.tag = tag
	}
	return ref, nil
}

func (c *containerRuntime) permitted(ref reference) error {
	switch {
	case c.opts.NoContainers:
		return &UnavailableError{
			Reason: "containers are off, and no builtin function covers this image",
			Hint:   "allow containers",
		}
	case c.opts.AllowedImages != nil && !ref.allowed(c.opts.AllowedImages):
		return &UnavailableError{
			Reason: "the image is not on the list of allowed images",
			Hint:   fmt.Sprintf("review it, then allow it with --allow-image %s", ref),
		}
	}
	return nil
}

// engine finds the engine that KPT_FN_RUNTIME names, or the first one there is.
func (c *containerRuntime) engine() (name, file string, err error) {
	candidates := []string{"podman", "docker", "nerdctl"}
	if want := strings.ToLower(c.env.get(engineVariable)); want != "" {
		if want != "podman" && want != "docker" && want != "nerdctl" {
			return "", "", &UnavailableError{
				Reason: fmt.Sprintf("%s=%q is no engine", engineVariable, want), Hint: "set it to podman, docker or nerdctl",
			}
		}
		candidates = []string{want}
	}
	for _, name := range candidates {
		if file, err := c.env.lookPath(name); err == nil {
			return name, file, nil
		}
	}
	return "", "", &UnavailableError{
		Reason: "no builtin function covers this image, and no container engine was found (" + strings.Join(candidates, ", ") + ")",
		Hint:   "install podman or docker",
	}
}

// static says whether a program can run in a container that has no libraries:
// a Linux program without an interpreter.
func static(file string) bool {
	if file == "" || strings.ContainsAny(file, ",\"\n") { // engines read a mount's path as CSV
		return false
	}
	f, err := elf.Open(file)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return false
		}
	}
	return true
}
