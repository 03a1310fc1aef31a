package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// startMCP starts an MCP server with the SDK for Go.
func startMCP(ctx context.Context, b *bench) (*variant, error) {
	cmd := exec.Command(b.binary("mcp")) //nolint:noctx // the session ends it
	client := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil)
	session, err := client.Connect(ctx, &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		return nil, err
	}
	run := func(ctx context.Context, tool string, arguments []byte) (string, error) {
		res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(arguments)})
		if err != nil {
			return "", err
		}
		if res.IsError || len(res.Content) != 1 {
			return "", fmt.Errorf("tool %s did not answer with one text", tool)
		}
		text, ok := res.Content[0].(*mcp.TextContent)
		if !ok {
			return "", errors.New("the answer is not text")
		}
		return text.Text, nil
	}
	return &variant{pid: cmd.Process.Pid, dial: shared(run), close: func() { _ = session.Close() }}, nil
}
