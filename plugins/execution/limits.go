package main

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/toolhost/toolhost/plugins/execution/internal/process"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// limits bound what one call may use. All have defaults; none can be switched off.
type limits struct {
	// Time is how long a program may run, not counting its compilation.
	// Default: 30 s.
	Time tool.Duration `json:"time"`
	// Memory is what a program and all that it starts may hold, in bytes.
	// Default: 2 GiB.
	Memory int64 `json:"memory"`
	// Processes is how many processes a program may have at a time, itself
	// included. Default: 64.
	Processes int `json:"processes"`
	// Output is how much of standard output, and of standard error, comes back,
	// in bytes. Default: 32 KiB.
	Output int `json:"output"`
}

const (
	maxTime   = 2 * time.Minute
	minMemory = 64 << 20
)

func defaultLimits() limits {
	return limits{Time: tool.Duration(30 * time.Second), Memory: 2 << 30, Processes: 64, Output: 32 << 10}
}

var configSchema = tool.Schema(`{
	"type": "object",
	"additionalProperties": false,
	"properties": {
		"time": {"type": "string", "description": "how long a program may run, such as 30s (default), at most 2m"},
		"memory": {"type": "integer", "minimum": 67108864, "description": "bytes that a program and what it starts may hold; default 2147483648"},
		"processes": {"type": "integer", "minimum": 1, "description": "processes that a program may have at a time; default 64"},
		"output": {"type": "integer", "minimum": 256, "description": "bytes that come back of standard output and of standard error each; default 32768"}
	}
}`)

// parseLimits reads the operator's configuration. A limit that it does not name
// has its default.
func parseLimits(config json.RawMessage) (limits, error) {
	l := defaultLimits()
	refuse := func(format string, args ...any) (limits, error) {
		return l, fmt.Errorf("the configuration of plugin execution: "+format, args...)
	}
	if len(config) > 0 {
		if err := json.Unmarshal(config, &l); err != nil {
			return refuse("%w", err)
		}
	}
	switch {
	case l.Time <= 0 || time.Duration(l.Time) > maxTime:
		return refuse("time is %s; use more than 0s and at most %s", time.Duration(l.Time), maxTime)
	case l.Memory < minMemory:
		return refuse("memory is %d; a Go program needs at least %d bytes", l.Memory, minMemory)
	case l.Processes < 1:
		return refuse("processes is %d; use at least 1", l.Processes)
	case l.Output < 256:
		return refuse("output is %d; use at least 256 bytes", l.Output)
	}
	return l, nil
}

// explain says which limit a program exceeded.
func (l limits) explain(excess process.Excess, limit time.Duration) string {
	const ended = "the program was ended, with everything it started: "
	switch excess {
	case process.Time:
		return fmt.Sprintf(ended+"it was still running after %s", limit.Round(time.Millisecond))
	case process.Memory:
		return fmt.Sprintf(ended+"it used more than %d bytes of memory", l.Memory)
	default:
		return fmt.Sprintf(ended+"it had more than %d processes", l.Processes)
	}
}
