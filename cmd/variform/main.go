// Command variform keeps reviewed variants of kpt packages for a whole fleet.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/variform/variform/internal/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)  // a second Ctrl-C ends the process at once
	program, _ := os.Executable() // without it, scripts of packages run in this process
	status := cli.Main(ctx, os.Args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Program: program, State: cli.StateDir(), Name: os.Args[0]})
	stop()
	os.Exit(status)
}
