package sandbox

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/cgroup"
	"github.com/toolhost/toolhost/internal/grant"
)

// report says what becomes of each line of the profile. A line without Open is a promise.
func (p *Plan) report() {
	of, f := p.Profile, p.features
	add := func(name string, given fmt.Stringer, open string, by ...string) {
		p.Report = append(p.Report, newLine(name, given.String(), open, by...))
	}
	landlock := when(p.landlock, byLandlock)
	ifLimited := func(g Grant, by string) string { return when(!g.Any, by) }

	add("read", of.Read, p.openRead(),
		when(p.view == grantedView, byMounts), ifLimited(of.Read, landlock))
	add("write", of.Write, when(!of.Write.Any, p.openWrite()),
		when(!of.Write.Any && p.view != sameView, byMounts), ifLimited(of.Write, landlock))
	p.Report = append(p.Report, p.protected())
	add("exec", of.Exec, p.openExec(), when(p.start, bySeccomp), ifLimited(of.Exec, landlock))
	add("net", of.Net, p.openNet(), when(p.network, byNetwork), when(!of.Net.Any && p.seccomp, bySeccomp),
		when(!of.Net.Any && !p.network && f.Landlock >= networked && p.landlock, byLandlock))
	p.Report = append(p.Report, p.others(), p.kernel())
	p.Report = append(p.Report, p.limits()...)
}

// newLine returns a line. Mechanisms that are empty do not count.
func newLine(name, given, open string, by ...string) Line {
	return Line{Name: name, Given: given, Open: open, By: slices.DeleteFunc(by, func(s string) bool { return s == "" })}
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
		return "that a file is there, its size and times, its extended attributes and where a link leads can be seen"
	}
	return "every file of its user can be read"
}

// openWrite says what can be changed of files that are not to be, other than those in trees that
// can be written.
func (p *Plan) openWrite() string {
	attributes := !p.seccomp || len(p.Profile.Write.List) > 0 // a filter does not tell whose they are
	truncate := p.features.Landlock < truncates
	const ofAll = " of every file of its user can be changed"
	switch {
	case p.view != sameView:
		return ""
	case !p.landlock:
		return "every file of its user can be changed"
	case attributes && truncate:
		return "every file of its user can be truncated, and its mode, owner, times and attributes can be changed"
	case attributes:
		return "modes, owners, times and attributes" + ofAll
	case truncate:
		return "every file of its user can be truncated"
	}
	return ""
}

// openExec says what stays open of exec.
func (p *Plan) openExec() string {
	switch {
	case p.Profile.Exec.Any, p.start:
		return ""
	case !p.landlock:
		return "every program of the system can be started"
	case !p.seccomp:
		return "programs that it has in its memory can be started"
	}
	return ""
}

// openNet says what stays open of net.
func (p *Plan) openNet() string {
	of := p.Profile
	switch {
	case of.Net.Any || p.network && p.seccomp:
		return ""
	case p.network:
		return "virtual machines and their host can be reached (vsock)"
	case !p.seccomp:
		return "every host can be reached"
	case len(of.Net.List) > 0:
		return "there is no network namespace, in which the hosts could be told apart, so none can be reached, but the machine's ports can be seen"
	}
	return "which ports of the machine are open can be seen"
}

// protected is the line of what the host keeps for itself.
func (p *Plan) protected() Line {
	const given = "not to be changed"
	reachable := slices.DeleteFunc(slices.Clone(p.Profile.Protected), func(path string) bool { return !p.Profile.writes(path) })
	if p.view == sameView {
		if len(reachable) > 0 || !p.landlock {
			return newLine("protected", given, "the plugin is told what is protected, and nothing enforces it")
		}
		return newLine("protected", given, p.openWrite(), byLandlock)
	}
	open := ""
	if missing := slices.DeleteFunc(reachable, p.covered); len(missing) > 0 {
		open = "what does not exist can be made by it, unless you make it first: " + missing[0]
		if len(missing) > 1 {
			open += fmt.Sprintf(" and %d more", len(missing)-1)
		}
	}
	return newLine("protected", given+" until another file takes its place", open, byMounts)
}

// covered reports whether a protected path is there, or cannot be made, as it is in a directory
// that is protected or hidden.
func (p *Plan) covered(path string) bool {
	of := p.Profile
	return slices.ContainsFunc(slices.Concat(of.Protected, of.Hidden), func(dir string) bool { return within(dir, path) && exists(dir) })
}

// others is the line of other processes.
func (p *Plan) others() Line {
	f, apart := p.features, p.features.Namespaces()
	scope := p.landlock && f.Landlock >= scoped
	ownProc := p.Profile.ownProc(f, p.view)
	connects := p.connects()
	var can []string
	add := func(condition bool, what string) {
		if condition {
			can = append(can, what)
		}
	}
	given := "its own"
	switch { // what it sees, it can connect to
	case p.view == wholeView:
		given += ", and sockets of others that it sees"
	case p.view == grantedView && len(p.Profile.Read.List)+len(p.Profile.Write.List) > 0:
		given += ", and sockets in what it may read"
	}
	if p.view == wholeView && !ownProc && p.Profile.isOpen() {
		given += "; others of its user can be seen, ended first when memory is short, and given other settings in /proc"
	} else {
		add(!ownProc, "seen")
		add(!ownProc && p.Profile.Write.Any, "ended first when memory is short")
		add(!ownProc && p.Profile.Write.Any, "given other settings in /proc")
	}
	add(!apart && !scope, "signalled")
	add(!p.landlock && !ownProc && (!apart || !f.User), "traced, with all that they have in memory")
	add(!apart && !p.seccomp, "given other priorities and limits")
	add(p.view == sameView && p.Profile.Write.Any, "written to on their terminals")
	switch {
	case !connects:
	case p.view == sameView:
		add(true, "reached by their sockets")
	default:
		add(!p.network && !scope, "reached by sockets that have no path")
	}
	open := ""
	if len(can) > 0 {
		open = "other processes of its user can be " + sentence(can)
	}
	if !apart {
		open = strings.TrimPrefix(open+", and what it starts can stay when it is closed", ", and ")
	}
	return newLine("processes", given, open, when(apart, byPID), when(p.landlock, byLandlock))
}

// sentence joins words.
func sentence(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

// kernel is the line of system calls that a tool does not need.
func (p *Plan) kernel() Line {
	const given, all = "without calls that reach into the system", "all calls that its user may make"
	switch {
	case p.Profile.isOpen() && p.features.Seccomp:
		const but = ", but for leases on files, typing into terminals and filters that it answers itself"
		return newLine("kernel", all+but, "", bySeccomp)
	case p.Profile.isOpen():
		return newLine("kernel", all, "")
	case p.seccomp:
		return newLine("kernel", given, "", bySeccomp)
	}
	return newLine("kernel", given, "system calls cannot be filtered")
}

// limits are the lines of limits that were set, and of memory and processes in any case.
func (p *Plan) limits() (out Report) {
	limits, stage := &p.Profile.Limits, p.features.Stage
	for _, l := range grant.Amounts {
		limit := cgroup.Limit(l.Name)
		inGroup := slices.Contains(cgroup.All, limit)
		given, by, open := l.Text(limits), when(stage, byRlimit), when(!stage, noStage)
		switch {
		case given == "" && inGroup && limit != cgroup.CPU:
			given, by, open = "no bound", "", ""
		case given == "":
			continue
		case inGroup && p.groups(limit):
			by, open = byCgroup, ""
		case limit == cgroup.Memory:
			open = "each process has it for itself: " + p.noGroup(limit)
		case inGroup:
			by, open = "", p.noGroup(limit)
		case l.Name == "disk":
			given += " a file"
		}
		out = append(out, newLine(l.Name, given, open, by))
	}
	return out
}

const noStage = "there is no stage"

// noGroup says why no control group enforces a limit.
func (p *Plan) noGroup(l cgroup.Limit) string {
	why := cmp.Or(when(!p.features.Stage, noStage), "it could not be made or joined")
	if _, err := cgroup.Find().By(l); err != nil {
		why = err.Error()
	}
	return "there is no control group: " + why
}
