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
	"github.com/toolhost/toolhost/cmd/toolhost/internal/token"
	"github.com/toolhost/toolhost/internal/lazy"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/internal/trust"
)

// changedClient is the output of toolhost connect CLIENT --json.
type changedClient struct {
	Client    string `json:"client"`
	File      string `json:"file"`
	Connected bool   `json:"connected"`
	Changed   bool   `json:"changed"`
	Token     string `json:"token,omitempty"` // the ID
}

// connect makes the change after a yes.
func (c *connectCommand) connect(ctx context.Context, e connect.Entry) error {
	change, err := c.client.Add(e)
	if err != nil {
		return err
	}
	var configured *connect.Change
	if c.http {
		if change.NeedsToken() && change.ForAll() {
			return fmt.Errorf("%s would have a token, and others can read it: chmod go= it", sanitize.Text(change.Path))
		}
		if configured, err = c.caller(); err != nil {
			return err
		}
	}
	out := changedClient{Client: c.client.Name, File: change.Path, Connected: true}
	if change.Nothing() && configured == nil {
		return c.s.Answer(out, "%s has toolhost in %s already\n", c.client.Title, sanitize.Text(change.Path))
	}
	if err := c.confirm(ctx, change, configured); err != nil {
		return err
	}
	out.Changed = true
	if out.Token, err = c.apply(change, configured); err != nil {
		return err
	}
	return c.s.Answer(out, "%s has toolhost from its next start on; toolhost connect %s --check tries it\n%s", c.client.Title, c.client.Name,
		map[bool]string{true: "it needs toolhost serve --mcp http; a daemon that runs takes the new caller by toolhost reload\n"}[configured != nil])
}

// apply makes the token and the changes, and keeps what undoes them. What was made before an error is taken back.
func (c *connectCommand) apply(change, configured *connect.Change) (tokenID string, err error) {
	file, err := connect.Connections()
	if err != nil {
		return "", err
	}
	store, err := token.Open()
	if err != nil {
		return "", err
	}
	var text string
	if change.NeedsToken() {
		var one token.Entry
		if text, one, err = store.New(c.client.Name, 0); err != nil {
			return "", tokenError(err)
		}
		tokenID = one.ID
		c.s.Did("token %s", tokenID)
	}
	err = file.Update(func(all *map[string]connect.Connection) (err error) {
		if *all == nil {
			*all = map[string]connect.Connection{}
		}
		was, known := (*all)[c.client.Name]
		now := was
		if configured != nil {
			made, err := c.do(configured, "")
			if err != nil {
				return err
			}
			c.s.Trust(configured.Path, trust.Sum([]byte(configured.After())))
			now.Config = &made
		}
		if !change.Nothing() {
			if now.Made, err = c.do(change, text); err != nil {
				if now.Config != nil && configured != nil {
					return errors.Join(err, c.restore(*now.Config))
				}
				return err
			}
			if known {
				now.Made = now.Made.After(was.Made)
			}
			now.Token = tokenID
			if was.Token != "" {
				_, _ = store.Revoke(was.Token) // it may be gone
			}
		}
		(*all)[c.client.Name] = now
		return nil
	})
	if err != nil && tokenID != "" {
		_, gone := store.Revoke(tokenID)
		err = errors.Join(err, gone)
	}
	return tokenID, err
}

func (c *connectCommand) do(change *connect.Change, token string) (connect.Made, error) {
	made, err := change.Do(token)
	if err == nil {
		c.s.Did("%s", change.Path)
	}
	return made, err
}

// restore makes the configuration file what it was, if what was put there stands there still.
func (c *connectCommand) restore(made connect.Made) error {
	change, err := made.Undo()
	if err != nil || change == nil {
		return err
	}
	if err := parses(made.Path, change.After()); err != nil {
		return nil //nolint:nilerr // others have built on it
	}
	if _, err := c.do(change, ""); err != nil {
		return err
	}
	c.s.Trust(made.Path, trust.Sum([]byte(change.After())))
	return nil
}

// disconnect makes the files what they were, after a yes.
func (c *connectCommand) disconnect(ctx context.Context) error {
	file, err := connect.Connections()
	if err != nil {
		return err
	}
	all, err := file.Read()
	if err != nil {
		return err
	}
	was, known := all[c.client.Name]
	made := &was.Made
	if !known {
		made = nil
	}
	change, err := c.client.Remove(made)
	if err != nil {
		return err
	}
	out := changedClient{Client: c.client.Name, File: change.Path, Token: was.Token}
	if change.Nothing() && !known {
		return c.s.Answer(out, "%s does not have toolhost in %s\n", c.client.Title, sanitize.Text(change.Path))
	}
	var configured *connect.Change
	if was.Config != nil {
		if configured, err = was.Config.Undo(); err != nil {
			return err
		}
	}
	if err := c.confirm(ctx, change, configured); err != nil {
		return err
	}
	if !change.Nothing() {
		if _, err := c.do(change, ""); err != nil {
			return err
		}
	}
	if was.Config != nil {
		if err := c.restore(*was.Config); err != nil {
			return err
		}
	}
	if store, err := token.Open(); err == nil && was.Token != "" {
		if _, err := store.Revoke(was.Token); err == nil {
			c.s.Did("revoked token %s", was.Token)
		}
	}
	err = file.Update(func(all *map[string]connect.Connection) error {
		delete(*all, c.client.Name)
		return nil
	})
	if err != nil {
		return err
	}
	out.Changed = true
	return c.s.Answer(out, "%s does not have toolhost any more, from its next start on\n", c.client.Title)
}

// url returns where toolhost serve --mcp http is, by the configuration.
func (c *connectCommand) url() (string, error) {
	if err := c.s.Configure(true); err != nil {
		return "", err
	}
	mcp := c.s.Settings().Config.MCP
	if mcp.URL != "" {
		return mcp.URL, nil
	}
	host, port, err := net.SplitHostPort(mcp.Listen)
	if err != nil {
		return "", exit.With(exit.BadUsage, err)
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	scheme := "http"
	if mcp.TLS.Cert != "" {
		scheme = "https"
	}
	return scheme + "://" + net.JoinHostPort(host, port) + mcphttp.Path, nil
}

var (
	callersKey  = lazy.Regexp(`(?m)^callers:[ \t]*(#.*)?\r?\n?`)
	firstIndent = lazy.Regexp(`^(?:[ \t]*(?:#.*)?\r?\n)*( +)`)
)

// caller returns the change that the configuration names the client as a caller; nil: it does.
func (c *connectCommand) caller() (*connect.Change, error) {
	path, by, err := c.s.Flags.ConfigPath()
	if err != nil {
		return nil, err
	}
	t := c.s.Settings().Config
	if _, ok := t.Callers[c.client.Name]; ok {
		return nil, nil //nolint:nilnil // it says so
	}
	if _, err := os.Stat(path); t.File == "" && by == "" && !errors.Is(err, fs.ErrNotExist) {
		return nil, exit.Usage(sanitize.Text(path)+" is not trusted as it is, so no caller is added to it", "toolhost trust "+sanitize.Text(path))
	}
	line := fmt.Sprintf("%s: {grants: [%s]}", c.client.Name, quoted(c.grants))
	change, err := connect.Insert(path, func(text string) (int, string, error) {
		end := "\n"
		if strings.Contains(text, "\r\n") {
			end = "\r\n"
		}
		if at := callersKey().FindStringIndex(text); at != nil && strings.HasSuffix(text[:at[1]], "\n") {
			indent := "  "
			if m := firstIndent().FindStringSubmatch(text[at[1]:]); m != nil {
				indent = m[1]
			}
			return at[1], indent + line + end, nil
		}
		lead := ""
		if text != "" && !strings.HasSuffix(text, "\n") {
			lead = end
		}
		return len(text), lead + "callers:" + end + "  " + line + end, nil
	})
	if err != nil {
		return nil, err
	}
	if err := parses(path, change.After()); err != nil {
		return nil, exit.Usage(sanitize.Text(path)+" is in a form to which no caller is added", "add it under callers by hand:  "+line)
	}
	return change, nil
}

// parses returns an error unless a text is a configuration.
func parses(path, text string) error {
	_, err := config.Parse(path, []byte(text))
	return err
}

func quoted(words []string) string {
	var out []string
	for _, w := range words {
		out = append(out, `"`+w+`"`)
	}
	return strings.Join(out, ", ")
}
