package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/internal/confine"
	"github.com/toolhost/toolhost/internal/test/growing"
	"github.com/toolhost/toolhost/internal/test/require"
)

// What a killed host left, and something still fills, does not hold up a command.
func TestSweepHoldsUpNoCommand(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	dir := filepath.Join(w.tmp, "toolhost-evil")
	require.NoError(t, os.Mkdir(dir, 0o700))
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	require.NoError(t, confine.Claim(dir))
	text := require.Must(os.ReadFile(filepath.Join(dir, "owner")))(t)
	_, after, _ := strings.Cut(string(text), ".")
	if err := os.WriteFile(filepath.Join(dir, "owner"), []byte(strconv.Itoa(1<<30)+"."+after), 0o600); err != nil { // the number of no process
		t.Fatal(err)
	}
	growing.Directory(t, dir)
	begin := time.Now()
	w.run("tools").exits(0).prints("play.echo")
	if took := time.Since(begin); took > 20*time.Second {
		t.Errorf("it took %v", took)
	}
}
