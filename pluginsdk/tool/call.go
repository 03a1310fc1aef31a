package tool

import (
	"context"
	"encoding/json"

	"github.com/toolhost/toolhost/internal/callctx"
)

// Call is one request to run a tool.
type Call struct {
	// ID identifies the call in logs and in its outcome. If it is empty, the host
	// assigns one.
	ID string `json:"id,omitempty"`
	// Name is the name of the tool.
	Name string `json:"name"`
	// Arguments is a JSON object that fits the tool's input schema. Empty: {}.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Session is the ID of the calling session, which the host sets. A provider that
	// keeps state for a session must not show it to another.
	Session string `json:"session,omitempty"`
	// Caller is the name by which the host knows who calls, such as cli, or that of a token;
	// it sets it. Empty: the caller has no name. Several sessions may have one caller.
	Caller string `json:"caller,omitempty"`
	// IdempotencyKey names what the caller means to happen once: calls of one session with the
	// same key, tool and arguments are one call that is repeated, for example after a lost
	// connection. A tool with an effect that must not be repeated can keep it, by session and
	// key, and answer a repeated call as the first one. At most 256 bytes.
	// Empty: the call has no key.
	IdempotencyKey string `json:"idempotency_key,omitempty"`
}

// CallFrom returns the call that ctx belongs to, for a typed function: the call's ID, the tool's name,
// the raw arguments, the caller and the session. Outside a call it returns the zero Call.
func CallFrom(ctx context.Context) Call {
	if call, ok := ctx.Value(callctx.Call{}).(*Call); ok {
		return *call
	}
	return Call{}
}
