// Package gocmd runs the go command under limits and reads what it says of
// packages. Start with [Command.Run] and [Cache.Load].
package gocmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

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
	maxOutput    = 64 << 20 // bytes of each stream that are kept
	maxMemory    = 4 << 30  // bytes
	maxProcesses = 256
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
	path, err := findGo()
	if err != nil {
		return "", "", err
	}
	out, faults := process.NewBuffer(maxOutput), process.NewBuffer(maxOutput)
	p := &process.Process{
		Path: path, Args: args, Dir: c.Dir, Stdout: out, Stderr: faults,
		Env:    append([]string{"GOTMPDIR=" + c.Temp}, c.Env...), // if it is killed, what it leaves is removed with Temp
		Memory: maxMemory, Processes: maxProcesses,
		Limits: process.Limits{File: process.MaxFile, Data: maxMemory},
	}
	state, excess, err := p.Run(ctx)
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

// Error is a failure that the go command reported.
type Error struct{ Output string }

func (e *Error) Error() string {
	return "the go command failed: " + truncate.Counted(strings.TrimSpace(e.Output), form.MaxMessage)
}
