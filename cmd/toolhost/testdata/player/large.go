package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

type largeIn struct {
	Text   string `json:"text"`
	Times  int    `json:"times"`
	Blocks int    `json:"blocks,omitempty"`
	As     string `json:"as,omitempty"` // result, is_error, error or structured
}

// large answers with a text so many times, as one block or several.
func large(_ context.Context, in largeIn) (tool.Result, error) {
	text := strings.Repeat(in.Text, in.Times)
	res := tool.Result{IsError: in.As == "is_error"}
	switch in.As {
	case "error":
		return res, &tool.Error{Code: tool.CodeToolFailed, Message: text}
	case "structured":
		res.Structured = []byte(text)
		return res, nil
	}
	for i := range max(1, in.Blocks) {
		n := len(text) / max(1, in.Blocks)
		res.Content = append(res.Content, tool.TextContent{Text: text[i*n : (i+1)*n]})
	}
	return res, nil
}

type visitIn struct {
	Socket  string `json:"socket"`
	Request string `json:"request,omitempty"` // such as Reload
	Body    string `json:"body,omitempty"`
}

// visit asks a daemon for its state, or for something else, as a command does.
func visit(_ context.Context, in visitIn) (string, error) {
	conn, err := net.Dial("unix", in.Socket)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close() }()
	body := cmp.Or(in.Body, "{}")
	const format = "POST /toolhost.daemon.v1.Daemon/%s HTTP/1.0\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
	if _, err := fmt.Fprintf(conn, format, cmp.Or(in.Request, "GetState"), len(body), body); err != nil {
		return "", err
	}
	answer, err := io.ReadAll(conn)
	return string(answer), err
}
