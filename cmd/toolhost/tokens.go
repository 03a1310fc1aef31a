package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/output"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/setup"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/token"
	"github.com/toolhost/toolhost/internal/ident"
	"github.com/toolhost/toolhost/internal/lazy"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

const aboutTokens = `Make, show and revoke the tokens with which MCP clients connect over HTTP
(toolhost serve --mcp http).

A token is the token of a caller: what it may do stands in the configuration, under callers,
and the audit log names it. A caller that is not named there holds no capability. Several
tokens may be of one caller, so that a new one can be handed out before the old one is revoked.

A token is shown once, when it is made: only its digest is kept, in the user's state directory.
It is valid for each server of this user, at once and without a restart, until it is
revoked; requests in progress with it are ended.`

// tokenCommand is toolhost tokens.
type tokenCommand struct {
	s     *session.Session
	read  bool  // the configuration
	fault error // why it cannot be read
}

func newTokensCommand(s *session.Session) *cobra.Command {
	c := tokenCommand{s: s}
	cmd := &cobra.Command{
		Use: "tokens", Short: "List, make and revoke the tokens of MCP clients", Long: aboutTokens,
		Example: `  toolhost tokens new laptop --expires 90d
  toolhost tokens
  toolhost tokens revoke laptop`,
		Args: noArguments, RunE: func(*cobra.Command, []string) error { return c.list() },
	}
	var expires string
	create := &cobra.Command{
		Use: "new NAME", Short: "Make a token of a caller, and print it once",
		Long: `Make a token of the caller NAME, and print it: on standard output, and nothing else there.
It cannot be shown again.`,
		Example: "  toolhost tokens new laptop --expires 90d",
		Args:    oneName("a caller"),
		ValidArgsFunction: oneOf(func(context.Context) []string {
			return slices.DeleteFunc(callerNames(s), func(n string) bool { return n == setup.CLI })
		}),
		RunE: func(_ *cobra.Command, args []string) error { return c.create(args[0], expires) },
	}
	create.Flags().StringVar(&expires, "expires", "", "end the token after this `TIME`, such as 90d or 12h (default: it does not end)")
	cmd.AddCommand(create, &cobra.Command{
		Use: "revoke NAME | ID", Short: "Revoke all tokens of a caller, or the token of an ID", Example: "  toolhost tokens revoke laptop",
		Args: oneName("a caller, or the ID of a token"), ValidArgsFunction: oneOf(tokenNames),
		RunE: func(_ *cobra.Command, args []string) error { return c.revoke(args[0]) },
	})
	return cmd
}

// tokenNames completes the callers that have tokens, and the tokens' IDs.
func tokenNames(context.Context) []string {
	store, err := token.Open()
	if err != nil {
		return nil
	}
	all, _ := store.List() // errors are not shown in completions
	var out []string
	for _, e := range all {
		out = append(out, e.Caller, e.ID+"\tof "+e.Caller)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func isCallerName(name string) bool { return ident.Spells(name, 64, "_.-") }

// madeToken is the output of toolhost tokens new --json.
type madeToken struct {
	listedToken
	Token string `json:"token"`
}

func (c *tokenCommand) create(name, expires string) error {
	lifetime, err := parseLifetime(expires)
	switch {
	case err != nil:
		return err
	case !isCallerName(name):
		return exit.Usage(fmt.Sprintf("%q is not a name for a caller", name), "use 1 to 64 letters, digits, _, . and -")
	case name == setup.CLI:
		return exit.Usage("the caller "+setup.CLI+" is the user who runs commands, and comes with no token", "choose another name")
	}
	store, err := token.Open()
	if err != nil {
		return err
	}
	text, one, err := store.New(name, lifetime)
	if err != nil {
		return tokenError(err)
	}
	c.s.Did("token %s", one.ID)
	configured, why := c.configured(name)
	if c.s.Flags.JSON {
		return c.s.Out.JSON(madeToken{listed(one, time.Now(), configured), text})
	}
	c.s.Out.Printf("%s\n", text)
	c.s.Err.Printf("token %s of the caller %s: it is not shown again. Clients send it as Authorization: Bearer\n", one.ID, name)
	if !configured {
		c.s.Err.Printf("%s: the caller holds no capability until it is named there:\n"+
			"  callers:\n    %s: {grants: [fs:read]}\n", why, name)
	}
	return nil
}

// configured reports whether the configuration names a caller, and says where it does not.
func (c *tokenCommand) configured(name string) (ok bool, why string) {
	if !c.read {
		c.s.Quiet, c.read = true, true
		c.fault = c.s.Configure(true)
	}
	if c.fault != nil {
		return false, "the configuration cannot be read here, so what it says of " + name + " is not known"
	}
	t := c.s.Settings().Config
	if _, ok = t.Callers[name]; ok {
		return true, ""
	}
	if t.File == "" {
		return false, "no configuration file is in use here, so none names " + name
	}
	return false, sanitize.Text(t.File) + " does not name " + name
}

var days = lazy.Regexp(`^([0-9]{1,5})d$`)

// maxLifetime bounds --expires: ten years.
const maxLifetime = 10 * 365 * 24 * time.Hour

// parseLifetime reads the value of --expires; 0: the token does not end.
func parseLifetime(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if m := days().FindStringSubmatch(text); m != nil {
		n, bad := strconv.Atoi(m[1])
		d, err = time.Duration(n)*24*time.Hour, bad
	}
	if err != nil || d < time.Second || d > maxLifetime {
		return 0, exit.Usage(fmt.Sprintf("--expires %q is not a time from 1s to 3650d", text), "give one such as 90d or 12h")
	}
	return d, nil
}

// tokenError returns the error of the list of tokens with the exit status of a command: no tool
// is involved.
func tokenError(err error) error {
	switch tool.CodeOf(err) {
	case tool.CodeNotFound:
		return exit.With(exit.BadUsage, err)
	case tool.CodeResourceExhausted:
		return err
	}
	return exit.With(exit.Failed, err)
}

// listedToken is an element of the output of toolhost tokens --json.
type listedToken struct {
	ID         string    `json:"id"`
	Caller     string    `json:"caller"`
	Configured bool      `json:"configured"` // the configuration in use here names the caller
	Created    time.Time `json:"created"`
	Expires    time.Time `json:"expires,omitzero"`
	Expired    bool      `json:"expired"`
	Used       string    `json:"used,omitempty"` // a day
}

func listed(e token.Entry, now time.Time, configured bool) listedToken {
	return listedToken{e.ID, e.Caller, configured, e.Created, e.Expires, e.Expired(now), e.Used}
}

func (c *tokenCommand) list() error {
	store, err := token.Open()
	if err != nil {
		return err
	}
	entries, err := store.List()
	if err != nil {
		return tokenError(err)
	}
	all := []listedToken{}
	for _, e := range entries {
		ok, _ := c.configured(e.Caller)
		all = append(all, listed(e, time.Now(), ok))
	}
	return printed[listedToken]{
		all: all, json: map[string]any{"tokens": all}, none: "no tokens: toolhost tokens new NAME makes one",
		columns: "CALLER|ID|CREATED|EXPIRES|USED|CONFIGURED", row: func(e listedToken) []string {
			until := "never"
			switch {
			case e.Expired:
				until = "expired"
			case !e.Expires.IsZero():
				until = e.Expires.Local().Format(time.DateTime)
			}
			yes := map[bool]string{true: "yes", false: "no"}[e.Configured]
			return []string{e.Caller, e.ID, e.Created.Local().Format(time.DateTime), until, output.OrDash(e.Used), yes}
		},
	}.print(c.s)
}

func (c *tokenCommand) revoke(nameOrID string) error {
	store, err := token.Open()
	if err != nil {
		return err
	}
	gone, err := store.Revoke(nameOrID)
	if err != nil {
		return tokenError(err)
	}
	if c.s.Flags.JSON {
		all := []listedToken{}
		for _, e := range gone {
			ok, _ := c.configured(e.Caller)
			all = append(all, listed(e, time.Now(), ok))
		}
		return c.s.Out.JSON(map[string]any{"revoked": all})
	}
	var ids []string
	for _, e := range gone {
		ids = append(ids, e.ID)
	}
	c.s.Out.Printf("revoked %s of the caller %s\n", strings.Join(ids, ", "), gone[0].Caller)
	return nil
}
