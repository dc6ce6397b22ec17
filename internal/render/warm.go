package render

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os/exec"
	"sync"
	"time"
)

// image is a function's image in one run: what the engine knows of it, and the
// containers that have served a call and wait for the next one. It is fetched
// once, and all containers are of the image that was found then.
type image struct {
	engine engine
	ref    reference
	pull   PullPolicy
	limits limits
	helper string
	folder func() (string, error) // where the engine runs

	fetch    sync.Mutex // held while the image is fetched
	config   *imageConfig
	failed   error // why it could not be fetched at failedAt
	failedAt time.Time

	mu   sync.Mutex
	cold bool // the helper does not work in this image
	idle []*container
}

// fetchAgain is after how long an image that could not be fetched is tried again: a registry
// that does not answer takes its time for each try, and a run asks for each variant.
const fetchAgain = time.Minute

// idleTime is how long a container waits for another call.
const idleTime = 30 * time.Second

// run runs the function once: in a waiting container where there is one, in a
// new one that then waits, or in one of its own where the helper cannot run.
func (i *image) run(ctx context.Context, input []byte) (processOutput, error) {
	config, err := i.prepare(ctx)
	if err != nil {
		return processOutput{}, err
	}
	c, err := i.take(ctx, config)
	switch {
	case errors.Is(err, errNoHelper):
		return i.once(ctx, config, input)
	case err != nil:
		return processOutput{}, err
	}
	out, clean, err := c.call(ctx, input)
	if errors.Is(err, errGone) && c.served > 0 {
		c.kill()
		return i.run(ctx, input) // it went while it waited; a function has no effects that could be there twice
	}
	if clean {
		i.put(c)
	} else {
		c.kill()
	}
	if out.exit == notStarted {
		err = i.engine.explain(i.ref, notStarted, err)
	}
	return out, err
}

func (i *image) prepare(ctx context.Context) (imageConfig, error) {
	i.fetch.Lock()
	defer i.fetch.Unlock()
	if i.config == nil {
		if i.failed != nil && time.Since(i.failedAt) < fetchAgain {
			return imageConfig{}, i.failed
		}
		var err error
		if i.engine.dir, err = i.folder(); err != nil {
			return imageConfig{}, fmt.Errorf("a folder for %s: %w", i.engine.name, err)
		}
		c, err := i.engine.fetch(ctx, i.ref.String(), i.pull)
		if err != nil {
			if ctx.Err() == nil { // else somebody stopped it
				i.failed, i.failedAt = err, time.Now()
			}
			return c, err
		}
		i.config, i.failed = &c, nil
	}
	return *i.config, nil
}

// once runs the function in a container of its own.
func (i *image) once(ctx context.Context, config imageConfig, input []byte) (processOutput, error) {
	name := containerName()
	args := i.engine.runArgs(name, i.ref, i.limits)
	if i.engine.name == "podman" { // where we are killed, nobody else ends it
		args = append(args, "--timeout", fmt.Sprint(i.limits.seconds()))
	}
	p := program{path: i.engine.file, args: append(args, config.ID), dir: i.engine.dir, env: i.engine.env}
	out, err := p.run(ctx, input)
	if err != nil && !errors.As(err, new(exitError)) {
		i.engine.remove(name) // stopping the client does not stop the container
	}
	return out, i.engine.explain(i.ref, out.exit, err)
}

// take is a waiting container or a new one; errNoHelper where there can be none.
func (i *image) take(ctx context.Context, config imageConfig) (*container, error) {
	i.mu.Lock()
	if n := len(i.idle); n > 0 {
		c := i.idle[n-1]
		i.idle = i.idle[:n-1]
		i.mu.Unlock()
		c.timer.Stop()
		return c, nil
	}
	cold := i.cold || i.helper == "" || len(config.command()) == 0 || len(config.Config.Volumes) > 0
	i.mu.Unlock()
	if cold {
		return nil, errNoHelper
	}
	c, err := i.start(ctx, config)
	if errors.Is(err, errNoHelper) {
		i.mu.Lock()
		i.cold = true
		i.mu.Unlock()
	}
	return c, err
}

func (i *image) put(c *container) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.idle = append(i.idle, c)
	c.served++
	c.timer = time.AfterFunc(idleTime, func() {
		if i.drop(c) {
			c.end()
		}
	})
}

// drop takes a container from the waiting ones, if it is still there.
func (i *image) drop(c *container) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	for n, waiting := range i.idle {
		if waiting == c {
			i.idle = append(i.idle[:n], i.idle[n+1:]...)
			return true
		}
	}
	return false
}

func (i *image) takeAll() []*container {
	i.mu.Lock()
	defer i.mu.Unlock()
	all := i.idle
	i.idle = nil
	for _, c := range all {
		c.timer.Stop()
	}
	return all
}

// container is one in which a helper serves calls, one at a time.
type container struct {
	*serving // the engine's client
	engine   engine
	name     string
	timer    *time.Timer // while it waits
	served   int         // calls
	killed   sync.Once
}

// errNoHelper says that the helper does not run in an image: the function
// runs in one container a call.
var errNoHelper = errors.New("no helper in this container")

var errGone = errors.New("its container ended before it did")

// helperPath is where a container has the helper.
const helperPath = "/.variform/variform"

func (i *image) start(ctx context.Context, config imageConfig) (*container, error) {
	c := &container{engine: i.engine, name: containerName()}
	args := i.engine.runArgs(c.name, i.ref, i.limits)
	args = append(args, "--mount", "type=bind,src="+i.helper+",dst="+helperPath+",readonly", "--entrypoint", helperPath, config.ID, HelperCommand)
	cmd := exec.Command(i.engine.file, append(args, config.command()...)...)
	cmd.Dir, cmd.Env = i.engine.dir, i.engine.env
	var err error
	if c.serving, err = startServing(cmd); err != nil {
		return nil, fmt.Errorf("starting %s: %w", i.engine.name, err)
	}
	defer context.AfterFunc(ctx, c.stop)()
	if c.ready() == nil {
		return c, nil
	}
	c.kill()
	if ctx.Err() != nil {
		return nil, stopped(ctx)
	}
	return nil, errNoHelper
}

// call runs the function once more. clean says that the container is as it was.
func (c *container) call(ctx context.Context, input []byte) (out processOutput, clean bool, err error) {
	out, clean, broken, err := c.serving.call(ctx, input, c.stop)
	if broken != nil {
		c.kill()
		return out, false, fmt.Errorf("%w (%s): perhaps it was out of memory", errGone, said(c.stderr.String(), broken))
	}
	return out, clean, err
}

// stop makes everything that waits for the container return.
func (c *container) stop() {
	c.engine.remove(c.name)
	_ = c.cmd.Process.Kill() // the engine's client, where it still waits
}

// kill ends the container and waits until it is gone.
func (c *container) kill() {
	c.killed.Do(func() {
		c.stop()
		c.wait()
		c.engine.remove(c.name) // where the client had not yet made it before, and then did
	})
}

// endTime is what a container gets to end by itself.
const endTime = 5 * time.Second

// end lets a waiting container end and waits for it.
func (c *container) end() {
	hung := time.AfterFunc(endTime, c.stop)
	defer hung.Stop()
	c.wait()
}

func containerName() string { return "variform-" + rand.Text() }
