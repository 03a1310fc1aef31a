package verify

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/egress"
	"github.com/toolhost/toolhost/internal/need"
	"github.com/toolhost/toolhost/internal/observe"
	"github.com/toolhost/toolhost/internal/pluginrun"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
	pluginv1 "github.com/toolhost/toolhost/proto/toolhost/plugin/v1"
)

func hostChecks() []Check {
	open := plugin.Sandbox{Level: plugin.NoSandbox}
	return []Check{
		check("host.loads", "handshake", []string{"configure.accepts"},
			"the host loads it with all its tools", "do what the host's error says",
			func(ctx context.Context, s *subject) finding {
				return s.inHost(ctx, open, nil, func(*host.Host, string) finding { return passed })
			}).unlessFound("*"),
		check("host.calls", "rules", []string{"host.loads", "calls.valid"},
			"calls end in the host as they did without it", "do what the host's error says",
			func(ctx context.Context, s *subject) finding {
				return s.inHost(ctx, open, nil, func(h *host.Host, _ string) finding { return s.compare(ctx, h) })
			}).unlessFound("*"),
	}
}

// inHost uses the host that has the plugin in a sandbox, which ends with all checks: it sweeps when it is closed. By
// records what the plugin uses, in a host of its own; nil: nothing does.
func (s *subject) inHost(ctx context.Context, box plugin.Sandbox, by *observe.Trace,
	use func(h *host.Host, name string) finding,
) (f finding) {
	name := pluginrun.NameOf(filepath.Base(s.path))
	if h := s.hosts[box.Level]; h != nil && by == nil {
		return use(h, name)
	}
	temp, err := os.MkdirTemp(s.dir, "") // in which nothing is of another process
	if err != nil {
		return skip("%v", err)
	}
	h, err := host.New(host.WithRoot(s.root), host.WithPluginCache(filepath.Join(s.dir, "cache")),
		host.WithDefaults(func(settings *plugin.Settings) {
			settings.StartTimeout, settings.Config, settings.Sandbox, settings.Trace = s.Timeout, s.Config, box, by
			settings.Env = []string{"TMPDIR=" + temp}
		}))
	if err != nil {
		return skip("%v", err)
	}
	if by == nil {
		s.hosts[box.Level] = h
	} else {
		defer func() { _ = h.Close(context.WithoutCancel(ctx)) }()
	}
	n, err := h.Load(ctx, s.path)
	switch {
	case err != nil:
		return failIf(err)
	case n != len(s.tools):
		return fail("it describes %d tools, and the host has %d", len(s.tools), n)
	}
	return use(h, name)
}

// compare makes the calls that were answered well again, in a host.
func (s *subject) compare(ctx context.Context, h *host.Host) finding {
	var f faults
	caller := h.Session(host.WithApprover(policy.ApproverFunc(func(context.Context, policy.Request) (policy.Decision, error) {
		return policy.Decision{Verdict: policy.Allow}, nil
	})))
	all := s.each()
	for _, c := range all {
		if c.def.Permission != "" {
			caller.Grant(c.def.Permission)
		}
		ctx, cancel := context.WithTimeout(ctx, s.Timeout)
		res, err := caller.Execute(ctx, tool.Call{Name: c.def.Name, Arguments: c.args})
		cancel()
		failed := c.out.GetError() != nil || c.out.GetResult().GetIsError()
		switch {
		case failed: // it may fail in another way now
		case err != nil:
			f.add("%s: %v", c, err)
		case res.IsError:
			f.add("%s: it fails: %s", c, sanitize.Line(res.Text(), 200))
		}
	}
	if len(all) == 0 {
		return skip("no call was answered")
	}
	return f.finding(Fail)
}

func needsChecks() []Check {
	return []Check{
		check("needs.declared", "needs", []string{"describe.answers"}, "it declares what it needs of the system",
			"set DescribeResponse.needs; toolhost plugins trace prints what it uses, and a message without fields says that it needs nothing",
			func(_ context.Context, s *subject) finding {
				if s.about.GetNeeds() == nil {
					return warn("it does not, so that it keeps the files and the network of the host's user unless the operator decides")
				}
				return passed
			}),
		check("needs.valid", "needs", []string{"describe.answers"},
			"each entry of its needs is well formed and not too wide",
			"correct the entry: a host refuses the whole description", func(_ context.Context, s *subject) finding {
				if _, err := s.declaredNeeds(); err != nil {
					return fail("%s", tool.AsError(err).Message)
				}
				return passed
			}),
		check("needs.portable", "needs", []string{"needs.valid"}, "its needs are not any, nor paths of one machine",
			"use workspace, cache, ~/ and names of hosts and programs: a lock pins the needs for other machines, too",
			checkPortable),
	}
}

func sandboxChecks() []Check {
	declared := []string{"configure.accepts", "needs.valid"}
	return []Check{
		check("sandbox.starts", "needs", append(declared, "host.loads"),
			"it starts with nothing but what it declares",
			"declare what the start needs; toolhost plugins trace prints it; name modules of a script in DescribeResponse.files",
			func(ctx context.Context, s *subject) finding {
				return s.confined(ctx, func(*host.Host, string) finding { return passed })
			}).unlessFound("*"),
		check("sandbox.calls", "needs", append(declared, "sandbox.starts", "host.calls"),
			"calls succeed with nothing but what it declares",
			"declare what the call needs; toolhost plugins trace NAME -- TOOL ARGUMENTS prints it",
			func(ctx context.Context, s *subject) finding {
				return s.confined(ctx, func(h *host.Host, name string) finding {
					f := s.compare(ctx, h)
					status, _ := h.Sandbox(name)
					for _, d := range status.Denied {
						s.denied.add("%s (%d times)", sanitize.Line(d.What, 200), d.Count)
					}
					return f
				})
			}).unlessFound("*"),
		check("sandbox.denied", "needs", append(declared, "host.calls"),
			"all that it uses or tries is declared",
			"declare it, or do without it: it fails where the sandbox is enforced", checkUsed).unlessFound("*"),
	}
}

// checkUsed runs the plugin without a sandbox, and has the system say what it uses, also if it can do without.
func checkUsed(ctx context.Context, s *subject) finding {
	declared, err := s.declaredNeeds()
	switch {
	case err != nil || len(s.denied) > 0:
		return s.denied.finding(Warn)
	case declared == nil:
		return skip("it does not declare what it needs")
	}
	trace := observe.New()
	called := s.inHost(ctx, plugin.Sandbox{}, trace, func(h *host.Host, _ string) finding { return s.compare(ctx, h) })
	if called.outcome != Pass {
		return skip("what it uses cannot be seen here: %s", called.why)
	}
	used, _ := trace.Proposal()
	var f faults
	for _, c := range need.Changes(used, declared).Larger() {
		if c.Line == "write" || c.Line == "net" || c.Line == "exec" { // what is read may be its own modules
			f.add("it uses %s: %s", c.Line, sanitize.Line(c.Is, 200))
		}
	}
	return f.finding(Warn)
}

// declaredNeeds reads the plugin's needs as a host does.
func (s *subject) declaredNeeds() (*tool.Needs, error) {
	d, err := readAs(&pluginv1.DescribeResponse{Needs: s.about.GetNeeds()})
	if err == nil {
		err = egress.CheckNeeds(d.Needs)
	}
	return d.Needs, err
}

// confined runs the plugin in a host that lets it have what it declares.
func (s *subject) confined(ctx context.Context, use func(*host.Host, string) finding) finding {
	if s.about.GetNeeds() == nil {
		return skip("it does not declare what it needs, so that nothing is refused to it")
	}
	return s.inHost(ctx, plugin.Sandbox{Level: plugin.BestEffort}, nil, func(h *host.Host, name string) finding {
		f := use(h, name)
		status, _ := h.Sandbox(name)
		if open := status.Open(); f.outcome == Pass && len(open) > 0 {
			return skip("this system does not enforce all of it: %s: %s", open[0].Name, open[0].Open)
		}
		return f
	})
}

func checkPortable(_ context.Context, s *subject) finding {
	n := s.about.GetNeeds()
	home, _ := os.UserHomeDir() // none: nothing lies in it
	var f faults
	for i, list := range [][]string{n.GetWrite(), n.GetNet(), n.GetExec()} {
		if slices.Contains(list, tool.Any) {
			f.add("%s is any", []string{"write", "net", "exec"}[i])
		}
	}
	for _, entry := range slices.Concat(n.GetRead(), n.GetWrite(), n.GetExec()) {
		for _, local := range []string{home, filepath.Dir(s.path), "/home", "/Users", "/tmp", "/var/tmp"} {
			if local != "" && local != "/" && strings.HasPrefix(entry+"/", local+"/") {
				f.add("%s", sanitize.Quote(entry, 150))
				break
			}
		}
	}
	return f.finding(Warn)
}
