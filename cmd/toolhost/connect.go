package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/connect"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/output"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/terminal"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/token"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/internal/suggest"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

const aboutConnect = `Put toolhost into the file where an MCP client keeps the servers of this user. Without CLIENT,
this lists the clients that it knows, which of them are here, and which have toolhost.

It shows the change and asks; without a terminal, --yes confirms. What else is in the file stays as
it is, comments too. The client starts this program with toolhost serve --mcp stdio and the
flags --config, --root, --plugin-dir, --mcp-config and --socket, --no-daemon and --log-level, if
you give them here. --grant says what the client may do; without it, and without the caller mcp in
the configuration, it sees the tools that need no capability. Start the client again afterwards.

--http has the client come to toolhost serve --mcp http instead: with a new token, as a caller of
the client's name, which is added to the configuration file with --grant, and trusted.

--remove makes the files what they were before, and revokes the token. --check changes nothing:
it shows what would change, or, for a client that has toolhost, starts what its file says, or goes to
its URL, and lists the tools within 30 seconds.`

// checkTime bounds --check: how long Claude Code waits, the most patient of the clients.
const checkTime = 30 * time.Second

// connectCommand is toolhost connect.
type connectCommand struct {
	s                               *session.Session
	remove, check, http, print, yes bool
	grants                          []string
	client                          *connect.Client
}

func newConnectCommand(s *session.Session) *cobra.Command {
	c := connectCommand{s: s}
	cmd := &cobra.Command{
		Use: "connect [CLIENT]", Short: "Add toolhost to an MCP client, such as Claude Code", Long: aboutConnect,
		Example: `  toolhost connect
  toolhost connect claude --grant fs:read
  toolhost connect claude --check
  toolhost connect claude --remove
  toolhost connect zed --print`,
		Args: cobra.MaximumNArgs(1),
		ValidArgsFunction: oneOf(func(context.Context) (out []string) {
			for _, c := range connect.Clients {
				out = append(out, c.Name+"\t"+c.Title)
			}
			return out
		}),
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args) },
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

func (c *connectCommand) run(ctx context.Context, args []string) error {
	if _, err := session.ParseGrants(c.grants); err != nil {
		return err
	}
	if len(args) == 0 {
		if c.remove || c.check || c.print || c.http {
			return exit.Usage("toolhost connect needs the name of a client", "toolhost connect lists them")
		}
		return c.list()
	}
	var names []string
	for _, known := range connect.Clients {
		names = append(names, known.Name)
	}
	if c.client = connect.Find(args[0]); c.client == nil {
		hint := "it knows " + strings.Join(names, ", ")
		if near := suggest.Nearest(args[0], names, 3); len(near) > 0 {
			hint = output.DidYouMean(near)
		}
		return exit.Usage(fmt.Sprintf("%q is not a client that toolhost connect knows", sanitize.Text(args[0])), hint)
	}
	if !c.print && !c.client.Edited() {
		return exit.Usage("toolhost does not edit the file of "+c.client.Title, "toolhost connect "+c.client.Name+" --print shows what to put there")
	}
	if c.http && !c.client.Remote() {
		return exit.Usage(c.client.Title+" takes no URL", "leave --http out")
	}
	var err error
	switch entry, bad := c.entry(); {
	case bad != nil:
		return bad
	case c.print:
		return c.show(entry)
	case c.check:
		err = c.try(ctx, entry)
	case c.remove:
		err = c.disconnect(ctx)
	default:
		err = c.connect(ctx, entry)
	}
	if tool.CodeOf(err) == tool.CodeInternal { // a plain error about a file
		err = exit.With(exit.Failed, err)
	}
	return err
}

// entry returns what the client's file gets.
func (c *connectCommand) entry() (connect.Entry, error) {
	if c.http {
		url, err := c.url()
		return connect.Entry{URL: url, Headers: map[string]string{"Authorization": "Bearer " + connect.Secret}}, err
	}
	program, err := self()
	if err != nil {
		return connect.Entry{}, exit.With(exit.Failed, err)
	}
	words, f := []string{"serve", "--mcp", "stdio"}, c.s.Flags
	add := func(flag string, paths ...string) {
		for _, path := range paths {
			if !f.Given(flag) {
				continue
			}
			if abs, err := filepath.Abs(path); err == nil && path != session.Off {
				path = abs
			}
			words = append(words, "--"+flag, path)
		}
	}
	add("config", f.Config)
	add("root", f.Root)
	add("plugin-dir", f.PluginDirs...)
	add("mcp-config", f.MCPConfigs...)
	add("socket", f.Socket)
	if f.NoDaemon {
		words = append(words, "--no-daemon")
	}
	if f.Given("log-level") {
		words = append(words, "--log-level", f.LogLevel)
	}
	for _, g := range c.grants {
		words = append(words, "--grant", g)
	}
	return connect.Entry{Command: program, Args: words}, nil
}

// self returns the path of this program: the one on PATH if that leads here, as it stays when a version goes.
func self() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("the system does not say where this program is: %w", err)
	}
	if named, err := exec.LookPath("toolhost"); err == nil && filepath.IsAbs(named) {
		a, errA := os.Stat(named)
		b, errB := os.Stat(path)
		if errA == nil && errB == nil && os.SameFile(a, b) {
			return named, nil
		}
	}
	return path, nil
}

// show prints the entry for the user to put into the client's file.
func (c *connectCommand) show(e connect.Entry) error {
	text := c.client.Snippet(e)
	if c.s.Flags.JSON {
		return c.s.Out.JSON(map[string]string{"client": c.client.Name, "snippet": text})
	}
	c.s.Out.Printf("%s", text)
	note := c.client.Note
	if path, _ := c.clientFile(); path != "" {
		note = "into " + sanitize.Text(path)
	}
	c.s.Err.Printf("%s: merge it %s\n", c.client.Title, note)
	if c.http {
		c.s.Err.Printf("toolhost tokens new %s makes the token that goes in place of %s\n", c.client.Name, connect.Secret)
	}
	return nil
}

func (c *connectCommand) clientFile() (path string, found bool) {
	if !c.client.Edited() {
		return "", false
	}
	return c.client.File()
}

// triedClient is the output of toolhost connect CLIENT --check --json.
type triedClient struct {
	Client    string   `json:"client"`
	File      string   `json:"file"`
	Connected bool     `json:"connected"`
	Diff      []string `json:"diff,omitempty"`  // what would change
	Tools     []string `json:"tools,omitempty"` // what it lists
}

// try shows the change, or reaches what the client's file says.
func (c *connectCommand) try(ctx context.Context, e connect.Entry) error {
	change, err := c.client.Add(e)
	if err != nil {
		return err
	}
	out := triedClient{Client: c.client.Name, File: change.Path, Connected: change.Entry != nil}
	if !out.Connected {
		out.Diff = change.Diff()
		return c.s.Answer(out, "%s", shownChanges(false, change))
	}
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	start := time.Now()
	if out.Tools, err = change.Entry.Tools(ctx); err != nil {
		return exit.With(exit.Failed, (&tool.Error{
			Message: fmt.Sprintf("what %s says of toolhost does not answer: %s", sanitize.Text(change.Path), token.Any().ReplaceAllString(sanitize.Text(err.Error()), connect.Secret)),
			Hint:    "toolhost connect " + c.client.Name + " writes it as it should be now",
		}))
	}
	return c.s.Answer(out, "%s has toolhost in %s, which lists %d tools after %v: %s\n", c.client.Title, sanitize.Text(change.Path),
		len(out.Tools), time.Since(start).Round(time.Millisecond), sanitize.Text(strings.Join(out.Tools, ", ")))
}

// shownChanges returns the changes as a person reads them.
func shownChanges(colored bool, all ...*connect.Change) string {
	var b strings.Builder
	for _, one := range all {
		if one != nil && !one.Nothing() {
			fmt.Fprintf(&b, "%s:\n%s\n", sanitize.Text(one.Path), terminal.Diff(strings.Join(one.Diff(), "\n"), colored))
		}
	}
	return b.String()
}

// confirm shows the changes and asks at the terminal. It returns an error unless the answer is yes.
func (c *connectCommand) confirm(ctx context.Context, all ...*connect.Change) error {
	if c.yes {
		if !c.s.Flags.JSON {
			c.s.Out.Printf("%s", shownChanges(false, all...))
		}
		return nil
	}
	t, err := c.s.OpenTerminal()
	if err != nil {
		c.s.Err.Printf("%s", shownChanges(false, all...))
		return tool.Errorf(tool.CodeApprovalRequired, "nothing was changed: there is no terminal to ask at").Try("look at the change, and confirm with --yes")
	}
	defer func() { _ = t.Close() }()
	yes, err := terminal.Confirm(ctx, t, shownChanges(output.ColorWelcome(), all...), "Make this change? [y/N] ")
	if err != nil || yes {
		return err
	}
	return tool.Errorf(tool.CodeApprovalDenied, "nothing was changed: the answer was not yes")
}

// knownClient is an element of the output of toolhost connect --json.
type knownClient struct {
	Client    string `json:"client"`
	Title     string `json:"title"`
	File      string `json:"file,omitempty"` // empty: it is edited by hand
	Found     bool   `json:"found"`
	Connected bool   `json:"connected"`
	Fault     string `json:"fault,omitempty"` // why it is not known whether it is connected
}

func (c *connectCommand) list() error {
	var all []knownClient
	for i := range connect.Clients {
		c.client = &connect.Clients[i]
		one := knownClient{Client: c.client.Name, Title: c.client.Title}
		if one.File, one.Found = c.clientFile(); one.File != "" {
			change, err := c.client.Remove(nil)
			if err != nil {
				one.Fault = err.Error()
			}
			one.Connected = change != nil && change.Entry != nil
		}
		all = append(all, one)
	}
	return printed[knownClient]{
		all: all, json: map[string]any{"clients": all}, columns: "CLIENT|HERE|CONNECTED|FILE", row: func(k knownClient) []string {
			if k.File == "" {
				return []string{k.Client, "-", "-", "by hand: --print"}
			}
			word := map[bool]string{true: "yes", false: "no"}
			connected := word[k.Connected]
			if k.Fault != "" {
				connected = "?"
			}
			return []string{k.Client, word[k.Found], connected, k.File}
		},
	}.print(c.s)
}
