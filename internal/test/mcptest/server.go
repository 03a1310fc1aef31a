package mcptest

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// tools are those of [Server].
var tools = []struct {
	name, about, schema string
	run                 func(*mcp.Server) mcp.ToolHandler
}{
	{
		"test_sampling", "Asks the client's model.",
		`{"type":"object","properties":{"prompt":{"type":"string"}},"required":["prompt"]}`, always(sample),
	},
	{"test_input_required_result_elicitation", "Asks for a name.", "", always(greet)},
	{"test_input_required_result_sampling", "Asks the client's model.", "", always(sample)},
	{"test_input_required_result_list_roots", "Asks for the client's roots.", "", always(countRoots)},
	{"test_input_required_result_multiple_inputs", "Asks for three things at once.", "", always(askAll)},
	{"test_input_required_result_capabilities", "Asks for what the client can answer.", "", always(askPossible)},
	{"test_missing_capability", "Needs a client with a model.", "", always(needSampling)},
	{"protocol_error_job", "Fails by an error of the protocol.", "", always(protocolError)},
	{"test_trigger_prompt_change", "Adds a prompt.", "", addPrompt},
	{"test_watched_resource_change", "Says that the watched resource has changed.", "", changeResource},
}

// ServerTools are the names of the tools of [Server].
func ServerTools() (names []string) {
	for _, t := range tools {
		names = append(names, t.name)
	}
	return names
}

func always(h mcp.ToolHandler) func(*mcp.Server) mcp.ToolHandler {
	return func(*mcp.Server) mcp.ToolHandler { return h }
}

func addPrompt(s *mcp.Server) mcp.ToolHandler {
	var added atomic.Int64
	return func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		about := fmt.Sprintf("Was added by call %d of test_trigger_prompt_change.", added.Add(1))
		s.AddPrompt(&mcp.Prompt{Name: "test_transient", Description: about}, simplePrompt)
		return text("changed"), nil
	}
}

func changeResource(s *mcp.Server) mcp.ToolHandler {
	return func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return text("changed"), s.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: watchedURI})
	}
}

// Server returns the MCP server that is mounted together with [Plugin].
func Server() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: Everything, Version: "1.0.0"}, &mcp.ServerOptions{
		CompletionHandler: func(context.Context, *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
			values := []string{"paris", "park", "party"}
			return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: values, Total: len(values)}}, nil
		},
		SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
	})
	addResources(s)
	addPrompts(s)
	for _, t := range tools {
		schema := t.schema
		if schema == "" {
			schema = `{"type":"object"}`
		}
		s.AddTool(&mcp.Tool{Name: t.name, Description: t.about, InputSchema: json.RawMessage(schema)}, t.run(s))
	}
	return s
}

func text(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}

func ask(requests mcp.InputRequestMap) (*mcp.CallToolResult, error) {
	return &mcp.CallToolResult{InputRequests: requests}, nil
}

// The questions, by the keys under which their answers come.
func question(keys ...string) mcp.InputRequestMap {
	all := mcp.InputRequestMap{
		"user_name":    &mcp.ElicitParams{Message: "What is your name?", RequestedSchema: nameForm},
		"greeting":     completion("Generate a greeting"),
		"client_roots": &mcp.ListRootsParams{},
	}
	out := mcp.InputRequestMap{}
	for _, k := range keys {
		out[k] = all[k]
	}
	return out
}

func completion(prompt string) *mcp.CreateMessageParams {
	return &mcp.CreateMessageParams{MaxTokens: 100, Messages: []*mcp.SamplingMessage{
		{Role: "user", Content: &mcp.TextContent{Text: prompt}},
	}}
}

// answered is the text with which the client's model answered a question.
func answered(req *mcp.CallToolRequest, key string) (string, bool) {
	answer, ok := req.Params.InputResponses[key].(*mcp.CreateMessageWithToolsResult)
	if !ok {
		return "", false
	}
	for _, c := range answer.Content {
		if t, ok := c.(*mcp.TextContent); ok {
			return t.Text, true
		}
	}
	return "", true
}

// accepted is the form that the client filled in; nil: it did not.
func accepted(responses mcp.InputResponseMap, key string) map[string]any {
	if answer, ok := responses[key].(*mcp.ElicitResult); ok && answer.Action == "accept" {
		return answer.Content
	}
	return nil
}

func sample(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	in := struct {
		Prompt string `json:"prompt"`
	}{"What is the capital of France?"}
	if len(req.Params.Arguments) > 0 {
		if err := json.Unmarshal(req.Params.Arguments, &in); err != nil {
			return nil, err
		}
	}
	if answer, ok := answered(req, "completion"); ok {
		return text("LLM response: " + answer), nil
	}
	return ask(mcp.InputRequestMap{"completion": completion(in.Prompt)})
}

func greet(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if in := accepted(req.Params.InputResponses, "user_name"); in != nil {
		return text(fmt.Sprintf("Hello, %v!", in["name"])), nil
	}
	return ask(question("user_name"))
}

func countRoots(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	roots, ok := req.Params.InputResponses["client_roots"].(*mcp.ListRootsResult)
	if !ok {
		return ask(question("client_roots"))
	}
	var uris []string
	for _, r := range roots.Roots {
		uris = append(uris, r.URI)
	}
	return text(fmt.Sprintf("%d root(s): %s", len(uris), strings.Join(uris, ", "))), nil
}

func askAll(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	name := accepted(req.Params.InputResponses, "user_name")
	greeting, greeted := answered(req, "greeting")
	roots, ok := req.Params.InputResponses["client_roots"].(*mcp.ListRootsResult)
	if name == nil || !greeted || !ok {
		res, err := ask(question("user_name", "greeting", "client_roots"))
		res.RequestState = "asked"
		return res, err
	}
	if req.Params.RequestState != "asked" {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "the state is not the one that was sent"}
	}
	return text(fmt.Sprintf("%s %v, with %d root(s)", greeting, name["name"], len(roots.Roots))), nil
}

func askPossible(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if len(req.Params.InputResponses) > 0 {
		return text("answered"), nil
	}
	var keys []string
	if caps := req.ClientCapabilities(); caps != nil {
		if caps.Elicitation != nil {
			keys = append(keys, "user_name")
		}
		if caps.Sampling != nil {
			keys = append(keys, "greeting")
		}
		if caps.RootsV2 != nil {
			keys = append(keys, "client_roots")
		}
	}
	if len(keys) == 0 {
		return text("The client can answer nothing"), nil
	}
	return ask(question(keys...))
}

func needSampling(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if caps := req.ClientCapabilities(); caps != nil && caps.Sampling != nil {
		return text("the client has a model"), nil
	}
	data, err := json.Marshal(mcp.MissingRequiredClientCapabilityData{
		RequiredCapabilities: &mcp.ClientCapabilities{Sampling: &mcp.SamplingCapabilities{}},
	})
	if err != nil {
		return nil, err
	}
	return nil, &jsonrpc.Error{
		Code: mcp.CodeMissingRequiredClientCapabilities, Message: "the client must have the capability sampling", Data: data,
	}
}

// protocolError needs an extension that no client has.
func protocolError(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return nil, &jsonrpc.Error{
		Code: mcp.CodeMissingRequiredClientCapabilities, Message: "the client must have another extension",
		Data: json.RawMessage(`{"requiredCapabilities":{"extensions":{"example.com/none":{}}}}`),
	}
}
