//go:build linux && (amd64 || arm64)

package sandbox

import (
	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/stage"
)

// Inner returns what a process has that confines another one within its own sandbox: no
// namespaces, but Landlock and seccomp; the zero value if one of them is missing.
func Inner() Features {
	f := Features{Stage: true, Landlock: landlockABI(), Seccomp: seccompHas(unix.SECCOMP_RET_ERRNO)}
	if f.Landlock == 0 || !f.Seccomp {
		return Features{}
	}
	return f
}

// Become makes this process the program of the plan, confined, see [stage.Become]. The plan is one
// of [Inner] features.
func (p *Plan) Become(args, env []string) error {
	return stage.Become(args, env, func(s *stage.Program) error {
		s.Call(Enter, unix.SYS_CHDIR, s.Text(p.Profile.Dir))
		program := uintptr(0)
		if p.start {
			program = open(s, "open "+p.Profile.Program, p.Profile.Program, unix.O_PATH)
			s.Keep()
		}
		first := p.firstStart(s, program)
		applyLimits(s, p.Profile.Limits, true)
		s.Call("give up new privileges", unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
		if p.landlock {
			p.rules().restrict(s, p.features, files{})
		}
		dropCapabilities(s, rootKeeps)
		if err := p.filter(first).install(s, 0); err != nil {
			return err
		}
		entry := Entry{Path: p.Profile.Program}
		p.run(s, entry, first, s.Text(p.started(entry)))
		return nil
	})
}
