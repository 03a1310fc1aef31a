package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/toggle"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/cgroup"
	"github.com/toolhost/toolhost/internal/known"
	"github.com/toolhost/toolhost/internal/pluginrun"
	"github.com/toolhost/toolhost/internal/protect"
	"github.com/toolhost/toolhost/internal/sandbox"
	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// checkSandbox reports what this system has to confine plugins with, and what of each plugin's
// sandbox it does not enforce.
func checkSandbox(ctx context.Context, p *patient) {
	sandbox.Doubt()
	if features, err := sandbox.Detect(); err != nil {
		p.failed(err.Error(), "no plugin is started until it can be: end what holds processes, descriptors or namespaces of this user")
	} else {
		p.checkFeatures(features)
	}
	p.checkGroups(cgroup.Find())
	if p.invalid != nil {
		return // it is a finding of the configuration
	}
	all, err := p.sandboxes(ctx)
	if err != nil {
		p.error(err, "")
	}
	for _, one := range all {
		p.checkBoxed(one)
	}
}

// checkFeatures reports the mechanisms of the kernel.
func (p *patient) checkFeatures(f sandbox.Features) {
	if !f.Stage {
		p.warning("this system confines no plugin", seeIsolation)
		return
	}
	const unprivileged = "let this user make user namespaces (user.max_user_namespaces, kernel.unprivileged_userns_clone, " +
		"kernel.apparmor_restrict_unprivileged_userns), or leave it: " + seeIsolation
	var has []string
	for _, one := range []struct {
		there               bool
		name, without, hint string
	}{
		{f.Landlock > 0, "Landlock", "files, sockets and signals are guarded by namespaces alone",
			"Linux 5.13 has it, if it is in lsm= on the kernel's command line"},
		{f.Namespaces(), "PID and IPC namespaces" + map[bool]string{true: " in user namespaces"}[f.User], "plugins see other processes", unprivileged},
		{f.Mounts, "mount namespaces", "plugins see files that they were not granted, and cannot open them if there is Landlock", unprivileged},
		{f.Proc || !f.Mounts, "a /proc of their own", "plugins see the processes of the host's PID namespace in /proc", seeIsolation},
		{f.Network, "network namespaces", "hosts cannot be told apart, so a list of them gives none", unprivileged},
		{f.Seccomp, "seccomp", "system calls cannot be filtered", seeIsolation},
		{f.Notify || !f.Seccomp, "notification of refusals", "the host is not told what it refuses", "Linux 5.0 has it; a container may not let it pass"},
	} {
		if one.there {
			has = append(has, one.name)
		} else {
			p.warning("this system lacks "+one.name+": "+one.without, one.hint)
		}
	}
	p.ok(strings.Replace("this system has "+strings.Join(has, ", "), "Landlock", "Landlock ABI "+strconv.Itoa(f.Landlock), 1))
}

const seeIsolation = "docs/isolation.md says what that means"

// checkGroups reports which limits control groups enforce, and why not the others.
func (p *patient) checkGroups(tree *cgroup.Tree) {
	by, without := map[string][]string{}, map[string][]string{}
	var order []string
	for _, limit := range cgroup.All {
		version, err := tree.By(limit)
		into, key := by, version
		if err != nil {
			into, key = without, cmp.Or(errors.Unwrap(err), err).Error()
		}
		if into[key] == nil {
			order = append(order, key)
		}
		into[key] = append(into[key], string(limit))
	}
	for _, key := range order {
		if list := by[key]; list != nil {
			p.ok(key + " bounds " + strings.Join(list, ", "))
		}
		if list := without[key]; list != nil {
			p.warning("no control group bounds "+strings.Join(list, ", ")+": "+key,
				"start toolhost as a service with Delegate=yes; without, memory is bounded for each process alone, and cpu and pids are not")
		}
	}
}

// boxed is a plugin or an MCP server with its sandbox.
type boxed struct {
	name string
	plugin.SandboxStatus
	// unknown says that it has never run, so that it is not known what it declares.
	unknown bool
}

// checkBoxed reports what stays open of a sandbox.
func (p *patient) checkBoxed(one boxed) {
	name, open := "plugin "+one.name, one.Open()
	switch {
	case one.Level == plugin.NoSandbox:
		p.ok(name + " has no sandbox, as its level is none")
	case one.Fault != "":
		p.failed(name+" does not start: "+one.Fault, "see toolhost plugins show "+one.name)
	case one.Level == plugin.Strict && len(open) > 0:
		p.failed(name+" does not start: its sandbox is strict, and this system does not enforce all of it: "+sandbox.Report(open).String(),
			"mend what the check above says is missing, or run it all the same: level: best-effort")
	case len(one.Less) > 0:
		for _, l := range one.Less {
			p.failed(name+" does not start: its sandbox would be less than at earlier starts: "+l.String(),
				"mend what is missing, or accept it: toolhost plugins enable "+one.name)
		}
	default:
		for _, l := range open {
			p.warning(fmt.Sprintf("%s, %s (%s): %s", name, l.Name, l.Given, l.Open), "see toolhost plugins show "+one.name)
		}
		if len(open) == 0 {
			p.ok(name + ": all of its sandbox is enforced")
		}
	}
	if left := one.left(); left != "" {
		what := " is undeclared"
		if one.unknown {
			what = " has not run, so what it declares is not known"
		}
		p.ok(name + what + ": " + left + " are left to it unless sandbox decides them")
	}
}

// left names the lines that are left to the plugin.
func (one boxed) left() string {
	var names []string
	for _, l := range one.Lines {
		if one.Undeclared && l.Given == tool.Any {
			names = append(names, l.Name)
		}
	}
	return strings.Join(names, ", ")
}

// sandboxes returns the sandboxes of the plugins and servers that are enabled: those of the daemon
// if commands use one, else those that they would get.
func (p *patient) sandboxes(ctx context.Context) (out []boxed, err error) {
	if d := p.daemon; d != nil && p.session.Unlike(d.State(), "") == "" { // commands use it
		for _, one := range d.State().Plugins {
			s, err := d.Sandbox(ctx, one.Name)
			if err != nil {
				return out, err
			}
			if s != nil {
				out = append(out, boxed{one.Name, *s, one.Kind == "" && one.Needs == nil && !one.Undeclared})
			}
		}
		return out, nil
	}
	return p.foreseen(ctx)
}

// foreseen returns the sandboxes that plugins would get from a host of this process. None is
// started: what they declare is what they declared when the operator accepted it.
func (p *patient) foreseen(ctx context.Context) (out []boxed, err error) {
	loaded, err := p.settings.Load()
	if err != nil {
		return nil, nil //nolint:nilerr // it is a finding of the configuration
	}
	records, err := toggle.Read()
	if err != nil {
		return nil, err
	}
	cfg := pluginrun.Config{}
	if cfg.Root, err = filepath.Abs(p.settings.Root); err != nil {
		return nil, err
	}
	cfg.Protected = func() []string {
		paths, _ := protect.Expand(p.settings.Protected()...)
		return paths
	}
	add := func(name string, one *pluginrun.Plugin, unknown bool) {
		defer func() { _ = one.Close(ctx) }()
		if s := one.Sandbox(); s.Level != "" {
			out = append(out, boxed{name, s, unknown})
		}
	}
	for _, dir := range p.settings.Dirs.Watched() {
		found, _, _ := pluginrun.Discover(dir)
		for _, c := range found {
			if cfg.Settings = loaded.Plugins(c.Name); !cfg.Enabled {
				continue
			}
			record := records.Of(known.At(c.Path, c.Name))
			cfg.Enforced = func() *pluginrun.Enforced { return record.Enforced }
			one := pluginrun.New(c, cfg)
			one.Recall(wire.Description{Needs: record.Needs})
			add(c.Name, one, !record.Ran)
		}
	}
	for _, s := range loaded.Servers.All {
		if s.Err != nil || !s.Server.Enabled || s.Disabled {
			continue
		}
		upstream, err := s.Upstream()
		if err != nil {
			continue // it is a finding of the MCP servers
		}
		record := records.Of(s.Record())
		cfg.Enforced = func() *pluginrun.Enforced { return record.Enforced }
		cfg.Settings = s.Server.Settings
		add(s.Name, pluginrun.NewServer(plugin.Server{Name: s.Name, Connector: upstream}, cfg), false)
	}
	return out, nil
}
