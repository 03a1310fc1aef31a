package main

import (
	"strings"
	"testing"
)

// gRPC's own log of a plugin's connection is not the command's.
func TestGRPCIsQuiet(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.install("away", "away")
	if got := w.run("tools"); strings.Contains(got.stderr, "GoAway") || !strings.Contains(got.stderr, "away") {
		t.Errorf("standard error has %.500q", got.stderr)
	}
}
