// Command mkrelease makes the files of a release; `make release` runs it.
//
//	go run ./tools/release/mkrelease -out dist/release -version v1.2.3
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"

	"github.com/variform/variform/tools/release"
)

func main() {
	var r release.Release
	out := flag.String("out", "dist/release", "empty or new folder for the files")
	flag.StringVar(&r.Version, "version", "devel", "version that the files carry, the tag of a release")
	flag.StringVar(&r.Commit, "commit", "", "commit that the programs say")
	flag.StringVar(&r.Images, "images", "", "folder of images' archives to take along")
	created := flag.Int64("created", 0, "time of the commit, in seconds since 1970")
	flag.Parse()
	r.Created = time.Unix(*created, 0)

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	names, err := r.Make(ctx, ".", *out)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mkrelease:", err)
		os.Exit(2)
	}
	for _, name := range names {
		fmt.Println(*out + "/" + name)
	}
}
