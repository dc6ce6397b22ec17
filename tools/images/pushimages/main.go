// Command pushimages writes the functions' images to a registry; `make push`
// runs it. Credentials are those of docker login and podman login.
//
//	go run ./tools/images/pushimages -images dist/images -registry registry.example.com/variform -tags v1.2.3,latest
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/variform/variform/tools/images"
)

func main() {
	dir := flag.String("images", "dist/images", "folder of OCI layouts, one a function")
	registry := flag.String("registry", "", "registry and path, such as registry.example.com/variform")
	tags := flag.String("tags", "latest", "tags that the images get, separated by commas")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, *dir, *registry, strings.Split(images.Tag(*tags), ","))
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "pushimages:", err)
		os.Exit(2)
	}
}

func run(ctx context.Context, dir, registry string, tags []string) error {
	if registry == "" {
		return errors.New("no registry: give it as make push REGISTRY=registry.example.com/path")
	}
	layouts, err := filepath.Glob(filepath.Join(dir, "*", "index.json"))
	if err != nil {
		return err
	}
	if len(layouts) == 0 {
		return fmt.Errorf("no images in %s: build them first (make images)", dir)
	}
	for _, file := range layouts {
		layout := filepath.Dir(file)
		p, err := images.Push(ctx, layout, registry, filepath.Base(layout), tags, remote.WithAuthFromKeychain(authn.DefaultKeychain))
		if err != nil {
			return err
		}
		fmt.Printf("%s  %s  %d referrers\n", p.Image, strings.Join(p.Tags, ","), p.Referrers)
	}
	return nil
}
