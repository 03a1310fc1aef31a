package main

import (
	"bytes"
	"encoding/gob"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/toolhost/toolhost/internal/test/binaries"
	"github.com/toolhost/toolhost/internal/test/require"
)

// A runner is a process that runs one command after another as main does, each in the directory and the
// environment of its world: starting a process takes longer than most commands. It is this binary.
type runner struct {
	cmd *exec.Cmd
	in  *os.File
	to  *gob.Encoder
	out *gob.Decoder
}

type commandLine struct {
	Args, Env  []string
	Dir, Stdin string
}

type finished struct {
	Stdout, Stderr string
	Status         int
}

// runnerVariable has this binary be a runner.
const runnerVariable = "RUNNER"

// idle are runners without a command. There are as many as tests that run at the same time.
var idle struct {
	sync.Mutex
	runners []*runner
}

// start runs the command in a runner, whose process is the command's for signals until it has ended.
func (w *world) start(stdin string, args ...string) (*os.Process, <-chan outcome) {
	w.t.Helper()
	r, ended := takeRunner(w.t), make(chan outcome, 1)
	require.NoError(w.t, r.to.Encode(commandLine{args, w.env, w.root, stdin}))
	go func() {
		defer time.AfterFunc(5*time.Minute, func() { _ = r.cmd.Process.Kill() }).Stop()
		var got finished
		if r.out.Decode(&got) == nil {
			idle.Lock()
			idle.runners = append(idle.runners, r)
			idle.Unlock()
		} else {
			_ = r.cmd.Wait() // the status tells
			if got.Status = r.cmd.ProcessState.ExitCode(); got.Status >= 0 {
				w.t.Errorf("toolhost %q has ended its process: %v", args, r.cmd.ProcessState)
			}
		}
		ended <- outcome{w.t, args, got.Stdout, got.Stderr, got.Status}
	}()
	return r.cmd.Process, ended
}

func takeRunner(t *testing.T) *runner {
	t.Helper()
	idle.Lock()
	defer idle.Unlock()
	if last := len(idle.runners) - 1; last >= 0 {
		r := idle.runners[last]
		idle.runners = idle.runners[:last]
		return r
	}
	theirIn, in, err := os.Pipe()
	require.NoError(t, err)
	out, theirOut, err := os.Pipe()
	require.NoError(t, err)
	cmd := exec.Command(filepath.Join(built.dir, "runner")) //nolint:noctx,gosec // it ends with its input
	cmd.Env, cmd.Stderr, cmd.SysProcAttr = append(os.Environ(), runnerVariable+"=1"), os.Stderr, noTerminal()
	cmd.ExtraFiles = []*os.File{theirIn, theirOut}
	require.NoError(t, cmd.Start())
	_, _ = theirIn.Close(), theirOut.Close()
	return &runner{cmd, in, gob.NewEncoder(in), gob.NewDecoder(out)}
}

func endRunners() {
	for _, r := range idle.runners {
		_ = r.in.Close()
		_ = r.cmd.Wait()
	}
}

// installRunner has a runner lie where the command does.
func installRunner(t *testing.T, dir string) {
	t.Helper()
	binaries.Install(t, require.Must(os.Executable())(t), filepath.Join(dir, "runner"))
}

// runCommands is the main function of a runner.
func runCommands() {
	const in, out = 3, 4
	syscall.CloseOnExec(in)
	syscall.CloseOnExec(out)
	from, to := gob.NewDecoder(os.NewFile(in, "in")), gob.NewEncoder(os.NewFile(out, "out"))
	prepare()
	for {
		var c commandLine
		if from.Decode(&c) != nil {
			os.Exit(0) // the tests have ended
		}
		os.Clearenv()
		for _, kv := range c.Env {
			name, value, _ := strings.Cut(kv, "=")
			_ = os.Setenv(name, value)
		}
		if err := os.Chdir(c.Dir); err != nil {
			panic(err)
		}
		var stdout, stderr bytes.Buffer
		status := run(c.Args, strings.NewReader(c.Stdin), &stdout, &stderr)
		if err := to.Encode(finished{stdout.String(), stderr.String(), status}); err != nil {
			panic(err)
		}
	}
}
