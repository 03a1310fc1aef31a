// Package require has what tests of all packages ask for in the same words: [Eventually] waits for
// what no event tells of, and [Must] takes the value of what cannot fail.
package require

import (
	"runtime"
	"testing"
	"time"
)

// Ceiling bounds each wait. What is waited for takes milliseconds; a busy machine takes longer, and
// only a fault takes this long.
const Ceiling = time.Minute

// Eventually waits until ok, which it asks each millisecond, and fails with what was waited for and
// the stacks of all goroutines if that is not within [Ceiling]. If there is a channel or another event,
// that is better. In a bubble of testing/synctest its time is the bubble's.
func Eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for begin := time.Now(); !ok(); time.Sleep(time.Millisecond) {
		if time.Since(begin) > Ceiling {
			stacks := make([]byte, 1<<20)
			t.Fatalf("not within %v: %s\n%s", Ceiling, what, stacks[:runtime.Stack(stacks, true)])
		}
	}
}

// Must returns a function that returns v, or fails the test that it is given with err:
//
//	text := require.Must(os.ReadFile(path))(t)
func Must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		if err != nil {
			t.Helper() // not for each value: it costs, in benchmarks, too
			t.Fatal(err)
		}
		return v
	}
}

// NoError fails the test if err is an error.
func NoError(t testing.TB, err error) {
	if err != nil {
		t.Helper()
		t.Fatal(err)
	}
}
