//go:build race

package main

// slowness is how many times as long the race detector makes everything take.
const slowness = 5
