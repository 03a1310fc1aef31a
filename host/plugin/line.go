package plugin

import "time"

// Line is one line of what a host keeps of a plugin: what it writes to its log and to standard error, and
// what the host says of it.
type Line struct {
	// Number counts the lines, from 1; a gap tells that lines were dropped.
	Number uint64    `json:"number"`
	Time   time.Time `json:"time"`
	PID    int       `json:"pid,omitempty"`
	// Level is that of the log, such as info; for lines of the host warn, or info.
	Level string `json:"level"`
	// Host reports that the host says this of the plugin.
	Host bool `json:"host,omitempty"`
	// Text is one line, fit to be shown, of at most 2 KiB.
	Text string `json:"text"`
	// Call is the ID of the call that the line belongs to; empty: none, or not known.
	Call string `json:"call,omitempty"`
}
