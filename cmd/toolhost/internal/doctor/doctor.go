// Package doctor looks for what keeps plugins, commands and the daemon from working on this
// system, and says what to do about it. Begin with [Examine].
package doctor

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/control"
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

// check is one look at the system.
type check struct {
	name string
	run  func(context.Context, *patient)
	// both: status makes it too, of a daemon that runs. It writes nothing.
	both bool
}

// checks are all checks, in the order in which they are shown: what commands read, what they
// write, what the system gives them.
var checks = []check{
	{"workspace", checkWorkspace, true},
	{"configuration", checkConfiguration, false},
	{"configuration", checkReferences, true},
	{"configuration", checkNames, false},
	{"configuration", checkApprovers, false},
	{"lock", checkLock, false},
	{"plugin directories", checkDirectories, false},
	{"plugin files", checkPrograms, false},
	{"signatures", checkTrust, false},
	{"notices", checkInstalled, true},
	{"MCP servers", checkServers, false},
	{"noexec", checkMounts, false},
	{"clock", checkClock, false},
	{"state", checkState, false},
	{"state", checkRecords, true},
	{"tokens", checkTokens, true},
	{"certificate", checkCertificate, true},
	{"addresses", checkAddresses, false},
	{"telemetry", checkTelemetry, false},
	{"audit log", checkAudit, false},
	{"audit log", checkChain, true},
	{"cache", checkCache, false},
	{"temporary files", checkTemporary, false},
	{"socket", checkSocket, false},
	{"disk space", checkSpace, false},
	{"open files", checkDescriptors, false},
	{"inotify", checkNotices, false},
	{"/proc", checkProc, false},
	{"protections", checkProtections, false},
	{"sandbox", checkSandbox, false},
	{"daemon", checkDaemon, false},
	{"fleet", checkFleet, false},
}

// patient is what is examined, and what was found so far.
type patient struct {
	session  *session.Session
	settings *session.Settings
	invalid  error // why the configuration does not count
	now      time.Time
	root     string
	socket   string          // empty: there is none
	daemon   *control.Client // nil: none answers on the socket, and noDaemon says why
	noDaemon error
	running  *control.State // of the daemon; nil: there is none
	most     int64          // of the audit log, in bytes, is verified

	check    string
	findings []Finding
}

// Examine runs all checks, whatever each of them finds. It starts no plugin, and leaves no
// file.
func Examine(ctx context.Context, s *session.Session) []Finding {
	s.Quiet = true // the checks say what is not trusted
	p := &patient{session: s, invalid: s.Configure(true), now: time.Now(), most: manyBytes}
	p.settings = s.Settings()
	p.root = p.settings.Root
	if p.socket, _ = p.settings.SocketPath(); p.socket != "" { // an error is a finding of the socket
		if p.daemon, p.noDaemon = control.Dial(ctx, p.socket, false); p.daemon != nil {
			p.running = new(p.daemon.State())
		}
	}
	for _, c := range checks {
		p.run(ctx, c)
	}
	return p.findings
}

// OfDaemon returns what is wrong with the files that a daemon uses. Beyond its workspace, the first check,
// these are known only if it goes by the settings of this command.
func OfDaemon(ctx context.Context, s *session.Session, state control.State) []Finding {
	p := &patient{session: s, settings: s.Settings(), now: time.Now(), root: state.Identity.Root, running: &state, most: fewBytes}
	same := s.Unread() == nil && s.Unlike(state, "") == ""
	for i, c := range checks {
		if c.both && (i == 0 || same) {
			p.run(ctx, c)
		}
	}
	return slices.DeleteFunc(p.findings, func(f Finding) bool { return f.Result == OK })
}

// run runs a check. What it finds nothing wrong with is said once.
func (p *patient) run(ctx context.Context, c check) {
	p.check = c.name
	c.run(ctx, p)
	if !slices.ContainsFunc(p.findings, func(f Finding) bool { return f.Check == c.name }) {
		p.ok("nothing wrong")
	}
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
