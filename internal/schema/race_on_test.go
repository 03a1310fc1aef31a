//go:build race

package schema

// raceEnabled says that the race detector slows everything down.
const raceEnabled = true
