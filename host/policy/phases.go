package policy

import "github.com/toolhost/toolhost/pluginsdk/tool"

// Phases say where the time of a call went, with how much went in and out. What is left of the call's
// duration is the host's own work. Zero: the call was not in that phase, or the time was too short to be known.
type Phases struct {
	// Asked is how long it took to be told whether the call may run, and to answer what its tool has asked.
	Asked tool.Duration `json:"asked,omitempty"`
	// Retried is how long earlier attempts took, with the pauses between. What follows is of the last attempt.
	Retried tool.Duration `json:"retried,omitempty"`
	// Started is how long the call waited for its plugin to start, of which Handshake passed between the
	// start of the process and its description.
	Started   tool.Duration `json:"started,omitempty"`
	Handshake tool.Duration `json:"handshake,omitempty"`
	// Queued is how long the call waited for its turn. Ahead is how many calls of the plugin ran or waited
	// when it began to, and Own how many of them were the same caller's.
	Queued tool.Duration `json:"queued,omitempty"`
	Ahead  int           `json:"ahead,omitempty"`
	Own    int           `json:"own,omitempty"`
	// Sent is how long it took to write the arguments to the plugin, Ran how long the tool then took, and
	// Checked how long it took to check the result and to cut it.
	Sent    tool.Duration `json:"sent,omitempty"`
	Ran     tool.Duration `json:"ran,omitempty"`
	Checked tool.Duration `json:"checked,omitempty"`
	// BytesIn is the size of the arguments, BytesOut that of the result. EstimatedTokens is a quarter of both.
	BytesIn         int `json:"bytes_in,omitempty"`
	BytesOut        int `json:"bytes_out,omitempty"`
	EstimatedTokens int `json:"estimated_tokens,omitempty"`
	// On is the host of the fleet that ran the call, and There are its phases on that host, which are a part
	// of Ran, as that host says. Empty, nil: it ran here, or that is not known.
	On    string  `json:"on,omitempty"`
	There *Phases `json:"there,omitempty"`
}
