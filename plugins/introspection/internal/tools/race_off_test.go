//go:build !race

package tools

// slowness is how many times as long everything takes without the race detector.
const slowness = 1
