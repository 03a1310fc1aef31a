// Command embed is a program that runs tools as an agent does: those of the plugins in a
// directory and those of an MCP server, in one registry, with a person who is asked.
//
//	embed -plugins bin/plugins -mcp "npx -y @modelcontextprotocol/server-everything" \
//		everything.echo '{"message":"hello"}'
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/mcpclient"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "embed:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdin io.Reader, stdout io.Writer) error {
	flags := flag.NewFlagSet("embed", flag.ContinueOnError)
	plugins := flags.String("plugins", "bin/plugins", "the plugin directory")
	server := flags.String("mcp", "", "the command of an MCP server, mounted as everything")
	if err := flags.Parse(args); err != nil {
		return err
	} else if flags.NArg() != 2 {
		return errors.New("usage: embed [-plugins DIR] [-mcp COMMAND] TOOL JSON")
	}
	h, err := host.New()
	if err != nil {
		return err
	}
	defer func() { _ = h.Close(context.WithoutCancel(ctx)) }()
	if _, err := h.Load(ctx, *plugins); err != nil {
		return err
	}
	if command := strings.Fields(*server); len(command) > 0 {
		u, err := mcpclient.New(mcpclient.Config{Name: "everything", Command: command[0], Args: command[1:]})
		if err != nil {
			return err
		}
		mounted := plugin.Server{Name: "everything", Connector: u, Identity: *server, Settings: plugin.DefaultSettings()}
		if _, err := h.Mount(ctx, mounted); err != nil {
			return err
		}
	}
	in := bufio.NewReader(stdin)
	ask := func(question string) string {
		_, _ = fmt.Fprint(stdout, question, " ")
		line, _ := in.ReadString('\n') // the end of the input is an empty answer
		return strings.TrimSpace(line)
	}
	s := h.Session(host.WithGrants(tool.FSRead), // what the tools may do without asking
		host.WithApprover(policy.ApproverFunc(func(_ context.Context, r policy.Request) (d policy.Decision, err error) {
			if ask(fmt.Sprintf("run %s %s? [y/n]", r.Call.Name, r.Call.Arguments)) == "y" {
				d.Verdict = policy.Allow
			}
			return d, nil
		})),
		host.WithAsker(func(_ context.Context, q tool.Question) (tool.Answer, error) {
			content := ask(fmt.Sprintf("%s\nanswer with JSON for %s:", q.Message, q.Schema))
			return tool.Answer{Action: tool.Accept, Content: []byte(content)}, nil
		}))
	outcome := s.Call(ctx, tool.Call{Name: flags.Arg(0), Arguments: []byte(flags.Arg(1))})
	_, err = fmt.Fprintf(stdout, "success: %v\n%s\n", outcome.Success, outcome.Content)
	return err
}
