package confine

import (
	"bytes"
	"errors"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

const (
	brandBit                           = 63
	pidBits, tickBits, countBits       = 22, 26, 15
	pidMask, tickMask, countMask       = 1<<pidBits - 1, 1<<tickBits - 1, 1<<countBits - 1
	unbranded                    Brand = unix.RLIM_INFINITY
)

// newBrand makes one of, from the highest bit on, a one, the host's number, when it was started, in
// ticks, and the count of the run, each cut to its bits.
func newBrand(host owner, count uint64) Brand {
	pid, tick := uint64(host.pid)&pidMask, host.start&tickMask //nolint:gosec // above 0
	return Brand(1<<brandBit | pid<<(tickBits+countBits) | tick<<countBits | count&countMask)
}

// ownBrand is that of this process; 0: it may not change the limit, as a plugin's processes may not. If it
// has one, or another limit, it gives none to others: what belongs to a run stays in it.
var ownBrand = sync.OnceValue(func() Brand {
	var own unix.Rlimit
	if unix.Prlimit(0, unix.RLIMIT_LOCKS, nil, &own) != nil {
		return 0 // not every kernel that passes for Linux has this limit
	}
	if Brand(own.Max) == unbranded && unix.Prlimit(0, unix.RLIMIT_LOCKS, &own, nil) != nil {
		return 0
	}
	return Brand(own.Max)
})

// isForeign reports whether a host has given the brand, and not to the run of this process.
func (b Brand) isForeign() bool { return b>>brandBit == 1 && b != unbranded && b != ownBrand() }

// isOwn reports whether this process has given the brand.
func (b Brand) isOwn() bool {
	me, err := self()
	return err == nil && b&^countMask == newBrand(me, 0)
}

// isOfDead reports whether a host of this PID namespace that has certainly ended gave the brand.
// What a process has lowered it to counts as such, most likely.
func (b Brand) isOfDead() bool {
	if !b.isForeign() || ownBrand() != unbranded {
		return false
	}
	start, err := startOf(int(b >> (tickBits + countBits) & pidMask)) //nolint:gosec // 22 bits
	if err != nil {
		return errors.Is(err, errEnded)
	}
	return Brand(start&tickMask) != b>>countBits&tickMask
}

// give gives the brand to a process, as its start may have done already.
func (b Brand) give(pid int) error {
	if b == 0 {
		return nil
	}
	return unix.Prlimit(pid, unix.RLIMIT_LOCKS, &unix.Rlimit{Cur: uint64(b), Max: uint64(b)}, nil)
}

// brandOf returns the brand of a process, which may have ended and not be reaped: [unbranded] if
// it has none. Of another user's, it takes the file "limits" of the process in /proc.
func brandOf(number int, file func(name string) []byte) (b Brand, known bool) {
	var limit unix.Rlimit
	if unix.Prlimit(number, unix.RLIMIT_LOCKS, nil, &limit) == nil {
		return Brand(limit.Max), true
	}
	_, line, _ := bytes.Cut(file("limits"), []byte("Max file locks"))
	words := bytes.Fields(line) // soft, hard, the unit
	if len(words) < 2 {
		return 0, false
	}
	if string(words[1]) == "unlimited" {
		return unbranded, true
	}
	n, err := strconv.ParseUint(string(words[1]), 10, 64)
	return Brand(n), err == nil
}

func (p Process) brand() Brand {
	number := p.number()
	if number == 0 {
		return unbranded
	}
	b, _ := brandOf(number, p.File)
	return b
}
