// Command agent is the shortest honest agent: a model of any endpoint that is
// compatible with OpenAI's chat completions, and the tools of an embedded host.
//
// [Agent.Run] is the loop, the rest is what it takes to start one.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/policy"
)

// maxRetries is how often the client repeats a request that was refused for the
// moment.
const maxRetries = 2

// closing bounds the time that plugins have to end.
const closing = 10 * time.Second

func main() { os.Exit(start(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// start is the whole command: it returns the exit status.
func start(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	set, err := parse(args, stdin, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	}
	// Only from here on, as a signal cannot interrupt the reading of a prompt.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	defer context.AfterFunc(ctx, stop)() // the second signal ends the process at once
	answer, err := run(ctx, set, stderr)
	if answer.Text != "" {
		if _, werr := fmt.Fprintln(stdout, harmless(answer.Text)); werr != nil {
			err = cmp.Or(err, werr)
		}
	}
	if err != nil {
		note(stderr, err.Error())
		return 1
	}
	return 0
}

// note prints a line for the person. Errors are ignored: without a reader it is not needed.
func note(stderr io.Writer, text string) {
	_, _ = io.WriteString(stderr, "agent: "+harmless(text)+"\n")
}

// run makes a host, a session and a client, and lets the agent work.
func run(ctx context.Context, set settings, stderr io.Writer) (_ Answer, err error) {
	h, err := host.New(host.WithRoot(set.root))
	if err != nil {
		return Answer{}, err
	}
	defer func() {
		bound, cancel := context.WithTimeout(context.WithoutCancel(ctx), closing)
		defer cancel()
		err = cmp.Or(err, h.Close(bound))
	}()
	if set.plugins != "" {
		if _, err := h.Load(ctx, set.plugins); err != nil {
			note(stderr, "not all plugins can be used: "+err.Error())
		}
	}
	if h.Len() == 0 {
		note(stderr, "the model has no tools; -plugin-dir names a directory with some")
	}
	session := []host.SessionOption{host.WithGrants(set.grants...)}
	if set.yes {
		session = append(session, host.WithApprover(policy.ApproverFunc(yes)))
	} else if terminal, err := os.OpenFile("/dev/tty", os.O_RDWR, 0); err == nil {
		defer func() { _ = terminal.Close() }()
		session = append(session, host.WithApprover(question{terminal}))
	} // without a terminal there is no approver, and the host says no
	options := []option.RequestOption{option.WithMaxRetries(maxRetries)}
	if set.baseURL != "" {
		options = append(options, option.WithBaseURL(set.baseURL))
	}
	agent := Agent{
		Client: openai.NewClient(options...), Model: set.model, Session: h.Session(session...), MaxIterations: set.maxIterations,
		Watch: func(o host.Outcome) {
			if o.Success {
				note(stderr, o.Name+" done")
			} else {
				note(stderr, o.Name+" failed: "+o.Content)
			}
		},
	}
	return agent.Run(ctx, set.prompt)
}
