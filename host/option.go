package host

import (
	"log/slog"
	"os"
	"path/filepath"

	"github.com/hashicorp/go-hclog"

	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Option sets one thing of a host. Order does not matter.
type Option func(*options)

type options struct {
	root       string
	logger     hclog.Logger
	defaults   plugin.Settings // of all plugins; tools that come from elsewhere have its limits
	cacheDir   string
	plugins    *string // the directory of their caches; empty: none; nil: the default
	state      string  // a directory; empty: none
	noRollback bool
	most       int        // calls at a time; 0: any number
	overrides  *overrides // nil: none were given
	decided    []func(*operator)
	operator   *operator
	protected  []string
	mayWrite   func(dir string) error
	unheld     bool // Follow runs what changes inside the root

	audit         audit.Sink
	auditRequired tool.Safety
	hooks         *policy.Hooks
	middleware    []tool.Middleware

	fault error // of the first option that was given nil; nil: none was
}

// refuseNil makes New fail, as the function named was given nil.
func (o *options) refuseNil(function string, isNil bool) {
	if isNil && o.fault == nil {
		o.fault = tool.Errorf(tool.CodeInvalidArguments, "host.%s was given nil", function).
			Fix("leave the option out for its default")
	}
}

// WithRoot sets the workspace that plugins work on. Default: the current directory.
func WithRoot(dir string) Option { return func(o *options) { o.root = dir } }

// WithLogger sets the logger for what happens to plugins and what they print. Default:
// nothing is logged.
func WithLogger(l hclog.Logger) Option {
	return func(o *options) {
		o.refuseNil("WithLogger", l == nil)
		o.logger = l
	}
}

// WithLogHandler is [WithLogger] for log/slog. A trace message has the level -8, and the
// attribute "logger" names the part of the host.
func WithLogHandler(h slog.Handler) Option {
	return func(o *options) {
		o.refuseNil("WithLogHandler", h == nil)
		o.logger = logTo(h)
	}
}

// WithDefaults changes the settings of all plugins, which are [plugin.DefaultSettings]: time
// limits, what calls travel on, variables, restarts, idleness, limits on calls and results, the sandbox. Tools that do
// not come from a plugin have their limits too. [WithPluginSettings] changes those of single
// plugins. Several changes are made in their order. Default: no change.
func WithDefaults(change func(*plugin.Settings)) Option {
	return func(o *options) {
		if o.refuseNil("WithDefaults", change == nil); change != nil {
			change(&o.defaults)
		}
	}
}

// WithCache remembers in a directory, private to the user, what plugins say of themselves,
// so that the next host lists their tools without starting them: a plugin then starts with
// its first call. If the directory cannot be used, that is logged, and there is no cache.
// Default: none, and Load starts every plugin.
func WithCache(dir string) Option { return func(o *options) { o.cacheDir = dir } }

// WithPluginCache gives each plugin that declares or is granted [tool.Cache] a directory of its own
// for each workspace, DIR/NAME-DIGEST, in which it keeps what makes it faster, such as what a compiler has
// built: it is made when it is needed, private to the user, and in the plugin's XDG_CACHE_HOME. It
// goes by the plugin's path, whatever its version. Other plugins do not see it. If DIR cannot be used,
// as on a full disk, that is logged, and the caches are temporary and end with the host. Empty: there are none, and
// what is granted as cache is nothing. Default: toolhost/plugins in [os.UserCacheDir], and temporary
// caches if this user has none.
func WithPluginCache(dir string) Option { return func(o *options) { o.plugins = &dir } }

// pluginCache returns the directory of plugins' caches; empty: they are temporary; nil: there are none.
func (o *options) pluginCache() *string {
	if o.plugins != nil && *o.plugins == "" {
		return nil
	}
	if o.plugins != nil {
		return o.plugins
	}
	dir, err := os.UserCacheDir()
	if err == nil {
		dir = filepath.Join(dir, "toolhost", "plugins")
	}
	return &dir
}

// WithState counts the calls of callers for rate limits in DIR/rates.json, together with other hosts that
// use it, one after another or at the same time, and remembers in DIR/plugins.json what is known of plugins
// from one host to the next:
//
//   - which has which names of tools: a file that is added next to plugins takes none of theirs,
//     however early in the alphabet it comes. A plugin keeps its names as long as its file is in its
//     directory and it serves them, also while it is disabled or does not start;
//   - which needs were accepted ([tool.Needs]): those that a plugin declared when it first ran, until
//     [Host.AcceptNeeds] accepts others. A plugin that declares more after an upgrade, or nothing any
//     more, runs with what was accepted, and [plugin.Status.WantsMore] says so. Locks that have needs,
//     and the operator's [plugin.Sandbox], take precedence;
//   - what of its sandbox was enforced in full: a start that would enforce less is refused, until
//     [Host.AcceptSandbox];
//   - which binaries served, see [WithRollback].
//
// In DIR/logs is what plugins write and what happens to them ([Host.Journal]), in files of bounded size.
//
// Default: none. Names that are free at the start of a host go to the first, see [Host.Load], and all
// else counts for one host.
func WithState(dir string) Option { return func(o *options) { o.state = dir } }

// WithRollback sets whether copies of plugin binaries that served, the last three of each plugin and
// no more than 1 GiB in all, are kept in the directory of [WithState], DIR/binaries, which is private
// to the user. If a newer file does not start, the copy of the last that did serves, also after the
// process has ended and in later hosts, and [Host.RollbackPlugin] goes back to an earlier one. A copy
// is compared with the digest that it had before it runs, and with the pins ([WithLocks]). If the
// directory cannot be used, that is logged. Default: true.
func WithRollback(on bool) Option { return func(o *options) { o.noRollback = !on } }

// WithAudit records every call, for instance in the file that [audit.Open] returns, which the caller closes after
// the host. Default: calls are not recorded.
func WithAudit(sink audit.Sink) Option { return func(o *options) { o.audit = sink } }

// WithAuditRequired refuses calls of tools at or above a safety level if their begin line
// cannot be written, for example on a full disk. Default: they run, and the failure is
// logged.
func WithAuditRequired(from tool.Safety) Option { return func(o *options) { o.auditRequired = from } }

// WithHooks calls hooks for each call. Default: none.
func WithHooks(h policy.Hooks) Option { return func(o *options) { o.hooks = &h } }

// WithHolding sets whether [Host.Follow] holds what is new or has changed in plugin
// directories inside the root, where the tools of this host may have written it, until
// [Host.Sync] or [Host.SyncPlugin]. A plugin whose file was changed there is not
// started from it either. Default: true.
func WithHolding(holds bool) Option { return func(o *options) { o.unheld = !holds } }

// SessionOption sets one thing of a session. Order does not matter.
type SessionOption func(*Session)

// WithGrants gives the session capabilities. Default: none.
func WithGrants(caps ...tool.Capability) SessionOption {
	return func(s *Session) { s.Grant(caps...) }
}

// WithApprover decides on the calls that need approval: those of dangerous tools, and those for which the
// operator says so ([Override]). [policy.ApproverFunc] makes one of a function. Default: none, and they are refused.
func WithApprover(a policy.Approver) SessionOption { return func(s *Session) { s.approver = a } }

// WithAsker answers the questions that tools ask during the session's calls, see [tool.Ask]. It
// is told which tool asks, and returns soon after its context ends. Default: that of a call's
// context ([tool.WithAsker]), which comes first if there is one; without either, questions
// end with [tool.CodeUnsupported].
func WithAsker(ask tool.Asker) SessionOption { return func(s *Session) { s.asker = ask } }

// WithVisible selects the tools of the session: others are not listed, and calls do not find
// them. It must be quick, as each call asks it. If it panics, the tool is not visible.
// Default: all.
func WithVisible(sees func(tool.Definition) bool) SessionOption {
	return func(s *Session) { s.sees = sees }
}

// WithResultLimit cuts the text of results, in blocks of text and resources together, to this
// many characters, and says how many are missing. It cuts the text of errors, too. Default:
// 0, which cuts nothing.
func WithResultLimit(characters int) SessionOption { return func(s *Session) { s.limit = characters } }

// WithSessionID sets the session's ID. Default: a random text. Two sessions with one ID
// share what plugins keep for it.
func WithSessionID(id string) SessionOption { return func(s *Session) { s.id = id } }
