// Command mkimages packs the functions' binaries into OCI layouts; `make
// images` runs it.
//
//	go run ./internal/images/mkimages -bin dist/bin -out dist/images -version v1
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/variform/variform/internal/images"
)

func main() {
	bin := flag.String("bin", "dist/bin", "folder of binaries, <GOARCH>/<function>")
	out := flag.String("out", "dist/images", "folder for one OCI layout a function")
	version := flag.String("version", "", "version that the images carry")
	flag.Parse()

	built, err := images.BuildFolder(*bin, *out, *version)
	if err != nil {
		fmt.Fprintln(os.Stderr, "mkimages:", err)
		os.Exit(2)
	}
	for _, b := range built {
		fmt.Printf("%s  %s  %s\n", b.Digest, b.Name, b.Layout)
	}
}
