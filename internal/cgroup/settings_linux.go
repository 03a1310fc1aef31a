package cgroup

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// period is how often the processors of a group are counted, the kernel's default.
const period = 100 * time.Millisecond

// set sets one limit of a new group.
func set(k kernel, dir string, v2 bool, limit Limit, limits Limits) error {
	write := func(name, text string) error { return k.write(filepath.Join(dir, name), text) }
	switch limit {
	case PIDs:
		return write("pids.max", strconv.Itoa(limits.PIDs))
	case CPU:
		quota := strconv.FormatInt(int64(math.Round(limits.CPU*float64(period.Microseconds()))), 10)
		micros := strconv.FormatInt(period.Microseconds(), 10)
		if v2 {
			return write("cpu.max", quota+" "+micros)
		}
		err := errors.Join(write("cpu.cfs_period_us", micros), write("cpu.cfs_quota_us", quota))
		if errors.Is(err, syscall.EINVAL) {
			return nil // a group above has fewer processors: version 1 wants no more below, and they bound this one
		}
		return err
	case Memory:
		bytes := strconv.FormatInt(limits.Memory, 10)
		if v2 {
			return errors.Join(write("memory.max", bytes), ifThere(write("memory.swap.max", "0")))
		}
		// The sum of memory and swap cannot be less than memory, so it comes second. Without
		// it, a swappiness of 0 keeps a group from swap. A group inherits whether its
		// processes wait instead of being killed.
		return errors.Join(
			write("memory.limit_in_bytes", bytes), ifThere(write("memory.memsw.limit_in_bytes", bytes)),
			ifThere(write("memory.swappiness", "0")), write("memory.oom_control", "0"),
		)
	}
	return errors.ErrUnsupported
}

// ifThere makes nothing of a file that this kernel does not have.
func ifThere(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// exceeded adds what one limit has kept from a group.
func (e *Exceeded) add(dir string, v2 bool, limit Limit) {
	file := func(name string) string { return filepath.Join(dir, name) }
	switch {
	case limit == PIDs:
		e.PIDs = counter(file("pids.events"), "max")
	case limit == CPU && v2:
		e.Throttled = time.Duration(counter(file("cpu.stat"), "throttled_usec")) * time.Microsecond
	case limit == CPU:
		e.Throttled = time.Duration(counter(file("cpu.stat"), "throttled_time"))
	case v2:
		e.Memory = counter(file("memory.events"), "oom_kill")
	default:
		e.Memory = counter(file("memory.oom_control"), "oom_kill")
	}
}
