package main

import (
	"maps"

	"github.com/toolhost/toolhost/internal/remedy"
)

// remedies are the commands and flags by which a user of toolhost does what the library advises.
var remedies = map[remedy.Remedy]string{
	remedy.ListTools:    "see toolhost tools for the names",
	remedy.NoTools:      "no tools are loaded: see toolhost plugins, and in a fleet toolhost fleet",
	remedy.ShowTool:     "see toolhost tools show NAME",
	remedy.ListPlugins:  "see toolhost plugins for the names",
	remedy.SeePlugins:   "see toolhost plugins",
	remedy.ShowPlugin:   "see toolhost plugins show NAME",
	remedy.Try:          "see toolhost plugins show NAME; to try it again: toolhost plugins restart NAME",
	remedy.Enable:       "toolhost plugins enable NAME",
	remedy.AcceptFile:   "toolhost plugins enable NAME, or toolhost reload",
	remedy.AcceptNeeds:  "toolhost plugins enable NAME",
	remedy.AcceptLevel:  "toolhost plugins enable NAME",
	remedy.AcceptLess:   "toolhost plugins enable NAME",
	remedy.Restart:      "toolhost plugins restart NAME",
	remedy.Setting:      "see plugins.NAME in toolhost.yaml",
	remedy.Login:        "run toolhost plugins login NAME",
	remedy.Lock:         "toolhost plugins lock",
	remedy.RestoreLock:  "restore it, or pin what is there now: toolhost plugins lock (to run what is not pinned: toolhost plugins lock --off)",
	remedy.TrustLock:    "look at it, and: toolhost trust NAME, or toolhost reload",
	remedy.Install:      "install it from a package of a publisher whom you trust: toolhost plugins install",
	remedy.Root:         "name one with --root",
	remedy.PluginDir:    "name another with --plugin-dir or TOOLHOST_PLUGIN_DIR",
	remedy.Approver:     "run it from a terminal or with --yes; in a program, give the session an approver",
	remedy.Grant:        "in the configuration under callers, --grant NAME on the command line, Session.Grant in a program",
	remedy.GrantCaller:  "grant it under nats.callers, as NAME",
	remedy.AskCaller:    "have it ask, or allow it, under nats.callers, as NAME",
	remedy.Namespaces:   "see toolhost doctor",
	remedy.FleetKey:     "toolhost fleet key prints it",
	remedy.Hosts:        "toolhost fleet shows the hosts",
	remedy.Instance:     "use the instance, which toolhost fleet --json shows",
	remedy.HostsTools:   "toolhost fleet shows the hosts, and toolhost tools the tools",
	remedy.NATS:         "start one, or look at nats.url; toolhost serve --nats embedded starts one for this machine",
	remedy.Job:          "toolhost jobs show NAME --wait prints its result, toolhost jobs cancel NAME ends it",
	remedy.Jobs:         "toolhost jobs shows it, if it is",
	remedy.AuditCut:     "see toolhost audit verify",
	remedy.AuditUnended: "see toolhost audit --unended",
	remedy.AuditExpect:  "look for it with toolhost audit verify --expect HASH",
	remedy.TrustList:    "revoke those that you do not use (toolhost trust --list)",
}

// remediesWithoutSocket are those of a process that no command reaches.
func remediesWithoutSocket() map[remedy.Remedy]string {
	out := maps.Clone(remedies)
	out[remedy.Try] = "see the log of this server; a client that connects again has it tried again"
	return out
}
