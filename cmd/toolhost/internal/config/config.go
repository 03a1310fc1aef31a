package config

import (
	"crypto/sha256"
	"encoding/json"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Config is what a toolhost.yaml says, with every default filled in. It is not
// changed after it was read. As JSON it has the keys of the file.
type Config struct {
	// File is the path that was read.
	File string `json:"-"`

	// PluginDirs are the directories of plugin binaries, absolute, in the order in
	// which names are given out. Default: none is named, and the command's own
	// default holds (--plugin-dir, TOOLHOST_PLUGIN_DIR, plugins beside the program,
	// the user's data directory).
	PluginDirs []string `json:"plugin_dirs,omitempty"`
	// Root is the workspace that plugins work on, absolute. Default: empty, the
	// command's own default, which is the current directory.
	Root string `json:"root,omitempty"`
	// CacheDir keeps what plugins said of themselves, absolute. Default: empty, a
	// directory of the user's own.
	CacheDir string `json:"cache_dir,omitempty"`
	// Socket is where the daemon listens for the other commands, absolute. Default:
	// empty, a path of the user's own.
	Socket string `json:"socket,omitempty"`
	// Lock says what toolhost.lock pins: [LockRequired], [LockOff], or the absolute
	// path of another file, which is required too. Default: empty, and toolhost.lock
	// beside the file is required once it was seen.
	Lock string `json:"lock,omitempty"`
	// HoldNew keeps plugins that were never enabled from being run. Default: false.
	HoldNew bool `json:"hold_new"`
	// LogLevel is trace, debug, info, warn, error or off. Default: warn.
	LogLevel string `json:"log_level"`
	// Audit is the record of calls.
	Audit Audit `json:"audit"`
	// Approvals are how questions to people are asked.
	Approvals Approvals `json:"approvals"`
	// Defaults hold for plugins that are not named, and for what the named ones do
	// not say. [Config.Plugin] puts them together.
	Defaults Plugin `json:"defaults"`
	// Plugins are those that are named, with the defaults filled in.
	Plugins map[string]Plugin `json:"plugins,omitempty"`
	// Tools are what the operator says of tools, by the names that their plugins
	// give them.
	Tools map[string]Tool `json:"tools,omitempty"`
	// Callers are what the operator says of callers, such as cli, mcp and anonymous.
	Callers map[string]Caller `json:"callers,omitempty"`

	digest [sha256.Size]byte // of the file's content
	places map[string]place
	src    func() *source // a function, as the text has secrets in it that printing would follow a pointer to
}

// Audit is the record of calls.
type Audit struct {
	// Path is the file, absolute, or off, which keeps no record. Default: empty,
	// the file of the user's own.
	Path string `json:"path,omitempty"`
	// Required refuses calls of tools at or above a level whose begin line cannot
	// be written. Default: [tool.Unset], which refuses none; in the file, none.
	Required tool.Safety `json:"required,omitempty"`
}

// The words that are not a lock's path.
const (
	// LockRequired runs nothing without the lock beside the configuration file.
	LockRequired = "required"
	// LockOff runs plugins whatever their bytes.
	LockOff = "off"
)

// Approvals are how questions to people are asked.
type Approvals struct {
	// Timeout is how long a question may wait for an answer; none is a no. Default: 5m;
	// 1s to 24h.
	Timeout Duration `json:"timeout"`
}

// AuditOff as the path of the record keeps none.
const AuditOff = "off"

// Plugin is how a plugin is run.
type Plugin struct {
	// Enabled says whether it runs at all. Default: true. In the defaults, false
	// means that only plugins run that say true themselves.
	Enabled bool `json:"enabled"`
	// Arguments are given to the binary. Default: none. Not in the defaults.
	Arguments []string `json:"arguments,omitempty"`
	// Environment are variables beside the few of the host's that plugins see.
	// Default: none. Those of the defaults hold where a plugin does not set the same
	// name.
	Environment Environment `json:"environment,omitempty"`
	// Config is the plugin's own configuration, a JSON object. Default: none. Not in
	// the defaults. [Config.CheckPluginConfig] judges it.
	Config json.RawMessage `json:"config,omitempty"`
	// Carrier is what calls travel on: stream, socket or unary. Default: stream.
	Carrier string `json:"carrier"`
	// Namespace says whether it gets a PID namespace: auto, on or off. Default:
	// auto.
	Namespace string `json:"namespace"`
	// Previews says whether an approver is shown what a call would do, which the
	// plugin is asked. Default: true.
	Previews bool `json:"previews"`
	// IdleTime is how long it may be without a call before its process ends; the next
	// call starts it. 0, in the file never: it stays. Default: 10m; at least 1s.
	IdleTime Duration `json:"idle_time"`
	// StartTimeout bounds a start, from fork to description. Default: 10s; 100ms to
	// 10m.
	StartTimeout Duration `json:"start_timeout"`
	// CallTimeout bounds one attempt of a tool that names no limit itself. 0, in the
	// file never: no bound. Default: 1m; at least 1ms.
	CallTimeout Duration `json:"call_timeout"`
	// MaxTimeout bounds what its tools may claim: a call of one that names a limit itself
	// takes no longer, over all attempts. A tool's own timeout in the file, or a
	// CallTimeout, that is longer holds. 0, in the file never: no bound. Default: 10m; at
	// least 1ms.
	MaxTimeout Duration `json:"max_timeout"`
	// Limits bound what its calls may take.
	Limits Limits `json:"limits"`
	// Restart says what becomes of it when it fails again and again.
	Restart Restart `json:"restart"`
}

// Limits bound what a plugin's calls may take.
type Limits struct {
	// Running is how many calls run at a time. 0, in the file unlimited: no bound.
	// Default: 256; at most 65536.
	Running int `json:"running"`
	// Waiting is how many more wait for their turn; 0: none waits. Default: 1024; at
	// most 1048576.
	Waiting int `json:"waiting"`
	// MaxResult bounds a result, in bytes. 0, in the file unlimited: no bound of the
	// host's own. Default: 64MiB; 1KiB to 1GiB.
	MaxResult Size `json:"max_result"`
	// MaxRetries bounds how often a failed call is repeated, whatever its tool asks
	// for; 0: never. Default and most: 10.
	MaxRetries int `json:"max_retries"`
}

// Restart says what becomes of a plugin that fails again and again: a start that does
// not succeed, or a run that ends by itself before it has lasted.
type Restart struct {
	// Free is how many failures in a row are each followed by a new start at once.
	// -1, in the file unlimited: any number, and nothing else here counts. Default:
	// 3; at least 1.
	Free int `json:"free"`
	// Backoff is the pause before the next start, from then on; each further failure
	// doubles it, up to MaxBackoff. Defaults: 100ms and 10s; 1ms to 24h.
	Backoff    Duration `json:"backoff"`
	MaxBackoff Duration `json:"max_backoff"`
	// Quarantine is how many failures in a row it takes until calls are refused for
	// Cooldown; each further cooldown is twice as long, up to MaxCooldown. Default:
	// 10, 30s and 10m; more than Free; 1ms to 24h.
	Quarantine  int      `json:"quarantine"`
	Cooldown    Duration `json:"cooldown"`
	MaxCooldown Duration `json:"max_cooldown"`
	// Lasting is how long a run has to last for the failures before it to be
	// forgotten. Default: 10s; 1ms to 24h.
	Lasting Duration `json:"lasting"`
}

// Unlimited is Restart.Free without a bound.
const Unlimited = -1

// Tool is what the operator says of a tool. It goes before what the plugin claims;
// what is not set is as claimed. [Tool.Apply] puts both together.
type Tool struct {
	// Disable takes the tool away. Default: false.
	Disable bool `json:"disable,omitempty"`
	// Rename is the name that callers see. Default: empty, the plugin's.
	Rename string `json:"rename,omitempty"`
	// Safety raises or lowers the level. Default: [tool.Unset], as claimed.
	Safety tool.Safety `json:"safety,omitempty"`
	// Idempotent says whether a call may be repeated with no further effect.
	// Default: nil, as claimed.
	Idempotent *bool `json:"idempotent,omitempty"`
	// Approval says who decides on calls. Default: [ApprovalDefault].
	Approval Approval `json:"approval,omitempty"`
	// Rate bounds the calls of one caller, such as 10/1m. Default: nil, as claimed;
	// with Calls 0, in the file unlimited: no bound.
	Rate *Rate `json:"rate,omitempty"`
	// Timeout bounds one attempt. Default: 0, as claimed; 1ms to 24h.
	Timeout Duration `json:"timeout,omitempty"`
	// Retries is how often a failed call may be repeated, 0 to 10. Default: nil, as
	// claimed.
	Retries *int `json:"retries,omitempty"`
	// Permission is the capability that a caller must hold; empty, in the file none:
	// none. Default: nil, as claimed.
	Permission *tool.Capability `json:"permission,omitempty"`
}

// Approval says who decides on calls of a tool.
type Approval string

// The choices for a tool.
const (
	// ApprovalDefault asks about dangerous tools only.
	ApprovalDefault Approval = "default"
	// ApprovalAsk asks about each call, whatever the tool's level.
	ApprovalAsk Approval = "ask"
	// ApprovalAllow is the operator's yes to all calls.
	ApprovalAllow Approval = "allow"
	// ApprovalDeny is the operator's no to all calls; the tool is still seen.
	ApprovalDeny Approval = "deny"
)

// Answer says how a caller's calls that need a yes get one.
type Answer string

// The choices for a caller.
const (
	// AnswerAsk asks the person behind the caller, where there is one; else it is a
	// no.
	AnswerAsk Answer = "ask"
	// AnswerYes is the operator's yes.
	AnswerYes Answer = "yes"
	// AnswerNo is the operator's no.
	AnswerNo Answer = "no"
)

// Caller is what the operator says of a caller.
type Caller struct {
	// Grants are the capabilities that it holds. Default: none.
	Grants []tool.Capability `json:"grants,omitempty"`
	// Tools are the tools that it sees, and may call. Default: all.
	Tools Visible `json:"tools"`
	// Approval says how its calls that need a yes get one. Default: [AnswerAsk].
	Approval Answer `json:"approval"`
	// ResultLimit cuts the text of results to so many characters. Default: 0, which
	// cuts nothing.
	ResultLimit int `json:"result_limit,omitempty"`
}

// Visible chooses tools by the names that callers see. In a pattern, * stands for
// any characters.
type Visible struct {
	// Allow are patterns of names that are seen. Default: all.
	Allow []string `json:"allow,omitempty"`
	// Deny are patterns of names that are not, though allowed. Default: none.
	Deny []string `json:"deny,omitempty"`
	// MaxSafety hides tools above a level, as the operator has set it. Default:
	// [tool.Unset], which hides none.
	MaxSafety tool.Safety `json:"max_safety,omitempty"`
}
