package cgroup

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// membership is what /proc/self/cgroup and /proc/self/mountinfo say of this process.
type membership struct {
	lines  []line
	mounts []mount
}

// line is one hierarchy of /proc/self/cgroup.
type line struct {
	controllers []string // none: version 2
	path        string   // of the cgroup that this process is in
}

// mount is one hierarchy, or a part of one, as it is mounted.
type mount struct {
	v2      bool
	root    string   // the cgroup that is mounted
	point   string   // below the root that was given to [FindIn]
	options []string // with the controllers of version 1
}

// read reads both files below root, which is "/" but in tests.
func read(root string) (membership, error) {
	var m membership
	text, err := os.ReadFile(filepath.Join(root, "proc/self/cgroup"))
	if err != nil {
		return m, err
	}
	for l := range strings.Lines(string(text)) {
		fields := strings.SplitN(strings.TrimSuffix(l, "\n"), ":", 3)
		if len(fields) != 3 {
			return m, fmt.Errorf("/proc/self/cgroup has the line %q", l)
		}
		controllers := strings.FieldsFunc(fields[1], func(r rune) bool { return r == ',' })
		m.lines = append(m.lines, line{controllers, fields[2]})
	}
	text, err = os.ReadFile(filepath.Join(root, "proc/self/mountinfo"))
	if err != nil {
		return m, err
	}
	for l := range strings.Lines(string(text)) {
		before, after, _ := strings.Cut(l, " - ") // proc_pid_mountinfo(5)
		where, what := strings.Fields(before), strings.Fields(after)
		if len(where) < 5 || len(what) < 3 || what[0] != "cgroup" && what[0] != "cgroup2" {
			continue
		}
		m.mounts = append(m.mounts, mount{
			v2: what[0] == "cgroup2", root: unescape(where[3]), point: filepath.Join(root, unescape(where[4])),
			options: strings.Split(what[2], ","),
		})
	}
	return m, nil
}

// unescape replaces the octal numbers that the kernel writes for spaces and their like.
func unescape(s string) string {
	before, after, found := strings.Cut(s, `\`)
	if !found || len(after) < 3 {
		return s
	}
	n, err := strconv.ParseUint(after[:3], 8, 8)
	if err != nil {
		return s
	}
	return before + string([]byte{byte(n)}) + unescape(after[3:])
}

// place is this process's cgroup in one hierarchy.
type place struct {
	dir string // its directory
	top bool   // it is all that is mounted: the machine's root, or a container's own
}

// find returns where the cgroup of this process is in the hierarchy of a controller, which
// is "" for version 2. None: the process is in no such hierarchy.
//
// # Errors
//
// It is in one that cannot be seen from here.
func (m membership) find(controller string) (_ place, found bool, err error) {
	for _, l := range m.lines {
		if v2 := len(l.controllers) == 0; v2 != (controller == "") || !v2 && !slices.Contains(l.controllers, controller) {
			continue
		}
		for _, mounted := range slices.Backward(m.mounts) { // a later one may cover an earlier one
			if mounted.v2 != (controller == "") || !mounted.v2 && !slices.Contains(mounted.options, controller) ||
				isAbove(l.path) || isAbove(mounted.root) {
				continue
			}
			below, err := filepath.Rel(mounted.root, l.path)
			if err != nil || !filepath.IsLocal(below) {
				continue
			}
			dir := filepath.Join(mounted.point, below)
			if info, err := os.Stat(filepath.Join(dir, "cgroup.procs")); err == nil && info.Mode().IsRegular() {
				return place{dir, below == "."}, true, nil
			}
		}
		return place{}, true, fmt.Errorf("the cgroup %s of this process is not mounted where it can be seen", l.path)
	}
	return place{}, false, nil
}

// isAbove reports whether a path leads out of this process's cgroup namespace, "/..".
func isAbove(path string) bool { return strings.Contains(path+"/", "/../") }
