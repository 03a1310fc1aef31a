package sandbox

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/toolhost/toolhost/internal/cgroup"
	"github.com/toolhost/toolhost/internal/egress"
)

// Plan is how a process is confined.
type Plan struct {
	// Profile is what it may do.
	Profile Profile
	// Report says what of that is enforced here.
	Report Report
	// Proxy reports whether the process reaches the hosts that it was granted through a listener
	// in its own network, which the host is handed at the start.
	Proxy bool
	// Forward are the ports on 127.0.0.1 of that network behind which are those of the machine's
	// own loopback interface that it was granted. The host is handed a listener for each, after
	// the proxy's.
	Forward []uint16
	// Notify reports whether the host is handed a descriptor on which it learns what was
	// refused (seccomp_unotify(2)).
	Notify bool
	// Traced reports whether that descriptor is for [Observe]: nothing is refused.
	Traced bool

	bare     bool // nothing is confined
	features Features
	grouped  []cgroup.Limit // that a control group enforces
	view     view
	network  bool // its own
	landlock bool
	seccomp  bool
	start    bool // it can start no program but the first
}

// view is what a process sees of the files.
type view int

const (
	sameView    view = iota
	wholeView        // all, with some of it closed
	grantedView      // what it was granted, and nothing else
)

// proxyPort returns the port on 127.0.0.1, in the network of the process, on which the host's
// proxy answers.
func (p *Plan) proxyPort() uint16 {
	port := uint16(3128)
	for slices.Contains(p.Forward, port) {
		port++
	}
	return port
}

// New returns how a process of that profile is confined on a system of these features, and in
// a control group that enforces these limits.
func New(of Profile, f Features, grouped []cgroup.Limit) *Plan {
	of = of.normal()
	p := &Plan{Profile: of, features: f, grouped: grouped}
	if f.Stage {
		p.choose()
	}
	p.report()
	return p
}

// Bare returns a plan that confines nothing: the process has the namespaces that it is started
// with, and enters dir.
func Bare(dir string) *Plan { return &Plan{Profile: Profile{Dir: dir}, bare: true} }

// normal returns the profile with whatever means everything as such.
func (of Profile) normal() Profile {
	for _, g := range []*Grant{&of.Read, &of.Write, &of.Exec} {
		if slices.Contains(g.List, "/") {
			g.Any = true
		}
		if g.Any {
			g.List = nil
		}
	}
	if of.Write.Any { // what can be written can be read
		of.Read = Everything
	}
	if of.Net.Any {
		of.Net.List = nil
	}
	return of
}

// isOpen reports whether nothing of the profile was decided: it is that of a process whose needs
// are not known.
func (of Profile) isOpen() bool { return of.Read.Any && of.Write.Any && of.Exec.Any && of.Net.Any }

// choose decides which mechanisms are used.
func (p *Plan) choose() {
	of, f := p.Profile, p.features
	switch {
	case !f.Namespaces() || !f.Mounts:
	case of.Read.Any:
		p.view = wholeView
	default:
		p.view = grantedView
	}
	p.network = f.Namespaces() && f.Network && !of.Net.Any
	p.Proxy = p.network && len(of.Net.List) > 0
	for _, host := range of.Net.List {
		pattern, err := egress.ParsePattern(host)
		if port, ok := pattern.Loopback(); err == nil && ok && p.Proxy && !slices.Contains(p.Forward, port) {
			p.Forward = append(p.Forward, port)
		}
	}
	p.landlock = f.Landlock > 0
	p.seccomp = f.Seccomp && !of.isOpen()
	p.start = p.seccomp && !of.Exec.Any && len(of.Exec.List) == 0
	p.Notify = p.seccomp && f.Notify
}

// report says what becomes of each line of the profile.
func (p *Plan) report() {
	of, f := p.Profile, p.features
	add := func(name string, given fmt.Stringer, open string, by ...string) {
		line := Line{Name: name, Given: given.String(), Open: open, By: slices.DeleteFunc(by, func(s string) bool { return s == "" })}
		p.Report = append(p.Report, line)
	}
	landlock := when(p.landlock, byLandlock)
	ifLimited := func(g Grant, by string) string { return when(!g.Any, by) }

	add("read", of.Read, p.openRead(),
		when(p.view == grantedView, byMounts), ifLimited(of.Read, landlock))
	add("write", of.Write, p.openWrite(),
		when(!of.Write.Any && p.view != sameView, byMounts), ifLimited(of.Write, landlock))
	p.Report = append(p.Report, p.protected())
	add("exec", of.Exec, p.openExec(), when(p.start, bySeccomp), ifLimited(of.Exec, landlock))
	add("net", of.Net, p.openNet(), when(p.network, byNetwork), when(!of.Net.Any && p.seccomp, bySeccomp),
		when(!of.Net.Any && !p.network && f.Landlock >= 4 && p.landlock, byLandlock))
	p.Report = append(p.Report, p.others(), p.kernel())
	p.Report = append(p.Report, p.limits()...)
}

func when(condition bool, text string) string {
	if condition {
		return text
	}
	return ""
}

// openRead says what stays open of read.
func (p *Plan) openRead() string {
	switch {
	case p.Profile.Read.Any || p.view == grantedView:
		return ""
	case p.landlock:
		return "that a file is there, its size and its times can be seen"
	}
	return "every file of its user can be read"
}

// openWrite says what stays open of write.
func (p *Plan) openWrite() string {
	switch {
	case p.Profile.Write.Any || p.view != sameView:
		return ""
	case !p.landlock:
		return "every file of its user can be changed"
	case p.seccomp && len(p.Profile.Write.List) == 0:
		return ""
	}
	return "modes, owners, times and attributes of every file of its user can be changed"
}

// openExec says what stays open of exec.
func (p *Plan) openExec() string {
	switch {
	case p.Profile.Exec.Any, p.start, len(p.Profile.Exec.List) > 0 && p.landlock:
		return ""
	}
	return "every program of the system can be started"
}

// openNet says what stays open of net.
func (p *Plan) openNet() string {
	of := p.Profile
	switch {
	case of.Net.Any || p.network:
		return ""
	case !p.seccomp:
		return "every host can be reached"
	case len(of.Net.List) > 0:
		return "there is no network namespace, in which the hosts could be told apart, so none can be reached"
	}
	return ""
}

// protected is the line of what the host keeps for itself.
func (p *Plan) protected() Line {
	line := Line{Name: "protected", Given: "not to be changed"}
	reachable := slices.DeleteFunc(slices.Clone(p.Profile.Protected), func(path string) bool { return !p.Profile.writes(path) })
	switch {
	case len(reachable) == 0 && (p.landlock || p.view != sameView):
		line.By = []string{cmp.Or(when(p.view != sameView, byMounts), byLandlock)}
	case p.view != sameView:
		line.By = []string{byMounts}
		if missing := slices.DeleteFunc(reachable, exists); len(missing) > 0 {
			line.Open = "what does not exist yet can be made: " + missing[0]
			if len(missing) > 1 {
				line.Open += fmt.Sprintf(" and %d more", len(missing)-1)
			}
		}
	default:
		line.Open = "the plugin is told what is protected, and nothing enforces it"
	}
	return line
}

// others is the line of other processes.
func (p *Plan) others() Line {
	line := Line{Name: "processes", Given: "its own"}
	f := p.features
	if f.Namespaces() {
		line.By = append(line.By, byPID)
	}
	if p.landlock {
		line.By = append(line.By, byLandlock)
	}
	switch {
	case p.view == grantedView && !f.Proc:
		line.Open = "it can see other processes of its user"
	case f.Namespaces() && (f.Proc || p.landlock):
	case p.landlock && f.Landlock >= 6 && !p.seccomp:
		line.Open = "it can see other processes of its user, change their priorities and limits, and speak to their sockets"
	case p.landlock && f.Landlock >= 6:
		line.Open = "it can see other processes of its user" + when(p.Profile.Net.Any, ", and speak to their sockets")
	case p.landlock || f.Namespaces():
		line.Open = "it can see, and may signal, other processes of its user"
	default:
		line.Open = "it can signal and trace other processes of its user"
	}
	return line
}

// kernel is the line of system calls that a tool does not need.
func (p *Plan) kernel() Line {
	line := Line{Name: "kernel", Given: "without calls that reach into the system"}
	switch {
	case p.Profile.isOpen():
		line.Given = "all calls that its user may make"
	case p.seccomp:
		line.By = []string{bySeccomp}
	default:
		line.Open = "system calls cannot be filtered"
	}
	return line
}

// groups reports whether a control group enforces a limit.
func (p *Plan) groups(l cgroup.Limit) bool {
	return (p.features.Stage || p.features.Jobs) && slices.Contains(p.grouped, l)
}

// Isolated reports whether the process has a PID namespace.
func (p *Plan) Isolated() bool { return p.features.Namespaces() }

// Environment returns variables, NAME=value, that the process needs in its sandbox.
func (p *Plan) Environment() (env []string) {
	if dir := p.temporary(); dir != "" {
		env = append(env, "TMPDIR="+dir)
	}
	if p.Proxy {
		env = append(env, egress.Environ("127.0.0.1:"+strconv.Itoa(int(p.proxyPort())))...)
	}
	return env
}

// limits are the lines of limits that were set.
func (p *Plan) limits() (out Report) {
	l := p.Profile.Limits
	byGroup := cmp.Or(when(p.features.Jobs, byJob), byCgroup)
	memory, cpu, pids := p.groups(cgroup.Memory), p.groups(cgroup.CPU), p.groups(cgroup.PIDs)
	add := func(name, given, by, open string) {
		line := Line{Name: name, Given: given, Open: open}
		if by != "" {
			line.By = []string{by}
		}
		out = append(out, line)
	}
	const noGroup = "there is no control group with this controller"
	if l.Memory > 0 {
		if memory {
			add("memory", Bytes(l.Memory), byGroup, "")
		} else {
			add("memory", Bytes(l.Memory), when(p.features.Stage, byRlimit), noGroup+", so each process has it for itself")
		}
	}
	if l.CPU > 0 {
		add("cpu", strconv.FormatFloat(l.CPU, 'g', -1, 64), when(cpu, byGroup), when(!cpu, noGroup))
	}
	if l.PIDs > 0 {
		add("pids", strconv.Itoa(l.PIDs), when(pids, byGroup), when(!pids, noGroup))
	}
	if l.Files > 0 {
		add("files", strconv.Itoa(l.Files), when(p.features.Stage, byRlimit), when(!p.features.Stage, "there is no stage"))
	}
	if l.Disk > 0 {
		add("disk", Bytes(l.Disk)+" a file", when(p.features.Stage, byRlimit), when(!p.features.Stage, "there is no stage"))
	}
	return out
}

// Bytes writes a number of bytes for people.
func Bytes(n int64) string {
	for _, unit := range []struct {
		size int64
		name string
	}{{1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}} {
		if n >= unit.size && n%unit.size == 0 {
			return strconv.FormatInt(n/unit.size, 10) + " " + unit.name
		}
	}
	return strconv.FormatInt(n, 10) + " bytes"
}
