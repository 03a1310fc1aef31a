package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strings"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/config"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/connect"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/mcphttp"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/output"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/terminal"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/token"
	"github.com/toolhost/toolhost/internal/lazy"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/internal/state"
	"github.com/toolhost/toolhost/internal/trust"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// connection is what was done for a client. Its parts are nil or empty if there is nothing to undo.
type connection struct {
	Made   *connect.Made `json:"made,omitempty"`
	Config *connect.Made `json:"config,omitempty"`
	Token  string        `json:"token,omitempty"` // the ID
}

// change puts the entry into the client's file, or takes it out, after a yes.
func (c *connectCommand) change(ctx context.Context, e connect.Entry) error {
	file, err := state.In[map[string]connection]("connections.json")
	if err != nil {
		return err
	}
	all, err := file.Read()
	if err != nil {
		return err
	}
	store, err := token.Open()
	if err != nil {
		return err
	}
	was := all[c.client.Name]
	change, configured, err := c.changes(e, was)
	if err != nil {
		return err
	}
	path, has := sanitize.Text(change.Path), map[bool]string{true: "does not have", false: "has"}[c.remove]
	out := map[string]any{"client": c.client.Name, "file": change.Path, "connected": !c.remove}
	if change.Nothing() && configured.Nothing() && (!c.remove || was == (connection{})) {
		return c.s.Answer(out, "%s %s toolhost in %s already\n", c.client.Title, has, path)
	}
	if err := c.confirm(ctx, change, configured); err != nil {
		return err
	}
	now, secret := was, ""
	if change.NeedsToken() {
		text, one, err := store.New(c.client.Name, 0)
		if err != nil {
			return tokenError(err)
		}
		secret, now.Token = text, one.ID
		c.s.Did("token %s", one.ID)
	}
	if err := c.do(change, secret); err != nil {
		if secret != "" {
			_, gone := store.Revoke(now.Token)
			err = errors.Join(err, gone)
		}
		return err
	}
	if !change.Nothing() {
		now.Made = &change.Made
	}
	if used := c.http && secret == ""; was.Token != "" && !used {
		_, _ = store.Revoke(was.Token) // it may be gone
		c.s.Did("revoked %s", was.Token)
		if secret == "" {
			now.Token = ""
		}
	}
	if err = c.do(configured, ""); err == nil && !configured.Nothing() {
		if configured.After != "" { // it may be gone
			c.s.Trust(configured.Path, trust.Sum([]byte(configured.After)))
		}
		now.Config = &configured.Made
	}
	return errors.Join(err, file.Update(func(all *map[string]connection) error {
		if *all == nil {
			*all = map[string]connection{}
		}
		if (*all)[c.client.Name] = now; c.remove {
			delete(*all, c.client.Name)
		}
		return nil
	}), c.s.Answer(out, "%s %s toolhost from its next start on\n", c.client.Title, has))
}

// changes returns what becomes of the client's file, and of the configuration file.
func (c *connectCommand) changes(e connect.Entry, was connection) (change, configured *connect.Change, err error) {
	if c.remove {
		if was.Config != nil {
			if configured, err = was.Config.Undo(); err != nil || configured != nil && !parses(configured) {
				configured = nil // others have built on it
			}
		}
		change, err = c.client.Remove(was.Made)
		return change, configured, err
	}
	if change, err = c.client.Add(e, was.Made); err != nil || !c.http {
		return change, nil, err
	}
	if change.Exposes() {
		return nil, nil, fmt.Errorf("%s would have a token, and others can read it: chmod go= it", sanitize.Text(change.Path))
	}
	configured, err = c.caller()
	return change, configured, err
}

func (c *connectCommand) do(change *connect.Change, secret string) error {
	if change.Nothing() {
		return nil
	}
	c.s.Did("%s", change.Path)
	return change.Do(secret)
}

// shownChanges returns changes as a person reads them.
func shownChanges(colored bool, all ...*connect.Change) (text string) {
	for _, one := range all {
		if !one.Nothing() {
			text += sanitize.Text(one.Path) + ":\n" + terminal.Diff(strings.Join(one.Diff(), "\n"), colored) + "\n"
		}
	}
	return text
}

// confirm shows the changes and asks at the terminal. It returns an error unless the answer is yes.
func (c *connectCommand) confirm(ctx context.Context, all ...*connect.Change) error {
	if c.yes {
		c.s.Err.Printf("%s", shownChanges(false, all...))
		return nil
	}
	t, err := c.s.OpenTerminal()
	if err != nil {
		c.s.Err.Printf("%s", shownChanges(false, all...))
		return tool.Errorf(tool.CodeApprovalRequired, "nothing was changed: there is no terminal to ask at").
			Try("look at the change, and confirm with --yes")
	}
	defer func() { _ = t.Close() }()
	yes, err := terminal.Confirm(ctx, t, shownChanges(output.ColorWelcome(), all...), "Make this change? [y/N] ")
	if err != nil || yes {
		return err
	}
	return tool.Errorf(tool.CodeApprovalDenied, "nothing was changed: the answer was not yes")
}

// url returns where toolhost serve --mcp http is, by the configuration.
func (c *connectCommand) url() (string, error) {
	if err := c.s.Configure(true); err != nil {
		return "", err
	}
	mcp := c.s.Settings().Config.MCP
	host, port, err := net.SplitHostPort(mcp.Listen)
	if mcp.URL != "" || err != nil {
		return mcp.URL, err
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	scheme := map[bool]string{true: "http://", false: "https://"}[mcp.TLS.Cert == ""]
	return scheme + net.JoinHostPort(host, port) + mcphttp.Path, nil
}

// callersKey is where callers begin, up to the first of them.
var callersKey = lazy.Regexp(`(?m)^callers:[ \t]*(?:#.*)?\r?\n(?:[ \t]*#.*\r?\n)*( *)`)

// caller returns the change that the configuration names the client as a caller; nil: it does.
func (c *connectCommand) caller() (*connect.Change, error) {
	path, by, err := c.s.Flags.ConfigPath()
	if err != nil {
		return nil, err
	}
	t, shown := c.s.Settings().Config, sanitize.Text(path)
	if _, known := t.Callers[c.client.Name]; known {
		return nil, nil //nolint:nilnil // it says so
	}
	if _, err := os.Stat(path); t.File == "" && by == "" && !errors.Is(err, fs.ErrNotExist) {
		return nil, exit.Usage(shown+" is not trusted as it is, so no caller is added to it", "toolhost trust "+shown)
	}
	line := fmt.Sprintf("%s: {grants: [%s]}\n", c.client.Name, strings.Join(c.grants, ", "))
	change, err := connect.Insert(path, func(text string) (int, string) {
		if at := callersKey().FindStringSubmatchIndex(text); at != nil && at[2] < at[3] {
			return at[2], text[at[2]:at[3]] + line
		}
		lead := "callers:\n  "
		if text != "" && !strings.HasSuffix(text, "\n") {
			lead = "\n" + lead
		}
		return len(text), lead + line
	})
	if err == nil && !parses(change) {
		err = exit.Usage(shown+" is in a form to which no caller is added", "add it under callers by hand: "+strings.TrimSpace(line))
	}
	return change, err
}

// parses reports whether a file is a configuration after a change, or gone.
func parses(change *connect.Change) bool {
	_, err := config.Parse(change.Path, []byte(change.After))
	return err == nil
}
