//go:build race

package schema

// raceEnabled reports whether the race detector is on, which slows tests down.
const raceEnabled = true
