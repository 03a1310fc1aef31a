// Command toolhost runs plugins that serve tools for agents, and calls them.
//
// Start with toolhost demo, which shows every step of a call in the current directory. Each
// command has a file of its own here; what commands share is below internal, above all in
// internal/session.
package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"

	_ "github.com/toolhost/toolhost/cmd/toolhost/internal/collect" // before others allocate
	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/remedy"
)

func main() {
	prepare()
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// prepare does what is done once in a process.
func prepare() {
	remedy.Say(remedies)
	quietGRPC()
	_ = plugin.Conceal() // toolhost doctor shows whether it works here
	_ = plugin.Adopt()   // what plugins leave is found without it, too
}

// run runs the command and returns the exit status.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// The first signal ends the work in good order; with the handler gone, the second one
	// ends the process at once.
	defer context.AfterFunc(ctx, stop)()
	// A reader that has read enough, such as head, must not end this process before its
	// plugins: with a handler for SIGPIPE, writing fails instead.
	broken := make(chan os.Signal, 1)
	signal.Notify(broken, syscall.SIGPIPE)
	defer signal.Stop(broken)

	s := session.New(stdin, stdout, stderr)
	accepted := false // cobra has accepted the command line
	root := newRootCommand(s, func() { accepted = true }, args...)
	root.SetArgs(append([]string{}, args...)) // for nil, cobra would take os.Args
	cmd, err := root.ExecuteContextC(ctx)
	switch {
	case accepted:
	case err == nil: // the help was printed
		err = misnamed(cmd)
	default:
		err = usageIn(cmd, err)
	}
	if err != nil && (s.Flags.JSON || !accepted && asksForJSON(args)) {
		s.Out.Failure(err)
	}
	return finish(s, err)
}

// asksForJSON reports whether a command line that could not be read has --json in it.
func asksForJSON(args []string) bool {
	if i := slices.Index(args, "--"); i >= 0 {
		args = args[:i]
	}
	return slices.Contains(args, "--json") || slices.Contains(args, "--json=true")
}

// finish prints the error, if there is one, and returns the exit status.
func finish(s *session.Session, err error) int {
	if bad := s.Out.Err(); err == nil && bad != nil && !errors.Is(bad, syscall.EPIPE) {
		err = exit.With(exit.Failed, bad)
	}
	if err == nil {
		return exit.Done
	}
	s.PrintError(err)
	return exit.Status(err)
}
