package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
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

// launchOrder is the second argument of the process; the program and its arguments follow.
type launchOrder struct {
	// CPU is in seconds, Data and File in bytes; 0: not limited.
	CPU  uint64 `json:"cpu"`
	Data uint64 `json:"data"`
	File uint64 `json:"file"`
}

// launching reports whether this process is to become a program.
func launching() bool { return len(os.Args) > 1 && os.Args[1] == launchWord }

// launch becomes the program. It returns only if that failed.
func launch() error {
	if len(os.Args) < 4 {
		return errors.New("nothing to launch")
	}
	var order launchOrder
	if err := json.Unmarshal([]byte(os.Args[2]), &order); err != nil {
		return fmt.Errorf("launching a program: %w", err)
	}
	return order.become(os.Args[3], os.Args[3:], os.Environ())
}

// arguments returns the arguments that make this executable launch a program.
func (o launchOrder) arguments(path string, args []string) ([]string, error) {
	order, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	return append([]string{launchWord, string(order), path}, args...), nil
}
