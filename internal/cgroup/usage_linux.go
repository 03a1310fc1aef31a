package cgroup

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Usage returns what the processes of the group use together, and have used since it was made. What no
// controller here counts is 0. After [Group.Close] nothing is known any more.
func (g *Group) Usage() (u Usage) {
	u.CPU = g.CPU()
	for _, p := range g.parts {
		file := func(name string) string { return filepath.Join(p.dir, name) }
		if p.v2 {
			u.Memory, u.Peak = number(file("memory.current")), number(file("memory.peak"))
			u.Memory -= min(u.Memory, counter(file("memory.stat"), "inactive_file"))
			continue
		}
		if memory := number(file("memory.usage_in_bytes")); memory > 0 {
			u.Memory, u.Peak = memory-min(memory, counter(file("memory.stat"), "total_inactive_file")), number(file("memory.max_usage_in_bytes"))
		}
	}
	return u
}

// CPU returns the processor time of [Group.Usage] alone: the kernel takes a millisecond to add up what is used of memory.
func (g *Group) CPU() (used time.Duration) {
	for _, p := range g.parts {
		if p.v2 {
			used = time.Duration(counter(filepath.Join(p.dir, "cpu.stat"), "usage_usec")) * time.Microsecond
		} else if cpu := number(filepath.Join(p.dir, "cpuacct.usage")); cpu > 0 {
			used = time.Duration(cpu)
		}
	}
	return used
}

// Processes returns the numbers of the processes in the group, and in those that they have made in it, of
// which the kernel has numbers here: most of them at most.
func (g *Group) Processes(most int) (out []int) {
	if len(g.parts) > 0 {
		g.parts[0].each(time.Now().Add(time.Second/10), func(_ string, pid int) {
			if len(out) < most {
				out = append(out, pid)
			}
		})
	}
	return out
}

// number returns the number that a file has; 0: it has none, or is gone.
func number(path string) int64 {
	text, _ := os.ReadFile(path)
	n, _ := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	return n
}
