// Command toolhost runs plugins that serve tools for agents, and calls them.
//
// Start with toolhost demo, which shows the whole way of a call on the
// directory that it stands in. Each file here is named for the command, or the
// noun, that it has.
package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"sync"
	"syscall"

	"github.com/toolhost/toolhost/host/plugin"
)

func main() {
	if os.Getenv("GOGC") == "" {
		// Most commands are done before a collection would give anything back: the
		// first one, at 4 MiB, took a tenth of the time of toolhost tools.
		debug.SetGCPercent(400)
	}
	quietGRPC()
	_ = plugin.Conceal() // toolhost doctor tells where it is not
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is the whole command: it returns the exit status.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// The first signal ends the work in good order; with the handler gone, the
	// second one ends the process at once.
	defer context.AfterFunc(ctx, stop)()
	// A reader that has had enough, such as head, must not end this process
	// before its plugins: with a handler, writing fails instead.
	broken := make(chan os.Signal, 1)
	signal.Notify(broken, syscall.SIGPIPE)
	defer signal.Stop(broken)

	a := &app{stdin: stdin, unkeptLocks: new(sync.Map), out: newOutput(stdout), err: newOutput(stderr), openTerminal: openTerminal}
	root := a.rootCommand()
	root.SetArgs(append([]string{}, args...)) // not nil, which cobra takes for os.Args
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	cmd, err := root.ExecuteContextC(ctx)
	if err != nil && !a.began { // flags and arguments are cobra's to judge
		err = usageIn(cmd, err)
	}
	return a.finish(err)
}

// finish prints the error, if there is one, and chooses the exit status.
func (a *app) finish(err error) int {
	if err == nil && a.out.err != nil && !errors.Is(a.out.err, syscall.EPIPE) {
		err = &failure{exitFailed, a.out.err}
	}
	if err == nil {
		return exitDone
	}
	a.printError(err)
	return exitStatus(err)
}
