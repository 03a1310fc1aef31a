//go:build !race

package main

// slowness is how many times as long everything takes without the race detector.
const slowness = 1
