// Package task keeps calls whose callers come back for the result. A [Store] begins such a call,
// and whoever made it asks for its [Task], answers its questions and cancels it. [NewMemory]
// returns a store in memory; the MCP server of package mcpserver serves the tasks of a store.
package task

import (
	"context"
	"encoding/json"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Store keeps the tasks of callers. A task belongs to the caller of the session that it was started
// with: sessions of the same name have the same tasks, and a session without a name has its own. To
// all others a task does not exist. A store is safe for concurrent use.
type Store interface {
	// Start begins a call, and returns once the task can be asked for. The call outlives ctx, whose
	// values it has.
	//
	// # Errors
	//
	// [tool.CodeResourceExhausted] if too much is kept already, for the caller or for all;
	// [tool.CodeUnavailable] if the store is closed or cannot be reached. The call was not begun.
	Start(ctx context.Context, c Call) (Task, error)
	// Get returns a task as it is now.
	//
	// # Errors
	//
	// [tool.CodeNotFound] if the caller has no such task, or had one whose time is over;
	// [tool.CodeUnavailable] if the store cannot be reached.
	Get(ctx context.Context, s *host.Session, id string) (Task, error)
	// Answer answers questions of a task, by their keys. Keys of questions that do not wait are
	// ignored.
	//
	// # Errors
	//
	// Those of Get.
	Answer(ctx context.Context, s *host.Session, id string, answers map[string]json.RawMessage) error
	// Cancel ends a task. A task that has ended stays as it is.
	//
	// # Errors
	//
	// Those of Get.
	Cancel(ctx context.Context, s *host.Session, id string) error
}

// Call is what becomes a task.
type Call struct {
	// Session makes the call. Required.
	Session *host.Session
	// Tool and Arguments are the call, as [tool.Call] has them. Tool is required.
	Tool      string
	Arguments json.RawMessage
	// Run does the call and returns how it ended. Its context ends when the task is cancelled,
	// its time is over or the store is closed, and has the receiver of [tool.WithProgress]. A store that carries
	// calls out elsewhere need not call it. Default: nil, the session's CallWith.
	Run func(context.Context, Asker) End
	// ID is that of the task, 26 letters and digits that cannot be guessed, as crypto/rand.Text returns.
	// Default: empty, one that the store makes.
	ID string
	// Running says that the call runs already, in this process, and that Run waits for its end:
	// a store must not carry it out again. Default: false.
	Running bool
}

// ownerOf names the caller to whom the tasks of a session belong.
func ownerOf(s *host.Session) string {
	if name := s.Caller().Name; name != "" {
		return "caller " + name
	}
	return "session " + s.ID()
}

// End is how a call ended, as [host.Session.CallWith] returns it.
type End struct {
	Outcome host.Outcome
	Result  tool.Result
	Err     error
}

// State is what becomes of a task.
type State string

// The states. A task is in one of the last two for good.
const (
	Working   State = "working"
	Asking    State = "asking" // questions wait for answers
	Ended     State = "ended"  // with a result or an error
	Cancelled State = "cancelled"
)

// Over reports whether a task stays in the state.
func (s State) Over() bool { return s == Ended || s == Cancelled }

// Task is a call that was begun.
type Task struct {
	// ID identifies the task. It cannot be guessed.
	ID string
	// Tool is the tool as it was called.
	Tool  string
	State State
	// Message is what the tool reported last. Empty: nothing.
	Message string
	// Created and Updated are when the task was begun, and when it last changed.
	Created, Updated time.Time
	// TTL is how long after Created the task is kept. It may grow.
	TTL time.Duration
	// Poll is how often it makes sense to ask for the task.
	Poll time.Duration
	// Questions are those that wait for answers, by their keys, in the form that Run asked them in.
	// A key is never used again. Empty unless State is Asking.
	Questions map[string]json.RawMessage
	// End is how the call ended; nil unless State is Ended.
	End *End
}

// Asker puts a question to whoever has the task, and returns the answer. Questions and answers
// are in a form that whoever begins and serves the task agrees on; a store does not read them.
//
// # Errors
//
// [tool.CodeResourceExhausted] if too many questions wait; the context's cause if it ends first.
type Asker func(ctx context.Context, question json.RawMessage) (json.RawMessage, error)
