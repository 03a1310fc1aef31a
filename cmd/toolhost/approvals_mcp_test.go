package main

import (
	"context"
	"encoding/json"
	"errors"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/approval"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
)

// revisions are those of the protocol that ask in different ways.
var revisions = []string{"2026-07-28", "2025-11-25"}

// agent connects an MCP client to a server of its own on standard input and output. It answers
// questions with the action, and sends them; without one it cannot be asked.
func (w *world) agent(revision, action string, asked chan<- string, args ...string) *mcp.ClientSession {
	w.t.Helper()
	o := &mcp.ClientOptions{}
	if action != "" {
		o.ElicitationHandler = func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			asked <- r.Params.Message
			return &mcp.ElicitResult{Action: action, Content: map[string]any{}}, nil
		}
	}
	return w.agentOf(w.command(append([]string{"serve", "--mcp", "stdio", "--plugin-dir", w.plugins}, args...)...), revision, o)
}

// clientOf connects an MCP client to a server that a command starts.
func (w *world) clientOf(cmd *exec.Cmd, revision string, o *mcp.ClientOptions) *mcp.ClientSession {
	w.t.Helper()
	c, err := mcp.NewClient(&mcp.Implementation{Name: "codex", Version: "1.2"}, o).
		Connect(context.Background(), &mcp.CommandTransport{Command: cmd}, &mcp.ClientSessionOptions{ProtocolVersion: revision})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = c.Close() })
	return c
}

// agentOf is clientOf with all plugins started.
func (w *world) agentOf(cmd *exec.Cmd, revision string, o *mcp.ClientOptions) *mcp.ClientSession {
	w.t.Helper()
	c := w.clientOf(cmd, revision, o)
	for require.Must(c.ListTools(w.t.Context(), nil))(w.t).Meta["toolhost/starting"] != nil { // each list waits for a while
		continue
	}
	return c
}

// answered is how a call of an agent ended.
type answered struct {
	text    string
	isError bool
}

// called starts a call of play.danger.
func called(ctx context.Context, c *mcp.ClientSession, text string) <-chan answered {
	ended := make(chan answered, 1)
	go func() {
		res, err := c.CallTool(ctx, &mcp.CallToolParams{Name: "play_danger", Arguments: map[string]any{"text": text}})
		if err != nil {
			ended <- answered{err.Error(), true}
			return
		}
		body, _ := json.Marshal(res.Content)
		ended <- answered{string(body), res.IsError}
	}()
	return ended
}

func (a answered) has(t *testing.T, isError bool, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(a.text, text) {
			t.Errorf("the agent gets %q, without %q", a.text, text)
		}
	}
	assert.Equalf(t, a.isError, isError, "the agent gets the error %v: %s", a.isError, a.text)
}

// The answer of an MCP client counts, and is on record as the client's.
func TestApprovalsByTheClient(t *testing.T) {
	t.Parallel()
	for _, revision := range revisions {
		for action, want := range map[string]struct {
			isError      bool
			text, record string
		}{
			"accept":  {false, "ran", `"decision":"approved","approver":"client codex"`},
			"decline": {true, "Approval denied for tool: play_danger", `"decision":"denied","approver":"client codex"`},
			"cancel":  {true, "was not answered", `"decision":"denied","approver":"client codex"`},
			"":        {true, "set ask: [client, queue] for the caller mcp", `"code":"approval_required"`},
		} {
			t.Run(revision+" "+action, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, "player")
				asked := make(chan string, 1)
				c := w.agent(revision, action, asked)
				(<-called(t.Context(), c, "ran")).has(t, want.isError, want.text)
				if action != "" {
					if q := <-asked; !strings.Contains(q, "play.danger") || !strings.Contains(q, `"ran"`) {
						t.Errorf("the client is asked %q", q)
					}
				}
				_ = c.Close()
				o := w.run("audit", "--via", "mcp", "--client", "codex", "--json").exits(0).
					prints(want.record, `"caller":"mcp","via":"mcp","client":"codex 1.2"`)
				if action == "" && strings.Contains(o.stdout, `"approver"`) {
					t.Errorf("someone is on record who was not asked: %s", o.stdout)
				}
			})
		}
	}
}

// A client that cannot ask waits in the queue of the daemon with the same settings, if the operator
// says so; without a daemon the refusal says what to do.
func TestApprovalsOfAClientThatCannotAsk(t *testing.T) {
	t.Parallel()
	for _, revision := range revisions {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "player")
			w.configure("callers: {mcp: {ask: [client, queue]}}")
			c := w.agent(revision, "", nil)
			(<-called(t.Context(), c, "alone")).has(t, true, "codex", "shows no questions", "no daemon runs", "start the daemon with toolhost serve")

			w.serve()
			for _, one := range []struct {
				answer []string
				text   string
			}{{[]string{"approve"}, "waits"}, {[]string{"deny", "--reason", "use staging"}, "Approval denied for tool: play_danger: use staging"}} {
				ended := called(t.Context(), c, "waits")
				q := w.nextQuestion()
				if q.Caller != "mcp" || q.Via != "mcp" || q.Client != "codex 1.2" || string(q.Arguments) != `{"text":"waits"}` {
					t.Errorf("the question is %+v", q)
				}
				w.run("approvals", "show", q.ID).exits(0).prints("mcp, by mcp from codex 1.2 (its own word)")
				w.run(append([]string{"approvals", one.answer[0], q.ID}, one.answer[1:]...)...).exits(0)
				(<-ended).has(t, one.answer[0] == "deny", one.text)
			}

			ctx, giveUp := context.WithCancel(t.Context())
			ended := called(ctx, c, "left")
			q := w.nextQuestion()
			giveUp()
			<-ended
			for o := w.run("approvals", "show", q.ID); !strings.Contains(o.stdout, "withdrawn"); o = w.run("approvals", "show", q.ID) {
				o.exits(0)
			}
		})
	}
}

// nextQuestion waits until a question waits in the queue.
func (w *world) nextQuestion() approval.Question {
	w.t.Helper()
	return w.questions(1)[0]
}

// questions waits until so many questions wait in the queue.
func (w *world) questions(n int) (found []approval.Question) {
	w.t.Helper()
	all := errors.New("these are all")
	err := w.client().FollowApprovals(w.t.Context(), func(q approval.Question) error {
		if q.State == approval.Waiting {
			found = append(found, q)
		}
		if len(found) == n {
			return all
		}
		return nil
	})
	if !errors.Is(err, all) {
		w.t.Fatal(err)
	}
	return found
}

// Questions of clients that come in over HTTP wait in the daemon that serves them, so many of each
// caller, and are denied when it ends.
func TestApprovalsOverHTTP(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	w.configure("callers: {agent: {ask: [queue]}}")
	f := w.serveMCP()
	c := f.connect(w.token("agent"), nil)
	ended := called(t.Context(), c, "one")
	q := w.nextQuestion()
	if q.Caller != "agent" || q.Via != "mcp" || q.Client != "tester 7" {
		t.Errorf("the question is %+v", q)
	}
	w.run("approvals", "approve", q.ID).exits(0)
	(<-ended).has(t, false, "one")

	all := make(chan answered, approval.MaxCaller+1)
	for range approval.MaxCaller + 1 {
		one := called(t.Context(), c, "many")
		go func() { all <- <-one }()
	}
	(<-all).has(t, true, "16 questions of this caller wait for an answer already")
	w.questions(approval.MaxCaller)
	f.ends(syscall.SIGTERM, 0)
	for range approval.MaxCaller {
		if a := <-all; !a.isError {
			t.Errorf("a call ran, and was not approved: %s", a.text)
		}
	}
	o := w.run("audit", "--caller", "agent", "--code", "approval_denied", "--json").exits(0)
	if n := strings.Count(o.stdout, `"approver":"end of the daemon"`); n != approval.MaxCaller {
		t.Errorf("%d of %d denials are on record:\n%s", n, approval.MaxCaller, o.stdout)
	}
}
