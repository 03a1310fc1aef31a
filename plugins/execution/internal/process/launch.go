package process

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"

	"github.com/toolhost/toolhost/internal/sandbox"
)

// Programs are started by this executable. Go cannot set limits between fork and exec, so
// a process that needs some starts as the plugin itself, sets its limits, and becomes the
// program.
const (
	launchWord   = "toolhost-execution-launch"
	launchFailed = 125

	namespacePipe = 3 // the descriptor of the pipe on which the process tells its PID namespace
)

// canLaunch says whether the system has limits to set.
const canLaunch = runtime.GOOS != "windows"

// Limits are those that a process sets for itself; 0 means no limit. As JSON they are the
// second argument of the process; the program and its arguments follow.
type Limits struct {
	CPU  uint64 `json:"cpu"`  // seconds of processor time
	Data uint64 `json:"data"` // bytes of memory
	File uint64 `json:"file"` // bytes of a file that it writes
	// Box is what the program may do, besides what the plugin may; nil: all of that.
	Box *sandbox.Profile `json:"box,omitempty"`
}

// BecomeProgram turns a process that was started to run a program into that program. In
// all others it does nothing.
func BecomeProgram() {
	if len(os.Args) > 1 && os.Args[1] == launchWord {
		fmt.Fprintln(os.Stderr, launch())
		os.Exit(launchFailed)
	}
}

// launch becomes the program. It returns only if that failed.
func launch() error {
	if len(os.Args) < 4 {
		return errors.New("nothing to launch")
	}
	var limits Limits
	if err := json.Unmarshal([]byte(os.Args[2]), &limits); err != nil {
		return fmt.Errorf("launching a program: %w", err)
	}
	return limits.become(os.Args[3], os.Args[3:], os.Environ())
}

// arguments returns the arguments that make this executable launch a program.
func (l Limits) arguments(path string, args []string) ([]string, error) {
	limits, err := json.Marshal(l)
	if err != nil {
		return nil, err
	}
	return append([]string{launchWord, string(limits), path}, args...), nil
}
