//go:build race

package verify_test

// raced says that the race detector is on.
const raced = true
