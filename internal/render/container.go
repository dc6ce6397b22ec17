package render

import (
	"fmt"
	"strings"
)

// engineVariable chooses the container engine, as for kpt.
const engineVariable = "KPT_FN_RUNTIME"

// containerRuntime runs images with podman, docker or nerdctl: without network,
// as nobody, without new privileges, and without any of the caller's
// environment or files.
type containerRuntime struct {
	opts  Options
	env   environ
	cache *onceCache[processOutput]
}

func newContainerRuntime(opts Options, env environ) *containerRuntime {
	return &containerRuntime{opts: opts, env: env, cache: &onceCache[processOutput]{limit: processCacheBytes}}
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
	engine, file, err := c.engine()
	if err != nil {
		return nil, err
	}
	return &process{
		version: "container " + ref.String(), path: file, args: c.args(engine, ref),
		dir: c.opts.WorkDir, env: c.env, cache: c.cache,
		explain: func(exit int, err error) error { return explainEngine(engine, ref, exit, err) },
	}, nil
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
			Hint:   "allow containers, or use a version that is built in",
		}
	case c.opts.AllowedImages != nil && !ref.allowed(c.opts.AllowedImages):
		return &UnavailableError{
			Reason: "the image is not on the list of allowed images",
			Hint:   fmt.Sprintf("review it, then allow %s", ref),
		}
	case c.opts.RequireDigest && ref.digest == "":
		return &UnavailableError{
			Reason: "the image is not pinned",
			Hint:   fmt.Sprintf("name it as %s@sha256:… in the Kptfile", ref.repository),
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
		if file, err := c.env.lookPath(name, ""); err == nil {
			return name, file, nil
		}
	}
	return "", "", &UnavailableError{
		Reason: "no builtin function covers this image, and no container engine was found (" + strings.Join(candidates, ", ") + ")",
		Hint:   "install podman or docker, or use a version that is built in",
	}
}

func (c *containerRuntime) args(engine string, ref reference) []string {
	network := "none"
	if c.opts.AllowNetwork {
		network = "host"
	}
	args := []string{"run", "--rm", "-i", "--network", network, "--user", "nobody", "--security-opt=no-new-privileges"}
	if engine != "nerdctl" {
		args = append(args, "--quiet")
	}
	pull := map[PullPolicy]string{PullAlways: "always", PullNever: "never"}[c.opts.ImagePullPolicy]
	if pull == "" {
		pull = "missing"
	}
	return append(args, "--pull", pull, ref.String())
}

// explainEngine tells a failure of the engine from one of the function.
func explainEngine(engine string, ref reference, exit int, err error) error {
	switch exit {
	case 125:
		return &UnavailableError{
			Reason: fmt.Sprintf("%s could not start %s", engine, ref),
			Hint:   "see its message; the image may be missing here, or the engine not running",
		}
	case 126, 127:
		return fmt.Errorf("%s started %s, but its program cannot be run: %w", engine, ref, err)
	}
	return err
}
