package sandbox

import (
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
	seccomp  bool // the filter lists what is allowed; else it is the small one, if there is any
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
			g.List, g.Said = nil, nil
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
	p.landlock = f.Landlock > 0 && p.ruled()
	p.seccomp = f.Seccomp && !of.isOpen()
	p.start = p.seccomp && !of.Exec.Any && len(of.Exec.List) == 0
	p.Notify = p.seccomp && f.Notify
}

// ruled reports whether there is something that Landlock can refuse.
func (p *Plan) ruled() bool {
	of, f := p.Profile, p.features
	return !of.Read.Any || !of.Write.Any || !of.Exec.Any || f.Landlock >= scoped || f.Landlock >= networked && !of.Net.Any && !p.network
}

// connects reports whether the process can connect its sockets.
func (p *Plan) connects() bool { return !p.seccomp || p.view != sameView || p.Profile.Net.Any }

// ownProc reports whether /proc shows the process no others than those that it has started.
func (of Profile) ownProc(f Features, v view) bool {
	switch {
	case v == sameView || !f.Proc:
		return false
	case v == grantedView || !of.isOpen():
		return true
	}
	// What is in /proc of others is out of reach by Landlock, or for who is in a user namespace. That
	// they are there can be seen by a process whose needs are not known, as by all of its user's.
	return f.Landlock < scoped && !f.User
}

// Versions of Landlock from which it knows more (landlock(7)).
const (
	truncates = 3 // it refuses to truncate files
	networked = 4 // TCP
	scoped    = 6 // signals, and abstract sockets
)

// groups reports whether a control group enforces a limit.
func (p *Plan) groups(l cgroup.Limit) bool {
	return p.features.Stage && slices.Contains(p.grouped, l)
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
