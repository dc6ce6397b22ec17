// Command mkkubeschemas writes the schemas of Kubernetes' own kinds that internal/check
// has; `make kube-schemas` runs it. It downloads the source of eight releases.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/variform/variform/tools/kubeschemas"
)

func main() {
	out := flag.String("out", "internal/check/kubernetes.txt.gz", "the file to write")
	flag.Parse()
	if err := write(*out); err != nil {
		fmt.Fprintln(os.Stderr, "mkkubeschemas:", err)
		os.Exit(2)
	}
}

func write(out string) error {
	modules, err := kubeschemas.Download()
	if err != nil {
		return err
	}
	text, err := kubeschemas.Text(modules)
	if err != nil {
		return err
	}
	data, err := kubeschemas.Pack(text)
	if err != nil {
		return err
	}
	return os.WriteFile(out, data, 0o644)
}
