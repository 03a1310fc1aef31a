package main

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
)

// With too few descriptors plugins do not start, and the host says what to do. It used to panic.
func TestTooFewDescriptors(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	for _, limit := range []int{10, 12, 14, 15, 16, 17, 18} {
		c := w.command("tools", "--plugin-dir", w.plugins)
		sh := fmt.Sprintf(`ulimit -n %d && exec "$0" "$@"`, limit)
		cmd := exec.CommandContext(t.Context(), "/bin/sh", append([]string{"-c", sh}, c.Args...)...)
		cmd.Dir, cmd.Env, cmd.SysProcAttr = c.Dir, slices.Concat(c.Env, []string{session.CacheVariable + "=off"}), c.SysProcAttr
		o := w.finish(cmd)
		if strings.Contains(o.stderr, "goroutine ") || o.status != 0 && o.status != 6 {
			t.Errorf("with %d descriptors it exits with %d:\n%s", limit, o.status, o.stderr)
		}
		if !strings.Contains(o.stdout, "play.echo") {
			o.says("too many open files", "ulimit -n")
		}
	}
	w.run("tools").exits(0).prints("play.echo") // sweeps what could not be removed for want of descriptors
}
