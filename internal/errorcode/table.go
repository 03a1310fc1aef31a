// Package errorcode knows what holds of each error code, in one [Table]. Who may send a code, with which
// status the command exits and what the reference says of it are read from there.
package errorcode

import (
	"slices"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Sender says how far from this host a code may come from: from its own place and from nearer ones. What only
// a host can know, such as what a person has answered, a plugin cannot claim.
type Sender int

// The senders, from the nearest on.
const (
	ThisHost  Sender = iota // sent by another, it counts as [tool.CodeToolFailed]
	OtherHost               // a host of the fleet
	Plugin                  // whose codes hosts pass on
)

// Row is what holds of a code.
type Row struct {
	Code    tool.Code
	From    Sender
	Exit    int    // status of the command; package exit of the command names them
	Meaning string // for people who run a host, as is Do
	Do      string
}

// Of returns the row of a code. That of an unknown one is empty: it is believed from no other.
func Of(code tool.Code) Row {
	if i := slices.IndexFunc(Table, func(r Row) bool { return r.Code == code }); i >= 0 {
		return Table[i]
	}
	return Row{}
}

// Known reports whether the table has a code.
func Known(code tool.Code) bool { return Of(code).Code != "" }

// Table has the codes in the order of the reference. The first with an exit status stands for all that have it.
var Table = []Row{
	{
		Code: tool.CodeToolFailed, From: Plugin, Exit: 1,
		Meaning: "the tool itself reports a failure, or its handler returned an error",
		Do:      "read the message; it is the tool's",
	}, {
		Code: tool.CodeNotFound, From: Plugin, Exit: 3,
		Meaning: "no tool has that name, and the tools of all plugins are known",
		Do:      "`toolhost tools` lists the names; the error suggests similar ones",
	}, {
		Code: tool.CodeInvalidArguments, From: Plugin, Exit: 4,
		Meaning: "the arguments do not match the tool's schema; the plugin was not called",
		Do:      "`toolhost tools show NAME` prints the schema",
	}, {
		Code: tool.CodePermissionDenied, From: Plugin, Exit: 5,
		Meaning: "the caller does not hold the capability, or a path is outside the workspace or protected",
		Do:      "grant the capability (`--grant`, `Session.Grant`); no grant opens a protected path",
	}, {
		Code: tool.CodeApprovalRequired, From: OtherHost, Exit: 5,
		Meaning: "the call needs approval, and no one could be asked: there is no approver or terminal, the MCP client " +
			"shows no questions, or no daemon runs for the queue",
		Do: "run it from a terminal, or with `--yes`; let the question wait in the queue " +
			"([ask](../how-to/grant-and-approve.md#who-is-asked)); in a program, give the session an approver",
	}, {
		Code: tool.CodeApprovalDenied, From: OtherHost, Exit: 5,
		Meaning: "the answer was no, or none came within `approvals.timeout` (5m), or the daemon that kept the question ended " +
			"or the tool changed meanwhile, or too many questions wait, or the approver failed or panicked (the log has the stack)",
		Do: "read the reason; do not repeat the call",
	}, {
		Code: tool.CodeRateLimited, From: Plugin, Exit: 5,
		Meaning: "too many calls",
		Do:      "wait as long as the error says",
	}, {
		Code: tool.CodeResourceExhausted, From: Plugin, Exit: 5,
		Meaning: "a message, result or queue is too large, checking the arguments would take too long, or the plugin has " +
			"exceeded a limit of its sandbox, which the message names",
		Do: "ask for less at once",
	}, {
		Code: tool.CodeUnavailable, From: Plugin, Exit: 6,
		Meaning: "the plugin does not start, or cannot be reached; or no tool has that name, and it may be one of a plugin " +
			"that did not start; or a command needs a daemon, and none is there to use",
		Do: "`toolhost plugins show NAME` prints the reason",
	}, {
		Code: tool.CodeCrashed, From: OtherHost, Exit: 6,
		Meaning: "the plugin's process, or the connection to a remote MCP server, ended during the call; it is not known " +
			"whether the tool had an effect",
		Do: "the error has the exit status or signal and the end of standard error; the next call starts the plugin again",
	}, {
		Code: tool.CodeInvalidResult, From: Plugin, Exit: 6,
		Meaning: "the plugin's answer breaks the protocol",
		Do:      "report it to the plugin's author",
	}, {
		Code: tool.CodeUnsupported, From: Plugin, Exit: 6,
		Meaning: "the tool had a question that its caller could not answer, or the caller's program or the plugin cannot do " +
			"what it was asked",
		Do: "call from a terminal or with a client that can ask a person, or with all that the tool needs as arguments",
	}, {
		Code: tool.CodeInternal, From: Plugin, Exit: 6,
		Meaning: "a fault of the host",
		Do:      "report it",
	}, {
		Code: tool.CodeCanceled, From: Plugin, Exit: 7,
		Meaning: "the caller gave up; also `context.Canceled` to `errors.Is`",
	}, {
		Code: tool.CodeDeadlineExceeded, From: Plugin, Exit: 7,
		Meaning: "the call ran out of time; also `context.DeadlineExceeded` to `errors.Is`",
		Do:      "allow more time (`--timeout`), or ask for less",
	}, {
		Code: tool.CodeAlreadyExists, From: Plugin, Exit: 6,
		Meaning: "the name is taken, as by another tool",
		Do:      "rename one",
	}, {
		Code: tool.CodeInvalidDefinition, From: ThisHost, Exit: 6,
		Meaning: "a tool's description is wrong; the tool is not registered",
		Do:      "the message says what is wrong",
	},
}
