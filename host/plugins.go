package host

import (
	"context"
	"slices"

	"github.com/toolhost/toolhost/host/internal/chain"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/callstage"
	"github.com/toolhost/toolhost/internal/durable/mode"
	"github.com/toolhost/toolhost/internal/journal"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Load finds the plugin binaries of directories, starts them side by side, and
// registers their tools. The path of a binary stands for that plugin alone, here and wherever
// directories are taken. It returns how many tools the registry holds. Loading a
// directory again adds what is new, tries again what did not start, after pauses that
// grow, and changes nothing else. With [WithCache], only plugins of which nothing is
// remembered are started; that one did not start, and why, is remembered too.
//
// Names are given out in the order of the directories and, in each, of the
// files: which plugin is the first does not depend on which starts faster.
//
// # Errors
//
// One for each directory, plugin and tool that could not be used, joined, each
// an [*tool.Error] with the plugin's name. Everything else is used.
func (h *Host) Load(ctx context.Context, dirs ...string) (int, error) {
	err := h.roster.Load(ctx, dirs...)
	return h.Len(), err
}

// Attach adds the tools of a provider under an owner's name, and follows their
// changes if the provider is a [tool.Notifier]. The host closes the provider
// when it closes. It returns how many tools the registry holds.
//
// # Errors
//
// [tool.CodeInvalidDefinition] for a nil provider or an owner without a name;
// [tool.CodeAlreadyExists] if the owner's name is taken, and [tool.CodeInvalidArguments] for this host, or one
// to which it is attached itself, over others too: nothing changes,
// and the provider stays the caller's to close. Errors of List, a panic of it too,
// and of single tools (a bad definition, a name that belongs to another), which leave
// out those tools only and keep the provider attached; all are joined.
func (h *Host) Attach(ctx context.Context, owner string, p tool.Provider) (int, error) {
	if h.isWithin(p) {
		return h.Len(), tool.Errorf(tool.CodeInvalidArguments, "a host attached as %.64q would have this one's tools, and this one its", owner).
			Of("", owner).At(callstage.Register).Fix("attach one of the two to the other")
	}
	err := h.roster.Attach(ctx, owner, p)
	if q, ok := p.(mode.Queue); ok && tool.CodeOf(err) != tool.CodeAlreadyExists {
		h.compiler.queue.Store(&attachedQueue{owner, q, chain.PassOn(p.Execute)})
	}
	return h.Len(), err
}

// isWithin reports whether the host is what a provider lists the tools of, itself or over others.
func (h *Host) isWithin(p tool.Provider) bool {
	other, _ := p.(*Host)
	if s, ok := p.(*Session); ok && s != nil {
		other = s.host
	}
	return other != nil && (other == h || slices.ContainsFunc(other.roster.Attached(), h.isWithin))
}

// Detach removes a plugin, or what was attached, by its name: first its tools, in one step,
// then it is closed, its process ended, and the name is free. Calls under way may end first,
// within ctx. A plugin that was detached comes back if it is loaded again ([Host.Load],
// [Host.Sync], [Host.SyncPlugin]), and not because [Host.Follow] or [Host.Refresh] finds its
// file.
//
// # Errors
//
// [tool.CodeNotFound] if the host has nothing of that name; the context's end, if it comes
// before the provider has closed: its tools are gone, and closing goes on; the provider's own
// error.
func (h *Host) Detach(ctx context.Context, name string) error { return h.roster.Detach(ctx, name) }

// Sync brings the host's plugins in line with the directories: it loads new plugins,
// withdraws those whose file is gone, and upgrades those whose file or settings have
// changed, without losing a call, and those that get something else by now, as a lock or
// [WithState] has it. A directory that cannot be read changes nothing. What was tried in
// vain before is tried again at once. It returns when all that is done. A few plugins
// are started at a time.
//
// # Errors
//
// Those of [Host.Load], and what is wrong with locks ([WithLocks]). A plugin that cannot be
// upgraded runs on as it was.
func (h *Host) Sync(ctx context.Context, dirs ...string) error { return h.roster.Sync(ctx, dirs...) }

// Refresh does what [Host.Sync] does, but without the operator's consent: what is new or
// has changed inside the root is held, as [Host.Follow] holds it, and what was tried in
// vain is tried again only after its pause.
//
// # Errors
//
// Those of [Host.Sync].
func (h *Host) Refresh(ctx context.Context, dirs ...string) error {
	return h.roster.Refresh(ctx, dirs...)
}

// SyncPlugin does what [Host.Sync] does for one plugin, by its name.
//
// # Errors
//
// Those of [Host.Load]; nil if nothing is to be done for the plugin.
func (h *Host) SyncPlugin(ctx context.Context, name string, dirs ...string) error {
	return h.roster.SyncPlugin(ctx, name, dirs...)
}

// AcceptNeeds lets a plugin of a directory have these needs from now on, such as those of its
// [plugin.Status], in place of what was accepted before; nil: it need not declare them. If that
// changes what its process gets, another one is started that takes its calls over. See
// [WithState]; what a lock pins holds all the same.
//
// # Errors
//
// [tool.CodeNotFound] if no plugin of a directory has that name; [tool.CodeInvalidDefinition]
// for needs that no plugin can declare; [tool.CodeInternal] if they are accepted, and only this
// host knows it, as they cannot be written; those of [Host.SyncPlugin] if the plugin does not
// start with them: it runs on as it was.
func (h *Host) AcceptNeeds(ctx context.Context, name string, needs *tool.Needs) error {
	return h.roster.AcceptNeeds(ctx, name, needs)
}

// AcceptSandbox accepts that the sandbox of a plugin, or of a server, enforces less than at its first
// start ([plugin.SandboxStatus]), and lets it start again.
//
// # Errors
//
// [tool.CodeNotFound] if there is no such plugin; those of writing its record, and of the start.
func (h *Host) AcceptSandbox(ctx context.Context, name string) error {
	return h.roster.AcceptSandbox(ctx, name)
}

// Follow keeps the host's plugins in line with the directories, until ctx ends: it
// does what [Host.Sync] does, for each file when it changes and as soon as it is
// whole. A few plugins are started at a time. A file that is being written is not run,
// and a file that is missing for a moment is not withdrawn; a directory that goes away
// changes nothing, and is looked at again when it is back. What could not be done is
// logged, and tried again when the file changes. A plugin that did not start is also tried
// again after pauses that grow.
//
// What is new, has changed or is gone inside the root is held until [Host.Sync] or
// [Host.SyncPlugin], as the tools of this host may have written it; [WithHolding] turns
// that off. It is logged and is in [Host.Plugins]; the plugin goes on as it was.
//
// # Errors
//
// None: it returns nil when ctx has ended. What is wrong with the directories, and that the
// system gives no notices of changes, so that Follow looks every second, is logged and is in
// [Status].
func (h *Host) Follow(ctx context.Context, dirs ...string) error {
	return h.roster.Follow(ctx, dirs...)
}

// RestartPlugin ends a plugin's process, when its calls have ended, forgets its failures, and
// starts it. A plugin that serves from a kept binary ([WithRollback]), or whose upgrade failed, is
// upgraded to its file, if that starts.
//
// # Errors
//
// [tool.CodeNotFound] if no plugin has that name; [tool.CodeUnavailable] if its
// file has changed inside the root: it runs on; the context's end; those of
// [Host.Load] if it does not start.
func (h *Host) RestartPlugin(ctx context.Context, name string) error {
	return h.roster.Restart(ctx, name)
}

// RollbackPlugin makes the binary serve that served before the one that serves now, without
// losing a call; again, the one before that. It needs [WithRollback]. It lasts, over later
// hosts too, until the plugin's file is another one or [Host.RestartPlugin] is called.
//
// # Errors
//
// [tool.CodeNotFound] if no plugin has that name; [tool.CodeUnavailable] if no earlier binary
// is kept, or it does not start or is not as pinned: everything stays as it is.
func (h *Host) RollbackPlugin(ctx context.Context, name string) error {
	return h.roster.Rollback(ctx, name)
}

// Plugins returns what each plugin is doing, sorted by name.
func (h *Host) Plugins() []plugin.Status {
	all, waiting := h.roster.Plugins(), h.compiler.waiting()
	changed := h.changedTools()
	for i := range all {
		all[i].Waiting, all[i].Changed = waiting[all[i].Name], changed[all[i].Name]
	}
	return h.operator.signed.add(all)
}

// Sandbox returns what the process of a plugin may do, and what of that is enforced: as it is in
// force or, if it is not running, as it would be if it was started now; nothing is started for
// that. False: the host has no plugin of that name, or the operator has disabled it, or it is not
// a process of this system.
func (h *Host) Sandbox(name string) (plugin.SandboxStatus, bool) { return h.roster.Sandbox(name) }

// Journal returns the newest lines of what a plugin wrote, and of what happened to it; nil: no
// plugin has that name. Without a name, it is what happened to all plugins.
func (h *Host) Journal(name string) *journal.Journal { return h.roster.Journal(name) }

// Status is what is to be known of a host as a whole.
type Status struct {
	// Calls are how many are in progress, whatever they wait for. Without [WithAdmission] they are not counted.
	Calls int
	// Refused are the callers of which calls were refused in the last 30 seconds because they, or all
	// together, have too many in progress ([WithAdmission]). Those refused last come first.
	Refused []Refused
	// Draining are the processes of plugins that were replaced or withdrawn and whose calls may still end,
	// sorted by name.
	Draining []plugin.Status
	// Skipped are the entries of the plugin directories that are not plugins, and why, sorted by path.
	Skipped []plugin.Skipped
	// Faults are what keeps [Host.Follow] from following the directories as it should, as of its last look:
	// a directory that cannot be read or that others may write to, or that changes are noticed late; and the
	// locks whose content waits. Nil: nothing is wrong, or no Follow runs.
	Faults []*tool.Error
	// Waiting are the locks inside the root whose content waits to be trusted ([Host.TrustLock]).
	Waiting []WaitingLock
	// DroppedEvents counts the events that the hooks ([WithHooks]) have missed because they were slow: more
	// than 1,024 of a kind were waiting.
	DroppedEvents uint64
}

// Status returns how the host is doing as a whole; [Host.Plugins] has each plugin.
func (h *Host) Status() Status {
	out := Status{
		Calls: h.places.Used(), Refused: h.refusals.Now(),
		Draining: h.roster.Draining(), Skipped: h.roster.Skipped(), Faults: h.roster.Faults(), Waiting: h.waitingLocks(),
	}
	for _, w := range out.Waiting {
		out.Faults = append(out.Faults, w.Error)
	}
	if e := h.events; e != nil {
		out.DroppedEvents = e.calls.Dropped() + e.tools.Dropped() + e.plugins.Dropped()
	}
	return out
}
