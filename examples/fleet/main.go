// Command fleet is a program that calls a tool of whichever host of a fleet has it.
//
//	fleet -key fleet.key fs.read '{"path":"README.md"}'
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/fleet"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "fleet:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("fleet", flag.ContinueOnError)
	url := flags.String("url", "nats://127.0.0.1:4222", "the NATS server")
	file := flags.String("key", "fleet.key", "the file of the host's key")
	if err := flags.Parse(args); err != nil {
		return err
	} else if flags.NArg() != 2 {
		return errors.New("usage: fleet [-url URL] [-key FILE] TOOL JSON")
	}
	key, err := fleet.KeyFile(*file)
	if err != nil {
		return err
	}
	h, err := host.New()
	if err != nil {
		return err
	}
	defer func() { _ = h.Close(context.WithoutCancel(ctx)) }()
	f, err := fleet.Join(ctx, h, fleet.Config{URL: *url, Key: key, Name: "program", Mount: []string{"*"}})
	if err != nil {
		return err
	}
	defer func() { _ = f.Close(context.WithoutCancel(ctx)) }()
	outcome := h.Call(ctx, tool.Call{Name: flags.Arg(0), Arguments: []byte(flags.Arg(1))})
	_, err = fmt.Fprintln(stdout, outcome.Content)
	return err
}
