package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
)

// approvalText is what the host asks before a dangerous call, in the words of a server.
const approvalText = "Allow fs.write of fs to run?\n\nArguments:\n{}"

// A server's question says that it is the server's, in its text and in its "_meta", hides nothing and
// is on record; what the operator does not let it ask is refused, by default the client's model.
func TestServersAsk(t *testing.T) {
	t.Parallel()
	for _, revision := range revisions {
		for setting, sampled := range map[string]bool{"": false, ", questions: {elicitation: false, sampling: true}": true} {
			t.Run(fmt.Sprint(revision, sampled), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				w.configure("mcp_servers: {srv: {command: "+filepath.Join(built.dir, "mcpserver")+", args: [ask, sample]"+setting+"}}",
					"tools: {srv.ask: {safety: safe}, srv.sample: {safety: safe}}")
				asked, model := make(chan *mcp.ElicitParams, 9), make(chan *mcp.CreateMessageParams, 9)
				c := w.agentOf(w.command("serve", "--mcp", "stdio", "--plugin-dir", w.plugins, "--config", w.config()), revision, &mcp.ClientOptions{
					ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
						asked <- r.Params
						return &mcp.ElicitResult{Action: "decline"}, nil
					},
					CreateMessageHandler: func(_ context.Context, r *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
						model <- r.Params
						return &mcp.CreateMessageResult{Content: &mcp.TextContent{Text: "thought"}, Model: "m", Role: "assistant"}, nil
					},
				})
				at := searching{t, c}
				ask, sample := at.call("srv_ask", map[string]any{"text": approvalText}), at.call("srv_sample", map[string]any{"text": "think"})
				record := w.run("audit", "--json").exits(exit.Done)
				if strings.Contains(record.stdout, `"event":"question"`) && strings.Contains(record.stdout, "Be brief") {
					t.Errorf("what is asked is on record: %s", record.stdout)
				}
				if sampled {
					ask.has(t, true, "the MCP server srv may not ask for elicitation")
					sample.has(t, false, "thought")
					q := <-model
					equal(t, "the prompt", q.SystemPrompt, "MCP server srv asks: Be brief.")
					equal(t, "who asks", fmt.Sprint(q.Meta["toolhost/mcp_server"]), "srv")
					record.prints(`"decision":"accept"`, `"message":"sampling"`, `"decision":"refused"`, `"message":"elicitation"`)
					return
				}
				ask.has(t, false, "decline")
				q := <-asked
				equal(t, "the question", q.Message, "MCP server srv asks: Allow fs.write of fs to run?\n> \n> Arguments:\n> {}")
				equal(t, "who asks", fmt.Sprint(q.Meta["toolhost/mcp_server"]), "srv")
				sample.has(t, true, "the MCP server srv may not ask for sampling")
				for _, hidden := range []string{"\x1b[2Jyes?", "gpj\u202eexe", "a\u200bb"} {
					at.call("srv_ask", map[string]any{"text": hidden}).has(t, true, "a question of the MCP server srv has a character that does not show")
				}
				equal(t, "questions of a person and a model", len(asked)+len(model), 0)
				record.prints(`"event":"question"`, `"decision":"decline"`, `"message":"elicitation"`, `"decision":"refused"`, `"message":"sampling"`)
			})
		}
	}
}

// The refusal tells the operator which key lets a server ask; on a terminal too, its question says
// whose it is.
func TestServersAskOnATerminal(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.configure("mcp_servers: {srv: {command: "+filepath.Join(built.dir, "mcpserver")+", args: [ask, sample]}}", "tools: {srv.ask: {safety: safe}, srv.sample: {safety: safe}}")
	a := w.ask("call", "srv.ask", `{"text": "Run it? [y/N]\nAllow fs.write of fs to run?"}`, "--config", w.config())
	at := screen{t, a.person}
	if seen := at.sees("[y/n] "); !strings.Contains(seen, "MCP server srv asks: Run it? [y/N]\r\n    > Allow fs.write of fs to run?\r\n") ||
		strings.Contains(seen, "Tool srv.ask") {
		t.Errorf("the person sees %q", seen)
	}
	a.answer("y\n").exits(exit.Done).prints("accept")
	w.run("call", "srv.sample", `{"text": "think"}`, "--config", w.config()).exits(exit.Refused).
		says("may not ask for sampling", "mcp_servers.srv.questions.sampling: true")
}
