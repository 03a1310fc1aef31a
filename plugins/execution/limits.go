package main

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/toolhost/toolhost/plugins/execution/internal/process"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// limits bound what one call may use. All have defaults; of these none can be switched off but Confine.
type limits struct {
	// Time is how long a program may run, not counting its compilation.
	Time tool.Duration `json:"time"`
	// Memory is what a program and all that it starts may hold, in bytes.
	Memory int64 `json:"memory"`
	// Processes is how many processes a program may have at a time, itself included.
	Processes int `json:"processes"`
	// Output is how much of standard output, and of standard error, is returned, in
	// bytes.
	Output int `json:"output"`
	// Confine says whether programs of forms are confined to what they need, see [runner.box].
	Confine bool `json:"confine"`
}

const (
	maxTime   = 2 * time.Minute
	minMemory = 64 << 20
	minOutput = 256
)

func defaultLimits() limits {
	return limits{Time: tool.Duration(30 * time.Second), Memory: 2 << 30, Processes: 64, Output: 32 << 10, Confine: true}
}

// configSchema returns the schema of the operator's configuration.
func configSchema() tool.Schema {
	l := defaultLimits()
	return tool.Schema(fmt.Sprintf(`{
	"type": "object",
	"additionalProperties": false,
	"properties": {
		"time": {"type": "string", "description": "how long the program of a form may run; default %s, at most %s"},
		"memory": {"type": "integer", "minimum": %d,
			"description": "bytes that a program and what it starts may hold, 2 GiB more for tests with the go command; default %d"},
		"processes": {"type": "integer", "minimum": 1,
			"description": "processes that a program may have at a time, 64 more for tests with the go command; default %d"},
		"output": {"type": "integer", "minimum": %d,
			"description": "bytes of standard output, and of standard error, that are returned; default %d"},
		"confine": {"type": "boolean", "default": true,
			"description": "whether a form is kept from starting programs, from the network, and from writing but in its temporary directory (Linux); false: it may do what the plugin may"}
	}
}`, time.Duration(l.Time), maxTime, minMemory, l.Memory, l.Processes, minOutput, l.Output))
}

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
	case l.Output < minOutput:
		return refuse("output is %d; use at least %d bytes", l.Output, minOutput)
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
