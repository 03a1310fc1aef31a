package mcpserver

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/internal/mcpwire"
	"github.com/toolhost/toolhost/host/task"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// tasksExtension is the extension of the protocol by which a client gets a task in place of a
// result (SEP-2663).
const tasksExtension = "io.modelcontextprotocol/tasks"

const (
	methodTasksGet    = "tasks/get"
	methodTasksUpdate = "tasks/update"
	methodTasksCancel = "tasks/cancel"
	nameHeader        = "Mcp-Name"
	resultTask        = "task"
)

// taskParams are those of all methods of tasks.
type taskParams struct {
	mcp.ParamsBase
	TaskID         string                     `json:"taskId"`
	InputResponses map[string]json.RawMessage `json:"inputResponses,omitempty"`
}

// taskResult is a task as clients see it.
type taskResult struct {
	mcp.ResultBase
	ResultType    string                     `json:"resultType"`
	ID            string                     `json:"taskId"`
	Status        string                     `json:"status"`
	Message       string                     `json:"statusMessage,omitempty"`
	Created       string                     `json:"createdAt"`
	Updated       string                     `json:"lastUpdatedAt"`
	TTL           int64                      `json:"ttlMs"`
	Poll          int64                      `json:"pollIntervalMs,omitempty"`
	InputRequests map[string]json.RawMessage `json:"inputRequests,omitempty"`
	Result        mcp.Result                 `json:"result,omitempty"`
	Error         *jsonrpc.Error             `json:"error,omitempty"`
}

// doneResult says that a request was taken.
type doneResult struct {
	mcp.ResultBase
	ResultType string `json:"resultType"`
}

// serveTasks has the SDK take the methods of tasks, which receive answers.
func (s *Server) serveTasks() {
	for _, method := range []string{methodTasksGet, methodTasksUpdate, methodTasksCancel} {
		// The error is that of a method of the protocol.
		_ = mcp.AddReceivingCustomMethod(s.mcp, method, func(context.Context, *mcp.ServerSession, *taskParams) (*doneResult, error) {
			return nil, errors.New("the request has passed by the server")
		})
	}
}

// taskMethod answers a method of tasks.
func (s *Server) taskMethod(ctx context.Context, method string, r *mcp.ServerRequest[*taskParams]) (mcp.Result, error) {
	r.Params = cmp.Or(r.Params, &taskParams{})
	return serve(ctx, s, r, func(c *clientSession, ctx context.Context, r *mcp.ServerRequest[*taskParams]) (mcp.Result, error) {
		return c.taskMethod(ctx, method, r)
	})
}

func (c *clientSession) taskMethod(
	ctx context.Context, method string, r *mcp.ServerRequest[*taskParams],
) (mcp.Result, error) {
	p := r.Params
	at := c.requestOf(ctx, r.Session, r.Extra, p.GetMeta())
	switch {
	case !at.latest:
		return nil, &jsonrpc.Error{
			Code: jsonrpc.CodeMethodNotFound, Message: method + " is a method of clients of revision " + stateless + " and later",
		}
	case !at.hasTasks():
		return nil, errNoTasks()
	case at.http && r.Extra.Header.Get(nameHeader) != p.TaskID:
		return nil, &jsonrpc.Error{
			Code: mcp.CodeHeaderMismatch, Message: "the header " + nameHeader + " has to be the taskId of the request",
		}
	}
	store, session := c.server.opts.Tasks, c.now()
	var res mcp.Result = &doneResult{ResultType: resultComplete}
	var err error
	switch method {
	case methodTasksUpdate:
		err = update(ctx, store, session, p)
	case methodTasksCancel:
		err = store.Cancel(ctx, session, p.TaskID)
	default:
		var t task.Task
		t, err = store.Get(ctx, session, p.TaskID)
		res = detailed(t)
	}
	if err != nil {
		return nil, taskError(err)
	}
	return res, nil
}

// update answers the questions of a task. Of answers to questions that are not put, or of another
// kind than these ask for, nothing is passed on.
func update(ctx context.Context, store task.Store, session *host.Session, p *taskParams) error {
	t, err := store.Get(ctx, session, p.TaskID)
	if err != nil {
		return err
	}
	answers := map[string]json.RawMessage{}
	for key, question := range t.Questions {
		if raw, ok := p.InputResponses[key]; ok && isAnswer(question, raw) {
			answers[key] = raw
		}
	}
	if len(answers) == 0 {
		return nil
	}
	return store.Answer(ctx, session, p.TaskID, answers)
}

// isAnswer reports whether an answer is of the kind that a question asks for.
func isAnswer(question, answer json.RawMessage) bool {
	var all mcp.InputRequestMap
	if json.Unmarshal(alone(question), &all) != nil {
		return false
	}
	res, err := responseOf(answer)
	return err == nil && fits(all["q"], res)
}

// taskError is the protocol's error for one of a store.
func taskError(err error) error {
	e := tool.AsError(err)
	code := int64(jsonrpc.CodeInternalError)
	switch e.Code {
	case tool.CodeNotFound:
		code = jsonrpc.CodeInvalidParams
	case tool.CodeUnavailable, tool.CodeResourceExhausted:
		code = codeBusy
	}
	return &jsonrpc.Error{Code: code, Message: e.Message}
}

// created is a new task in place of a result.
func created(t task.Task) *taskResult {
	status := "working"
	if t.State == task.Cancelled {
		status = "cancelled"
	}
	const stamp = time.RFC3339Nano
	return &taskResult{
		ResultType: resultTask, ID: t.ID, Status: status, Message: t.Message,
		Created: t.Created.UTC().Format(stamp), Updated: t.Updated.UTC().Format(stamp),
		TTL: max(t.TTL.Milliseconds(), 1), Poll: max(t.Poll.Milliseconds(), 1),
	}
}

// detailed is a task with what it asks for, or how it ended.
func detailed(t task.Task) *taskResult {
	out := created(t)
	out.ResultType = resultComplete
	switch {
	case t.State == task.Asking:
		out.Status, out.InputRequests = mcpwire.ResultQuestion, t.Questions
	case t.State == task.Ended && t.End != nil:
		res, err := resultOf(t.End.Outcome, t.End.Result, t.End.Err, true, t.End.Outcome.Name == t.Tool)
		if err == nil {
			out.Status, out.Result = "completed", res
			break
		}
		var theirs *jsonrpc.Error
		if !errors.As(err, &theirs) {
			theirs = &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: err.Error()}
		}
		out.Status, out.Message, out.Error = "failed", theirs.Message, theirs
	}
	return out
}
