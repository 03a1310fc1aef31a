package tool

import "encoding/json"

// Call is one request to run a tool.
type Call struct {
	// ID names the call in logs and in its outcome. The host gives one where
	// the caller gave none.
	ID string `json:"id,omitempty"`
	// Name is the tool's canonical name.
	Name string `json:"name"`
	// Arguments is a JSON object; empty counts as {}.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Session is the ID of the calling session, which the host fills in. State
	// that a provider keeps for one session it shows to no other.
	Session string `json:"session,omitempty"`
}
