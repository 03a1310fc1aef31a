package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/output"
	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/internal/lazy"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// auditVerify is toolhost audit verify.
type auditVerify struct {
	*auditFile

	expect, sign, output, anchor, key string
	accept                            uint64
	words                             passwords
}

func newAuditVerifyCommand(log *auditFile) *cobra.Command {
	c := &auditVerify{auditFile: log}
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Check that the log has not been changed",
		Long: `Check the chain of hashes through all files of the log, up to the first break: a line
that was edited, dropped, inserted or moved, or a missing file. The exit status is then 1,
and the lines after the break are counted but not verified. A line that was torn by a
crash is shown, and is not a break.

Lines that were cut off at the end leave no trace in the log. The newest line is
remembered in the state directory, so it is noticed if it is gone, or if the whole log
is. Anyone who can write both can compute all hashes again. Against that, keep the hash
of the newest line in another place, and look for it with --expect; or sign it with a key
that you keep elsewhere (--sign, made with toolhost dev keygen) and give others the two
files and the public key: --anchor shows them that a log still has that line.

A break that you know of, such as where you restored the log from a copy, is accepted by
the number that verify prints: --accept-break puts that on record, and verify goes on
after it.`,
		Example: `  toolhost audit verify
  toolhost audit verify --expect sha256:0f3c...
  toolhost audit verify --sign audit.key --output nov.json
  toolhost audit verify --file audit.jsonl --anchor nov.json --key audit.pub`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context()) },
	}
	flags := cmd.Flags()
	flags.StringVar(&c.expect, "expect", "", "fail unless a line has this `HASH`, which an earlier verify showed")
	flags.StringVar(&c.sign, "sign", "", "sign the newest line with the secret `KEY` of this file")
	flags.StringVarP(&c.output, "output", "o", "audit-anchor.json", "`FILE` for what is signed; its signature has .minisig after that")
	c.words.bind(cmd)
	flags.StringVar(&c.anchor, "anchor", "", "fail unless the log has the line of this `FILE`, which --sign wrote")
	flags.StringVar(&c.key, "key", "", "public `KEY` of --anchor: a file, or the line in it that begins with RW")
	flags.Uint64Var(&c.accept, "accept-break", 0, "accept the break before the line with this `NUMBER`, for the record")
	cmd.MarkFlagsRequiredTogether("anchor", "key")
	return cmd
}

// expectedHash is what verify prints and takes.
var expectedHash = lazy.Regexp(`^sha256:[0-9a-f]{64}$`)

func (c *auditVerify) run(ctx context.Context) error {
	var known []audit.Mark
	if c.anchor != "" {
		line, err := readAnchor(c.anchor, c.key)
		if err != nil {
			return err
		}
		known = append(known, line)
	}
	if c.accept > 0 {
		if err := c.acceptBreak(ctx); err != nil {
			return err
		}
	}
	upTo, err := c.verify(ctx, c.expect, known)
	if err != nil || c.sign == "" {
		return err
	}
	if upTo.Seq == 0 {
		return exit.With(exit.Failed, errors.New("the log has no line that could be signed"))
	}
	if err := signAnchor(ctx, &c.words, upTo, c.sign, c.output); err != nil {
		return err
	}
	c.s.Err.Printf("signed line %d in %s and %s\n", upTo.Seq, sanitize.Text(c.output), sanitize.Text(signatureFile(c.output)))
	return nil
}

// acceptBreak puts on record that the operator knows of the break.
func (c *auditVerify) acceptBreak(ctx context.Context) error {
	path, err := c.path()
	if err != nil {
		return err
	}
	if c.file != "" {
		return exit.Usage("--accept-break is for the log in which calls are recorded, not for one of --file", "leave --file out")
	}
	head, _, err := c.head(path)
	if err != nil {
		return exit.With(exit.Failed, err)
	}
	var known []audit.Mark
	if head.Seq > 0 {
		known = append(known, head)
	}
	report, err := audit.Verify(ctx, path, known...)
	switch b := report.Break; {
	case err != nil:
		return unreadable(err)
	case b == nil || b.Seq != c.accept:
		return exit.Usage(fmt.Sprintf("there is no break before line %d that could be accepted", c.accept),
			"toolhost audit verify says where the first one is")
	default:
		c.s.Did("%s", b.Error())
		return c.s.Record(audit.AcceptBreak, strconv.FormatUint(c.accept, 10), nil)
	}
}

// verify prints what [audit.Verify] finds, and returns the newest line that is as it was written.
func (l *auditFile) verify(ctx context.Context, expect string, known []audit.Mark) (upTo audit.Mark, err error) {
	path, err := l.path()
	if err != nil {
		return upTo, err
	}
	head, file, err := l.head(path) // before the log is read, which only grows
	if err != nil {
		return upTo, exit.With(exit.Failed, err)
	}
	if expect != "" {
		if !expectedHash().MatchString(expect) {
			return upTo, exit.Usage("--expect does not take "+strconv.Quote(output.Shorten(expect, 80)),
				"give the hash of a line as audit verify prints it: sha256: and 64 hexadecimal digits")
		}
		known = append(known, audit.Mark{Hash: expect})
	}
	if head.Seq > 0 {
		known = append(known, head)
	}
	report, err := audit.Verify(ctx, path, known...)
	missing := errors.Is(err, fs.ErrNotExist)
	if err != nil && !missing {
		return upTo, unreadable(err)
	}
	empty := report.Lines == 0 && report.Unverified == 0 && len(report.Torn) == 0
	var broken error
	switch {
	case empty:
		if broken = l.empty(path, missing); broken == nil && expect != "" {
			broken = exit.With(exit.Failed, &tool.Error{
				Message: "no call is recorded, so no line has the hash " + expect, Hint: "name another log with --file",
			})
		}
	case report.Break != nil:
		hint := "keep a copy of its files before you do anything else with them"
		if report.Break.Kind == audit.Missing && head.Seq > 0 {
			hint += "; " + restoreHint(file)
		}
		if n := report.Break.Seq; n > 0 {
			hint += fmt.Sprintf("; if you restored it from a copy: toolhost audit verify --accept-break %d", n)
		}
		broken = exit.With(exit.Failed, &tool.Error{
			Message: fmt.Sprintf("the audit log %s is not as it was written", report.Path), Hint: hint,
		})
	}
	if l.s.Flags.JSON {
		return report.UpTo, l.s.Out.Report(report, broken)
	}
	if !empty {
		l.s.Out.Printf("%s\n", sanitize.Text(report.String()))
	}
	return report.UpTo, broken
}
