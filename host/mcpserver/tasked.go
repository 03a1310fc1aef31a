package mcpserver

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host/task"
	"github.com/toolhost/toolhost/internal/callctx"
	"github.com/toolhost/toolhost/internal/mcpjson"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// TaskRule says when the calls of a tool become tasks.
type TaskRule struct {
	// After is how long a client waits for a result before it gets a task. A question that the
	// tool has before that is put without a task, and the time begins again with the answer. 0: the
	// client gets a task at once. Less than 0: the calls do not become tasks.
	After time.Duration
	// Required refuses the calls of clients that do not have the extension. Default: false, they
	// wait for the result.
	Required bool
}

// defaultTaskAfter is well below the time that clients and what is between wait for an answer.
const defaultTaskAfter = 10 * time.Second

// tasking is the part of a call that can become a task.
type tasking struct {
	call  task.Call
	after time.Duration
	end   task.End // set before the call's done is closed
}

// patience returns what receives each time that the call is to become a task, and what ends that.
func (t *tasking) patience() (late <-chan time.Time, stop func()) {
	if t == nil || t.after == 0 { // there was no room for a task
		return nil, func() {}
	}
	ticker := time.NewTicker(t.after)
	return ticker.C, ticker.Stop
}

// mayBecomeTask says in the request whether its call may become a task, and when.
//
// # Errors
//
// The protocol's for a client that would have to have tasks, and has not.
func (c *clientSession) mayBecomeTask(at *request, p *mcp.CallToolParamsRaw) error {
	s := c.server
	if s.opts.Tasks == nil {
		return nil
	}
	session := c.now()
	t, ok := s.host.Get(p.Name)
	if !ok || !may(session, &t.Definition) {
		return nil // which the chain refuses
	}
	rule := TaskRule{After: defaultTaskAfter}
	if s.opts.TaskRule != nil {
		rule = s.opts.TaskRule(t.Name)
	}
	switch {
	case !at.latest || !at.hasTasks():
		if rule.Required {
			return errNoTasks()
		}
	case rule.After >= 0:
		at.task = &tasking{
			call: task.Call{Session: session, Tool: p.Name, Arguments: p.Arguments}, after: rule.After,
		}
	}
	return nil
}

// startTask has the store begin a call; nil: there is no room, and the call was not begun.
func (r *running) startTask(ctx context.Context, f work) mcp.Result {
	r.mu.Lock()
	r.at, r.parking.tasked = nil, true
	r.mu.Unlock()
	call := r.parking.task.call
	call.Run = func(ctx context.Context, ask task.Asker) task.End {
		r.tasked = ctx
		r.note(ctx) // before the tool can report
		r.begin(f)
		return r.follow(ctx, ask)
	}
	return r.asTask(ctx, call)
}

// becomeTask makes a task of a call that runs; nil: the call goes on under its request, as it has
// questions, or there is no room.
func (r *running) becomeTask(ctx context.Context) mcp.Result {
	r.mu.Lock()
	if len(r.parking.questions) > 0 { // they are put first
		r.mu.Unlock()
		return nil
	}
	r.at, r.parking.tasked = nil, true
	r.mu.Unlock()
	r.client.server.forget(r)
	call := r.parking.task.call
	call.Run, call.Running = r.follow, true
	return r.asTask(ctx, call)
}

// asTask returns the task that a call has become.
func (r *running) asTask(ctx context.Context, call task.Call) mcp.Result {
	t, err := r.client.server.opts.Tasks.Start(ctx, call)
	if err == nil {
		return created(t)
	}
	r.client.server.opts.Logger.Debug("a call did not become a task", "tool", call.Tool, "error", err)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.at, r.parking.tasked = r.before, false
	if len(r.parking.questions) > 0 {
		r.parking.wakeUp()
	}
	return nil
}

// follow passes on the questions and the progress of a call to its task, and returns how it ended.
func (r *running) follow(ctx context.Context, ask task.Asker) task.End {
	defer context.AfterFunc(ctx, func() { r.cancel(context.Cause(ctx)) })()
	var asking sync.WaitGroup
	defer asking.Wait()
	life, stop := context.WithCancel(ctx)
	defer stop()
	r.note(ctx)
	for {
		select {
		case <-r.parking.wake:
			r.mu.Lock()
			for id, q := range r.parking.questions {
				if !q.sent {
					q.sent = true
					asking.Go(func() { r.pass(life, ask, id, q) })
				}
			}
			r.mu.Unlock()
		case <-r.parking.done:
			t := r.parking.task
			if t.end.Err == nil && r.parking.err != nil { // it panicked
				t.end.Err = tool.Errorf(tool.CodeInternal, "the call failed inside of the host").
					Of(t.call.Tool, "").Because(r.parking.err)
			}
			return t.end
		}
	}
}

// note has the progress of a call go to its task.
func (r *running) note(ctx context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.noted = callctx.Get[func(tool.Progress)](ctx, callctx.Progress{})
}

// pass puts a question to whoever has the task.
func (r *running) pass(ctx context.Context, ask task.Asker, id string, q *question) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(q.ctx, cancel)()
	answer, err := putToTask(ctx, ask, q.ask)
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.parking.questions[id] != q: // it is not waited for any more
	case err != nil:
		r.closeQuestions(err)
	default:
		delete(r.parking.questions, id)
		q.answer <- answer
	}
}

// putToTask puts a question to whoever has the task.
func putToTask(ctx context.Context, ask task.Asker, question mcp.InputRequest) (mcp.InputResponse, error) {
	text, err := json.Marshal(mcp.InputRequestMap{"q": question})
	if err != nil {
		return nil, err
	}
	raw, err := ask(ctx, mcpjson.ObjectOf(text)[0].Value)
	if err != nil {
		return nil, err
	}
	return responseOf(raw)
}

// alone is the JSON of a map with one value, as the SDK decodes questions and answers.
func alone(value json.RawMessage) []byte {
	return mcpjson.EncodeObject([]mcpjson.Member{{Key: "q", Value: value}})
}

// responseOf decodes the answer to a question.
func responseOf(raw json.RawMessage) (mcp.InputResponse, error) {
	var all mcp.InputResponseMap
	err := json.Unmarshal(alone(raw), &all)
	return all["q"], err
}

// hasTasks reports whether the client has the extension for tasks.
func (at *request) hasTasks() bool {
	c := at.can()
	if c == nil {
		return false
	}
	_, ok := c.Extensions[tasksExtension]
	return ok
}

// mayListen refuses a subscription to tasks of a client that does not have the extension. The SDK
// does not decode what it is about. Of other clients it is taken, and acknowledged without tasks.
func mayListen(r *jsonrpc.Request) error {
	var p struct {
		Meta struct {
			Can struct {
				Extensions map[string]json.RawMessage `json:"extensions"`
			} `json:"io.modelcontextprotocol/clientCapabilities"`
		} `json:"_meta"`
		Notifications struct {
			TaskIDs []json.RawMessage `json:"taskIds"`
		} `json:"notifications"`
	}
	if r.Method != methodListen {
		return nil
	}
	_ = json.Unmarshal(r.Params, &p) // the SDK refuses what cannot be read
	if _, ok := p.Meta.Can.Extensions[tasksExtension]; !ok && len(p.Notifications.TaskIDs) > 0 {
		return errNoTasks()
	}
	return nil
}

// errNoTasks is what a client is told that would have to have tasks.
func errNoTasks() error {
	return &jsonrpc.Error{
		Code:    mcp.CodeMissingRequiredClientCapabilities,
		Message: "this needs a client with the extension " + tasksExtension,
		// The SDK's type would name roots, too.
		Data: json.RawMessage(`{"requiredCapabilities":{"extensions":{"` + tasksExtension + `":{}}}}`),
	}
}
