package confine

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// The bounds of one look at what processes use.
const (
	maxThreads = 1024  // that may have started others
	maxOpen    = 65536 // descriptors of a process
)

// tick is the unit in which the kernel tells programs of processor time (USER_HZ).
const tick = time.Second / 100

// UsageBelow adds up what a child of this process uses and what descends from it, of at most so many processes,
// which it returns. What has left the child, as its parent has ended, is not in it, nor what has got the number
// of one that has ended.
func UsageBelow(child, most int) (u Usage, all []int) {
	if !procIsOwn() {
		return u, nil
	}
	type process struct{ number, parent int }
	threads := 0
	for next := []process{{child, os.Getpid()}}; len(next) > 0 && len(all) < most; next = next[1:] {
		p := next[0]
		stat, _ := statOf(p.number)
		if len(stat) < 22 || stat[1] != strconv.Itoa(p.parent) {
			continue
		}
		all = append(all, p.number)
		for _, field := range stat[11:15] { // utime, stime, and those of its children that have ended
			ticks, _ := strconv.ParseInt(field, 10, 64)
			u.CPU += time.Duration(ticks) * tick
		}
		pages, _ := strconv.ParseInt(stat[21], 10, 64)
		u.Memory += pages * int64(os.Getpagesize())
		for _, thread := range namesIn(fmt.Sprintf("/proc/%d/task", p.number), maxThreads-threads) {
			threads++
			text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", p.number, thread))
			for field := range strings.FieldsSeq(string(text)) {
				if n, err := strconv.Atoi(field); err == nil && len(next) < most {
					next = append(next, process{n, p.number})
				}
			}
		}
	}
	return u, all
}

// Descriptors counts the descriptors that processes have open, as far as this one may know.
func Descriptors(processes []int) (n int) {
	if !procIsOwn() {
		return 0
	}
	for _, number := range processes {
		dir := fmt.Sprintf("/proc/%d/fd", number)
		var stat unix.Stat_t
		if unix.Stat(dir, &stat) == nil && stat.Size > 0 { // Linux 6.2
			n += int(stat.Size)
			continue
		}
		n += len(namesIn(dir, maxOpen))
	}
	return n
}

// namesIn returns at most so many names in a directory.
func namesIn(path string, most int) []string {
	if most <= 0 {
		return nil
	}
	dir, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer func() { _ = dir.Close() }()
	names, _ := dir.Readdirnames(most)
	return names
}
