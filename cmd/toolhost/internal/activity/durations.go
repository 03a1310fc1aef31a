package activity

import (
	"math/bits"
	"time"
)

// buckets is how many a microsecond to some two hours need, each a quarter of a power of two wide.
const buckets = 128

// durations counts durations.
type durations [buckets]uint32

func bucketOf(d time.Duration) int {
	us := uint64(max(0, d.Microseconds()))
	if us < 4 {
		return int(us)
	}
	n := bits.Len64(us)
	return min((n-2)*4+int(us>>(n-3)&3), buckets-1) //nolint:gosec // at most 251
}

// middleOf returns a duration in a bucket.
func middleOf(bucket int) time.Duration {
	if bucket < 4 {
		return time.Duration(bucket) * time.Microsecond
	}
	shift := bucket/4 - 1
	return time.Duration((2*(4+bucket%4)+1)<<shift) * time.Microsecond / 2
}

// below returns what so many of 100 durations take at most, in nanoseconds; 0: there are none.
func (d *durations) below(percent uint64) int64 {
	all, seen := uint64(0), uint64(0)
	for _, n := range d {
		all += uint64(n)
	}
	for i, n := range d {
		if seen += uint64(n); n > 0 && seen*100 >= all*percent {
			return int64(max(1, middleOf(i)))
		}
	}
	return 0
}

// A window has the durations of the last minute, as parts of ten seconds.
const (
	windowPart  = 10 * time.Second
	windowParts = 6
)

type window struct {
	parts [windowParts]durations
	part  int64 // the number of the newest
}

// turn forgets what is over at this time.
func (w *window) turn(now time.Duration) {
	part := int64(now / windowPart)
	for w.part = max(w.part, part-windowParts); w.part < part; {
		w.part++
		w.parts[w.part%windowParts] = durations{}
	}
}

func (w *window) add(now, took time.Duration) {
	w.turn(now)
	w.parts[w.part%windowParts][bucketOf(took)]++
}

func (w *window) sum(now time.Duration) (out durations) {
	w.turn(now)
	for i := range w.parts {
		for b, n := range w.parts[i] {
			out[b] += n
		}
	}
	return out
}
