// Command mkimages packs the functions' binaries into OCI layouts and docker
// archives; `make images` runs it.
//
//	go run ./tools/images/mkimages -bin dist/bin -out dist/images -version v1
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/tools/images"
)

func main() {
	bin := flag.String("bin", "dist/bin", "folder of binaries, <GOARCH>/<function>")
	out := flag.String("out", "dist/images", "folder for one OCI layout a function, and the archives")
	functions := flag.String("functions", "functions", "folder with <function>/metadata.yaml")
	var r images.Release
	flag.StringVar(&r.Version, "version", "", "version that the images carry")
	flag.StringVar(&r.Revision, "revision", "", "commit that the images carry")
	flag.StringVar(&r.Registry, "registry", "ghcr.io/variform", "registry and path in the names of the archives' images")
	created := flag.Int64("created", 0, "time of the commit, in seconds since 1970")
	flag.Parse()
	r.Created = time.Unix(*created, 0)

	if err := run(*bin, *out, *functions, r); err != nil {
		fmt.Fprintln(os.Stderr, "mkimages:", err)
		os.Exit(2)
	}
}

func run(bin, out, functions string, r images.Release) error {
	files, err := filepath.Glob(filepath.Join(functions, "*", "metadata.yaml"))
	if err != nil {
		return err
	}
	r.About = map[string]images.About{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		var about images.About
		if err := yaml.Unmarshal(data, &about); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		r.About[filepath.Base(filepath.Dir(file))] = about
	}
	built, err := images.BuildFolder(bin, out, r)
	if err != nil {
		return err
	}
	for _, b := range built {
		fmt.Printf("%s  %4.1f MB  %s\n", b.Digest, float64(b.Bytes)/1e6, b.Layout)
	}
	return nil
}
