package main

import (
	"bufio"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/toolhost/toolhost/internal/test/require"
)

// runs are the processes that run this file.
func runs(t *testing.T, path string) []int {
	t.Helper()
	links := require.Must(filepath.Glob("/proc/[0-9]*/exe"))(t)
	var pids []int
	for _, link := range links {
		if exe, err := os.Readlink(link); err == nil && exe == path {
			pid := require.Must(strconv.Atoi(strings.Split(link, "/")[2]))(t)
			pids = append(pids, pid)
		}
	}
	return pids
}

// A plugin that does not react delays the end for seconds; a second signal ends the wait.
func TestSecondSignalEndsAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	fifo := newFIFO(t)
	cmd := w.command("call", "play.wait", "--arg", "fifo="+fifo, "--json", "--plugin-dir", w.plugins)
	stdout := require.Must(cmd.StdoutPipe())(t)
	require.NoError(t, cmd.Start())
	started := require.Must(os.Open(fifo))(t)
	defer func() { _ = started.Close() }()
	stopped := func() bool {
		pids := runs(t, filepath.Join(w.plugins, "player"))
		for _, pid := range pids {
			require.NoError(t, syscall.Kill(pid, syscall.SIGSTOP))
			stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat") // PID (name) state
			if _, state, _ := strings.Cut(string(stat), ") "); err != nil || !strings.HasPrefix(state, "T") {
				return false
			}
		}
		return len(pids) > 0
	}
	w.until("the plugin is stopped", stopped)
	// SIGTERM: where a script's background job runs this test, SIGINT is ignored again once the
	// handler is gone.
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	if _, err := bufio.NewReader(stdout).ReadString('}'); err != nil { // the outcome; now it shuts down
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // the status tells
		close(ended)
	}()
	again := time.NewTicker(10 * time.Millisecond) // the first may come before the handler is gone
	defer again.Stop()
	for {
		select {
		case <-again.C:
			_ = cmd.Process.Signal(syscall.SIGTERM)
			continue
		case <-ended:
		}
		break
	}
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || !ws.Signaled() {
		t.Errorf("it ended with %v", cmd.ProcessState)
	}
	// The system ends the plugin, a moment after its parent.
	for len(runs(t, filepath.Join(w.plugins, "player"))) > 0 {
		<-again.C
	}
	// In such a hurry the directory of sockets stays.
	left := require.Must(filepath.Glob(filepath.Join(w.tmp, "toolhost-*")))(t)
	for _, dir := range left {
		_ = os.RemoveAll(dir)
	}
}
