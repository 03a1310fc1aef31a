package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/connect"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/output"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

const aboutConnect = `Put toolhost into the file where an MCP client keeps the servers of this user. Without CLIENT,
list the known clients. What else is in the file stays as it is, comments too. This shows the
change and asks; without a terminal, --yes confirms. Start the client again afterwards.

The client starts toolhost serve --mcp stdio, with the flags of all commands that you give here.
--http has it come to toolhost serve --mcp http: with a new token, and as a caller of its name,
which is added to the configuration file with what --grant says.

--remove makes the files what they were before, and revokes the token. --check changes nothing:
it shows the change, or, if the client has toolhost, reaches what its file says as it would, and
lists the tools. It waits for plugins that start as long as one comes within 5 seconds, and then
names the others.`

// How long --check takes at most: as Claude Code waits, the most patient of the clients, and for how long it waits for
// plugins of which none comes.
const (
	checkTime  = 30 * time.Second
	checkQuiet = 5 * time.Second
)

// connectCommand is toolhost connect.
type connectCommand struct {
	s                               *session.Session
	remove, check, http, print, yes bool
	grants                          []string
	client                          *connect.Client
}

func newConnectCommand(s *session.Session) *cobra.Command {
	c := connectCommand{s: s}
	var names []string
	for _, known := range connect.Clients {
		names = append(names, known.Name)
	}
	cmd := &cobra.Command{
		Use: "connect [CLIENT]", Short: "Add toolhost to an MCP client, such as Claude Code", Long: aboutConnect,
		Example: `  toolhost connect claude --grant fs:read
  toolhost connect claude --check
  toolhost connect zed --print`,
		Args: cobra.MaximumNArgs(1), ValidArgsFunction: oneOf(func(context.Context) []string { return names }),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return c.list()
			}
			if c.client = connect.Find(args[0]); c.client == nil {
				return exit.Usage(fmt.Sprintf("%q is not a client that is known here", sanitize.Text(args[0])),
					output.Suggest(args[0], names, "it knows "+strings.Join(names, ", ")))
			}
			return exit.As(exit.Failed, c.run(cmd), tool.CodeInternal) // a plain one, about a file
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&c.remove, "remove", false, "make the files what they were before")
	flags.BoolVar(&c.check, "check", false, "change nothing: show the change, or try what is there")
	flags.BoolVar(&c.print, "print", false, "print what to put into the client's file by hand")
	flags.BoolVar(&c.http, "http", false, "come over HTTP, with a new token")
	flags.BoolVar(&c.yes, "yes", false, "do not ask")
	flags.StringSliceVar(&c.grants, "grant", nil, "`CAPABILITY` that the client gets, such as fs:read; may be repeated")
	cmd.MarkFlagsMutuallyExclusive("remove", "check", "print")
	cmd.MarkFlagsMutuallyExclusive("remove", "http")
	completeFlag(s, cmd, "grant", capabilities)
	return cmd
}

func (c *connectCommand) run(cmd *cobra.Command) error {
	if _, err := session.ParseGrants(c.grants); err != nil {
		return err
	}
	switch {
	case !c.print && !c.client.Edited():
		return exit.Usage("toolhost does not edit the file of "+c.client.Title,
			"toolhost connect "+c.client.Name+" --print shows what to put there")
	case c.http && !c.client.Remote():
		return exit.Usage(c.client.Title+" takes no URL", "leave --http out")
	}
	e, err := c.entry(cmd)
	switch {
	case err != nil:
		return err
	case c.check:
		return c.try(cmd.Context(), e)
	case !c.print:
		return c.change(cmd.Context(), e)
	}
	at := c.client.Hint
	if c.client.Edited() {
		at, _ = c.client.File()
	}
	c.s.Err.Printf("for %s, in %s:\n", c.client.Title, sanitize.Text(at))
	if c.http {
		c.s.Err.Printf("toolhost tokens new %s makes the token that goes in place of %s\n", c.client.Name, connect.Secret)
	}
	text := c.client.Snippet(e)
	return c.s.Answer(map[string]string{"file": at, "snippet": text}, "%s", text)
}

// entry returns what the client's file gets.
func (c *connectCommand) entry(cmd *cobra.Command) (e connect.Entry, err error) {
	if c.http {
		e.Headers = map[string]string{"Authorization": "Bearer " + connect.Secret}
		e.URL, err = c.url()
		return e, err
	}
	e.Args = []string{"serve", "--mcp", "stdio"}
	cmd.InheritedFlags().VisitAll(func(f *pflag.Flag) {
		if !f.Changed {
			return
		}
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, v := range values {
			if abs, err := filepath.Abs(v); err == nil && f.Name != "log-level" && v != session.Off {
				v = abs // the client runs elsewhere
			}
			switch {
			case f.Value.Type() != "bool":
				e.Args = append(e.Args, "--"+f.Name, v)
			case f.Name != "json":
				e.Args = append(e.Args, "--"+f.Name)
			}
		}
	})
	for _, g := range c.grants {
		e.Args = append(e.Args, "--grant", g)
	}
	for _, kv := range os.Environ() { // they say where the configuration, the daemon and the record are
		name, value, _ := strings.Cut(kv, "=")
		xdg := strings.HasPrefix(name, "XDG_") && (strings.HasSuffix(name, "_HOME") || name == "XDG_RUNTIME_DIR")
		if value != "" && (xdg || strings.HasPrefix(name, "TOOLHOST_")) {
			e.Pass = append(e.Pass, name)
		}
	}
	slices.Sort(e.Pass)
	e.Command, err = os.Executable()
	return e, err
}

// try shows the change, or reaches what the client's file says.
func (c *connectCommand) try(ctx context.Context, e connect.Entry) error {
	change, err := c.client.Add(e, nil)
	if err != nil {
		return err
	}
	path := sanitize.Text(change.Path)
	if change.Entry == nil {
		return c.s.Answer(map[string]any{"file": change.Path, "connected": false, "diff": change.Diff()}, "%s", shownChanges(false, change))
	}
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	names, waiting, err := change.Entry.Tools(ctx, checkQuiet)
	if err != nil {
		err = fmt.Errorf("what %s says of toolhost does not answer: %w: toolhost connect %s writes it as it should be",
			path, err, c.client.Name)
		return exit.With(exit.Failed, err)
	}
	if waiting.More {
		who := "some plugins"
		if len(waiting.Names) > 0 {
			who = strings.Join(waiting.Names, ", ")
		}
		c.s.Err.Printf("still starting when none had come for %v: %s: the client has their tools when they have started\n",
			checkQuiet, sanitize.Text(who))
	}
	return c.s.Answer(map[string]any{
		"file": change.Path, "connected": true, "tools": names, "starting": waiting.More, "waiting": waiting.Names,
	},
		"%s says how to reach toolhost, which lists %d tools: %s\n", path, len(names), sanitize.Text(strings.Join(names, ", ")))
}

// knownClient is an element of the output of toolhost connect --json.
type knownClient struct {
	Client    string `json:"client"`
	File      string `json:"file"` // or where to put what --print prints
	Found     string `json:"found"`
	Connected string `json:"connected"`
}

func (c *connectCommand) list() error {
	if c.remove || c.check || c.print || c.http {
		return exit.Usage("toolhost connect needs the name of a client", "toolhost connect lists them")
	}
	word, all := map[bool]string{true: "yes", false: "no"}, []knownClient{}
	for _, k := range connect.Clients {
		one := knownClient{k.Name, k.Hint, "unknown", "unknown"}
		if k.Edited() {
			path, found := k.File()
			one.File, one.Found = path, word[found]
			if change, err := k.Remove(nil); err == nil {
				one.Connected = word[change.Entry != nil]
			}
		}
		all = append(all, one)
	}
	return printed[knownClient]{
		all: all, json: map[string]any{"clients": all}, columns: "CLIENT|FOUND|CONNECTED|FILE",
		row: func(k knownClient) []string { return []string{k.Client, k.Found, k.Connected, k.File} },
	}.print(c.s)
}
