package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// toolchain runs the go command, which is looked for at each call: somebody may
// install it while the plugin runs.
type toolchain struct {
	dir     string // where it runs
	private string // a directory of this call's own
	extra   []string
}

// maxToolOutput bounds what is read of the go command, in bytes.
const maxToolOutput = 64 << 20

var errNoToolchain = errors.New("there is no Go toolchain: the go command is not on the plugin's PATH; " +
	"have the operator install Go (https://go.dev/dl) or name its directory in PATH")

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

// run runs the go command. A failure that it reports itself is a [*toolError].
func (t toolchain) run(ctx context.Context, args ...string) (stdout, stderr string, err error) {
	path, err := findGo()
	if err != nil {
		return "", "", err
	}
	out, faults := &capped{limit: maxToolOutput}, &capped{limit: maxToolOutput}
	p := &process{
		path: path, args: args, dir: t.dir, stdout: out, stderr: faults,
		env:    append([]string{"GOTMPDIR=" + t.private}, t.extra...), // what it leaves when it is killed goes with it
		order:  launchOrder{File: maxFile, Data: toolMemory},
		memory: toolMemory, processes: toolchainCap,
	}
	state, why, err := p.run(ctx)
	switch {
	case err != nil:
		return "", "", err
	case why != "":
		return "", "", fmt.Errorf("the go command was stopped: it used more %s than it may, which forms with very large constants or arrays cause", why)
	case state.Success():
		return out.String(), faults.String(), nil
	}
	return out.String(), faults.String(), &toolError{faults.String() + out.String()}
}

// toolError is what the go command said when it failed.
type toolError struct{ output string }

func (e *toolError) Error() string {
	return "the go command failed: " + cut(strings.TrimSpace(e.output), maxMessage)
}
