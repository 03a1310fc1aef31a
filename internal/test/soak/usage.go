package main

import (
	"bytes"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"time"
)

// Usage is what this process has. What the system does not tell is -1.
type Usage struct {
	Goroutines  int   `json:"goroutines"`
	Descriptors int   `json:"descriptors"`
	HeapInUse   int64 `json:"heap_in_use_bytes"`
	Resident    int64 `json:"resident_bytes"`
}

// What may be left of memory when all is over: spans with a small object of the
// runtime's in them, and stacks of threads that it keeps.
const (
	heapTolerance     = 4 << 20
	residentTolerance = 16 << 20
)

// measure takes what the process has after a thorough collection: pools let go of
// what they hold in the second.
func measure() Usage {
	runtime.GC()
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return Usage{Goroutines: runtime.NumGoroutine(), Descriptors: descriptors(), HeapInUse: int64(m.HeapInuse), Resident: resident()} //nolint:gosec // no memory is that large
}

// calm measures when nothing has ended for half a second.
func calm() Usage {
	last := measure()
	for same := 0; same < 25; same++ {
		time.Sleep(20 * time.Millisecond)
		now := measure()
		if now.Goroutines != last.Goroutines || now.Descriptors != last.Descriptors {
			same = 0
		}
		last = now
	}
	return last
}

// settle measures until no more is left than before, for up to ten seconds:
// goroutines that were told to end need a moment, and there is no event for it.
func settle(before Usage) Usage {
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		now := measure()
		if len(now.beyond(before)) == 0 || time.Now().After(end) {
			return now
		}
	}
}

func descriptors() int {
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return -1
	}
	return len(files)
}

func resident() int64 {
	status, _ := os.ReadFile("/proc/self/status")
	_, after, _ := bytes.Cut(status, []byte("VmRSS:"))
	line, _, _ := bytes.Cut(after, []byte(" kB"))
	kib, err := strconv.ParseInt(string(bytes.TrimSpace(line)), 10, 64)
	if err != nil {
		return -1
	}
	return kib << 10
}
