package render

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// engine is a container engine's command line.
type engine struct {
	name string // podman, docker or nerdctl
	file string
	dir  string
	env  []string
}

// limits bound a container.
type limits struct {
	memory  int64 // bytes
	pids    int
	timeout time.Duration // of one call
}

// seconds is the time limit for an engine: a little longer than ours, which says more.
func (l limits) seconds() int64 { return int64(l.timeout.Seconds()) + 1 }

// imageConfig is what an image says of itself.
type imageConfig struct {
	ID     string `json:"Id"`
	Config struct {
		Entrypoint []string
		Cmd        []string
		Volumes    map[string]struct{}
	}
}

func (c imageConfig) command() []string {
	return append(append([]string{}, c.Config.Entrypoint...), c.Config.Cmd...)
}

// output runs a command of the engine that is no function.
func (e engine) output(ctx context.Context, args ...string) ([]byte, error) {
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, e.file, args...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = e.dir, e.env, &stdout, &stderr
	cmd.WaitDelay = 2 * time.Second
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return nil, stopped(ctx)
		}
		return nil, errors.New(said(stderr.String(), err))
	}
	return stdout.Bytes(), nil
}

// said is the last line of an engine's message, or err where it said nothing.
func said(stderr string, err error) string {
	lines := strings.Split(strings.TrimSpace(stderr), "\n")
	if last := strings.TrimSpace(lines[len(lines)-1]); last != "" {
		return last
	}
	return err.Error()
}

func (e engine) inspect(ctx context.Context, ref string) (imageConfig, error) {
	out, err := e.output(ctx, "image", "inspect", ref)
	if err != nil {
		return imageConfig{}, err
	}
	var found []imageConfig
	if err := json.Unmarshal(out, &found); err != nil {
		return imageConfig{}, fmt.Errorf("reading what %s says of the image: %w", e.name, err)
	}
	if len(found) != 1 || found[0].ID == "" {
		return imageConfig{}, fmt.Errorf("%s says of %s that it is %d images: give its whole name", e.name, ref, len(found))
	}
	return found[0], nil
}

// fetch makes sure that an image is here, as policy says.
func (e engine) fetch(ctx context.Context, ref string, policy PullPolicy) (imageConfig, error) {
	if policy != PullAlways {
		c, err := e.inspect(ctx, ref)
		if err == nil || ctx.Err() != nil {
			return c, err
		}
		if policy == PullNever {
			return c, &UnavailableError{
				Reason: fmt.Sprintf("%s has no image %s, and it may not be pulled (%v)", e.name, ref, err),
				Hint:   "load it, or allow pulling with --image-pull-policy IfNotPresent",
			}
		}
	}
	if _, err := e.output(ctx, "pull", "--quiet", ref); err != nil {
		if ctx.Err() != nil {
			return imageConfig{}, err
		}
		return imageConfig{}, &UnavailableError{
			Reason: fmt.Sprintf("%s could not pull %s: %v", e.name, ref, err),
			Hint:   "check the name and the registry's credentials, or load the image and use --image-pull-policy Never", Passing: true,
		}
	}
	return e.inspect(ctx, ref)
}

// containerLabel marks the containers with their image, so that people can find them.
const containerLabel = "dev.variform.function"

// runArgs starts a container that has what a function needs, and no more: its
// standard streams, and a file system that it cannot change.
func (e engine) runArgs(name string, ref reference, l limits) []string {
	args := []string{
		"run", "--rm", "-i", "--name", name, "--label", containerLabel + "=" + ref.String(),
		"--network", "none", "--user", "nobody", "--pull", "never",
		"--security-opt=no-new-privileges", "--cap-drop", "all", "--read-only",
		"--memory", fmt.Sprint(l.memory), "--pids-limit", fmt.Sprint(l.pids),
	}
	if e.name != "nerdctl" { // which has /dev/shm in every container
		args = append(args, "--ipc", "none", "--log-driver", "none")
	}
	if e.name == "podman" {
		// Podman would mount writable folders into a read-only container, and hand on
		// the caller's proxies, which may have passwords in them. Its --ulimit would
		// replace the limits that the user has configured.
		return append(args, "--read-only-tmpfs=false", "--image-volume", "ignore", "--http-proxy=false")
	}
	args = append(args, "--ulimit", fmt.Sprintf("cpu=%d", l.seconds()))
	if e.name == "docker" {
		for _, v := range []string{"http_proxy", "https_proxy", "ftp_proxy", "no_proxy", "all_proxy"} {
			args = append(args, "--env", v+"=", "--env", strings.ToUpper(v)+"=")
		}
	}
	return args
}

// removeTimeout bounds the removal of a container: the engine may hang.
const removeTimeout = 20 * time.Second

// remove ends a container, whatever it does, and waits for that.
func (e engine) remove(name string) {
	ctx, cancel := context.WithTimeout(context.Background(), removeTimeout)
	defer cancel()
	args := []string{"rm", "--force"}
	if e.name == "podman" {
		args = append(args, "--time", "0")
	}
	_, _ = e.output(ctx, append(args, name)...) // it may be gone already
}

// explain tells a failure of the engine from one of the function.
func (e engine) explain(ref reference, exit int, err error) error {
	switch exit {
	case 125:
		return &UnavailableError{
			Reason: fmt.Sprintf("%s could not start %s", e.name, ref),
			Hint:   "see its message", Passing: true,
		}
	case 126, notStarted:
		return fmt.Errorf("%s started %s, but its program cannot be run: %w", e.name, ref, err)
	}
	return err
}
