// Command barecall is what toolhost call is measured against: a program that
// starts a plugin with go-plugin, calls a tool, prints the answer and ends the
// plugin.
package main

import (
	"context"
	"errors"
	"io"
	"os"

	"github.com/toolhost/toolhost/bench/internal/bare"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		_, _ = io.WriteString(os.Stderr, "barecall: "+err.Error()+"\n")
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	if len(args) != 3 {
		return errors.New("usage: barecall PLUGIN TOOL ARGUMENTS")
	}
	plugin, err := bare.Start(args[0])
	if err != nil {
		return err
	}
	defer plugin.Close()
	text, err := plugin.Call(context.Background(), args[1], []byte(args[2]))
	if err != nil {
		return err
	}
	_, err = io.WriteString(out, text)
	return err
}
