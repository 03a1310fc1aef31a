// Package gocmd runs the go command under limits and reads what it says of
// packages. Start with [Command.Run] and [Cache.Load].
package gocmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/toolhost/toolhost/internal/confine"
	"github.com/toolhost/toolhost/plugins/execution/internal/form"
	"github.com/toolhost/toolhost/plugins/execution/internal/process"
	"github.com/toolhost/toolhost/plugins/internal/truncate"
)

// Command is the go command in a directory. It is looked up for each run,
// because Go may be installed while the plugin runs.
type Command struct {
	Dir  string
	Temp string   // where it puts temporary files, which the caller removes
	Env  []string // added to the plugin's environment
}

// Bounds of one run.
const (
	// MaxMemory bounds the memory of the go command and all that it starts, in bytes.
	MaxMemory    = 4 << 30
	maxOutput    = 64 << 20 // bytes of each stream that are kept
	maxProcesses = 256
	// TestMemory is what the go command may use while it runs tests, and testProcesses how
	// many processes it may have.
	TestMemory    = 2 << 30
	testProcesses = 64
)

var errNoToolchain = errors.New("there is no Go toolchain: the go command is not on the plugin's PATH; " +
	"ask the operator to install Go (https://go.dev/dl) or to add its directory to PATH")

func findGo() (string, error) {
	path, err := exec.LookPath("go")
	if err == nil {
		return filepath.Abs(path)
	}
	if root := os.Getenv("GOROOT"); root != "" {
		if path, err = exec.LookPath(filepath.Join(root, "bin", "go")); err == nil {
			return path, nil
		}
	}
	return "", errNoToolchain
}

// Run runs the go command.
//
// # Errors
//
// [*Error] if the command ran and failed.
func (c Command) Run(ctx context.Context, args ...string) (stdout, stderr string, err error) {
	out, faults := process.NewBuffer(maxOutput), process.NewBuffer(maxOutput)
	state, excess, err := c.Start(ctx, Stream{Stdout: out, Stderr: faults}, args...)
	switch {
	case err != nil:
		return "", "", err
	case excess != "":
		return "", "", fmt.Errorf("the go command was stopped: it used more %s than it may; "+
			"avoid very large constants and arrays in the form", excess)
	case state.Success():
		return out.String(), faults.String(), nil
	}
	return out.String(), faults.String(), &Error{Output: faults.String() + out.String()}
}

// Stream is what a run of the go command may use, and where its output goes as it comes.
type Stream struct {
	Stdout, Stderr io.Writer
	// Time bounds the run, and Quit is how long it then has to print stacks; see
	// [process.Process]. 0: only the context bounds it.
	Time, Quit time.Duration
	// Memory, in bytes, and Processes are what the programs may use that the command runs,
	// more than the command may. Without them Memory is [MaxMemory].
	Memory    int64
	Processes int
	// Race says that programs with the race detector run, which reserve far more memory
	// than they use.
	Race bool
	Env  []string // added to that of the command
	// Namespaces are those to try in turn. Nil: the strongest that is possible.
	Namespaces []confine.Namespaces
}

// Start runs the go command to its end. Its failure is in the state, not in the error.
func (c Command) Start(
	ctx context.Context, s Stream, args ...string,
) (*os.ProcessState, process.Excess, error) {
	path, err := findGo()
	if err != nil {
		return nil, "", err
	}
	p := &process.Process{
		Path: path, Args: args, Dir: c.Dir, Stdout: s.Stdout, Stderr: s.Stderr,
		// If it is killed, what it leaves is removed with Temp.
		Env:  slices.Concat([]string{"GOTMPDIR=" + c.Temp}, c.Env, s.Env),
		Time: s.Time, Quit: s.Quit, QuitGroup: true, Memory: MaxMemory, Processes: maxProcesses,
		Limits:     process.Limits{File: process.MaxFile, Data: MaxMemory},
		Namespaces: s.Namespaces,
	}
	if s.Memory > 0 {
		p.Memory, p.Processes = TestMemory+s.Memory, testProcesses+s.Processes
	}
	if s.Race {
		p.Limits.Data = 0
	}
	return p.Run(ctx)
}

// Error is a failure that the go command reported.
type Error struct{ Output string }

func (e *Error) Error() string {
	return "the go command failed: " + truncate.Counted(strings.TrimSpace(e.Output), form.MaxMessage)
}
