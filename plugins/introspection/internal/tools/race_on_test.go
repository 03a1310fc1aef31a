//go:build race

package tools

// slowness is how many times as long the race detector makes everything take.
const slowness = 5
