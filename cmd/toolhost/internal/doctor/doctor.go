// Package doctor looks for what keeps plugins, commands and the daemon from working on this
// system, and says what to do about it. Begin with [Examine].
package doctor

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/output"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Result is how a check came out.
type Result string

// The results.
const (
	OK      Result = "ok"
	Warning Result = "warning" // something is weaker than it could be, or will not work later
	Failed  Result = "failed"  // something does not work
)

// Finding is what a check has found. A check that fails may have several.
type Finding struct {
	Check   string `json:"check"`
	Result  Result `json:"result"`
	Message string `json:"message"`
	// Hint says what to do; empty: nothing is to be done, or the message says it.
	Hint string `json:"hint,omitempty"`
}

// checks are all checks, in the order in which they are shown: what commands read, what they
// write, what the system gives them.
var checks = []struct {
	name string
	run  func(context.Context, *patient)
}{
	{"configuration", checkConfiguration},
	{"lock", checkLock},
	{"plugin directories", checkDirectories},
	{"plugin files", checkPrograms},
	{"signatures", checkTrust},
	{"MCP servers", checkServers},
	{"noexec", checkMounts},
	{"clock", checkClock},
	{"state", checkState},
	{"audit log", checkAudit},
	{"cache", checkCache},
	{"temporary files", checkTemporary},
	{"socket", checkSocket},
	{"disk space", checkSpace},
	{"open files", checkDescriptors},
	{"inotify", checkNotices},
	{"/proc", checkProc},
	{"protections", checkProtections},
	{"sandbox", checkSandbox},
	{"daemon", checkDaemon},
	{"fleet", checkFleet},
}

// patient is what is examined, and what was found so far.
type patient struct {
	session  *session.Session
	settings *session.Settings
	invalid  error // why the configuration does not count
	now      time.Time

	check    string
	findings []Finding
}

// Examine runs all checks, whatever each of them finds. It starts no plugin, and leaves no
// file.
func Examine(ctx context.Context, s *session.Session) []Finding {
	s.Quiet = true // the checks say what is not trusted
	p := &patient{session: s, invalid: s.Configure(true), now: time.Now()}
	p.settings = s.Settings()
	for _, c := range checks {
		p.check = c.name
		c.run(ctx, p)
		if !slices.ContainsFunc(p.findings, func(f Finding) bool { return f.Check == c.name }) {
			p.ok("nothing wrong")
		}
	}
	return p.findings
}

func (p *patient) add(r Result, message, hint string) {
	p.findings = append(p.findings, Finding{p.check, r, sanitize.Text(message), sanitize.Text(hint)})
}

func (p *patient) ok(message string)            { p.add(OK, message, "") }
func (p *patient) warning(message, hint string) { p.add(Warning, message, hint) }
func (p *patient) failed(message, hint string)  { p.add(Failed, message, hint) }

// count returns a number with its noun.
func count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return strconv.Itoa(n) + " " + noun
}

// error adds an error, with its hint, or else the one given.
func (p *patient) error(err error, hint string) {
	if own := tool.AsError(err).Advice(); own != "" {
		hint = own
	}
	p.failed(output.Message(err), hint)
}
