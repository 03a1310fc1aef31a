// Package remedy has what an operator can do about an error, in words of the library: they name options and
// methods. A program with a surface of its own replaces them by [Say], as the command does by its commands.
package remedy

import (
	"strings"
	"sync/atomic"
)

// Remedy is the library's words. NAME in them is for what [Remedy.For] is given.
type Remedy string

// The remedies.
const (
	ListTools    Remedy = "see Host.Tools for the names"
	NoTools      Remedy = "no tools are loaded: see Host.Plugins, and in a fleet Fleet.Hosts"
	ShowTool     Remedy = "see its input schema in Host.Get"
	ListPlugins  Remedy = "see Host.Plugins for the names"
	SeePlugins   Remedy = "see Host.Plugins"
	ShowPlugin   Remedy = "see Host.Plugins for NAME"
	Try          Remedy = "see Host.Plugins for NAME; to try it again: Host.RestartPlugin"
	Enable       Remedy = "enable plugin NAME in its settings"
	AcceptFile   Remedy = "Host.SyncPlugin takes NAME as it is"
	AcceptNeeds  Remedy = "Host.AcceptNeeds for NAME"
	AcceptLevel  Remedy = "Host.AcceptLevels for NAME"
	AcceptLess   Remedy = "Host.AcceptSandbox for NAME"
	Restart      Remedy = "Host.RestartPlugin for NAME"
	Setting      Remedy = "see NAME in its settings: WithPluginSettings"
	Login        Remedy = "authorize the host at NAME"
	Lock         Remedy = "write the lock again"
	RestoreLock  Remedy = "restore it, or pin what is there now (to run what is not pinned: a host without this lock)"
	TrustLock    Remedy = "look at it, and: Host.TrustLock for NAME"
	Install      Remedy = "install it from a package of a publisher whom you trust"
	Root         Remedy = "name one with WithRoot"
	PluginDir    Remedy = "name another, which can be read"
	Approver     Remedy = "give the session an approver: WithApprover"
	Grant        Remedy = "WithGrants or Session.Grant gives it"
	GrantCaller  Remedy = "Config.Accept gives callers such as NAME what they hold"
	AskCaller    Remedy = "Config.Accept gives callers such as NAME an approver"
	Namespaces   Remedy = "the system does not let this user have one"
	FleetKey     Remedy = "Key.Public returns it"
	Hosts        Remedy = "see Fleet.Hosts"
	Instance     Remedy = "use the instance, which Fleet.Hosts has"
	HostsTools   Remedy = "see Fleet.Hosts and Fleet.Tools"
	NATS         Remedy = "start one, or look at Config.URL"
	Job          Remedy = "Fleet.WaitCall of NAME returns its result, Fleet.CancelCall ends it"
	Jobs         Remedy = "Fleet.ListCalls has it, if it is"
	AuditCut     Remedy = "see Verify"
	AuditUnended Remedy = "see Search with Unended"
	AuditExpect  Remedy = "look for it with Verify"
	TrustList    Remedy = "revoke those that are not used"
)

// said are the words of this process, in place of the library's.
var said atomic.Pointer[map[Remedy]string]

// Say replaces the words of remedies in this process. NAME stands for the same in the new ones.
func Say(words map[Remedy]string) { said.Store(&words) }

// String returns the words of a remedy that is for no one thing.
func (r Remedy) String() string { return r.For("") }

// For returns the words of a remedy for a plugin, a file, a capability or what else its NAME is.
func (r Remedy) For(name string) string {
	text := string(r)
	if words := said.Load(); words != nil && (*words)[r] != "" {
		text = (*words)[r]
	}
	return strings.ReplaceAll(text, "NAME", name)
}
