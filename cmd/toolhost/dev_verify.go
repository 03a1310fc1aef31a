package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/output"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/verify"
	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/pluginrun"
	"github.com/toolhost/toolhost/internal/safefile"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

const aboutVerify = `Check a plugin's binary, written in any language, against the plugin protocol.

The file is started as a host does, many times, and spoken to directly and through the
real host. What a check finds says what to do, and names the section of
docs/plugin-protocol.md. --list lists the checks.

Safe tools are called with arguments made from their schemas, others only with
--allow-dangerous or by --call, which is also for arguments that cannot be guessed. The
workspace is a new directory with a file named text, or that of --root: tools may
change it.

It runs with the rights of this user, without a sandbox but in the group sandbox. The
exit status is 1 if a check has failed; warnings do not count.`

// verifyCommand is toolhost dev verify.
type verifyCommand struct {
	s      *session.Session
	of     verify.Options
	groups []string
	calls  []string
	config string
	junit  string
	list   bool
}

func newDevVerifyCommand(s *session.Session) *cobra.Command {
	c := verifyCommand{s: s}
	cmd := &cobra.Command{
		Use:   "verify FILE",
		Short: "Check a plugin's binary against the plugin protocol",
		Long:  aboutVerify,
		Example: `  toolhost dev verify ./hello
  toolhost dev verify ./hello --call 'hello={}' --junit report.xml
  toolhost dev verify ./hello --group handshake --group definitions
  toolhost dev verify --list`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 || len(args) == 0 != c.list {
				return fmt.Errorf("%s takes one file, or --list", cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if c.list {
				return c.printList()
			}
			return c.run(cmd.Context(), args[0])
		},
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&c.groups, "group", nil, "only the checks of this `GROUP`; may be repeated")
	flags.StringSliceVar(&c.of.Checks, "check", nil, "only the checks whose names fit this `PATTERN`, such as calls.*; may be repeated")
	flags.BoolVar(&c.list, "list", false, "list the checks, and start nothing")
	flags.StringArrayVar(&c.calls, "call", nil, "call a tool with these arguments, `TOOL=JSON`, also many times; may be repeated")
	flags.BoolVar(&c.of.Dangerous, "allow-dangerous", false, "call all tools, also those that are not safe")
	flags.StringVar(&c.config, "plugin-config", "", "configure the plugin with this `JSON` object, or @FILE")
	flags.DurationVar(&c.of.Timeout, "timeout", pluginrun.DefaultStartTimeout, "how long a start, or a call, may take, a `DURATION`")
	flags.BoolVar(&c.of.Fast, "fast", false, "leave out hosts, sandboxes, memory and most calls")
	flags.BoolVar(&c.of.Long, "long", false, "make all calls, whatever time they take")
	cmd.MarkFlagsMutuallyExclusive("fast", "long")
	flags.StringVar(&c.junit, "junit", "", "write a report in JUnit's XML to this `FILE`, too")
	_ = cmd.RegisterFlagCompletionFunc("group", cobra.FixedCompletions(verify.Groups(), cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("check", cobra.FixedCompletions(checkNames(), cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.MarkFlagFilename("junit", "xml")
	return cmd
}

// checkNames returns the names of checks for completion, with what they are.
func checkNames() []string {
	var out []string
	for _, c := range verify.Checks() {
		out = append(out, c.ID+"\t"+output.Shorten(c.What, 80))
	}
	return out
}

// listedCheck is a check as --list --json prints it.
type listedCheck struct {
	Group string `json:"group"`
	verify.Check
}

func (c *verifyCommand) printList() error {
	if c.s.Flags.JSON {
		out := []listedCheck{}
		for _, check := range verify.Checks() {
			out = append(out, listedCheck{check.Group(), check})
		}
		return c.s.Out.JSON(out)
	}
	table := output.Table{{"CHECK", "HOLDS IF"}}
	for _, check := range verify.Checks() {
		table.Add(check.ID, check.What)
	}
	c.s.Out.Table(table)
	return nil
}

func (c *verifyCommand) run(ctx context.Context, file string) (err error) {
	if err := c.options(); err != nil {
		return err
	}
	c.of.File = file
	if c.s.Err.Terminal() && !c.s.Flags.JSON {
		c.of.Begin = func(check verify.Check) { c.s.Err.Printf("\r%s\x1b[K", check.ID) }
	}
	report, err := verify.Run(ctx, c.of)
	if c.of.Begin != nil {
		c.s.Err.Printf("\r\x1b[K")
	}
	if err != nil {
		return exit.As(exit.BadUsage, err, tool.CodeNotFound, tool.CodeInvalidArguments, tool.CodeUnsupported)
	}
	if err := c.writeJUnit(report); err != nil {
		return err
	}
	if c.s.Flags.JSON {
		return c.s.Out.Report(report, verdict(report))
	}
	c.print(report)
	return verdict(report)
}

// options reads the flags.
func (c *verifyCommand) options() error {
	c.of.HostVersion = host.Version
	for _, g := range c.groups {
		if c.of.Checks = append(c.of.Checks, g+".*"); !slices.Contains(verify.Groups(), g) {
			return exit.Usage(fmt.Sprintf("unknown group %s", sanitize.Quote(g, 60)), "use "+strings.Join(verify.Groups(), ", "))
		}
	}
	for _, pattern := range c.of.Checks {
		if _, err := filepath.Match(pattern, ""); err != nil {
			return exit.Usage(fmt.Sprintf("malformed pattern %s", sanitize.Quote(pattern, 60)), "use a name, or a pattern such as calls.*")
		}
	}
	for _, given := range c.calls {
		name, args, ok := strings.Cut(given, "=")
		if !ok || !isObject([]byte(args)) {
			return exit.Usage(fmt.Sprintf("--call %s is not TOOL=JSON", sanitize.Quote(given, 100)), `such as --call 'hello={"name":"World"}'`)
		}
		c.of.Calls = append(c.of.Calls, tool.Call{Name: name, Arguments: json.RawMessage(args)})
	}
	if c.of.Timeout <= 0 {
		return exit.Usage(fmt.Sprintf("--timeout %v is not above zero", c.of.Timeout), "give a time such as 30s")
	}
	if path, isFile := strings.CutPrefix(c.config, "@"); isFile {
		text, err := os.ReadFile(path) //nolint:gosec // named by the author
		if err != nil {
			return exit.Usage(fmt.Sprintf("--plugin-config: %v", err), "@FILE names a file, relative to the current directory")
		}
		c.config = string(text)
	}
	if c.config != "" && !isObject([]byte(c.config)) {
		return exit.Usage("--plugin-config is not a JSON object", `such as --plugin-config '{"region":"eu"}'`)
	}
	c.of.Config = json.RawMessage(c.config)
	if c.s.Flags.Given("root") {
		c.of.Root = c.s.Flags.Root
	}
	return nil
}

func isObject(text []byte) bool {
	var members map[string]json.RawMessage
	return json.Unmarshal(text, &members) == nil && members != nil
}

func (c *verifyCommand) writeJUnit(r *verify.Report) error {
	if c.junit == "" {
		return nil
	}
	var b bytes.Buffer
	if err := r.WriteJUnit(&b); err != nil {
		return err
	}
	if err := safefile.Replace(c.junit, b.Bytes(), 0o644); err != nil {
		return exit.With(exit.Failed, fmt.Errorf("the report could not be written: %w", err))
	}
	return nil
}

// outcomeColors are the terminal codes of outcomes.
var outcomeColors = map[verify.Outcome]string{verify.Pass: "32", verify.Fail: "31", verify.Warn: "33", verify.Skip: "2"}

// print prints a report for people: the checks in their groups, and what to do.
func (c *verifyCommand) print(r *verify.Report) {
	out, group := c.s.Out, ""
	indented := func(text string) {
		pad := strings.Repeat(" ", len("  pass  "))
		out.Printf("%s\n", output.Indent(output.Fill(text, helpWidth-len(pad)), pad))
	}
	for _, check := range r.Checks {
		if check.Group != group {
			group = check.Group
			out.Printf("%s\n", verify.Title(group))
		}
		line := check.ID
		if why := "  (" + check.Why + ")"; check.Outcome == verify.Skip && len(line+why) < helpWidth {
			line, check.Why = line+why, ""
		}
		out.Printf("  %s  %s\n", out.Colored(outcomeColors[check.Outcome], string(check.Outcome)), line)
		if check.Why != "" {
			indented(check.Why)
		}
		if check.Found() {
			indented("-> " + check.Do)
			indented("   " + check.See)
		}
	}
	out.LastWords(r.Stderr)
	name := strings.TrimSpace(r.Plugin + " " + r.Version)
	if name != "" {
		name += ", "
	}
	if len(r.Slow) > 0 {
		out.Printf("\n%s\n", output.Fill("Calls of these take long, so they were made a few times only, and --long makes all: "+strings.Join(r.Slow, ", "), helpWidth))
	}
	out.Printf("\n%s%d tools, %d of them called, %v\n%s\n", name, r.Tools, len(r.Called),
		time.Duration(r.Took).Round(10*time.Millisecond), r.Summary())
}

// verdict is the error of a plugin that does not pass.
func verdict(r *verify.Report) error {
	switch r.Failed {
	case 0:
		return nil
	case 1:
		for _, check := range r.Checks {
			if check.Outcome == verify.Fail {
				return exit.With(exit.Failed, fmt.Errorf("a check failed: %s", check.ID))
			}
		}
	}
	return exit.With(exit.Failed, fmt.Errorf("%d checks failed", r.Failed))
}
