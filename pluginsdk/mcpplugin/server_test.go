package mcpplugin_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

type none struct{}

type sum struct {
	A int `json:"a"`
	B int `json:"b"`
}

type total struct {
	Total int64 `json:"total"`
}

func text(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}

var sizes = json.RawMessage(`{"type":"object","properties":{"size":{"type":"string","enum":["s","m"]}},"required":["size"]}`)

// newServer is an MCP server as an author writes it, who knows of no host except in the tools
// own, whose and panic.
func newServer() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "calc", Version: "1.2.3"}, nil)
	safe, additive := &mcp.ToolAnnotations{ReadOnlyHint: true}, new(bool)
	mcp.AddTool(s, &mcp.Tool{Name: "add", Title: "Add", Description: "Adds.", Annotations: safe},
		func(_ context.Context, _ *mcp.CallToolRequest, in sum) (*mcp.CallToolResult, total, error) {
			return nil, total{1<<40 + int64(in.A+in.B)}, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "note", Description: "Keeps a note.", Annotations: &mcp.ToolAnnotations{DestructiveHint: additive}}, fail)
	mcp.AddTool(s, &mcp.Tool{Name: "wipe", Description: "Says nothing of itself."}, fail)
	mcp.AddTool(s, &mcp.Tool{Name: "fail", Description: "Fails.", Annotations: safe}, fail)
	mcp.AddTool(s, &mcp.Tool{Name: "own", Description: "Fails with a code.", Annotations: safe},
		func(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, any, error) {
			return nil, nil, &tool.Error{Code: tool.CodeResourceExhausted, Message: "the disk is full"}
		})
	mcp.AddTool(s, &mcp.Tool{Name: "panic", Description: "Panics.", Annotations: safe},
		func(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, any, error) {
			panic("a mistake")
		})
	mcp.AddTool(s, &mcp.Tool{Name: "wait", Description: "Waits.", Annotations: safe}, wait)
	mcp.AddTool(s, &mcp.Tool{Name: "ask", Description: "Asks.", Annotations: safe}, ask)
	mcp.AddTool(s, &mcp.Tool{Name: "ask_later", Description: "Asks as the newest revision does.", Annotations: safe}, askLater)
	mcp.AddTool(s, &mcp.Tool{Name: "log", Description: "Logs.", Annotations: safe},
		func(ctx context.Context, r *mcp.CallToolRequest, _ none) (*mcp.CallToolResult, any, error) {
			return text("logged"), nil, r.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "warning", Logger: "calc", Data: "almost full"})
		})
	mcp.AddTool(s, &mcp.Tool{Name: "count", Description: "Counts the calls of its session.", Annotations: safe}, counter())
	mcp.AddTool(s, &mcp.Tool{Name: "whose", Description: "Says which session of the host calls.", Annotations: safe},
		func(ctx context.Context, _ *mcp.CallToolRequest, _ none) (*mcp.CallToolResult, any, error) {
			return text(tool.CallFrom(ctx).Session), nil, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "grow", Description: "Adds a tool, and removes one.", Annotations: safe},
		func(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, any, error) {
			mcp.AddTool(s, &mcp.Tool{Name: "grown", Description: "Is new.", Annotations: safe}, fail)
			s.RemoveTools("wipe")
			return text("grown"), nil, nil
		})
	return s
}

func fail(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, any, error) {
	return nil, nil, fmt.Errorf("the paper is out")
}

// wait reports progress until the call is canceled, and leaves a file then.
func wait(ctx context.Context, r *mcp.CallToolRequest, _ none) (*mcp.CallToolResult, any, error) {
	err := r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
		ProgressToken: r.Params.GetProgressToken(), Progress: 1, Total: 2, Message: "half",
	})
	if err != nil {
		return nil, nil, err
	}
	<-ctx.Done()
	return nil, nil, os.WriteFile("canceled", nil, 0o600)
}

func ask(ctx context.Context, r *mcp.CallToolRequest, _ none) (*mcp.CallToolResult, any, error) {
	res, err := r.Session.Elicit(ctx, &mcp.ElicitParams{Message: "Which size?", RequestedSchema: sizes})
	if err != nil {
		return nil, nil, err
	}
	return text(fmt.Sprint(res.Action, " ", res.Content["size"])), nil, nil
}

func askLater(_ context.Context, r *mcp.CallToolRequest, _ none) (*mcp.CallToolResult, any, error) {
	if res, ok := r.Params.InputResponses["size"].(*mcp.ElicitResult); ok {
		return text(fmt.Sprint(res.Action, " ", res.Content["size"])), nil, nil
	}
	return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{
		"size": &mcp.ElicitParams{Mode: "form", Message: "Which size?", RequestedSchema: sizes},
	}}, nil, nil
}

// counter counts by session, as a server that keeps state does.
func counter() mcp.ToolHandlerFor[none, any] {
	var mu sync.Mutex
	counts := map[*mcp.ServerSession]int{}
	return func(_ context.Context, r *mcp.CallToolRequest, _ none) (*mcp.CallToolResult, any, error) {
		mu.Lock()
		defer mu.Unlock()
		counts[r.Session]++
		return text(fmt.Sprint(counts[r.Session])), nil, nil
	}
}
